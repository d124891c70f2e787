"""`resit run`: generate and score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resit.cli.examples import examples

EXAMPLE = examples(
    "resit run -M llamacpp -a pretrained=smollm2-135m -t gsm_fresh --limit 16",
    "resit run -M hf -a pretrained=org/name,dtype=bfloat16 -t gsm8k_cot,gsm8k",
    "resit run -M openai-chat -a base_url=http://localhost:8000/v1 -t gsm_fresh_chat -b auto",
    "resit run study.yaml",
    status="0 done, 3 the folder holds another run, 5 too many samples errored, "
    "6 no such data or model, 130 interrupted.",
)

Config = Annotated[
    Path | None, typer.Argument(help="A study: models and tasks in one YAML file (docs/config.md).")
]
Model = Annotated[
    str,
    typer.Option(
        "--model", "-M", help="llamacpp, hf, vllm, openai-completions, openai-chat, scripted, replay."
    ),
]
ModelArgs = Annotated[
    str, typer.Option("--model-args", "-a", help="The backend's settings: k=v,… or a JSON object.")
]
Tasks = Annotated[
    str, typer.Option("--tasks", "-t", help="Tasks, tags, YAML files or lm-eval:NAME, comma-separated.")
]
Limit = Annotated[
    float | None, typer.Option("--limit", "-L", help="Questions per task; below 1: a share of them.")
]
NumFewshot = Annotated[
    int | None,
    typer.Option("--num-fewshot", "-f", min=0, help="Exemplars per prompt, over the task's."),
]
Repeats = Annotated[int | None, typer.Option("--repeats", help="Samples per question, over the task's.")]
GenKwargs = Annotated[
    str, typer.Option("--gen-kwargs", help="Sampling settings over the task's: k=v,… or a JSON object.")
]
ApplyChatTemplate = Annotated[
    bool, typer.Option("--apply-chat-template", help="Ask through the model's chat template.")
]
FewshotAsMultiturn = Annotated[
    str,
    typer.Option("--fewshot-as-multiturn", metavar="BOOL", help="Exemplars as turns of the chat."),
]
SystemInstruction = Annotated[
    str | None, typer.Option("--system-instruction", help="Text before everything else.")
]
Calculator = Annotated[
    bool,
    typer.Option(
        "--calculator", help="Put in results after <<48/2= instead of the model (docs/calculator.md)."
    ),
]
Seed = Annotated[
    str,
    typer.Option(
        "--seed", help="For sampling and exemplars; of four, as lm-eval has them, the first and the last."
    ),
]
FreshSeed = Annotated[
    int | None,
    typer.Option(
        "--fresh-seed",
        min=0,
        help="Of generated questions, for an exam of your own; else the task's seed, which everybody has.",
    ),
]
IncludePath = Annotated[Path | None, typer.Option("--include-path", help="Folder with your own task files.")]
BatchSize = Annotated[
    str, typer.Option("--batch-size", "-b", help="Samples in flight, or auto; changes the speed only.")
]
OutputPath = Annotated[
    Path | None,
    typer.Option("--output-path", "-o", help="The run's folder; else one below runs/."),
]
MaxErrorShare = Annotated[
    float,
    typer.Option("--max-error-share", min=0, max=1, help="Exit status 5 when more of the samples errored."),
]
TrustTaskCode = Annotated[
    bool, typer.Option("--trust-task-code", help="Run the Python that a task file names with !function.")
]
Executor = Annotated[
    str, typer.Option("--executor", help="local: the model is in this process; ray: in Ray's workers.")
]
Address = Annotated[
    str, typer.Option("--address", help="Ray's cluster; else RAY_ADDRESS, or a Ray of our own.")
]
Workers = Annotated[int | None, typer.Option("--workers", help="How many workers hold the model.")]
Resources = Annotated[
    str, typer.Option("--resources", help="What each worker takes: gpu=1,cpu=4 or names of the cluster's.")
]
ShardOption = Annotated[
    str, typer.Option("--shard", metavar="I/N", help="Only the I-th of N parts; `resit merge` joins them.")
]
TrustModelCode = Annotated[
    bool,
    typer.Option("--trust-model-code", help="Run the programs that the model writes, in a sandbox."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print results.json on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="run", short_help="Generate what tasks ask of a model; score it.", epilog=EXAMPLE)(run)


def run(
    context: typer.Context,
    config: Config = None,
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
    output_path: OutputPath = None,
    max_error_share: MaxErrorShare = 0.01,
    trust_task_code: TrustTaskCode = False,
    trust_model_code: TrustModelCode = False,
    executor: Executor = "local",
    address: Address = "",
    workers: Workers = None,
    resources: Resources = "",
    shard: ShardOption = "",
    as_json: AsJson = False,
) -> None:
    """Generate what the tasks ask of a model, and score it.

    Each finished sample is on disk at once. The same command again continues where the last one
    stopped; a larger --limit, more --repeats or another task reuse what is there.

    Many machines: --executor ray --address HOST:6379 --workers 16 --resources gpu=1, or without Ray a
    --shard I/N on each and `resit merge` (docs/scaling.md).
    """
    from resit.cli import options

    if config is not None:
        from resit.cli.study import run_study

        options.refuse_others(
            context,
            "has no effect: a study takes its settings from its file",
            "write it there; only --output-path and --json go with a file",
            *("config", "output_path", "as_json"),
        )
        run_study(config, output_path, as_json)
        return
    from resit.cli.launch import Launch, launch
    from resit.prompts import chat_options
    from resit.runs.plan import Settings
    from resit.runs.shards import Shard

    sampling_seed, fewshot_seed = options.seeds(seed)
    multiturn = options.boolean("--fewshot-as-multiturn", fewshot_as_multiturn)
    settings = Settings(
        seed=sampling_seed,
        fewshot_seed=fewshot_seed,
        num_fewshot=num_fewshot,
        gen_kwargs=options.settings("--gen-kwargs", gen_kwargs),
        chat=chat_options(apply_chat_template, multiturn),
        system_instruction=system_instruction,
        limit=options.limit(limit),
        repeats=repeats,
        calculator=calculator,
    )
    launch(
        Launch(
            model=model,
            model_args=model_args,
            tasks=options.names(tasks),
            settings=settings,
            fresh_seed=fresh_seed,
            include_path=include_path,
            concurrency=options.concurrency(batch_size),
            output_path=output_path,
            max_error_share=max_error_share,
            trust_task_code=trust_task_code,
            trust_model_code=trust_model_code,
            as_json=as_json,
            cluster=options.cluster(executor, address, workers, options.settings("--resources", resources)),
            shard=Shard.parsed(shard) if shard else None,
        )
    )
