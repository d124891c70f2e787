"""A signal on texts that may have been seen against texts that cannot have been."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from resit.stats import Separation, separation, standard_error, student_quantile
from resit.stats.difference import welch


@dataclass(frozen=True, slots=True)
class Contrast:
    """Mean of a signal on the seen texts less its mean on the fresh ones, in the signal's unit."""

    signal: str
    part: str
    """What of the documents was read: `question` or `question and solution`."""
    seen_mean: float
    fresh_mean: float
    difference: float
    standard_error: float
    ci_low: float
    ci_high: float
    confidence: float
    p_greater: float
    """One-sided: small when the data say that the seen texts are likelier."""
    separation: Separation
    paired_by: str = ""
    """What pairs the texts; empty: nothing does."""

    def as_json(self) -> dict[str, Any]:
        """Flat, the AUC's fields nested under `separation`."""
        return asdict(self)


def contrast(
    signal: str, part: str, seen: Sequence[float], fresh: Sequence[float], confidence: float = 0.95
) -> Contrast:
    """The difference by Welch's t (Welch 1947), and the AUC. ValueError for too few or constant values."""
    difference, error, degrees = welch(seen, fresh)
    return _contrast(signal, part, (seen, fresh), (difference, error, degrees), confidence, "")


def paired_contrast(
    signal: str,
    part: str,
    seen: Mapping[Hashable, Sequence[float]],
    fresh: Mapping[Hashable, Sequence[float]],
    confidence: float = 0.95,
    *,
    by: str,
) -> Contrast:
    """The difference over groups that both sides have, each group's mean against the other's (paired t).

    ValueError for fewer than two shared groups or a difference without spread.
    """
    shared = [group for group in seen if group in fresh]
    if len(shared) < 2:
        raise ValueError("pairing needs at least two groups on both sides")
    differences = [_mean(seen[group]) - _mean(fresh[group]) for group in shared]
    error = standard_error(differences)
    if error < 1e-12:
        raise ValueError("all pairs differ alike: their spread says nothing about the difference")
    values = [[x for group in shared for x in side[group]] for side in (seen, fresh)]
    result = (_mean(differences), error, float(len(shared) - 1))
    return _contrast(signal, part, (values[0], values[1]), result, confidence, by)


def _contrast(
    signal: str,
    part: str,
    values: tuple[Sequence[float], Sequence[float]],
    result: tuple[float, float, float],
    confidence: float,
    by: str,
) -> Contrast:
    from scipy.special import stdtr

    difference, error, degrees = result
    half = student_quantile(confidence, degrees) * error
    return Contrast(
        signal=signal,
        part=part,
        seen_mean=_mean(values[0]),
        fresh_mean=_mean(values[1]),
        difference=difference,
        standard_error=error,
        ci_low=difference - half,
        ci_high=difference + half,
        confidence=confidence,
        p_greater=float(stdtr(degrees, -difference / error)),
        separation=separation(values[0], values[1], confidence),
        paired_by=by,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
