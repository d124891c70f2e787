"""Stop-and-continue against putting in while the text grows, on a model that is made of characters."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resit.errors import UsageError
from resit.models.calculating import continuation_seed, continued, generations
from resit.models.calculator import intervene
from resit.models.protocol import Encoding, failed, owed
from resit.models.stops import cut
from resit.records import Document, Generation, Message, Prompt, Question, Request, Sampling

Ask = Callable[..., Request]

CHUNKS = ["<", "<<", "4", "8", "/", "2", "=", ">>", "$", "+", ".", "x", "\n", " "]


def flat(prompt: Prompt) -> str:
    return prompt if isinstance(prompt, str) else "|".join(f"{m.role}:{m.content}" for m in prompt)


class CharacterModel:
    """Says after each text what a hash of the text tells; every character is a token."""

    name = "characters"

    def __init__(self, native: bool = False, say: Callable[[str, int], str] | None = None) -> None:
        self.native = native
        self.say = say or self._by_hash
        self.asked: list[Request] = []
        self.told_tokens = True

    def _by_hash(self, text: str, seed: int) -> str:
        digest = hashlib.sha256(f"{seed}{text}".encode()).digest()
        return CHUNKS[digest[0] % len(CHUNKS)][:1]

    def identity(self) -> dict[str, Any]:
        return {}

    def _answer(self, request: Request) -> Generation:
        self.asked.append(request)
        prompt, text, seed = flat(request.question.prompt), "", 0
        sampling = request.sampling
        finish, stop = "length", None
        generated = 0
        while len(text) < sampling.max_tokens:
            said = self.say(prompt + text, seed)
            if not said:
                finish = "stop"
                break
            generated += len(said)
            text += said
            if self.native and (put_in := intervene(text)):
                text += put_in
            text, stop = cut(text, sampling.stop)
            if stop:
                finish = "stop"
                break
        return owed(
            request,
            text=text,
            finish_reason=finish,
            stop=stop,
            completion_tokens=generated,
            prompt_tokens=len(prompt),
            cached_tokens=0,
            seconds=0.5,
        )

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        return map(self._answer, requests)

    def encode(self, prompt: Prompt) -> Encoding:
        ids = tuple(map(ord, flat(prompt))) if self.told_tokens else None
        return Encoding(flat(prompt), ids)

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


def request(prompt: Prompt = "Q:", doc_id: int = 0, calculator: bool = True, **sampling: Any) -> Request:
    question = Question("t", Document(doc_id, f"hash{doc_id}", {}), prompt, "2")
    return Request(question, 0, Sampling(calculator=calculator, **sampling), seed=doc_id)


@given(st.text(max_size=10), st.integers(1, 120))
@settings(max_examples=300)
def test_the_text_is_the_native_one(prompt: str, max_tokens: int) -> None:
    asked = request(prompt, max_tokens=max_tokens, stop=("\n\n",))
    (native,) = CharacterModel(native=True).generate([asked])
    (ours,) = generations(CharacterModel(), [asked])
    assert ours.text == native.text
    assert ours.finish_reason == native.finish_reason
    assert ours.stop == native.stop
    (put_natively,) = generations(CharacterModel(native=True), [asked])
    assert put_natively.insertions is not None
    assert ours.insertions is not None
    assert [i.at for i in ours.insertions] == [i.at for i in put_natively.insertions]


def script(*replies: tuple[str, str]) -> Callable[[str, int], str]:
    """Says the second of the first pair whose first ends the text; nothing after any other text."""
    return lambda text, seed: next((said for end, said in replies if text.endswith(end)), "")


SLIPS = (
    ("Q:", "<<48/2=23>>23, "),
    ("24>>", "24. <<24+1=25>>25 <<25*2=49>>49"),
    ("50>>", "50 <<x-1=3>>#### 50"),
)


def test_a_wrong_result_is_replaced_and_the_text_goes_on() -> None:
    model = CharacterModel(say=script(*SLIPS))
    (sample,) = generations(model, [request(max_tokens=200)])
    assert sample.text == "<<48/2=24>>24. <<24+1=25>>25 <<25*2=50>>50 <<x-1=3>>#### 50"
    assert sample.insertions is not None
    assert [(i.expression, i.text, i.instead) for i in sample.insertions] == [
        ("48/2", "24>>", "23>>"),
        ("24+1", "25>>", None),
        ("25*2", "50>>", "49>>"),
    ]
    assert all(sample.text[i.at :].startswith(i.text) for i in sample.insertions)
    assert sample.uncalculated == 1
    assert len(model.asked) == 3, "one continuation for each wrong result"
    assert [asked.question.prompt for asked in model.asked[1:]] == [
        "Q:<<48/2=24>>",
        "Q:<<48/2=24>>24. <<24+1=25>>25 <<25*2=50>>",
    ]


def test_costs_are_summed_and_limits_kept() -> None:
    model = CharacterModel(say=script(*SLIPS))
    (sample,) = generations(model, [request(max_tokens=200)])
    assert sample.completion_tokens == sum(len(said) for _, said in SLIPS)
    assert sample.prompt_tokens == sum(len(flat(asked.question.prompt)) for asked in model.asked)
    assert sample.seconds == 1.5
    assert [asked.sampling.max_tokens for asked in model.asked] == [200, 200 - 11, 200 - 40]
    assert sample.finish_reason == "stop"


def test_each_continuation_has_a_seed_of_its_own() -> None:
    model = CharacterModel(say=script(*SLIPS))
    (sample,) = generations(model, [request(doc_id=7, max_tokens=200)])
    assert [asked.seed for asked in model.asked] == [7, continuation_seed(7, 1), continuation_seed(7, 2)]
    assert len({asked.seed for asked in model.asked}) == 3
    assert sample.seed == 7


def test_where_the_limit_is_reached_the_result_still_stands() -> None:
    (sample,) = generations(CharacterModel(say=script(*SLIPS)), [request(max_tokens=11)])
    assert (sample.text, sample.finish_reason) == ("<<48/2=24>>", "length")


def test_without_a_tokenizer_the_used_tokens_are_estimated() -> None:
    model = CharacterModel(say=script(*SLIPS))
    model.told_tokens = False
    (sample,) = generations(model, [request(max_tokens=200)])
    assert sample.text.endswith("#### 50")
    assert [asked.sampling.max_tokens for asked in model.asked] == [200, 189, 160]


def test_a_stop_string_across_the_seam() -> None:
    model = CharacterModel(say=script(("Q:", "<<1+1=3>>"), ("2>>", "\n more")))
    (sample,) = generations(model, [request(max_tokens=50, stop=(">>\n",))])
    assert (sample.text, sample.stop, sample.finish_reason) == ("<<1+1=2", ">>\n", "stop")


def test_a_failing_continuation_fails_the_sample() -> None:
    class Failing(CharacterModel):
        def _answer(self, request: Request) -> Generation:
            return failed(request, "gone") if self.asked else super()._answer(request)

    (sample,) = generations(Failing(say=script(*SLIPS)), [request(doc_id=3)])
    assert (sample.error, sample.text, sample.seed, sample.insertions) == ("gone", "", 3, None)


def test_requests_without_the_calculator_pass_in_one_stream() -> None:
    model = CharacterModel(say=script(*SLIPS))
    plain = [request(doc_id=i, calculator=False) for i in range(3)]
    samples = list(generations(model, plain))
    assert [sample.text for sample in samples] == ["<<48/2=23>>23, "] * 3
    assert all(sample.insertions is None and sample.uncalculated is None for sample in samples)
    assert len(model.asked) == 3


def test_requests_are_pulled_lazily_and_continuations_go_first() -> None:
    pulled: list[int] = []

    def owed_requests() -> Iterator[Request]:
        for number in range(5):
            pulled.append(number)
            yield request(doc_id=number, max_tokens=200)

    model = CharacterModel(say=script(*SLIPS))
    stream = generations(model, owed_requests())
    first = next(stream)
    assert first.doc_id == 0
    assert pulled == [0, 1]
    assert sorted(sample.doc_id for sample in [first, *stream]) == [0, 1, 2, 3, 4]


CHAT = (Message("user", "Q:"),)


def test_a_chat_is_continued_in_a_begun_turn() -> None:
    model = CharacterModel(
        say=script(("4, 5,", " 6"), ("user:Q:", "<<1+1=3>>3"), ("assistant:<<1+1=2>>", "2. #### 2"))
    )
    (sample,) = generations(model, [request(CHAT, max_tokens=100)])
    assert sample.text == "<<1+1=2>>2. #### 2"


def test_a_server_that_begins_anew_is_refused_before_anything_is_generated() -> None:
    model = CharacterModel(say=script(("4, 5,", "Sure! 1, 2, 3"), ("user:Q:", "<<1+1=3>>3")))
    with pytest.raises(UsageError, match=r"continues a begun answer.*Sure!"):
        list(generations(model, [request(CHAT)]))
    assert len(model.asked) == 1


def test_a_text_after_its_reasoning_cannot_be_continued() -> None:
    class Thinking(CharacterModel):
        def _answer(self, request: Request) -> Generation:
            return owed(request, text="<<1+1=3>>", reasoning="hm")

    with pytest.raises(UsageError, match="reasoning"):
        list(generations(Thinking(), [request()]))


def test_continued_prompts() -> None:
    begun = (*CHAT, Message("assistant", "Let me "))
    assert continued("Q:", " a") == "Q: a"
    assert continued(CHAT, "a") == (*CHAT, Message("assistant", "a"))
    assert continued(begun, "see") == (*CHAT, Message("assistant", "Let me see"))


def test_a_model_that_is_interrupted_ends_the_stream_with_continuations_left(ask: Ask) -> None:
    class Interrupted(CharacterModel):
        def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
            if self.asked:
                return iter(())
            return map(self._answer, list(requests))

    model = Interrupted(say=lambda text, seed: "<<1+1=3>>"[len(text) % 9])
    requests = [ask("", 0, max_tokens=30, calculator=True)]
    assert list(generations(model, requests)) == []
    assert len(model.asked) == 1
