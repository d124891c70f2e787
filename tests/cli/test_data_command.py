"""`resit data`, as a process and in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resit import assets
from resit.cli import data


def resit(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`resit data …` in its own process, without a hub."""
    command = [sys.executable, "-c", "from resit.cli import main; main()", "data", *words]
    env = {
        **os.environ,
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
        **environment,
    }
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def json_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_list_shows_every_asset_with_its_licence_and_whether_it_is_here() -> None:
    done = resit("list")
    assert (done.returncode, done.stderr) == (0, "")
    header, *lines = done.stdout.splitlines()
    assert header.split() == ["asset", "here", "licence", "what"]
    assert [line.split()[0] for line in lines] == [*assets.catalogue()]
    (gsm8k,) = [line for line in lines if line.startswith("gsm8k ")]
    assert gsm8k.split()[:3] == ["gsm8k", "no", "MIT"]


def test_list_knows_the_mirror(shared: Path) -> None:
    listed = json_of(resit("list", "--json", RESIT_MIRROR=str(shared / "mirror")))
    states = {entry["name"]: [part["state"] for part in entry["parts"]] for entry in listed["assets"]}
    assert states["gsm8k"] == ["mirror"] * 3
    assert states["mgsm"] == ["mirror"] * 11
    assert states["gsm1k"] == ["", "mirror"]
    assert states["smollm2-135m"] == [""]
    assert all(entry["licence"] for entry in listed["assets"])


def test_show_tells_licence_provenance_sources_and_digests() -> None:
    shown = " ".join(resit("show", "gsm1k").stdout.split())
    for part in (
        "licence: MIT",
        "licence stated in: https://github.com/scaleapi/gsm1k_eval",
        "source: https://github.com/scaleapi/gsm1k_eval@39294c6f31855aca8255b6174b22fc3a6311be0b/gsm1k_public_50.csv",
        "default test: 1205 rows, digest not known",
        "default train: the rows of openai/gsm8k main train",
    ):
        assert part in shown
    as_json = json_of(resit("show", "gsm8k", "--json"))
    assert as_json["files"][1]["sha256"].startswith("3730d312")
    assert as_json["datasets"][0]["path"] == "openai/gsm8k"


def test_an_unknown_asset_exits_2_with_a_suggestion() -> None:
    for verb in ("show", "download", "verify"):
        done = resit(verb, "gms8k")
        assert (done.returncode, done.stdout) == (2, "")
        assert "there is no asset 'gms8k'. Did you mean 'gsm8k'?" in done.stderr
        assert "Traceback" not in done.stderr


def test_what_cannot_be_had_exits_6_with_every_source_and_the_remedy() -> None:
    done = resit("download", "gsm1k", "--json")
    assert done.returncode == 6
    assert all(part["problem"] for part in json_of(done)["parts"])
    assert "hf:ScaleAI/gsm1k@bc09569d09a614b9b530edc7f076fb214ac10493 (" in done.stderr
    assert "gsm1k_public_50.csv (" in done.stderr
    assert "RESIT_MIRROR=DIR" in done.stderr
    assert "Traceback" not in done.stderr


def test_download_takes_from_the_mirror_and_goes_on_after_a_failure(shared: Path) -> None:
    done = resit("download", "gsm1k", "gsm8k", RESIT_MIRROR=str(shared / "mirror"))
    assert done.returncode == 6
    assert "ScaleAI/gsm1k default test cannot be had" in done.stderr
    assert "gsm8k: openai/gsm8k main test: " in done.stdout
    assert "gsm8k: example_model_solutions.jsonl: " in done.stdout


def test_verify_reads_again_what_is_here(shared: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (cache / "gsm8k").mkdir(parents=True)
    good = (shared / "mirror/gsm8k/test.jsonl").read_bytes()
    (cache / "gsm8k/test.jsonl").write_bytes(good.replace(b"\n", b"\r\n"))
    (cache / "gsm8k/train.jsonl").write_bytes(b'{"question": "Why?", "answer": "7"}\n')
    done = resit("verify", "gsm8k", RESIT_CACHE=str(cache))
    assert done.returncode == 6
    verdicts = {line.split()[-2]: line for line in done.stdout.splitlines()[1:3]}
    assert verdicts["gsm8k/test.jsonl"].startswith("right by digest of the rows")
    assert verdicts["gsm8k/train.jsonl"].startswith("WRONG")
    assert done.stdout.count("not here") == 3
    assert "expected 7473 rows, found 1" in done.stderr
    fine = resit(
        "verify", "gsm8k", "--json", RESIT_MIRROR=str(shared / "mirror"), RESIT_CACHE=str(tmp_path / "no")
    )
    assert fine.returncode == 0
    assert [file["checked"] for file in json_of(fine)["files"]] == ["sha256", "sha256", "", "", "sha256"]


def test_verify_of_a_named_asset_that_is_not_here_is_an_error(tmp_path: Path) -> None:
    absent = resit("verify", "mgsm", RESIT_CACHE=str(tmp_path), RESIT_MIRROR=str(tmp_path))
    assert absent.returncode == 6
    assert "mgsm is not on this machine" in absent.stderr
    assert "resit data download mgsm" in absent.stderr
    assert resit("verify", RESIT_CACHE=str(tmp_path), RESIT_MIRROR=str(tmp_path)).returncode == 0


@pytest.mark.parametrize("verb", ["list", "show", "download", "verify"])
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    done = resit(verb, "--help")
    assert done.returncode == 0
    assert "Example:\n" in done.stdout
    assert "--json" in done.stdout


def test_json_is_the_same_whatever_the_terminals_encoding(capsys: pytest.CaptureFixture[str]) -> None:
    data._print_json({"licence": "données libres"})
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed) == {"licence": "données libres"}


def test_the_list_of_tasks_too(monkeypatch: pytest.MonkeyPatch, command: Callable[..., Any]) -> None:
    monkeypatch.setattr("resit.cli.tasks.listing", lambda: {"tasks": [{"name": "tâche"}]})
    done = command("tasks", "list", "--json")
    assert done.out.isascii()
    assert done.json == {"tasks": [{"name": "tâche"}]}
