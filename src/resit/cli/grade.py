"""`resit grade`: one verdict explained, or many as JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from resit.cli.examples import example_of, examples

if TYPE_CHECKING:
    from collections.abc import Iterable

    from resit.records import Verdict

EXAMPLE = examples(
    "resit grade --answer 'So she pays $1,063.00.' --gold 1063",
    "resit grade --jsonl answers.jsonl --rule lm_eval_flexible",
)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="grade", short_help="Explain the verdict on one answer.", epilog=EXAMPLE)(grade)


def grade(
    answer: Annotated[str | None, typer.Option(help="A model's response.")] = None,
    gold: Annotated[str | None, typer.Option(help="The right answer.")] = None,
    rule: Annotated[str, typer.Option(help="The grading rule; the table names them all.")] = "robust",
    jsonl: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-", help='Lines of {"answer": …, "gold": …}; one verdict a line comes out.'
        ),
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="How the response writes numbers: de, es, fr, … (1.250 is 1250).")
    ] = None,
    tolerance: Annotated[
        str | None, typer.Option(help="Largest difference that counts as equal; none by default.")
    ] = None,
    finish_reason: Annotated[str, typer.Option(help="'length' for a response that was cut off.")] = "stop",
    trust_model_code: Annotated[
        bool, typer.Option("--trust-model-code", help="Run a program in the response, in a sandbox.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Grade a response against the right answer, and say what was read, where and why."""
    from resit.errors import UsageError

    if finish_reason not in ("stop", "length"):
        raise UsageError(f"--finish-reason: expected stop or length, found {finish_reason!r}")
    options: dict[str, Any] = {"language": language, "tolerance": tolerance, "finish_reason": finish_reason}
    options["trust_model_code"] = trust_model_code
    if jsonl is not None:
        if answer is not None or gold is not None:
            raise UsageError("--jsonl brings its own answers and golds; --answer and --gold go without it")
        _grade_file(jsonl, rule, options)
        return
    if answer is None or gold is None:
        raise UsageError("--answer and --gold are both needed (or --jsonl FILE)", example_of(EXAMPLE))
    from resit import grading

    verdict = grading.grade(answer, gold, rule, **options)
    if as_json:
        import json

        from resit.grading.lines import verdict_as_json

        print(json.dumps(verdict_as_json(verdict), ensure_ascii=True))
        return
    _explain(answer, gold, verdict, options)


def _grade_file(path: str, rule: str, options: dict[str, Any]) -> None:
    """Print one verdict a line; bad lines go to stderr and make the exit status 2."""
    import json
    import sys

    from resit.errors import UsageError
    from resit.grading.lines import BadLine, grade_lines, verdict_as_json

    bad = 0
    for found in grade_lines(_lines(path), rule, options):
        if isinstance(found, BadLine):
            bad += 1
            print(f"{path}:{found.number}: {found.problem}", file=sys.stderr)
        else:
            print(json.dumps(verdict_as_json(found), ensure_ascii=True))
    if bad:
        raise UsageError(f"{bad} line{'s' if bad > 1 else ''} of {path} could not be graded, the others are")


def _lines(path: str) -> Iterable[bytes]:
    import sys
    from pathlib import Path

    from resit.errors import UsageError

    if path == "-":
        return sys.stdin.buffer
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _explain(answer: str, gold: str, verdict: Verdict, options: dict[str, Any]) -> None:
    """The verdict, the place of the answer, and what the other rules say."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from resit.grading import RULES
    from resit.grading import grade as judge

    console = Console(highlight=False)
    table = Table("rule", "verdict", "read", "why", title=f"gold {gold.strip()[-60:]}", title_justify="left")
    others = [judge(answer, gold, name, **options) for name in RULES if name not in (verdict.rule, "math")]
    for one in (verdict, *others):
        style = "bold" if one is verdict else ""
        mark = "right" if one.correct else "wrong"
        read = "nothing" if one.extracted is None else one.extracted
        table.add_row(*(Text(cell, style) for cell in (one.rule, mark, read, one.reason)))
    console.print(table)
    if verdict.span:
        start, end = verdict.span
        before, after = answer[max(0, start - 60) : start], answer[end : end + 60]
        console.print(Text.assemble("read from: …", before, (answer[start:end], "reverse"), after, "…"))
