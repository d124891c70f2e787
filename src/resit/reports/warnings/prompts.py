"""Suspicions about prompts: a doubled beginning of text, or prompts that the server cut."""

from __future__ import annotations

from dataclasses import dataclass, field

from resit.records import Question
from resit.reports.graded import Graded
from resit.reports.warnings.finding import Cases, Finding, Setting, percent

BOS = (
    "<s>",
    "<|begin_of_text|>",
    "<bos>",
    "<|startoftext|>",
    "<|begin▁of▁sentence|>",
    "[BOS]",
    "<BOS_TOKEN>",
)
"""Beginning-of-text tokens of the common model families, as text."""
CEILING_SHARE = 0.10
_FEWEST = 3
"""Questions of different length that have to meet at one number of tokens."""
_VARIATION = 0.02
"""Difference in characters, as a share, from which on equal numbers of tokens are no chance."""


def begins(question: Question) -> str:
    """The beginning-of-text token that a prompt starts with; empty for none."""
    prompt = question.prompt
    text = prompt if isinstance(prompt, str) else prompt[0].content
    return next((token for token in BOS if text.startswith(token)), "")


@dataclass(slots=True)
class Beginnings:
    """Prompts that bring a beginning-of-text token, which tokenizers and servers add themselves."""

    questions: int = 0
    suspected: Cases = field(default_factory=Cases)
    token: str = ""

    def add(self, item: Graded) -> None:
        """Look at one prompt."""
        self.questions += 1
        token = begins(item.question)
        if token and item.generations:
            self.token = token
            self.suspected.add(item.generations[0])

    def findings(self, setting: Setting) -> list[Finding]:
        """A suspected double beginning."""
        if not self.suspected.count:
            return []
        message = (
            f"{percent(self.suspected.count, self.questions)} prompts begin with {self.token!r} as text; "
            "most tokenizers add it too, and the model sees it twice (`resit prompts --model …` shows)"
        )
        evidence = {"token": self.token, **self.suspected.evidence(self.questions)}
        return [Finding("double-bos", message, evidence)]


@dataclass(slots=True)
class _Meeting:
    """The prompts that count as one number of tokens."""

    questions: int = 0
    lengths: set[int] = field(default_factory=set)
    """In characters."""


@dataclass(slots=True)
class Ceiling:
    """Prompts of different length that all count as the same, largest number of tokens."""

    counted: int = 0
    """Questions whose number of prompt tokens is known."""
    at: dict[int, _Meeting] = field(default_factory=dict)

    def add(self, item: Graded) -> None:
        """Take in one prompt's length and its number of tokens."""
        tokens = next((g.prompt_tokens for g in item.generations if g.prompt_tokens is not None), None)
        if tokens is None:
            return
        prompt = item.question.prompt
        length = len(prompt) if isinstance(prompt, str) else sum(len(turn.content) for turn in prompt)
        self.counted += 1
        meeting = self.at.setdefault(tokens, _Meeting())
        meeting.questions += 1
        meeting.lengths.add(length)

    def findings(self, setting: Setting) -> list[Finding]:
        """Prompts that the server cut to its window."""
        if not self.at:
            return []
        ceiling = max(self.at)
        top = self.at[ceiling]
        shortest, longest = min(top.lengths), max(top.lengths)
        varied = len(top.lengths) >= _FEWEST and longest - shortest >= _VARIATION * longest
        if not varied or top.questions < CEILING_SHARE * self.counted:
            return []
        message = (
            f"{percent(top.questions, self.counted)} prompts, of {shortest} to {longest} characters, "
            f"all count as {ceiling} tokens, and none as more: the server cut them to its context window"
        )
        evidence = {
            "prompt_tokens": ceiling,
            "count": top.questions,
            "questions": self.counted,
            "shortest_characters": shortest,
            "longest_characters": longest,
        }
        return [Finding("prompts-cut", message, evidence)]
