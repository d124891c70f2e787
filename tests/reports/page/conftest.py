"""Run folders with whatever answers a test needs, and a real browser to open their pages in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from resit.cli.reporting import write_report
from resit.cli.scoring import score_folder
from resit.runs.imports import from_jsonl
from resit.runs.imports.writer import File, Origin, Part, import_run
from resit.tasks import load

TASK = r"""
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
doc_to_text: "Question: {{{{question}}}}\nAnswer:"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["Question:"], max_gen_toks: 64}}
repeats: {repeats}
filter_list:
  - name: strict-match
    filter:
      - {{function: regex, regex_pattern: "#### (\\-?[0-9\\.\\,]+)"}}
      - {{function: take_first}}
  - name: flexible-extract
    filter:
      - {{function: regex, group_select: -1, regex_pattern: "(-?[$0-9.,]{{2,}})|(-?[0-9]+)"}}
      - {{function: take_first}}
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    regexes_to_ignore: [",", "(?s).*#### ", "\\.$"]
resit: {{headline: "exact_match,strict-match"}}
"""

Line = str | Mapping[str, Any]
"""A response, or the keys of a line of `resit import jsonl`."""


def question(i: int) -> str:
    return f"Basket {i} holds {i} pears and {i} plums. How many pieces of fruit are in it?"


@pytest.fixture
def run_of(tmp_path: Path) -> Callable[..., Path]:
    """Write a scored run of questions 0, 1, … (`i + i` fruits) that were answered so."""

    def write(
        name: str,
        answers: Sequence[Line],
        *,
        task: str = "fruit",
        model: str = "",
        questions: Sequence[str] = (),
        repeats: int = 1,
    ) -> Path:
        asked = [*questions, *(question(i) for i in range(len(questions), len(answers)))]
        data, lines = tmp_path / f"{task}.rows.jsonl", tmp_path / f"{name}.{task}.jsonl"
        rows = [
            {"question": text, "answer": f"{i} + {i} = {2 * i}\n#### {2 * i}"} for i, text in enumerate(asked)
        ]
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        yaml = tmp_path / f"{task}.yaml"
        yaml.write_text(TASK.format(name=task, data=data, repeats=repeats), encoding="utf-8")
        given = [{"doc_id": i, **_line(answer, asked[i])} for i, answer in enumerate(answers)]
        lines.write_text("".join(json.dumps(line) + "\n" for line in given), encoding="utf-8")
        loaded = load([str(yaml)])[0]
        part = Part(loaded, [File(lines, from_jsonl.entries(lines))])
        folder = import_run(tmp_path / name, Origin("jsonl", model or name), [part])
        score_folder(folder, {task: loaded.rules}, processes=1)
        return folder.path

    return write


def _line(answer: Line, asked: str) -> dict[str, Any]:
    own = {"response": answer} if isinstance(answer, str) else dict(answer)
    return {"finish_reason": "stop", "prompt": f"Question: {asked}\nAnswer:", **own}


FIRST: Sequence[Line] = (
    "None at all. #### 0",
    "It holds 2 of them. The answer is 2.",  # right, but not in the form that strict-match asks for
    "Four and one is five. #### 5",  # wrong
    {"response": "Let me count the fruit: 3 and 3 and", "finish_reason": "length"},
    {"error": "503 after five attempts"},
    "I cannot say.",  # no rule finds an answer
    "Six and six is twelve. #### 12",
    "Seven and seven is fourteen. #### 14",
    "The answer is 16.",
    "Nine and nine is eighteen. #### 18",
)
"""Ten answers: 0, 6, 7, 9 right by every rule; 1 and 8 not by strict-match; 4 is not measured."""

SECOND: Sequence[Line] = (
    "None at all. #### 0",
    "#### 2",  # right here alone, by strict-match
    "#### 4",  # right here alone
    "#### 6",
    "#### 8",
    "#### 10",
    "#### 13",  # right in FIRST alone
    "#### 14",
    "#### 16",
    "#### 18",
)


@pytest.fixture
def first_run(run_of: Callable[..., Path]) -> Path:
    return run_of("first", FIRST)


@pytest.fixture
def second_run(run_of: Callable[..., Path]) -> Path:
    return run_of("second", SECOND)


@dataclass
class Opened:
    """A page in the browser, and what it complained of and asked for."""

    page: Any
    file: Path
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def words(self, selector: str) -> list[str]:
        return [text.strip() for text in self.page.locator(selector).all_inner_texts()]

    def listed(self) -> list[int]:
        """The doc_ids of the rows in sight, from the top."""
        rows = self.page.locator("#rows .row")
        places = [(row.get_attribute("aria-posinset"), row.get_attribute("data-id")) for row in rows.all()]
        return [int(name.rpartition("/")[2]) for _, name in sorted((int(at), name) for at, name in places)]

    def shows(self, expected: Sequence[int]) -> None:
        """Wait until the list holds just these questions, in this order."""
        wanted = json.dumps([f"/{number}" for number in expected])
        self.page.wait_for_function(
            f"""() => {{
                const rows = [...document.querySelectorAll('#rows .row')];
                rows.sort((a, b) => a.ariaPosInSet - b.ariaPosInSet);
                const ids = rows.map((row) => row.dataset.id.slice(row.dataset.id.lastIndexOf('/')));
                return JSON.stringify(ids) === JSON.stringify({wanted});
            }}""",
            timeout=60000,
        )

    def detail(self, number: int) -> None:
        """Wait until this question is open."""
        self.page.wait_for_function(
            f"() => document.getElementById('position').textContent.startsWith('#{number} ·')", timeout=60000
        )


@pytest.fixture
def report_of(tmp_path: Path) -> Callable[..., Path]:
    """Write the report of some runs."""

    def write(*runs: Path) -> Path:
        return write_report(runs, tmp_path / "report.html")[0]

    return write


@pytest.fixture
def opened(chromium: Any, report_of: Callable[..., Path]) -> Iterator[Callable[..., Opened]]:
    """Open the report of some runs; at the end no page has complained or asked for anything but itself."""
    contexts, pages = [], []

    def open_report(*runs: Path, width: int = 1300, height: int = 900, **options: Any) -> Opened:
        file = report_of(*runs)
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        found = Opened(context.new_page(), file)
        pages.append(found)
        found.page.on("console", lambda message: found.complaints.append(f"{message.type}: {message.text}"))
        found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.goto(file.as_uri())
        found.page.wait_for_selector("html[data-ready]", timeout=60000)
        return found

    yield open_report
    for found in pages:
        assert found.complaints == []
        assert {url.partition("#")[0] for url in found.requests} == {found.file.as_uri()}
    for context in contexts:
        context.close()
