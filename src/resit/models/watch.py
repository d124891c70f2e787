"""Noticing a server that does something else than it was asked; each suspicion is voiced once."""

from __future__ import annotations

from dataclasses import dataclass, field

from resit.models.protocol import Notify
from resit.records import Request

CEILING_PROMPTS = 5
"""Prompts of different length with one and the same token count, before it counts as a ceiling."""
ALIKE_QUESTIONS = 3
ALIKE_REPEATS = 4
"""Repeats of a question, and questions, that must be alike before sampling counts as switched off."""
TRACKED_QUESTIONS = 16
SHORT = 20
"""Characters; texts this short may well be the same by chance."""


@dataclass(slots=True)
class _Repeats:
    text: str
    seen: int = 1
    alike: bool = True


@dataclass(slots=True)
class Watch:
    """Sees every answer of a run; memory does not grow with their number."""

    notify: Notify
    _said: set[str] = field(default_factory=set)
    _ceiling: int = 0
    _lengths: set[int] = field(default_factory=set)
    _repeats: dict[tuple[str, str], _Repeats] = field(default_factory=dict)
    _models: set[str] = field(default_factory=set)

    def _say(self, what: str, text: str) -> None:
        if what not in self._said:
            self._said.add(what)
            self.notify(text)

    def prompt_tokens(self, characters: int, tokens: int | None, own_tokens: int | None = None) -> None:
        """Notice prompts that the server cuts to its window without saying so."""
        if tokens is None:
            return
        if own_tokens is not None and tokens < own_tokens - 1:
            self._cut(f"a prompt of {own_tokens} tokens was counted as {tokens}")
        if tokens > self._ceiling:
            self._ceiling, self._lengths = tokens, {characters}
        elif tokens == self._ceiling and len(self._lengths) < CEILING_PROMPTS:
            self._at_ceiling(characters)

    def _at_ceiling(self, characters: int) -> None:
        if all(abs(characters - other) > other // 50 for other in self._lengths):
            self._lengths.add(characters)
        if len(self._lengths) == CEILING_PROMPTS:
            self._cut(f"{CEILING_PROMPTS} prompts of different length all counted as {self._ceiling} tokens")

    def _cut(self, evidence: str) -> None:
        self._say(
            "cut",
            f"the server seems to cut prompts to its context window: {evidence}; raise its context length",
        )

    def sample(self, request: Request, text: str) -> None:
        """Notice repeats that are all the same although their seeds differ and the temperature is not 0."""
        if request.sampling.temperature <= 0 or "alike" in self._said:
            return
        key = request.question.task, request.question.document.doc_hash
        known = self._repeats.get(key)
        if known is None:
            if len(self._repeats) < TRACKED_QUESTIONS:
                self._repeats[key] = _Repeats(text)
            return
        known.seen += 1
        known.alike = known.alike and known.text == text
        tracked = self._repeats.values()
        alike = sum(r.alike and r.seen >= ALIKE_REPEATS and len(r.text) > SHORT for r in tracked)
        if alike >= ALIKE_QUESTIONS:
            self._say(
                "alike",
                f"all samples of {alike} questions are identical although their seeds differ and the "
                f"temperature is {request.sampling.temperature:g}: the server ignores the temperature, or a "
                "seed switches its sampling off (try send_seed=false); votes over such samples mean nothing",
            )

    def model(self, reported: str | None) -> None:
        """Notice a server that changes its model during the run."""
        if reported is not None and reported not in self._models and len(self._models) < 8:
            self._models.add(reported)
            if len(self._models) > 1:
                names = ", ".join(sorted(self._models))
                self._say("model", f"the server reported several models during the run: {names}")
