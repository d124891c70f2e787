"""A page for each verb of the command line, from what `--help` says."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer

from resit.cli import app

FOLDER = "commands"


def pages() -> dict[str, str]:
    """Markdown by path below the documentation's folder: one page a verb, and their index."""
    root: Any = typer.main.get_command(app)
    found = {
        f"{FOLDER}/{name}.md": "\n".join(_page(verb, name)) + "\n" for name, verb in root.commands.items()
    }
    return {f"{FOLDER}/index.md": "\n".join(_index(root)) + "\n", **found}


def _index(root: Any) -> Iterator[str]:
    yield "# Command line\n"
    yield "Generated from the program; `resit VERB --help` says the same.\n"
    yield "| verb | |\n|---|---|"
    for name, verb in root.commands.items():
        yield f"| [`resit {name}`]({name}.md) | {_text(verb.short_help or verb.help or '')} |"
    yield "\nOptions before the verb:\n"
    yield from _options(root)
    yield ""
    yield (
        "Options are spelt with `-` or `_`, as lm-eval's are: `--model_args` is `--model-args`. `--json` "
        "prints one object on standard output; progress and warnings go to standard error. What the exit "
        "status says: "
        "[exit status](../exit-status.md).\n"
    )


def _page(verb: Any, name: str) -> Iterator[str]:
    yield f"# resit {name}\n"
    yield from _body(verb, f"resit {name}")
    for inner, command in getattr(verb, "commands", {}).items():
        yield f"## resit {name} {inner}\n"
        yield from _body(command, f"resit {name} {inner}")


def _body(verb: Any, words: str) -> Iterator[str]:
    for paragraph in inspect.cleandoc(verb.help or "").split("\n\n"):
        yield _text(paragraph) + "\n"
    if not hasattr(verb, "commands"):
        arguments = " ".join(_argument(p) for p in verb.params if p.param_type_name == "argument")
        yield f"```text\n{words} [OPTIONS] {arguments}".rstrip() + "\n```\n"
        yield from _arguments(verb)
        yield from _options(verb)
        yield ""
    yield from _epilog(verb.epilog or "")


def _argument(parameter: Any) -> str:
    name = parameter.name.upper().replace("_", "-") + ("…" if parameter.nargs == -1 else "")
    return name if parameter.required else f"[{name}]"


def _arguments(verb: Any) -> Iterator[str]:
    told = [p for p in verb.params if p.param_type_name == "argument" and p.help]
    if told:
        yield "| argument | |\n|---|---|"
        yield from (f"| `{_argument(p)}` | {_text(p.help)} |" for p in told)
        yield ""


def _options(verb: Any) -> Iterator[str]:
    yield "| option | | default |\n|---|---|---|"
    for option in verb.params:
        if option.param_type_name == "option" and not option.hidden:
            names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
            yield f"| {names} | {_text(option.help or '')} | {_default(option)} |"


def _default(option: Any) -> str:
    if option.required:
        return "required"
    value = option.default
    return (
        ""
        if value is None or value == "" or isinstance(value, bool | tuple) or callable(value)
        else f"`{value}`"
    )


def _epilog(text: str) -> Iterator[str]:
    """The examples as a block; what else the help ends with as text."""
    for paragraph in filter(None, inspect.cleandoc(text).replace("\b\n", "").split("\n\n")):
        lines = [line.strip() for line in paragraph.splitlines()]
        if lines[0] in ("Example:", "Examples:"):
            yield "```sh\n" + "\n".join(lines[1:]) + "\n```\n"
        else:
            yield _text(paragraph) + "\n"


def _text(text: str) -> str:
    """Help text as Markdown that says exactly it, within a table's cell too."""
    text = " ".join(text.replace("\b", "").split())
    parts = text.split("`")
    parts[::2] = [
        "".join(f"&#{ord(c)};" if c in "\\*_[]<>|{}~^=$#" else c for c in part) for part in parts[::2]
    ]
    told = "`".join(part.replace("|", "&#124;") for part in parts)
    return re.sub(r"\bdocs/([a-z]+)\.md", r"[\1](../\1.md)", told)
