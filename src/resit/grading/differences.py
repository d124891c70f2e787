"""Where rules disagree, and why: how much of a score is the model and how much the rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from resit.grading.extraction import TRUNCATED, UNFINISHED
from resit.grading.numerals import Exact
from resit.grading.reasoning import segments
from resit.grading.values import Amount, read_value
from resit.records import SampleScore, Verdict

KINDS: Mapping[str, str] = {
    "truncated": "the response was cut off, or its reasoning never ended",
    "marker missing": "the other rule found no answer in its form",
    "no single answer": "robust found several numbers, a loop, a refusal or a bare calculation",
    "run-on": "the other rule read on into an invented question or turn",
    "separator": "the other rule broke a number at its thousands separator",
    "unit": "the other rule kept a unit or dressing",
    "format": "the same value, written so that text does not match: $, .00, a full stop, leading zeros",
    "cut short": "the other rule took only some digits of the number",
    "leniency": "the other rule counts a different number as equal",
    "other number": "the rules read different numbers",
}
"""Why two rules disagree, from the most to the least specific cause."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One sample that a rule judges otherwise than the reference rule does."""

    sample: SampleScore
    rule: str
    kind: str
    """A key of `KINDS`."""
    reference: Verdict
    other: Verdict

    @property
    def reference_is_right(self) -> bool:
        """Whether it is the reference rule that counts the answer as right."""
        return bool(self.reference.correct)


def disagreements(
    samples: Iterable[tuple[SampleScore, str]], reference: str = "robust"
) -> Iterator[Disagreement]:
    """One per sample (with its response) and rule whose verdict differs from the reference rule's."""
    for sample, text in samples:
        judged = sample.verdicts.get(reference)
        if judged is None:
            continue
        for rule, other in sample.verdicts.items():
            if bool(other.correct) != bool(judged.correct):
                kind = _kind(sample, text, judged, other)
                yield Disagreement(sample, rule, kind, judged, other)


def count_kinds(found: Iterable[Disagreement]) -> dict[str, dict[str, dict[str, int]]]:
    """By rule and kind: on how many samples only the reference rule, or only the other one, says right."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    for one in found:
        by_kind = counts.setdefault(one.rule, {})
        side = "reference_right" if one.reference_is_right else "other_right"
        by_kind.setdefault(one.kind, Counter({"reference_right": 0, "other_right": 0}))[side] += 1
    order = list(KINDS)
    return {
        rule: {kind: dict(by_kind[kind]) for kind in sorted(by_kind, key=order.index)}
        for rule, by_kind in counts.items()
    }


def _kind(sample: SampleScore, text: str, reference: Verdict, other: Verdict) -> str:
    if sample.truncated or reference.reason in (TRUNCATED, UNFINISHED):
        return "truncated"
    if other.extracted is None:
        return "marker missing"
    if reference.extracted is None or reference.span is None:
        return "no single answer"
    if _read_on(text, reference.span[1], other.extracted):
        return "run-on"
    if _number(other.extracted) == _number(reference.extracted) and other.correct:
        return "leniency"
    return _kind_of_reading(text[slice(*reference.span)], reference.extracted, other.extracted)


def _kind_of_reading(written: str, value: str, extracted: str) -> str:
    """How one rule's text differs from the place and value that the reference rule read."""
    other = _number(extracted)
    if other is not None and other == _number(value):
        return "unit" if any(char.isalpha() for char in extracted) else "format"
    digits = _digits(extracted)
    if digits and digits != _digits(written) and digits in _digits(written):
        return "cut short" if written.strip("$€£- ").isdecimal() else "separator"
    if value in extracted and any(char.isalpha() for char in extracted):
        return "unit"
    return "other number"


def _read_on(text: str, answer_end: int, extracted: str) -> bool:
    """Whether the other rule's answer stands only behind the end of the model's own answer."""
    first = next(((s, e) for s, e in segments(text, 0, len(text)) if e >= answer_end), (0, len(text)))
    beyond = text[first[1] :]
    return bool(beyond.strip()) and extracted in beyond and extracted not in text[first[0] : first[1]]


def _number(text: str) -> Exact | None:
    value = read_value(text.rstrip("."))
    return value.value if isinstance(value, Amount) else None


def _digits(text: str) -> str:
    return "".join(char for char in text if char.isdecimal())
