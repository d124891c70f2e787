"""The check that the documentation's commands are ones that the command line has."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from resit.cli.checking.ledger import Ledger, Place
from resit.cli.checking.texts import Block, blocks

SHELLS = ("sh", "bash", "shell", "console", "")
ENDS = {"|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1", ")"}
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*")
PROMPT = re.compile(r"^\$ ")
ANYWHERE = {"--debug"}
"""Options that `resit` takes anywhere on the line."""


def parse(place: Place, ledger: Ledger) -> None:
    """Every `resit …` of a shell block has verbs and options that exist."""
    for block in blocks(place, *SHELLS):
        for number, words in said(block):
            where = f"{block.file}:{number}"
            with ledger.item(where):
                for text in wrong(words):
                    ledger.wrong(where, f"resit {shlex.join(words)}: {text}")


def said(block: Block) -> Iterator[tuple[int, list[str]]]:
    """(line, words after `resit`) of every command of Resit's in a block."""
    for number, line in _joined(block):
        lexer = shlex.shlex(PROMPT.sub("", line), posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:  # prose, or a quotation that goes on in another way
            continue
        yield from ((number, command) for command in _commands(words))


def _joined(block: Block) -> Iterator[tuple[int, str]]:
    """The block's lines, those that end in a backslash joined with the next."""
    begun, held = 0, ""
    for number, line in enumerate(block.lines, block.line):
        begun = begun or number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        yield begun, held + line
        begun, held = 0, ""
    if held:
        yield begun, held


def _commands(words: Sequence[str]) -> Iterator[list[str]]:
    command: list[str] = []
    for word in [*words, ";"]:
        if word in ENDS:
            while command and ASSIGNMENT.fullmatch(command[0]):
                command.pop(0)
            program = command[0].rpartition("/")[2] if command else ""
            if program == "resit":
                yield command[1:]
            elif program.startswith("python") and command[1:3] == ["-m", "resit"]:
                yield command[3:]
            command = []
        else:
            command.append(word)


def wrong(words: Sequence[str]) -> Iterator[str]:
    """What of the words after `resit` is not there."""
    import typer

    from resit.cli import app

    command: Any = typer.main.get_command(app)
    path, rest = "resit", list(words)
    while getattr(command, "commands", None):
        options, rest = _leading_options(rest)
        yield from _unknown(options, command, path)
        if not rest or _is_placeholder(rest[0]):
            return
        verb = rest.pop(0)
        if verb not in command.commands:
            yield f"{path} has no verb {verb!r}"
            return
        command, path = command.commands[verb], f"{path} {verb}"
    yield from _unknown([word for word in rest if _is_option(word)], command, path)


def _leading_options(words: list[str]) -> tuple[list[str], list[str]]:
    count = next((i for i, word in enumerate(words) if not _is_option(word)), len(words))
    return words[:count], words[count:]


def _is_option(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and (word[1] == "-" or word[1].isalpha()) and word != "--"


def _is_placeholder(word: str) -> bool:
    return word in ("…", "...", "VERB", "COMMAND") or word.startswith(("[", "<"))


def _unknown(options: Sequence[str], command: Any, path: str) -> Iterator[str]:
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    known |= {"-h", "--help", *ANYWHERE}
    for option in options:
        name = option.partition("=")[0].replace("_", "-")
        if option.startswith("--"):
            if name not in known:
                yield f"{path} has no option {name}"
        elif option[:2] not in known:  # -t gsm8k, -tgsm8k
            yield f"{path} has no option {option[:2]}"
