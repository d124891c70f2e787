"""The decode engine: many rows, every shared prefix computed once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from resit.models.hf.cache import RowCache, token_bytes
from resit.models.hf.fallback import PaddedDecoding, score_each
from resit.models.hf.flight import Flight, new_flight
from resit.models.hf.layout import band_edges
from resit.models.hf.memory import affordable_rows, free_bytes, ran_out
from resit.models.hf.packed import PackedModel, Unsupported, packed
from resit.models.hf.plan import Plan
from resit.models.hf.prefix_tree import PrefixTree
from resit.models.hf.rows import Finished, Row, Scored, Scores, Settings, refusal
from resit.models.hf.sampling import choose
from resit.models.hf.score import score
from resit.models.hf.transcript import special_tokens
from resit.models.hf.twins import Twins
from resit.models.protocol import Notify

ROWS = {"cpu": 128, "cuda": 512}
"""Rows beyond which a step takes longer in proportion, by kind of device."""

CACHES = {"cpu": 2, "cuda": 8}
"""Rows' own keys and values, in sizes of the model, beyond which more rows save little: each row's are read
for it alone, and the weights, read for all of them, are then the smaller part of a step."""

PREFILL = {"cpu": 512, "cuda": 8192}
"""Prompt tokens of one pass: enough to fill the device, few enough that decoding rows do not wait long."""

AHEAD = 2
"""Rows in sight for each that is decoded: what they share is known before the first of them is computed."""

ARRANGE = 16
"""Steps between two looks at whether rows of like length lie together."""


class Engine:
    """Runs rows through one causal model of transformers, in eval mode and on its device.

    `notify` is told once when the model has to be run in padded batches, and when memory ran out.
    """

    def __init__(self, model: Any, tokenizer: Any, settings: Settings, notify: Notify) -> None:
        self._model = model.eval()
        self._tokenizer = tokenizer
        self._settings = settings
        self._notify = notify
        self._ends = settings.end_token_ids or end_tokens(model, tokenizer)
        self._packed: PackedModel | None = None
        if settings.shared_prefixes:
            try:
                self._packed = packed(model, settings.context)
                self._packed.quicken()
            except Unsupported as reason:
                notify(
                    f"{type(model).__name__} is decoded in padded batches, without shared prefixes: {reason}"
                )

    def run(self, rows: Iterable[Row]) -> Iterator[Finished]:
        """Every row's end, as they end; rows are pulled as places become free, a bounded number ahead."""
        given = (self._tokenizer, self._settings, self._ends, self._notify)
        if self._packed is None:
            return PaddedDecoding(self._model, *given).run(rows)
        return Decoding(self._packed, *given).run(rows)

    def score(self, texts: Iterable[Scored], moments: bool = False) -> Iterator[Scores]:
        """Every text's log-probabilities, in any order; shared beginnings are computed once."""
        if self._packed is None:
            return score_each(self._model, self._settings, texts, moments)
        return score(self._packed, self._settings, texts, moments)

    def close(self) -> None:
        """Put the model's attention back."""
        if self._packed is not None:
            self._packed.close()


def end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Tokens that end a text: those of the generation config, else the tokenizer's EOS."""
    told = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    if told is None:
        told = tokenizer.eos_token_id
    return frozenset([told] if isinstance(told, int) else told or ())


