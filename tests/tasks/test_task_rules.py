"""Filters and metrics are checked when a task loads, not after its generations."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from resit import tasks
from resit.errors import UsageError
from resit.records import FilterChain, FilterStep, MetricSpec

Write = Callable[[str, str], str]


def test_a_task_without_filters_and_metrics_has_lm_evals_defaults(write: Write, minimal: str) -> None:
    (task,) = tasks.load([write("t.yaml", minimal)])
    assert task.rules.filters == (FilterChain("none", (FilterStep("take_first"),)),)
    assert task.rules.metrics == (MetricSpec("exact_match"),)
    assert task.rules.named == ("robust",)


def test_every_filter_of_lm_eval_is_taken(write: Write, minimal: str) -> None:
    write("utils.py", "def pick(resps, docs):\n    return resps\n")
    steps = """
      - {function: regex, regex_pattern: 'x(\\d)', group_select: -1, fallback: null}
      - {function: regex_pos, regex_pattern: x}
      - {function: multi_choice_regex, ignore_case: true, regexes_to_ignore: [a, 'b']}
      - {function: remove_whitespace}
      - {function: lowercase}
      - {function: uppercase}
      - {function: map, mapping_dict: {a: 1}, default_value: 0}
      - {function: format_span}
      - {function: take_first_k, k: 3}
      - {function: majority_vote}
      - {function: custom, filter_fn: !function utils.pick}
      - {function: take_first}
"""
    path = write("t.yaml", f"{minimal}filter_list:\n  - name: all\n    filter:{steps}")
    (task,) = tasks.load([path], trust_task_code=True)
    (chain,) = task.rules.filters
    assert len(chain.steps) == 12
    assert chain.steps[0].kwargs == {"regex_pattern": "x(\\d)", "group_select": -1, "fallback": None}
    custom = chain.steps[10]
    assert custom.call is not None
    assert (custom.kwargs, custom.call([1], [])) == ({}, [1])


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("filter_list: [{name: x}]", "expected entries with name and filter"),
        ("filter_list: [{filter: [{function: regex}]}]", "expected entries with name and filter"),
        (
            "filter_list: [{name: x, filter: [take_first]}]",
            "expected a step with a function, found 'take_first'",
        ),
        (
            "filter_list: [{name: x, filter: [{function: regx}]}]",
            "no filter is called 'regx'; the nearest is 'regex'",
        ),
        ("filter_list: [{name: x, filter: [{function: regex, patern: a}]}]", "regex has no setting 'patern'"),
        ("filter_list: [{name: x, filter: [{function: take_first, k: 1}]}]", "take_first has no setting 'k'"),
        (
            "filter_list: [{name: x, filter: [{function: take_first_k}]}]",
            "take_first_k needs k, a whole number",
        ),
        ("filter_list: [{name: x, filter: [{function: custom}]}]", "custom needs filter_fn"),
        (
            "filter_list: [{name: x, filter: [{function: regex, regex_pattern: '('}]}]",
            "'(' is not a regular expression",
        ),
        ("metric_list: [{}]", "expected the name of a metric, found None"),
        ("metric_list: [{metric: exact_match, ignore_cse: true}]", "exact_match has no setting 'ignore_cse'"),
        ("metric_list: [{metric: exact_match, regexes_to_ignore: ['(']}]", "'(' is not a regular expression"),
        ("resit: {headline: 'exact_match,nope'}", "the task does not report 'exact_match,nope'"),
        ("resit: {headline: 'exact_match,gsm8k'}", "the task does not report 'exact_match,gsm8k'"),
    ],
)
def test_faulty_rules_are_refused_when_the_task_loads(
    write: Write, minimal: str, lines: str, said: str
) -> None:
    path = write("t.yaml", f"{minimal}{lines}\n")
    with pytest.raises(UsageError) as caught:
        tasks.load([path])
    assert said in str(caught.value)
    assert str(caught.value).startswith(path)


@pytest.mark.parametrize("headline", ["exact_match,none", "exact_match,robust"])
def test_filters_and_named_rules_can_be_the_headline(write: Write, minimal: str, headline: str) -> None:
    (task,) = tasks.load([write("t.yaml", f"{minimal}resit: {{headline: '{headline}'}}\n")])
    assert task.rules.headline == headline


def test_metric_settings_and_grading_policy_reach_the_rules(write: Write, minimal: str) -> None:
    text = (
        "metric_list:\n"
        "  - {metric: exact_match, ignore_case: true, aggregation: median, higher_is_better: false}\n"
        "resit: {headline: 'exact_match,none', rules: [robust, gsm8k], options: {tolerance: 0.5}}\n"
    )
    (task,) = tasks.load([write("t.yaml", minimal + text)])
    assert task.rules.metrics == (MetricSpec("exact_match", {"ignore_case": True}, "median", False),)
    assert task.rules.headline == "exact_match,none"
    assert (task.rules.named, task.rules.options) == (("robust", "gsm8k"), {"tolerance": 0.5})
