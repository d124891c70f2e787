"""Log-probabilities of given texts, shared beginnings computed once."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

import torch
from torch import Tensor

from resit.models.hf.cache import LayerShape
from resit.models.hf.flight import held, store_of
from resit.models.hf.layout import Group, Pass, Span
from resit.models.hf.memory import ran_out
from resit.models.hf.packed import PackedModel
from resit.models.hf.prefix_tree import Node, PrefixTree
from resit.models.hf.rows import Scored, Scores, Settings, unscorable

WAVE = 128
"""Texts in sight together."""

TOKENS = 512
"""New tokens of one pass."""

LOGITS = 2**24
"""Numbers that the logits of one pass may have."""

Figures: TypeAlias = tuple[float, bool, float, float]
"""Log-probability of a token, whether it was the likeliest, mean and deviation over the vocabulary."""


@dataclass(slots=True)
class _Piece:
    """A node's share of the work: its tokens from `wanted` on are scored."""

    node: Node
    wanted: int
    figures: list[Figures] = field(default_factory=list)
    last: Tensor | None = None
    """Log-probabilities (vocabulary) of what may follow the node's last token."""
    children_left: int = 0


def score(model: PackedModel, settings: Settings, texts: Iterable[Scored], moments: bool) -> Iterator[Scores]:
    """Every text's log-probabilities, wave by wave."""
    incoming = iter(texts)
    tokens = TOKENS
    while wave := list(islice(incoming, WAVE)):
        fitting = [text for text in wave if len(text.token_ids) <= settings.context]
        yield from (unscorable(text, settings.context) for text in wave if text not in fitting)
        while fitting:
            found = _try_wave(model, fitting, tokens, moments)
            if found is not None:
                yield from found
                break
            if tokens <= 1:
                yield from (Scores(text.key, error="memory ran out") for text in fitting)
                break
            tokens //= 2


def _try_wave(model: PackedModel, texts: Sequence[Scored], tokens: int, moments: bool) -> list[Scores] | None:
    """Scores of the texts; None where memory ran out."""
    try:
        model.use(True)
        return _wave(model, texts, tokens, moments)
    except (RuntimeError, MemoryError) as error:
        if not ran_out(error):
            raise
        return None
    finally:
        model.attention.pass_ = None
        model.use(False)


@torch.inference_mode()
def _wave(model: PackedModel, texts: Sequence[Scored], tokens: int, moments: bool) -> list[Scores]:
    tree = PrefixTree()
    leaves = [tree.insert(text.token_ids) for text in texts]
    pieces = {node: _Piece(node, node.end) for node in tree.nodes()}
    for text, leaf in zip(texts, leaves, strict=True):
        for node in leaf.path():
            pieces[node].wanted = min(pieces[node].wanted, max(text.start, 1))
    for node in pieces:
        if node.parent in pieces:
            pieces[node.parent].children_left += 1
    waiting = deque(pieces.values())  # parents come before their children
    while waiting:
        _compute(model, pieces, waiting, tokens, moments)
    return [_scores(text, leaf, pieces, moments) for text, leaf in zip(texts, leaves, strict=True)]


def _scores(text: Scored, leaf: Node, pieces: dict[Node, _Piece], moments: bool) -> Scores:
    figures = [figure for node in leaf.path() for figure in pieces[node].figures]
    wanted = len(text.token_ids) - max(text.start, 1)  # another row may have wanted earlier ones
    return scores_of(text.key, figures[len(figures) - wanted :], moments)


def scores_of(key: Hashable, figures: Sequence[Figures], moments: bool) -> Scores:
    """The answer to a text, from its tokens' figures."""
    return Scores(
        key=key,
        logprobs=tuple(figure[0] for figure in figures),
        greedy=tuple(figure[1] for figure in figures),
        mean=tuple(figure[2] for figure in figures) if moments else None,
        deviation=tuple(figure[3] for figure in figures) if moments else None,
    )


@dataclass(slots=True)
class _Run:
    """Tokens of a piece that are computed in one pass, packed from `begin` on."""

    piece: _Piece
    first: int
    count: int
    kept: range = field(default=range(0))
    """Which rows of the pass's logits are its own."""


