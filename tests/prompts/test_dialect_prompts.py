"""Small task files, at least one for each rule of the dialect, give the prompts that lm-eval 0.4.13 gives.

What lm-eval makes of them was recorded by `tests/reference/compare_prompts.py --record`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from resit import prompts, tasks

FOLDER = Path(__file__).parent / "dialect"
ROWS = json.loads((FOLDER / "rows.json").read_text(encoding="utf-8"))
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


def asked(name: str, way: dict[str, Any]) -> list[list[Any]]:
    (task,) = tasks.load([str(FOLDER / f"{name}.yaml")], reader=lambda path, config, split, **_: ROWS[split])
    options = dict(way)
    flags = (options.pop("apply_chat_template", False), options.pop("fewshot_as_multiturn", None))
    made = prompts.questions(task, seed=EXPECTED["seed"], chat=prompts.chat_options(*flags), **options)
    return [[as_json(q.prompt), list(q.target) if isinstance(q.target, tuple) else q.target] for q in made]


def as_json(prompt: Any) -> Any:
    if isinstance(prompt, str):
        return prompt
    messages = [{"role": message.role, "content": message.content} for message in prompt]
    return [messages, messages[-1]["role"] != "assistant"]


@pytest.mark.parametrize("way", EXPECTED["ways"])
@pytest.mark.parametrize("name", EXPECTED["prompts"])
def test_the_prompts_are_lm_evals(name: str, way: str) -> None:
    found = asked(name, EXPECTED["ways"][way])
    expected = EXPECTED["prompts"][name][way]
    assert found[0] == expected["first"]
    digests = [hashlib.sha256(json.dumps(p, ensure_ascii=False).encode()).hexdigest()[:16] for p in found]
    assert digests == expected["sha256"]


def test_every_file_was_recorded() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(EXPECTED["prompts"])
