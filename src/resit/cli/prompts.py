"""`resit prompts`: exactly what is sent."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from resit.cli.examples import examples

if TYPE_CHECKING:
    from resit.models import Encoding
    from resit.records import Prompt, Question

    Encode = Callable[[Prompt], Encoding]

EXAMPLE = examples(
    "resit prompts gsm8k --limit 1",
    "resit prompts gsm8k_cot --jsonl",
    "resit prompts gsm8k --limit 1 -M llamacpp -a pretrained=smollm2-135m",
)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="prompts", short_help="Print exactly what a model is given.", epilog=EXAMPLE)(prompts)


def prompts(
    task: Annotated[str, typer.Argument(help="Tasks, tags, YAML files or lm-eval:NAME, comma-separated.")],
    limit: Annotated[
        float | None,
        typer.Option("--limit", "-L", help="Questions; below 1: a share. Default: 1, with --jsonl all."),
    ] = None,
    num_fewshot: Annotated[
        int | None, typer.Option("--num-fewshot", "-f", min=0, help="Exemplars per prompt, over the task's.")
    ] = None,
    apply_chat_template: Annotated[
        bool, typer.Option("--apply-chat-template", help="Ask through the model's chat template.")
    ] = False,
    fewshot_as_multiturn: Annotated[
        str, typer.Option("--fewshot-as-multiturn", metavar="BOOL", help="Exemplars as turns of the chat.")
    ] = "",
    system_instruction: Annotated[
        str | None, typer.Option("--system-instruction", help="Text before everything else.")
    ] = None,
    seed: Annotated[str, typer.Option("--seed", help="For the exemplars; of four, the last.")] = "1234",
    fresh_seed: Annotated[
        int | None, typer.Option("--fresh-seed", min=0, help="Of generated questions; else the task's.")
    ] = None,
    include_path: Annotated[
        Path | None, typer.Option("--include-path", help="Folder with your own task files.")
    ] = None,
    trust_task_code: Annotated[
        bool, typer.Option("--trust-task-code", help="Run the Python that a task file names with !function.")
    ] = False,
    model: Annotated[
        str, typer.Option("--model", "-M", help="Show token ids, as this backend sees them.")
    ] = "",
    model_args: Annotated[str, typer.Option("--model-args", "-a", help="The backend's settings.")] = "",
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON object a line, every question.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object with all of them.")] = False,
) -> None:
    """Print the prompts of a task, byte for byte; with a local model also the token ids it is given."""
    from resit.cli import options
    from resit.prompts import chat_options, questions
    from resit.tasks import load
    from resit.tasks.exams import own_exam

    multiturn = options.boolean("--fewshot-as-multiturn", fewshot_as_multiturn)
    settings: dict[str, Any] = {
        "num_fewshot": num_fewshot,
        "seed": options.seeds(seed)[1],
        "chat": chat_options(apply_chat_template, multiturn),
        "system_instruction": system_instruction,
        "limit": options.limit(limit) if limit is not None or jsonl or as_json else 1,
    }
    found = load(options.names(task), include_path=include_path, trust_task_code=trust_task_code)
    asked = (question for each in own_exam(found, fresh_seed) for question in questions(each, **settings))
    with _encoder(model, model_args) as encode:
        lines = (_line(question, encode) for question in asked)
        if as_json:
            _write({"prompts": list(lines)})
            return
        for line in lines:
            _write(line) if jsonl else _show(line)


def _line(question: Question, encode: Encode | None) -> dict[str, Any]:
    from resit.cli.task_card import plain
    from resit.prompts import prompt_sha256

    prompt = question.prompt
    encoding = encode(prompt) if encode else None
    return {
        "task": question.task,
        "doc_id": question.document.doc_id,
        "repeat": 0,
        "prompt" if isinstance(prompt, str) else "messages": plain(prompt),
        "target": question.target,
        "prompt_sha256": prompt_sha256(prompt),
        **({"text": encoding.text, "token_ids": encoding.token_ids, "bos": encoding.bos} if encoding else {}),
    }


@contextmanager
def _encoder(kind: str, args: str) -> Iterator[Encode | None]:
    """What turns a prompt into tokens, where a model is named."""
    if not kind:
        if args:
            from resit.errors import UsageError

            raise UsageError("--model-args says nothing without --model", "add --model, or leave it out")
        yield None
        return
    from resit.models import create, parse_model_args

    with create(kind, parse_model_args(args)) as model:
        yield model.encode


def _write(value: dict[str, Any]) -> None:
    from resit import jsonl

    sys.stdout.buffer.write(jsonl.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def _show(line: dict[str, Any]) -> None:
    from resit.cli.task_card import indented

    typer.echo(f"{line['task']} document {line['doc_id']}, prompt sha256 {line['prompt_sha256']}")
    typer.echo("\n".join(indented(line["prompt"] if "prompt" in line else line["messages"])))
    typer.echo(f"  reference: {line['target']!r}")
    if line.get("token_ids") is not None:
        typer.echo(f"  {len(line['token_ids'])} tokens: {' '.join(map(str, line['token_ids']))}")
