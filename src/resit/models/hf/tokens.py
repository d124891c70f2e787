"""From prompts to token ids: chat templates, and a beginning-of-sequence token exactly once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from resit.errors import AssetError, UsageError
from resit.models.hf.source import Source
from resit.models.hf.weights import first_line, transformers
from resit.models.protocol import Encoding
from resit.records import Prompt

_PROBE = "a"


@dataclass
class Tokens:
    """A tokenizer of transformers and the rules for what is put through it; loaded at first need."""

    source: Source
    add_bos: bool | None = None
    """None: as the tokenizer does by itself."""
    chat_template: Path | None = None
    """Used instead of the tokenizer's own."""
    template_args: Mapping[str, Any] = field(default_factory=dict)
    debug: bool = False

    @cached_property
    def tokenizer(self) -> Any:
        """Raises AssetError when it cannot be loaded."""
        package = transformers(self.debug)
        folder = self.source.whole() if self.source.gguf else self.source.small()
        more = {"gguf_file": self.source.gguf} if self.source.gguf else {}
        try:
            found = package.AutoTokenizer.from_pretrained(
                str(folder), trust_remote_code=self.source.code, local_files_only=True, **more
            )
        except Exception as error:  # converters raise anything
            if "trust_remote_code" in str(error):
                raise UsageError(
                    f"{self.source.asked}: the tokenizer comes with its own Python, which is not run unasked",
                    "read it, then add trust_remote_code=true",
                ) from None
            raise AssetError(
                f"{self.source.asked}: its tokenizer cannot be loaded ({first_line(error)})",
                "name another with tokenizer=FOLDER or a hub's name",
            ) from error
        if self.chat_template:
            found.chat_template = self.chat_template.read_text(encoding="utf-8")
        return found

    @cached_property
    def front(self) -> tuple[int, ...]:
        """The token ids that go before every text; those that a tokenizer adds behind are never used.

        Raises UsageError for add_bos_token=true without such a token.
        """
        tokenizer = self.tokenizer
        if self.add_bos is False:
            return ()
        plain = list(tokenizer.encode(_PROBE, add_special_tokens=False))
        whole = list(tokenizer.encode(_PROBE))
        place = next((i for i in range(len(whole)) if whole[i : i + len(plain)] == plain), 0)
        own = tuple(whole[:place])
        if own or self.add_bos is None:
            return own
        if tokenizer.bos_token_id is None:
            raise UsageError("add_bos_token=true: the tokenizer has no beginning-of-sequence token")
        return (tokenizer.bos_token_id,)

    def text(self, prompt: Prompt) -> str:
        """The prompt as text: turns through the chat template, a last assistant turn left open.

        Raises UsageError when the template refuses the turns or drops the system's.
        """
        if isinstance(prompt, str):
            return prompt
        turns = [{"role": turn.role, "content": turn.content} for turn in prompt]
        if not self.tokenizer.chat_template:
            raise UsageError(
                f"{self.source.asked}: the tokenizer has no chat template",
                "ask without --apply-chat-template, or give chat_template=FILE",
            )
        open_turn = prompt[-1].role == "assistant"
        try:
            text: str = self.tokenizer.apply_chat_template(
                turns,
                tokenize=False,
                add_generation_prompt=not open_turn,
                continue_final_message=open_turn,
                **self.template_args,
            )
        except Exception as error:  # a template can raise anything
            roles = ", ".join(turn.role for turn in prompt)
            raise _refused(f"refuses the turns {roles}: {first_line(error)}") from None
        if any(turn.role == "system" and turn.content.strip() not in text for turn in prompt):
            raise _refused("leaves the system turn out")
        return text

    def token_ids(self, prompt: Prompt) -> tuple[int, ...]:
        """What the model is given for a prompt."""
        return self._with_front(self.tokenizer.encode(self.text(prompt), add_special_tokens=False))

    def _with_front(self, ids: list[int]) -> tuple[int, ...]:
        """The ids behind the tokens that go before every text, unless they begin with these already."""
        front = self.front
        return tuple(ids) if tuple(ids[: len(front)]) == front else (*front, *ids)

    def encode(self, prompt: Prompt) -> Encoding:
        """The prompt's text and tokens, as the model is given them."""
        text = self.text(prompt)
        ids, pieces = self._pieces(text)
        whole = self._with_front(ids)
        front = [self.tokenizer.decode([token]) for token in whole[: len(whole) - len(ids)]]
        bos = self.tokenizer.bos_token_id
        begins = None if bos is None else whole[:1] == (bos,)
        return Encoding(text, whole, (*front, *pieces), begins)

    def _pieces(self, text: str) -> tuple[list[int], list[str]]:
        """Token ids of a text alone, and the text of each; joined they are the text.

        A character that several tokens share belongs to the first of them.
        """
        if not self.tokenizer.is_fast:
            ids = list(self.tokenizer.encode(text, add_special_tokens=False))
            return ids, [self.tokenizer.decode([token]) for token in ids]
        found = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        pieces, done = [], 0
        for _, end in found["offset_mapping"]:
            end = max(end, done)
            pieces.append(text[done:end])
            done = end
        return list(found["input_ids"]), pieces

    def divided(self, context: str, text: str) -> tuple[tuple[int, ...], int, tuple[str, ...]]:
        """Tokens of context and text together, the first that reaches into the text, and pieces from there.

        Where the text begins with the first token, a BOS (EOS where there is none) is put before it.
        Raises UsageError where the tokenizer has neither.
        """
        own, pieces = self._pieces(context + text)
        ids = self._with_front(own)
        skipped = reached = 0
        while skipped < len(pieces) and reached + len(pieces[skipped]) <= len(context):
            reached += len(pieces[skipped])
            skipped += 1
        start = len(ids) - len(own) + skipped
        if start == 0:
            ids, start = (self._opening(), *ids), 1
        return ids, start, tuple(pieces[skipped:])

    def _opening(self) -> int:
        for token in (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id):
            if token is not None:
                return int(token)
        raise UsageError(f"{self.source.asked}: the tokenizer has neither BOS nor EOS to stand before a text")


def _refused(why: str) -> UsageError:
    return UsageError(
        f"the model's chat template {why}", "leave out the system instruction, or give another chat_template"
    )
