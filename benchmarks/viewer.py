"""How soon `resit view` shows a self-consistency run of 84,416 samples; what filters, search and memory take.

    python benchmarks/viewer.py [--run FOLDER] [--questions 1319] [--samples 64] [--repetitions 3]

The run is that of score_run.py, scored, or the one that is named. Each repetition starts a server of its own
and asks it as the page does. Memory is that of the server and its helpers together (resident, with pages that
they share counted in each). Targets: shown in 1 s, any filter in 0.3 s, 300 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from _figures import Figure, at_most, record
from _processes import held_by
from score_run import SHARED, TASK, make_run

SHOWS = ("all", "wrong", "right", "disagree", "unextracted", "truncated", "errored")
MOST_SHOWN, MOST_FILTER, MOST_MB = 1.0, 0.3, 300.0
"""Wanted: seconds, seconds, megabytes."""
SEARCHES = ("zzzz", "Janet", "let me check that again, 23", "farmers’ market", "the")


def main() -> None:
    """Print a row for each figure, with its median and its worst."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--run", type=Path, help="a scored run that is there")
    parser.add_argument("--questions", type=int, default=1319)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    if (SHARED / "mirror").is_dir():
        os.environ.setdefault("RESIT_MIRROR", str(SHARED / "mirror"))
    with tempfile.TemporaryDirectory() as scratch:
        run = options.run or _scored(Path(scratch), options.questions, options.samples)
        size = (run / "generations.jsonl").stat().st_size / 2**20
        print(f"{size:.0f} MB of journal; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
        found = [measure(run) for _ in range(options.repetitions)]
    print("| | median | worst |\n|---|---:|---:|")
    for name in found[0]:
        values = [one[name] for one in found]
        print(f"| {name} | {statistics.median(values):.3f} | {max(values):.3f} |")
    record(*figures(found, f"{size:.0f} MB of journal"))


def figures(found: list[dict[str, float]], note: str) -> Iterator[Figure]:
    """What the table of all benchmarks shows: medians, of memory the worst."""

    def median(*names: str) -> float:
        return statistics.median(sum(one[name] for name in names) for one in found)

    shown = median("page of a run never opened, s", "its first rows, s")
    yield at_most("a run shown for the first time", shown, "s", MOST_SHOWN, note)
    yield at_most("slowest filter", median("slowest filter, s"), "s", MOST_FILTER, note)
    yield at_most("memory of the viewer", max(one["memory, MB"] for one in found), "MB", MOST_MB, note)


def _scored(scratch: Path, questions: int, samples: int) -> Path:
    run = scratch / "run"
    make_run(run, scratch, questions, samples)
    command = [sys.executable, "-m", "resit", "score", str(run), "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return run


def measure(run: Path) -> dict[str, float]:
    """Seconds and megabytes of one server, by what was measured."""
    command = [sys.executable, "-m", "resit", "view", str(run), "--json"]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        found = {"start of the server, s": time.perf_counter() - began}
        try:
            found |= _looked_at(address, process.pid)
        finally:
            process.terminate()
    return found


def _looked_at(address: str, pid: int) -> dict[str, float]:
    run = _until_found(address)
    _ask(f"{address}static/charts.js")  # what the server makes ready at its start
    query = {"runs": run, "task": TASK, "rule": "robust", "count": 60}
    page, _ = _ask(f"{address}report?runs={run}")
    first, _ = _ask(_rows(address, query))
    found = {"page of a run never opened, s": page, "its first rows, s": first}
    began = time.perf_counter()
    while json.loads(_ask(_rows(address, query))[1])["read"] < 1:
        pass
    found["until all of it is read, s"] = page + first + time.perf_counter() - began
    found["page again, s"], _ = _ask(f"{address}report?runs={run}")
    filters = [_ask(_rows(address, {**query, "show": show, "sort": "agreement"}))[0] for show in SHOWS]
    found["slowest filter, s"] = max(filters)
    found["a question with all its samples, s"], _ = _ask(
        f"{address}api/sample?{urlencode({'runs': run, 'id': f'{TASK}/7'})}"
    )
    for text in SEARCHES:
        found[f"search {text!r}, s"] = _searched(address, {**query, "search": text})
    found["memory, MB"] = held_by(pid)
    return found


def _until_found(address: str) -> str:
    while not (rows := json.loads(_ask(f"{address}api/runs")[1])["rows"]):
        time.sleep(0.1)
    return str(rows[0]["id"])


def _searched(address: str, query: dict[str, Any]) -> float:
    """Seconds until a search has read everything; what is found before is shown before."""
    began = time.perf_counter()
    while json.loads(_ask(_rows(address, query))[1])["searched"] < 1:
        pass
    return time.perf_counter() - began


def _rows(address: str, query: dict[str, Any]) -> str:
    return f"{address}api/rows?{urlencode(query)}"


def _ask(address: str) -> tuple[float, bytes]:
    """Seconds until the whole answer was there, and the answer."""
    began = time.perf_counter()
    with urllib.request.urlopen(address, timeout=120) as response:
        content = response.read()
    return time.perf_counter() - began, content


if __name__ == "__main__":
    main()
