"""What grading needs to know of a task: filter chains, metrics, policy; checked when the task loads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from resit import plugins
from resit.errors import UsageError
from resit.records import FilterChain, FilterStep, MetricSpec, ScoringRules
from resit.tasks.dialect import TaskConfig
from resit.tasks.functions import Function

FILTERS: Mapping[str, frozenset[str] | None] = {
    "regex": frozenset({"regex_pattern", "group_select", "fallback"}),
    "regex_pos": frozenset({"regex_pattern", "group_select", "fallback"}),
    "multi_choice_regex": frozenset(
        {
            "regex_pattern",
            "group_select",
            "fallback",
            "ignore_case",
            "ignore_punctuation",
            "regexes_to_ignore",
        }
    ),
    "remove_whitespace": frozenset(),
    "lowercase": frozenset(),
    "uppercase": frozenset(),
    "map": frozenset({"mapping_dict", "default_value"}),
    "format_span": frozenset(),
    "take_first": frozenset(),
    "take_first_k": frozenset({"k"}),
    "majority_vote": frozenset(),
    "custom": None,
}
"""Every filter of lm-eval 0.4.13 and the settings that it takes; None: any."""

EXACT_MATCH = frozenset({"regexes_to_ignore", "ignore_case", "ignore_punctuation", "ignore_numbers"})
DEFAULT_CHAIN = FilterChain("none", (FilterStep("take_first"),))


def scoring_rules(config: TaskConfig, where: object) -> ScoringRules:
    """The task's rules. Raises UsageError for an unknown filter, setting or headline, a broken regex."""
    chains = tuple(_chain(entry, where) for entry in config.filter_list or ())
    if "trust_model_code" in config.resit.options:
        raise UsageError(
            f"{where}: resit.options: a task cannot have itself trusted", "--trust-model-code is the user's"
        )
    rules = ScoringRules(
        filters=chains if config.filter_list is not None else (DEFAULT_CHAIN,),
        metrics=_metrics(config.metric_list, where),
        headline=config.resit.headline,
        named=config.resit.rules,
        options=dict(config.resit.options),
        process_results=config.process_results,
    )
    _check_headline(rules, where)
    return rules


def _check_headline(rules: ScoringRules, where: object) -> None:
    """Refuse a headline that no filter, metric and rule will report; a task's own scorer may report any."""
    own = [f"{metric.name},{chain.name}" for metric in rules.metrics for chain in rules.filters]
    known = [*own, *(f"exact_match,{name}" for name in rules.named)]
    if rules.headline and rules.process_results is None and rules.headline not in known:
        raise UsageError(
            f"{where}: resit.headline: the task does not report {rules.headline!r}",
            f"it reports {'; '.join(known)}",
        )


def _chain(entry: Mapping[str, Any], where: object) -> FilterChain:
    name, steps = entry.get("name"), entry.get("filter")
    if (
        not isinstance(name, str)
        or not isinstance(steps, list)
        or set(entry) - {"name", "filter", "metric_list"}
    ):
        raise UsageError(
            f"{where}: filter_list: expected entries with name and filter, found {dict(entry)!r}"
        )
    return FilterChain(name, tuple(_step(step, name, where) for step in steps))


def _step(step: Any, chain: str, where: object) -> FilterStep:
    if not isinstance(step, Mapping) or not isinstance(step.get("function"), str):
        raise UsageError(f"{where}: filter {chain!r}: expected a step with a function, found {step!r}")
    name = step["function"]
    kwargs = {key: value for key, value in step.items() if key != "function"}
    _check_step(name, kwargs, f"{where}: filter {chain!r}")
    if name != "custom":
        return FilterStep(name, kwargs)
    function = kwargs.pop("filter_fn", None)
    if not isinstance(function, Function):
        raise UsageError(
            f"{where}: filter {chain!r}: custom needs filter_fn: !function …, found {function!r}"
        )
    return FilterStep(name, kwargs, function)


def _check_step(name: str, kwargs: Mapping[str, Any], where: str) -> None:
    if name not in FILTERS and name in plugins.names("resit.filters"):
        return  # its settings are checked when the chain is made
    if name not in FILTERS:
        near = get_close_matches(name, FILTERS, n=1, cutoff=0.0)
        known = ", ".join(sorted(FILTERS))
        raise UsageError(
            f"{where}: no filter is called {name!r}; the nearest is {near[0]!r}", f"filters: {known}"
        )
    taken = FILTERS[name]
    if taken is not None and (extra := sorted(set(kwargs) - taken)):
        allowed = ", ".join(sorted(taken)) or "no settings"
        raise UsageError(f"{where}: {name} has no setting {extra[0]!r}", f"it takes {allowed}")
    if name == "take_first_k" and not isinstance(kwargs.get("k"), int):
        raise UsageError(f"{where}: take_first_k needs k, a whole number, found {kwargs.get('k')!r}")
    for pattern in (kwargs.get("regex_pattern"), *kwargs.get("regexes_to_ignore", ())):
        _check_regex(pattern, where)


def _check_regex(pattern: Any, where: str) -> None:
    if pattern is None:
        return
    try:
        re.compile(pattern)
    except (re.error, TypeError) as error:
        raise UsageError(f"{where}: {pattern!r} is not a regular expression: {error}") from None


def _metrics(entries: list[dict[str, Any]] | None, where: object) -> tuple[MetricSpec, ...]:
    if entries is None:
        return (MetricSpec("exact_match"),)
    return tuple(_metric(entry, where) for entry in entries)


def _metric(entry: Mapping[str, Any], where: object) -> MetricSpec:
    name = entry.get("metric")
    if not isinstance(name, str):
        raise UsageError(f"{where}: metric_list: expected the name of a metric, found {name!r}")
    aggregation = entry.get("aggregation", "mean")
    if not isinstance(aggregation, str):
        raise UsageError(f"{where}: metric {name!r}: aggregation by a function is not supported")
    kwargs = {k: v for k, v in entry.items() if k not in ("metric", "aggregation", "higher_is_better")}
    if name == "exact_match":
        _check_exact_match(kwargs, f"{where}: metric exact_match")
    return MetricSpec(name, kwargs, aggregation, bool(entry.get("higher_is_better", True)))


def _check_exact_match(kwargs: Mapping[str, Any], where: str) -> None:
    if extra := sorted(set(kwargs) - EXACT_MATCH):
        raise UsageError(f"{where} has no setting {extra[0]!r}", f"it takes {', '.join(sorted(EXACT_MATCH))}")
    for pattern in kwargs.get("regexes_to_ignore") or ():
        _check_regex(pattern, where)
