"""Holds the calculator against published annotations, and counts the slips of stored runs.

    python tests/reference/calculator_annotations.py FOLDER_WITH_train.jsonl_AND_test.jsonl
    python tests/reference/calculator_annotations.py --runs RUN…

The first form prints every annotation that the calculator writes otherwise, by reason; the second, for each
run, how many annotations its texts hold and how many of them are arithmetically wrong.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from resit.models.arithmetic import evaluate
from resit.models.calculator import annotations_in

ANNOTATION = re.compile(r"<<(.*?)=(.*?)>>")


@dataclass(frozen=True, slots=True)
class Published:
    """An annotation as it was published, and what the calculator makes of it."""

    place: str
    before: str
    expression: str
    result: str
    ours: str | None

    @property
    def reason(self) -> str:
        """Why the two differ; empty where they do not."""
        if self.ours == self.result:
            return ""
        if self.ours is None:
            return "cannot be read"
        if _value(self.result) != _value(self.ours):
            return "another value"
        return _form(self.result, self.ours)


def _value(text: str) -> Fraction | None:
    return evaluate(text.lstrip("-")) if not text.startswith("-") else evaluate(f"0{text}")


def _form(result: str, ours: str) -> str:
    """How the same value is written by the one and the other."""
    if "/" in result:
        return "the data leave a fraction as it is"
    decimals, our_decimals = len(result.partition(".")[2]), len(ours.partition(".")[2])
    if decimals == our_decimals:
        return (
            "the data leave out the 0 before the point"
            if result[0] == "."
            else "the data write the 0 before the point"
        )
    more = "with" if decimals > our_decimals else "without"
    if our_decimals == 0 or decimals == 0:
        return f"a whole amount, in the data {more} cents"
    return f"an amount that is not whole, in the data {more} a last 0"


def published(folder: Path) -> Iterator[Published]:
    """The annotations of train.jsonl and test.jsonl."""
    for split in ("train", "test"):
        for number, line in enumerate((folder / f"{split}.jsonl").read_bytes().splitlines(), 1):
            answer = json.loads(line)["answer"]
            ours = [a.result.removesuffix(">>") if a.result else None for a in annotations_in(answer)]
            for match, result in zip(ANNOTATION.finditer(answer), ours, strict=True):
                before = answer[max(0, match.start() - 24) : match.start()].replace("\n", " ")
                yield Published(f"{split} {number}", before, match[1], match[2], result)


def show_published(folder: Path) -> None:
    """Print what differs, by reason, and how much does not."""
    rows = list(published(folder))
    by_reason: dict[str, list[Published]] = {}
    for row in rows:
        if row.reason:
            by_reason.setdefault(row.reason, []).append(row)
    for reason, differing in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        print(f"\n{reason}: {len(differing)}")
        for row in differing:
            print(f"  {row.place:>10}  …{row.before}<<{row.expression}={row.result}>>  ours {row.ours}")
    different = sum(map(len, by_reason.values()))
    values = sum(row.reason in ("cannot be read", "another value") for row in rows)
    print(
        f"\n{len(rows)} annotations: {len(rows) - different} to the letter, "
        f"{different} in another form, {values} wrong"
    )


def show_run(run: Path) -> None:
    """Print how many annotations a run's texts hold, how many are wrong, and how many cannot be read."""
    samples = annotated = wrong = unread = 0
    for line in (run / "generations.jsonl").read_bytes().splitlines():
        text = json.loads(line).get("text", "")
        samples += 1
        for annotation in annotations_in(text):
            annotated += 1
            value = evaluate(annotation.expression)
            unread += value is None
            if value is not None and not text.startswith(str(annotation.result), annotation.at):
                wrong += not _is_right(text[annotation.at :].partition(">>")[0], value)
    print(f"{run}: {samples} samples, {annotated} annotations, {wrong} wrong, {unread} cannot be read")


def _is_right(result: str, value: Fraction) -> bool:
    """Whether a result is the value, or the value rounded to as many decimals as it has."""
    said = _value(result.strip().replace("$", ""))
    decimals = len(result.partition(".")[2])
    return said is not None and abs(said - value) <= (Fraction(1, 2 * 10**decimals) if decimals >= 2 else 0)


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--runs", action="store_true", help="the paths are run folders")
    arguments = parser.parse_args()
    for path in arguments.paths:
        (show_run if arguments.runs else show_published)(path)


if __name__ == "__main__":
    main()
