"""`resit verifier`: train a model that judges solutions, and choose among a run's samples with it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from resit.cli.examples import examples

TRAIN = examples(
    "resit verifier train --data runs/sampled --base HuggingFaceTB/SmolLM2-135M -o verifiers/small",
    "resit verifier train --data runs/a --data runs/b --base ./checkpoint --mode lora -o verifiers/lora",
)
APPLY = examples(
    "resit verifier apply runs/sampled --verifier verifiers/small",
    "resit verifier apply runs/sampled --verifier reward:org/reward-model",
    "resit verifier apply runs/sampled -M openai-completions -a base_url=http://localhost:8000/v1",
)


class Mode(StrEnum):
    """What is trained."""

    frozen = "frozen"
    lora = "lora"
    full = "full"


def register(app: typer.Typer) -> None:
    """Add the verbs of `resit verifier`."""
    verbs = typer.Typer(
        help="Train a model that judges solutions, and choose among a run's samples with it.",
        epilog=TRAIN,
        no_args_is_help=True,
    )
    verbs.command("train", short_help="Train a verifier on graded samples.", epilog=TRAIN)(train)
    verbs.command("apply", short_help="Score a run's samples and choose among them.", epilog=APPLY)(apply)
    app.add_typer(verbs, name="verifier", short_help="Train a model that judges solutions; choose by it.")


def train(
    data: Annotated[
        list[Path], typer.Option("--data", help="A scored run with repeats; may be given again.")
    ],
    base: Annotated[
        str, typer.Option("--base", help="A causal language model: a folder or a name on the hub.")
    ],
    output_path: Annotated[Path, typer.Option("--output-path", "-o", help="The verifier's folder.")],
    tasks: Annotated[str, typer.Option("--tasks", "-t", help="Only these tasks of the runs.")] = "",
    rule: Annotated[str, typer.Option(help="The grading rule whose verdicts are the labels.")] = "robust",
    mode: Annotated[
        Mode, typer.Option(help="Train the head alone, adapters with it, or everything.")
    ] = Mode.frozen,
    layer: Annotated[
        int | None, typer.Option(min=1, help="Frozen: the head reads the states after so many layers.")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Most passes over the data.")] = 20,
    patience: Annotated[int, typer.Option(min=1, help="Passes without a better validation loss.")] = 5,
    learning_rate: Annotated[
        float | None, typer.Option(help="Adam's; default 1e-3, with --mode lora 1e-4, full 1e-5.")
    ] = None,
    batch_size: Annotated[int, typer.Option("--batch-size", "-b", min=1, help="Solutions a step.")] = 32,
    pair_loss: Annotated[
        float,
        typer.Option(min=0, help="Weight of the loss that puts a question's right samples above its wrong."),
    ] = 0.5,
    language_loss: Annotated[
        float, typer.Option(min=0, help="Weight of the language-model loss, with --mode lora or full.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Of the division by question and the order of the data.")] = 1234,
    baselines: Annotated[
        bool, typer.Option(help="Also judge by length and by log-probability on the same solutions.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train an outcome verifier on the samples of scored runs (Cobbe et al. 2021).

    Seven questions in ten teach, one decides when to stop, two are kept to judge by; a question's samples
    stay together. The same command after an interrupt goes on and ends with the same weights.
    """
    from resit.cli.verifying import Training, train_verifier
    from resit.errors import UsageError

    if mode == Mode.frozen and language_loss:
        raise UsageError("--language-loss has no effect in frozen mode", "add --mode lora or --mode full")
    if mode != Mode.frozen and layer is not None:
        raise UsageError("--layer has no effect but in frozen mode", "leave it out")
    rates = {Mode.frozen: 1e-3, Mode.lora: 1e-4, Mode.full: 1e-5}
    settings = {
        "base": base,
        "mode": mode.value,
        "layer": layer,
        "epochs": epochs,
        "patience": patience,
        "learning_rate": rates[mode] if learning_rate is None else learning_rate,
        "batch_size": batch_size,
        "pair_loss": pair_loss,
        "language_loss": language_loss,
        "seed": seed,
    }
    train_verifier(Training(data, tasks, rule, output_path, settings, baselines, as_json))


def apply(
    run: Annotated[Path, typer.Argument(help="A scored run with repeats.")],
    verifier: Annotated[
        str, typer.Option(help="A verifier's folder, or reward:MODEL for a sequence-classification model.")
    ] = "",
    model: Annotated[
        str, typer.Option("--model", "-M", help="In place of --verifier: a backend to be asked for a yes.")
    ] = "",
    model_args: Annotated[str, typer.Option("--model-args", "-a", help="That backend's settings.")] = "",
    tasks: Annotated[str, typer.Option("--tasks", "-t", help="Only these of the run's tasks.")] = "",
    rule: Annotated[str, typer.Option(help="The grading rule whose verdicts count.")] = "robust",
    top: Annotated[int, typer.Option(min=1, help="How many of the best-scored samples vote.")] = 3,
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score a run's stored samples, and say what choosing among k of them by these scores is worth.

    best: the best-scored of k. weighted: a vote weighted by scores. top: a vote among the best-scored.
    maj: the plain vote, beside them. Each over all subsets of the samples, or seeded ones. The scores are
    kept in the run's folder and are not computed twice.
    """
    from resit.cli.verifying import Applying, apply_verifier

    apply_verifier(Applying(run, verifier, model, model_args, tasks, rule, top, confidence, as_json))
