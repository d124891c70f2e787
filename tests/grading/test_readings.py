"""What was read in real responses on which the rules disagree.

For each log up to 200 responses were drawn (seeded) among those that robust, lm-eval's strict and
flexible rules and DeepSeek-Math's rule do not judge alike. The end of each (its last 110 characters, more
where the answer stands earlier) was read beside the gold answer, and what robust had extracted was confirmed
or robust was mended: `reads` is the number that the response states as its answer ("-": none, or
several), `right` whether that is the gold answer. The responses themselves stay in the shared folder.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

from resit.grading import grade

with (Path(__file__).parent / "readings.tsv").open(encoding="utf-8", newline="") as table:
    READINGS = list(csv.DictReader(table, delimiter="\t"))


def test_robust_agrees_with_every_reading(shared: Path) -> None:
    logs = {}
    for log in {row["log"] for row in READINGS}:
        with (shared / "logs" / f"{log}.jsonl").open("rb") as lines:
            logs[log] = {row["doc_id"]: row for row in map(json.loads, lines)}
    for reading in READINGS:
        row = logs[reading["log"]][int(reading["doc_id"])]
        verdict = grade(row["response"], row["gold"])
        found = (verdict.extracted or "-", "Y" if verdict.correct else "n")
        assert found == (reading["reads"], reading["right"]), reading


def test_the_readings_cover_every_log() -> None:
    counts = Counter(row["log"] for row in READINGS)
    assert sorted(counts.values()) == [26, 57, 58, 145, 200, 200]  # all there are, or 200
