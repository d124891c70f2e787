"""How often Resit's 95 % intervals hold the truth, and how often its tests cry wolf, on data of known truth.

Prints the tables of docs/statistics.md:  python benchmarks/interval_coverage.py [--repetitions 20000] [--seed
1] Single proportions and McNemar's test are summed exactly over every outcome; all else is simulated, seeded,
with a Monte-Carlo error of 0.15 points at 20,000 repetitions.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
from _figures import Figure, at_least, at_most, record
from numpy.typing import NDArray
from scipy.special import stdtrit
from scipy.stats import binom

from resit import stats
from resit.stats import Interval

Floats = NDArray[np.float64]

SIZES = (30, 200, 1319)
TRUTHS = (0.05, 0.5, 0.8, 0.98)
LEAST_COVERAGE, MOST_COVERAGE, MOST_SIZE = 94.0, 96.0, 5.0
"""Wanted, in per cent, of 95 % intervals and of tests at 5 %."""
DISCORDANCES = (0.02, 0.05, 0.1, 0.2, 0.4)


def main() -> None:
    """Print every table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    sections: tuple[tuple[str, Sequence[str], Iterator[list[str]]], ...] = (
        (
            "One sample a question: exact coverage at p (and its average within one standard error of p)",
            ("n", "p", *SINGLE),
            single_sample(),
        ),
        (
            "Several samples a question: coverage of the mean over questions",
            ("questions", "samples", "p", "correlation", "Wilson at effective size", "mean ± t SE"),
            repeats(rng, options.repetitions),
        ),
        (
            "Same questions: size of McNemar's test at 5 % (exact), coverage of the paired interval",
            ("n", "discordance", "mid-p", "exact", "Tango", "Wald"),
            paired(rng, options.repetitions),
        ),
        (
            "Different questions: size of the pooled z at 5 %, coverage of the gap's interval",
            ("n seen", "n fresh", "p seen", "p fresh", "size", "Mee", "Wald"),
            unpaired(rng, options.repetitions),
        ),
        (
            "Same questions, 8 samples each: size of the paired t at 5 %, coverage",
            ("questions", "mean", "size", "Student's t", "bootstrap, percentile", "bootstrap, BCa"),
            paired_repeats(rng, options.repetitions // 10),
        ),
        (
            "The gate, one-sided 5 %: outcomes for a run that is worse by exactly the margin",
            ("n", "discordance", "margin", "passes", "fails", "cannot tell"),
            gate(rng, options.repetitions),
        ),
    )
    shown: list[list[list[str]]] = []
    for title, columns, rows in sections:
        shown.append([])
        print(f"\n**{title}**\n", flush=True)
        print("| " + " | ".join(columns) + " |")
        print("|" + "---:|" * len(columns))
        for row in rows:
            print("| " + " | ".join(row) + " |", flush=True)
            shown[-1].append(row)
    single, _, same, other, *_ = shown
    record(*figures(single, same, other))


def figures(single: list[list[str]], same: list[list[str]], other: list[list[str]]) -> Iterator[Figure]:
    """What the table of all benchmarks shows: the worst cells of the intervals and tests that Resit uses."""
    averages = [float(row[2].split("(")[1].rstrip(")")) for row in single]
    yield at_least("Wilson, coverage averaged near p, lowest", min(averages), "%", LEAST_COVERAGE)
    yield at_most("Wilson, coverage averaged near p, highest", max(averages), "%", MOST_COVERAGE)
    for test, column in (("mid-p", 2), ("exact", 3)):
        size = max(float(row[column]) for row in same)
        yield at_most(f"size of McNemar's {test} test, greatest", size, "%", MOST_SIZE)
    for what, rows in (("paired (Tango)", same), ("gap's (Mee)", other)):
        column = 4 if rows is same else 5
        lowest = min(float(row[column]) for row in rows)
        yield Figure(f"{what} interval, coverage at exact truths, lowest", lowest, "%")


def share(value: float) -> str:
    """A probability in per cent."""
    return f"{100 * value:.1f}"


def wald(successes: int, n: int) -> Interval:
    """The textbook interval, for comparison."""
    p = successes / n
    half = 1.959964 * math.sqrt(p * (1 - p) / n)
    return Interval(p - half, p + half)


SINGLE: dict[str, Callable[[int, int], Interval]] = {
    "Wilson": stats.wilson_interval,
    "Clopper-Pearson": stats.clopper_pearson_interval,
    "Jeffreys": stats.jeffreys_interval,
    "uniform prior": stats.beta_interval,
    "Wald": wald,
}


def single_sample() -> Iterator[list[str]]:
    """Coverage of every interval for one proportion, exactly and averaged over neighbouring truths."""
    for n in SIZES:
        limits = {name: limits_of(interval, n) for name, interval in SINGLE.items()}
        for p in TRUTHS:
            reach = math.sqrt(p * (1 - p) / n)
            near = np.linspace(max(1e-4, p - reach), min(1 - 1e-4, p + reach), 401)
            cells = []
            for found in limits.values():
                average = float(np.mean([exact_coverage(found, n, q) for q in near]))
                cells.append(f"{share(exact_coverage(found, n, p))} ({share(average)})")
            yield [str(n), f"{p:g}", *cells]


def limits_of(interval: Callable[[int, int], Interval], n: int) -> Floats:
    """Lower and upper limit for every number of successes, shape (n + 1, 2)."""
    return np.array([interval(k, n) for k in range(n + 1)], dtype=np.float64)


def exact_coverage(limits: Floats, n: int, p: float) -> float:
    """Probability that the limits hold p."""
    holds = (limits[:, 0] <= p) & (p <= limits[:, 1])
    return float(binom.pmf(np.arange(n + 1), n, p)[holds].sum())


def repeats(rng: np.random.Generator, repetitions: int) -> Iterator[list[str]]:
    """Questions with beta-distributed difficulty, so that samples of one question are correlated."""
    for questions in SIZES:
        runs = max(2000, repetitions * 30 // questions) if questions > 200 else repetitions
        for p in TRUTHS:
            for correlation, samples in ((0.1, 4), (0.5, 4), (0.5, 64)):
                weight = (1 - correlation) / correlation
                held = np.zeros(2)
                for _ in range(runs):
                    ability = rng.beta(p * weight, (1 - p) * weight, size=questions)
                    means = rng.binomial(samples, ability) / samples
                    held += holds_mean(means, p)
                cells = [str(questions), str(samples), f"{p:g}", f"{correlation:g}"]
                yield [*cells, *(share(float(count) / runs) for count in held)]


def holds_mean(means: Floats, truth: float) -> tuple[bool, bool]:
    """Whether the effective-size interval and the t interval hold the truth."""
    low, high = stats.bounded_mean_interval(means.tolist())
    half = student(len(means)) * means.std(ddof=1) / math.sqrt(len(means))
    return low <= truth <= high, bool(abs(means.mean() - truth) <= half)


@cache
def student(n: int) -> float:
    """The 97.5 % quantile on n - 1 degrees."""
    return float(stdtrit(n - 1, 0.975))


def paired(rng: np.random.Generator, repetitions: int) -> Iterator[list[str]]:
    """Sizes under no difference, summed exactly; coverage with a difference of a third of the discordance."""
    for n in SIZES:
        for discordance in DISCORDANCES:
            truth = discordance / 3
            cells = (discordance + truth) / 2, (discordance - truth) / 2, 1 - discordance
            counts = rng.multinomial(n, cells, size=repetitions)
            tango = wald_held = 0
            for b, c, _ in counts:
                low, high = tango_limits(int(b), int(c), n)
                tango += low <= truth <= high
                d = (b - c) / n
                wald_held += abs(d - truth) <= 1.959964 * math.sqrt(max(0.0, (b + c) / n - d * d) / n)
            sizes = [
                share(mcnemar_size(test, n, discordance))
                for test in (stats.mcnemar_midp, stats.mcnemar_exact)
            ]
            yield [
                str(n),
                f"{discordance:g}",
                *sizes,
                share(tango / repetitions),
                share(wald_held / repetitions),
            ]


@cache
def tango_limits(b: int, c: int, n: int, confidence: float = 0.95) -> Interval:
    """`paired_score_interval`, remembered."""
    return stats.paired_score_interval(b, c, n, confidence)


def mcnemar_size(test: Callable[[int, int], float], n: int, discordance: float) -> float:
    """Probability of p < .05 when both directions are equally likely, over every outcome."""
    total = 0.0
    for m in range(n + 1):
        weight = float(binom.pmf(m, n, discordance))
        if weight > 1e-10:
            total += weight * conditional_size(test, m)
    return total


@cache
def conditional_size(test: Callable[[int, int], float], m: int) -> float:
    """The same, given m discordant questions."""
    rejected = [b for b in range(m + 1) if test(b, m - b) < 0.05]
    return math.fsum(binom.pmf(np.array(rejected, dtype=np.int64), m, 0.5))


def unpaired(rng: np.random.Generator, repetitions: int) -> Iterator[list[str]]:
    """A gap of nothing for the size, and the gap named in the row for the coverage."""
    for n_seen, n_fresh in ((30, 30), (200, 200), (1319, 1205)):
        for p_seen, p_fresh in ((0.05, 0.03), (0.5, 0.4), (0.8, 0.7), (0.98, 0.95)):
            null = rng.binomial(n_seen, p_fresh, repetitions), rng.binomial(n_fresh, p_fresh, repetitions)
            rejected = sum(
                gap(int(k1), n_seen, int(k2), n_fresh)[1] < 0.05 for k1, k2 in zip(*null, strict=True)
            )
            drawn = rng.binomial(n_seen, p_seen, repetitions), rng.binomial(n_fresh, p_fresh, repetitions)
            truth, mee, plain = p_seen - p_fresh, 0, 0
            for k1, k2 in zip(*drawn, strict=True):
                (low, high), _, error = gap(int(k1), n_seen, int(k2), n_fresh)
                mee += low <= truth <= high
                plain += abs(k1 / n_seen - k2 / n_fresh - truth) <= 1.959964 * error
            yield [
                str(n_seen), str(n_fresh), f"{p_seen:g}", f"{p_fresh:g}",
                *(share(count / repetitions) for count in (rejected, mee, plain)),
            ]  # fmt: skip


@cache
def gap(k1: int, n1: int, k2: int, n2: int) -> tuple[Interval, float, float]:
    """Interval, p-value and unpooled error of a gap."""
    found = stats.gap_test(k1, n1, k2, n2)
    return found.interval, found.p_value, found.standard_error


def paired_repeats(rng: np.random.Generator, repetitions: int) -> Iterator[list[str]]:
    """Two runs with abilities that go together; both intervals of the bootstrap draw 1000 times."""
    for questions in SIZES:
        runs = repetitions if questions < 1000 else repetitions // 4
        for mean in (0.5, 0.8):
            held, rejected = np.zeros(3), 0
            for _ in range(runs):
                shared = rng.beta(2 * mean, 2 * (1 - mean), size=questions)
                own = rng.beta(2 * mean, 2 * (1 - mean), size=(2, questions))
                first, second = (rng.binomial(8, 0.8 * shared + 0.2 * side) / 8 for side in own)
                found = stats.paired_difference(first.tolist(), second.tolist())
                rejected += found.p_value < 0.05
                held += [
                    low <= 0 <= high
                    for low, high in (
                        found.interval,
                        stats.bootstrap_interval(first - second, draws=1000, method="percentile"),
                        stats.bootstrap_interval(first - second, draws=1000),
                    )
                ]
            yield [str(questions), f"{mean:g}", *(share(float(x) / runs) for x in (rejected, *held))]


def gate(rng: np.random.Generator, repetitions: int) -> Iterator[list[str]]:
    """The decisions of `resit gate --margin`, without its refusals."""
    for n, discordance, margin in (
        (1319, 0.05, 0.02),
        (1319, 0.1, 0.03),
        (1319, 0.02, 0.01),
        (200, 0.1, 0.05),
    ):
        cells = (discordance - margin) / 2, (discordance + margin) / 2, 1 - discordance
        passes = fails = 0
        for better, worse, _ in rng.multinomial(n, cells, size=repetitions):
            low, high = tango_limits(int(better), int(worse), n, 0.9)
            passes += low > -margin
            fails += high < -margin
        rest = repetitions - passes - fails
        yield [
            str(n), f"{discordance:g}", f"{margin:g}",
            *(share(count / repetitions) for count in (passes, fails, rest)),
        ]  # fmt: skip


if __name__ == "__main__":
    main()
