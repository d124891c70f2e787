"""Estimates for one question from n samples: what k samples do, averaged over every k-subset.

Where a quantity is undefined (fewer than k samples, none at all) these functions raise ValueError: a 0 would
be read as "wrong". A curve leaves such k out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def check_draw(n: int, k: int) -> None:
    """Raise ValueError unless 1 <= k <= n."""
    if n < 0 or k < 1:
        raise ValueError(f"need n >= 0 samples and k >= 1, not n = {n}, k = {k}")
    if k > n:
        raise ValueError(
            f"undefined: k = {k} samples cannot be drawn from n = {n} (it needs n >= k per question)"
        )


def _check_correct(n: int, c: int, k: int) -> None:
    check_draw(n, k)
    if not 0 <= c <= n:
        raise ValueError(f"the number of right samples must lie between 0 and n = {n}, not {c}")


def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that at least one of k of the n samples, c of them right, is right.

    1 - C(n-c, k)/C(n, k), in whole numbers. Chen et al. 2021, arXiv 2107.03374, section 2.1. ValueError when
    k > n or for impossible counts.
    """
    _check_correct(n, c, k)
    return float(1 - Fraction(math.comb(n - c, k), math.comb(n, k)))


def pass_pow_k(n: int, c: int, k: int) -> float:
    """Probability that all k of k samples are right ("pass^k").

    C(c, k)/C(n, k). Yao et al. 2024, tau-bench, arXiv 2406.12045, section 3. ValueError when k > n or for
    impossible counts.
    """
    _check_correct(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def g_pass_at_k(n: int, c: int, k: int, tau: float) -> float:
    """Probability that at least a share `tau` of k samples is right.

    sum over j >= ceil(tau k) of C(c, j) C(n-c, k-j)/C(n, k). Liu et al. 2024, arXiv 2412.13147 (G-Pass@k).
    tau -> 0 gives pass@k, 1 gives pass^k. ValueError when k > n, for impossible counts, or tau outside 0..1.
    """
    _check_correct(n, c, k)
    if not 0 <= tau <= 1:
        raise ValueError(f"tau is a share between 0 and 1, not {tau}")
    needed = max(1, math.ceil(tau * k - 1e-9))
    ways = sum(math.comb(c, j) * math.comb(n - c, k - j) for j in range(needed, min(c, k) + 1))
    return ways / math.comb(n, k)


def strict_majority(n: int, c: int, k: int) -> float:
    """Probability that more than half of k samples is right: a lower bound of maj@k, not a vote on answers.

    P(Hypergeometric(n, c, k) > k/2). Hariri et al. 2025, arXiv 2510.04265, calls this maj@k. ValueError as
    `pass_at_k`.
    """
    _check_correct(n, c, k)
    ways = sum(math.comb(c, j) * math.comb(n - c, k - j) for j in range(k // 2 + 1, min(c, k) + 1))
    return ways / math.comb(n, k)


def best_of_k(scores: Sequence[float], correct: Sequence[float], k: int) -> float:
    """Expected correctness of the best-scored of k of the n samples; ties are broken evenly.

    With samples in descending order and a group of equal scores at ranks i..j (0-based, j exclusive), the
    best of k falls into the group with probability [C(n-i, k) - C(n-j, k)]/C(n, k), and is right by the
    group's share of right samples. Every k-subset is counted once; k = 1 is the mean, k = n the top score.
    ValueError when k > n, for lengths that differ, or a score that is not a number.
    """
    n = len(scores)
    check_draw(n, k)
    if len(correct) != n or any(math.isnan(score) for score in scores):
        raise ValueError("best-of-k needs one score (a number) and one correctness a sample")
    order = sorted(range(n), key=lambda index: -scores[index])
    total, start = 0.0, 0
    while start < n:
        end = start + 1
        while end < n and scores[order[end]] == scores[order[start]]:
            end += 1
        share = math.fsum(correct[index] for index in order[start:end]) / (end - start)
        total += share * ((math.comb(n - start, k) - math.comb(n - end, k)) / math.comb(n, k))
        start = end
    return total


def consistency(counts: Sequence[int], abstentions: int = 0) -> float:
    """Share of all samples that gave the most frequent answer, in 0..1.

    max(counts) / (sum(counts) + abstentions): a sample without an answer agrees with nobody. Wang et al.
    2022, arXiv 2203.11171, section 3.5 (consistency). ValueError for no sample at all.
    """
    n = sum(counts) + abstentions
    if n < 1 or abstentions < 0 or any(count < 0 for count in counts):
        raise ValueError("consistency needs at least one sample and no negative count")
    return max(counts, default=0) / n


def agreement(counts: Sequence[int], abstentions: int = 0) -> float:
    """Probability that two samples give the same answer, in 0..1; its mean does not depend on n.

    sum c_j (c_j - 1) / (n (n - 1)), the unbiased estimate of Simpson's index; abstentions agree with nobody.
    Simpson 1949, Nature 163:688. ValueError for fewer than two samples.
    """
    n = sum(counts) + abstentions
    if n < 2 or abstentions < 0 or any(count < 0 for count in counts):
        raise ValueError("agreement needs at least two samples and no negative count")
    return sum(count * (count - 1) for count in counts) / (n * (n - 1))
