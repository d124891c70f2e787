"""Log-probabilities on real llama.cpp: forced by a grammar, checked against whole distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from resit.errors import UsageError
from resit.models import LikelihoodModel, Setup, create
from resit.models.llama_likelihood import Divided, divided
from resit.models.llamacpp import LlamaCppModel
from resit.records import Passage, Request, TokenLikelihoods

pytest.importorskip("xllamacpp", reason="needs resit[llamacpp]")

Ask = Callable[..., Request]
STORY = "Mara had seven pears. She gave two of them to her brother and ate one."
CONTEXT = "Here is a question about fruit that somebody wrote down.\n" * 6


class Tokenizer:
    """A server that only tokenises: the given pieces, as bytes, with ids 10, 11, …"""

    def __init__(self, *pieces: str | bytes, opening: int | None = 1) -> None:
        self._sizes = tuple(len(p.encode() if isinstance(p, str) else p) for p in pieces)
        self._opening = opening

    def tokens(self, text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return tuple(range(10, 10 + len(self._sizes))), self._sizes

    def opening(self) -> int | None:
        return self._opening


SMILE = "😀".encode()


@pytest.mark.parametrize(
    ("pieces", "context", "text", "expected"),
    [
        (["a", " b"], "", "a b", Divided((1, 10, 11), 1, ("a", " b"))),
        (["a", " b", " c"], "a b", " c", Divided((10, 11, 12), 2, (" c",))),
        (["a", " bc"], "a b", "c", Divided((10, 11), 1, (" bc",))),
        (["<s>", "a", " b"], "", "a b", Divided((10, 11, 12), 1, ("a", " b"))),
        (["<s>", " a", " b"], "a", " b", Divided((10, 11, 12), 2, (" b",))),
        (["x", SMILE[:2], SMILE[2:]], "x", "😀", Divided((10, 11, 12), 1, ("😀", ""))),
        ([SMILE[:1], SMILE[1:], "x"], "😀", "x", Divided((10, 11, 12), 2, ("x",))),
        (["a"], "a", "", Divided((10,), 1, ())),
    ],
)
def test_division(pieces: list[str | bytes], context: str, text: str, expected: Divided) -> None:
    assert divided(Tokenizer(*pieces), Passage("k", text, context)) == expected  # type: ignore[arg-type]


def test_a_model_without_an_opening_token_says_so() -> None:
    with pytest.raises(UsageError, match="neither BOS nor EOS"):
        divided(Tokenizer("a", opening=None), Passage("k", "a"))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def model(smollm2: Path) -> Iterator[LlamaCppModel]:
    with create("llamacpp", {"pretrained": str(smollm2), "n_ctx": "256"}, Setup(concurrency=4)) as loaded:
        assert isinstance(loaded, LlamaCppModel)
        assert isinstance(loaded, LikelihoodModel)
        yield loaded


def score(model: LlamaCppModel, *passages: Passage) -> dict[str, TokenLikelihoods]:
    return {found.key: found for found in model.loglikelihoods(passages)}


@pytest.mark.slow
def test_forced_tokens_have_the_probability_that_the_whole_distribution_gives(model: LlamaCppModel) -> None:
    found = score(model, Passage("k", STORY))["k"]
    assert "".join(found.pieces) == STORY
    assert found.mean is found.deviation is None
    server = model._server()
    ids = divided(server, Passage("k", STORY)).token_ids
    for place in (1, 2, len(ids) // 2, len(ids) - 1):
        body = {"prompt": list(ids[:place]), "n_predict": 1, "temperature": 0.0, "n_probs": 1 << 20}
        every = server.complete(body)["completion_probabilities"][0]["top_logprobs"]
        assert math.fsum(math.exp(entry["logprob"]) for entry in every) == pytest.approx(1.0, abs=1e-3)
        value = next(entry["logprob"] for entry in every if entry["id"] == ids[place])
        assert found.logprobs[place - 1] == pytest.approx(value, abs=1e-4)
        assert found.greedy[place - 1] == (every[0]["id"] == ids[place])


@pytest.mark.slow
def test_values_do_not_depend_on_company_or_cache(model: LlamaCppModel) -> None:
    alone = score(model, Passage("k", STORY, CONTEXT))["k"]
    passages = [Passage(str(n), f" {n} pears." if n else STORY, CONTEXT) for n in range(9)]
    among = score(model, *passages)
    assert among["0"].logprobs == alone.logprobs
    assert len(among) == 9


@pytest.mark.slow
def test_a_greedy_answer_is_likeliest_in_every_place(model: LlamaCppModel, ask: Ask) -> None:
    (answer,) = model.generate([ask("The days of the week are Monday, Tuesday,", max_tokens=12)])
    found = score(model, Passage("k", answer.text, "The days of the week are Monday, Tuesday,"))["k"]
    assert "".join(found.pieces) == answer.text
    assert all(found.greedy)


@pytest.mark.slow
def test_an_end_of_text_within_a_passage_is_scored_like_any_token(model: LlamaCppModel) -> None:
    found = score(model, Passage("k", "yes<|im_end|>\n<|im_start|>user\nno", "Say yes. "))["k"]
    assert found.error is None
    assert "<|im_end|>" in found.pieces
    plain = score(model, Passage("k", "yes", "Say yes. "))["k"]
    assert found.logprobs[: len(plain.logprobs)] == pytest.approx(plain.logprobs, abs=1e-4)
    assert all(value < 0 for value in found.logprobs)


@pytest.mark.slow
def test_what_cannot_be_scored_says_why_and_the_rest_is_scored(model: LlamaCppModel) -> None:
    found = score(model, Passage("empty", ""), Passage("long", "word " * 300), Passage("fine", "A word."))
    assert "no token" in str(found["empty"].error)
    assert str(found["long"].error).startswith("text too long: ")
    assert "the context has 256" in str(found["long"].error)
    assert found["fine"].error is None


def two_layers(source: Path, target: Path) -> None:
    """The first two layers of a GGUF model, in float32."""
    gguf = pytest.importorskip("gguf", reason="needs resit[hf]")
    reader, writer = gguf.GGUFReader(source), gguf.GGUFWriter(target, "llama")
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        own = {"llama.block_count": 2, "general.file_type": int(gguf.LlamaFileType.ALL_F32)}
        kind = field.types[0]
        inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, own.get(name, field.contents()), kind, sub_type=inner)
    for tensor in reader.tensors:
        if not tensor.name.startswith("blk.") or int(tensor.name.split(".")[1]) < 2:
            weights = gguf.dequantize(tensor.data, tensor.tensor_type).astype("float32")
            writer.add_tensor(tensor.name, weights, raw_dtype=gguf.GGMLQuantizationType.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_values_are_those_of_transformers_on_the_same_weights(smollm2: Path, tmp_path: Path) -> None:
    """In float32 throughout: keys and values as well, which a run keeps in 16 bits."""
    torch = pytest.importorskip("torch", reason="needs resit[hf]")
    transformers = pytest.importorskip("transformers", reason="needs resit[hf]")
    xllamacpp = pytest.importorskip("xllamacpp")
    two_layers(smollm2, tmp_path / "two.gguf")
    single = xllamacpp.ggml_type.GGML_TYPE_F32
    passages = [Passage("whole", STORY), Passage("after", " She has four left.", CONTEXT + STORY)]
    args = {"pretrained": str(tmp_path / "two.gguf"), "n_ctx": "256", "n_threads": "1", "steady": "false"}
    with create("llamacpp", args, Setup(concurrency=2)) as model:
        assert isinstance(model, LlamaCppModel)
        model._layout = replace(model._layout, more={"cache_type_k": single, "cache_type_v": single})
        found = score(model, *passages)
        tokens = {passage.key: divided(model._server(), passage) for passage in passages}
    plain = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, gguf_file="two.gguf", dtype=torch.float32
    ).eval()
    for key, whole in tokens.items():
        with torch.inference_mode():
            rows = plain(torch.tensor([whole.token_ids])).logits[0].log_softmax(-1)
        places = range(whole.start, len(whole.token_ids))
        expected = [rows[i - 1, whole.token_ids[i]].item() for i in places]
        assert found[key].logprobs == pytest.approx(expected, rel=1e-3, abs=1e-3)
