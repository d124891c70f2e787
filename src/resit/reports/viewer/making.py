"""What is made of a question's lines in the workshop: verdicts that no file has, and what is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from resit import jsonl
from resit.grading import scorer
from resit.records import Document, Generation, Question, SampleScore, ScoringRules
from resit.reports.page.data import DetailSide, PromptText
from resit.reports.page.details import detail_side
from resit.reports.page.source import Answered
from resit.reports.scores import score_from, score_line
from resit.reports.viewer.reading import generation_from, question_from

RulesOf: TypeAlias = Callable[[Mapping[str, Any]], ScoringRules]
"""Makes a task's entry of `run.json` into its rules; picklable. May raise anything."""

NO_RULES = ScoringRules(filters=(), metrics=())


@dataclass(frozen=True, slots=True)
class Lines:
    """A question's lines as they stand in the files."""

    prompt: bytes
    generations: tuple[bytes, ...]
    scores: tuple[bytes, ...]
    """One for each generation; empty for a sample that has none."""


def grade_lines(rules_of: RulesOf, about: Mapping[str, Any], lots: Sequence[Lines]) -> list[bytes]:
    """Lines of `scores.jsonl` for the samples of some questions of one task."""
    score = scorer(rules_of(about))
    found = []
    for lot in lots:
        question = question_from(_object(lot.prompt))
        generations = [made for line in lot.generations if (made := generation_from(_object(line)))]
        if question is not None:
            scored = score(question, generations)
            found += [jsonl.encode(score_line(sample)) for sample in scored.samples]
    return found


def show_lines(
    rules_of: RulesOf | None, about: Mapping[str, Any], lines: Lines, prompt: PromptText
) -> DetailSide:
    """A question's samples with their verdicts, read from its lines or made now where they have none.

    A sample of which only the scores are on file has no text.
    """
    rules = rules_of(about) if rules_of else NO_RULES
    question = question_from(_object(lines.prompt))
    pairs = [pair for made, scored in zip(lines.generations, lines.scores, strict=True)
             if (pair := _pair(made, scored))]  # fmt: skip
    owed = [made for made, score in pairs if not score.verdicts and made.error is None]
    if rules_of and question is not None and owed:
        by_repeat = {sample.repeat: sample for sample in scorer(rules)(question, owed).samples}
        pairs = [(made, by_repeat.get(made.repeat, score)) for made, score in pairs]
    if question is None:
        question = Question("", Document(-1, "", {}), "", "")
    generations, scores = [made for made, _ in pairs], [score for _, score in pairs]
    side = detail_side(Answered(question, generations, scores), prompt, rules)
    for sample, made in zip(side["samples"], lines.generations, strict=False):
        if not made:
            sample["finish_reason"] = "its text is not on file"
    return side


def _pair(made: bytes, scored: bytes) -> tuple[Generation, SampleScore] | None:
    """A sample and its score, with what is missing of either made of the other."""
    score_object = _object(scored)
    generation = generation_from(_object(made) or score_object)
    if generation is None:
        return None
    if not made:
        generation = replace(
            generation, finish_reason="length" if score_object.get("truncated") else "unknown"
        )
    nothing = SampleScore(
        generation.task, generation.doc_id, generation.doc_hash, generation.repeat, {},
        generation.finish_reason == "length", generation.error,
    )  # fmt: skip
    try:
        score = score_from(score_object) if score_object else nothing
    except (KeyError, TypeError, AttributeError):
        score = nothing
    stale = score.error is not None and generation.error is None
    return generation, nothing if stale else score


def _object(line: bytes) -> dict[str, Any]:
    try:
        return jsonl.decode(line) if line else {}
    except (ValueError, RecursionError):
        return {}
