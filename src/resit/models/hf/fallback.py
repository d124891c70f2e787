"""Models that cannot be computed in packed rows: padded batches through transformers' own `generate`.

Sampling, stop strings and seeds are the engine's own, so texts are those of packed rows. When half of a batch
has ended, it is broken off and its other rows go on beside newcomers, from prompt and answer so far.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from resit.models.hf.flight import Flight, new_flight
from resit.models.hf.memory import affordable_rows, free_bytes, ran_out
from resit.models.hf.prefix_tree import Node
from resit.models.hf.rows import Finished, Row, Scored, Scores, Settings, refusal, unscorable
from resit.models.hf.sampling import choose
from resit.models.hf.score import figures_of, scores_of
from resit.models.hf.transcript import special_tokens
from resit.models.protocol import Notify

ROWS = {"cpu": 16, "cuda": 64}
"""Rows of a batch, by kind of device."""

_SIMILAR = 1e-2
"""Largest change of the scores, as a share of their spread, that padding may cause."""


class Batch:
    """Rows in one call of `generate`: as its logits processor, leaves each row only what it has drawn."""

    def __init__(self, rows: Sequence[Flight], ends: frozenset[int], context: int, more: bool) -> None:
        self.rows = list(rows)
        self.ended: list[tuple[Flight, Finished]] = []
        self._alive = list(rows)
        self._ends = ends
        self._context = context
        self._enough = len(rows) // 2 if more or len(rows) > 4 else 0
        self._broken = False

    def over(self, input_ids: Tensor, scores: object, **_: Any) -> Tensor:
        """True (rows) when the call is to end, as transformers' stopping criteria say it."""
        over = self._broken or len(self._alive) <= self._enough
        return torch.full((len(self.rows),), over, dtype=torch.bool, device=input_ids.device)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores (rows, vocabulary) that are -inf but for one token a row."""
        index = [self.rows.index(flight) for flight in self._alive]
        for flight in self._alive:
            flight.tell_draw(scores.shape[-1], scores.device)
        drawn = [0] * len(self.rows)
        chosen = choose(scores[index], [flight.draw for flight in self._alive])
        for place, flight, token in zip(index, list(self._alive), chosen, strict=True):
            drawn[place] = token
            self._take(flight, token)
        only = torch.full_like(scores, -torch.inf)
        only[torch.arange(len(drawn)), torch.tensor(drawn, device=scores.device)] = 0.0
        return only

    def _take(self, flight: Flight, token: int) -> None:
        inserted = len(flight.insertions)
        end = flight.advance(token, self._ends, self._context)
        if end is not None:
            self._alive.remove(flight)
            self.ended.append((flight, end))
        self._broken = self._broken or len(flight.insertions) > inserted  # `generate` cannot be told of it


class PaddedDecoding:
    """One stream of rows in padded batches."""

    def __init__(
        self, model: Any, tokenizer: Any, settings: Settings, ends: frozenset[int], notify: Notify
    ) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._settings = settings
        self._ends = ends
        self._notify = notify
        self._device = model.get_input_embeddings().weight.device
        self._most = settings.rows or ROWS.get(self._device.type, ROWS["cpu"])
        self._waiting: deque[Flight] = deque()
        self._pads = pads(model)

    def run(self, rows: Iterable[Row]) -> Iterator[Finished]:
        """Every row's end, as batches end."""
        incoming, special = iter(rows), special_tokens(self._tokenizer)
        while True:
            while len(self._waiting) < 2 * self._most and (row := next(incoming, None)) is not None:
                refused = refusal(row, self._settings.context)
                if refused is not None:
                    yield refused
                else:
                    self._waiting.append(new_flight(row, Node((), 0, None), self._tokenizer, special))
            if not self._waiting:
                return
            yield from self._batch()

    def _batch(self) -> list[Finished]:
        """Run the next batch; rows that have not ended wait again, before all others."""
        flights = self._next()
        more = bool(self._waiting)
        batch = Batch(flights, self._ends, self._settings.context, more)
        try:
            self._generate(batch)
        except (RuntimeError, MemoryError) as error:
            if not ran_out(error):
                raise
            self._most = max(1, len(flights) // 2)
            if len(flights) == 1:
                batch.ended.append(
                    (flights[0], flights[0].finished("error", "memory ran out in a batch of one"))
                )
            self._notify(f"memory ran out: going on with {self._most} rows at a time")
        over = {id(flight) for flight, _ in batch.ended}
        self._waiting.extendleft(flight for flight in reversed(flights) if id(flight) not in over)
        return [end for _, end in batch.ended]

    def _next(self) -> list[Flight]:
        """The rows of the next batch; where padding would change texts, rows of one length only."""
        most = min(self._most, self._affordable())
        length = len(self._tokens(self._waiting[0]))
        chosen = [f for f in self._waiting if self._pads or len(self._tokens(f)) == length][:most]
        for flight in chosen:
            self._waiting.remove(flight)
        return chosen

    def _affordable(self) -> int:
        config = self._model.config.get_text_config()
        a_token = 2 * config.hidden_size * config.num_hidden_layers * self._model.dtype.itemsize
        longest = max(len(f.row.token_ids) + f.row.sampling.max_tokens for f in self._waiting)
        budget = int(free_bytes(self._device) * self._settings.memory_share)
        return affordable_rows(
            budget, 2 * a_token, min(longest, self._settings.context)
        )  # copied while growing

    def _tokens(self, flight: Flight) -> list[int]:
        return [*flight.row.token_ids, *flight.transcript.tokens]

    def _generate(self, batch: Batch) -> None:
        prompts = [self._tokens(flight) for flight in batch.rows]
        owed = max(f.row.sampling.max_tokens - len(f.transcript.tokens) for f in batch.rows)
        room = self._settings.context - min(map(len, prompts))
        generate(self._model, *padded(prompts, self._device), min(owed, room), batch)


def padded(prompts: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Token ids (rows, longest) padded on the left, and the mask that is 1 where they are not."""
    longest = max(map(len, prompts))
    ids = [[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
    mask = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


@torch.inference_mode()
def generate(model: Any, ids: Tensor, mask: Tensor, tokens: int, batch: Batch | None) -> Any:
    """transformers' loop; the batch draws in it, or else it is greedy and its logits are returned."""
    from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

    plain = GenerationConfig(  # type: ignore[no-untyped-call]
        max_new_tokens=tokens, do_sample=False, pad_token_id=0, return_dict_in_generate=True,
        output_logits=batch is None,
    )  # fmt: skip
    own, model.generation_config = model.generation_config, plain  # its defaults would be mixed in
    try:
        return model.generate(
            input_ids=ids,
            attention_mask=mask,
            generation_config=plain,
            logits_processor=LogitsProcessorList([batch] if batch else []),
            stopping_criteria=StoppingCriteriaList([batch.over] if batch else []),
        )
    finally:
        model.generation_config = own


def pads(model: Any) -> bool:
    """Whether padding on the left leaves what follows as it was: some recurrent models let it leak in."""
    device = model.get_input_embeddings().weight.device
    text = [5, 9, 3, 8, 6, 7]
    found = []
    for padding in ([], [[4] * (len(text) + 3)]):
        ids, mask = padded([text, *padding], device)
        found.append(generate(model, ids, mask, 1, None).logits[0][0].float())
    return bool((found[0] - found[1]).abs().max() <= _SIMILAR * found[0].std())


@torch.inference_mode()
def score_each(model: Any, settings: Settings, texts: Iterable[Scored], moments: bool) -> Iterator[Scores]:
    """Every text's log-probabilities, each by a forward pass of its own."""
    device = model.get_input_embeddings().weight.device
    for text in texts:
        if len(text.token_ids) > settings.context:
            yield unscorable(text, settings.context)
            continue
        start = max(text.start, 1)
        logits = model(input_ids=torch.tensor([text.token_ids], device=device), use_cache=False).logits[0]
        logprobs = logits[start - 1 : -1].float().log_softmax(-1)
        yield scores_of(text.key, figures_of(logprobs, text.token_ids[start:], moments), moments)
