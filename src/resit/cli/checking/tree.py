"""Checks of the working tree itself: nothing private in it, and its layers."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from resit.cli.checking.ledger import Ledger, Place, Unchecked, needs_checkout

MOST_BYTES = 2 << 20
ALLOWED = "resit-check: not a secret"
"""A line with these words is not looked at."""
KEYS = {
    "a private key": re.compile(r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----"),
    "a token of the Hugging Face hub": re.compile(r"\bhf_[A-Za-z0-9]{30,}\b"),
    "an API key": re.compile(r"\bsk-(?:[a-z]+-)*[A-Za-z0-9_]{24,}\b"),
    "a token of GitHub": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})\b"),
    "a key of AWS": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a token of Slack": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{20,}"),
    "a key of Google": re.compile(r"\bAIza[A-Za-z0-9_-]{35}\b"),
    "a token of a package index": re.compile(r"\bpypi-[A-Za-z0-9_-]{40,}"),
    "a password in an address": re.compile(r"\bhttps?://[^\s/:@'\"{}<>]+:[^\s/@'\"{}<>]{8,}@[\w.-]+\.\w+"),
}
PATHS = {
    "somebody's home folder": re.compile(
        r"(?<![\w.])(?:/home/(?!user\b|you\b|me\b)[a-z][\w.-]*/|/Users/(?!you\b|me\b)[A-Za-z][\w.-]*/|/root/\w"
        r"|[A-Za-z]:\\{1,2}Users\\{1,2}(?!you\b|me\b)\w+)"
    ),
}


def secrets(place: Place, ledger: Ledger) -> None:
    """No file that git tracks holds a key, or the path of a folder on somebody's machine."""
    root = needs_checkout(place)
    for name in tracked(root):
        text = _text(root / name)
        if text is None:
            continue
        ledger.checked += 1
        for number, what in found(text):
            ledger.wrong(f"{name}:{number}", f"holds {what}")


def found(text: str) -> Iterator[tuple[int, str]]:
    """(line, what) of every secret and private path in a text."""
    for number, line in enumerate(text.split("\n"), 1):
        if ALLOWED in line:
            continue
        for what, pattern in {**KEYS, **PATHS}.items():
            if pattern.search(line):
                yield number, what


def tracked(root: Path) -> list[str]:
    """The files that git tracks or would add. Raises Unchecked where git cannot tell."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unchecked(f"git does not list the tree's files ({error})") from None
    return sorted(name for name in done.stdout.decode("utf-8", "surrogateescape").split("\0") if name)


def _text(file: Path) -> str | None:
    """A file's text; None for a folder, a big file and one that is not text."""
    try:
        if not file.is_file() or file.stat().st_size > MOST_BYTES:
            return None
        data = file.read_bytes()
    except OSError:
        return None
    return None if b"\0" in data else data.decode("utf-8", "replace")


def layers(place: Place, ledger: Ledger) -> None:
    """import-linter finds every contract of pyproject.toml kept."""
    root = needs_checkout(place)
    if find_spec("importlinter") is None:
        raise Unchecked("import-linter is not installed: pip install 'resit[dev]'")
    code = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    done = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"], cwd=root, capture_output=True, text=True
    )
    ledger.checked += 1
    if done.returncode:
        for line in broken(done.stdout) or [(done.stdout + done.stderr).strip()[-500:]]:
            ledger.wrong("pyproject.toml", line)


def broken(report: str) -> list[str]:
    """The lines of import-linter's report that tell which contract is broken, and by what."""
    return [line.strip() for line in report.split("\n") if line.endswith("BROKEN") or " -> " in line]
