"""Groups are aggregated as lm-eval does it; figures derived by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from resit.reports.groups import group_scores, leaves

RESULTS = {
    "algebra": {"sample_len": 30, "exact_match,none": 0.5, "exact_match_stderr,none": 0.1},
    "geometry": {"sample_len": 10, "exact_match,none": 0.9, "exact_match_stderr,none": 0.2},
}


def group(*members: str, **aggregate: Any) -> dict[str, Any]:
    aggregates = [{"metric": "exact_match", "aggregation": "mean", **aggregate}]
    return {"alias": "Maths", "members": list(members), "aggregates": aggregates}


def test_the_mean_is_weighted_by_size_unless_told_otherwise() -> None:
    by_size = group_scores({"maths": group("algebra", "geometry")}, RESULTS)["maths"]
    assert by_size["exact_match,none"] == pytest.approx((30 * 0.5 + 10 * 0.9) / 40)
    pooled = math.sqrt((29 * 30 * 0.01 + 9 * 10 * 0.04) / (40 - 2) / 40)
    assert by_size["exact_match_stderr,none"] == pytest.approx(pooled)
    assert (by_size["alias"], by_size["sample_len"]) == ("Maths", 40)
    even = group_scores({"maths": group("algebra", "geometry", weight_by_size=False)}, RESULTS)["maths"]
    assert even["exact_match,none"] == pytest.approx(0.7)


def test_a_missing_error_makes_the_groups_unknown_not_zero() -> None:
    results = {**RESULTS, "geometry": {**RESULTS["geometry"], "exact_match_stderr,none": "N/A"}}
    entry = group_scores({"maths": group("algebra", "geometry")}, results)["maths"]
    assert entry["exact_match_stderr,none"] == "N/A"


def test_members_that_were_not_run_and_filters_nobody_has_are_left_out() -> None:
    groups = {"maths": group("algebra", "unrun", filter_list=["none", "strict"])}
    entry = group_scores(groups, RESULTS)["maths"]
    assert entry["exact_match,none"] == 0.5
    assert "exact_match,strict" not in entry
    assert group_scores({"empty": group("unrun")}, RESULTS) == {}


def test_groups_hold_groups_and_circles_end() -> None:
    groups = {"all": group("maths", "algebra"), "maths": group("algebra", "geometry", "all")}
    assert leaves("all", groups) == ["algebra", "geometry"]
