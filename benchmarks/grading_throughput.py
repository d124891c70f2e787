"""How many responses a second one core grades: robust beside math-verify, and a self-consistency run.

python benchmarks/grading_throughput.py --logs DIR [--rounds 5] [--peer-sample 400] [--questions 1319]

DIR holds `*.jsonl` of {"response", "gold"}. The two graders take turns on the same responses, so that a
busy machine slows both; the medians over rounds are printed. Processor time is what counts: `robust` is
measured against the machine, not against what else runs on it.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from _figures import Figure, at_least, more, record

from resit.grading import Policy, find_rule, score_task
from resit.records import (
    Document,
    FilterChain,
    FilterStep,
    Generation,
    MetricSpec,
    Question,
    ScoringRules,
)

Pair = tuple[str, str]
"""Response and gold answer."""
LEAST_RATE, LEAST_RATIO = 20_000.0, 20.0
"""Wanted of `robust`: responses a second, and times math-verify's."""


def main() -> None:
    """Print both tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer-sample", type=int, default=400, help="Responses that math-verify is given.")
    parser.add_argument("--questions", type=int, default=1319, help="Of the self-consistency run.")
    options = parser.parse_args()
    pairs = read_pairs(options.logs)
    compare(pairs, random.Random(0).sample(pairs, min(options.peer_sample, len(pairs))), options.rounds)
    self_consistency(pairs, options.questions)


def read_pairs(folder: Path) -> list[Pair]:
    """Every response of the folder's logs."""
    pairs = []
    for log in sorted(folder.glob("*.jsonl")):
        if log.name != "INDEX.json":
            rows = (json.loads(line) for line in log.read_bytes().split(b"\n") if line)
            pairs += [(row["response"], row["gold"]) for row in rows]
    if not pairs:
        sys.exit(f"no *.jsonl in {folder}")
    return pairs


def robust_grader() -> Callable[[str, str], bool]:
    """Our rule as a function of response and gold."""
    rule, policy = find_rule("robust"), Policy()
    return lambda response, gold: bool(rule(response, gold, policy, False).correct)


def math_verify_grader() -> Callable[[str, str], bool]:
    """math-verify as its documentation uses it, without its time-outs (they would only cost it time)."""
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    from math_verify import parse, verify

    def grade(response: str, gold: str) -> bool:
        wanted = parse(f"\\boxed{{{gold}}}", parsing_timeout=None)
        return bool(verify(wanted, parse(response, parsing_timeout=None), timeout_seconds=None))

    return grade


def per_second(grade: Callable[[str, str], bool], pairs: list[Pair]) -> tuple[float, int]:
    """Responses a second of processor time, and how many are right."""
    started = time.process_time()
    right = sum(grade(response, gold) for response, gold in pairs)
    return len(pairs) / (time.process_time() - started), right


def compare(pairs: list[Pair], sample: list[Pair], rounds: int) -> None:
    """Print the medians of alternating rounds."""
    graders = {"robust, all": (robust_grader(), pairs), "robust": (robust_grader(), sample)}
    graders["math-verify"] = (math_verify_grader(), sample)
    speeds: dict[str, list[float]] = {name: [] for name in graders}
    right: dict[str, int] = {}
    for round_number in range(rounds + 1):
        for name, (grade, given) in graders.items():
            speed, right[name] = per_second(grade, given)
            if round_number:  # the first warms caches up
                speeds[name].append(speed)
    print("| grader | responses | responses/s (median) | slowest | right |\n|---|---:|---:|---:|---:|")
    for name, values in speeds.items():
        count = len(graders[name][1])
        print(f"| {name} | {count} | {statistics.median(values):,.0f} | {min(values):,.0f} | {right[name]} |")
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    ratio = medians["robust"] / medians["math-verify"]
    print(f"\nrobust is {ratio:.0f} times as fast as math-verify on the same responses\n")
    same = f"robust, a core, on the {len(sample)} that math-verify is given"
    record(
        at_least("robust, a core, all responses", medians["robust, all"], "responses/s", LEAST_RATE),
        more(same, medians["robust"], "responses/s", "math-verify", medians["math-verify"], LEAST_RATIO),
    )


ANSWER = FilterStep("regex", {"regex_pattern": "The answer is (\\-?[0-9\\.\\,]*[0-9]+)"})
TAKE_FIRST = FilterStep("take_first")
VOTE = FilterStep("majority_vote")
RULES = ScoringRules(
    filters=(
        FilterChain("score-first", (ANSWER, TAKE_FIRST)),
        FilterChain("maj@64", (ANSWER, VOTE, TAKE_FIRST)),
        FilterChain("maj@8", (FilterStep("take_first_k", {"k": 8}), ANSWER, VOTE, TAKE_FIRST)),
    ),
    metrics=(
        MetricSpec(
            "exact_match",
            {"regexes_to_ignore": [",", "\\$", "(?s).*#### ", "\\.$"], "ignore_case": True},
        ),
    ),
)


def self_consistency(pairs: list[Pair], questions: int = 1319, repeats: int = 64, length: int = 1024) -> None:
    """Print how long a whole self-consistency run takes to score: distinct responses of about 1 KB."""
    seconds, samples, characters = 0.0, 0, 0
    scores = score_task(sampled(pairs, questions, repeats, length), RULES)
    source = sampled(pairs, questions, repeats, length)
    started = time.process_time()
    making = sum(len(g.text) for _, generations in source for g in generations)
    making_seconds = time.process_time() - started
    started = time.process_time()
    for score in scores:
        samples += len(score.samples)
    seconds = time.process_time() - started - making_seconds
    characters = making
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("| generations | characters each | filters | seconds | peak memory |\n|---:|---:|---|---:|---:|")
    print(f"| {samples:,} | {characters // samples} | 3 + robust | {seconds:.1f} | {memory:.0f} MB |")
    note = f"3 filters and robust, a core, in memory; peak {memory:.0f} MB"
    record(Figure(f"grading {samples:,} responses of self-consistency", seconds, "s", note=note))


def sampled(
    pairs: list[Pair], questions: int, repeats: int, length: int
) -> Iterator[tuple[Question, list[Generation]]]:
    """Questions with distinct responses, made of real ones, one question at a time."""
    dice = random.Random(0)
    for doc_id in range(questions):
        response, gold = pairs[doc_id % len(pairs)]
        generations = []
        for repeat in range(repeats):
            padding = " ".join(text for text, _ in dice.choices(pairs, k=4)).replace(
                "The answer is", "So we get"
            )
            text = f"{padding} ({repeat})"[: length - len(response)] + response
            generations.append(Generation("t", doc_id, "", repeat, 0, text=text))
        yield Question("t", Document(doc_id, "", {}), "", gold), generations


if __name__ == "__main__":
    main()
