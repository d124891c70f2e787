"""`resit check`: each check finds a defect that is planted, and tells what it could not look at."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml

from resit import assets, tasks
from resit.assets.catalogue import Asset, File
from resit.cli import checking
from resit.cli.checking import catalogue, commands, examples, links, records, texts, tree
from resit.cli.checking import tasks as task_checks
from resit.cli.checking.ledger import Check, Ledger, Place, Unchecked
from resit.errors import AssetError, UsageError
from resit.tasks import aligned

ROOT = Path(__file__).parents[2]
HERE = Place(ROOT)
KEY = "hf_" + "a1B2c3D4" * 5
COMMIT = "3101c7d5072418e28b9008a6636bde82a006892c"


def looked(look: Callable[[Place, Ledger], None], place: Place = HERE) -> Ledger:
    """The ledger of a check, as `make` would have it."""
    (outcome,) = checking.make([Check("it", "", look)], place)
    return outcome.ledger


def told(ledger: Ledger) -> str:
    return "\n".join(f"{note.where}: {note.text}" for note in ledger.problems)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small working tree that is called Resit."""
    (tmp_path / "src" / "resit").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "resit"\n', encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


@pytest.fixture
def page(checkout: Path) -> Callable[[str], Place]:
    """Writes a page of documentation and gives the place to check."""

    def written(text: str) -> Place:
        (checkout / "docs" / "page.md").write_text(text, encoding="utf-8")
        return Place(checkout)

    return written


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts one asset in place of the catalogue: a sound one, but for the fields given."""

    def put(**changed: Any) -> None:
        sound = Asset(
            "a", "An asset", "MIT", "its LICENSE", "made here",
            {"f": File("a", "f", (f"https://github.com/o/n@{COMMIT}/f",), sha256="0" * 64)},
        )  # fmt: skip
        found = MappingProxyType({"a": replace(sound, **changed)})
        monkeypatch.setattr(assets, "catalogue", lambda: found)

    return put


# the ledger


def test_what_is_not_here_is_never_ok() -> None:
    ledger = Ledger()
    with ledger.item("absent"):
        raise AssetError("not here")
    assert ledger.status == "skipped"
    with ledger.item("there"):
        pass
    assert ledger.status == "partly"
    with ledger.item("broken"):
        raise UsageError("wrong")
    assert ledger.status == "failed"
    assert told(ledger) == "broken: wrong"


def test_a_check_that_looked_at_nothing_is_skipped() -> None:
    assert looked(lambda place, ledger: None).status == "skipped"


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(*args: object, **options: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr("urllib.request.urlopen", fetched)
    monkeypatch.setattr("subprocess.run", fetched)

    def look(place: Place, ledger: Ledger) -> None:
        with ledger.item("rows"):
            assets.rows("openai/gsm8k", "main", "test")

    ledger = looked(look)
    assert ledger.status == "skipped"
    assert "nothing is fetched now" in ledger.skipped[0].text


# catalogue


def test_the_catalogue_is_complete() -> None:
    assert told(looked(catalogue.complete)) == ""


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"licence": ""}, "says no licence"),
        ({"licence_stated_in": " "}, "says no licence_stated_in"),
        ({"provenance": ""}, "says no provenance"),
        ({"files": {"f": File("a", "f", ("https://x/y",), sha256="12ab")}}, "is no sha256"),
        ({"files": {"f": File("a", "f", ("https://x/y",))}}, "neither its sha256 nor its rows are known"),
        ({"files": {"f": File("a", "f", (), sha256="0" * 64)}}, "has no source"),
    ],
)
def test_an_incomplete_entry(entry: Callable[..., None], changed: dict[str, Any], said: str) -> None:
    entry()
    assert looked(catalogue.complete).status == "ok"
    entry(**changed)
    assert said in told(looked(catalogue.complete))


def test_a_wrong_file_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert looked(catalogue.digests).status == "skipped"  # the cache is empty
    wrong = assets.cache_folder() / "svamp" / "SVAMP.json"
    wrong.parent.mkdir(parents=True)
    wrong.write_text("[]", encoding="utf-8")
    ledger = looked(catalogue.digests)
    assert ledger.status == "failed"
    assert "svamp/SVAMP.json: " in told(ledger)
    assert all(note.text == "not on this machine" for note in ledger.skipped)


# tasks

SUMS = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
num_fewshot: {shots}
fewshot_config:
  sampler: first_n
  samples: [{{question: "{exemplar}", answer: "2"}}]
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
filter_list:
  - name: {rule}
    filter: [{{function: regex, regex_pattern: '{pattern}'}}, {{function: take_first}}]
metric_list: [{{metric: exact_match}}]
resit:
  about: {about}
  headline: exact_match,{rule}
  deviations: [synthetic]
metadata: {{version: 1.0}}
"""
SOUND = {
    "name": "sums", "shots": 1, "exemplar": "1 and 1?", "rule": "last", "about": "sums, 1 exemplars",
    "pattern": r"#### (\-?[0-9]+)",
}  # fmt: skip


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts one task in place of the catalogue: a sound one, but for the fields given."""
    (tmp_path / "rows.jsonl").write_text(
        '{"question": "1 and 2?", "answer": "3"}\n{"question": "2 and 2?", "answer": "4"}\n', "utf-8"
    )
    monkeypatch.chdir(tmp_path)
    load = tasks.load

    def put(**changed: Any) -> None:
        file = tmp_path / "sums.yaml"
        file.write_text(SUMS.format(**{**SOUND, **changed}), encoding="utf-8")
        monkeypatch.setattr(tasks, "index", lambda: {"sums": tasks.Entry("sums", "sums.yaml", "sums")})
        monkeypatch.setattr(tasks, "load", lambda names: load([str(file) for _ in names]))

    return put


def test_names_of_the_catalogue() -> None:
    assert told(looked(task_checks.names)) == ""


@pytest.mark.parametrize(
    ("check", "changed", "said"),
    [
        (task_checks.names, {"name": "products"}, "the file calls it products"),
        (task_checks.names, {"about": '""'}, "does not say what it is about"),
        (task_checks.names, {"shots": "many"}, "num_fewshot"),
        (task_checks.shots, {"about": "sums, 3 exemplars"}, "described with 3 exemplars, num_fewshot says 1"),
        (task_checks.shots, {"shots": 2, "about": "sums"}, "num_fewshot is 2, there are 1 exemplars"),
        (task_checks.shots, {"name": "sums_0shot"}, "its name says no exemplars"),
        (task_checks.exemplars, {"exemplar": "1 AND  2?"}, "1 exemplars ask a test question"),
        (task_checks.golds, {"pattern": "()"}, "the gold cannot be made to grade right"),
    ],
)
def test_an_unsound_task(
    task: Callable[..., None], check: Callable[[Place, Ledger], None], changed: dict[str, Any], said: str
) -> None:
    task()
    sound = told(looked(check))
    assert said not in sound
    task(**changed)
    assert said in told(looked(check))


def test_a_sound_task_passes(task: Callable[..., None]) -> None:
    task()
    for check in (task_checks.shots, task_checks.exemplars, task_checks.golds):
        assert looked(check).status == "ok"


def test_an_index_that_is_not_what_the_files_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resit.tasks.indexing.built", dict)
    assert "python -m resit.tasks.indexing" in told(looked(task_checks.names))


def test_a_pair_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    false = tasks.Pair("direct/direct", "mgsm_direct_de", "mgsm_direct_fr", "no pair")
    monkeypatch.setattr(tasks, "pairs", lambda: {"direct/direct": false})
    assert "differ in more than their questions" in told(looked(task_checks.pairs))


# records


def record(**changed: Any) -> dict[str, Any]:
    rule = {
        "ours": 0.5, "theirs": 0.5, "interval": [0.403832, 0.596168], "difference_interval": [-0.03, 0.03],
        "same_verdicts": 100, "same_answers": 100,
    }  # fmt: skip
    return {
        "kind": "replay",
        "reference": {"implementation": "lm-eval", "version": "0.4.13"},
        "responses": {"name": "a log", "source": "somewhere"},
        "n": 100,
        "same_prompts": 100,
        "same_references": 100,
        "same_texts": 100,
        "rules": {"strict": rule | changed.pop("rule", {})},
        "verdict": "equal",
        "resit": "0.1.0",
        "date": "2026-01-01",
        "command": "python -m it",
    } | changed


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ledger]:
    """The ledger where `sums` is called aligned and has a record with these fields."""
    monkeypatch.setattr(tasks, "index", lambda: {"sums": tasks.Entry("sums", "", "", status="aligned")})

    def checked(*entries: dict[str, Any], name: str = "sums") -> Ledger:
        if entries:
            content = {"task": name, "records": list(entries)}
            (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
        return looked(lambda place, ledger: records.alignment(place, ledger, tmp_path))

    return checked


def test_a_whole_record(recorded: Callable[..., Ledger]) -> None:
    assert recorded(record()).status == "ok"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (record(command=""), "command"),
        (record(date="yesterday"), "date"),
        (record(responses=None), "lacks what it is of"),
        (record(n=None), "lacks what it is of"),
        (record(same_prompts=99), "its verdict is 'equal', its figures say 'differs'"),
        (record(rule={"same_verdicts": 99}), "its figures say 'differs'"),
        (record(same_texts=90, rule={"same_verdicts": 97}), "its figures say 'agrees'"),
        (record(same_texts=90, rule={"difference_interval": [0.01, 0.1]}), "its figures say 'differs'"),
        (record(same_prompts=99, verdict="differs"), "differs from its reference"),
        (record(rule={"interval": [0.4, 0.7]}), "its interval is not that of 0.5 of 100"),
        (record(surplus=1), "surplus"),
        ({**record(), "kind": "twin", "twin": "absent"}, "its twin absent has no record"),
    ],
)
def test_a_record_that_is_not_whole(
    recorded: Callable[..., Ledger], entry: dict[str, Any], said: str
) -> None:
    assert said in told(recorded(entry))


def test_an_aligned_task_without_a_record_and_a_record_without_a_task(
    recorded: Callable[..., Ledger],
) -> None:
    assert told(recorded()) == "sums: is called aligned and has no record: docs/alignment.md"
    assert "products: has records and is no task" in told(recorded(record(), name="products"))


def test_the_records_that_are_shipped_are_whole() -> None:
    for name in aligned.recorded():
        assert aligned.records(name)


# links


@pytest.mark.parametrize(
    ("link", "moves"),
    [
        (f"https://github.com/o/n/blob/{COMMIT}/x.py", False),
        ("https://github.com/o/n/blob/v1.2.0/x.py", False),
        ("https://github.com/o/n", False),
        ("https://arxiv.org/abs/2405.00332", False),
        ("https://github.com/o/n/blob/main/x.py", True),
        ("https://github.com/o/n/tree/develop/x", True),
        ("https://huggingface.co/datasets/o/n/resolve/main/x.json", True),
    ],
)
def test_a_link_of_the_documentation(page: Callable[[str], Place], link: str, moves: bool) -> None:
    problems = told(looked(links.pinned, page(f"See [it]({link}).\n")))
    assert ("docs/page.md:1: " in problems) == moves


@pytest.mark.parametrize("source", ["hf:o/n@main/f", "https://github.com/o/n@main/f"])
def test_a_source_that_moves(entry: Callable[..., None], source: str) -> None:
    files = {"f": File("a", "f", (source,), sha256="0" * 64)}
    entry(files=files)
    assert "follows 'main', which moves" in told(looked(links.pinned))
    entry(files=files, unpinned="no commit is known")
    assert told(looked(links.pinned)) == ""


def test_a_reference_that_is_pinned_by_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    (task,) = tasks.load(["gsm8k"])
    own = task.config.resit
    moved = own.model_copy(update={"reference": own.reference.model_copy(update={"pinned": "main"})})
    changed = replace(task, config=task.config.model_copy(update={"resit": moved}))
    monkeypatch.setattr(tasks, "load", lambda names: [changed])
    assert "its reference is pinned by 'main'" in told(looked(links.pinned))


def test_deep_opens_links_and_tells_a_dead_one_from_a_dead_network(
    monkeypatch: pytest.MonkeyPatch, page: Callable[[str], Place], entry: Callable[..., None]
) -> None:
    from email.message import Message
    from urllib.error import HTTPError, URLError

    entry(files={"f": File("a", "f", ("pypi:x==1!f",), sha256="0" * 64)})

    def urlopen(request: Any, timeout: float) -> Any:
        if "gone" in request.full_url:
            raise HTTPError(request.full_url, 404, "Not Found", Message(), None)
        raise URLError("no network")

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    place = page("https://here.org/gone and https://here.org/other\n")
    ledger = looked(links.pinned, replace(place, deep=True))
    assert told(ledger) == "docs/page.md:1: https://here.org/gone: there is nothing (HTTP 404)"
    assert [note.text for note in ledger.skipped] == ["https://here.org/other cannot be reached: no network"]


# documentation


def test_the_documentations_commands_parse() -> None:
    ledger = looked(commands.parse)
    assert told(ledger) == ""
    assert ledger.checked > 30


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("resit run --modle x", "resit run has no option --modle"),
        ("resit rnu", "resit has no verb 'rnu'"),
        ("resit tasks shwo gsm8k", "resit tasks has no verb 'shwo'"),
        ("A=1 resit run -Z 3 | head", "resit run has no option -Z"),
        ("resit run \\\n  --limit 3 \\\n  --wrong", "resit run has no option --wrong"),
        ("cd x && python -m resit score --wrong RUN", "resit score has no option --wrong"),
        ("$ resit --wrong", "resit has no option --wrong"),
        ("resit run --model_args=a=b --num_fewshot 3 -t gsm8k,gsm8k_cot -b auto", ""),
        ("resit gap RUN_A RUN_B --json > out.json   # a comment --wrong", ""),
        ("echo resit --wrong", ""),
        ("resit tasks", ""),
        ("resit run … --debug", ""),
    ],
)
def test_a_command_of_the_documentation(page: Callable[[str], Place], command: str, said: str) -> None:
    ledger = looked(commands.parse, page(f"# Title\n\n```sh\n{command}\n```\n"))
    assert said in told(ledger) if said else told(ledger) == ""
    if said:
        assert ledger.problems[0].where == "docs/page.md:4"


def test_commands_in_other_languages_are_not_looked_at(page: Callable[[str], Place]) -> None:
    assert looked(commands.parse, page("```yaml\nresit: --wrong\n```\n")).status == "skipped"


def test_a_fence_in_a_list_ends_where_it_ends() -> None:
    page = "- so\n  ```sh\n  one\n    two\n  ```\n~~~yaml\na: 1\n~~~\n"
    found = [(b.line, b.language, b.lines) for b in texts.fenced("p.md", page)]
    assert found == [(3, "sh", ("one", "  two")), (7, "yaml", ("a: 1",))]


# examples


def test_the_examples_are_valid() -> None:
    assert told(looked(examples.valid)) == ""


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("a: [1", "is no YAML"),
        ("task: t\ndoc_to_txet: x\ndoc_to_text: y", "doc_to_txet"),
        ("models: [{name: a, model: scripted}]\ntasks: [gsm8k]\nlimitt: 3", "limitt"),
        ("apiVersion: ray.io/v1", ""),
    ],
)
def test_a_file_that_the_documentation_shows(page: Callable[[str], Place], shown: str, said: str) -> None:
    problems = told(looked(examples.valid, page(f"```yaml\n{shown}\n```\n")))
    assert said in problems if said else problems == ""


def test_an_example_package_that_declares_what_it_lacks(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = checkout / "examples" / "it"
    (package / "src" / "it").mkdir(parents=True)
    (package / "src" / "it" / "__init__.py").write_text("def here(): ...\n", encoding="utf-8")
    (package / "task.yaml").write_text("task: t\ndoc_to_text: y\nwrong: 1\n", encoding="utf-8")
    (package / "pyproject.toml").write_text(
        '[project]\nname = "it"\n[project.entry-points."resit.rules"]\n'
        'a = "it:here"\nb = "it:there"\nc = "it.absent"\n',
        encoding="utf-8",
    )

    def absent(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(examples, "distribution", absent)
    ledger = looked(examples.valid, Place(checkout))
    assert [note.text.split(",")[0] for note in ledger.problems] == [
        "resit.rules: b names it:there",
        "resit.rules: c names it.absent",
    ]
    assert "it is not installed" in ledger.skipped[0].text
    monkeypatch.setattr(examples, "distribution", str)
    assert "wrong" in told(looked(examples.valid, Place(checkout)))


# the tree


def test_the_tree_holds_nothing_private() -> None:
    try:
        tree.tracked(ROOT)
    except Unchecked:
        pytest.skip("the tests do not lie in a git checkout")
    ledger = looked(tree.secrets)
    assert told(ledger) == ""
    assert ledger.checked > 100


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"token = '{KEY}'", "a token of the Hugging Face hub"),
        ("key: " + "sk-" + "proj-" + "Ab1" * 12, "an API key"),
        ("-----BEGIN RSA " + "PRIVATE KEY-----", "a private key"),
        ("AKIA" + "ABCDEFGHIJKLMNOP", "a key of AWS"),
        ("https://someone:" + "longpassword@host.org/x", "a password in an address"),
        ("open('/home/" + "jane/data.json')", "somebody's home folder"),
        ("C:\\\\Users\\\\" + "jane\\\\x", "somebody's home folder"),
        ("/root/" + "models/a.gguf", "somebody's home folder"),
        ("a perfectly ordinary line, hf_token and sk-1", ""),
        ("https://user:${PASSWORD}@host.org", ""),
        ("/home/user/x is an example", ""),
    ],
)
def test_a_secret_in_the_tree(checkout: Path, text: str, what: str) -> None:
    (checkout / "settings.py").write_text(f"# one\n{text}\n", encoding="utf-8")
    ledger = looked(tree.secrets, Place(checkout))
    assert told(ledger) == (f"settings.py:2: holds {what}" if what else "")
    (checkout / ".gitignore").write_text("settings.py\n", encoding="utf-8")
    assert told(looked(tree.secrets, Place(checkout))) == ""


def test_without_a_checkout_the_tree_is_skipped() -> None:
    nowhere = Place(None)
    for check in (tree.secrets, tree.layers, commands.parse, examples.valid):
        ledger = looked(check, nowhere)
        assert ledger.status == "skipped"
        assert "needs a checkout" in ledger.skipped[0].text


def test_a_folder_that_git_does_not_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert looked(tree.secrets, Place(tmp_path)).status == "skipped"


LAYERS = """\
[project]
name = "resit"
[tool.importlinter]
root_package = "planted_layers"
[[tool.importlinter.contracts]]
name = "One way"
type = "layers"
layers = ["planted_layers.high", "planted_layers.low"]
"""


@pytest.mark.parametrize("low", ["", "from planted_layers import high\n"])
def test_a_broken_layer(checkout: Path, monkeypatch: pytest.MonkeyPatch, low: str) -> None:
    pytest.importorskip("importlinter", reason="pip install 'resit[dev]'")
    package = checkout / "planted_layers"
    package.mkdir()
    for name, text in {"__init__": "", "high": "", "low": low}.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    (checkout / "pyproject.toml").write_text(LAYERS, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(checkout))
    problems = told(looked(tree.layers, Place(checkout)))
    assert ("One way BROKEN" in problems) == bool(low)
    assert bool(problems) == bool(low)


def test_without_import_linter_the_layers_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "find_spec", lambda name: None)
    ledger = looked(tree.layers)
    assert ledger.status == "skipped"
    assert "import-linter is not installed" in ledger.skipped[0].text


# the verb


def some(monkeypatch: pytest.MonkeyPatch, *checks: Check) -> None:
    monkeypatch.setattr(checking, "CHECKS", checks)


def good(place: Place, ledger: Ledger) -> None:
    ledger.checked += 2


def bad(place: Place, ledger: Ledger) -> None:
    ledger.checked += 1
    for i in range(25):
        ledger.wrong(f"file:{i}", "is wrong")


def absent(place: Place, ledger: Ledger) -> None:
    ledger.skip("rows", "not here")
    ledger.skip("others", "not here")


def test_the_table_and_the_exit_status(command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    some(monkeypatch, Check("good", "is good", good), Check("away", "is away", absent))
    done = command("check")
    assert done.status == 0
    assert done.out.splitlines() == [
        "ok      good       2 checked                  is good",
        "skipped away       0 checked, 2 skipped       is away",
        "        skipped: rows and 1 more: not here",
    ]
    some(monkeypatch, Check("good", "is good", good), Check("bad", "is bad", bad))
    done = command("check")
    assert done.status == 4
    assert done.err == "error: 1 of 2 checks failed: bad\n"
    assert done.out.splitlines()[1] == "FAILED  bad        1 checked                  is bad"
    assert done.out.splitlines()[-1] == "        … and 5 more"
    assert command("check", "--only", "good").status == 0


def test_json_tells_everything(command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    some(monkeypatch, Check("bad", "is bäd", bad), Check("away", "is away", absent))
    done = command("check", "--json")
    assert done.status == 4
    assert done.out.isascii()
    assert done.json["passed"] is False
    first, second = done.json["checks"]
    assert (first["status"], len(first["problems"])) == ("failed", 25)
    assert second == {
        "name": "away",
        "about": "is away",
        "status": "skipped",
        "checked": 0,
        "problems": [],
        "skipped": [{"where": "rows", "text": "not here"}, {"where": "others", "text": "not here"}],
    }


def test_wrong_usage(command: Callable[..., Any], tmp_path: Path) -> None:
    done = command("check", "--only", "gold")
    assert done.status == 2
    assert "there is no check 'gold'. Did you mean 'golds'?" in done.err
    done = command("check", "--checkout", tmp_path)
    assert done.status == 2
    assert "is no checkout of Resit" in done.err


def test_the_checks_are_listed(command: Callable[..., Any]) -> None:
    done = command("check", "--list")
    assert [line.split()[0] for line in done.out.splitlines()] == [check.name for check in checking.CHECKS]
    assert all(check.about for check in checking.CHECKS)


def test_no_check_is_made_by_listing_and_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; sys.argv = ['resit', 'check', '--help']\n"
        "from resit.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('torch', 'numpy', 'yaml', 'jinja2') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
