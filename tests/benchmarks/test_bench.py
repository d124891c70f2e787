"""`python -m benchmarks`: what is run with which words, what is kept of it, and the table that shows it."""

from __future__ import annotations

import importlib
import importlib.util
import json
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from resit.cli.checking.tree import found

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    """`benchmarks/__main__.py`, with the scripts' folder in the path as when it runs."""
    before = list(sys.path)
    spec = importlib.util.spec_from_file_location("_bench", BENCHMARKS / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["_bench"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before
    del sys.modules["_bench"]


@pytest.fixture(autouse=True)
def _mirrored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The program sets the variable only where it is not set: none of it outlives a test."""
    monkeypatch.setenv("RESIT_MIRROR", str(tmp_path / "mirror"))


@pytest.fixture
def figures(bench: ModuleType) -> ModuleType:
    return importlib.import_module("_figures")


@pytest.fixture
def catalogue(bench: ModuleType) -> ModuleType:
    return importlib.import_module("_catalogue")


@pytest.fixture
def table(bench: ModuleType) -> ModuleType:
    return importlib.import_module("_table")


def test_every_script_is_in_the_catalogue_and_tells_figures(catalogue: ModuleType) -> None:
    scripts = {script.name for script in BENCHMARKS.glob("[!_]*.py")}
    assert scripts == set(catalogue.CATALOGUE)
    for script in scripts:
        assert "record(" in (BENCHMARKS / script).read_text(encoding="utf-8"), script


def test_every_place_of_the_catalogue_can_be_looked_for(bench: ModuleType, catalogue: ModuleType) -> None:
    for script, benchmark in catalogue.CATALOGUE.items():
        assert benchmark.words("long") is not None, script
        for size in ("usual", "long", "quick"):
            names = catalogue.named(benchmark, benchmark.words(size) or "")
            assert names <= set(bench._places.FINDERS), (script, size)


def test_a_size_falls_back_on_the_usual_words_only_where_it_is_long(catalogue: ModuleType) -> None:
    plain = catalogue.Benchmark("plain", "--all", quick="--few")
    slow = catalogue.Benchmark("slow", None, long="--all", quick=None)
    assert [plain.words(size) for size in ("usual", "long", "quick")] == ["--all", "--all", "--few"]
    assert [slow.words(size) for size in ("usual", "long", "quick")] == [None, "--all", None]


def test_words_name_places_and_leave_out_what_is_missing(catalogue: ModuleType) -> None:
    place = catalogue.Place
    places = {
        "logs": place("LOGS", "/somewhere/with blanks"),
        "lm-eval": place("LM/bin/python", "", "give --lm-eval"),
        "ray": place("ray", "", "install it"),
    }
    words = "--logs {logs} [--lm-eval {lm-eval}] --rounds 3"
    assert catalogue.spoken(words, places) == ["--logs", "/somewhere/with blanks", "--rounds", "3"]
    assert catalogue.spoken(words, places, shown=True) == ["--logs", "LOGS", "--rounds", "3"]
    assert catalogue.left_out(words, places) == ["lm-eval"]
    assert catalogue.missing(catalogue.Benchmark("", words), words, places) == []
    assert catalogue.missing(catalogue.Benchmark("", needs=("ray",)), words, places) == ["ray"]
    assert catalogue.missing(catalogue.Benchmark(""), "--lm-eval {lm-eval}", places) == ["lm-eval"]
    places["lm-eval"] = place("LM/bin/python", "/lm/bin/python")
    assert catalogue.spoken(words, places)[2:4] == ["--lm-eval", "/lm/bin/python"]


@pytest.mark.parametrize(
    ("make", "given", "ratio", "wanted", "reached"),
    [
        ("less", ("s", "lm-eval", 12.0, 5.0), 6.0, ">= 5", True),
        ("less", ("s", "lm-eval", 8.0, 5.0), 4.0, ">= 5", False),
        ("less", ("s", "lm-eval", 8.0), 4.0, "", None),
        ("more", ("1/s", "lm-eval", 4.0, 0.5), 0.5, ">= 0.5", True),
        ("more", ("1/s", "lm-eval", 0.0, 0.5), None, ">= 0.5", False),
        ("at_most", ("s", 1.0), 0.5, "<= 1 s", False),
        ("at_most", ("s", 3.0), 1.5, "<= 3 s", True),
        ("at_least", ("s", 1.0), 2.0, ">= 1 s", True),
        ("at_least", ("s", 3.0), 2 / 3, ">= 3 s", False),
    ],
)
def test_a_ratio_says_how_many_times_better_two_is(
    figures: ModuleType, make: str, given: tuple[Any, ...], ratio: float, wanted: str, reached: bool
) -> None:
    figure = getattr(figures, make)("what", 2.0, *given)
    assert (figure.ratio, figure.wanted, figure.reached) == (ratio, wanted, reached)


def test_time_that_was_saved_has_no_ratio_to_what_may_be_added(figures: ModuleType) -> None:
    figure = figures.at_most("added", -0.5, "%", 3.0)
    assert (figure.ratio, figure.reached) == (None, True)


def test_figures_are_appended_where_the_variable_says(
    figures: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (
        figures.Figure("one", 1.0, "s"),
        figures.less("other", 2.0, "µs", "lm-eval", 3.0, 1.0, "a | b"),
    )
    monkeypatch.delenv(figures.VARIABLE, raising=False)
    figures.record(one)
    assert figures.recorded(tmp_path / "told") == []
    monkeypatch.setenv(figures.VARIABLE, str(tmp_path / "told"))
    figures.record(one)
    figures.record()
    figures.record(other)
    assert figures.recorded(tmp_path / "told") == [one, other]


SCRIPT = """\
import sys
from pathlib import Path
sys.path.insert(0, {benchmarks!r})
from _figures import less, record
print("measuring", *sys.argv[1:])
{body}
"""
TELL = 'record(less("a thing", {value}, "s", "lm-eval", 12.0, 5.0, "a note"))'


@pytest.fixture
def ran(bench: ModuleType, catalogue: ModuleType, tmp_path: Path) -> Callable[..., tuple[list[Any], int]]:
    """Runs scripts with these bodies, each with the words `--fast`."""
    scripts, scratch = tmp_path / "scripts", tmp_path / "scratch"
    scripts.mkdir()

    def run(
        size: str = "usual", results: Path = tmp_path / "results", **bodies: str
    ) -> tuple[list[Any], int]:
        scratch.mkdir(exist_ok=True)
        for name, body in bodies.items():
            text = SCRIPT.format(benchmarks=str(BENCHMARKS), body=body)
            (scripts / f"{name}.py").write_text(text, encoding="utf-8")
        known = {f"{name}.py": catalogue.Benchmark(f"The {name}", "--fast") for name in bodies}
        given = bench._places.Given("", "", scratch)
        found = bench.Bench(results, size, given, known, scripts).run(list(known))
        for file in scratch.iterdir():
            file.unlink()
        return found

    return run


def test_a_script_s_figures_are_kept_with_the_machine_s_facts(
    ran: Callable[..., Any], bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(bench.POLICY, "passive")
    _, failed = ran(first=TELL.format(value=2.0), second=TELL.format(value=4.0))
    assert failed == 0
    kept = json.loads((tmp_path / "results" / "first.json").read_text(encoding="utf-8"))
    assert kept["command"] == "OMP_WAIT_POLICY=passive python benchmarks/first.py --fast"
    assert (kept["script"], kept["title"], kept["status"], kept["without"]) == (
        "first.py",
        "The first",
        0,
        [],
    )
    assert kept["machine"]["python"] == platform.python_version()
    assert kept["figures"][0]["ratio"] == 6.0
    shown = (tmp_path / "results" / "README.md").read_text(encoding="utf-8")
    assert "| The first (`first.py`)" in shown
    assert "Machine 1: " in shown
    assert "sieval is not on the package index" in shown


def test_nothing_private_is_kept(ran: Callable[..., Any], tmp_path: Path) -> None:
    ran(first=TELL.format(value=2.0))
    for file in (tmp_path / "results").iterdir():
        text = file.read_text(encoding="utf-8")
        assert list(found(text)) == []
        for private in (str(tmp_path), sys.prefix, platform.node()):
            assert private not in text, file.name


def test_a_run_replaces_its_own_file_and_a_failure_none(ran: Callable[..., Any], tmp_path: Path) -> None:
    ran(first=TELL.format(value=2.0), second=TELL.format(value=4.0))
    results = tmp_path / "results"
    other = (results / "second.json").read_bytes()
    _, failed = ran(first=TELL.format(value=3.0))
    assert failed == 0
    assert json.loads((results / "first.json").read_text(encoding="utf-8"))["figures"][0]["ratio"] == 4.0
    assert (results / "second.json").read_bytes() == other
    _, failed = ran(first=TELL.format(value=1.0), second="sys.exit('no such thing')")
    assert failed == 1
    assert (results / "second.json").read_bytes() == other


def test_a_script_that_misses_its_target_is_kept_and_named(
    ran: Callable[..., Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _, failed = ran(first=TELL.format(value=6.0) + "\nsys.exit(1)")
    assert failed == 1
    assert "first.py ended with status 1" in capfd.readouterr().out
    shown = (tmp_path / "results" / "README.md").read_text(encoding="utf-8")
    assert "**no**" in shown
    assert "(ended with status 1)" in shown


def test_a_quick_look_keeps_nothing(ran: Callable[..., Any], catalogue: ModuleType, tmp_path: Path) -> None:
    results, failed = ran("quick", first=TELL.format(value=2.0))
    assert (len(results), failed) == (1, 0)
    assert not (tmp_path / "results").exists()


def test_what_is_missing_is_said_in_a_line(
    bench: ModuleType, catalogue: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setitem(
        bench._places.FINDERS, "logs", lambda given: catalogue.Place("LOGS", "", "set RESIT_SHARED")
    )
    body = SCRIPT.format(benchmarks=str(BENCHMARKS), body=TELL.format(value=2.0))
    for name in ("needs", "does", "long"):
        (tmp_path / f"{name}.py").write_text(body, encoding="utf-8")
    known = {
        "needs.py": catalogue.Benchmark("", "--logs {logs}"),
        "does.py": catalogue.Benchmark("", "[--lm-eval {lm-eval}]"),
        "long.py": catalogue.Benchmark("", None, long=""),
    }
    given = bench._places.Given("", "", tmp_path)
    results, failed = bench.Bench(tmp_path / "results", "usual", given, known, tmp_path).run(list(known))
    assert (len(results), failed) == (1, 0)
    assert results[0]["without"] == ["lm-eval"]
    said = [line for line in capfd.readouterr().out.splitlines() if line]
    assert said == [
        "== needs.py",
        "skipped: needs logs (set RESIT_SHARED)",
        "== does.py",
        "without lm-eval: give --lm-eval PYTHON, of an environment with lm_eval[hf]==0.4.13",
        "measuring",
        "== long.py",
        "skipped: only with --long",
    ]


def test_an_unwritable_folder_stops_before_anything_is_run(
    bench: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    status = bench.main(["--only", "maj_at_k", "--results", str(tmp_path / "file" / "results")])
    said = capfd.readouterr()
    assert status == 1
    assert said.out == ""
    assert said.err.startswith("cannot write to the folder of results: ")


def test_what_cannot_be_kept_counts_as_failed(
    ran: Callable[..., Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    results, failed = ran(results=tmp_path / "file" / "results", first=TELL.format(value=2.0))
    assert (len(results), failed) == (1, 1)
    assert "cannot keep what first.py found" in capfd.readouterr().out


RESULT = {
    "script": "start_up.py", "title": "Short commands", "command": "python benchmarks/start_up.py",
    "date": "2026-01-02 03:04 UTC", "commit": "abc1234+", "seconds": 90.0, "status": 0, "load_before": 0.5,
    "machine": {"processor": "A chip", "cores": 2, "memory_gib": 7.8, "system": "Linux 6.1",
                "python": "3.11.7"},
    "versions": {"python": {"torch": "2.13.0"}, "LM/bin/python": {"lm_eval": "0.4.13"}}, "without": [],
    "figures": [
        {"what": "resit --help", "value": 0.1634, "unit": "s", "against": "the target", "other": 0.35,
         "ratio": 2.142, "wanted": "<= 0.35 s", "reached": True, "note": ""},
        {"what": "rate", "value": 28299.4, "unit": "1/s", "against": "", "other": None, "ratio": None,
         "wanted": "", "reached": None, "note": "a | b"},
    ],
}  # fmt: skip


def test_the_page_is_made_of_the_files(
    bench: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    viewer = {**RESULT, "script": "viewer.py", "title": "The viewer", "figures": RESULT["figures"][:1]}
    for result in (viewer, RESULT):
        (tmp_path / f"{Path(result['script']).stem}.json").write_text(json.dumps(result), encoding="utf-8")
    (tmp_path / "roofline.json").write_text('{"figures": [', encoding="utf-8")
    assert bench.main(["--table", "--results", str(tmp_path)]) == 0
    said = capfd.readouterr().out
    assert "roofline.json cannot be read" in said
    assert "`python -m benchmarks --only roofline.py` again" in said
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    lines = [[cell.strip() for cell in line.split(" | ")] for line in page.splitlines() if line[:1] == "|"]
    assert lines[0][1:5] == ["what", "Resit", "against", "theirs"]
    assert lines[2][0] == "| Short commands (`start_up.py`)"
    assert lines[2][1:8] == ["resit --help", "0.163 s", "the target", "0.35 s", "2.14", "<= 0.35 s", "yes"]
    assert lines[3][1:3] == ["rate", "28,299 1/s"]
    assert lines[3][8] == "a \\| b |"
    assert lines[4][0] == "| The viewer (`viewer.py`)"
    assert "Machine 1: A chip, 2 cores, 7.8 GiB, Linux 6.1, Python 3.11.7." in page
    assert "Machine 2" not in page
    assert "torch 2.13.0; beside it lm_eval 0.4.13" in page
    assert "`roofline.py`" in page.partition("Not measured yet: ")[2]
    assert all(line in page for line in said.splitlines() if line.startswith("|"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "start_up,nothing"], "no benchmark nothing.py; there are start_up.py"),
        (["--lm-eval", "/nowhere/python"], "/nowhere/python is no program"),
        (["--quick", "--long"], "not allowed with argument"),
    ],
)
def test_options_that_make_no_sense(
    bench: ModuleType, capfd: pytest.CaptureFixture[str], words: Sequence[str], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        bench.main(words)
    assert ended.value.code == 2
    assert said in capfd.readouterr().err


def test_a_real_script_in_a_small_size(bench: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--quick", "--only", "maj_at_k"]) == 0
    said = capfd.readouterr().out
    assert "| Exact votes (`maj_at_k.py`)" in said
    assert "all that could run ran" in said
