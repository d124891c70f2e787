"""Every benchmark, one after the other, and one table of what they found: `make bench`.

    python -m benchmarks [--only start_up,viewer] [--long | --quick] [--lm-eval PYTHON] [--model FOLDER]
    python -m benchmarks --table

Each script can be run alone, too, and says how at its top; `_catalogue.py` says how it is run here. What it
finds replaces `benchmarks/results/<script>.json`, and the table in `benchmarks/results/README.md` is made
anew. Scripts that take more than ten minutes run with `--long` only. `--quick` runs all in sizes that show
only that they run: nothing is kept and no target is judged. What a script needs and does not find is said in
a line; a script that fails before it has found anything leaves the file as it was. PYTHON is that of an
environment with `lm_eval[hf]==0.4.13` and without Resit (or RESIT_LM_EVAL names it). The exit status is the
number of scripts that did not end with 0 or whose figures could not be kept.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # started with -m, the scripts' folder is not there yet
import _places
from _catalogue import CATALOGUE, Benchmark, Places, left_out, missing, named, spoken
from _figures import VARIABLE, recorded
from _machine import commit, load, machine, versions
from _table import COLUMNS, markdown, page, read, rows

HERE = Path(__file__).parent
POLICY = "OMP_WAIT_POLICY"
"""The one variable that changes figures and that people set."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What is run, how, and where its results go."""

    results: Path
    size: str
    given: _places.Given
    catalogue: Mapping[str, Benchmark]
    scripts: Path = HERE

    def run(self, chosen: Sequence[str]) -> tuple[list[dict[str, Any]], int]:
        """The results of these scripts, and how many failed."""
        results, failed = [], 0
        for script in chosen:
            print(f"\n== {script}", flush=True)
            words = self.catalogue[script].words(self.size)
            if words is None:
                print(
                    "skipped: " + ("no size of it is quick" if self.size == "quick" else "only with --long")
                )
                continue
            places = _places.find(self.given, named(self.catalogue[script], words))
            if absent := missing(self.catalogue[script], words, places):
                print("skipped: needs " + "; ".join(f"{name} ({places[name].remedy})" for name in absent))
                continue
            for name in left_out(words, places):
                print(f"without {name}: {places[name].remedy}", flush=True)
            result = self.measured(script, words, places)
            if result["status"]:
                print(f"{script} ended with status {result['status']}", flush=True)
            if not result["figures"]:
                print("no figures: what was kept of it before stays", flush=True)
            else:
                results.append(result)
            kept = self.size == "quick" or not result["figures"] or self.kept(result)
            failed += bool(result["status"]) or not kept
        return results, failed

    def measured(self, script: str, words: str, places: Places) -> dict[str, Any]:
        """Run a script once; the result, as it is kept."""
        benchmark = self.catalogue[script]
        python = places[benchmark.python].path if benchmark.python else sys.executable
        shown = places[benchmark.python].shown if benchmark.python else "python"
        policy = [f"{POLICY}={os.environ[POLICY]}"] if POLICY in os.environ else []
        others = {places[name].shown: places[name].path for name in ("lm-eval",) if name in places}
        file = self.given.scratch / f"{script}.figures"
        before, began = load(), time.monotonic()
        done = subprocess.run(
            [python, str(self.scripts / script), *spoken(words, places)],
            env={**os.environ, VARIABLE: str(file)},
            check=False,
        )
        return {
            "script": script,
            "title": benchmark.title,
            "command": " ".join([*policy, shown, f"benchmarks/{script}", *spoken(words, places, shown=True)]),
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "commit": commit(HERE.parent),
            "seconds": round(time.monotonic() - began, 1),
            "status": done.returncode,
            "load_before": before,
            "machine": machine(),
            "versions": {"python": versions(python)}
            | {name: versions(path) for name, path in others.items() if path},
            "without": left_out(words, places),
            "figures": recorded(file),
        }

    def kept(self, result: dict[str, Any]) -> bool:
        """Replace the script's file and the page; False where they cannot be written."""
        told = {**result, "figures": [asdict(figure) for figure in result["figures"]]}
        try:
            self.results.mkdir(parents=True, exist_ok=True)
            _write(self.results / f"{Path(result['script']).stem}.json", json.dumps(told, indent=1) + "\n")
            self.write_page(lambda said: None)
        except OSError as error:
            print(f"cannot keep what {result['script']} found: {error}", flush=True)
            return False
        return True

    def write_page(self, say: Callable[[str], None] = print) -> list[dict[str, Any]]:
        """Write `README.md` from what is kept, which is returned; `say` hears of damaged files."""
        self.results.mkdir(parents=True, exist_ok=True)
        found = read(self.results, self.catalogue, say)
        _write(self.results / "README.md", page(found, self.catalogue))
        return found


def _write(file: Path, text: str) -> None:
    part = file.with_name(f".{file.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def asked(words: Sequence[str] | None) -> argparse.Namespace:
    """The options; ends the program where they make no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    size = parser.add_mutually_exclusive_group()
    parser.add_argument("--only", metavar="SCRIPT,…", help="these alone, with or without .py")
    size.add_argument("--long", action="store_true", help="also what takes more than ten minutes")
    size.add_argument("--quick", action="store_true", help="small sizes; nothing is kept")
    size.add_argument(
        "--table", action="store_true", help="run nothing: show what is kept, write the page anew"
    )
    parser.add_argument("--lm-eval", metavar="PYTHON", default=os.environ.get("RESIT_LM_EVAL", ""))
    parser.add_argument("--model", metavar="FOLDER", default="", help="a float32 checkpoint")
    parser.add_argument("--results", type=Path, default=HERE / "results", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.lm_eval and not os.access(options.lm_eval, os.X_OK):
        parser.error(
            f"--lm-eval: {options.lm_eval} is no program; expected the Python of lm-eval's environment"
        )
    names = [name.removesuffix(".py") + ".py" for name in (options.only or "").split(",") if name]
    if unknown := [name for name in names if name not in CATALOGUE]:
        parser.error(f"--only: no benchmark {', '.join(unknown)}; there are {', '.join(CATALOGUE)}")
    options.chosen = names or list(CATALOGUE)
    return options


def main(words: Sequence[str] | None = None) -> int:
    """Run what is asked for, keep it, show the table; the number of scripts that failed."""
    options = asked(words)
    if (_places.SHARED / "mirror").is_dir():
        os.environ.setdefault("RESIT_MIRROR", str(_places.SHARED / "mirror"))
    size = "quick" if options.quick else "long" if options.long else "usual"
    with tempfile.TemporaryDirectory() as scratch:
        given = _places.Given(options.lm_eval, options.model, Path(scratch))
        bench = Bench(options.results, size, given, CATALOGUE)
        if options.quick:
            results, failed = bench.run(options.chosen)
            for result in results:
                result["figures"] = [replace(figure, reached=None) for figure in result["figures"]]
        else:
            try:
                results, failed = bench.write_page(), 0  # before hours are spent
            except OSError as error:
                print(f"cannot write to the folder of results: {error}", file=sys.stderr)
                return 1
            if not options.table:
                _, failed = bench.run(options.chosen)
                results = read(options.results, CATALOGUE, lambda said: None)
    print("\n" + markdown(COLUMNS, rows(results)), end="")
    if not options.table:
        print(f"\n{failed} did not end well" if failed else "\nall that could run ran")
    return failed


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # what had ended is kept
        sys.exit(130)
