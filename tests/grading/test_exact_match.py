"""lm-eval's exact_match: its published quirks, and equality with numpy's behaviour on any text."""

from __future__ import annotations

import re
import string
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit.errors import UsageError
from resit.grading.filters import Unscorable
from resit.grading.metrics import compile_metric, exact_match
from resit.records import MetricSpec


def test_how_the_samples_are_put_together_is_no_setting_of_the_comparison() -> None:
    beside = {"aggregation": "mean", "higher_is_better": True, "ignore_case": True}
    assert compile_metric(MetricSpec("exact_match", beside))("A", "a") == 1.0


GSM8K: dict[str, Any] = {
    "regexes_to_ignore": [",", "\\$", "(?s).*#### ", "\\.$"],
    "ignore_case": True,
    "ignore_punctuation": False,
}


@pytest.mark.parametrize(
    ("prediction", "reference", "expected"),
    [
        ("18", "9 + 9 = 18\n#### 18", 1.0),
        ("18.", "18", 1.0),
        ("$1,800", "1800", 1.0),
        ("18.00", "18", 0.0),
        ("18 ", "18", 0.0),
        ("18\0", "18", 1.0),
        ("18.\n", "18", 0.0),
        ("", "#### ", 1.0),
        ("018", "18", 0.0),
        ("18", "so it is 18", 0.0),
        ("ß", "SS", 0.0),
        ("AB", "ab", 1.0),
        ("18", ["17", "18"], 1.0),
        ("18", ["17", "19"], 0.0),
        ("18", [], 0.0),
    ],
)
def test_the_settings_of_gsm8k(prediction: str, reference: str | list[str], expected: float) -> None:
    assert exact_match(**GSM8K)(prediction, reference) == expected


def test_samples_that_no_filter_chose_among_give_their_share() -> None:
    assert exact_match()(["18", "18", "3"], "18") == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("prediction", "reference", "expected"),
    [(["18"], ["18"], 0.0), ("18", ["18", "18"], 1.0), ("18", ["18", "19"], 0.0), ("18", "18", 1.0)],
)
def test_an_empty_list_of_patterns_compares_lists_and_not_their_texts(
    prediction: Any, reference: Any, expected: float
) -> None:
    assert exact_match(regexes_to_ignore=[])(prediction, reference) == expected


def test_bypass_measures_nothing() -> None:
    assert compile_metric(MetricSpec("bypass"))("18", "19") == 999


@pytest.mark.parametrize(
    ("settings", "prediction", "reference"),
    [
        (GSM8K, ["18"], "18"),
        ({}, [], "18"),
        ({}, [None], "18"),
        (GSM8K, None, "18"),
        ({}, 5, "five"),
        ({}, 5, ["5"]),
        ({"ignore_numbers": True}, 5, "5"),
    ],
)
def test_what_ends_lm_eval_is_a_reason_here(settings: Any, prediction: Any, reference: str) -> None:
    with pytest.raises(Unscorable):
        exact_match(**settings)(prediction, reference)


def test_numbers_from_a_map_compare_as_numbers() -> None:
    assert exact_match()(5, "5") == 1.0
    assert exact_match()(5, "6") == 0.0


def test_a_long_text_without_the_marker_takes_no_time() -> None:
    started = time.process_time()
    assert exact_match(**GSM8K)("x " * 500_000, "18") == 0.0
    assert time.process_time() - started < 30  # the pattern itself is quadratic: minutes


def numpy_exact_match(predictions: list[str], references: list[str], **settings: Any) -> float:
    """The comparison through numpy arrays, as the reference describes it."""
    sides: list[Any] = [predictions, references]
    if settings["regexes_to_ignore"] is None:
        sides = [np.asarray(side) for side in sides]
    for pattern in settings["regexes_to_ignore"] or ():
        sides = [np.array([re.sub(pattern, "", text) for text in side]) for side in sides]
    if settings["ignore_case"]:
        sides = [np.char.lower(side) for side in sides]
    for flag, gone in (("ignore_punctuation", string.punctuation), ("ignore_numbers", string.digits)):
        if settings[flag]:
            sides = [np.char.translate(side, str.maketrans("", "", gone)) for side in sides]
    return float(np.mean(sides[0] == sides[1]))


texts = st.text(st.sampled_from("18,$.\n Aaİßﬀ\0#x!Σσς٣"), max_size=6) | st.just("#### 18")


@given(
    texts,
    st.lists(texts, min_size=1, max_size=3),
    st.sampled_from([None, [","], GSM8K["regexes_to_ignore"], ["(?s).*x"], ["[0-9]"]]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_it_equals_the_comparison_of_arrays(
    prediction: str, references: list[str], regexes: list[str] | None, case: bool, marks: bool, digits: bool
) -> None:
    settings: dict[str, Any] = {
        "regexes_to_ignore": regexes,
        "ignore_case": case,
        "ignore_punctuation": marks,
        "ignore_numbers": digits,
    }
    metric = exact_match(**settings)
    assert metric(prediction, references[0]) == numpy_exact_match([prediction], references[:1], **settings)
    several = numpy_exact_match([prediction] * len(references), references, **settings)
    assert metric(prediction, references) == float(several > 0)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (MetricSpec("exactmatch"), "metric 'exactmatch' is not known"),
        (MetricSpec("exact_match", {"strip": True}), "unexpected keyword argument 'strip'"),
        (MetricSpec("exact_match", {"regexes_to_ignore": ["("]}), "is not a regular expression"),
    ],
)
def test_a_bad_metric_is_told_before_anything_runs(spec: MetricSpec, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        compile_metric(spec)
    assert message in str(raised.value)
