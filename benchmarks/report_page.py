"""How heavy the report of a run is, and how soon a browser can use it.

    python benchmarks/report_page.py RUN [--rounds 7]

The time is from the start of the navigation until the list and the first question are shown, in headless
Chromium, a fresh page each round. Targets: at most 4 MB and 1.5 s for a run of 1319 samples.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

from resit.cli.reporting import write_report


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    times = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        file = write_report([asked.run], Path(folder) / "report.html")[0]
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for _ in range(asked.rounds):
            page = browser.new_page()
            page.goto(file.as_uri())
            page.wait_for_selector("html[data-ready]")
            times.append(float(page.evaluate("performance.getEntriesByName('ready')[0].startTime")))
            page.close()
        size = file.stat().st_size
    print(f"{size / 1e6:.2f} MB; usable after {statistics.median(times):.0f} ms", end=" ")
    print(f"(median of {len(times)}, {min(times):.0f} to {max(times):.0f})")


if __name__ == "__main__":
    main()
