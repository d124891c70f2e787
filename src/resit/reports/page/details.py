"""All about one question: its prompt, every sample with every rule's verdict and its place, and the vote."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

from resit.grading.spans import Span, chain_spans
from resit.grading.values import read_value
from resit.records import Generation, SampleScore, ScoringRules, Verdict
from resit.reports.page.data import DetailSide, PromptText, Sample, VerdictEntry, Vote
from resit.reports.page.source import Answered

Finders = Mapping[str, Callable[[str], Span | None]]


def detail_side(
    item: Answered, prompt: PromptText, rules: ScoringRules, repeats: Collection[int] | None = None
) -> DetailSide:
    """One run's part of a question; with `repeats` only those samples, and the vote of all."""
    finders = chain_spans(rules)
    pairs = zip(item.generations, item.scores, strict=True)
    return DetailSide(
        prompt=prompt,
        samples=[
            sample(generation, score, finders)
            for generation, score in pairs
            if repeats is None or generation.repeat in repeats
        ],
        votes=votes(item.scores),
    )


def sample(generation: Generation, score: SampleScore, finders: Finders) -> Sample:
    """One response with its verdicts."""
    return Sample(
        repeat=generation.repeat,
        text=generation.text,
        reasoning=generation.reasoning,
        finish_reason=generation.finish_reason,
        stop=generation.stop,
        truncated=score.truncated,
        error=generation.error,
        completion_tokens=generation.completion_tokens,
        seconds=generation.seconds,
        verdicts=[_verdict(verdict, generation.text, finders) for verdict in score.verdicts.values()],
    )


def _verdict(verdict: Verdict, text: str, finders: Finders) -> VerdictEntry:
    span = verdict.span
    if span is None and verdict.extracted is not None and verdict.rule in finders:
        span = finders[verdict.rule](text)
    return VerdictEntry(
        rule=verdict.rule,
        extracted=verdict.extracted,
        correct=verdict.correct,
        span=span,
        reason=verdict.reason,
    )


def votes(scores: Sequence[SampleScore]) -> dict[str, list[Vote]]:
    """By rule, the answers with the samples that give them, most first; nothing for a single sample."""
    measured = [score for score in scores if score.error is None]
    if len(measured) < 2:
        return {}
    rules = dict.fromkeys(rule for score in measured for rule in score.verdicts)
    return {rule: tally(measured, rule) for rule in rules}


def tally(measured: Sequence[SampleScore], rule: str) -> list[Vote]:
    """The votes under one rule; answers of equal value are one, called as its first sample writes it."""
    found: dict[Hashable, Vote] = {}
    values: dict[str, Hashable] = {}
    for score in measured:
        verdict = score.verdicts.get(rule)
        if verdict is None:
            continue
        answer = verdict.extracted
        if answer is not None and answer not in values:
            values[answer] = read_value(answer) or answer.strip()
        key = None if answer is None else values[answer]
        vote = found.setdefault(key, Vote(answer=answer, count=0, correct=False, repeats=[]))
        vote["count"] += 1
        vote["correct"] |= verdict.correct == 1
        vote["repeats"].append(score.repeat)
    return sorted(found.values(), key=lambda vote: (vote["answer"] is None, -vote["count"]))
