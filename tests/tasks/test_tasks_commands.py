"""`resit tasks list|show|validate`: what is printed, and what does not pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from resit import tasks
from resit.cli import app, validation
from resit.errors import UsageError

Write = Callable[[str, str], str]
FILTERS = r"""
filter_list:
  - name: marked
    filter: [{function: regex, regex_pattern: '#### (\-?[0-9\.\,]+)'}, {function: take_first}]
metric_list: [{metric: exact_match, regexes_to_ignore: [",", '(?s).*#### ']}]
"""


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["tasks", *words])


@pytest.fixture
def make(write: Write, tmp_path: Path) -> Callable[..., str]:
    """Writes a task file over rows of its own and gives its path."""

    def made(extra: str = FILTERS, rows: list[dict[str, Any]] | None = None) -> str:
        rows = rows or [{"q": f"{i} and {i}?", "a": f"Twice {i}.\n#### {2 * i + 1000:,}"} for i in range(5)]
        data = write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        return write(
            "own.yaml",
            "task: own\ndataset_path: json\ntest_split: test\n"
            f"dataset_kwargs: {{data_files: {{test: {data}}}}}\n"
            'doc_to_text: "Q: {{q}}\\nA:"\ndoc_to_target: "{{a}}"\n' + extra,
        )

    return made


def test_the_list_names_every_task_tag_and_pair() -> None:
    text = run("list").stdout
    lines = [line.split() for line in text.splitlines() if line.startswith("  ")]
    named = [line[0] for line in lines]
    assert named == [*tasks.index(), *tasks.tags(), *tasks.pairs()]
    found = json.loads(run("list", "--json").stdout)
    assert [entry["name"] for entry in found["tasks"]] == list(tasks.index())
    assert [pair["name"] for pair in found["pairs"]] == list(tasks.pairs())
    assert found["tags"]["sieval"] == list(tasks.tags()["sieval"])


def test_a_card_tells_protocol_provenance_and_one_prompt(make: Callable[..., str]) -> None:
    path = make(FILTERS + "resit: {about: of my own, status: experimental, deviations: [none at all]}\n")
    text = run("show", path).stdout
    for said in (
        "own  of my own",
        "status: experimental",
        "documents: 5",
        "max_tokens 256; temperature 0.0; stop ['\\n\\n']",
        r"filter marked: regex regex_pattern='#### (\\-?[0-9\\.\\,]+)', take_first",
        "deviation: none at all",
        "    | Q: 0 and 0?\n    | A:\n",
        "    | Twice 0.\n    | #### 1,000\n",
    ):
        assert said in text
    (card,) = json.loads(run("show", path, "--json").stdout)["tasks"]
    assert card["prompt"] == "Q: 0 and 0?\nA:"
    assert card["target"] == "Twice 0.\n#### 1,000"
    assert len(card["protocol_digest"]) == 64


def test_a_card_of_the_catalogue_names_reference_licence_and_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESIT_MIRROR", "/nowhere")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    (card,) = json.loads(run("show", "gsm1k", "--json").stdout)["tasks"]
    assert card["reference"]["implementation"] == "scaleapi/gsm1k_eval"
    assert len(card["reference"]["pinned"]) == 40
    assert card["data"]["licence"] == "MIT"
    assert "scaleapi/gsm1k_eval/blob/c5c2ecc8" in card["data"]["licence_stated_in"]
    assert card["pairs"] == ["gsm8k/gsm1k"]
    assert card["status"] == "aligned"


def test_a_card_tells_what_was_measured_beside_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESIT_MIRROR", "/nowhere")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    text = run("show", "gsm8k_kshot_base_gen").stdout
    assert "  measured: vectors: equal with scitix/sieval f2c86c3\n" in text
    (card,) = json.loads(run("show", "gsm8k_cot_zeroshot", "--json").stdout)["tasks"]
    first = card["alignment"][0]
    assert (first["kind"], first["n"], first["same_texts"]) == ("replay", 1319, 1319)
    assert all(ours == theirs for ours, theirs in first["scores"].values())
    (card,) = json.loads(run("show", "svamp", "--json").stdout)["tasks"]
    assert card["alignment"] == []


def test_names_may_be_separated_by_commas(monkeypatch: pytest.MonkeyPatch, make: Callable[..., str]) -> None:
    monkeypatch.setenv("RESIT_MIRROR", "/nowhere")
    cards = json.loads(run("show", "svamp, gsm_hard", "--json").stdout)["tasks"]
    assert [card["name"] for card in cards] == ["svamp", "gsm_hard"]
    assert run("validate", f"{make()},{make()}").exit_code == 0
    for verb in ("show", "validate"):
        assert "expected the name of a task, found none" in str(run(verb, ",").exception)


def test_a_card_for_people_shows_no_notation_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESIT_MIRROR", "/nowhere")
    text = run("show", "svamp").stdout
    exemplars = "from asset lm-eval, file lm_eval/tasks/gsm8k/gsm8k-cot.yaml, at fewshot_config.samples\n"
    assert f"  exemplars: count 8; sampler first_n; {exemplars}" in text
    assert "  data: dataset_path arkilpatel/SVAMP; split test; licence MIT;" in text


def test_without_data_the_card_says_so(monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    path = write("t.yaml", "task: t\ntest_split: test\ndoc_to_text: x\ndoc_to_target: y\n")
    assert "no rendered prompt: " in run("show", path).stdout


def test_a_sound_task_passes(make: Callable[..., str]) -> None:
    result = run("validate", make())
    assert result.exit_code == 0
    assert result.stdout == (
        "own: passed\n"
        "  5 documents rendered, 0 exemplars looked at\n"
        "  marked: 5 golds right in a sentence, altered golds wrong for 5\n"
        "  robust: 5 golds right in a sentence, altered golds wrong for 5\n"
    )


@pytest.mark.parametrize(
    ("extra", "rows", "said"),
    [
        # FC-CFG-03: a task that extracts nothing cannot score anything but a bare answer
        ("", [{"q": "1?", "a": "5"}], "error: none reads no answer out of a sentence"),
        # FC-EXT-07: golds without the marker that the rule looks for still grade right or are named
        (
            FILTERS.replace("'(?s).*#### '", "'^never$'"),
            None,
            "error: marked: 5 documents (0, 1, 2, 3, 4): the gold cannot be made to grade right",
        ),
        (
            FILTERS.replace(r"(\-?[0-9\.\,]+)", r"([0-9])"),
            [{"q": "1?", "a": "#### 5"}, {"q": "2?", "a": "#### 15"}],
            "error: marked: 1 document (1): the gold cannot be made to grade right",
        ),
        (
            FILTERS.replace('[","', '["[0-9]", ","'),
            None,
            "error: marked: 5 documents (0, 1, 2, 3, 4): an altered gold grades right",
        ),
        (
            FILTERS.replace('[","', '["-", ","'),
            None,
            "warning: marked: 5 documents (0, 1, 2, 3, 4): the gold with the opposite sign grades right",
        ),
        (FILTERS, [{"q": "1?", "a": ""}, {"q": "2?", "a": "#### 1"}], "error: 1 document (0): the prompt or"),
        (
            FILTERS,
            [{"q": "1?", "a": "#### 1"}] * 3,
            "warning: 2 documents (1, 2): the same as an earlier document",
        ),
        (
            FILTERS + "num_fewshot: 1\nfewshot_config: {samples: [{q: '1  AND 1?', a: '#### 2'}]}\n",
            None,
            "error: 1 document (1): an exemplar asks the same question",
        ),
        (
            FILTERS + "num_fewshot: 1\n"
            "fewshot_config: {samples: [{q: '7?', a: 'It is 7.'}, {q: '8?', a: '#### 8'}]}\n",
            None,
            "warning: 1 of 2 exemplars, the first in row 0: marked reads no answer from what the exemplar",
        ),
        (
            FILTERS + "num_fewshot: 1\nfewshot_split: test\n",
            None,
            "note: the exemplars are other documents of the split that is asked",
        ),
        (FILTERS + "fewshot_config: {fewshot_indices: [1]}\n", None, "note: fewshot_indices has no effect"),
    ],
)
def test_what_validation_finds(
    make: Callable[..., str], extra: str, rows: list[dict[str, Any]] | None, said: str
) -> None:
    result = run("validate", make(extra, rows))
    assert said in result.stdout
    assert isinstance(result.exception, UsageError) == said.startswith("error")


def test_a_document_that_cannot_be_rendered_is_named(make: Callable[..., str]) -> None:
    rows = [{"q": "1?", "a": "#### 1", "n": 1}, {"q": "2?", "a": "#### 1", "n": 0}]
    path = make(FILTERS.replace("\n", "", 1) + 'gen_prefix: "{{ 1 // n }}"\n', rows)
    result = run("validate", path)
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith("document 1: ")


def test_the_findings_as_json(make: Callable[..., str]) -> None:
    result = run("validate", make(""), "--json")
    (found,) = json.loads(result.stdout)["tasks"]
    assert found["passed"] is False
    assert found["documents"] == 5
    assert found["findings"][0]["level"] == "error"
    assert str(result.exception) == "1 of 1 tasks did not pass: own"


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        (r"The answer is (\-?[0-9\.\,]+).", "The answer is 7."),
        (r"答えは(\-?[0-9\.\,]+)です。", "答えは7です。."),
        (r"(-?[$0-9.,]{2,})|(-?[0-9]+)", None),
    ],
)
def test_a_task_is_tried_in_the_words_of_its_own_patterns(pattern: str, sentence: str | None) -> None:
    from resit.records import FilterChain, FilterStep, ScoringRules

    rules = ScoringRules((FilterChain("x", (FilterStep("regex", {"regex_pattern": pattern}),)),), ())
    said = [text.replace("{}", "7") for text in validation.sentences_of(rules)]
    assert said == ([sentence] if sentence else [])


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("generation_kwargs: {until: 5}\n", "until: expected a string or a list of strings, found 5"),
        ("generation_kwargs: {temprature: 1}\n", "did you mean 'temperature'?"),
        ("test_split: tst\n", "error: data_files has no split 'tst'; it has test"),
    ],
)
def test_what_a_run_would_refuse_is_refused_by_validation(
    make: Callable[..., str], extra: str, said: str
) -> None:
    result = run("validate", make(extra))
    assert isinstance(result.exception, UsageError)
    assert said in f"error: {result.exception}"
