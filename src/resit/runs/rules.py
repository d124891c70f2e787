"""A task's scoring rules as JSON, so that a run can be scored where the task file is not at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resit.records import FilterChain, FilterStep, MetricSpec, ScoringRules
from resit.runs.identity import normalised


def rules_to(rules: ScoringRules) -> dict[str, Any]:
    """The rules as JSON; a task's own Python is only noted (`needs_code`), never stored."""
    code = rules.process_results is not None or any(
        step.call is not None for chain in rules.filters for step in chain.steps
    )
    record = {
        "filters": [
            {
                "name": chain.name,
                "filter": [{"function": step.function, **step.kwargs} for step in chain.steps],
            }
            for chain in rules.filters
        ],
        "metrics": [
            {
                "metric": metric.name,
                "aggregation": metric.aggregation,
                "higher_is_better": metric.higher_is_better,
                **metric.kwargs,
            }
            for metric in rules.metrics
        ],
        "headline": rules.headline,
        "named": list(rules.named),
        "options": _told(rules.options),
        "needs_code": code,
    }
    return dict(normalised(record))


def rules_from(record: Mapping[str, Any]) -> ScoringRules:
    """The rules that `rules_to` wrote; those that need a task's own Python come back without it."""
    return ScoringRules(
        filters=tuple(_chain(chain) for chain in record["filters"]),
        metrics=tuple(_metric(metric) for metric in record["metrics"]),
        headline=record["headline"],
        named=tuple(record["named"]),
        options=_told(record["options"]),
    )


def _told(options: Mapping[str, Any]) -> dict[str, Any]:
    """The task's options; whether a model's programs may run is told by the user, never by a file."""
    return {name: value for name, value in options.items() if name != "trust_model_code"}


def _chain(record: Mapping[str, Any]) -> FilterChain:
    steps = [dict(step) for step in record["filter"]]
    return FilterChain(record["name"], tuple(FilterStep(step.pop("function"), step) for step in steps))


def _metric(record: Mapping[str, Any]) -> MetricSpec:
    rest = dict(record)
    name, aggregation = rest.pop("metric"), rest.pop("aggregation")
    return MetricSpec(
        name, aggregation=aggregation, higher_is_better=rest.pop("higher_is_better"), kwargs=rest
    )
