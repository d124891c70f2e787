"""`resit tasks`: what can be asked, under which protocol, and whether it holds together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from resit.cli.examples import examples

EXAMPLE = examples(
    "resit tasks list",
    "resit tasks show gsm8k",
    "resit tasks validate my_task.yaml",
)
verbs = typer.Typer(help="List, explain and check tasks.", no_args_is_help=True, epilog=EXAMPLE)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Name = Annotated[str, typer.Argument(help="A task, tag, group, pair, YAML file or lm-eval:NAME.")]
IncludePath = Annotated[Path | None, typer.Option("--include-path", help="Folder with your own task files.")]
TrustTaskCode = Annotated[
    bool, typer.Option("--trust-task-code", help="Run the Python that a task file names with !function.")
]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.add_typer(verbs, name="tasks")


@verbs.command(
    "list", short_help="What can be asked: tasks, tags, pairs.", epilog=examples("resit tasks list --json")
)
def list_tasks(as_json: AsJson = False) -> None:
    """List the catalogue: tasks, tags, and the pairs that differ in nothing but their questions."""
    from resit.tasks.names import index, pairs, tags

    if as_json:
        typer.echo(json.dumps(listing(), ensure_ascii=True))
        return
    width = max(map(len, [*index(), *tags(), *pairs()]))
    sections: Mapping[str, Mapping[str, str]] = {
        "tasks": {
            e.name: f"{e.about}{'' if e.status == 'aligned' else f' [{e.status}]'}" for e in index().values()
        },
        "tags": {tag: f"{len(members)} tasks" for tag, members in tags().items()},
        "pairs": {pair.name: pair.about for pair in pairs().values()},
    }
    for title, lines in sections.items():
        typer.echo(f"{title}:")
        for name, about in lines.items():
            typer.echo(f"  {name:{width}}  {about}")


def listing() -> dict[str, Any]:
    """The catalogue as JSON."""
    from dataclasses import asdict

    from resit.tasks.names import index, pairs, tags

    return {
        "tasks": [asdict(entry) for entry in index().values()],
        "tags": {tag: list(members) for tag, members in tags().items()},
        "pairs": [asdict(pair) for pair in pairs().values()],
    }


@verbs.command(
    "show",
    short_help="A task's protocol, source and first prompt.",
    epilog=examples("resit tasks show gsm1k --json"),
)
def show(
    name: Name,
    include_path: IncludePath = None,
    trust_task_code: TrustTaskCode = False,
    as_json: AsJson = False,
) -> None:
    """Say what a task asks and how it is scored, where that comes from, and show one rendered prompt."""
    from resit.cli import options
    from resit.cli.task_card import card, lines
    from resit.tasks import select

    found = select(options.names(name), include_path=include_path, trust_task_code=trust_task_code)
    cards = [card(task) for task in found.tasks]
    if as_json:
        groups = [{"name": group.name, "members": list(group.members)} for group in found.groups]
        typer.echo(json.dumps({"tasks": cards, "groups": groups}, ensure_ascii=True, default=str))
        return
    for group in found.groups:
        typer.echo(f"group {group.name}: {', '.join(group.members)}\n")
    typer.echo("\n\n".join("\n".join(lines(each)) for each in cards))


@verbs.command(
    "validate",
    short_help="Prove that a task can be scored.",
    epilog=examples("resit tasks validate my_task.yaml"),
)
def validate(
    names: Annotated[list[str], typer.Argument(help="Tasks, tags, groups or YAML files.")],
    include_path: IncludePath = None,
    trust_task_code: TrustTaskCode = False,
    as_json: AsJson = False,
) -> None:
    """Render every document, prove that golds grade right and altered golds wrong, look for leaks.

    Exit status 2 when a task has an error.
    """
    from resit.cli import options, validation
    from resit.errors import UsageError
    from resit.tasks import load

    wanted = [name for text in names for name in options.names(text)]
    tasks = load(wanted, include_path=include_path, trust_task_code=trust_task_code)
    found = [validation.validate(task) for task in tasks]
    if as_json:
        typer.echo(json.dumps({"tasks": [validation.as_json(each) for each in found]}))
    else:
        typer.echo("\n".join(line for each in found for line in validation.lines(each)))
    failed = [each.task for each in found if not each.passed]
    if failed:
        raise UsageError(f"{len(failed)} of {len(found)} tasks did not pass: {', '.join(failed)}")
