"""Models of the hub: what is fetched of them, when, and what is said when they cannot be had."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from resit.errors import AssetError
from resit.models.hf.source import checked_weights, find, tokenizer_digest, weights_digest


def safetensors(value: int = 0) -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(header)) + header + struct.pack("<i", value)


FILES = {
    "config.json": b'{"model_type": "llama", "dtype": "bfloat16"}',
    "tokenizer.json": b"{}",
    "own.py": b"raise SystemExit",
    "model.safetensors": safetensors(),
    "pytorch_model.bin": b"a pickle",
    "original/consolidated.00.pth": b"another copy",
    "README.md": b"# A model",
}


def fetched(hub: Any) -> list[str]:
    """Files whose bytes were asked for."""
    return [line.rpartition("/")[2] for line in hub.asked if line.startswith("HEAD ")]


def test_only_what_is_needed_is_fetched_and_weights_not_before_they_are(hub: Any) -> None:
    hub.add("org/m", FILES)
    source = find("pretrained", "org/m")
    assert hub.asked == []
    assert source.name == "org/m"
    assert tokenizer_digest(source, source)
    assert set(fetched(hub)) == {"config.json", "tokenizer.json"}
    (weights,) = checked_weights(source)
    assert weights.read_bytes() == FILES["model.safetensors"]
    assert set(fetched(hub)) == {"config.json", "tokenizer.json", "model.safetensors"}


def test_python_is_fetched_only_for_those_who_will_run_it(hub: Any) -> None:
    hub.add("org/m", FILES)
    assert (find("pretrained", "org/m", code=True).small() / "own.py").is_file()


def test_shards_are_those_of_the_index(hub: Any) -> None:
    shards = {f"part-{n}.safetensors": safetensors(n) for n in range(2)}
    index = {"weight_map": {"a": "part-0.safetensors", "b": "part-1.safetensors"}}
    hub.add("org/m", {
        "config.json": b'{"a": 1}', "model.safetensors.index.json": json.dumps(index).encode(), **shards,
        "part-2.safetensors": safetensors(2),
    })  # fmt: skip
    paths = checked_weights(find("pretrained", "org/m"))
    assert [path.name for path in paths] == ["part-0.safetensors", "part-1.safetensors"]


def test_a_revision_and_a_folder_within(hub: Any) -> None:
    branch = {f"sub/{name}": body for name, body in FILES.items()}
    hub.add("org/m", FILES, branches={"step2": {**branch, "sub/model.safetensors": safetensors(2)}})
    main = weights_digest(find("pretrained", "org/m"))
    other = find("pretrained", "org/m", revision="step2", subfolder="sub")
    assert checked_weights(other)[0].read_bytes() == safetensors(2)
    assert weights_digest(other) != main


def test_a_model_that_was_fetched_is_there_without_the_hub(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("org/m", FILES)
    online = weights_digest(find("pretrained", "org/m"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert weights_digest(find("pretrained", "org/m")) == online


@pytest.mark.parametrize(
    ("name", "settings", "reason", "remedy"),
    [
        ("org/none", {}, "no such repository, or a private one", "HF_TOKEN"),
        ("org/m", {"gated": True}, "gated", "ask for access"),
        ("org/m", {"token": "hf_secret"}, "no such repository, or a private one", "HF_TOKEN"),
    ],
)
def test_the_reason_and_what_would_help_are_told(
    hub: Any, name: str, settings: dict[str, Any], reason: str, remedy: str
) -> None:
    hub.add("org/m", FILES, **settings)
    with pytest.raises(AssetError) as raised:
        find("pretrained", name).small()
    assert str(raised.value).startswith(f"pretrained={name}: {name}@main cannot be had from the hub (")
    assert reason in str(raised.value)
    assert remedy in raised.value.hint


def test_a_revision_that_does_not_exist(hub: Any) -> None:
    hub.add("org/m", FILES)
    with pytest.raises(AssetError, match=r"org/m@v9 cannot be had .* has no such revision"):
        find("pretrained", "org/m", revision="v9").small()


def test_no_network_is_told_at_once(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(AssetError, match="Connection refused") as raised:
        find("pretrained", "org/m").small()
    assert "name a folder that holds the model" in raised.value.hint
