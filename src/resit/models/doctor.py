"""What a server can do, found out by asking it."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from resit.models.echo import WAYS, told
from resit.models.failures import RETRIED, Failure, Kind
from resit.models.protocol import JSON
from resit.models.replies import Reply
from resit.models.server import Server
from resit.models.wire import Dialect, Wording, most_texts, request_body
from resit.records import Message, Sampling

STORY = "Write a short story about a cat that learns to count.\n\nOnce upon a time"
COUNTING = "Count: one, two, three, four, five, six,"
STOP_COUNTS = (4, 5, 8, 16, 32)
TEXTS = 4
SECOND_CHANCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What one probe found."""

    probe: str
    says: str
    value: JSON = None
    good: bool = True
    """False where a run's results would suffer from it."""


@dataclass(frozen=True, slots=True)
class Patient:
    """The server under examination."""

    server: Server
    wording: Wording

    async def ask(
        self, prompt: str, sampling: Sampling, seed: int | None = 1, texts: int = 1, **fields: Any
    ) -> Reply:
        """The reply to one prompt. Raises Failure."""
        wording = dataclasses.replace(self.wording, fields=fields)
        dialect = Dialect(send_seed=seed is not None)
        body = request_body(wording, dialect, prompt, sampling, seed or 0, texts)
        return await self.server.post(body, sampling.max_tokens)

    async def text(self, prompt: str, sampling: Sampling, seed: int | None = 1) -> str:
        """Its first choice's text."""
        return (await self.ask(prompt, sampling, seed)).choices[0].text


Probe = Callable[[Patient], Coroutine[Any, Any, Finding]]

GREEDY = Sampling(max_tokens=24)
DRAWN = Sampling(max_tokens=24, temperature=1.0)


async def models(patient: Patient) -> Finding:
    """The models that the server lists."""
    names: list[JSON] = [str(entry["id"]) for entry in await patient.server.listed_models()]
    return Finding("models", ", ".join(map(str, names)) or "no list at /models", names)


async def answers(patient: Patient) -> Finding:
    """Whether it answers, and what it counts."""
    reply = await patient.ask(COUNTING, GREEDY)
    counts = {name: value for name, value in dataclasses.asdict(reply.usage).items() if value is not None}
    says = f"{reply.choices[0].text[:40]!r}, as {reply.model}; counts " + (", ".join(counts) or "no tokens")
    return Finding("answers", says, {"model": reply.model, "usage": counts}, bool(reply.choices[0].text))


async def greedy(patient: Patient) -> Finding:
    """Whether the same greedy request gives the same text, alone and beside others."""
    alone = {await patient.text(STORY, GREEDY) for _ in range(3)}
    others = (patient.text(f"{number}. {COUNTING}", DRAWN, number) for number in range(3))
    beside, *_ = await asyncio.gather(patient.text(STORY, GREEDY), *others)
    if len(alone) > 1:
        return Finding("greedy", f"{len(alone)} texts for one prompt asked three times", False, good=False)
    if beside not in alone:
        return Finding("greedy", "repeatable alone, another text beside other requests", False, good=False)
    return Finding("greedy", "repeatable, alone and beside other requests", True)


async def seeds(patient: Patient) -> Finding:
    """Whether a seed is honoured, alone and beside other requests, and whether sampling goes on with one."""
    first, again, *others = [await patient.text(STORY, DRAWN, seed) for seed in (1, 1, 2, 3)]
    if len({first, *others}) == 1:
        unseeded = {await patient.text(STORY, DRAWN, None) for _ in range(3)}
        says = "with a seed every text is the same" if len(unseeded) > 1 else "the temperature is ignored"
        return Finding("seed", f"{says}: repeats would be copies", "no sampling", good=False)
    if first == again:
        company = (patient.text(f"{number}. {COUNTING}", DRAWN, number) for number in range(3))
        beside, *_ = await asyncio.gather(patient.text(STORY, DRAWN, 1), *company)
        if beside == first:
            return Finding("seed", "honoured: same seed same text, other seed other text", "honoured")
        says = "honoured alone, another text beside other requests: samples cannot be drawn again"
        return Finding("seed", says, "alone", good=False)
    return Finding("seed", "ignored: samples cannot be drawn again", "ignored", good=False)


async def several(patient: Patient) -> Finding:
    """Whether one request can ask for n texts."""
    asked = TEXTS
    try:
        reply = await patient.ask(STORY, DRAWN, 1, asked)
    except Failure as failure:
        if failure.kind is not Kind.REQUEST:
            raise
        asked = most_texts(str(failure)) or 1
        if not 1 < asked < TEXTS:
            return Finding("n", f"refused ({failure}); every sample is asked for by itself", False)
        reply = await patient.ask(STORY, DRAWN, 1, asked)
    distinct = len({choice.text for choice in reply.choices})
    works = len(reply.choices) == asked and distinct > 1
    if works:
        return Finding("n", "supported" if asked == TEXTS else f"supported, at most {asked}", True)
    found = f"{len(reply.choices)} texts, {distinct} different"
    return Finding("n", f"asked for {asked}: {found}; every sample is asked for by itself", False)


