"""How heavy the report of a run is, and how soon a browser can use it.

    python benchmarks/report_page.py [RUN] [--rounds 7]

Without RUN, the 1319 answers that a model gave in shared/logs are replayed as a run of `gsm8k`, with five
exemplars drawn anew for each question. The time is from the start of the navigation until the list and the
first question are shown, in headless Chromium, a fresh page each round. Targets: at most 4 MB and 1.5 s for a
run of 1319 samples.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _figures import at_most, record
from score_run import SHARED

from resit.cli.reporting import write_report

LOG = SHARED / "logs" / "faithful_cot-gpt-3.5-turbo-COT.jsonl"
MOST_MB, MOST_SECONDS = 4.0, 1.5


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    times = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        run = asked.run or replayed(Path(folder))
        file = write_report([run], Path(folder) / "report.html")[0]
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for _ in range(asked.rounds):
            page = browser.new_page()
            page.goto(file.as_uri())
            page.wait_for_selector("html[data-ready]")
            times.append(float(page.evaluate("performance.getEntriesByName('ready')[0].startTime")))
            page.close()
        size = file.stat().st_size / 1e6
    usable = statistics.median(times)
    print(f"{size:.2f} MB; usable after {usable:.0f} ms", end=" ")
    print(f"(median of {len(times)}, {min(times):.0f} to {max(times):.0f})")
    record(
        at_most("weight of a report", size, "MB", MOST_MB),
        at_most("a report usable after its opening", usable / 1000, "s", MOST_SECONDS),
    )


def replayed(folder: Path) -> Path:
    """A run whose model says what the log holds."""
    lines = [json.loads(line) for line in LOG.read_bytes().split(b"\n") if line]
    texts = [{"doc_id": line["doc_id"], "text": line["response"]} for line in lines]
    script, run = folder / "script.jsonl", folder / "run"
    script.write_text("".join(json.dumps(text) + "\n" for text in texts), encoding="utf-8")
    if (SHARED / "mirror").is_dir():
        os.environ.setdefault("RESIT_MIRROR", str(SHARED / "mirror"))
    words = ["run", "-M", "scripted", "-a", f"file={script}", "-t", "gsm8k", "-o", str(run)]
    subprocess.run([sys.executable, "-m", "resit", *words, "--json"], stdout=subprocess.DEVNULL, check=True)
    return run


if __name__ == "__main__":
    main()
