"""Turning text into token ids on our side, with the `tokenizers` package."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from resit.errors import AssetError, UsageError
from resit.models.protocol import Encoding


class Tokens:
    """A tokenizer from a `tokenizer.json` or a hub's name; loaded when it is first needed."""

    def __init__(self, source: str, special: bool = True) -> None:
        self._source = source
        self._special = special

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise UsageError(
                "a tokenizer needs the tokenizers package", "pip install 'resit[server]'"
            ) from None
        path = Path(self._source).expanduser()
        path = path / "tokenizer.json" if path.is_dir() else path
        try:
            return (
                Tokenizer.from_file(str(path)) if path.exists() else Tokenizer.from_pretrained(self._source)
            )
        except Exception as error:  # the package raises bare Exception for whatever is wrong
            raise AssetError(
                f"tokenizer={self._source}: cannot be loaded ({error})", "give the path of a tokenizer.json"
            ) from None

    def opening(self) -> str | None:
        """BOS as text (EOS where there is none), as the `tokenizer_config.json` beside the tokenizer says."""
        path = Path(self._source).expanduser()
        try:
            config = json.loads(
                ((path if path.is_dir() else path.parent) / "tokenizer_config.json").read_bytes()
            )
        except (OSError, ValueError):
            return None
        named = (config.get(name) for name in ("bos_token", "eos_token"))
        texts = (token.get("content") if isinstance(token, dict) else token for token in named)
        return next((text for text in texts if isinstance(text, str) and text), None)

    def encode(self, text: str) -> Encoding:
        """The token ids of a text, special tokens in front if asked for, but never the same one twice."""
        found = self._tokenizer.encode(text, add_special_tokens=self._special)
        ids, pieces = list(found.ids), list(found.tokens)
        special = list(found.special_tokens_mask)
        while len(ids) > 1 and ids[0] == ids[1] and special[0]:
            del ids[0], pieces[0], special[0]
        bos = bool(self._special and special and special[0]) or self._is_special(pieces)
        return Encoding(text, tuple(ids), tuple(pieces), bos)

    def _is_special(self, pieces: list[str]) -> bool:
        added = {
            token.content for token in self._tokenizer.get_added_tokens_decoder().values() if token.special
        }
        return bool(pieces) and pieces[0] in added
