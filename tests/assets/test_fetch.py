"""Fetching: mirror, cache, sources in order; whole and verified or not at all."""

from __future__ import annotations

import hashlib
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from resit import assets
from resit.assets.catalogue import File
from resit.assets.fetch import cache_folder, obtain
from resit.errors import AssetError, UsageError


def body_of(name: str) -> bytes:
    return name.encode() * 1000


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def file(web: Any) -> Callable[..., File]:
    """A file of asset `toy` from the loopback server, pinned unless told otherwise."""

    def make(name: str, *sources: str, sha: str | None = "") -> File:
        pinned = sha256(body_of(name)) if sha == "" else sha
        return File("toy", name, tuple(sources or (f"{web.url}/{name}",)), pinned)

    return make


def cached_files() -> list[str]:
    return sorted(path.name for path in cache_folder().rglob("*") if path.is_file())


def test_a_file_is_downloaded_once(file: Any, web: Any) -> None:
    first = obtain(file("a.txt"))[1]
    second = obtain(file("a.txt"))[1]
    assert first == second == cache_folder() / "toy" / "a.txt"
    assert first.read_bytes() == body_of("a.txt")
    assert web.asked == ["GET /a.txt"]


@pytest.mark.parametrize("length", ["much", "-5", "\N{SUPERSCRIPT TWO}".encode().decode("latin-1")])
def test_an_odd_length_is_no_reason_to_fail(file: Any, web: Any, length: str) -> None:
    headers = {"Content-Length": length, "Connection": "close"}
    web.reply = lambda *_: (200, headers, body_of("a.txt"))
    assert obtain(file("a.txt"))[1].read_bytes() == body_of("a.txt")


