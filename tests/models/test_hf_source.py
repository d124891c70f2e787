"""Where models are looked for, what identifies them, and what is said when they are not whole."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resit.errors import AssetError, UsageError
from resit.models import Setup, create
from resit.records import Request

pytest.importorskip("transformers", reason="needs resit[hf]")

Ask = Callable[..., Request]


@pytest.fixture(scope="module")
def original(small_model: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model(tmp_path_factory.mktemp("small") / "tiny", "llama", num_key_value_heads=2)


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "tiny"))


def identity(folder: Path, **args: Any) -> dict[str, Any]:
    return create("hf", {"pretrained": str(folder), **args}).identity()


def changed(folder: Path, **args: Any) -> set[str]:
    before, after = identity(folder), identity(folder, **args)
    return {key for key in before if before[key] != after[key]}


def edit(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}), encoding="utf-8")


def test_the_identity_is_there_before_torch_is() -> None:
    code = "import sys, resit.models.hf.model, resit.models.hf.likelihood; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_what_changes_texts_is_identity_and_what_schedules_is_not(folder: Path) -> None:
    assert changed(folder, device="cpu", attn_implementation="eager", shared_prefixes="false") == set()
    assert changed(folder, dtype="float32") == set()
    assert changed(folder, dtype="bf16") == {"dtype"}
    assert changed(folder, max_length="100") == {"max_length"}
    assert changed(folder, add_bos_token="false") == {"add_bos_token"}
    assert changed(folder, enable_thinking="true") == {"chat_template_args"}
    assert changed(folder, think_end_token="</think>") == {"think_end_token"}
    alone = create("hf", {"pretrained": str(folder)}, Setup(concurrency=3)).identity()
    assert alone == identity(folder)


def test_the_tokenizer_of_another_gguf_file_is_identity(folder: Path, tmp_path: Path) -> None:
    one, copy, other = (tmp_path / f"{name}.gguf" for name in ("one", "copy", "other"))
    for path, version in ((one, 3), (copy, 3), (other, 2)):
        path.write_bytes(b"GGUF" + struct.pack("<IQQ", version, 0, 0))
    with_one, with_other = (
        identity(folder, tokenizer=str(path))["tokenizer_sha256"] for path in (one, other)
    )
    assert None is not with_one != with_other is not None
    assert identity(one)["tokenizer_sha256"] is None, "the digest of the weights' file holds it"
    assert identity(one, tokenizer=str(copy)) == identity(one)
    assert identity(one, tokenizer=str(other))["tokenizer_sha256"] == with_other


def test_a_copy_is_the_same_model_and_a_changed_file_another(folder: Path, tmp_path: Path) -> None:
    before = identity(folder)
    assert identity(Path(shutil.copytree(folder, tmp_path / "copy"))) == before
    edit(folder / "config.json", transformers_version="0.0", _name_or_path="elsewhere")
    assert identity(folder) == before
    edit(folder / "config.json", rms_norm_eps=1e-3)
    edit(folder / "tokenizer_config.json", chat_template="{{ messages[0]['content'] }}")
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    after = identity(folder)
    assert {key for key in before if before[key] != after[key]} == {
        "config_sha256",
        "tokenizer_sha256",
        "weights_sha256",
    }


def test_the_dtype_of_a_checkpoint_that_does_not_say_is_its_weights(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config.pop("dtype")
    (folder / "config.json").write_text(json.dumps(config))
    assert identity(folder)["dtype"] == "float32"
    edit(folder / "config.json", torch_dtype="bfloat16")
    assert identity(folder)["dtype"] == "bfloat16"


def test_the_context_is_the_models_own(folder: Path) -> None:
    assert identity(folder)["max_length"] == 512
    with pytest.raises(UsageError, match="max_length=513: tiny was made for a context of 512 tokens"):
        identity(folder, max_length="513")


Damage = Callable[[Path], None]


def _cut(folder: Path) -> None:
    with (folder / "model.safetensors").open("r+b") as stream:
        stream.truncate(stream.seek(0, 2) - 8)


def _scramble(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 4) + b"{]}{")


def _point(folder: Path) -> None:
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")


def _drop(name: str) -> Damage:
    return lambda folder: (folder / name).unlink()


def _shard(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def _to_adapter(folder: Path) -> None:
    (folder / "config.json").unlink()
    (folder / "model.safetensors").unlink()
    (folder / "adapter_config.json").write_text("{}")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_cut, r"model\.safetensors: damaged or truncated \(its tensors end at byte \d+, the file at \d+\)"),
        (_scramble, r"model\.safetensors: damaged or truncated"),
        (_point, r"model\.safetensors is a Git LFS pointer, not the weights"),
        (_drop("model.safetensors"), r"model\.safetensors cannot be read \(No such file or directory\)"),
        (_drop("config.json"), r"expected config\.json in .*, found .*model\.safetensors"),
        (_shard, r"model-00002-of-00002\.safetensors cannot be read"),
        (_to_adapter, "holds an adapter, not a model"),
        (lambda folder: (folder / "config.json").write_text("{"), r"config\.json: expected a JSON object"),
    ],
)
def test_a_folder_that_is_no_whole_model(folder: Path, damage: Damage, message: str) -> None:
    damage(folder)
    with pytest.raises(AssetError, match=message):
        identity(folder)


def test_weights_that_are_missing_are_not_made_up(folder: Path, ask: Ask) -> None:
    edit(folder / "config.json", num_hidden_layers=4)
    with (
        create("hf", {"pretrained": str(folder), "device": "cpu"}) as model,
        pytest.raises(AssetError, match=r"lacks 9 of the model's weights: model\.layers\.3\."),
    ):
        list(model.generate([ask("a")]))


def test_a_checkpoint_that_transformers_cannot_load(folder: Path, ask: Ask) -> None:
    edit(folder / "config.json", model_type="no-such-architecture")
    with (
        create("hf", {"pretrained": str(folder)}) as model,
        pytest.raises(AssetError, match="transformers cannot load it"),
    ):
        list(model.generate([ask("a")]))


def test_an_encoder_decoder_is_refused(folder: Path, ask: Ask) -> None:
    edit(folder / "config.json", is_encoder_decoder=True)
    with (
        create("hf", {"pretrained": str(folder)}) as model,
        pytest.raises(UsageError, match="encoder-decoder"),
    ):
        list(model.generate([ask("a")]))


CODE = """
from transformers import LlamaConfig, LlamaForCausalLM
class OwnConfig(LlamaConfig):
    model_type = "own"
