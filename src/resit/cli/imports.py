"""`resit import`: score what other programs generated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from resit.cli.examples import examples

if TYPE_CHECKING:
    from resit.runs.imports.writer import Origin, Part
    from resit.tasks import Task

Output = Annotated[Path, typer.Option("--output-path", "-o", help="The run folder to write.")]
TaskName = Annotated[
    str, typer.Option("--task", "-t", help="The task that was asked: a name or a YAML file.")
]
ModelName = Annotated[
    str, typer.Option("--model-name", help="How tables call the model; else the file's name.")
]
IncludePath = Annotated[Path | None, typer.Option("--include-path", help="Folder with your own task files.")]
TrustTaskCode = Annotated[
    bool, typer.Option("--trust-task-code", help="Run the Python that a task file names with !function.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print results.json on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the verbs of `resit import`."""
    verbs = typer.Typer(
        help="Make a run folder of what other programs generated, and score it.",
        epilog=examples("resit import jsonl answers.jsonl --task gsm8k -o runs/answers"),
        no_args_is_help=True,
    )
    for name, verb, what, example in (
        (
            "lm-eval",
            lm_eval,
            "lm-eval's samples_*.jsonl.",
            "samples_gsm8k_2026-01-31T12-00-00.jsonl -o runs/theirs",
        ),
        ("jsonl", jsonl, 'Lines of {"doc_id", "response"}.', "answers.jsonl --task gsm8k -o runs/answers"),
        ("inspect", inspect, "inspect_ai's .eval logs.", "logs/gsm8k.eval -o runs/inspect"),
    ):
        verbs.command(name, short_help=what, epilog=examples(f"resit import {name} {example}"))(verb)
    app.add_typer(verbs, name="import", short_help="Score what other programs generated.")


def lm_eval(
    files: Annotated[list[Path], typer.Argument(help="lm-eval's samples_*.jsonl, of one task or several.")],
    output_path: Output,
    task: TaskName = "",
    model_name: ModelName = "",
    include_path: IncludePath = None,
    trust_task_code: TrustTaskCode = False,
    as_json: AsJson = False,
) -> None:
    """Import the samples that lm-eval logged.

    The task is the one in the file's name, unless --task is given. Documents are paired by content, prompts
    are those of the file, and a line that cannot be used means that nothing is imported.
    """
    from resit.errors import UsageError
    from resit.runs.imports import from_lm_eval
    from resit.runs.imports.writer import File, Origin, Part

    by_task: dict[str, list[Path]] = {}
    for file in files:
        name = task or from_lm_eval.task_name(file)
        if name is None:
            raise UsageError(
                f"{file}: expected a name like samples_gsm8k_2026-01-31T12-00-00.jsonl", "or add --task"
            )
        by_task.setdefault(name, []).append(file)
    parts = [
        Part(
            _task(name, include_path, trust_task_code),
            [File(path, from_lm_eval.entries(path)) for path in paths],
            from_lm_eval.generation_kwargs(paths[0]),
        )
        for name, paths in by_task.items()
    ]
    origin = Origin("lm-eval", model_name or files[0].absolute().parent.name)
    _import(output_path, origin, parts, as_json)


def jsonl(
    file: Annotated[Path, typer.Argument(help='Lines of {"doc_id", "response" or "responses"}.')],
    output_path: Output,
    task: TaskName,
    model_name: ModelName = "",
    include_path: IncludePath = None,
    trust_task_code: TrustTaskCode = False,
    as_json: AsJson = False,
) -> None:
    """Import answers from JSON lines.

    doc_id is the row of the task's split, from 0. A line may also say repeat, finish_reason, stop, error,
    prompt or messages, and token counts. A line that cannot be used means that nothing is imported.
    """
    from resit.runs.imports import from_jsonl
    from resit.runs.imports.writer import File, Origin, Part

    part = Part(_task(task, include_path, trust_task_code), [File(file, from_jsonl.entries(file))])
    _import(output_path, Origin("jsonl", model_name or file.stem), [part], as_json)


def inspect(
    file: Annotated[Path, typer.Argument(help="inspect_ai's .eval log.")],
    output_path: Output,
    task: TaskName = "",
    model_name: ModelName = "",
    include_path: IncludePath = None,
    trust_task_code: TrustTaskCode = False,
    as_json: AsJson = False,
) -> None:
    """Import the samples of an inspect_ai log.

    The task is the log's, unless --task is given. Documents are paired by the words of the question; an epoch
    is a repeat.
    """
    from resit.runs.imports import from_inspect
    from resit.runs.imports.writer import File, Origin, Part

    log = from_inspect.log_of(file)
    if log.status != "success":
        typer.echo(f"{file} is of a run that did not end well: {log.status}", err=True)
    loaded = _task(task or log.task.rpartition("/")[2], include_path, trust_task_code)
    part = Part(loaded, [File(file, from_inspect.entries(file))], log.settings)
    _import(output_path, Origin("inspect", model_name or log.model), [part], as_json)


def _task(name: str, include_path: Path | None, trust: bool) -> Task:
    from resit.errors import UsageError
    from resit.tasks import load

    found = load([name], include_path=include_path, trust_task_code=trust)
    if len(found) != 1:
        raise UsageError(f"--task: expected one task, but {name!r} stands for {len(found)}")
    return found[0]


def _import(path: Path, origin: Origin, parts: list[Part], as_json: bool) -> dict[str, Any]:
    from resit.cli.scoring import score_folder, show
    from resit.runs.imports.writer import import_run

    folder = import_run(path, origin, parts)
    results = score_folder(folder, {part.task.name: part.task.rules for part in parts})
    show(path, results, as_json)
    return results
