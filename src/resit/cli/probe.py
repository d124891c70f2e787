"""`resit probe`: what a model's probabilities say, and what its training text holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resit.cli import overlap
from resit.cli.examples import example_of, examples

EXAMPLE = examples(
    "resit probe loglikelihood -M llamacpp -a pretrained=smollm2-135m --task gsm8k --limit 20",
    "resit probe loglikelihood texts.jsonl -M hf -a pretrained=./checkpoint --json",
)
verbs = typer.Typer(
    help="Look at a model's probabilities, and into its training text.", no_args_is_help=True, epilog=EXAMPLE
)


def register(app: typer.Typer) -> None:
    """Add the verb group."""
    overlap.register(verbs)
    app.add_typer(verbs, name="probe")


@verbs.command("loglikelihood", short_help="How likely texts are to a model.", epilog=EXAMPLE)
def loglikelihood(
    file: Annotated[
        Path | None,
        typer.Argument(help='JSON lines {"text", optional "context" and "key"}; - is standard input.'),
    ] = None,
    model: Annotated[str, typer.Option("--model", "-M", help="A backend, as in resit run.")] = "llamacpp",
    model_args: Annotated[
        str, typer.Option("--model-args", "-a", help="The backend's settings: k=v,… or a JSON object.")
    ] = "",
    task: Annotated[str, typer.Option("--task", "-t", help="Instead of a file: this task's documents.")] = "",
    split: Annotated[str, typer.Option(help="Their split (default: the one that the task asks).")] = "",
    parts: Annotated[
        str,
        typer.Option(help="Of each: question; whole (question and solution); solution (after the question)."),
    ] = "question,whole",
    limit: Annotated[
        float | None, typer.Option("--limit", "-L", help="Documents of the task; below 1: a share.")
    ] = None,
    include_path: Annotated[Path | None, typer.Option(help="Folder with your own task files.")] = None,
    batch_size: Annotated[str, typer.Option("--batch-size", "-b", help="Texts in flight, or auto.")] = "auto",
    tokens: Annotated[bool, typer.Option("--tokens", help="In JSON, every token with its figure.")] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON object a text, as they finish.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print the log-probability (natural) of each text: in total, per token and per character.

    A text is scored after its context, or from the document's beginning where it has none.
    """
    from resit.cli import options
    from resit.cli.likelihoods import passages_of_file, passages_of_task, show
    from resit.errors import UsageError

    if (file is None) == (not task):
        raise UsageError("expected either a file of texts or --task", example_of(EXAMPLE))
    if file:
        if split or limit is not None or include_path:
            raise UsageError("--split, --limit and --include-path have no effect without --task")
        passages = passages_of_file(file)
    else:
        passages = passages_of_task(task, split, options.names(parts), options.limit(limit), include_path)
    show(
        passages,
        kind=model,
        model_args=model_args,
        concurrency=options.concurrency(batch_size),
        form="json" if as_json else "jsonl" if jsonl else "table",
        tokens=tokens,
    )