async def stops(patient: Patient) -> Finding:
    """How many stop strings it takes, whether it heeds them, and whether it says which one it was."""
    whole = await patient.text(COUNTING, GREEDY)
    words = re.findall(r"[!-~]{2,}", whole)
    if not words:
        return Finding("stop strings", f"not found out: it wrote {whole[:20]!r}, which has no word")
    word = words[len(words) // 2]
    taken, reply = 0, None
    for count in STOP_COUNTS:
        strings = (*(f"<unlikely-{number}>" for number in range(count - 1)), word)
        try:
            reply = await patient.ask(COUNTING, dataclasses.replace(GREEDY, stop=strings))
        except Failure as failure:
            if failure.kind is not Kind.REQUEST:
                raise
            break
        taken = count
    if reply is None:
        return Finding("stop strings", f"{STOP_COUNTS[0]} are refused; all are cut on our side", 0)
    many = f"at least {taken}" if taken == STOP_COUNTS[-1] else str(taken)
    text = reply.choices[0].text
    if word in text and len(text) >= len(whole):
        return Finding("stop strings", f"{many} taken but ignored; all are cut on our side", 0)
    if word in text:
        return Finding("stop strings", f"{many} taken and heeded, left at the end, cut on our side", taken)
    named = "named" if reply.choices[0].stop else "not named"
    return Finding("stop strings", f"{many} taken and heeded, {named} in the reply", taken)


async def logprobs(patient: Patient) -> Finding:
    """Whether log-probabilities come with the tokens."""
    fields = {"logprobs": True, "top_logprobs": 1} if patient.wording.endpoint == "chat" else {"logprobs": 1}
    reply = await patient.ask(COUNTING, dataclasses.replace(GREEDY, max_tokens=2), **fields)
    choices = (reply.raw or {}).get("choices") or [{}]
    given = bool(choices[0].get("logprobs"))
    return Finding("logprobs", "given" if given else "not given", given)


async def prompt_logprobs(patient: Patient) -> Finding:
    """Whether, and in which way, it tells the log-probabilities of a prompt."""
    name = "prompt logprobs"
    if patient.wording.endpoint == "chat":
        return Finding(name, "not looked for: only completions endpoints have them")
    for way in WAYS:
        with suppress(Failure):
            if await told(patient.server.post, patient.wording.model, COUNTING, way):
                return Finding(name, f"given ({way.name}): it can say how likely a text is", way.name)
    return Finding(name, "not given: it cannot say how likely a text is", False)


async def context(patient: Patient) -> Finding:
    """The context length, where the server tells it."""
    found = await patient.server.context()
    return Finding("context", f"{found} tokens" if found else "not told", found)


async def template(patient: Patient) -> Finding:
    """What a prompt looks like to the model, as far as the server tells."""
    chat = patient.wording.endpoint == "chat"
    encoding = await patient.server.encode((Message("user", "Hi"),) if chat else "Hi")
    if encoding.token_ids is None:
        return Finding("template" if chat else "tokens", "not told (no /tokenize)")
    pieces = list(encoding.pieces or map(str, encoding.token_ids))
    shown = " ".join(repr(piece) for piece in pieces[:12])
    doubled = len(pieces) > 1 and pieces[0] == pieces[1]
    says = f"{'two begin tokens: ' if doubled else ''}{shown}"
    value: list[JSON] = [*encoding.token_ids]
    return Finding("template" if chat else "tokens", says, value, not doubled)


PROBES: tuple[Probe, ...] = (
    models, answers, context, template, greedy, seeds, several, stops, logprobs,
    prompt_logprobs,
)  # fmt: skip


async def _speed(patient: Patient, level: int, tokens: int) -> Finding:
    """Tokens a second with `level` requests in flight; each prompt begins differently, so none is cached."""
    sampling = Sampling(max_tokens=tokens, temperature=1.0)
    began = time.perf_counter()

    async def one(number: int) -> tuple[int, int]:
        reply = await patient.ask(f"({time.time_ns()}-{number}) {STORY}", sampling, number)
        counted = reply.usage.completion
        return (counted if counted is not None else 0), counted is None

    done = await asyncio.gather(*(one(number) for number in range(level)))
    seconds = time.perf_counter() - began
    rate = sum(count for count, _ in done) / seconds
    if any(uncounted for _, uncounted in done):
        return Finding(
            f"speed at {level}", f"{level / seconds:.1f} answers/s (tokens are not counted)", level / seconds
        )
    return Finding(f"speed at {level}", f"{rate:.0f} tokens/s", round(rate, 2))


async def _settled(probe: Callable[[], Coroutine[Any, Any, Finding]], name: str) -> Finding:
    """The finding, or what stood in its way; trouble that may pass is given a second chance."""
    try:
        return await probe()
    except Failure as failure:
        if failure.kind in RETRIED:
            await asyncio.sleep(max(SECOND_CHANCE_SECONDS, failure.retry_after or 0.0))
            with suppress(Failure):
                return await probe()
        return Finding(name, f"refused: {failure}", good=False)


def examine(
    patient: Patient,
    run: Callable[[Coroutine[Any, Any, Finding]], Finding],
    levels: Sequence[int] = (1, 4, 16),
) -> Iterator[Finding]:
    """One finding a probe, as they are made; `run` waits for a coroutine in the server's event loop."""
    for probe in PROBES:
        yield run(_settled(partial(probe, patient), probe.__name__))
    for level in levels:
        yield run(_settled(partial(_speed, patient, level, 64), f"speed at {level}"))
