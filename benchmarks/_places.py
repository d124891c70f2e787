"""Where on this machine the things are that benchmarks are given."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Set
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from _catalogue import Place, Places

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("RESIT_SHARED", ROOT.parent / "shared"))
DEQUANTISED = ROOT / "tests" / "reference" / "dequantised.py"
EXTRAS = {
    "math_verify": "math",
    "playwright": "test",
    "ray": "ray",
    "reasoning_gym": "fresh",
    "transformers": "hf",
    "xllamacpp": "llamacpp",
}
"""Packages, and the extra of Resit's that brings each."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the user named."""

    lm_eval: str
    """The Python of lm-eval's environment; may be empty."""
    model: str
    """A float32 checkpoint; empty for the catalogue's, which is then made."""
    scratch: Path
    """A folder for what is made."""


def find(given: Given, names: Set[str]) -> Places:
    """The places of these names."""
    return {name: FINDERS[name](given) for name in sorted(names)}


def _lm_eval(given: Given) -> Place:
    remedy = "give --lm-eval PYTHON, of an environment with lm_eval[hf]==0.4.13"
    return Place("LM/bin/python", given.lm_eval, remedy)


def _lm_eval_program(given: Given) -> Place:
    program = Path(given.lm_eval).with_name("lm_eval") if given.lm_eval else None
    path = str(program) if program and program.exists() else ""
    return Place("LM/bin/lm_eval", path, _lm_eval(given).remedy)


def _vllm(given: Given) -> Place:
    python = ROOT / ".venv-vllm" / "bin" / "python"
    return Place(".venv-vllm/bin/python", str(python) if python.exists() else "", "make test-vllm makes it")


def _logs(given: Given) -> Place:
    logs = SHARED / "logs"
    remedy = "set RESIT_SHARED to the folder that holds logs/"
    return Place("LOGS", str(logs) if logs.is_dir() else "", remedy)


def _chromium(given: Given) -> Place:
    return Place("chromium", shutil.which("chromium") or "", "install Chromium")


def _gsm8k(given: Given) -> Place:
    from resit import assets
    from resit.errors import ResitError

    try:
        assets.rows("openai/gsm8k", "main", "test")
    except ResitError as error:
        return Place("gsm8k", "", str(error))
    return Place("gsm8k", "there")


def _model(given: Given) -> Place:
    """What was named, else the catalogue's small model as a float32 checkpoint, made once for all scripts."""
    if given.model:
        return Place("MODEL", given.model)
    from resit import assets
    from resit.errors import ResitError

    shown, folder = "SmolLM2-135M-float32", given.scratch / "model"
    if (folder / "config.json").exists():
        return Place(shown, str(folder))
    try:
        source = str(assets.fetch("smollm2-135m"))
        command = [sys.executable, str(DEQUANTISED), source, "--folder", str(folder)]
        subprocess.run(command, check=True)
    except (ResitError, subprocess.CalledProcessError) as error:
        return Place(shown, "", f"give --model FOLDER; the small one could not be made ({error})")
    return Place(shown, str(folder))


def _scratch(given: Given) -> Place:
    return Place("SCRATCH", str(given.scratch / "work"))


def _package(name: str) -> Callable[[Given], Place]:
    path = "installed" if find_spec(name) else ""
    return lambda given: Place(name, path, f"pip install 'resit[{EXTRAS[name]}]'")


FINDERS: dict[str, Callable[[Given], Place]] = {
    "chromium": _chromium,
    "gsm8k": _gsm8k,
    "lm-eval": _lm_eval,
    "lm-eval-program": _lm_eval_program,
    "logs": _logs,
    "model": _model,
    "scratch": _scratch,
    "vllm": _vllm,
    **{name: _package(name) for name in EXTRAS},
}
