"""What the viewer answers: table, rows, samples, comparisons, gaps; and what it does with what is broken."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resit import jsonl
from resit.errors import IdentityMismatch
from resit.reports.comparison import compare_runs
from resit.reports.gaps import gap_of_runs
from resit.reports.scores import read_scores
from resit.runs.folder import question_to
from resit.runs.journal import to_line

from .conftest import EXEMPLARS, FIRST, SECOND, generation, question, write_lines

HOSTILE = [
    "<script>alert(1)</script> #### 0",
    "</script><img src=x onerror=alert(1)> {{ 7 * 7 }} ${7*7} #### 2",
    "\x1b[31mred\x1b[0m \x00 \u202eright to left\u202c #### 4",
    "\ud800 lone \u2028\u2029\x85 #### 6",
    "x" * 1_000_000 + " #### 8",
    "#### 10\r\n\r\n" + "\n" * 5000,
]


def test_the_table_has_a_row_for_each_task_of_each_run(
    client_of: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    run_folder("b", FIRST)
    run_folder("deep/er/a", SECOND)
    asking = client_of()
    asking.ids()
    rows = asking.json("runs")["rows"]
    assert [(row["name"], row["task"], row["score"], row["samples"]) for row in rows] == [
        ("b", "fruit", 0.4, 5),
        ("deep/er/a", "fruit", 4 / 6, 6),
    ]
    assert [row["errored"] for row in rows] == [1, 0]
    assert [row["rule"] for row in rows] == ["strict-match"] * 2


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, ["a", "b", "c"]),
        ({"order": "descending"}, ["c", "b", "a"]),
        ({"sort": "score"}, ["b", "a", "c"]),
        ({"sort": "score", "order": "descending"}, ["a", "b", "c"]),
        ({"search": "B"}, ["b"]),
        ({"search": "fruit SCORED"}, ["c"]),
        ({"search": "not scored"}, ["c"]),
        ({"search": "no such"}, []),
        ({"offset": 1, "count": 1}, ["b"]),
        ({"offset": 10}, []),
    ],
)
def test_the_table_is_searched_and_sorted(
    client_of: Callable[..., Any], run_folder: Callable[..., Path], query: Any, names: list[str]
) -> None:
    run_folder("a", SECOND)
    run_folder("b", FIRST)
    run_folder("c", SECOND, scored=False)
    asking = client_of()
    asking.ids()
    assert [row["name"] for row in asking.json("runs", **query)["rows"]] == names


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ({"show": "all"}, [0, 1, 2, 3, 4, 5]),
        ({"show": "wrong"}, [1, 2, 4]),
        ({"show": "right"}, [0, 5]),
        ({"show": "disagree"}, [1]),
        ({"show": "unextracted"}, [1, 4]),
        ({"show": "errored"}, [3]),
        ({"show": "truncated"}, []),
        ({"show": "flipped"}, []),
        ({"show": "wrong", "rule": "robust"}, [2, 4]),
        ({"search": "BASKET 2 "}, [2]),
        ({"search": "#5"}, [5]),
        ({"search": "the answer"}, [1]),
        ({"search": "the answer", "show": "right"}, []),
        ({"sort": "length"}, [1, 2, 4, 5, 0, 3]),
        ({"offset": 4, "count": 1}, [4]),
    ],
)
def test_rows_are_filtered_searched_and_sorted(
    client_of: Callable[..., Any], run_folder: Callable[..., Path], query: Any, numbers: list[int]
) -> None:
    run_folder("first", FIRST)
    asking = client_of()
    assert asking.listed(asking.ids()["first"], **query) == numbers


def test_two_runs_show_flips_first(client_of: Callable[..., Any], run_folder: Callable[..., Path]) -> None:
    run_folder("first", FIRST)
    run_folder("second", SECOND)
    asking = client_of()
    both = ",".join(asking.ids().values())
    query = {"run": 0, "against": 1, "show": "flipped", "sort": "change"}
    part = asking.rows(both, **query)
    assert [row["doc_id"] for row in part["rows"]] == [1, 2, 5]
    assert part["counts"]["flipped"] == 3
    assert [len(row["sides"]) for row in part["rows"]] == [2, 2, 2]
    assert asking.listed(both, **query, search="the answer is") == [1]  # in the other run's words, too
    assert asking.listed(both, **{**query, "run": 1, "against": 0}, search="the answer is") == [1]


def test_a_sample_is_shown_with_prompt_verdicts_and_votes(
    client_of: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    run = run_folder("votes", [["#### 0", "It is 0.", "#### 3"], ["#### 2"] * 3])
    asking = client_of()
    detail = asking.json("sample", runs=asking.ids()["votes"], id="fruit/0")
    (side,) = detail["sides"]
    assert side["prompt"]["shared"] == EXEMPLARS
    assert side["prompt"]["own"].startswith("Question: Basket 0")
    assert [sample["text"] for sample in side["samples"]] == ["#### 0", "It is 0.", "#### 3"]
    scores = [score for score in read_scores(run) if score.doc_id == 0]
    for sample, score in zip(side["samples"], scores, strict=True):
        found = {
            verdict["rule"]: (verdict["extracted"], verdict["correct"]) for verdict in sample["verdicts"]
        }
        assert found == {rule: (v.extracted, v.correct) for rule, v in score.verdicts.items()}
    assert side["samples"][0]["verdicts"][0]["span"] == [5, 6]
    assert [(vote["answer"], vote["count"]) for vote in side["votes"]["robust"]] == [("0", 2), ("3", 1)]


def test_the_summary_is_that_of_the_results(
    client_of: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    folder = run_folder("first", FIRST)
    asking = client_of()
    summary = asking.json("summary", runs=asking.ids()["first"])
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    (task,) = summary["tasks"]
    (standing,) = task["standings"]
    rules = results["resit"]["tasks"]["fruit"]["rules"]
    assert {figure["rule"]: figure["score"] for figure in standing["figures"]} == {
        rule: about["score"] for rule, about in rules.items()
    }
    assert standing["counts"]["errored"] == 1
    assert (task["rows"], task["repeats"], summary["live"]) == (6, 1, False)
    for chart in task["charts"]:
        assert asking.json("chart", runs=asking.ids()["first"], id=chart)["data"]["values"]


def test_a_run_that_is_not_scored_is_graded_here_as_score_would(
    client_of: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    run_folder("scored", FIRST)
    folder = run_folder("bare", FIRST, scored=False)
    asking = client_of()
    ids = asking.ids()
    query = {"task": "fruit", "rule": "robust", "show": "all"}
    deadline = time.monotonic() + 60
    while True:
        part = asking.json("rows", runs=ids["bare"], **query)
        done = sum(row["sides"][0]["samples"] for row in part["rows"])
        if done == 5 or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    assert part["rows"] == asking.rows(ids["scored"], **query)["rows"]
    summary = asking.json("summary", runs=ids["bare"])
    assert summary["notes"] == [f"bare: 5 of 6 samples have no scores on file: resit score {folder}"]
    scored = asking.json("summary", runs=ids["scored"])
    figures = [run["tasks"][0]["standings"][0]["figures"] for run in (summary, scored)]
    assert [{**figure, "quoted": None} for figure in figures[0]] == [
        {**figure, "quoted": None} for figure in figures[1]
    ]
    shown = [asking.json("sample", runs=ids[name], id="fruit/1")["sides"] for name in ("bare", "scored")]
    assert shown[0] == shown[1]
    assert not (folder / "scores.jsonl").exists()


def test_rules_that_never_end_cost_the_server_nothing(
    client_of: Callable[..., Any], run_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resit.reports.viewer.open_runs.SHOWING_SECONDS", 2.0)
    monkeypatch.setattr("resit.reports.viewer.open_runs.GRADING_SECONDS", 2.0)
    folder = run_folder("evil", [["a" * 64]], scored=False)
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    rules = record["tasks"]["fruit"]["rules"]
    rules["filters"][0]["filter"][0]["regex_pattern"] = "(a+)+b"
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    asking = client_of()
    run = asking.ids()["evil"]
    detail = asking.json("sample", runs=run, id="fruit/0")
    assert detail["sides"][0]["samples"][0]["text"] == "a" * 64
    deadline = time.monotonic() + 60
    while not (notes := [n for n in asking.json("summary", runs=run)["notes"] if "cannot be graded" in n]):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert notes == ["evil: its samples cannot be graded here: not done after 2 seconds, so it was stopped"]
    assert asking.json("runs")["rows"][0]["name"] == "evil"


def ticked(ids: dict[str, str], first: str, second: str, task: str = "fruit", other: str = "fruit") -> Any:
    return {"first": ids[first], "first_task": task, "second": ids[second], "second_task": other}


def test_comparison_and_gap_say_what_the_commands_say(
    client_of: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    first, second = run_folder("first", FIRST, model="m"), run_folder("second", SECOND, model="m")
    veg = run_folder("veg", SECOND, task="veg", model="m")
    asking = client_of()
    ids = asking.ids()
    compared = asking.json("compare", **ticked(ids, "first", "second"))
    expected = compare_runs(first, second)
    assert compared["verdict"] == expected.verdict
    assert {key: compared[key] for key in expected.as_json()} == json.loads(json.dumps(expected.as_json()))
    gap = asking.json("gap", **ticked(ids, "first", "veg", other="veg"))
    told = gap_of_runs(first, veg)
    assert gap["verdict"] == told.verdict
    assert gap["difference"] == pytest.approx(told.result.difference)


def test_what_the_commands_refuse_is_refused_with_the_reason(
    client_of: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    first = run_folder("first", FIRST, num_fewshot=5)
    second = run_folder("second", SECOND, num_fewshot=0)
    run_folder("bare", SECOND, scored=False)
    asking = client_of()
    ids = asking.ids()
    for path, call in (("compare", compare_runs), ("gap", gap_of_runs)):
        response = asking.get(path, **ticked(ids, "first", "second"))
        with pytest.raises(IdentityMismatch) as refused:
            call(first, second)
        assert response.status_code == 409
        assert response.json() == {"error": str(refused.value), "hint": refused.value.hint}
    assert asking.get("compare", **ticked(ids, "first", "first")).status_code == 400
    assert asking.get("gap", **ticked(ids, "first", "second", other="nuts")).json()["error"] == (
        "second: task 'nuts' has no verdicts of the rule 'robust'"
    )


def test_hostile_texts_arrive_as_they_are(
    client_of: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    run_folder("hostile", [[text] for text in HOSTILE], words=[f"{text[:60]} pears?" for text in HOSTILE])
    asking = client_of()
    run = asking.ids()["hostile"]
    for number, text in enumerate(HOSTILE):
        response = asking.get("sample", runs=run, id=f"fruit/{number}")
        assert response.headers["content-type"] == "application/json"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.content.isascii()
        assert json.loads(response.content)["sides"][0]["samples"][0]["text"] == text
    page = asking.http.get(f"/report?runs={run}")
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert "<img src=x" not in page.text


ODD_QUESTION = b'{"task":"fruit","doc_id":0,"doc_hash":"%b","target":5,"doc":7,"messages":[3]}\n' % (
    b"0" * 64
)
Broken = Callable[[Path], object]


def holds(name: str, content: bytes) -> Broken:
    return lambda run: (run / name).write_bytes(content)


def is_cut(name: str, size: int) -> Broken:
    return lambda run: os.truncate(run / name, size)


def is_gone(name: str) -> Broken:
    return lambda run: (run / name).unlink()


def leads_to(name: str, target: str) -> Broken:
    return lambda run: ((run / name).unlink(), (run / name).symlink_to(target))


BROKEN: dict[str, Broken] = {
    "run.json is no JSON": holds("run.json", b"{"),
    "run.json is a list": holds("run.json", b"[]"),
    "run.json has odd parts": holds(
        "run.json", b'{"identity": 5, "plan": [], "tasks": {"fruit": 7}, "model": null}'
    ),
    "run.json is gone": is_gone("run.json"),
    "results.json is no JSON": holds("results.json", b"\xff\x00"),
    "results.json has odd parts": holds(
        "results.json",
        b'{"results": [], "resit": {"tasks": {"fruit": {"rules": {"a": {}}, "samples": 4}}}}',
    ),
    "results.json is gone": is_gone("results.json"),
    "scores.jsonl is cut": is_cut("scores.jsonl", 700),
    "scores.jsonl is garbage": holds("scores.jsonl", b"{}\n[]\n\xff\n" * 50),
    "scores.jsonl is gone": is_gone("scores.jsonl"),
    "prompts.jsonl is cut": is_cut("prompts.jsonl", 500),
    "prompts.jsonl is gone": is_gone("prompts.jsonl"),
    "prompts.jsonl has odd parts": holds("prompts.jsonl", ODD_QUESTION),
    "generations.jsonl is cut": is_cut("generations.jsonl", 300),
    "generations.jsonl is empty": is_cut("generations.jsonl", 0),
    "generations.jsonl is gone": is_gone("generations.jsonl"),
    "generations.jsonl is a folder": lambda run: (
        (run / "generations.jsonl").unlink(),
        (run / "generations.jsonl").mkdir(),
    ),
    "scores.jsonl is a pipe": lambda run: (
        (run / "scores.jsonl").unlink(),
        os.mkfifo(run / "scores.jsonl"),
    ),
    "scores.jsonl leads elsewhere": leads_to("scores.jsonl", "/etc/passwd"),
    "results.json leads elsewhere": leads_to("results.json", "/etc/passwd"),
    "run.json never ends": leads_to("run.json", "/dev/zero"),
    "the writer's note is odd": holds(".writer.json", b'{"pid": "x"}'),
}


@pytest.mark.parametrize("how", BROKEN)
def test_what_is_broken_is_shown_and_breaks_nothing(
    client_of: Callable[..., Any], run_folder: Callable[..., Path], how: str
) -> None:
    BROKEN[how](run_folder("broken", FIRST))
    run_folder("whole", SECOND)
    asking = client_of()
    ids = asking.ids()
    run = ids["broken"]
    for path, query in (
        ("summary", {}),
        ("top", {}),
        ("rows", {"task": "fruit", "rule": "robust", "show": "wrong", "search": "four"}),
        ("sample", {"id": "fruit/0"}),
        ("progress", {}),
        ("chart", {"id": "fruit-scores"}),
        ("compare", ticked(ids, "broken", "whole")),
        ("gap", ticked(ids, "whole", "broken")),
    ):
        response = asking.get(path, runs=run, **query)
        assert response.status_code in (200, 400, 404), (path, response.text)
        assert "root:" not in response.text
        if response.status_code != 200:
            assert response.json()["error"]
    assert asking.http.get(f"/report?runs={run}").status_code in (200, 400)
    assert asking.listed(ids["whole"]) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("how", "state", "problem"),
    [
        ("run.json is no JSON", "unreadable", "run.json is damaged: "),
        ("run.json is gone", "unreadable", "it has no run.json, so nobody can say what was asked"),
        ("results.json is no JSON", "unreadable", "results.json is damaged: "),
        ("results.json has odd parts", "unreadable", "results.json is not what was expected: "),
        (
            "results.json leads elsewhere",
            "unreadable",
            "results.json cannot be opened: it is a symbolic link",
        ),
        ("results.json is gone", "not scored", ""),
        ("scores.jsonl is garbage", "complete", ""),
    ],
)
def test_the_table_says_what_is_wrong_and_opens_what_can_be_read(
    client_of: Callable[..., Any], run_folder: Callable[..., Path], how: str, state: str, problem: str
) -> None:
    BROKEN[how](run_folder("broken", FIRST))
    asking = client_of()
    run = asking.ids()["broken"]
    (row,) = asking.json("runs")["rows"]
    assert (row["state"], row["closed"]) == (state, False)
    assert row["problem"].startswith(problem)
    assert bool(row["problem"]) == bool(problem)
    assert asking.listed(run, rule="robust") == [0, 1, 2, 3, 4, 5]


def test_links_and_loops_are_named_and_not_followed(
    client_of: Callable[..., Any], run_folder: Callable[..., Path], tmp_path: Path
) -> None:
    inside = run_folder("runs/inside", FIRST, root=tmp_path)
    run_folder("outside", SECOND, root=tmp_path)
    root = inside.parent
    (root / "link").symlink_to(tmp_path / "outside", target_is_directory=True)
    (root / "loop").symlink_to(root, target_is_directory=True)
    (root / "dangling").symlink_to(tmp_path / "nowhere")
    asking = client_of(root)
    rows = {row["name"]: row for row in (asking.ids(), asking.json("runs"))[1]["rows"]}
    assert set(rows) == {"inside", "link", "loop"}
    assert rows["link"]["problem"] == "a symbolic link, which is not followed: open its target itself"
    assert asking.get("summary", runs=rows["link"]["id"]).status_code == 400


def test_a_folder_that_becomes_a_link_is_not_followed(
    client_of: Callable[..., Any], run_folder: Callable[..., Path], tmp_path: Path
) -> None:
    run = run_folder("runs/one", FIRST, root=tmp_path)
    other = run_folder("outside", SECOND, root=tmp_path)
    asking = client_of(run.parent)
    ids = asking.ids()
    run.rename(tmp_path / "away")
    run.symlink_to(other, target_is_directory=True)
    response = asking.get("sample", runs=ids["one"], id="fruit/1")
    assert response.status_code == 400
    assert "#### 2" not in response.text


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/%2e%2e/access.py",
        "/static//etc/passwd",
        "/static/runs.html",
        "/api/sample?runs=../../etc&id=passwd",
        "/api/summary?runs=%2e%2e%2f",
        "/report?runs=/etc/passwd",
        "/api/nothing",
        "/\x00",
    ],
)
def test_no_address_leads_out(
    client_of: Callable[..., Any], run_folder: Callable[..., Path], path: str
) -> None:
    run_folder("one", FIRST)
    response = client_of().http.get(path.replace("\x00", "%00"))
    assert response.status_code == 404
    assert "root:" not in response.text
    assert "import" not in response.text


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("rows", {"search": "x" * 1001}),
        ("rows", {"show": "everything"}),
        ("rows", {"sort": "name"}),
        ("rows", {"run": "-1"}),
        ("rows", {"run": "7"}),
        ("rows", {"against": "5"}),
        ("rows", {"offset": "1e9"}),
        ("rows", {"count": "²"}),
        ("rows", {"task": "nuts"}),
        ("summary", {"runs": ""}),
        ("summary", {"runs": ",".join("abcdefghij")}),
        ("sample", {"id": "fruit/99"}),
        ("sample", {"id": "x" * 1001}),
        ("runs", {"sort": "color"}),
        ("runs", {"search": "y" * 2000}),
    ],
)
def test_odd_questions_are_refused_with_the_reason(
    client_of: Callable[..., Any], run_folder: Callable[..., Path], path: str, query: dict[str, str]
) -> None:
    run_folder("one", FIRST)
    asking = client_of()
    whole = {"runs": asking.ids()["one"], "task": "fruit", "rule": "robust", "show": "all", **query}
    response = asking.get(path, **whole)
    assert response.status_code in (400, 404)
    assert len(response.json()["error"]) < 200


def test_a_count_beyond_the_limit_gives_as_many_as_allowed(
    client_of: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    run_folder("many", [[f"#### {2 * n}"] for n in range(600)])
    asking = client_of()
    assert len(asking.rows(asking.ids()["many"], count=10**9)["rows"]) == 500


def test_a_run_that_is_removed_while_it_is_open_says_so(
    client_of: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    folder = run_folder("one", FIRST)
    asking = client_of()
    run = asking.ids()["one"]
    assert asking.listed(run) == [0, 1, 2, 3, 4, 5]
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    response = asking.get("rows", runs=run, task="fruit", rule="robust")
    assert (response.status_code, response.json()["error"]) == (400, "one holds no samples (any more)")
    assert asking.ids() == {}
    assert asking.get("summary", runs=run).status_code == 404


def test_scores_that_are_replaced_again_and_again_are_whole_in_every_answer(
    client_of: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    folder = run_folder("one", [[f"#### {2 * n}"] for n in range(300)])
    right = (folder / "scores.jsonl").read_bytes()
    wrong = right.replace(b'"correct":1.0', b'"correct":0.0')
    asking = client_of()
    run = asking.ids()["one"]
    stop = threading.Event()

    def replace() -> None:
        while not stop.is_set():
            for content in (wrong, right):
                (folder / "part").write_bytes(content)
                (folder / "part").replace(folder / "scores.jsonl")

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        seen = {asking.rows(run)["counts"]["right"] for _ in range(40)}
    finally:
        stop.set()
        thread.join()
    assert seen <= {0, 300}
    assert asking.rows(run)["counts"]["right"] == 300


@pytest.mark.skipif(os.name == "nt", reason="file names are text there")
def test_a_name_that_is_no_text_is_shown_and_opened(
    client_of: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    folder = run_folder("plain", FIRST)
    os.rename(folder, os.fsencode(folder.parent) + b"/caf\xe9")
    asking = client_of()
    ids = asking.ids()
    assert list(ids) == ["caf\\xe9"]
    assert asking.listed(ids["caf\\xe9"]) == [0, 1, 2, 3, 4, 5]
    assert asking.http.get(f"/report?runs={ids['caf' + chr(92) + 'xe9']}").status_code == 200
    assert asking.json("summary", runs=ids["caf\\xe9"])["runs"][0]["name"]


def test_one_run_can_be_opened_itself(client_of: Callable[..., Any], run_folder: Callable[..., Path]) -> None:
    folder = run_folder("one", FIRST)
    asking = client_of(folder)
    assert asking.listed(asking.ids()["one"]) == [0, 1, 2, 3, 4, 5]


def test_samples_that_come_while_the_run_is_open_are_listed(
    client_of: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    folder = run_folder("growing", FIRST, planned=8)
    asking = client_of()
    run = asking.ids()["growing"]
    before = asking.json("progress", runs=run)
    write_lines(folder / "prompts.jsonl", [question_to(question(6))], "ab")
    line = jsonl.encode(to_line(generation(6, 0, "#### 12")))
    with (folder / "generations.jsonl").open("ab") as file:
        file.write(line[:40])
        file.flush()
        assert asking.json("progress", runs=run)["runs"][0]["samples"] == 5
        file.write(line[40:] + b"\n")
    after = asking.json("progress", runs=run)
    assert (before["runs"][0]["samples"], after["runs"][0]["samples"]) == (5, 6)
    until = time.monotonic() + 30
    while asking.json("progress", runs=run)["runs"][0]["pending"] and time.monotonic() < until:
        time.sleep(0.05)
    counts = asking.json("summary", runs=run)["tasks"][0]["standings"][0][
        "counts"
    ]  # not those of results.json
    assert (counts["samples"], counts["planned"], counts["missing"]) == (6, 8, 1)
    assert after["version"] != before["version"]
    assert asking.listed(run) == [0, 1, 2, 3, 4, 5, 6]


def test_only_looking_changes_nothing(client_of: Callable[..., Any], run_folder: Callable[..., Path]) -> None:
    folder = run_folder("one", FIRST, scored=False)
    before = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}
    asking = client_of()
    run = asking.ids()["one"]
    asking.json("summary", runs=run)
    asking.json("sample", runs=run, id="fruit/0")
    assert {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()} == before


def test_numbers_that_json_lacks_are_null(
    client_of: Callable[..., Any], run_folder: Callable[..., Path]
) -> None:
    folder = run_folder("odd", FIRST)
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    results["resit"]["tasks"]["fruit"]["rules"]["robust"]["score"] = float("nan")
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    asking = client_of()
    rows = (asking.ids(), asking.get("runs"))[1]
    assert "NaN" not in rows.text
    write_lines(folder / "generations.jsonl", [], "ab")
