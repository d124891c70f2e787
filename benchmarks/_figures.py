"""What a benchmark found, told to `python -m benchmarks` where that runs it; a script alone just prints.

A ratio says how many times better our figure is than the other one, whichever way is better.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

VARIABLE = "RESIT_FIGURES"
"""Names the file to which figures are appended, a JSON object a line."""
LIMIT = "the machine's limit"
TARGET = "the target"


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table."""

    what: str
    value: float
    unit: str
    against: str = ""
    """Whose figure `other` is: another program, a limit of the machine, the target itself."""
    other: float | None = None
    ratio: float | None = None
    wanted: str = ""
    """As people write it: `>= 6`, `<= 0.35 s`."""
    reached: bool | None = None
    """None where nothing is wanted, or not of a measurement of this size."""
    note: str = ""


def less(
    what: str, value: float, unit: str, against: str, other: float, least: float | None = None, note: str = ""
) -> Figure:
    """A figure beside another where less is better: seconds, bytes. `least` is the ratio that is wanted."""
    return _beside(Figure(what, value, unit, against, other, note=note), _over(other, value), least)


def more(
    what: str, value: float, unit: str, against: str, other: float, least: float | None = None, note: str = ""
) -> Figure:
    """The same where more is better: a rate."""
    return _beside(Figure(what, value, unit, against, other, note=note), _over(value, other), least)


def at_most(what: str, value: float, unit: str, most: float, note: str = "") -> Figure:
    """A figure with a target of its own, which it must not pass."""
    wanted = f"<= {most:,g} {unit}"
    return Figure(what, value, unit, TARGET, most, _over(most, value), wanted, value <= most, note)


def at_least(what: str, value: float, unit: str, least: float, note: str = "") -> Figure:
    """A figure with a target of its own, which it must reach."""
    wanted = f">= {least:,g} {unit}"
    return Figure(what, value, unit, TARGET, least, _over(value, least), wanted, value >= least, note)


def _beside(figure: Figure, ratio: float | None, least: float | None) -> Figure:
    known = asdict(figure) | {"ratio": ratio}
    if least is not None:
        known |= {"wanted": f">= {least:,g}", "reached": ratio is not None and ratio >= least}
    return Figure(**known)


def _over(upper: float, lower: float) -> float | None:
    return upper / lower if lower > 0 else None


def record(*figures: Figure) -> None:
    """Append the figures to the file that `RESIT_FIGURES` names; nothing where it is not set."""
    if not (path := os.environ.get(VARIABLE)):
        return
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(figure)) + "\n" for figure in figures)


def recorded(path: Path) -> list[Figure]:
    """What a script appended; none where it did not write."""
    if not path.exists():
        return []
    return [figure_of(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def figure_of(value: dict[str, object]) -> Figure:
    """A figure from its JSON. Raises TypeError for a field that is missing."""
    return Figure(**{field.name: value[field.name] for field in fields(Figure) if field.name in value})  # type: ignore[arg-type]
