"""`resit memorisation`: has the model seen its exam? Several probes, one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resit.cli.examples import example_of, examples

EXAMPLE = examples(
    "resit memorisation -M hf -a pretrained=./checkpoint --fresh-seed 7391 -o runs/memorisation",
    "resit memorisation -o runs/memorisation --json",
)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        name="memorisation",
        short_help="Ask from several sides whether a model has seen its exam.",
        epilog=EXAMPLE,
    )(memorisation)


def memorisation(
    model: Annotated[str, typer.Option("--model", "-M", help="A backend, as in resit run.")] = "",
    model_args: Annotated[
        str, typer.Option("--model-args", "-a", help="The backend's settings: k=v,… or a JSON object.")
    ] = "",
    output_path: Annotated[
        Path | None,
        typer.Option("--output-path", "-o", help="Folder of the results; the same goes on."),
    ] = None,
    probes: Annotated[
        str, typer.Option(help="Some of gap, templates, completion, likelihood, order; comma-separated.")
    ] = "gap,templates,completion,likelihood,order",
    limit: Annotated[int, typer.Option("--limit", "-L", min=2, help="Questions of each set.")] = 200,
    seen: Annotated[str, typer.Option(help="Task whose questions the model may have seen.")] = "gsm8k",
    fresh: Annotated[
        str, typer.Option(help="Task whose questions it cannot have seen.")
    ] = "gsm_fresh_paired",
    completions: Annotated[
        str, typer.Option(help="SEEN,FRESH tasks of the completion probe, where the sets are others.")
    ] = "",
    templates: Annotated[
        str, typer.Option(help="ORIGINALS,VARIANTS tasks of the templates probe, where they are others.")
    ] = "",
    fresh_seed: Annotated[
        int, typer.Option(help="Of the generated sets. 0 is everybody's: keep your own secret.")
    ] = 0,
    variants: Annotated[int, typer.Option(min=1, help="Fresh variants of each template.")] = 4,
    reference_model: Annotated[
        str, typer.Option(help="Backend of a model that has not seen the set, for likelihoods beside it.")
    ] = "",
    reference_args: Annotated[str, typer.Option(help="Its settings.")] = "",
    rule: Annotated[str, typer.Option(help="The grading rule whose verdicts count.")] = "robust",
    shard_rows: Annotated[int, typer.Option(min=2, help="Rows in a group of the order probe.")] = 5,
    shuffles: Annotated[int, typer.Option(min=1, help="Shuffles of each group.")] = 4,
    apply_chat_template: Annotated[
        bool, typer.Option("--apply-chat-template", help="Ask through the model's chat template.")
    ] = False,
    include_path: Annotated[Path | None, typer.Option(help="Folder with your own task files.")] = None,
    batch_size: Annotated[
        str, typer.Option("--batch-size", "-b", help="Samples in flight, or auto.")
    ] = "auto",
    confidence: Annotated[float, typer.Option(help="Of the intervals; 1 less this is alpha.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Ask from several sides whether a model has seen its exam, each answer with its interval.

    gap: score on the seen set less that on fresh questions. templates: score on GSM8K questions less that on
    fresh variants of each. completion: how well the second half of a question is recalled. likelihood: how
    likely the texts are to the model. order: whether the published order of the rows is likelier than others.

    Without --model it reads a finished folder again. What is on file is not asked again.
    """
    from resit.cli import options
    from resit.cli.probing import Probing, carry_out, show_folder
    from resit.errors import UsageError

    if not output_path:
        raise UsageError("resit memorisation needs a folder: --output-path", example_of(EXAMPLE))
    if model:
        carry_out(
            Probing(
                kind=model,
                model_args=model_args,
                folder=output_path,
                probes=tuple(options.names(probes)),
                limit=limit,
                seen=seen,
                fresh=fresh,
                completions=tuple(options.names(completions)),
                templates=tuple(options.names(templates)),
                fresh_seed=fresh_seed,
                variants=variants,
                reference_kind=reference_model,
                reference_args=reference_args,
                rule=rule,
                shard_rows=shard_rows,
                shuffles=shuffles,
                chat=apply_chat_template,
                include_path=include_path,
                concurrency=options.concurrency(batch_size),
            )
        )
    show_folder(output_path, confidence, as_json)
