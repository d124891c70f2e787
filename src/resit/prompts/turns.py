"""From question and exemplars to what is sent: one text, or chat turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from resit.prompts.frame import Frame
from resit.prompts.templates import Fields
from resit.records import Message, Prompt


@dataclass(frozen=True, slots=True)
class Turn:
    """A piece of a prompt: a chat turn, or, with its delimiter, a stretch of plain text."""

    role: Literal["user", "assistant"]
    text: str
    delimiter: str = ""


def _spaced(left: str, right: str) -> bool:
    """Whether two texts meet with white space; nothing needs none."""
    return not left or not right or left[-1].isspace() or right[0].isspace()


def joined(left: str, right: str, delimiter: str) -> str:
    """Two texts with the delimiter between them, unless they meet with white space already."""
    return left + right if _spaced(left, right) else left + delimiter + right


def exemplar_turns(frame: Frame, fields: Fields) -> tuple[Turn, ...]:
    """A worked example: question and answer; without an answer, the question (and the prefill) alone."""
    answer = frame.answer(fields)
    if not answer:
        return question_turns(frame, fields)
    text, prefix = frame.text(fields), frame.prefix(fields)
    delimiter = "" if prefix and (not text or _spaced(text, prefix)) else frame.target_delimiter
    reply = joined(prefix, answer, " ")
    return Turn("user", text, delimiter), Turn("assistant", reply, frame.fewshot_delimiter)


def question_turns(frame: Frame, fields: Fields) -> tuple[Turn, ...]:
    """The question, and the prefill that the answer is to continue."""
    text, prefix = frame.text(fields), frame.prefix(fields)
    if not prefix:
        return (Turn("user", text),)
    delimiter = "" if _spaced(text, prefix) else frame.target_delimiter
    return Turn("user", text, delimiter), Turn("assistant", prefix)


def plain(system: str, turns: Sequence[Turn]) -> str:
    """One text; nothing stands between the system block and what follows."""
    return system + "".join(turn.text + turn.delimiter for turn in turns)


def multi_turn(system: str, turns: Sequence[Turn]) -> Prompt:
    """Chat turns as they are, delimiters dropped."""
    return _with_system(system, [Message(turn.role, turn.text) for turn in turns])


def single_turn(system: str, turns: Sequence[Turn]) -> Prompt:
    """One user turn that holds the plain text, then the prefill, if there is one, as the assistant's."""
    prefill = [turns[-1]] if turns[-1].role == "assistant" else []
    asked = turns[: len(turns) - len(prefill)]
    text = "".join(turn.text + turn.delimiter for turn in asked[:-1]) + asked[-1].text
    return _with_system(system, [Message("user", text), *(Message(turn.role, turn.text) for turn in prefill)])


def _with_system(system: str, messages: list[Message]) -> tuple[Message, ...]:
    return (Message("system", system), *messages) if system else tuple(messages)
