"""A row's text as it grows: decoded token by token, stop strings looked for at its end only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from resit.models.stops import cut


class Decoder(Protocol):
    """Turns one token after another into text."""

    def step(self, token: int) -> str:
        """What the token adds; empty while a character is incomplete, and for special tokens."""
        ...


class _Streaming:
    """tokenizers' own incremental decoder: constant work a token."""

    def __init__(self, tokenizer: Any) -> None:
        from tokenizers.decoders import DecodeStream

        self._tokenizer = tokenizer
        self._stream = DecodeStream(skip_special_tokens=True)

    def step(self, token: int) -> str:
        return self._stream.step(self._tokenizer, token) or ""


class _Windowed:
    """For tokenizers in Python: decodes the last few tokens twice, with and without the new one."""

    def __init__(self, tokenizer: Any, tokens: Sequence[int] = ()) -> None:
        self._tokenizer = tokenizer
        self._tokens = list(tokens)
        self._told = len(self._tokens)
        """Tokens of the window whose text is out."""

    def _text(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))

    def step(self, token: int) -> str:
        self._tokens.append(token)
        before, after = self._text(self._tokens[: self._told]), self._text(self._tokens)
        if len(after) <= len(before) or after.endswith("\ufffd"):
            return ""
        self._tokens = self._tokens[self._told :]  # the window: what this step has told
        self._told = len(self._tokens)
        return after[len(before) :]


class Transcript:
    """What a row has said after its prompt."""

    def __init__(self, tokenizer: Any, stops: Sequence[str], special_stops: Mapping[int, str]) -> None:
        self.tokens: list[int] = []
        self.text = ""
        self._tokenizer = tokenizer
        self._stops = tuple(stop for stop in stops if stop)
        self._special_stops = {token: stop for token, stop in special_stops.items() if stop in self._stops}
        self._longest = max(map(len, self._stops), default=0)
        self._decoder = self._new_decoder()

    def _new_decoder(self) -> Decoder:
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        return _Windowed(self._tokenizer) if backend is None else _Streaming(backend)

    def append(self, token: int) -> str | None:
        """Take in the next token; the stop string that it completes, if any."""
        self.tokens.append(token)
        if token in self._special_stops:
            return self._special_stops[token]
        piece = self._step(token)
        if not piece:
            return None
        self.text += piece
        tail = self.text[-(len(piece) + self._longest) :]
        if not self._longest or cut(tail, self._stops)[1] is None:
            return None
        return cut(self.decoded(), self._stops)[1]  # the whole text, decoded at once, has the last word

    def _step(self, token: int) -> str:
        try:
            return self._decoder.step(token)
        except Exception:  # tokenizers raises nothing more specific for tokens that its stream cannot follow
            self._decoder = _Windowed(self._tokenizer, self.tokens)
            return self.decoded()[len(self.text) :]

    def replace(self, tokens: Sequence[int]) -> str | None:
        """Take other tokens for everything said so far; the stop string that they complete, if any."""
        self.tokens, self.text = [], ""
        self._decoder = self._new_decoder()
        for token in tokens:
            stop = self.append(token)
            if stop is not None:
                return stop
        return None

    def tokens_of(self, text: str) -> list[int]:
        """Tokens of a text that stands where this one stands."""
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def decoded(self) -> str:
        """All tokens decoded at once, special tokens left out."""
        return str(self._tokenizer.decode(self.tokens, skip_special_tokens=True))

    def answer(self) -> tuple[str, str | None]:
        """The text before the earliest stop string, and that stop string."""
        text, stop = cut(self.decoded(), self._stops)
        if stop is None and self.tokens:
            stop = self._special_stops.get(self.tokens[-1])
        return text, stop


def special_tokens(tokenizer: Any) -> dict[int, str]:
    """Tokens that decoding leaves out, with their text: a stop string may name one."""
    added = getattr(tokenizer, "added_tokens_decoder", {})
    return {token: str(entry.content) for token, entry in added.items() if entry.special}