class Decoding:
    """One stream of rows: the loop, and all that is in flight."""

    def __init__(
        self, model: PackedModel, tokenizer: Any, settings: Settings, ends: frozenset[int], notify: Notify
    ) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._settings = settings
        self._ends = ends
        self._notify = notify
        self._special = special_tokens(tokenizer)
        self._tree = PrefixTree()
        self._cache = RowCache(model.attention.shapes)
        self._token_bytes = token_bytes(model.attention.shapes)
        self._most = settings.rows or ROWS.get(model.device.type, ROWS["cpu"])
        self._limit = self._most
        self._prefill = settings.prefill_tokens or PREFILL.get(model.device.type, PREFILL["cpu"])
        self._waiting: deque[Flight] = deque()
        self._active: list[Flight] = []
        """Rows with a place. Others follow one of them (`twins`), and could each have a place."""
        self._twins = Twins()
        self._copies: list[tuple[int, int, int]] = []
        """From which place to which, and how many tokens."""
        self._refused: list[Finished] = []
        self._steps = 0
        self._budget = int(free_bytes(model.device) * settings.memory_share)
        if settings.rows is None:
            pays = CACHES.get(model.device.type, CACHES["cpu"]) * model.bytes
            self._budget = min(self._budget, pays)

    def run(self, rows: Iterable[Row]) -> Iterator[Finished]:
        """Every row's end, as they end."""
        incoming = iter(rows)
        try:
            while self._look_ahead(incoming) or self._active:
                yield from self._step()
            yield from self._take_refused()
        finally:
            self._model.attention.cache = None
            self._model.attention.pass_ = None
            self._model.use(False)

    def _look_ahead(self, incoming: Iterator[Row]) -> bool:
        """Pull rows into sight; whether any waits."""
        while len(self._waiting) < AHEAD * self._most:
            row = next(incoming, None)
            if row is None:
                break
            refused = refusal(row, self._settings.context)
            if refused is not None:
                self._refused.append(refused)
                continue
            leaf = self._tree.insert(row.token_ids[:-1])
            self._waiting.append(new_flight(row, leaf, self._tokenizer, self._special))
        return bool(self._waiting)

    def _take_refused(self) -> list[Finished]:
        refused, self._refused = self._refused, []
        return refused

    @torch.inference_mode()
    def _step(self) -> list[Finished]:
        """One forward pass: newcomers' prompt tokens and one token of every decoding row."""
        self._model.use(True)
        self._model.attention.cache = self._cache
        failed = False
        try:
            self._copy()
            self._admit()
            self._arrange()
            plan = self._plan()
            logits = self._model.logits(plan.pass_, plan.keep)
            drawn = self._draw(logits, plan.rows)
        except (RuntimeError, MemoryError) as error:
            if not ran_out(error):
                raise
            failed = True
        if failed:  # only now is what the failed pass held free again
            return self._retreat()
        self._steps += 1
        for flight, count in plan.tails:
            flight.computed(count)
        return [*self._take_refused(), *self._advance(plan.rows, drawn)]

    def _draw(self, logits: Tensor, rows: list[Flight]) -> list[int]:
        """A token for each row and, right behind it, for each of its followers."""
        drawing = [(n, f) for n, row in enumerate(rows) for f in (row, *self._twins.followers(row))]
        for _, flight in drawing:
            flight.tell_draw(logits.shape[-1], logits.device)
        if len(drawing) > len(rows):
            logits = logits[torch.tensor([n for n, _ in drawing], device=logits.device)]
        return choose(logits, [flight.draw for _, flight in drawing]) if rows else []

    def _advance(self, rows: list[Flight], drawn: list[int]) -> list[Finished]:
        """Give the rows their tokens; followers that drew another than their leader get a place."""
        ended, begin, parted = list[Finished](), 0, list[tuple[int, list[Flight]]]()
        for leader in rows:
            place, end = leader.place, begin + 1 + len(self._twins.followers(leader))
            parting = self._twins.part(leader, drawn[begin:end], self._ends, self._settings.context)
            begin = end
            for flight, finished in parting.ended:
                ended.append(finished)
                self._tree.remove(flight.leaf)
            first, others = parting.leaders[:1], parting.leaders[1:]
            if first != [leader]:
                self._active.remove(leader)
                self._active += first
            for flight in first:
                flight.place = place
            if others:
                parted.append((place, others))
        if parted:
            self._give_places(parted)
        return ended

    def _give_places(self, parted: list[tuple[int, list[Flight]]]) -> None:
        """Give rows that were computed together a place each; the next step copies what was computed."""
        free = iter(self._free_places())
        for place, leaders in parted:
            for flight in leaders:
                flight.place = next(free)
                self._copies.append((place, flight.place, flight.length))
                self._active.append(flight)

    def _copy(self) -> None:
        if self._copies:
            sources, targets, lengths = zip(*self._copies, strict=True)
            self._copies = []
            self._cache.move(sources, targets, lengths)

    def _free_places(self) -> list[int]:
        return sorted(set(range(self._limit)) - {flight.place for flight in self._active})

    def _admit(self) -> None:
        """Give places to waiting rows, first come first served."""
        free = self._free_places()[::-1]
        while self._waiting and len(self._active) + len(self._twins) < self._limit:
            if not self._active:
                self._furnish()
                free = list(range(self._limit))[::-1]
            if not self._fits(self._waiting[0]):
                break
            flight = self._waiting.popleft()
            if self._twins.join(flight):
                continue
            flight.admit(free.pop(), self._model.attention.shapes)
            self._active.append(flight)
            self._twins.lead(flight)

    def _need(self) -> int:
        """Tokens of the longest place that a row in sight needs."""
        return max(flight.needs(self._settings.context) for flight in self._waiting)

    def _affordable(self, tokens: int) -> int:
        return min(self._most, affordable_rows(self._budget, self._token_bytes, tokens))

    def _furnish(self) -> None:
        """Make places for the rows in sight, as many as pay and fit; no row is in flight."""
        tokens = self._need()
        self._limit = min(self._affordable(tokens), len(self._waiting))
        self._cache.release()
        self._cache.reserve(self._limit, tokens)

    def _fits(self, flight: Flight) -> bool:
        """Whether a row may come now. If not, no row comes until all have ended, and places are made anew.

        So it is when longer places do not fit, and when twice as many shorter ones would.
        """
        tokens = flight.needs(self._settings.context)
        if tokens > self._cache.capacity:
            if self._active and self._limit > self._affordable(tokens):
                return False
            self._cache.reserve(self._limit, tokens)
        if 2 * tokens <= self._cache.capacity and len(self._waiting) >= 2 * self._limit:
            return self._affordable(self._need()) < 2 * self._limit
        return True

    def _arrange(self) -> None:
        """Bring rows of like length together, the longest first, and all of them to the front."""
        total = len(self._active)
        crowded = self._waiting or all(flight.place < total + total // 8 for flight in self._active)
        if not total or (self._steps % ARRANGE and crowded):
            return
        edges = band_edges(total)
        order = sorted(self._active, key=lambda flight: -flight.length)
        moves: list[tuple[Flight, int]] = []
        for first, last in pairwise(edges):
            strangers = [flight for flight in order[first:last] if not first <= flight.place < last]
            free = set(range(first, last)) - {flight.place for flight in order[first:last]}
            moves += zip(strangers, sorted(free), strict=False)
        if moves:
            sources, lengths = zip(*((flight.place, flight.length) for flight, _ in moves), strict=True)
            self._cache.move(sources, [place for _, place in moves], lengths)
        for flight, place in moves:
            flight.place = place

    def _plan(self) -> Plan:
        """The next pass: every decoding row's token, then prompt tokens as far as there is room."""
        plan = Plan(self._cache, self._prefill)
        decoding = [flight for flight in self._active if flight.decoding]
        coming = [flight for flight in self._active if not flight.decoding]
        for flight in sorted(decoding, key=lambda flight: flight.place):
            plan.decode(flight)
        for flight in coming:
            if plan.room:
                plan.prompt(flight)
        return plan.finish()

    def _retreat(self) -> list[Finished]:
        """Memory ran out: every row goes back to wait, and half as many come again."""
        rows, self._active = [*self._active, *self._twins.dissolve()], []
        self._copies, ended = [], []
        if len(rows) == 1 or self._limit == 1:
            alone = rows.pop() if rows else self._waiting.popleft()
            ended.append(alone.finished("error", "memory ran out with this row alone in flight"))
            self._tree.remove(alone.leaf)
        self._most = max(1, (len(rows) or self._limit) // 2)
        self._prefill = max(64, self._prefill // 2)
        for flight in reversed(rows):
            flight.land()
            self._waiting.appendleft(flight)
        for node in self._tree.nodes():
            node.store, node.done = None, 0
        self._cache.release()
        if self._model.device.type == "cuda":
            torch.cuda.empty_cache()
        self._notify(f"memory ran out: going on with {self._most} rows at a time")
        return ended
