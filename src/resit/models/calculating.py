"""The calculator on any backend: where a result is not the calculator's, cut there, put it in and continue.

A sample is asked for as if there were no calculator. Most annotations of most models are right already and
cost nothing; each wrong one costs a continuation, whose prompt the backend has in its cache. A backend that
puts results in while it generates (`resit.models.calculator.intervene`) gives texts in which nothing is
left to do. docs/design/calculator.md has the alternatives and the figures.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from math import ceil
from typing import Any, Protocol, TypeAlias

from resit.errors import ResitError, UsageError
from resit.models.calculator import CLOSING, Annotation, insertions, slip
from resit.models.protocol import Encoding, failed
from resit.models.stops import cut
from resit.records import Document, Generation, Message, Prompt, Question, Request, Sampling

Key: TypeAlias = tuple[str, str, int]
TokenCount: TypeAlias = Callable[[Prompt], int | None]
"""Tokens of a prompt; None where the backend cannot tell."""


class Speaker(Protocol):
    """What the calculator needs of a model."""

    def generate(self, requests: Iterable[Request]) -> Iterator[Generation]: ...

    def encode(self, prompt: Prompt) -> Encoding: ...


_COUNTED = ("prompt_tokens", "cached_tokens", "completion_tokens", "seconds")
_INSTEAD = 40
"""Characters kept of what a model had written in place of a result."""


def generations(model: Speaker, requests: Iterable[Request]) -> Iterator[Generation]:
    """The model's generations, with the calculator for the requests that ask for it.

    A fleet's workers do this themselves, each beside its own model (`continues`). Raises what the model
    raises, and UsageError where a text cannot be continued.
    """
    if getattr(model, "continues", False):
        yield from model.generate(requests)
        return

    def calculated(request: Request) -> str | None:
        return request.question.task if request.sampling.calculator else None

    for task, group in groupby(requests, key=calculated):
        if task is None:
            yield from model.generate(group)
        else:
            yield from _Continuing(model).run(group)


def continued(prompt: Prompt, text: str) -> Prompt:
    """The prompt after which a model goes on with a text that it has begun."""
    if isinstance(prompt, str):
        return prompt + text
    if prompt and prompt[-1].role == "assistant":
        return (*prompt[:-1], Message("assistant", prompt[-1].content + text))
    return (*prompt, Message("assistant", text))


def continuation_seed(seed: int, number: int) -> int:
    """The seed of a sample's continuation, in [0, 2^31); `number` counts from 1."""
    digest = hashlib.sha256(f"{seed}/continuation/{number}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


@dataclass(slots=True)
class _Sample:
    """A sample on its way: what of its text is settled, and what it has cost."""

    request: Request
    count: TokenCount
    text: str = ""
    """Settled: it ends with an insertion, or is the whole."""
    used: int = 0
    """Tokens of the settled text, estimated where the backend cannot tell them."""
    instead: dict[int, str] = field(default_factory=dict)
    continuations: int = 0
    costs: dict[str, Any] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))
    last: Generation | None = None

    def take(self, generation: Generation) -> Request | None:
        """Take in what the model has generated; the request for the rest, None when the text is finished."""
        for name, sum_ in self.costs.items():
            value = getattr(generation, name)
            self.costs[name] = None if value is None or sum_ is None else sum_ + value
        stops = self.request.sampling.stop
        whole, stop = cut(self.text + generation.text, stops)
        self.last = replace(generation, stop=stop or generation.stop)
        wrong = None if generation.error else slip(whole)
        if wrong is None or len(whole) < len(self.text):  # a stop string that began in what was settled
            self.text = whole
            return None
        if generation.reasoning is not None:
            raise UsageError(
                "the calculator cannot step in after a reasoning part: the text could not be continued",
                "leave out think_end_token, or the calculator",
            )
        return self._corrected(generation, whole, wrong)

    def _corrected(self, generation: Generation, whole: str, wrong: Annotation) -> Request | None:
        """The request for what follows an insertion; None where nothing may follow."""
        before, self.text = self.text, whole[: wrong.at] + str(wrong.result)
        written = whole[wrong.at : wrong.at + _INSTEAD].partition("\n")[0]
        end = written.find(CLOSING)
        self.instead[wrong.at] = written[: end + len(CLOSING)] if end >= 0 else written
        self.used += self._tokens(generation, before)
        self.text, stop = cut(self.text, self.request.sampling.stop)
        left = self.request.sampling.max_tokens - self.used
        if stop or left <= 0:
            self.last = replace(generation, finish_reason="stop" if stop else "length", stop=stop)
            return None
        self.continuations += 1
        question = replace(self.request.question, prompt=continued(self.request.question.prompt, self.text))
        sampling = replace(self.request.sampling, max_tokens=left)
        seed = continuation_seed(self.request.seed, self.continuations)
        return Request(question, self.request.repeat, sampling, seed)

    def _tokens(self, generation: Generation, before: str) -> int:
        """Tokens by which the settled text has grown: counted, else a share of those generated."""
        prompt = self.request.question.prompt
        counts = self.count(continued(prompt, before)), self.count(continued(prompt, self.text))
        if counts[0] is not None and counts[1] is not None:
            return counts[1] - counts[0]
        grown = len(self.text) - len(before)
        if generation.completion_tokens and generation.text:
            return ceil(grown * generation.completion_tokens / len(generation.text))
        return ceil(grown / 4)

    def finished(self) -> Generation:
        """The sample as a whole."""
        last = self.last
        if last is None or last.error:
            error = (last.error if last else None) or "nothing was generated"
            return failed(self.request, error, **self.costs)
        found, unread = insertions(self.text)
        own = replace(last, **self.costs, text=self.text, seed=last.seed)
        if self.continuations:
            own = replace(own, seed=self.request.seed)
        return replace(
            own,
            insertions=tuple(replace(i, instead=self.instead.get(i.at)) for i in found),
            uncalculated=unread,
        )


