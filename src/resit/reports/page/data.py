"""The page's data: the shapes of its JSON, and how the browser's JavaScript comes by them.

The page is the same HTML, CSS and JavaScript in `resit report` (one file) and in `resit view` (a server). All
that differs is one JavaScript object, `source`: `static/source_file.js` makes it here, a second file there.

    source.summary()                   Summary, at once: JSON in the page's <script id="summary">
    source.rows(query, offset, count)  Promise of RowsPart; the viewer: GET /api/rows?task=…&run=…&…
    source.sample(id)                  Promise of Detail; the viewer: GET /api/sample?id=…
    source.chart(id)                   Promise of a Vega-Lite specification; the viewer: GET /api/chart?id=…

In Python: `source.py` is what a run must give (plugged in by cli), `summary.py` makes the Summary, `rows.py`
the rows, `details.py` a question's Detail, `html.py` the HTML from a Summary and a list of scripts.

A row is a question of a task; it has a side for each run of `Summary.runs`, None where that did not ask it.
With several samples a question the side counts them, and a row is listed by a filter when one of its samples
passes. Numbers are fractions (0.5, not 50). Spans are [start, end) in code points, which JavaScript converts
(`text.js`). What a model wrote is only ever set as text.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

Show: TypeAlias = Literal[
    "all", "wrong", "right", "disagree", "truncated", "unextracted", "errored", "flipped"
]
"""Which rows: those with a sample of `Query.run` that, under `Query.rule`, is wrong, right or unread
(unextracted); that the rules do not judge alike (disagree); that was cut (truncated) or failed (errored); or
whose mean score differs from that of `Query.against` (flipped)."""

Sort: TypeAlias = Literal["order", "change", "length", "agreement"]
"""The task's own order; largest change against the other run, longest responses, most divided vote first."""


class Query(TypedDict):
    """What the sample browser lists."""

    task: str
    run: int
    """Index into `Summary.runs`: whose samples `show` and `sort` are about."""
    against: int | None
    """The run beside it, where two are compared."""
    rule: str
    show: Show
    search: str
    """Rows whose question, reference or a response of `run` or `against` contains this, whatever the case;
    `#17` finds the question of that doc_id. Empty: all."""
    sort: Sort


class Side(TypedDict):
    """What one run made of a question. Lists are by rule, in the order of `TaskEntry.rules`."""

    samples: int
    """Measured samples."""
    errored: int
    truncated: int
    disagree: int
    """Samples that some rules count as right and others as wrong."""
    right: list[float]
    """Sum of the samples' scores: how many are right."""
    unread: list[int]
    """Samples in which the rule finds no answer."""
    answer: list[str | None]
    """The answer that most samples give; of equals the first."""
    votes: list[int]
    """How many samples give that answer."""
    length: int
    """Mean length of the responses in characters; 0 where it was not read."""


class Row(TypedDict):
    """A question in the list."""

    id: str
    """`task/doc_id`; made unique where runs number different documents alike."""
    doc_id: int
    question: str
    """How the question begins, on one line."""
    target: str
    sides: list[Side | None]
    """One for each of `Summary.runs`."""


class RowsPart(TypedDict):
    """Some of the rows that a query lists."""

    total: int
    """Rows that the query lists in all."""
    counts: dict[Show, int]
    """Rows for each filter, all else being equal."""
    rows: list[Row]
    """From `offset` on, at most `count`."""


class Turn(TypedDict):
    """One message of a chat prompt."""

    role: str
    content: str


class VerdictEntry(TypedDict):
    """What one rule makes of one sample."""

    rule: str
    extracted: str | None
    correct: float
    span: tuple[int, int] | None
    """Where in the text the answer stands, in code points."""
    reason: str


class Sample(TypedDict):
    """One response. What is unknown is None."""

    repeat: int
    text: str
    reasoning: str | None
    finish_reason: str
    stop: str | None
    truncated: bool
    error: str | None
    completion_tokens: int | None
    seconds: float | None
    verdicts: list[VerdictEntry]


class Vote(TypedDict):
    """An answer with the samples that give it, most votes first; answers of equal value are one."""

    answer: str | None
    count: int
    correct: bool
    repeats: list[int]


