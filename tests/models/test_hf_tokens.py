"""Beginning-of-sequence tokens, chat templates and the text of each token."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resit.errors import AssetError, UsageError
from resit.models.hf.source import Source
from resit.models.hf.tokens import Tokens
from resit.records import Message

pytest.importorskip("transformers", reason="needs resit[hf]")

BOS, EOS, G, SOP = 1, 2, 3, 4
HI = (Message("user", "Hi"),)


@pytest.fixture
def tokens(small_tokenizer: Callable[..., Any], tmp_path: Path) -> Callable[..., Tokens]:
    """Builds tokens: `tokens(front="<s>", behind="", template=…, add_bos=None, …)`."""

    def build(front: str = "<s>", behind: str = "", **settings: Any) -> Tokens:
        template = {"template": settings.pop("template")} if "template" in settings else {}
        small_tokenizer(tmp_path, front, behind, **template)
        return Tokens(Source("pretrained=x", tmp_path), **settings)

    return build


@pytest.mark.parametrize(
    ("front", "behind", "add_bos", "text", "expected"),
    [
        ("<s>", "", None, "a", (BOS,)),
        ("<s>", "", None, "<s>a", (BOS,)),
        ("<s>", "", False, "a", ()),
        ("<s>", "", False, "<s>a", (BOS,)),
        ("", "", None, "a", ()),
        ("", "", True, "a", (BOS,)),
        ("", "", True, "<s>a", (BOS,)),
        ("<s>", "</s>", None, "a", (BOS,)),
        ("", "</s>", None, "a", ()),
        ("<g> <sop>", "", None, "a", (G, SOP)),
        ("<g> <sop>", "", None, "<g><sop>a", (G, SOP)),
    ],
)
def test_special_tokens_stand_in_front_once_and_never_behind(
    tokens: Callable[..., Tokens],
    front: str,
    behind: str,
    add_bos: bool | None,
    text: str,
    expected: tuple[int, ...],
) -> None:
    found = tokens(front, behind, add_bos=add_bos)
    last = found.tokenizer.encode("a", add_special_tokens=False)
    assert found.token_ids(text) == (*expected, *last)
    encoding = found.encode(text)
    assert encoding.token_ids == (*expected, *last)
    assert encoding.bos is (expected[:1] == (BOS,))


def test_a_template_that_begins_with_bos_gets_no_second(tokens: Callable[..., Tokens]) -> None:
    encoding = tokens().encode(HI)
    assert encoding.text == "<s>[user]Hi</s>[assistant]"
    assert encoding.token_ids is not None
    assert encoding.token_ids[:2].count(BOS) == 1
    assert encoding.pieces is not None
    assert "".join(encoding.pieces) == encoding.text


def test_a_template_without_bos_gets_the_tokenizers(tokens: Callable[..., Tokens]) -> None:
    encoding = tokens(template="{{ messages[0]['content'] }}").encode(HI)
    assert (encoding.text, encoding.bos, (encoding.pieces or ())[0]) == ("Hi", True, "<s>")


def test_bos_cannot_be_added_where_there_is_none(tokens: Callable[..., Tokens]) -> None:
    found = tokens("", add_bos=True)
    found.tokenizer.bos_token = None
    with pytest.raises(UsageError, match="no beginning-of-sequence token"):
        found.token_ids("a")


def test_a_last_assistant_turn_is_continued(tokens: Callable[..., Tokens]) -> None:
    begun = (*HI, Message("assistant", "The total is "))
    assert tokens().text(begun) == "<s>[user]Hi</s>[assistant]The total is "


STRICT = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{{ messages[-1]['content'] }}"
)
DEAF = "{% for m in messages %}{% if m['role'] != 'system' %}{{ m['content'] }}{% endif %}{% endfor %}"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (STRICT, "refuses the turns system, user: no system role"),
        (DEAF, "leaves the system turn out"),
        (None, "the tokenizer has no chat template"),
        ("{% for %}", "refuses the turns system, user"),
    ],
)
def test_a_system_turn_is_never_lost_in_silence(
    tokens: Callable[..., Tokens], template: str | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        tokens(template=template).text((Message("system", "Be brief."), *HI))


def test_another_template_and_its_arguments(tokens: Callable[..., Tokens], tmp_path: Path) -> None:
    file = tmp_path / "own.jinja"
    file.write_text("{% if enable_thinking %}think: {% endif %}{{ messages[0]['content'] }}")
    found = tokens(chat_template=file, template_args={"enable_thinking": True})
    assert found.text(HI) == "think: Hi"


@pytest.mark.parametrize(
    "text", ["Ana has 12 pens", "Zürich 😀 und 数学", "  two  spaces ", "a\n\nb", "</s>x"]
)
def test_pieces_joined_are_the_text(tokens: Callable[..., Tokens], text: str) -> None:
    encoding = tokens("").encode(text)
    assert encoding.pieces is not None
    assert "".join(encoding.pieces) == text
    assert len(encoding.pieces) == len(encoding.token_ids or ())


@pytest.mark.parametrize(
    ("context", "text", "first"),
    [
        ("", "Ana has", "Ana"),
        ("Ana has ", "12 pens", " 12"),  # the token of the boundary's space reaches into the text
        ("Ana has", " 12 pens", " 12"),
        ("Ana h", "as", " has"),
        ("Question:", "", None),
    ],
)
def test_a_passage_is_divided_at_the_token_in_which_its_text_begins(
    tokens: Callable[..., Tokens], context: str, text: str, first: str | None
) -> None:
    found = tokens()
    ids, start, pieces = found.divided(context, text)
    assert ids == found.token_ids(context + text)
    assert len(pieces) == len(ids) - start
    assert (pieces[0] if pieces else None) == first


@pytest.mark.parametrize(("bos", "eos", "opening"), [("<s>", "</s>", BOS), (None, "</s>", EOS)])
def test_a_passage_without_context_stands_behind_bos_or_eos(
    tokens: Callable[..., Tokens], bos: str | None, eos: str, opening: int
) -> None:
    found = tokens("")
    found.tokenizer.bos_token, found.tokenizer.eos_token = bos, eos
    ids, start, _ = found.divided("", "Ana")
    assert (ids[0], start) == (opening, 1)


def test_a_folder_without_a_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(AssetError, match="its tokenizer cannot be loaded"):
        Tokens(Source("pretrained=x", tmp_path)).token_ids("a")
