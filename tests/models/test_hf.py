"""Transformers' models through the backend: small random ones, and the real one where its answers matter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from resit import assets
from resit.errors import UsageError
from resit.models import LikelihoodModel, Model, Setup, create
from resit.prompts import questions
from resit.records import Message, Passage, Request, TokenLikelihoods
from resit.tasks import load

torch = pytest.importorskip("torch", reason="needs resit[hf]")
transformers = pytest.importorskip("transformers", reason="needs resit[hf]")

Ask = Callable[..., Request]

SHOTS = "".join(
    f"Question: Ana has {n} pens and buys {n + 1} more. How many has she?\nAnswer: {2 * n + 1}\n\n"
    for n in (3, 5, 8)
)
PROMPTS = [f"{SHOTS}Question: Ana has {n} pens. How many has she?\nAnswer:" for n in range(7)]
KINDS = {
    "llama": {"num_key_value_heads": 2},
    "qwen2": {"num_key_value_heads": 1},
    "gpt_neox": {},
    "bloom": {"n_head": 4, "n_layer": 3},  # position by a bias: no attention interface, padded batches
}
"""Architectures, built at random: grouped heads, one key head, parallel layers, a fallback."""


@pytest.fixture(scope="module", params=list(KINDS))
def folder(
    request: pytest.FixtureRequest, small_model: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    return small_model(
        tmp_path_factory.mktemp("models") / request.param, request.param, **KINDS[request.param]
    )


@pytest.fixture(scope="module")
def llama(small_model: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model(tmp_path_factory.mktemp("llama") / "llama", "llama", num_key_value_heads=2)


def opened(folder: Path, setup: Setup | None = None, **args: Any) -> Model:
    return create("hf", {"pretrained": str(folder), "device": "cpu", **args}, setup)


class Plain:
    """The same model as transformers alone runs it."""

    def __init__(self, folder: Path) -> None:
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def text(self, prompt: str, limit: int) -> str:
        """What `generate` adds to a prompt, greedily."""
        ids = self.tokenizer(prompt, return_tensors="pt").input_ids
        with torch.inference_mode():
            out = self.model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=limit, do_sample=False
            )
        return str(self.tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True))

    def logprobs(self, ids: Sequence[int]) -> Any:
        """Log-probabilities (tokens - 1, vocabulary) of what follows each token, in one pass."""
        with torch.inference_mode():
            return self.model(torch.tensor([ids])).logits[0, :-1].log_softmax(-1)


def by_document(model: Model, requests: Iterator[Request] | list[Request]) -> dict[int, str]:
    answers = list(model.generate(requests))
    assert [answer.error for answer in answers] == [None] * len(answers)
    return {answer.doc_id: answer.text for answer in answers}


def test_greedy_texts_are_transformers_own(folder: Path, ask: Ask) -> None:
    plain, notes = Plain(folder), list[str]()
    with opened(folder, Setup(concurrency=4, notify=notes.append)) as model:
        texts = by_document(model, [ask(prompt, n, max_tokens=24) for n, prompt in enumerate(PROMPTS)])
    assert texts == {n: plain.text(prompt, 24) for n, prompt in enumerate(PROMPTS)}
    assert len(set(texts.values())) > 1
    assert [("padded batches" in note) for note in notes] == ([True] if folder.name == "bloom" else [])


PASSAGES = [
    *(Passage(f"c{n}", f" {n} pens. How many has she?", SHOTS + "Question: Ana has") for n in range(3)),
    Passage("alone", "Ana has 12 pens and buys 3 more."),
    Passage("whole", SHOTS),
    Passage("one", "A"),
]


def plain_likelihoods(plain: Plain, passage: Passage) -> dict[str, Any]:
    """Figures of a passage from one forward pass over all of it."""
    ids = plain.tokenizer(passage.context + passage.text).input_ids
    logprobs = plain.logprobs(ids)
    start = len(plain.tokenizer(passage.context).input_ids) if passage.context else 1
    rows, wanted = logprobs[start - 1 :], torch.tensor(ids[start:])
    mean = (rows.exp() * rows).sum(-1)
    return {
        "logprobs": rows.gather(1, wanted[:, None])[:, 0],
        "greedy": rows.argmax(-1) == wanted,
        "mean": mean,
        "deviation": ((rows.exp() * rows**2).sum(-1) - mean**2).sqrt(),
    }


def check_likelihoods(found: TokenLikelihoods, expected: dict[str, Any]) -> None:
    assert found.error is None
    assert len(found.pieces) == len(found.logprobs) == len(expected["logprobs"])
    for name in ("logprobs", "mean", "deviation"):
        figures = torch.tensor(getattr(found, name))
        assert (figures - expected[name]).abs().max() < 1e-4, name
    assert list(found.greedy) == expected["greedy"].tolist()


def test_log_probabilities_are_those_of_one_plain_pass(folder: Path) -> None:
    plain = Plain(folder)
    with opened(folder) as model:
        assert isinstance(model, LikelihoodModel)
        found = {each.key: each for each in model.loglikelihoods(PASSAGES, moments=True)}
        (bare,) = model.loglikelihoods(PASSAGES[:1])
    assert found.keys() == {passage.key for passage in PASSAGES}
    for passage in PASSAGES:
        check_likelihoods(found[passage.key], plain_likelihoods(plain, passage))
        assert "".join(found[passage.key].pieces) == passage.text
    assert bare.mean is None
    assert bare.deviation is None
    assert bare.total == pytest.approx(found["c0"].total, abs=1e-4)


def test_passages_that_cannot_be_scored_say_why(llama: Path) -> None:
    passages = [Passage("empty", "", "x"), Passage("long", "pens " * 600), Passage("fine", "Ana")]
    with opened(llama) as model:
        assert isinstance(model, LikelihoodModel)
        found = {each.key: each for each in model.loglikelihoods(passages)}
    assert "empty" in (found["empty"].error or "")
    assert "the context has 512" in (found["long"].error or "")
    assert found["fine"].error is None


def test_a_row_is_drawn_from_its_own_seed_whatever_its_company(llama: Path, ask: Ask) -> None:
    requests = [
        ask(PROMPTS[n], n, repeat, seed=100 * n + repeat, temperature=0.8, top_p=0.95, max_tokens=16)
        for n in range(3)
        for repeat in range(5)
    ]

    def texts(model: Model, asked: list[Request]) -> dict[tuple[int, int], str]:
        return {(answer.doc_id, answer.repeat): answer.text for answer in model.generate(asked)}

    with opened(llama, Setup(concurrency=15)) as model:
        together = texts(model, requests)
    with opened(llama, Setup(concurrency=2)) as model:
        assert texts(model, requests[::-1]) == together
        assert texts(model, requests[7:8]) == {(1, 2): together[1, 2]}
    assert len({together[0, repeat] for repeat in range(5)}) > 1


def test_a_prompt_is_computed_once_for_all_its_repeats(llama: Path, ask: Ask) -> None:
    requests = [ask(PROMPTS[0], 0, n, seed=n, temperature=1.0, max_tokens=2) for n in range(6)]
    with opened(llama) as model:
        answers = list(model.generate(requests))
    tokens = answers[0].prompt_tokens or 0
    assert sum((answer.prompt_tokens or 0) - (answer.cached_tokens or 0) for answer in answers) <= tokens + 6


def test_a_prompt_that_is_too_long_fails_alone(llama: Path, ask: Ask) -> None:
    requests = [ask("pens " * 600, 0), ask("Ana", 1, max_tokens=3)]
    with opened(llama, max_length="100") as model:
        long, short = sorted(model.generate(requests), key=lambda answer: answer.doc_id)
        tokens = len(model.encode("pens " * 600).token_ids or ())
    assert long.error == f"prompt too long: {tokens} tokens, the context has 100"
    assert (short.error, short.completion_tokens) == (None, 3)


def test_an_answer_ends_where_the_context_does(llama: Path, ask: Ask) -> None:
    with opened(llama, max_length="40") as model:
        ids = model.encode("Ana has 12 pens").token_ids or ()
        (answer,) = model.generate([ask("Ana has 12 pens", max_tokens=500)])
    assert answer.finish_reason == "length"
    assert (answer.completion_tokens or 0) + len(ids) in (40, 41)


def test_a_setting_that_is_not_known_stops_the_run_after_what_went_before(llama: Path, ask: Ask) -> None:
    strange = ask("b", 1, extra={"num_beams": 4})
    with opened(llama) as model:
        stream = model.generate([ask("a", 0, max_tokens=2, extra={"num_beams": 1}), strange])
        assert next(stream).doc_id == 0
        with pytest.raises(UsageError, match="no generation setting num_beams=4"):
            next(stream)


def test_turns_that_the_template_refuses_stop_the_run(llama: Path, ask: Ask, tmp_path: Path) -> None:
    template = tmp_path / "strict.jinja"
    template.write_text("{{ raise_exception('turns must alternate') }}")
    with (
        opened(llama, chat_template=str(template)) as model,
        pytest.raises(UsageError, match="turns must alternate"),
    ):
        list(model.generate([ask((Message("user", "Hi"),))]))


@pytest.mark.parametrize("tag", ["has", "</s>", "2"])
def test_the_reasoning_part_is_divided_by_text_or_token(llama: Path, tag: str) -> None:
    from resit.models.hf.rows import Finished

    ids = {"has": [], "</s>": [2], "2": [2]}[tag]
    with opened(llama, think_end_token=tag) as model:
        encode = model._tokens.tokenizer.encode  # type: ignore[attr-defined]
        spoken = [
            *encode("so it", add_special_tokens=False),
            *ids,
            *encode(" has 12", add_special_tokens=False),
        ]
        finished = Finished(0, tuple(spoken), "so it has 12")
        reasoning, answer = model._divided(finished, tag)  # type: ignore[attr-defined]
    assert (reasoning, answer) == (("so it has", "12") if tag == "has" else ("so it", "has 12"))


def test_a_tag_that_is_a_digit_of_another_kind_is_text(llama: Path) -> None:
    from resit.models.hf.rows import Finished

    tag = "\N{SUPERSCRIPT TWO}"
    with opened(llama, think_end_token=tag) as model:
        divided = model._divided(Finished(0, (5,), f"so it{tag} 12"), tag)  # type: ignore[attr-defined]
    assert divided == (f"so it{tag}", "12")


def test_stop_strings_are_looked_for_behind_the_reasoning(llama: Path, ask: Ask) -> None:
    with opened(llama) as model:
        (whole,) = model.generate([ask(PROMPTS[0], max_tokens=24)])
    early, late = whole.text[2:4], whole.text[8:10]
    with opened(llama, think_end_token=late) as model:
        (answer,) = model.generate([ask(PROMPTS[0], max_tokens=24, stop=(early,))])
    end = whole.text.rfind(late) + len(late)
    assert answer.reasoning == whole.text[:end]
    assert early in answer.reasoning
    assert early not in answer.text


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_an_adapter_in_the_layers(llama: Path, tmp_path: Path, ask: Ask) -> None:
    peft = pytest.importorskip("peft", reason="needs resit[lora]")
    base = transformers.AutoModelForCausalLM.from_pretrained(llama)
    torch.manual_seed(3)
    settings = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    adapted = peft.get_peft_model(base, settings).eval()
    adapted.save_pretrained(tmp_path / "adapter")
    tokenizer = transformers.AutoTokenizer.from_pretrained(llama)
    ids = tokenizer(PROMPTS[0], return_tensors="pt").input_ids
    out = adapted.generate(input_ids=ids, max_new_tokens=16, do_sample=False)[0, ids.shape[1] :]
    with opened(llama) as bare, opened(llama, peft=str(tmp_path / "adapter")) as model:
        (without,) = bare.generate([ask(PROMPTS[0], max_tokens=16)])
        (answer,) = model.generate([ask(PROMPTS[0], max_tokens=16)])
        assert bare.identity()["peft_sha256"] is None
        assert model.identity()["peft_sha256"]
    assert answer.text == tokenizer.decode(out, skip_special_tokens=True)
    assert answer.text != without.text


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision(llama: Path, ask: Ask, dtype: str) -> None:
    with opened(llama, dtype=dtype) as model:
        answers = list(model.generate([ask(prompt, n, max_tokens=8) for n, prompt in enumerate(PROMPTS)]))
    assert [answer.error for answer in answers] == [None] * len(PROMPTS)
    assert all(answer.completion_tokens for answer in answers)


def exam_prompts(task: str, count: int) -> list[str]:
    (found,) = load([task])
    return [str(question.prompt) for question in questions(found, num_fewshot=None, chat=None,
            system_instruction=None, limit=count)]  # fmt: skip


@pytest.mark.slow
def test_the_real_models_texts_are_transformers_own(
    hf_checkpoint: Path, shared: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESIT_MIRROR", str(shared / "mirror"))
    prompts = exam_prompts("gsm8k", 4)
    plain = Plain(hf_checkpoint)
    with opened(hf_checkpoint) as model:
        texts = by_document(model, [ask(prompt, n, max_tokens=40) for n, prompt in enumerate(prompts)])
    assert texts == {n: plain.text(prompt, 40) for n, prompt in enumerate(prompts)}


@pytest.mark.slow
def test_the_real_models_log_probabilities_are_those_of_a_plain_pass(
    hf_checkpoint: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESIT_MIRROR", str(shared / "mirror"))
    rows = assets.rows("openai/gsm8k", "main", "test")[:3]
    passages = [Passage(str(n), f" {row['answer']}", f"Question: {row['question']}\nAnswer:")
                for n, row in enumerate(rows)]  # fmt: skip
    plain = Plain(hf_checkpoint)
    with opened(hf_checkpoint) as model:
        assert isinstance(model, LikelihoodModel)
        found = {each.key: each for each in model.loglikelihoods(passages, moments=True)}
    for passage in passages:
        check_likelihoods(found[passage.key], plain_likelihoods(plain, passage))


@pytest.mark.slow
def test_a_gguf_file_says_what_its_checkpoint_says(smollm2: Path, hf_checkpoint: Path, ask: Ask) -> None:
    request = ask("The capital of France is", max_tokens=6)
    with opened(smollm2) as quantised, opened(hf_checkpoint) as plain:
        assert next(quantised.generate([request])).text == next(plain.generate([request])).text
        chat = (Message("user", "Hi"),)
        assert quantised.encode(chat).token_ids == plain.encode(chat).token_ids


def test_a_run_that_is_cut_and_continued_ends_as_one_that_is_not(llama: Path, ask: Ask) -> None:
    """The journal's part of this is tests/runs/; here: the texts do not depend on where the cut was."""
    requests = [ask(prompt, n, seed=n, temperature=0.5, max_tokens=12) for n, prompt in enumerate(PROMPTS)]
    with opened(llama) as model:
        whole = by_document(model, requests)
    with opened(llama, Setup(concurrency=3)) as model:
        stream = model.generate(iter(requests))
        first = [next(stream) for _ in range(2)]
        stream.close()
    done = {answer.doc_id: answer.text for answer in first}
    with opened(llama, Setup(concurrency=3)) as model:
        rest = by_document(model, [r for r in requests if r.question.document.doc_id not in done])
    assert {**done, **rest} == whole


def test_the_identity_is_json(llama: Path) -> None:
    assert json.loads(json.dumps(opened(llama).identity()))["kind"] == "hf"
