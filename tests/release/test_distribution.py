"""What is published: a wheel that works with no repository at hand, and an archive of what is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("build", reason="needs `pip install 'resit[dev]'`")
pytest.importorskip("hatchling", reason="needs `pip install 'resit[test]'`")

ROOT = Path(__file__).parents[2]
HANG = 1800
"""Seconds after which a step is taken to hang."""
DATA = {".yaml", ".json", ".html", ".css", ".js", ".svg", ".txt", ".typed"}
IN_THE_SOURCE = {
    ".gitignore", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "PKG-INFO", "README.md",
    "README.zh-CN.md",
    "SECURITY.md", "docs", "examples", "pyproject.toml", "src",
}  # fmt: skip


def done(words: Sequence[object], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command in a folder, with nothing in its environment that leads to this checkout."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RESIT", "COV"))
    }
    return subprocess.run(
        [str(word) for word in words], cwd=folder, env=kept, capture_output=True, text=True, timeout=HANG,
        check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive; the wheel is made from the archive, as a packager does."""
    out = tmp_path_factory.mktemp("dist")
    run = done([sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT], out)
    assert run.returncode == 0, run.stdout + run.stderr
    (wheel,), (archive,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, archive


def tracked(under: str) -> set[PurePosixPath]:
    """Files below a folder of the package, as they lie here; what Python leaves behind is none of it."""
    root = ROOT / "src" / under
    return {
        PurePosixPath(path.relative_to(ROOT / "src").as_posix())
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_has_the_package_with_its_data_and_nothing_else(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        names = {PurePosixPath(name) for name in wheel.namelist()}
    inside = {name for name in names if name.parts[0] == "resit"}
    assert inside == tracked("resit")
    assert {name.suffix for name in inside} <= {".py", *DATA}
    for needed in (
        "assets/catalogue.yaml",
        "assets/templates.yaml",
        "tasks/catalogue/gsm8k.yaml",
        "py.typed",
    ):
        assert PurePosixPath("resit", needed) in inside
    (other,) = {name.parts[0] for name in names - inside}
    assert other.endswith(".dist-info")
    assert {name.name for name in names - inside} == {
        "METADATA", "WHEEL", "RECORD", "entry_points.txt", "LICENSE",
    }  # fmt: skip


def test_the_source_archive_has_nothing_stray(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as archive:
        members = archive.getmembers()
    assert all(member.isfile() or member.isdir() for member in members), "no links, no devices"
    names = [PurePosixPath(*PurePosixPath(member.name).parts[1:]) for member in members if member.isfile()]
    assert {name.parts[0] for name in names} == IN_THE_SOURCE
    assert not [
        name for name in names if "__pycache__" in name.parts or name.suffix in (".pyc", ".gguf", ".jsonl")
    ]
    assert {name.relative_to("src") for name in names if name.parts[0] == "src"} == tracked("resit")
    assert sum(member.size for member in members) < 20 * 2**20


@pytest.fixture(scope="module")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The `resit` of an environment that holds the wheel alone, and an empty folder to use it in."""
    folder = tmp_path_factory.mktemp("clean")
    made = done([sys.executable, "-m", "venv", folder / "venv"], folder)
    assert made.returncode == 0, made.stderr
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    pip = [scripts / "python", "-m", "pip", "--disable-pip-version-check"]
    reached = done([*pip, "download", "--no-deps", "--quiet", "--retries", "1", "packaging"], folder)
    if reached.returncode and "connection" in reached.stderr.lower():
        pytest.skip(f"no package index can be reached from here: {reached.stderr.strip()[-300:]}")
    got = done([*pip, "install", "--quiet", f"resit[fresh] @ {built[0].as_uri()}"], folder)
    assert got.returncode == 0, got.stderr
    (folder / "empty").mkdir()
    return scripts / "resit", folder / "empty"


def test_the_wheel_runs_an_exam_with_no_repository_at_hand(installed: tuple[Path, Path]) -> None:
    resit, folder = installed
    told = done([resit, "--help"], folder)
    assert told.returncode == 0, told.stderr
    assert "run" in told.stdout
    where = done([resit.with_name("python"), "-c", "import resit; print(resit.__file__)"], folder)
    assert str(ROOT / "src") not in where.stdout
    run = done([resit, "run", "-M", "dummy", "-t", "gsm_fresh", "-L", "4", "-o", "exam"], folder)
    assert run.returncode == 0, run.stderr
    lines = (folder / "exam" / "generations.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["text"] for line in lines} == {"lol"}
    assert sorted(json.loads(line)["doc_id"] for line in lines) == [0, 1, 2, 3]
    assert json.loads((folder / "exam" / "results.json").read_text(encoding="utf-8"))


def test_the_installed_package_finds_its_data(installed: tuple[Path, Path]) -> None:
    resit, folder = installed
    listed = done([resit, "tasks", "list"], folder)
    assert listed.returncode == 0, listed.stderr
    assert "gsm8k_cot" in listed.stdout
    page = done([resit, "report", "exam", "-o", "scores.md"], folder)
    assert page.returncode == 0, page.stderr
    assert r"gsm\_fresh" in (folder / "scores.md").read_text(encoding="utf-8")
