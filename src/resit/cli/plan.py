"""`resit plan`: what a run will take, before it is paid for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resit.cli.examples import examples
from resit.cli.run import (
    ApplyChatTemplate,
    BatchSize,
    Calculator,
    FewshotAsMultiturn,
    FreshSeed,
    GenKwargs,
    IncludePath,
    Limit,
    Model,
    ModelArgs,
    NumFewshot,
    Repeats,
    Seed,
    SystemInstruction,
    Tasks,
    TrustTaskCode,
)

EXAMPLE = examples(
    "resit plan -M llamacpp -a pretrained=smollm2-135m -t gsm8k --repeats 64 --workers 8",
    "resit plan --from runs/NAME --repeats 64 -b 64 --workers 16 --worker-hour 2.5",
)

FROM_A_RUN = (
    *("from_run", "tasks", "limit", "repeats", "batch_size"),
    *("workers", "prices", "worker_hour", "as_json"),
)
"""Options that say something beside `--from`; what its samples were asked is settled."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="plan", short_help="Predict a run's tokens, time and cost.", epilog=EXAMPLE)(plan)


def plan(
    context: typer.Context,
    model: Model = "",
    model_args: ModelArgs = "",
    tasks: Tasks = "",
    limit: Limit = None,
    num_fewshot: NumFewshot = None,
    repeats: Repeats = None,
    gen_kwargs: GenKwargs = "",
    apply_chat_template: ApplyChatTemplate = False,
    fewshot_as_multiturn: FewshotAsMultiturn = "",
    system_instruction: SystemInstruction = None,
    calculator: Calculator = False,
    seed: Seed = "1234",
    fresh_seed: FreshSeed = None,
    include_path: IncludePath = None,
    batch_size: BatchSize = "auto",
    trust_task_code: TrustTaskCode = False,
    calibrate: Annotated[
        int, typer.Option("--calibrate", min=2, max=10**6, help="Questions that are asked to predict from.")
    ] = 16,
    from_run: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Predict from this run's samples, asked as they were; no model is needed."
        ),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Workers of the fleet.")] = 1,
    prices: Annotated[
        Path | None,
        typer.Option(help="YAML file MODEL: {prompt: …, completion: …}, for a million tokens."),
    ] = None,
    worker_hour: Annotated[
        float | None, typer.Option("--worker-hour", min=0, max=1e9, help="What an hour of one worker costs.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the forecast as one JSON object.")] = False,
) -> None:
    """Predict the tokens, the time and the cost of a run for a fleet of workers, with 95 % intervals.

    A few of its questions, drawn at random, go through the real model with the real settings; or the samples
    of an earlier run say what its like will take. The predicted time holds for workers like the one that was
    measured.
    """
    from resit.cli import options
    from resit.cli.forecasting import Measured, measure, measured_run, show_forecast
    from resit.prompts import chat_options
    from resit.runs.plan import Settings
    from resit.tasks import load
    from resit.tasks.exams import own_exam

    sampling_seed, fewshot_seed = options.seeds(seed)
    settings = Settings(
        seed=sampling_seed,
        fewshot_seed=fewshot_seed,
        num_fewshot=num_fewshot,
        gen_kwargs=options.settings("--gen-kwargs", gen_kwargs),
        chat=chat_options(
            apply_chat_template, options.boolean("--fewshot-as-multiturn", fewshot_as_multiturn)
        ),
        system_instruction=system_instruction,
        limit=options.limit(limit),
        repeats=repeats,
        calculator=calculator,
    )
    concurrency, names = options.concurrency(batch_size), options.names(tasks)
    measured: Measured
    if from_run is not None:
        hint = "the samples of that run are what they are; leave out --from to ask new ones"
        options.refuse_others(context, "has no effect with --from", hint, *FROM_A_RUN)
        measured = measured_run(from_run, names, settings, concurrency)
    else:
        found = load(names, include_path=include_path, trust_task_code=trust_task_code) if names else []
        measured = measure(model, model_args, own_exam(found, fresh_seed), settings, concurrency, calibrate)
    show_forecast(measured, workers, prices, worker_hour, as_json)
