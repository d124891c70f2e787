"""The command line: one file per verb, which plugs the generating and the scoring half together."""

from __future__ import annotations

import gc
import io
import os
import sys

import typer

from resit.cli import (
    check,
    compare,
    data,
    doctor,
    export,
    gap,
    gate,
    grade,
    imports,
    memorisation,
    merge,
    plan,
    power,
    probe,
    prompts,
    report,
    run,
    score,
    tasks,
    verifier,
    view,
)
from resit.cli.examples import examples
from resit.cli.overview import FIRST, overview
from resit.errors import INTERRUPTED, UNEXPECTED, ResitError

app = typer.Typer(
    name="resit",
    help="Make a language model resit its maths exam: GSM8K, and questions it is unlikely or unable to have "
    "seen, under the published protocols, with honest statistics.",
    epilog=examples(*FIRST),
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={
        "help_option_names": ["-h", "--help"],
        # lm-eval spells --num_fewshot, most others --num-fewshot: both work
        "token_normalize_func": lambda token: token.replace("_", "-"),
    },
)
for verb in (
    run,
    score,
    grade,
    prompts,
    tasks,
    compare,
    gap,
    memorisation,
    probe,
    power,
    gate,
    data,
    check,
    doctor,
    imports,
    export,
    merge,
    plan,
    report,
    view,
    verifier,
):
    verb.register(app)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
    debug: bool = typer.Option(False, "--debug", help="Show tracebacks and the backends' own logs."),
) -> None:
    import resit

    if version:
        typer.echo(resit.__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(overview(resit.__version__))


def main() -> None:
    """Run `resit`; `--debug` may stand anywhere on the line."""
    gc.set_threshold(50_000)  # thousands of rows and classes are loaded that all stay
    debug = "--debug" in sys.argv[1:] or bool(os.environ.get("RESIT_DEBUG"))
    if debug:
        os.environ["RESIT_DEBUG"] = "1"
        sys.argv[1:] = [word for word in sys.argv[1:] if word != "--debug"]
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that cannot show a character gets its escape
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # `resit … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(UNEXPECTED)
    except ResitError as error:
        if debug:
            raise
        _complain(str(error), error.hint)
        sys.exit(error.exit_status)
    except OSError as error:
        if debug:
            raise
        place = f"{str(error.filename)[:200]}: " if error.filename else ""
        _complain(f"{place}{error.strerror or error}", "the operating system says so; --debug shows where")
        sys.exit(UNEXPECTED)
    except Exception as error:
        if debug:
            raise
        _complain(
            f"unexpected {type(error).__name__}: {error}", "this is a defect of Resit; --debug shows where"
        )
        sys.exit(UNEXPECTED)


def _complain(message: str, hint: str) -> None:
    text = f"error: {message}\n" + (f"hint: {hint}\n" if hint else "")
    encoding = sys.stderr.encoding or "utf-8"
    sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding))
