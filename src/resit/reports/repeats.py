"""What several samples a question add: pass@k, pass^k and maj@k for every k, and consistency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from resit.grading.values import read_value
from resit.records import Verdict
from resit.stats import Estimate, QuestionVotes, consistency, estimate, sampling_curve
from resit.stats.curves import CurveKind

RepeatMetric: TypeAlias = Literal["pass", "pass_pow", "maj", "consistency"]


def question_votes(verdicts: Sequence[Verdict]) -> QuestionVotes:
    """The votes of a question's samples: answers of equal value are one class, right if any is right."""
    if len(verdicts) == 1:
        (only,) = verdicts
        right = only.correct == 1
        silent = only.extracted is None and not right
        return QuestionVotes(int(right), () if right or silent else (1,), int(silent))
    texts = {verdict.extracted for verdict in verdicts}
    values = {text: _value(text) if len(texts) > 1 else text for text in texts}
    keys = [values[verdict.extracted] for verdict in verdicts]
    right_keys = {key for key, verdict in zip(keys, verdicts, strict=True) if verdict.correct == 1}
    counts = Counter(key for key in keys if key is not None and key not in right_keys)
    return QuestionVotes(
        right=sum(key in right_keys for key in keys),
        wrong=tuple(sorted(counts.values(), reverse=True)),
        abstentions=sum(key is None and None not in right_keys for key in keys),
    )


def _value(text: str | None) -> Hashable:
    return None if text is None else read_value(text) or text.strip()


def repeat_estimates(
    scores: Sequence[Sequence[float]],
    votes: Sequence[QuestionVotes],
    ks: Sequence[int] | None = None,
    confidence: float = 0.95,
) -> Iterator[tuple[RepeatMetric, int | None, Estimate]]:
    """Metric, k and estimate over questions, for each k that all of them allow; then consistency, without k.

    `scores` and `votes` are one entry a question. Nothing for single samples, or for scores that are not
    right or wrong.
    """
    binary = all(score in (0, 1) for question in scores for score in question)
    if not binary or max(map(len, scores), default=0) < 2:
        return
    passes = [QuestionVotes(right, (len(q) - right,)) for q in scores for right in [round(sum(q))]]
    kinds: tuple[tuple[CurveKind, Sequence[QuestionVotes]], ...] = (
        ("pass", passes),
        ("pass_pow", passes),
        ("maj", votes),
    )
    for kind, counted in kinds:
        for point in sampling_curve(counted, kind, ks, confidence):
            yield kind, point.k, point.estimate
    agreeing = [[consistency(vote.counts, vote.abstentions)] for vote in votes]
    whole = estimate(agreeing, confidence, "clustered")
    yield "consistency", None, replace(whole, samples=sum(map(len, scores)))


def repeats_json(scores: Sequence[Sequence[float]], votes: Sequence[QuestionVotes]) -> dict[str, Any]:
    """`repeat_estimates` for `results.json`: a list by k for each metric; empty where there is nothing."""
    found: dict[str, Any] = {}
    for metric, k, estimated in repeat_estimates(scores, votes):
        point = {
            "value": estimated.value,
            "standard_error": estimated.standard_error,
            "ci_low": estimated.ci_low,
            "ci_high": estimated.ci_high,
        }
        if k is None:
            found[metric] = point
        else:
            found.setdefault(metric, []).append({"k": k, **point})
    return found


SHOWN: Mapping[str, str] = {"pass": "pass@k", "pass_pow": "pass^k", "maj": "maj@k"}


def repeat_lines(results: Mapping[str, Any]) -> Iterator[str]:
    """For each task with repeats, a line a metric: k = 1, 2, 4, … and n, under `robust` if that is there."""
    for task, summary in results["resit"]["tasks"].items():
        rules = summary["rules"]
        for rule in ["robust"] if "robust" in rules else rules:
            repeats = rules[rule].get("repeats", {})
            for metric, label in SHOWN.items():
                points = repeats.get(metric, [])
                if points:
                    yield f"{task}, {rule}, {label}: {', '.join(_point(point) for point in _some(points))}"


def _some(points: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    last = points[-1]["k"]
    return [point for point in points if point["k"] == last or point["k"].bit_count() == 1]


def _point(point: Mapping[str, Any]) -> str:
    error = point["standard_error"]
    return f"{point['value']:.4f}" + (f" ± {error:.4f}" if error is not None else "") + f" (k = {point['k']})"
