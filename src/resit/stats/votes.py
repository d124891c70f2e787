"""Majority votes of k samples: exact expectations over every k-subset of n; weighted votes by seeded subsets.

The exact vote counts k-subsets by polynomials in x, one x a drawn sample. A class with c votes that may draw
at most v of them contributes sum_{i<=v} C(c, i) x^i; an abstention contributes 1 + x. For every number v of
votes for the right answer and t of classes that tie with it, the product's coefficient of x^k counts the
subsets of size k. Each polynomial is held in one Python integer, with x = 2^width wide enough that
coefficients never meet (Kronecker's substitution), so that a product of polynomials is one product of
integers, exact for any n, and one pass serves every k.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from resit.stats.samples import check_draw


def maj_at_k(counts: Sequence[int], k: int, gold: int | None = 0, abstentions: int = 0) -> float:
    """Probability that the majority vote of k of the n samples elects the right answer, over all k-subsets.

    `counts` holds the votes for each distinct answer, `counts[gold]` those for the right one (None when it
    got none: 0.0), n their sum with `abstentions`, which are drawn but do not vote. Answers that tie for the
    most votes share the win. It is the U-statistic sum over v, t, u of C(c_g, v) W_v(u, t) C(a, k-v-u)/((t+1)
    C(n, k)), with W_v(u, t) the ways to draw u votes from the other classes, none above v and t of them at v;
    correctly rounded. The vote is Wang et al. 2022, arXiv 2203.11171; unbiasedness and least variance of the
    average over subsets: Hoeffding 1948, Annals of Mathematical Statistics 19:293-325. ValueError when k > n
    or for impossible counts.
    """
    votes, others = _split(counts, gold, abstentions)
    check_draw(votes + sum(others) + abstentions, k)
    return _curve(votes, others, int(abstentions))[k - 1]


def maj_curve(counts: Sequence[int], gold: int | None = 0, abstentions: int = 0) -> tuple[float, ...]:
    """`maj_at_k` for k = 1..n, in one pass; empty for no sample. ValueError for impossible counts."""
    votes, others = _split(counts, gold, abstentions)
    return _curve(votes, others, int(abstentions))


def exact_maj_at_k(counts: Sequence[int], k: int, gold: int | None = 0, abstentions: int = 0) -> Fraction:
    """`maj_at_k` as a fraction, without rounding. ValueError when k > n or for impossible counts."""
    votes, others = _split(counts, gold, abstentions)
    n = votes + sum(others) + abstentions
    check_draw(n, k)
    scaled, scale = _winning_subsets(votes, others, int(abstentions))
    return Fraction(scaled[k], scale * math.comb(n, k))


def _split(counts: Sequence[int], gold: int | None, abstentions: int) -> tuple[int, tuple[int, ...]]:
    """Votes for the right answer and, in descending order, for the others."""
    if abstentions < 0 or any(count < 0 for count in counts):
        raise ValueError(f"votes cannot be negative: {list(counts)}, {abstentions} abstentions")
    if gold is None:
        return 0, _sorted_votes(counts)
    if not 0 <= gold < len(counts):
        raise ValueError(
            f"gold = {gold} is not an index of {len(counts)} counts (use None when it got no vote)"
        )
    return int(counts[gold]), _sorted_votes([*counts[:gold], *counts[gold + 1 :]])


def _sorted_votes(counts: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted((int(count) for count in counts if count), reverse=True))


@lru_cache(maxsize=65536)
def _curve(votes: int, others: tuple[int, ...], abstentions: int) -> tuple[float, ...]:
    n = votes + sum(others) + abstentions
    scaled, scale = _winning_subsets(votes, others, abstentions)
    return tuple(scaled[k] / (scale * math.comb(n, k)) for k in range(1, n + 1))


def _winning_subsets(votes: int, others: tuple[int, ...], abstentions: int) -> tuple[list[int], int]:
    """By size 0..n, the subsets that elect the right answer (a tie of t+1 counts 1/(t+1)), times a scale."""
    n = votes + sum(others) + abstentions
    scale = math.lcm(*range(1, len(others) + 2))
    width = n + scale.bit_length()
    total = 0
    for v in range(1, votes + 1):
        rivals = [count for count in others if count >= v]
        free = abstentions + sum(others[len(rivals) :])
        by_ties = _single_votes(rivals, width) if v == 1 else _drawn(rivals, v, width)
        shared = sum(ways * (scale // (t + 1)) for t, ways in enumerate(by_ties))
        total += math.comb(votes, v) * ((shared * _binomial(free, width)) << (width * v))
    return _coefficients(total, n, width), scale


def _drawn(rivals: Sequence[int], v: int, width: int) -> list[int]:
    """By number of rivals that draw exactly v votes, the polynomial of ways in which none draws more."""
    by_ties = [1]
    for count in rivals:
        below = sum(math.comb(count, i) << (width * i) for i in range(v))
        level = math.comb(count, v) << (width * v)
        grown = [ways * below for ways in by_ties] + [0]
        for t, ways in enumerate(by_ties):
            grown[t + 1] += ways * level
        by_ties = grown
    return by_ties


def _single_votes(rivals: Sequence[int], width: int) -> list[int]:
    """`_drawn` for v = 1, where a rival draws nothing or ties: elementary symmetric polynomials."""
    product = 1
    for count in rivals:
        product += product * count << width
    chosen = _coefficients(product, len(rivals), width)
    return [ways << (width * t) for t, ways in enumerate(chosen)]


@lru_cache(maxsize=4096)
def _binomial(n: int, width: int) -> int:
    """(1 + x)^n."""
    return int((1 + (1 << width)) ** n)


def _coefficients(polynomial: int, degree: int, width: int) -> list[int]:
    mask = (1 << width) - 1
    return [(polynomial >> (width * i)) & mask for i in range(degree + 1)]


Ballots: TypeAlias = Sequence[tuple[Hashable | None, float]]
"""Answers, each with its weight or score."""


@dataclass(frozen=True, slots=True)
class WeightedVote:
    """A vote weighted by scores; its error is that of drawing subsets, 0 where every subset was counted."""

    value: float
    monte_carlo_error: float
    subsets: int


def weighted_vote_at_k(
    answers: Sequence[Hashable | None],
    weights: Sequence[float],
    k: int,
    gold: Hashable,
    *,
    draws: int = 1000,
    seed: int = 1234,
) -> WeightedVote:
    """Probability that, among k of the samples, the answer with the largest sum of weights is the right one.

    Answers None do not vote; sums that agree to 1e-9 share the win. All C(n, k) subsets are counted when they
    are at most `draws`, otherwise `draws` seeded subsets, with sqrt(p-variance/draws) as their own error. The
    verifier-weighted vote of Li et al. 2022, arXiv 2206.02336, section 2. ValueError when k > n, or for
    weights that are negative or not numbers.
    """
    if len(weights) != len(answers) or not all(weight >= 0 for weight in weights):
        raise ValueError("a weighted vote needs one weight >= 0 a sample")
    return _over_subsets(
        list(zip(answers, weights, strict=True)), k, lambda ballots: _won(ballots, gold), draws, seed
    )


def top_vote_at_k(
    answers: Sequence[Hashable | None],
    scores: Sequence[float],
    k: int,
    m: int,
    gold: Hashable,
    *,
    draws: int = 1000,
    seed: int = 1234,
) -> WeightedVote:
    """Probability that, among k of the samples, the m best-scored ones elect the right answer.

    One vote each; samples that tie with the m-th best vote too, answers None do not, and answers with as many
    votes share the win. Subsets as in `weighted_vote_at_k`. Cobbe et al. 2021, arXiv 2110.14168, section 5.
    ValueError when k > n, m < 1, or for a score that is not a number.
    """
    if len(scores) != len(answers) or m < 1 or any(math.isnan(score) for score in scores):
        raise ValueError("a vote of the best needs one score (a number) a sample, and at least one voter")

    def won(ballots: Ballots) -> float:
        least = sorted((score for _, score in ballots), reverse=True)[min(m, len(ballots)) - 1]
        return _won([(answer, 1.0) for answer, score in ballots if score >= least], gold)

    return _over_subsets(list(zip(answers, scores, strict=True)), k, won, draws, seed)


def _over_subsets(
    ballots: Ballots, k: int, won: Callable[[Ballots], float], draws: int, seed: int
) -> WeightedVote:
    """Mean win over all k-subsets when they are few, over seeded ones otherwise."""
    n = len(ballots)
    check_draw(n, k)
    if math.comb(n, k) <= draws:
        wins = [won(subset) for subset in itertools.combinations(ballots, k)]
        return WeightedVote(math.fsum(wins) / len(wins), 0.0, len(wins))
    rng = random.Random(seed)
    wins = [won(rng.sample(ballots, k)) for _ in range(draws)]
    mean = math.fsum(wins) / draws
    error = math.sqrt(math.fsum((win - mean) ** 2 for win in wins) / (draws - 1) / draws)
    return WeightedVote(mean, error, draws)


def _won(ballots: Iterable[tuple[Hashable | None, float]], gold: Hashable) -> float:
    sums: defaultdict[Hashable, float] = defaultdict(float)
    for answer, weight in ballots:
        if answer is not None:
            sums[answer] += weight
    if gold not in sums:
        return 0.0
    best = max(sums.values())
    winners = [answer for answer, total in sums.items() if total >= best - 1e-9 * max(1.0, best)]
    return 1 / len(winners) if gold in winners else 0.0
