"""What compare, gap, power and gate share: reading counts, printing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from resit.errors import UsageError


def printer() -> tuple[Callable[[Any], None], Callable[[str], None]]:
    """How to print a table, and how to print a sentence (wrapped to the terminal, no markup read into it)."""
    from rich.console import Console

    console = Console()
    return console.print, lambda line: console.print(line, markup=False, highlight=False)


def print_json(value: Mapping[str, Any]) -> None:
    """One object on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=True))


def fraction(option: str, text: str) -> tuple[int, int]:
    """(right, asked) of `1055/1319`."""
    from resit.reports.claims import MOST_QUESTIONS

    right, slash, asked = text.partition("/")
    try:
        counts = int(right), int(asked)
    except ValueError:
        counts = (0, 0)
    if not slash or not 1 <= counts[1] <= MOST_QUESTIONS or not 0 <= counts[0] <= counts[1]:
        raise UsageError(f"{option}: expected RIGHT/ASKED such as 1055/1319, found {text!r}")
    return counts


def only_counts(runs: Sequence[Path] | None) -> None:
    """Refuse runs beside counts."""
    if runs:
        raise UsageError(f"expected either run folders or counts, found both ({runs[0]}, …)")


def show_counted(
    discordant: tuple[int, int] | None,
    n: int | None,
    counts: tuple[str, str] | None,
    exact: bool,
    confidence: float,
    as_json: bool,
) -> None:
    """Compare by counts alone and print the outcome."""
    from resit.reports.claims import MOST_QUESTIONS
    from resit.reports.gaps import checked
    from resit.reports.wording import sight, verdict
    from resit.stats import gap_test, paired_counts

    if discordant and counts:
        raise UsageError("expected --discordant or --counts, found both")
    if counts:
        first, second = (fraction("--counts", text) for text in counts)
        result = checked(lambda: gap_test(*first, *second, confidence))
    else:
        if n is None or discordant is None:
            raise UsageError(
                "--discordant needs the number of questions", "for example: --discordant 70 45 --n 1319"
            )
        if n > MOST_QUESTIONS:
            raise UsageError(f"--n: expected at most {MOST_QUESTIONS:,} questions")
        b, c = discordant
        result = checked(lambda: paired_counts(b, c, n, confidence, exact=exact))
    if as_json:
        print_json(asdict(result))
        return
    _, say = printer()
    say(verdict(result, "A", "B"))
    say(
        f"Interval: {result.method}." + (f" For planning: {sight(result)}." if result.distinguishable else "")
    )
