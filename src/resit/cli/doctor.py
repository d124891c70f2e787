"""`resit doctor`: what a server can do."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from resit.cli.examples import examples

EXAMPLE = examples(
    "resit doctor -M openai-chat -a base_url=http://localhost:8000/v1",
    "resit doctor -a 'base_url=http://node1:8000/v1;http://node2:8000/v1' --concurrency 1,8,64",
)

Model = Annotated[str, typer.Option("--model", "-M", help="openai-completions or openai-chat.")]
ModelArgs = Annotated[str, typer.Option("--model-args", "-a", help="base_url=…, model=…, as for run.")]
Concurrency = Annotated[str, typer.Option("--concurrency", help="Numbers of requests in flight to time.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        name="doctor", short_help="Probe a server: what it supports, how fast it is.", epilog=EXAMPLE
    )(doctor)


def doctor(
    model: Model = "openai-completions",
    model_args: ModelArgs = "",
    concurrency: Concurrency = "1,4,16",
    as_json: AsJson = False,
) -> None:
    """Ask a server what it supports before a run relies on it: seeds, n, stop strings, logprobs, the context
    length, the template in use, and its speed with several requests in flight.
    """
    import json
    from dataclasses import asdict

    from resit.errors import UsageError
    from resit.models import create, parse_model_args
    from resit.models.doctor import examine
    from resit.models.openai import OpenAIModel

    try:
        levels = [max(1, int(level)) for level in concurrency.split(",") if level.strip()]
    except ValueError:
        raise UsageError(f"--concurrency {concurrency}: expected numbers, such as 1,4,16") from None
    with create(model, parse_model_args(model_args)) as opened:
        if not isinstance(opened, OpenAIModel):
            raise UsageError(f"doctor probes servers, not {model!r}", "use openai-completions or openai-chat")
        servers: dict[str, dict[str, Any]] = {}
        for patient in opened.patients():
            typer.echo(f"{patient.server.place}: {opened.name}", err=as_json)
            findings = servers[patient.server.place] = {}
            for finding in examine(patient, opened.run, levels):
                findings[finding.probe] = asdict(finding)
                mark = " " if finding.good else "!"
                typer.echo(f"{mark} {finding.probe:14} {finding.says}", err=as_json)
    if as_json:
        report = {"model": opened.name, "findings": next(iter(servers.values())), "servers": servers}
        typer.echo(json.dumps(report, ensure_ascii=True))
