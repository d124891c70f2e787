"""The kept results as one table, and the page `results/README.md` that shows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from _figures import Figure, figure_of

COLUMNS = ("benchmark", "what", "Resit", "against", "theirs", "ratio", "wanted", "reached", "note")
RIGHT = {"Resit", "theirs", "ratio", "wanted"}
PAGE = """\
# Results of the benchmarks

Written by `python -m benchmarks` (`make bench`) from the JSON files beside it: do not edit it. A ratio says
how many times better Resit's figure is than the other one; *reached* is told where a target is set. What is
compared took turns on the same machine. sieval is not on the package index and could not be run: Resit is
compared with it by its golden vectors, in the tests, and not by speed. Servers are stand-ins that answer at
once or after 20 ms, and workers of Ray wait instead of computing; figures that are simulated or reckoned
say so. What the fuzzing of readers found stands in [fuzz.md](fuzz.md).

{table}
{absent}
## How they were taken

{runs}

{machines}
"""


def read(folder: Path, scripts: Iterable[str], say: Callable[[str], None]) -> list[dict[str, Any]]:
    """The kept results of these scripts, in that order; a damaged file is named and left out."""
    results = []
    for script in scripts:
        file = folder / f"{Path(script).stem}.json"
        try:
            result = json.loads(file.read_text(encoding="utf-8"))
            result["figures"] = [figure_of(figure) for figure in result["figures"]]
            results.append(result)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError) as error:
            say(f"{file.name} cannot be read ({error}): run `python -m benchmarks --only {script}` again")
    return results


def rows(results: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """A row for each figure; a script's title stands in the first of its own."""
    for result in results:
        for number, figure in enumerate(result["figures"]):
            yield ["" if number else f"{result['title']} (`{result['script']}`)", *cells(figure)]


def cells(figure: Figure) -> list[str]:
    """A figure as the columns show it."""
    reached = {True: "yes", False: "**no**", None: ""}[figure.reached]
    return [
        figure.what,
        amount(figure.value, figure.unit),
        figure.against,
        "" if figure.other is None else amount(figure.other, figure.unit),
        "" if figure.ratio is None else number(figure.ratio),
        figure.wanted,
        reached,
        figure.note,
    ]


def number(value: float) -> str:
    """Three significant digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def amount(value: float, unit: str) -> str:
    """A value with its unit."""
    return f"{number(value)} {unit}".strip()


def markdown(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table whose columns are as wide as their widest cell, so that a terminal shows it as well."""
    table = [list(columns), *([cell.replace("|", "\\|") for cell in line] for line in lines)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    right = [name in RIGHT for name in columns]
    rule = [
        "-" * (width - 1) + (":" if to_right else "-") for width, to_right in zip(widths, right, strict=True)
    ]
    shown = [
        " | ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        )
        for line in (table[0], rule, *table[1:])
    ]
    return "".join(f"| {line} |\n" for line in shown)


def page(results: Sequence[dict[str, Any]], scripts: Iterable[str]) -> str:
    """The whole README."""
    measured = {result["script"] for result in results}
    absent = ", ".join(f"`{script}`" for script in scripts if script not in measured)
    machines: list[dict[str, Any]] = []
    runs = []
    for result in results:
        if result["machine"] not in machines:
            machines.append(result["machine"])
        runs.append(_run(result, machines.index(result["machine"]) + 1))
    return (
        PAGE.format(
            table=markdown(COLUMNS, rows(results)),
            absent=f"Not measured yet: {absent}.\n" if absent else "",
            runs=markdown(
                ("command", "date", "commit", "minutes", "load before", "machine", "versions"), runs
            ),
            machines="\n".join(f"Machine {n}: {_facts(machine)}." for n, machine in enumerate(machines, 1)),
        ).rstrip()
        + "\n"
    )


def _run(result: dict[str, Any], machine: int) -> list[str]:
    ended = f" (ended with status {result['status']})" if result["status"] else ""
    without = f" (without {', '.join(result['without'])})" if result["without"] else ""
    found = [
        (python, name, version)
        for python, all_ in result["versions"].items()
        for name, version in all_.items()
    ]
    own = ", ".join(f"{name} {version}" for python, name, version in found if python == "python")
    others = ", ".join(f"{name} {version}" for python, name, version in found if python != "python")
    return [
        f"`{result['command']}`{ended}{without}",
        result["date"],
        result["commit"] or "",
        f"{result['seconds'] / 60:.1f}",
        f"{result['load_before']}",
        str(machine),
        "; beside it ".join(filter(None, (own, others))),
    ]


def _facts(machine: dict[str, Any]) -> str:
    units = {"cores": "{} cores", "memory_gib": "{} GiB", "python": "Python {}"}
    return ", ".join(units.get(name, "{}").format(value) for name, value in machine.items())