class _Continuing:
    """One task's requests at a model, continued until no result is left to put in."""

    def __init__(self, model: Speaker) -> None:
        self._model = model
        self._samples: dict[Key, _Sample] = {}
        self._waiting: deque[Request] = deque()
        self._counts = True
        self._answers = 0

    def run(self, requests: Iterator[Request]) -> Iterator[Generation]:
        """The finished samples, in the order they finish."""
        first = list(islice(requests, 1))
        self._check_continuing(first)
        yield from self._stream(self._fed(chain(first, requests)))
        while self._waiting:
            before = self._answers
            yield from self._stream(self._rest())
            if self._answers == before:
                return  # the model was interrupted

    def _fed(self, requests: Iterable[Request]) -> Iterator[Request]:
        """New requests, each after the continuations that have come up meanwhile."""
        for request in requests:
            yield from self._rest()
            document = request.question.document
            key = (request.question.task, document.doc_hash, request.repeat)
            self._samples[key] = _Sample(request, self._count)
            yield request
        yield from self._rest()

    def _rest(self) -> Iterator[Request]:
        while self._waiting:
            yield self._waiting.popleft()

    def _stream(self, requests: Iterator[Request]) -> Iterator[Generation]:
        for generation in self._model.generate(requests):
            self._answers += 1
            key = (generation.task, generation.doc_hash, generation.repeat)
            sample = self._samples[key]
            if generation.insertions is not None:  # done already: by a worker, or in the run that is replayed
                del self._samples[key]
                yield generation
                continue
            again = sample.take(generation)
            if again is not None:
                self._waiting.append(again)
                continue
            del self._samples[key]
            yield sample.finished()

    def _count(self, prompt: Prompt) -> int | None:
        if self._counts:
            try:
                ids = self._model.encode(prompt).token_ids
            except ResitError:
                ids = None
            self._counts = ids is not None
            return None if ids is None else len(ids)
        return None

    def _check_continuing(self, requests: Iterable[Request]) -> None:
        """Raise UsageError for a chat server that answers a begun answer anew instead of continuing it."""
        for request in requests:
            if isinstance(request.question.prompt, str) or getattr(self._model, "calculates", False):
                return
            for generation in self._model.generate([_counting(request)]):  # none where it was interrupted
                if generation.error is None and not generation.text.lstrip().startswith("6"):
                    raise UsageError(
                        "the calculator needs a chat server that continues a begun answer; this one made of "
                        f"'1, 2, 3, 4, 5,' {generation.text[:60]!r}",
                        "use the completions endpoint (openai-completions), or leave out the calculator",
                    )


def _counting(request: Request) -> Request:
    """A question whose begun answer goes on in one way only."""
    prompt = (
        Message("user", "Count from 1 to 9. Write the numbers with commas between them."),
        Message("assistant", "1, 2, 3, 4, 5,"),
    )
    question = Question(request.question.task, Document(-1, "continuing", {}), prompt, "6")
    return Request(question, 0, Sampling(max_tokens=8), request.seed)