def test_the_mirror_goes_first(file: Any, web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mirror/toy").mkdir(parents=True)
    (tmp_path / "mirror/toy/a.txt").write_bytes(body_of("a.txt"))
    monkeypatch.setenv("RESIT_MIRROR", str(tmp_path / "mirror"))
    assert obtain(file("a.txt"))[1] == tmp_path / "mirror/toy/a.txt"
    assert obtain(file("b.txt"))[1] == cache_folder() / "toy" / "b.txt"
    assert web.asked == ["GET /b.txt"]


def test_a_wrong_file_in_the_mirror_is_an_error(file: Any, tmp_path: Path, monkeypatch: Any) -> None:
    wrong = tmp_path / "toy/a.txt"
    wrong.parent.mkdir()
    wrong.write_bytes(b"other")
    monkeypatch.setenv("RESIT_MIRROR", str(tmp_path))
    with pytest.raises(AssetError) as raised:
        obtain(file("a.txt"))
    for part in (str(wrong), "toy/a.txt", sha256(body_of("a.txt")), sha256(b"other")):
        assert part in str(raised.value)


def test_a_mirror_that_does_not_exist_is_a_usage_error(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESIT_MIRROR", "/no/such/folder")
    with pytest.raises(UsageError, match="/no/such/folder"):
        obtain(file("a.txt"))


def test_a_wrong_download_is_an_error_and_leaves_nothing(file: Any, web: Any) -> None:
    with pytest.raises(AssetError) as raised:
        obtain(file("a.txt", sha="0" * 64))
    for part in ("toy/a.txt", f"{web.url}/a.txt", "0" * 64, sha256(body_of("a.txt"))):
        assert part in str(raised.value)
    assert cached_files() == []


def test_wrong_bytes_of_one_source_are_followed_by_the_next(file: Any, web: Any, tmp_path: Path) -> None:
    wrong, good = tmp_path / "wrong", tmp_path / "good"
    wrong.write_bytes(b"a page that says to log in")
    good.write_bytes(body_of("a.txt"))
    assert obtain(file("a.txt", f"file:{wrong}", f"file:{good}"))[1].read_bytes() == body_of("a.txt")
    assert cached_files() == ["a.txt"]


def test_where_nothing_else_serves_either_both_digests_are_told(file: Any, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_bytes(b"other")
    with pytest.raises(AssetError) as raised:
        obtain(file("a.txt", f"file:{wrong}", "file:/no/such"))
    for part in (sha256(body_of("a.txt")), sha256(b"other"), "file:/no/such (No such file or directory)"):
        assert part in str(raised.value)
    assert "not the pinned bytes" in raised.value.hint


def test_a_spoilt_cached_file_is_fetched_again(file: Any, web: Any) -> None:
    path = obtain(file("a.txt"))[1]
    path.write_bytes(b"spoilt")
    assert obtain(file("a.txt"))[1].read_bytes() == body_of("a.txt")
    assert len(web.asked) == 2


def test_a_spoilt_cached_file_without_network_is_named(file: Any) -> None:
    path = obtain(file("a.txt"))[1]
    path.write_bytes(b"spoilt")
    with pytest.raises(AssetError) as raised:
        obtain(file("a.txt", "http://127.0.0.1:9/a.txt"))
    assert f"the cached {path} (expected sha256" in str(raised.value)


def test_a_source_that_fails_is_followed_by_the_next(file: Any, web: Any, tmp_path: Path) -> None:
    good = tmp_path / "good"
    good.write_bytes(body_of("a.txt"))
    sources = ("http://127.0.0.1:9/a", f"{web.url}/absent", "file:/no/such", "ftp://x/y", f"file:{good}")
    assert obtain(file("a.txt", *sources))[1].read_bytes() == body_of("a.txt")


def test_when_all_fail_each_source_is_told_with_its_reason(file: Any, web: Any) -> None:
    with pytest.raises(AssetError) as raised:
        obtain(file("a.txt", "http://127.0.0.1:9/a", f"{web.url}/absent", "file:/no/such", "ftp://x/y"))
    message = str(raised.value)
    assert "\n" not in message
    for part in (
        "toy/a.txt cannot be had",
        "http://127.0.0.1:9/a ([Errno 111] Connection refused)",
        f"{web.url}/absent (HTTP 404",
        "file:/no/such (No such file or directory)",
        "ftp://x/y (unknown kind of source",
    ):
        assert part in message
    assert "DIR/toy/a.txt and set RESIT_MIRROR=DIR" in raised.value.hint


def test_a_file_that_is_published_nowhere_needs_the_mirror() -> None:
    with pytest.raises(AssetError, match="no source"):
        obtain(File("toy", "a.txt", (), "0" * 64))


def test_what_is_here_goes_before_what_must_be_fetched(file: Any, web: Any) -> None:
    obtain(file("b.txt"))
    chosen, path = obtain(file("a.txt"), file("b.txt"))
    assert (chosen.name, path.name) == ("b.txt", "b.txt")
    assert web.asked == ["GET /b.txt"]


@pytest.mark.parametrize("pinned", ["", None])
def test_a_connection_that_ends_early_leaves_nothing(file: Any, web: Any, pinned: str | None) -> None:
    web.cut_after = 10
    with pytest.raises(AssetError, match=r"10 of 5000 bytes|IncompleteRead|ended"):
        obtain(file("a.txt", sha=pinned))
    assert cached_files() == []
    web.cut_after = None
    assert obtain(file("a.txt", sha=pinned))[1].read_bytes() == body_of("a.txt")


FETCHER = """
import sys
from resit.assets.catalogue import File
from resit.assets.fetch import obtain
print(obtain(File("toy", "a.txt", (sys.argv[1],)))[1], flush=True)
"""


def test_a_killed_download_leaves_nothing_that_looks_whole(file: Any, web: Any) -> None:
    web.hold = threading.Event()
    process = subprocess.Popen([sys.executable, "-c", FETCHER, f"{web.url}/a.txt"], stdout=subprocess.PIPE)
    assert web.half_sent.wait(20)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    web.hold.set()
    assert not (cache_folder() / "toy/a.txt").exists()
    web.hold = None
    assert obtain(file("a.txt"))[1].read_bytes() == body_of("a.txt")


def test_what_killed_downloads_left_is_swept_after_a_day(file: Any) -> None:
    folder = cache_folder() / "toy"
    folder.mkdir(parents=True)
    old, new = folder / ".a.txt.0.part", folder / ".a.txt.1.part"
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (time.time() - 2 * 86400,) * 2)
    obtain(file("a.txt"))
    assert not old.exists()
    assert new.exists()


def test_two_processes_may_fetch_at_once(web: Any) -> None:
    command = [sys.executable, "-c", FETCHER, f"{web.url}/a.txt"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = {process.communicate()[0].strip() for process in both}
    assert printed == {str(cache_folder() / "toy" / "a.txt")}
    assert (cache_folder() / "toy" / "a.txt").read_bytes() == body_of("a.txt")
    assert cached_files() == ["a.txt"]


def test_a_cache_that_cannot_be_written_is_an_asset_error(
    file: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    (tmp_path / "taken").write_bytes(b"a file, not a folder")
    monkeypatch.setenv("RESIT_CACHE", str(tmp_path / "taken"))
    with pytest.raises(AssetError, match="cannot write") as raised:
        obtain(file("a.txt"))
    assert "RESIT_CACHE" in raised.value.hint


def test_the_platforms_cache_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RESIT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder().name == "resit"


def test_a_download_shows_its_progress_on_a_terminal(web: Any) -> None:
    primary, secondary = pty.openpty()
    command = [sys.executable, "-c", FETCHER, f"{web.url}/a.txt"]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=secondary, check=True, env={**os.environ, "TERM": "xterm"}
    )
    os.close(secondary)
    shown = os.read(primary, 65536)
    os.close(primary)
    assert b"a.txt" in shown
    assert b"5.0" in shown
    assert done.stdout.endswith(b"a.txt\n")


# pip


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes for its only index, with one wheel."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    with ZipFile(folder / "toy_data-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("toy_data/rows.jsonl", '{"question": "Why?"}\n')
        wheel.writestr(
            "toy_data-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy-data\nVersion: 1.0\n"
        )
        wheel.writestr("toy_data-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("toy_data-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def test_pip_fetches_a_wheel_and_one_member_is_kept(wheels: Path) -> None:
    path = obtain(File("toy", "rows.jsonl", ("pypi:toy-data==1.0!toy_data/rows.jsonl",)))[1]
    assert path.read_bytes() == b'{"question": "Why?"}\n'
    assert cached_files() == ["rows.jsonl"]


def test_pip_fetches_a_whole_wheel(wheels: Path) -> None:
    name = "toy_data-1.0-py3-none-any.whl"
    path = obtain(File("toy", name, ("pypi:toy-data==1.0",)))[1]
    assert path.read_bytes() == (wheels / name).read_bytes()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("pypi:toy-data==2.0!toy_data/rows.jsonl", "pip: No matching distribution found for toy-data==2.0"),
        ("pypi:toy-data==1.0!toy_data/none", "toy_data-1.0-py3-none-any.whl has no toy_data/none"),
        ("pypi:toy-data", "expected pypi:package==version!path/in/wheel"),
    ],
)
def test_what_pip_cannot_give_is_told(wheels: Path, source: str, reason: str) -> None:
    with pytest.raises(AssetError) as raised:
        obtain(File("toy", "rows.jsonl", (source,)))
    assert f"{source} ({reason})" in str(raised.value)


def test_a_package_index_out_of_reach_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(AssetError, match=r"\(no connection to the package index\)"):
        obtain(File("toy", "rows.jsonl", ("pypi:toy-data==1.0!toy_data/rows.jsonl",)))


def test_a_python_without_pip_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pip.py").write_text("raise ImportError('No module named pip')", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(AssetError, match="this Python has no pip") as raised:
        obtain(File("toy", "rows.jsonl", ("pypi:toy-data==1.0!toy_data/rows.jsonl",)))
    assert "python -m ensurepip" in raised.value.hint


# the catalogue's own


def test_an_unknown_asset_or_file_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="Did you mean 'gsm8k'"):
        assets.fetch("gms8k")
    with pytest.raises(UsageError, match=r"several files"):
        assets.fetch("gsm8k")
    with pytest.raises(UsageError, match=r"no file 'dev.jsonl'"):
        assets.fetch("gsm8k", "dev.jsonl")


@pytest.mark.slow
def test_members_of_an_archive_are_files_of_the_asset(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real wheel, from the package index that the user's pip is set to."""
    try:
        exemplars = assets.fetch("lm-eval", "lm_eval/tasks/gsm8k/gsm8k-cot.yaml")
    except AssetError as error:
        if "pip: " not in str(error):
            raise
        pytest.skip(f"the package index cannot be reached: {error}")
    assert b"fewshot_config" in exemplars.read_bytes()
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # from here on, the one download has to do
    assert assets.fetch("lm-eval", "lm_eval/tasks/gsm8k/gsm8k-cot-llama.yaml").is_file()
    assert assets.fetch("lm-eval", "lm_eval/tasks/gsm8k/gsm8k.yaml").read_bytes().startswith(b"tag:")
    assert "lm_eval/tasks/gsm8k/gsm8k-cot-zeroshot.yaml" in assets.members("lm-eval")
    with pytest.raises(AssetError, match="has no lm_eval/tasks/none"):
        assets.fetch("lm-eval", "lm_eval/tasks/none")