class PromptText(TypedDict):
    """What the model was asked, in the parts in which it is shown. Empty parts are not shown.

    The prompt is `shared` + `lead` + `own`, or the turns of each in a row, to the character.
    """

    shared: str | list[Turn]
    """What all prompts of this run and task begin with (its exemplars); folded."""
    lead: str | list[Turn] | None
    """What stands between (exemplars drawn for this question); folded. None: this file leaves it out."""
    own: str | list[Turn]
    """From the question on."""


class DetailSide(TypedDict):
    """One run's part of a question."""

    prompt: PromptText
    samples: list[Sample]
    """By rising repeat; a file of many samples holds only some (`Summary.held` says which)."""
    votes: dict[str, list[Vote]]
    """By rule, over all samples; empty for single ones."""


class Detail(TypedDict):
    """All about one question."""

    id: str
    task: str
    doc_id: int
    doc_hash: str
    target: str
    fields: dict[str, Any]
    """The row of the data set."""
    sides: list[DetailSide | None]
    """One for each of `Summary.runs`."""


class Figure(TypedDict):
    """One score of the table."""

    rule: str
    label: str
    """How a table calls it: the rule, with the metric where it is another than exact_match."""
    score: float
    standard_error: float | None
    low: float | None
    high: float | None
    questions: int
    samples: int
    unextracted: int | None
    quoted: bool
    """The score that the task is quoted by."""


class Example(TypedDict):
    """A sample that shows what a warning means."""

    id: str
    repeat: int


class WarningEntry(TypedDict):
    """One suspicion about a run's task."""

    kind: str
    message: str
    examples: list[Example]


class Counts(TypedDict):
    """How many samples, and what became of them."""

    questions: int
    questions_planned: int
    samples: int
    planned: int
    errored: int
    missing: int
    truncated: int


class Standing(TypedDict):
    """What one run says about one task."""

    run: int
    claim: str
    """The score in one sentence."""
    figures: list[Figure]
    counts: Counts
    warnings: list[WarningEntry]
    facts: list[str]
    """Data set, protocol and identity in a few words."""
    protocol: list[tuple[str, str]]
    """Name and value, flat."""


class ComparisonEntry(TypedDict):
    """Two runs on the same questions of a task, or why they are not compared."""

    first: int
    second: int
    rule: str
    verdict: str
    """In one sentence."""
    lines: list[str]
    agreement: dict[str, int]
    """Questions by `both`, `first`, `second` (that run alone does better) and `neither`."""


class TaskEntry(TypedDict):
    """One task of the report."""

    name: str
    rules: list[str]
    """Every rule that gave a verdict, in order; `Side` lists follow it."""
    quoted: str
    """The rule that is shown first."""
    repeats: int
    """The most samples that a question has."""
    rows: int
    claim: str
    """What the runs say about it together, in a sentence."""
    standings: list[Standing]
    comparisons: list[ComparisonEntry]
    charts: list[str]
    """Ids."""


class RunEntry(TypedDict):
    """One run of the report."""

    name: str
    """Unique within the report."""
    model: str
    created: str
    digest: str
    identity: list[tuple[str, str]]
    """What the run is, flat: name and value."""
    unfinished: bool


class ChartEntry(TypedDict):
    """A chart; its specification comes by id from `source.chart`."""

    id: str
    title: str
    caption: str
    """What to look for, in a sentence."""
    columns: list[str]
    table: list[list[str]]
    """The same figures in words, for readers without eyes for it and for paper."""


class GapEntry(TypedDict):
    """Seen set against fresh set, of one model."""

    model: str
    seen: str
    fresh: str
    seen_score: float
    fresh_score: float
    verdict: str
    lines: list[str]


class Held(TypedDict):
    """Which texts the page holds. In the viewer: all."""

    texts: int
    of: int
    rule: str
    """In a sentence; empty where it holds all."""


class Summary(TypedDict):
    """What stands above the sample browser, and what the browser needs to begin."""

    title: str
    resit: str
    """Version."""
    runs: list[RunEntry]
    tasks: list[TaskEntry]
    gaps: list[GapEntry]
    gaps_claim: str
    """What they say together, in a sentence."""
    charts: list[ChartEntry]
    notes: list[str]
    """What could not be shown, and why."""
    held: Held
    live: bool
    """Only in the viewer: more samples may come."""
