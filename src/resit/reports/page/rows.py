"""The rows of the sample browser: what each run made of each question, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from resit.records import Prompt, Question, SampleScore
from resit.reports.page.data import Row, Side

BEGINNING = 160
"""Characters of a question that a row shows."""


@dataclass(slots=True)
class TaskRows:
    """One task's rows, which grow run by run. Questions of several runs are paired by content."""

    task: str
    runs: int
    rules: Sequence[str]
    rows: dict[str, Row] = field(default_factory=dict)
    """By document hash, in the order in which they came."""
    _ids: set[str] = field(default_factory=set)

    def add(self, run: int, question: Question, side: Side) -> None:
        """Put in what a run made of a question."""
        key = question.document.doc_hash
        if key not in self.rows:
            self.rows[key] = self._row(question)
        self.rows[key]["sides"][run] = side

    def _row(self, question: Question) -> Row:
        document = question.document
        name = f"{self.task}/{document.doc_id}"
        if name in self._ids:  # another run's row of that number is another document
            name = f"{name}-{document.doc_hash[:8]}"
        self._ids.add(name)
        return Row(
            id=name,
            doc_id=document.doc_id,
            question=beginning(question_text(question)),
            target=target_text(question.target),
            sides=[None] * self.runs,
        )


def side_of(scores: Iterable[SampleScore], rules: Sequence[str], lengths: Sequence[int] = ()) -> Side:
    """What one run made of a question: `scores` are its samples, `lengths` those of its measured texts."""
    measured = [score for score in scores if score.error is None]
    errored = sum(score.error is not None for score in scores)
    top = [_most_frequent(measured, rule) for rule in rules]
    return Side(
        samples=len(measured),
        errored=errored,
        truncated=sum(score.truncated for score in measured),
        disagree=sum(_disagree(score) for score in measured),
        right=[_right(measured, rule) for rule in rules],
        unread=[sum(_unread(score, rule) for score in measured) for rule in rules],
        answer=[answer for answer, _ in top],
        votes=[count for _, count in top],
        length=round(sum(lengths) / len(lengths)) if lengths else 0,
    )


def _right(measured: Sequence[SampleScore], rule: str) -> float:
    total = sum(score.verdicts[rule].correct for score in measured if rule in score.verdicts)
    return int(total) if total == int(total) else round(total, 4)


def _unread(score: SampleScore, rule: str) -> bool:
    return rule in score.verdicts and score.verdicts[rule].extracted is None


def _disagree(score: SampleScore) -> bool:
    return len({verdict.correct > 0 for verdict in score.verdicts.values()}) > 1


def _most_frequent(measured: Sequence[SampleScore], rule: str) -> tuple[str | None, int]:
    answers = Counter(score.verdicts[rule].extracted for score in measured if rule in score.verdicts)
    return answers.most_common(1)[0] if answers else (None, 0)


def question_text(question: Question) -> str:
    """The question's own words: the longest text of its row that its prompt holds, or the prompt's end."""
    prompt = asking_text(question.prompt)
    own = [value for value in question.document.fields.values() if isinstance(value, str) and value.strip()]
    asked = [value for value in own if value.strip() in prompt]
    return max(asked, key=len).strip() if asked else prompt.strip()[-4 * BEGINNING :]


def asking_text(prompt: Prompt) -> str:
    """The text that holds the question: the prompt, or of chat turns the user's last one."""
    if isinstance(prompt, str):
        return prompt
    users = [turn.content for turn in prompt if turn.role == "user"]
    return users[-1] if users else "\n".join(turn.content for turn in prompt)


def target_text(target: str | tuple[str, ...]) -> str:
    """The reference on one line, of a worked solution what stands after ####."""
    texts = (target,) if isinstance(target, str) else target
    return beginning(" | ".join(text.rpartition("####")[2].strip() or text for text in texts))


def beginning(text: str) -> str:
    """How a text begins, on one line."""
    line = " ".join(text[: 4 * BEGINNING].split())
    return line if len(line) <= BEGINNING else line[: BEGINNING - 1] + "…"
