from __future__ import annotations

import errno
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resit.errors import AssetError
from resit.models.gguf import file_sha256, read_header


def string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def tiny_gguf(tensor_offset: int = 0, tensor_bytes: int = 64, version: int = 3) -> bytes:
    """A well-formed file: five keys of different types, an array of strings, one tensor."""
    keys = [
        string("general.architecture") + struct.pack("<I", 8) + string("llama"),
        string("llama.context_length") + struct.pack("<II", 4, 2048),
        string("llama.rope.freq_base") + struct.pack("<If", 6, 1e4),
        string("tokenizer.ggml.add_bos_token") + struct.pack("<I?", 7, True),
        string("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + string("<s>") + string("a"),
        string("tokenizer.ggml.scores") + struct.pack("<IIQ2f", 9, 6, 2, 0.0, 1.0),
    ]
    tensor = string("token_embd.weight") + struct.pack("<I2QIQ", 2, 4, 4, 0, tensor_offset)
    head = b"GGUF" + struct.pack("<IQQ", version, 1, len(keys)) + b"".join(keys) + tensor
    return head + b"\0" * (-len(head) % 32) + b"\1" * tensor_bytes


def test_reads_metadata(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(tiny_gguf())
    header = read_header(path)
    assert header.context_length == 2048
    assert header.metadata["tokenizer.ggml.add_bos_token"] is True
    assert header.metadata["tokenizer.ggml.tokens"] == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"PK\3\4 some wheel", "begins with"),
        (b"GGUF", "damaged or truncated"),
        (tiny_gguf(version=1), "version 1"),
        (tiny_gguf(tensor_offset=1 << 20), "truncated"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1), "claims"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(AssetError, match=message):
        read_header(path)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="No such file"):
        read_header(tmp_path / "none.gguf")
    with pytest.raises(AssetError, match="folder"):
        read_header(tmp_path)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, len(tiny_gguf()) - 65), st.binary(min_size=0, max_size=12))
def test_a_file_cut_or_overwritten_anywhere_never_gives_anything_but_an_asset_error(
    tmp_path: Path, place: int, noise: bytes
) -> None:
    whole = tiny_gguf()
    path = tmp_path / "m.gguf"
    path.write_bytes(whole[:place])
    with pytest.raises(AssetError):
        read_header(path)
    path.write_bytes(whole[:place] + noise + whole[place + len(noise) :])
    with suppress(AssetError):
        read_header(path)


def test_digest_is_remembered_until_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"one")
    first = file_sha256(path)
    assert first == "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
    with monkeypatch.context() as patch:
        patch.setattr("hashlib.file_digest", lambda *_: pytest.fail("computed again"))
        assert file_sha256(path) == first
    path.write_bytes(b"three")
    assert file_sha256(path) != first


def test_a_cache_that_cannot_be_written_only_costs_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"x")
    monkeypatch.setenv("RESIT_CACHE", str(tmp_path / "file" / "not-a-folder"))
    path = tmp_path / "m.gguf"
    path.write_bytes(b"one")
    assert len(file_sha256(path)) == 64


def test_a_full_cache_only_costs_time_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "m.gguf"
    path.write_bytes(b"one")
    monkeypatch.setattr("os.fsync", no_space)
    assert len(file_sha256(path)) == 64
