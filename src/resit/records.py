"""The nouns. Everything that crosses a room's door is one of these frozen records.

Generating turns a Document into a Question (prompt and target), Requests (one a repeat) and
Generations; scoring turns Generations into Verdicts and Verdicts into Scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Message:
    """One chat turn."""

    role: Literal["system", "user", "assistant"]
    content: str


Prompt: TypeAlias = str | tuple[Message, ...]
"""What a model is given: plain text, or chat turns that the backend puts through its template.

Chat turns that end with an assistant message are to be continued, not answered.
"""


@dataclass(frozen=True, slots=True)
class Document:
    """One row of a data set."""

    doc_id: int
    """0-based row of the split, lm-eval's `doc_id`."""
    doc_hash: str
    """Identity by content (lm-eval's `doc_hash`), so that slices and shuffles pair correctly.

    A repeated row carries `#2`, `#3`, … so that hashes are unique within a split.
    """
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """A document as a task asks it."""

    task: str
    document: Document
    prompt: Prompt
    target: str | tuple[str, ...]
    """The reference as the task renders it; a tuple where any one of several is right."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How text is drawn from the model. Temperature 0 is greedy."""

    max_tokens: int = 256
    stop: tuple[str, ...] = ()
    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Settings that Resit does not interpret, passed to the backend as they are."""
    calculator: bool = False
    """Results after `<<expression=` are put in by `resit.models.calculator`, not by the model."""


@dataclass(frozen=True, slots=True)
class Request:
    """One sample owed: a question, a repeat, and the seed that belongs to the two."""

    question: Question
    repeat: int
    sampling: Sampling
    seed: int


FinishReason: TypeAlias = Literal["stop", "length", "error", "unknown"]
"""Why a text ended; `unknown` only for texts that others generated and did not say."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """Text that the calculator, not the model, put into a sample."""

    at: int
    """Where in the sample's text it begins, in characters."""
    text: str
    expression: str
    """What it is the result of."""
    instead: str | None = None
    """What the model had written in its place, as far as it is known and differs."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One sample as the journal keeps it. `error` set means: not measured, owed again."""

    task: str
    doc_id: int
    doc_hash: str
    repeat: int
    seed: int
    text: str = ""
    finish_reason: FinishReason = "stop"
    stop: str | None = None
    """The stop string that ended the text; None for the model's own end of text, or unknown."""
    reasoning: str | None = None
    """The reasoning part, where the backend tells it from the answer; it is never graded."""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    error: str | None = None
    reasoning_tokens: int | None = None
    """How many of `completion_tokens` went into the reasoning."""
    insertions: tuple[Insertion, ...] | None = None
    """The calculator's results in the text, in order; None: it was not asked for."""
    uncalculated: int | None = None
    """Annotations that the calculator left to the model, because it cannot read them."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text whose tokens a model is to give log-probabilities of, after what stands before it."""

    key: str
    """The caller's name for it, unique among the passages of one call."""
    text: str
    """What is scored."""
    context: str = ""
    """What the model reads first, unscored; empty: the text opens the document, after BOS."""


@dataclass(frozen=True, slots=True)
class TokenLikelihoods:
    """Log-probabilities (natural) of a passage's tokens, each given all that stands before it."""

    key: str
    pieces: tuple[str, ...] = ()
    """The text of each scored token."""
    logprobs: tuple[float, ...] = ()
    greedy: tuple[bool, ...] = ()
    """Whether each token was the likeliest in its place."""
    mean: tuple[float, ...] | None = None
    """Expectation of the log-probability over the vocabulary in each place (for Min-k%++)."""
    deviation: tuple[float, ...] | None = None
    """Standard deviation of the same; both None where the backend shows only some of the vocabulary."""
    error: str | None = None
    """Why there is no figure (too long for the context, …); the tuples are then empty."""

    @property
    def total(self) -> float:
        """Log-probability of the passage, the sum over its tokens."""
        return sum(self.logprobs)


@dataclass(frozen=True, slots=True)
class FilterStep:
    """One step of an lm-eval filter chain."""

    function: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    call: Callable[..., Any] | None = None
    """The function of a `custom` step (`!function` in the task file)."""


@dataclass(frozen=True, slots=True)
class FilterChain:
    """A named way from a document's responses to its answer, such as `strict-match`."""

    name: str
    steps: tuple[FilterStep, ...]


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A metric as a task asks for it."""

    name: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    aggregation: str = "mean"
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True)
class ScoringRules:
    """All that grading needs to know of a task."""

    filters: tuple[FilterChain, ...]
    metrics: tuple[MetricSpec, ...]
    headline: str = ""
    """`metric,filter` that the task's score is quoted by; empty: the first of both."""
    named: tuple[str, ...] = ("robust",)
    """Rules of `resit.grading` that are reported beside the task's own filters."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Grading policy of the task: `language`, `tolerance`, `gold` ("whole" or "after ####"), …"""
    process_results: Callable[..., Any] | None = None
    """A task's own scorer (`!function`), given a document's fields and its filtered responses."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one rule makes of one response (or, for a vote, of all responses of a document)."""

    rule: str
    extracted: str | None
    """The answer as read; None: no answer was found."""
    correct: float
    """1.0 right, 0.0 wrong; a task's own metric may give anything between."""
    span: tuple[int, int] | None = None
    """Where in the response the answer stands, [start, end) in characters."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """One number of the results table."""

    task: str
    rule: str
    metric: str
    value: float
    standard_error: float | None
    questions: int
    samples: int
    unextracted: int = 0
    truncated: int = 0
    errored: int = 0


@dataclass(frozen=True, slots=True)
class SampleScore:
    """Every rule's verdict on one sample; a line of `scores.jsonl`. An errored sample has none."""

    task: str
    doc_id: int
    doc_hash: str
    repeat: int
    verdicts: Mapping[str, Verdict]
    truncated: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True)
class QuestionScore:
    """A question's samples and what the task's filter chains make of them together."""

    task: str
    doc_id: int
    doc_hash: str
    samples: tuple[SampleScore, ...]
    answers: Mapping[str, Any]
    """By filter name, the answer after the whole chain (for a vote: the elected one)."""
    metrics: Mapping[str, float]
    """By `metric,filter`; what cannot be computed (too few samples, all errored) is absent."""
