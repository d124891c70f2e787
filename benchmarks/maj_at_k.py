"""How long the exact maj@k takes for a whole benchmark, and how much better it is than voting on the first k.

python benchmarks/maj_at_k.py [--questions 1319] [--samples 64] [--seed 0]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from _figures import Figure, at_most, record

from resit import stats
from resit.stats.votes import _curve

ANSWERS = {
    "4 answers": np.full(4, 1.0),
    "8 answers": np.full(8, 1.0),
    "30 answers": np.full(30, 1.0),
    "8 even answers": np.full(8, 20.0),
    "64 rare answers": np.full(64, 5.0),
    "one likely, 30 rare": np.r_[10.0, np.full(30, 0.2)],
}
"""Dirichlet weights: how a model's samples spread over distinct answers."""
MOST_SECONDS = 3.0
"""Wanted for a whole benchmark."""


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=1319)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    sizes = f"{options.questions} questions, {options.samples} samples each"
    print(f"{sizes}, every k = 1..{options.samples}, one core\n")
    print("| samples spread over | distinct count vectors | seconds |\n|---|---:|---:|")
    slowest = 0.0
    for name, weights in ANSWERS.items():
        questions = [
            rng.multinomial(options.samples, rng.dirichlet(weights)).tolist()
            for _ in range(options.questions)
        ]
        _curve.cache_clear()
        started = time.process_time()
        for counts in questions:
            stats.maj_curve(counts)
        spent = time.process_time() - started
        slowest = max(slowest, spent)
        print(f"| {name} | {len({tuple(sorted(counts)) for counts in questions})} | {spent:.2f} |")
    record(at_most(f"exact maj@k, every k, {sizes}", slowest, "s", MOST_SECONDS, "the slowest spread"))
    against_the_first_k(rng)


def against_the_first_k(rng: np.random.Generator, n: int = 40, k: int = 8, repetitions: int = 4000) -> None:
    """One question, n samples: the exact expectation against the vote of the first k, ties shared."""
    probabilities = [0.45, 0.30, 0.15, 0.10]
    exact, first = [], []
    for _ in range(repetitions):
        drawn = rng.choice(4, size=n, p=probabilities)
        exact.append(stats.maj_at_k(np.bincount(drawn, minlength=4).tolist(), k))
        first.append(stats.maj_at_k(np.bincount(drawn[:k], minlength=4).tolist(), k))
    print(f"\nAnswers with probability {probabilities}, n = {n}, k = {k}, {repetitions} repetitions:")
    for name, values in (("every k-subset", exact), ("first k", first)):
        print(f"  {name:14} mean {np.mean(values):.4f}  sd {np.std(values):.3f}")
    ratio = float(np.var(first) / np.var(exact))
    print(f"  ratio of variances {ratio:.1f}")
    record(Figure(f"variance of the vote of the first {k} of {n}, over the exact maj@{k}'s", ratio, "times"))


if __name__ == "__main__":
    main()
