"""Train a verifier on the published solutions of GSM8K's authors, and choose among them with it.

    RESIT_MIRROR=… python benchmarks/verifier.py MODEL [--folder WORK] [--questions N] [--layer N]

`example_model_solutions.jsonl` holds a solution of each of four models to every test question, 5,276 in all.
They are graded here (not by the file's own labels), divided by question, and a linear head over the model's
frozen states is trained on seven tenths. Printed: AUC on held-out questions beside length and
log-probability, and what choosing among the four held-out solutions by the verifier is worth.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _figures import Figure, record

from resit import assets
from resit.reports.verifier_table import METHODS

MODELS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")


def resit(*words: str | Path) -> None:
    """Run a verb; its output is this script's."""
    command = [sys.executable, "-m", "resit", *map(str, words)]
    print("$ resit", *map(str, words), flush=True)
    began = time.monotonic()
    subprocess.run(command, check=True)
    print(f"({time.monotonic() - began:.0f} s)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="a causal language model: a folder or a name on the hub")
    parser.add_argument("--folder", type=Path, default=Path("runs/verifier-benchmark"))
    parser.add_argument("--questions", type=int, default=1319)
    parser.add_argument("--layer", type=int)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    answers = asked.folder / "answers.jsonl"
    published = assets.fetch("gsm8k", "example_model_solutions.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in published.splitlines()[: asked.questions]]
    answers.write_text(
        "".join(
            json.dumps({"doc_id": number, "responses": [line[model]["solution"] for model in MODELS]}) + "\n"
            for number, line in enumerate(lines)
        ),
        encoding="utf-8",
    )
    run, verifier = asked.folder / "run", asked.folder / "verifier"
    if not run.exists():
        resit("import", "jsonl", answers, "--task", "gsm8k", "-o", run)
    layer = () if asked.layer is None else ("--layer", str(asked.layer))
    resit("verifier", "train", "--data", run, "--base", asked.model, "-o", verifier, *layer)
    apply = ("verifier", "apply", run, "--verifier", verifier, "--top", "2")
    resit(*apply)
    record(*figures(told(verifier / "verifier.json"), again(*apply)))


def told(card: Path) -> dict[str, Any]:
    """What training found on held-out questions."""
    return dict(json.loads(card.read_text(encoding="utf-8"))["quality"])


def again(*words: str | Path) -> dict[str, Any]:
    """A verb's output as JSON; every sample has its score by now."""
    command = [sys.executable, "-m", "resit", *map(str, words), "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return dict(json.loads(done.stdout))


def figures(quality: dict[str, Any], chosen: dict[str, Any]) -> Iterator[Figure]:
    """What the table of all benchmarks shows: a lead is reached where its interval lies above zero."""
    ours = quality["discriminations"][0]
    note = f"95 % interval [{ours['ci_low']:.3f}, {ours['ci_high']:.3f}]"
    yield Figure("AUC on held-out questions", ours["auc"], "", note=note)
    baselines = {one["name"]: one["auc"] for one in quality["discriminations"][1:]}
    for lead in quality["advantages"]:
        note = f"AUC {lead['difference']:+.3f} [{lead['ci_low']:+.3f}, {lead['ci_high']:+.3f}]"
        what, over = f"AUC beside {lead['over']} alone", lead["over"]
        yield Figure(
            what, ours["auc"], "", over, baselines[over], None, "clearly above", lead["ci_low"] > 0, note
        )
    for method, gain in chosen["tasks"][0]["gains"].items():
        low, high = (100 * gain[end] for end in ("ci_low", "ci_high"))
        note = f"95 % interval [{low:+.1f}, {high:+.1f}]"
        what = f"{METHODS[method]} of four, over their mean accuracy"
        verified = method != "maj"  # the majority needs no verifier
        wanted, reached = ("> 0", low > 0) if verified else ("", None)
        yield Figure(what, 100 * gain["difference"], "points", wanted=wanted, reached=reached, note=note)


if __name__ == "__main__":
    main()
