"""Scale's two GSM1k files, which lm-eval 0.4.13 refuses, load as they are and ask what the catalogue asks.

The files themselves hold exemplars, so their layout is rebuilt here around the exemplars of the wheel.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from resit import prompts, tasks

pytestmark = pytest.mark.usefixtures("mirror")

SCALE = """\
group:
  - math_word_problems
task: gsm1k
dataset_path: ScaleAI/gsm1k_public_50
output_type: generate_until
training_split: train
fewshot_split: train
test_split: test
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_target: "{{answer}}" #" a comment, as theirs has"
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: true
    ignore_punctuation: false
    regexes_to_ignore: [",", "\\\\$", "(?s).*#### ", "\\\\.$"]
generation_kwargs:
  until: ["Question:", "</s>", "<|im_end|>"]
  do_sample: false
  temperature: 0.0
repeats: 1
num_fewshot: 5
filter_list:
  - name: "flexible-extract"
    filter:
      - function: "regex"
        group_select: -1
        regex_pattern: "(-?[$0-9.,]{2,})|(-?[0-9]+)"
      - function: "take_first"
metadata:
  version: 3.0
"""


def test_scales_file_loads_with_its_group_list_and_is_asked_as_gsm1k_is(tmp_path: Path) -> None:
    path = tmp_path / "gsm1k_scale.yaml"
    path.write_text(SCALE, encoding="utf-8")
    (theirs,) = tasks.load([str(path)])
    (ours,) = tasks.load(["gsm1k_public_50"])
    assert theirs.config.tags == ("math_word_problems",)
    asked = [(q.prompt, q.target) for q in prompts.questions(ours)]
    assert [(q.prompt, q.target) for q in prompts.questions(theirs)] == asked
    assert theirs.rules.filters[0] in ours.rules.filters
    assert ours.rules.headline == "exact_match,flexible-extract"


COT = """\
group:
  - chain_of_thought
task: gsm1k_cot
dataset_path: ScaleAI/gsm1k_public_50
output_type: generate_until
test_split: test
doc_to_text: "BAKED\\
Q: {{question}}\\nA:"
doc_to_target: "{{answer.split('####')[-1].strip()}}"
generation_kwargs:
  until: ["Q:", "</s>", "<|im_end|>"]
  do_sample: false
repeats: 1
num_fewshot: 0
metadata:
  version: 3.0
  num_fewshot: 8
"""


def test_scales_baked_in_exemplars_give_gsm1k_cots_prompts(tmp_path: Path) -> None:
    (ours,) = tasks.load(["gsm1k_cot"])
    baked = "".join(f"Q: {row['question']}\\nA: {row['target']}\\n\\n" for row in ours.exemplars.rows)
    path = tmp_path / "gsm1k-scale-cot.yaml"
    path.write_text(COT.replace("BAKED", baked), encoding="utf-8")
    (theirs,) = tasks.load([str(path)])
    public = tasks.Task(ours.config.model_copy(update={"dataset_path": "ScaleAI/gsm1k_public_50"}), "public")
    asked = [(q.prompt, q.target) for q in prompts.questions(public)]
    assert len(asked) == 50
    assert [(q.prompt, q.target) for q in prompts.questions(theirs)] == asked
    assert theirs.config.tags == ("chain_of_thought",)
