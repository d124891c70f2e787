from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from resit.errors import UsageError
from resit.models import Model, Setup, create, kinds, parse_model_args


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("pretrained=x", {"pretrained": "x"}),
        (
            "model=m,base_url=http://h/v1?key=a&b=c",
            {"model": "m", "base_url": "http://h/v1?key=a&b=c"},
        ),
        (" a=1 , b= two ", {"a": "1", "b": " two"}),
        ("a=", {"a": ""}),
        ("a=1,", {"a": "1"}),
        ('{"text": "a,b", "delay": 0.5}', {"text": "a,b", "delay": 0.5}),
    ],
)
def test_parse_model_args(text: str, expected: dict[str, object]) -> None:
    assert parse_model_args(text) == expected


@pytest.mark.parametrize("text", ["pretrained", "=x", "a=1,a=2", "text=a,b", '{"a": 1', '{"a"}'])
def test_ill_formed_model_args_say_so(text: str) -> None:
    with pytest.raises(UsageError, match="model_args"):
        parse_model_args(text)


def test_no_message_shows_a_secret() -> None:
    with pytest.raises(UsageError, match="found the rest of api_key") as caught:
        parse_model_args("model=m,api_key=first,second")
    assert "second" not in str(caught.value)
    with pytest.raises(UsageError, match="api_key") as caught:
        create("openai-chat", {"model": "m", "base_url": "http://h/v1", "api_key": ["secret"]})
    assert "'secret'" not in str(caught.value)


def test_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'llamacpp'") as caught:
        create("llamacp")
    assert "scripted" in caught.value.hint


def test_underscores_in_a_kind_are_recognised() -> None:
    with pytest.raises(UsageError, match="did you mean 'openai-chat'"):
        create("openai_chat")


def test_unknown_argument_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="no argument 'pretraind'; did you mean 'pretrained'"):
        create("llamacpp", {"pretraind": "x"})


def test_a_value_of_the_wrong_type_is_shown() -> None:
    with pytest.raises(UsageError, match=r"delay.*found 'soon'"):
        create("scripted", {"delay": "soon"})


def test_lm_evals_names_are_aliases() -> None:
    assert {"dummy", "local-completions", "local-chat-completions"} <= set(kinds())
    model = create("dummy", {}, Setup())
    assert isinstance(model, Model)
    assert model.name == "scripted"


def test_importing_the_room_imports_no_backend() -> None:
    heavy = ["xllamacpp", "aiohttp", "pydantic", "resit.models.llamacpp", "resit.models.openai"]
    code = f"import sys, json, resit.models; print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert json.loads(found.stdout) == []


def test_every_argument_is_described() -> None:
    source = Path(create.__code__.co_filename).parent
    assert source.is_dir()
    for kind in ("hf", "llamacpp", "scripted", "replay", "openai"):
        module = __import__(f"resit.models.{kind}", fromlist=["arguments"])
        for name, field in module.arguments(kind).model_fields.items():
            assert field.description, f"{kind}.{name} has no description"


def test_arguments_of_lm_eval_that_need_no_setting_are_taken_with_a_note() -> None:
    notes: list[str] = []
    args = parse_model_args("model=m,base_url=http://h/v1/completions,tokenized_requests=False,batch_size=16")
    assert create("local-completions", args, Setup(notify=notes.append)).name == "m"
    assert notes == ["model_args of 'local-completions': batch_size, tokenized_requests changes nothing here"]


@pytest.mark.parametrize(("name", "where"), [("max_gen_toks", "--gen-kwargs"), ("api_key", "environment")])
def test_arguments_that_are_set_elsewhere_say_where(name: str, where: str) -> None:
    with pytest.raises(UsageError, match=name) as caught:
        create("local-completions", {name: "1"})
    assert where in caught.value.hint


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed")
def test_vllm_absent_names_the_extra(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs vllm") as caught:
        create("vllm", {"pretrained": str(tmp_path), "block_size": "16"})
    assert "resit[vllm]" in caught.value.hint


def test_what_vllm_takes_elsewhere_is_named() -> None:
    with pytest.raises(UsageError, match="max_gen_toks is not set here"):
        create("vllm", {"pretrained": "x", "max_gen_toks": "5"})