class Own(LlamaForCausalLM):
    config_class = OwnConfig
"""


def test_a_models_own_python_runs_only_when_asked(
    folder: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    (folder / "own.py").write_text(CODE)
    auto_map = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.Own"}
    edit(folder / "config.json", model_type="own", auto_map=auto_map)
    with (
        create("hf", {"pretrained": str(folder)}) as model,
        pytest.raises(UsageError, match="its own Python, which is not run unasked"),
    ):
        list(model.generate([ask("a")]))
    trusted = create("hf", {"pretrained": str(folder), "trust_remote_code": "true", "device": "cpu"})
    with trusted as model:
        (answer,) = model.generate([ask("a", max_tokens=2)])
    assert answer.error is None
    assert trusted.identity()["code_sha256"]
    assert identity(folder)["code_sha256"] is None


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"dtype": "int8"}, "dtype=int8: expected auto, float32, bfloat16 or float16"),
        ({"load_in_4bit": "true", "load_in_8bit": "true"}, "exclude one another"),
        ({"chat_template": "/no/such.jinja"}, "there is no such file"),
        ({"batch_size": "4"}, "batch_size is not set here"),
        ({"delta": "x"}, "delta is not set here"),
        ({"pretraned": "x"}, "did you mean 'pretrained'"),
    ],
)
def test_arguments_that_cannot_be_meant(folder: Path, args: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        identity(folder, **args)


def test_lm_evals_other_arguments_are_taken_with_a_note(folder: Path) -> None:
    notes: list[str] = []
    args = {
        "pretrained": str(folder),
        "use_fast_tokenizer": "True",
        "backend": "causal",
        "parallelize": "False",
    }
    create("huggingface", args, Setup(notify=notes.append))
    assert notes == ["model_args of 'huggingface': backend, use_fast_tokenizer changes nothing here"]


def test_a_device_that_is_not_there(folder: Path, ask: Ask) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with (
        create("hf", {"pretrained": str(folder), "device": "cuda:0"}) as model,
        pytest.raises(UsageError, match="device=cuda:0: torch finds no such device"),
    ):
        list(model.generate([ask("a")]))


def test_a_package_that_is_missing_is_named(folder: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with (
        create("hf", {"pretrained": str(folder)}) as model,
        pytest.raises(UsageError, match="needs transformers, which is not installed") as raised,
    ):
        list(model.generate([ask("a")]))
    assert raised.value.hint == "pip install 'resit[hf]'"


def test_quantising_names_its_package(folder: Path, ask: Ask) -> None:
    pytest.importorskip("accelerate")
    try:
        import bitsandbytes  # noqa: F401
    except ImportError:
        pass
    else:
        pytest.skip("bitsandbytes is installed")
    with (
        create("hf", {"pretrained": str(folder), "load_in_4bit": "true"}) as model,
        pytest.raises(UsageError, match="needs bitsandbytes"),
    ):
        list(model.generate([ask("a")]))


@pytest.mark.parametrize("name", ["/no/such/folder", "./here/there", "no/such/model.gguf", "a/b/c"])
def test_names_that_can_be_nothing(name: str) -> None:
    with pytest.raises(AssetError, match="there is no such file or folder"):
        create("hf", {"pretrained": name})