def _compute(
    model: PackedModel, pieces: dict[Node, _Piece], waiting: deque[_Piece], tokens: int, moments: bool
) -> None:
    """One pass over the next pieces, and the figures that it gives."""
    vocabulary = model.model.get_input_embeddings().num_embeddings
    pass_, keep, runs = Pass(), list[int](), list[_Run]()
    below: dict[Node, list[tuple[int, int]]] = {}
    room, logits_left = tokens, max(1, LOGITS // vocabulary)
    while waiting and room > 0 and logits_left > 0:
        node = waiting[0].node
        count = min(room, logits_left, len(node.tokens) - node.done)
        run = _add(pass_, waiting[0], count, keep, below, model.attention.shapes)
        runs.append(run)
        room -= count
        logits_left -= len(run.kept)
        if not node.complete:
            break  # the rest comes in a pass of its own: it stands on what this one gives
        waiting.popleft()
    pass_.groups = [Group(held(n), n.start, len(n.tokens), ranges) for n, ranges in below.items()]
    logits = model.logits(pass_, keep)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(-1)
    for run in runs:
        _takefigures_of(run, logits, pieces, moments)
        if run.piece.node.complete:
            _free(run.piece, pieces)


def _add(
    pass_: Pass,
    piece: _Piece,
    count: int,
    keep: list[int],
    below: dict[Node, list[tuple[int, int]]],
    shapes: Sequence[LayerShape],
) -> _Run:
    """Put a piece's next tokens into the pass, and note the positions whose predictions are wanted."""
    node, run = piece.node, _Run(piece, piece.node.done, count)
    begin, end = pass_.add(node.tokens[run.first : run.first + count], node.start + run.first)
    pass_.spans.append(Span(begin, end, run.first, store_of(node, shapes)))
    for above in node.path()[:-1]:
        below.setdefault(above, []).append((begin, end))
    node.done += count
    before = len(keep)
    for packed, position in zip(range(begin, end), range(node.start + run.first, node.end), strict=False):
        if position + 1 >= piece.wanted or (position + 1 == node.end and node.children):
            keep.append(packed)
    run.kept = range(before, len(keep))
    return run


def _takefigures_of(run: _Run, logprobs: Tensor, pieces: dict[Node, _Piece], moments: bool) -> None:
    """Score the run's own tokens, and keep what its last one predicts for what comes next."""
    piece, node = run.piece, run.piece.node
    rows = logprobs[run.kept.start : run.kept.stop]
    first, upto = node.start + run.first, node.start + run.first + run.count
    before = piece.last if run.first else pieces[node.parent].last if node.parent in pieces else None
    begin = max(first, piece.wanted)
    if begin < upto:
        predicting = rows[: upto - 1 - max(first, begin - 1)]
        if begin == first:
            assert before is not None
            predicting = torch.cat([before[None].to(rows.device), predicting])
        piece.figures += figures_of(predicting, node.tokens[begin - node.start : upto - node.start], moments)
    piece.last = rows[-1].clone() if len(rows) else None


def figures_of(logprobs: Tensor, tokens: Sequence[int], moments: bool) -> list[Figures]:
    """Figures of tokens, each predicted by its row of `logprobs` (tokens, vocabulary)."""
    index = torch.tensor(tokens, device=logprobs.device)[:, None]
    own = logprobs.gather(1, index)[:, 0]
    greedy = own >= logprobs.amax(-1)
    mean = deviation = torch.zeros_like(own)
    if moments:
        finite = logprobs.clamp(min=torch.finfo(logprobs.dtype).min / 2)
        shares = finite.exp()
        mean = (shares * finite).sum(-1)
        deviation = (shares * (finite - mean[:, None]) ** 2).sum(-1).sqrt()
    return list(zip(own.tolist(), greedy.tolist(), mean.tolist(), deviation.tolist(), strict=True))


def _free(piece: _Piece, pieces: dict[Node, _Piece]) -> None:
    """Give back what a computed node holds, once nothing below it needs it."""
    node: Node | None = piece.node
    while node in pieces and node is not None:
        if pieces[node].children_left or not node.complete:
            return
        node.store, pieces[node].last = None, None
        node = node.parent
        if node in pieces:
            pieces[node].children_left -= 1
