"""From a job to its generations: what is sent, what the reply is made into, what is learnt of the server."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from resit.models.account import Account
from resit.models.client import Job
from resit.models.failures import Failure, Kind
from resit.models.protocol import Notify, failed, owed
from resit.models.replies import Choice, Reply, Usage
from resit.models.server import Server
from resit.models.stops import cut, divide_reasoning
from resit.models.tokens import Tokens
from resit.models.watch import Watch
from resit.models.wire import Dialect, Wording, prefill, request_body, stops_sent
from resit.records import Generation, Request

COUNTED_PROMPTS = 32
"""Prompts whose tokens are counted on our side too, where a tokenizer is given."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a reply's texts are read."""

    think_end_token: str | None = None
    reasoning_as_answer: bool = False

    def generation(
        self, request: Request, choice: Choice, usage: Usage, seconds: float, seed: int | None = None
    ) -> Generation:
        """The sample that a choice is: the begun turn and the reasoning taken off, cut at its stop string.

        `seed` is the one that was sent, where that is not the request's own.
        """
        text, reasoning = choice.text, choice.reasoning
        begun = prefill(request.question.prompt)
        if begun and text.startswith(begun):
            text = text[len(begun) :]
        if self.think_end_token:
            before, text = divide_reasoning(text, self.think_end_token)
            reasoning = reasoning or before
        if self.reasoning_as_answer and not text and choice.finish_reason == "stop":
            text, reasoning = reasoning or "", None
        text, stop = cut(text, request.sampling.stop)
        return owed(
            request,
            seed,
            text=text,
            finish_reason="stop" if stop else choice.finish_reason,
            stop=stop or choice.stop,
            prompt_tokens=usage.prompt,
            cached_tokens=usage.cached,
            completion_tokens=usage.completion,
            seconds=round(seconds, 4),
            reasoning=reasoning,
            reasoning_tokens=usage.reasoning,
        )


@dataclass(slots=True)
class Exchange:
    """Asks servers, in their dialect, for what jobs owe."""

    wording: Wording
    dialect: Dialect
    reading: Reading
    watch: Watch
    account: Account
    notify: Notify
    tokens: Tokens | None = None
    send_tokens: bool = False
    again: Callable[[Sequence[Job]], None] = lambda jobs: None
    """Takes the jobs that a job is split into."""
    _probe: Job | None = None
    _counted: int = field(default=0)

    def may_send(self, job: Job) -> bool:
        """Whether a job may go out: while it is open whether the server takes n, only one that has n may."""
        if len(job.requests) == 1 or self.dialect.several is not None:
            return True
        self._probe = self._probe or job
        return self._probe is job

    async def ask(self, job: Job, server: Server) -> list[Generation]:
        """The generations of a job, or of a part of it when the rest has to be asked anew. Raises Failure."""
        while self._may_share(job):
            job.body = job.body or self._body(job)
            began = time.monotonic()
            self.account.requests += 1
            try:
                reply = await server.post(job.body, job.requests[0].sampling.max_tokens)
            except Failure as failure:
                if not self._learn(job, failure):
                    raise
                job.body = None
            else:
                return self._generations(job, reply, time.monotonic() - began)
        self._split(job.requests)
        if self._probe is job:
            self._probe = None
        return []

    def _may_share(self, job: Job) -> bool:
        texts = len(job.requests)
        return texts == 1 or (self.dialect.several is not False and texts <= self.dialect.most_texts)

    def give_up(self, job: Job, failure: Failure) -> list[Generation]:
        """The errors that a job ends in."""
        if self._probe is job:
            self._probe = None
        return [failed(request, str(failure)) for request in job.requests]

    def _body(self, job: Job) -> bytes:
        request = job.requests[0]
        prompt = request.question.prompt
        ids = None
        if self.send_tokens and self.tokens and isinstance(prompt, str):
            ids = self.tokens.encode(prompt).token_ids
        return request_body(
            self.wording,
            self.dialect,
            prompt,
            request.sampling,
            request.seed,
            texts=len(job.requests),
            token_ids=ids,
            stops=self.reading.think_end_token is None,  # one inside the reasoning must not end the answer
        )

    def _learn(self, job: Job, failure: Failure) -> bool:
        sent = stops_sent(job.requests[0].sampling, self.dialect)
        before = len(self.dialect.notes)
        learnt = self.dialect.learn(failure, len(sent), len(job.requests))
        for note in self.dialect.notes[before:]:
            self.notify(note)
        return learnt or (failure.kind is Kind.REQUEST and self._body(job) != job.body)  # learnt by another

    def _split(self, requests: Sequence[Request]) -> None:
        size = 1 if self.dialect.several is False else self.dialect.most_texts
        parts = (requests[start : start + size] for start in range(0, len(requests), size))
        self.again([Job(tuple(part)) for part in parts])

    def _generations(self, job: Job, reply: Reply, seconds: float) -> list[Generation]:
        self._observe(job, reply)
        if len(job.requests) == 1:
            request = job.requests[0]
            generation = self.reading.generation(request, reply.choices[0], reply.usage, seconds)
            self.watch.sample(request, generation.text)
            return [generation]
        return self._several(job, reply, seconds)

    def _several(self, job: Job, reply: Reply, seconds: float) -> list[Generation]:
        """The samples of a request for n texts; what n did not bring is asked for one by one."""
        wanted, choices = len(job.requests), reply.choices[: len(job.requests)]
        if self.dialect.several is None:
            alike = len({choice.text for choice in choices}) == 1
            self.dialect.several = len(choices) == wanted and not alike
            if not self.dialect.several:
                what = f"{wanted} identical texts" if len(choices) == wanted else f"{len(choices)} texts"
                self.notify(
                    f"asked for n={wanted} the server gives {what}; every sample is asked for by itself"
                )
                self._split(job.requests)
                return []
        self.again([Job((request,)) for request in job.requests[len(choices) :]])
        usage = replace(reply.usage, completion=None, reasoning=None)  # it is of all texts together
        seed = job.requests[0].seed
        pairs = zip(job.requests, choices, strict=False)
        return [self.reading.generation(r, c, usage, seconds, seed) for r, c in pairs]

    def _observe(self, job: Job, reply: Reply) -> None:
        prompt = job.requests[0].question.prompt
        self.account.add(reply.usage)
        self.watch.model(reply.model)
        own = None
        if self.tokens and isinstance(prompt, str) and self._counted < COUNTED_PROMPTS:
            self._counted += 1
            own = len(self.tokens.encode(prompt).token_ids or ())
        characters = len(prompt) if isinstance(prompt, str) else sum(len(turn.content) for turn in prompt)
        self.watch.prompt_tokens(characters, reply.usage.prompt, own)
