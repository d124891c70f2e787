"""Scores of groups of tasks, as lm-eval aggregates them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Scores = Mapping[str, Any]
"""A task's entry of `results`."""


def group_scores(groups: Mapping[str, Any], results: Mapping[str, Scores]) -> dict[str, dict[str, Any]]:
    """By group that asks for an aggregate, its entry of `groups`; members that were not run are left out.

    `groups` is the record's: alias, members (tasks and groups), aggregates (`aggregate_metric_list`).
    """
    found = {}
    for name, group in groups.items():
        members = [results[task] for task in leaves(name, groups) if task in results]
        if group["aggregates"] and members:
            entry = {"alias": group["alias"], "sample_len": sum(member["sample_len"] for member in members)}
            for aggregate in group["aggregates"]:
                entry.update(_aggregated(aggregate, members))
            found[name] = entry
    return found


def leaves(name: str, groups: Mapping[str, Any]) -> list[str]:
    """The tasks of a group and of the groups inside it, each once."""
    return list(dict.fromkeys(_leaves(name, groups, ())))


def _leaves(name: str, groups: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[str]:
    for member in groups[name]["members"]:
        if member in groups and member not in above:
            yield from _leaves(member, groups, (*above, name))
        elif member not in groups:
            yield member


def _aggregated(aggregate: Mapping[str, Any], members: Sequence[Scores]) -> Iterator[tuple[str, Any]]:
    """The mean of one metric over the members, weighted by their questions unless told otherwise."""
    filters = aggregate.get("filter_list", "none")
    for filter_name in [filters] if isinstance(filters, str) else filters:
        key, error_key = (f"{aggregate['metric']}{kind},{filter_name}" for kind in ("", "_stderr"))
        measured = [member for member in members if key in member]
        if not measured:
            continue
        sizes = [member["sample_len"] for member in measured]
        weights = sizes if aggregate.get("weight_by_size", True) else [1] * len(sizes)
        total = math.fsum(w * member[key] for w, member in zip(weights, measured, strict=True))
        yield key, total / sum(weights)
        yield error_key, _pooled_error([member.get(error_key, "N/A") for member in measured], sizes)


def _pooled_error(errors: Sequence[Any], sizes: Sequence[int]) -> float | str:
    """lm-eval's pooled error, sqrt(sum (n-1) n se^2 / (N - members) / N); N/A where one is unknown."""
    total, free = sum(sizes), sum(sizes) - len(sizes)
    if free <= 0 or not all(isinstance(error, float) for error in errors):
        return "N/A"
    squares = math.fsum((n - 1) * n * error**2 for n, error in zip(sizes, errors, strict=True))
    return math.sqrt(squares / free / total)
