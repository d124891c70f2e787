"""Every command in README and docs is executed; what cannot run on such a machine is parsed at least.

A page's blocks run in order, in one new folder with a cache of its own. HTML comments above a block say what
is special about it (the site leaves them out):

    <!-- test: parse (a reason) -->      not run: needs a GPU, a cluster, a hub; its options are parsed
    <!-- test: slow (a reason) -->       run where slow tests are
    <!-- test: status 4 -->              ends with this exit status
    <!-- test: with --limit 2 -->        its `resit run` lines get these words too; marks are joined by ;
    <!-- file: NAME -->                  not a command: this file's content
    <!-- given: runs, server -->         what the page takes for granted (`Givens`)
"""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import typer

from resit.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"((?:^<!-- \w+: .*? -->\n)*)^```([a-z]*)\n(.*?)^```$", re.M | re.S)
MARK = re.compile(r"^<!-- (test|file|given): (.*?) -->$", re.M)
OPERATORS = frozenset({"&&", "||", "|", ";", "&", "(", ")", "do", "then", "done", "$("})
OWN_NAMES = frozenset({"abacus", "market", "my_task", "T"})
"""Models and tasks that examples make up."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    where: str
    language: str
    text: str
    file: str = ""
    tests: Mapping[str, str] = field(default_factory=dict)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        marks = MARK.findall(found[1])
        tests = dict(
            word.strip().partition(" ")[::2]
            for kind, value in marks
            if kind == "test"
            for word in value.split(";")
        )
        where = f"{name_of(page)}:{text.count(chr(10), 0, found.start(3))}"
        yield Block(where, found[2], found[3], next((v for k, v in marks if k == "file"), ""), tests)


def givens(page: Path) -> list[str]:
    found = MARK.findall(page.read_text(encoding="utf-8"))
    return [name.strip() for kind, value in found if kind == "given" for name in value.split(",")]


def command_lines(script: str) -> Iterator[list[str]]:
    """The simple commands of a script, without the variables set before them."""
    for line in script.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        command: list[str] = []
        for word in [*lexer, ";"]:
            if word in OPERATORS:
                if command:
                    yield command
                command = []
            elif command or not re.fullmatch(r"\w+=.*", word):
                command.append(word)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_is_one_that_there_is(page: Path) -> None:
    for block in blocks(page):
        if block.language in ("", "console", "text"):
            assert not re.search(r"^\$? ?resit (?!VERB)\w+ .*--?\w", block.text, re.M), (
                f"{block.where}: say ```sh"
            )
        if block.language == "python":
            check_imports(block)
        if block.language == "sh":
            for command in command_lines(block.text):
                CHECKS.get(command[0], ignore)(command[1:], block.where)


def test_examples_in_help_are_commands_that_there_are() -> None:
    def check(command: Any) -> None:
        for line in re.findall(r"^  (?:\w+=\S+ )?(resit .*)$", command.epilog or "", re.M):
            check_resit(shlex.split(line)[1:], f"help of {command.name}")
        for inner in getattr(command, "commands", {}).values():
            check(inner)

    check(typer.main.get_command(app))


def check_imports(block: Block) -> None:
    if ">>>" in block.text:
        examples = doctest.DocTestParser().get_doctest(block.text, {}, block.where, None, 0)
        assert doctest.DocTestRunner(verbose=False).run(examples).failed == 0, block.where
        return
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("resit"):
            module = importlib.import_module(node.module)
            assert all(hasattr(module, alias.name) for alias in node.names), block.where


def check_resit(words: Sequence[str], where: str) -> None:
    """Parse the options as the program does, without calling it; then names of models and tasks."""
    if "--install-completion" in words or "--show-completion" in words:
        return
    context, command = None, typer.main.get_command(app)
    name, rest = "resit", list(words)
    try:
        while True:
            context = command.make_context(name, rest, parent=context)
            if not getattr(command, "commands", None):
                break
            rest = [*getattr(context, "_protected_args", []), *context.args]
            if not rest:
                return
            assert rest[0] in command.commands, f"{where}: no verb {rest[0]}"  # type: ignore[attr-defined]
            name, command, rest = rest[0], command.commands[rest[0]], rest[1:]  # type: ignore[attr-defined]
    except Exception as error:
        told = error.format_message() if hasattr(error, "format_message") else error
        raise AssertionError(f"{where}: resit {' '.join(words)}: {told}") from error
    check_names(context.params, where)


def check_names(given: Mapping[str, Any], where: str) -> None:
    from resit.models import kinds
    from resit.tasks import index, pairs, tags

    model = given.get("model")
    assert not model or model in OWN_NAMES or model in kinds(), f"{where}: no model {model}"
    known = {*index(), *tags(), *pairs(), *OWN_NAMES}
    for option in ("tasks", "task", "seen", "fresh", "seen_task", "fresh_task"):
        for task in filter(None, str(given.get(option) or "").split(",")):
            a_name = not re.search(r"[:*…]|\.ya?ml$|/$", task)
            assert not a_name or task in known, f"{where}: no task {task}"


def check_pip(words: Sequence[str], where: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for word in words:
        for names in re.findall(r"^resit\[(.*)\]$", word):
            assert set(names.split(",")) <= set(extras), f"{where}: no extra {names}"


def check_make(words: Sequence[str], where: str) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert set(words) <= set(targets), f"{where}: no target {words}"


def check_script(words: Sequence[str], where: str) -> None:
    if words and words[0].endswith(".py"):
        assert (ROOT / words[0]).is_file(), f"{where}: no script {words[0]}"


def ignore(words: Sequence[str], where: str) -> None:
    """Other programs' options are not ours to check."""


