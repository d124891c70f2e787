"""Suspicions about answers: none right, none found, found by one rule only, cut off."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from resit.reports.graded import Graded
from resit.reports.warnings.finding import Cases, Finding, Setting, percent

ZERO_FROM = 20
"""Samples from which on no right answer at all is suspicious (a guesser of small numbers gets some)."""
UNEXTRACTED_SHARE = 0.10
TRUNCATED_SHARE = 0.05
BELOW = 0.05
"""Difference in score from which on a rule is far below another."""
ROBUST = "robust"


@dataclass(slots=True)
class Verdicts:
    """Counts by rule: zero scores, unread answers, rules far below `robust`, what truncation costs."""

    samples: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    """By rule, in the order in which they are reported, the questions that it judged."""
    right: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    """By rule, the samples in which it found an answer."""
    unread: dict[str, Cases] = field(default_factory=dict)
    missed: dict[str, Cases] = field(default_factory=dict)
    """By rule, the samples that it has wrong and `robust` right."""
    missed_unread: Counter[str] = field(default_factory=Counter)
    cut: Cases = field(default_factory=Cases)
    cut_right: Counter[str] = field(default_factory=Counter)

    def add(self, item: Graded) -> None:
        """Count a question's samples."""
        for generation, score in zip(item.generations, item.score.samples, strict=True):
            if score.error is not None:
                continue
            self.samples += 1
            robust = score.verdicts.get(ROBUST)
            known = robust is not None and robust.correct > 0
            for rule, verdict in score.verdicts.items():
                if verdict.extracted is None:
                    self.unread.setdefault(rule, Cases()).add(generation)
                else:
                    self.read[rule] += 1
                if verdict.correct > 0:
                    self.right[rule] += 1
                elif known:
                    self.missed.setdefault(rule, Cases()).add(generation)
                    self.missed_unread[rule] += verdict.extracted is None
            if score.truncated:
                self.cut.add(generation)
                self.cut_right.update(rule for rule, v in score.verdicts.items() if v.correct > 0)
        self.rules.update([*dict.fromkeys(rule for score in item.score.samples for rule in score.verdicts)])

    def findings(self, setting: Setting) -> list[Finding]:
        """Zero, unextracted, far below, truncated."""
        if not self.samples:
            return []
        return [*self._zero(setting), *self._unextracted(), *self._below(), *self._truncated(setting)]

    def _truncated(self, setting: Setting) -> list[Finding]:
        cut, finished = self.cut.count, self.samples - self.cut.count
        if not cut or cut < TRUNCATED_SHARE * self.samples:
            return []
        rule = setting.headline if setting.headline in self.rules else next(iter(self.rules), "")
        right = self.right[rule] - self.cut_right[rule]
        scores = {
            "score_of_truncated": round(self.cut_right[rule] / cut, 4),
            "score_of_finished": round(right / finished, 4) if finished else None,
        }
        limit = f" of {setting.max_tokens} tokens" if setting.max_tokens else ""
        told = (
            f"{rule} counts {percent(right, finished)} of the others right"
            if finished
            else "there is no other"
        )
        message = f"{percent(cut, self.samples)} samples were cut at the limit{limit}; {told}"
        evidence = {
            "rule": rule,
            "max_tokens": setting.max_tokens,
            **scores,
            **self.cut.evidence(self.samples),
        }
        return [Finding("truncated", message, evidence)]

    def _zero(self, setting: Setting) -> list[Finding]:
        rule = setting.headline if setting.headline in self.rules else next(iter(self.rules), "")
        if self.samples < ZERO_FROM or self.right[rule]:
            return []
        right = {name: self.right[name] for name in self.rules}
        others = {name: count for name, count in right.items() if count}
        more = ", nor under any other rule" if not others else f"; {_counts(others)} under other rules"
        message = f"not one of {self.samples} samples is right under {rule}{more}"
        return [Finding("zero-accuracy", message, {"rule": rule, "samples": self.samples, "right": right})]

    def _unextracted(self) -> list[Finding]:
        """The rule that reads most decides: a text that even that one cannot read has no usual answer."""
        rule = max(self.rules, key=lambda name: (self.read[name], name == ROBUST))
        cases = self.unread.get(rule)
        if cases is None or cases.count < UNEXTRACTED_SHARE * self.samples:
            return []
        message = f"{rule}, which reads most, finds no answer in {percent(cases.count, self.samples)} samples"
        return [Finding("unextracted", message, {"rule": rule, **cases.evidence(self.samples)})]

    def _below(self) -> list[Finding]:
        """One finding for the rules that miss the same samples, as the steps of a vote do."""
        alike: dict[tuple[int, int, int], list[str]] = {}
        for rule, cases in self.missed.items():
            if self.right[ROBUST] - self.right[rule] >= BELOW * self.samples:
                counts = (self.right[rule], cases.count, self.missed_unread[rule])
                alike.setdefault(counts, []).append(rule)
        return [self._below_robust(rules) for rules in alike.values()]

    def _below_robust(self, rules: list[str]) -> Finding:
        rule, names = rules[0], " and ".join(rules)
        unread = self.missed_unread[rule]
        message = (
            f"{names}: {percent(self.right[rule], self.samples)} samples right, under {ROBUST} "
            f"{percent(self.right[ROBUST], self.samples)}"
        )
        if unread:
            message += (
                f"; in {unread} right ones {rule} finds no answer, so it measures the form of the answer too"
            )
        evidence = {
            "rules": rules,
            "right": self.right[rule],
            "right_robust": self.right[ROBUST],
            "right_but_unextracted": unread,
            **self.missed[rule].evidence(self.samples),
        }
        return Finding("rule-below-robust", message, evidence)


def _counts(right: dict[str, int]) -> str:
    return ", ".join(f"{count} by {name}" for name, count in right.items())
