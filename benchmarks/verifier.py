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
from pathlib import Path

from resit import assets

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
    resit("verifier", "apply", run, "--verifier", verifier, "--top", "2")


if __name__ == "__main__":
    main()