CHECKS: Mapping[str, Callable[[Sequence[str], str], None]] = {
    "resit": check_resit,
    "pip": check_pip,
    "make": check_make,
    "python": check_script,
}


class Instant(BaseHTTPRequestHandler):
    """A server of OpenAI's protocol that always says 18."""

    def do_GET(self) -> None:
        self.reply({"object": "list", "data": [{"id": "m"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = {"message": {"role": "assistant", "content": "18"}} if "messages" in asked else {"text": "18"}
        choices = [{"index": i, "finish_reason": "stop", **said} for i in range(asked.get("n") or 1)]
        usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
        self.reply({"model": "m", "choices": choices, "usage": usage})

    def reply(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The root of a running server."""
    running = ThreadingHTTPServer(("127.0.0.1", 0), Instant)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_address[1]}"
    running.shutdown()
    running.server_close()
    thread.join()


def make_runs(folder: Path, shell: Shell) -> None:
    """`runs/released` (one answer wrong), `runs/candidate` (two); the same as `runs/a` and `runs/b`."""
    for run, wrong in (("released", [5]), ("candidate", [3, 8])):
        slips = "".join(json.dumps({"doc_id": number, "text": "#### 0.5"}) + "\n" for number in wrong)
        (folder / f"{run}.slips").write_text(slips, encoding="utf-8")
        model = f"-M scripted -a 'text={{target}},file={run}.slips'"
        shell(f"resit run {model} -t gsm_fresh --limit 60 -o runs/{run}", folder)
    shell("cp -r runs/released runs/a; cp -r runs/candidate runs/b", folder)


def make_gap(folder: Path, shell: Shell) -> None:
    """`runs/seen` and `runs/fresh`: the halves of a pair, answered by the key."""
    right = "resit run -M scripted -a 'text={target}' --limit 40"
    shell(f"{right} -t gsm8k -o runs/seen\n{right} -t gsm_fresh_paired -o runs/fresh", folder)


def link_docs(folder: Path, shell: Shell) -> None:
    """The checkout's scripts, as seen from its root."""
    for name in ("docs", "benchmarks", "tests"):
        (folder / name).symlink_to(ROOT / name)


def make_checkpoint(folder: Path, shell: Shell) -> None:
    """`./checkpoint`: random weights, a token a byte; small enough for any machine."""
    shell(f"{sys.executable} - <<'END'\n{CHECKPOINT}END", folder)


CHECKPOINT = """
from tokenizers import Tokenizer, models, pre_tokenizers, decoders
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
vocabulary = {letter: number for number, letter in enumerate(["<s>", "</s>", *alphabet])}
tokenizer = Tokenizer(models.BPE(vocabulary, []))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
marks = dict(bos_token="<s>", eos_token="</s>")
PreTrainedTokenizerFast(tokenizer_object=tokenizer, **marks).save_pretrained("checkpoint")
shape = dict(hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2)
ends = dict(bos_token_id=0, eos_token_id=1)
config = LlamaConfig(vocab_size=len(vocabulary), max_position_embeddings=8192, **ends, **shape)
LlamaForCausalLM(config).save_pretrained("checkpoint")
"""
Shell = Callable[..., str]
GIVENS: Mapping[str, Callable[[Path, Shell], None]] = {
    "runs": make_runs,
    "gap": make_gap,
    "checkout": link_docs,
    "checkpoint": make_checkpoint,
    "server": lambda folder, shell: None,
    "gsm8k": lambda folder, shell: None,
}
NEED_DATA = frozenset({"gap", "gsm8k"})


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """The user's environment, but for what a user's own files could change."""
    kept = {
        k: v for k, v in os.environ.items() if k not in ("GITHUB_STEP_SUMMARY", "OPENAI_API_KEY", "HF_TOKEN")
    }
    own = Path(sys.executable).parent
    return {**kept, "PATH": f"{own}{os.pathsep}{kept['PATH']}", "COLUMNS": "100", "NO_PROXY": "127.0.0.1"}


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A cache that only these tests fill; real models are taken from the user's own."""
    return {"RESIT_CACHE": str(tmp_path_factory.mktemp("cache"))}


def pages_to_run() -> Iterator[Any]:
    for page in PAGES:
        shell = [block for block in blocks(page) if block.language == "sh" and "parse" not in block.tests]
        if any("slow" not in block.tests for block in shell):
            yield pytest.param(page, False, id=name_of(page))
        if any("slow" in block.tests for block in shell):
            yield pytest.param(page, True, id=f"{name_of(page)}-slow", marks=pytest.mark.slow)


@pytest.mark.parametrize(("page", "slow"), [*pages_to_run()])
def test_the_commands_of_a_page_run_in_order(
    page: Path,
    slow: bool,
    tmp_path: Path,
    environment: dict[str, str],
    own_cache: dict[str, str],
    server: str,
    request: pytest.FixtureRequest,
) -> None:
    needs = givens(page)
    variables = {**environment, **({} if slow else own_cache)}
    if NEED_DATA & set(needs):
        variables["RESIT_MIRROR"] = str(request.getfixturevalue("shared") / "mirror")
    for program in ("reasoning_gym", *(("xllamacpp",) if slow else ())):
        pytest.importorskip(program, reason="needs `pip install 'resit[demo]'`")

    def shell(script: str, folder: Path, where: str = "given", status: int = 0) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{script}\npwd > '{tmp_path}/.folder'"],
            cwd=folder,
            env=variables,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == status, f"{where}: status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    for name in needs:
        GIVENS[name](tmp_path, shell)
    folder = tmp_path
    for block in blocks(page):
        if block.file:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "sh" and "parse" not in block.tests and (slow or "slow" not in block.tests):
            text = block.text.replace("http://localhost:8000", server)
            if more := block.tests.get("with"):
                text = re.sub(r"^(resit run .*)$", rf"\1 {more}", text, flags=re.M)
            shell(text, folder, block.where, int(block.tests.get("status", 0)))
            folder = Path((tmp_path / ".folder").read_text("utf-8").strip())
