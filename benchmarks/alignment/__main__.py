"""Measures how far Resit's tasks give what their reference implementations give, and writes it down.

    python -m benchmarks.alignment side-by-side --lm-eval LM/bin/python --model FILE.gguf --called NAME
        [--tasks gsm8k,gsm8k_cot] [--limit 100] [--concurrent 4] [--output FOLDER]
    python -m benchmarks.alignment replay --lm-eval LM/bin/python [--logs FOLDER] [--tasks …]
    python -m benchmarks.alignment vectors --golden FILE.json
    python -m benchmarks.alignment twins

LM is an environment with `lm_eval[api]==0.4.13` and without Resit. The records are
`src/resit/tasks/alignment/<task>.yaml`; `docs/alignment.md` says what stands in them. A record that is made
again replaces the one that was made of the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from resit.tasks.aligned import verdict_of

from . import replay, serving, side_by_side, vectors, writing

SIDE_BY_SIDE = "gsm8k,gsm8k_cot,gsm8k_cot_zeroshot,gsm8k_cot_llama"


def _side_by_side(asked: argparse.Namespace) -> None:
    options = side_by_side.Asked(
        asked.lm_eval, asked.model, asked.limit, asked.concurrent, asked.output, asked.threads
    )
    model = {
        "name": asked.called or asked.model.stem,
        "sha256": hashlib.sha256(asked.model.read_bytes()).hexdigest(),
    }
    for task, findings in side_by_side.run(options, asked.tasks.split(",")):
        model["engine"] = serving.engine()  # not before: a server decides how threads wait before it loads
        head = {"kind": "side-by-side", "reference": lm_eval(asked.lm_eval), "model": model}
        words = [
            "side-by-side", "--lm-eval", "LM/bin/python", "--model", asked.model.name,
            "--called", model["name"], "--tasks", task, "--limit", str(asked.limit),
        ]  # fmt: skip
        writing.write(task, {**head, "questions": "the first of GSM8K test", **findings, **_made(words)})
        print(f"{task}: {findings['verdict']} of {findings['n']}", flush=True)


def _replay(asked: argparse.Namespace) -> None:
    names = asked.tasks.split(",") if asked.tasks else replay.aligned_with_lm_eval()
    reference = lm_eval(asked.lm_eval)
    with tempfile.TemporaryDirectory() as scratch:
        for task, heard, findings in replay.run(asked.lm_eval, names, asked.logs, Path(scratch)):
            responses = {"name": heard.name, "source": heard.source, "licence": heard.licence}
            head = {"kind": "replay", "reference": reference, "responses": responses, "questions": "all"}
            logs = ["--logs", "LOGS"] if heard.licence else []
            words = ["replay", "--lm-eval", "LM/bin/python", *logs, "--tasks", task]
            writing.write(task, {**head, **findings, **_made(words)})
            print(f"{task}, {heard.name}: {findings['verdict']} of {findings['n']}", flush=True)


def _vectors(asked: argparse.Namespace) -> None:
    golden = json.loads(asked.golden.read_text(encoding="utf-8"))
    for task, found in vectors.run(golden).items():
        head = {"kind": "vectors", "reference": vectors.SIEVAL, "vectors": found}
        words = ["vectors", "--golden", asked.golden.name]
        record = {**head, "verdict": verdict_of(head), **_made(words)}
        writing.write(task, record)
        print(f"{task}: {record['verdict']}", flush=True)


def _twins(asked: argparse.Namespace) -> None:
    for task, twin in vectors.twins():
        first = writing.first_reference(twin)
        record = {"kind": "twin", "reference": first, "twin": twin, "verdict": "equal", **_made(["twins"])}
        writing.write(task, record)
        print(f"{task}: {twin}'s protocol", flush=True)


def lm_eval(python: Path) -> dict[str, str]:
    """The lm-eval of that environment, as a record names it."""
    code = "import importlib.metadata as m; print(m.version('lm_eval'))"
    done = subprocess.run([str(python), "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return writing.lm_eval_reference(done.stdout.strip())


def _made(words: list[str]) -> dict[str, str]:
    return writing.made(f"python -m benchmarks.alignment {shlex.join(words)}")


def main() -> None:
    """Measure and write what is asked for."""
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.alignment", description=__doc__, formatter_class=style
    )
    kinds = parser.add_subparsers(required=True)
    live = kinds.add_parser("side-by-side")
    live.add_argument("--lm-eval", type=Path, required=True)
    live.add_argument("--model", type=Path, required=True)
    live.add_argument("--called", default="")
    live.add_argument("--tasks", default=SIDE_BY_SIDE)
    live.add_argument("--limit", type=int, default=100)
    live.add_argument("--concurrent", type=int, default=4)
    live.add_argument("--threads", type=int)
    live.add_argument("--output", type=Path, default=Path("alignment-runs"))
    live.set_defaults(measure=_side_by_side)
    heard = kinds.add_parser("replay")
    heard.add_argument("--lm-eval", type=Path, required=True)
    heard.add_argument("--logs", type=Path)
    heard.add_argument("--tasks", default="")
    heard.set_defaults(measure=_replay)
    given = kinds.add_parser("vectors")
    given.add_argument("--golden", type=Path, required=True)
    given.set_defaults(measure=_vectors)
    twins = kinds.add_parser("twins")
    twins.set_defaults(measure=_twins)
    asked: Any = parser.parse_args()
    asked.measure(asked)


if __name__ == "__main__":
    main()
