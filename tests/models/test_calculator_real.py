"""The calculator on real models: native in hf, by stop-and-continue on llama.cpp. A few tokens each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from resit.models import Model, Setup, create
from resit.models.calculating import Speaker, generations
from resit.models.calculator import slip
from resit.models.protocol import Encoding
from resit.records import Generation, Message, Prompt, Request

pytestmark = pytest.mark.slow

Ask = Callable[..., Request]

SHOTS = """\
Question: Ann has 3 bags with 17 pens each and finds 8 more pens. How many pens has she?
Answer: In bags she has 3*17 = <<3*17=51>>51 pens.
In all she has 51+8 = <<51+8=59>>59 pens.
#### 59

Question: A cook bakes 46 rolls, sells 19 of them and bakes 25 more. How many rolls are there?
Answer: After selling there are 46-19 = <<46-19=27>>27 rolls.
Then there are 27+25 = <<27+25=52>>52 rolls.
#### 52

"""
QUESTIONS = (
    "A box holds 37 nails. Tom buys 48 boxes. How many nails does he buy?",
    "Kim runs 173 metres in the morning and 289 metres at night. How far does she run?",
    "A tank holds 912 litres and loses 38 litres a day. After how many days is it empty?",
)


def asked(ask: Ask, tokens: int) -> list[Request]:
    prompts = [f"{SHOTS}Question: {question}\nAnswer:" for question in QUESTIONS]
    return [
        ask(prompt, doc_id=number, max_tokens=tokens, stop=("Question:",), calculator=True)
        for number, prompt in enumerate(prompts)
    ]


class Plain:
    """A backend that knows nothing of the calculator."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.asked = 0

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]:
        return self._model.generate(map(self._plain, requests))

    def _plain(self, request: Request) -> Request:
        self.asked += 1
        return replace(request, sampling=replace(request.sampling, calculator=False))

    def encode(self, prompt: Prompt) -> Encoding:
        return self._model.encode(prompt)


def texts(model: Speaker, requests: list[Request]) -> dict[int, str]:
    found = {}
    for sample in generations(model, requests):
        assert sample.error is None
        assert slip(sample.text) is None
        assert sample.insertions is not None
        assert all(sample.text.startswith(one.text, one.at) for one in sample.insertions)
        found[sample.doc_id] = sample.text
    return found


def test_llamacpp_stops_and_continues(smollm2: Path, ask: Ask) -> None:
    requests = asked(ask, 48)
    with create("llamacpp", {"pretrained": str(smollm2)}, Setup(concurrency=2)) as model:
        plain = {sample.doc_id: sample.text for sample in Plain(model).generate(requests)}
        calculated = texts(model, requests)
    assert any(slip(text) for text in plain.values()), "there was something to put right"
    for doc, text in plain.items():
        wrong = slip(text)
        settled = len(text) if wrong is None else wrong.at
        assert calculated[doc][:settled] == text[:settled], "nothing changes before the first wrong result"


def test_llamacpp_continues_a_chat(smollm2: Path, ask: Ask) -> None:
    (request,) = asked(ask, 32)[:1]
    turns = (Message("user", str(request.question.prompt)),)
    chat = replace(request, question=replace(request.question, prompt=turns))
    with create("llamacpp", {"pretrained": str(smollm2)}, Setup(concurrency=1)) as model:
        assert set(texts(model, [chat])) == {0}


def test_hf_puts_in_what_stop_and_continue_puts_in(hf_checkpoint: Path, ask: Ask) -> None:
    requests = asked(ask, 40)
    with create("hf", {"pretrained": str(hf_checkpoint), "device": "cpu"}) as model:
        native = texts(model, requests)
        plain = Plain(model)
        continued = texts(plain, requests)
    assert native == continued
    assert plain.asked > len(requests), "there was something to put right"
