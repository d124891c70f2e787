"""What stands at the end of a verb's `--help`: commands to copy, and what its exit status says."""

from __future__ import annotations


def examples(*commands: str, status: str = "") -> str:
    """The epilog of a verb: each command on a line of its own, never broken; then its exit status."""
    title = "Example:" if len(commands) == 1 else "Examples:"
    keep_lines = "\b"
    lines = "\n".join([keep_lines, title, *(f"  {command}" for command in commands)])
    return lines + (f"\n\nExit status: {status}" if status else "")


def example_of(epilog: str) -> str:
    """The first of a verb's examples, as an error's hint."""
    return "Example: " + epilog.split("\n")[2].strip()
