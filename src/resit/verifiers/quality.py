"""How good a verifier is, beside what anyone could say without one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from resit.stats import estimate

DRAWS = 2000
BINS = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Discrimination:
    """AUC of one number against right and wrong solutions; intervals resample questions."""

    name: str
    auc: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True, slots=True)
class Advantage:
    """AUC of the verifier less that of a baseline on the same solutions."""

    over: str
    difference: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Solutions of like probability: the mean that was predicted, and the share that is right.

    Both are means over questions of their means in the bin. Limits are None where all are of one question.
    """

    predicted: float
    observed: float
    ci_low: float | None
    ci_high: float | None
    solutions: int
    questions: int


@dataclass(frozen=True, slots=True)
class Quality:
    """The verifier and its baselines on held-out questions."""

    questions: int
    solutions: int
    right: int
    discriminations: list[Discrimination]
    """The verifier first."""
    advantages: list[Advantage]
    brier: float
    """Mean squared error of the probabilities; `brier_of_share` is that of always saying the mean."""
    brier_of_share: float
    calibration: list[CalibrationBin]


def judge(
    logits: Sequence[float],
    labels: Sequence[float],
    questions: Sequence[Hashable],
    baselines: dict[str, Sequence[float]],
    confidence: float = 0.95,
    seed: int = 1234,
) -> Quality:
    """The verifier's quality from one logit, label and question a solution.

    AUC is the Mann-Whitney probability; its interval, and that of its lead over each baseline, are percentile
    bootstraps over questions, since a question's solutions are alike (Efron and Tibshirani 1993). Calibration
    in ten bins of as many solutions, each with the interval of `stats.estimate`, over questions. ValueError
    unless right and wrong solutions are there.
    """
    right = np.asarray(labels, dtype=np.float64) > 0.5
    numbers = {"verifier": np.asarray(logits, dtype=np.float64)}
    numbers |= {name: np.asarray(values, dtype=np.float64) for name, values in baselines.items()}
    draws = _resampled(numbers, right, questions, np.random.default_rng(seed))
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    found, ahead = [], []
    for name, values in numbers.items():
        low, high = np.quantile(draws[name], tails)
        found.append(Discrimination(name, auc(values[right], values[~right]), float(low), float(high)))
        if name != "verifier":
            low, high = np.quantile(draws["verifier"] - draws[name], tails)
            ahead.append(Advantage(name, found[0].auc - found[-1].auc, float(low), float(high)))
    predicted = 1 / (1 + np.exp(-numbers["verifier"]))
    share = float(right.mean())
    return Quality(
        questions=len(set(questions)),
        solutions=len(right),
        right=int(right.sum()),
        discriminations=found,
        advantages=ahead,
        brier=float(((predicted - right) ** 2).mean()),
        brier_of_share=share * (1 - share),
        calibration=_calibration(predicted, right, questions, confidence),
    )


def auc(above: Floats, below: Floats) -> float:
    """Probability that a value of the first group exceeds one of the second, ties counting half.

    One value a group is enough, since no error is asked for. ValueError for an empty group, or a value that
    is not finite.
    """
    if not len(above) or not len(below):
        raise ValueError("an AUC needs a value in each group")
    if not (np.isfinite(above).all() and np.isfinite(below).all()):
        raise ValueError("an AUC needs finite values")
    ordered = np.sort(below)
    under = np.searchsorted(ordered, above, "left") + np.searchsorted(ordered, above, "right")
    return float(under.mean() / (2 * len(ordered)))


def _resampled(
    numbers: dict[str, Floats],
    right: NDArray[np.bool_],
    questions: Sequence[Hashable],
    rng: np.random.Generator,
) -> dict[str, Floats]:
    """AUCs of each number over resamples of the questions, the same resamples for all."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for index, question in enumerate(questions):
        groups[question].append(index)
    members = [np.array(group) for group in groups.values()]
    found: dict[str, list[float]] = {name: [] for name in numbers}
    for _ in range(DRAWS):
        chosen = np.concatenate([members[at] for at in rng.integers(len(members), size=len(members))])
        ok = right[chosen]
        if 0 < ok.sum() < len(ok):
            for name, values in numbers.items():
                found[name].append(auc(values[chosen][ok], values[chosen][~ok]))
    return {name: np.array(values) for name, values in found.items()}


def _calibration(
    predicted: Floats, right: NDArray[np.bool_], questions: Sequence[Hashable], confidence: float
) -> list[CalibrationBin]:
    bins = []
    for chosen in np.array_split(np.argsort(predicted, kind="stable"), min(BINS, len(predicted))):
        groups: dict[Hashable, list[int]] = defaultdict(list)
        for index in chosen.tolist():
            groups[questions[index]].append(index)
        observed = estimate([right[group].astype(float).tolist() for group in groups.values()], confidence)
        bins.append(
            CalibrationBin(
                predicted=float(np.mean([predicted[group].mean() for group in groups.values()])),
                observed=observed.value,
                ci_low=observed.ci_low,
                ci_high=observed.ci_high,
                solutions=len(chosen),
                questions=len(groups),
            )
        )
    return bins
