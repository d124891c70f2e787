"""Proof that a task can be scored: golds grade right, altered golds grade wrong, exemplars leak nothing."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Literal

from resit.grading import Policy, make_policy, score_question, score_task
from resit.grading.rules import PROGRAM, RECALL_RULES, with_trust
from resit.prompts import checks
from resit.records import Generation, Question, QuestionScore, ScoringRules, Verdict
from resit.tasks import Task

Level = Literal["error", "warning", "note"]
SENTENCES = (
    "That is 2 less than before.\n#### {}",
    "That is 2 less than before. The answer is {}.",
    "That is 2 less than before. The final answer is {}",
    "That is 2 less than before, so the result is $\\boxed{{}}$.",
    "That is 2 less than before. Final Answer: The final answer is ${}$. I hope it is correct.",
)
"""Ways in which a model says its answer after its reasoning; {} stands for the answer."""
LITERAL = re.compile(r"[^\\()\[\].*+?{}|^$]+")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that validation found."""

    level: Level
    text: str


@dataclass(slots=True)
class RuleProof:
    """What one rule made of right and altered answers to every document."""

    proved: int = 0
    """Documents whose gold, said in a sentence, grades right."""
    bare: int = 0
    """Documents whose gold grades right only when nothing else is said."""
    unproved: list[int] = field(default_factory=list)
    """Documents whose gold cannot be made to grade right."""
    fooled: list[int] = field(default_factory=list)
    """Documents of which an altered gold grades right, too."""
    unsigned: list[int] = field(default_factory=list)
    """Documents whose gold with the opposite sign grades right, too."""


@dataclass(slots=True)
class Validation:
    """What was checked of a task, and what was found."""

    task: str
    documents: int = 0
    exemplars: int = 0
    rules: dict[str, RuleProof] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def add(self, level: Level, text: str) -> None:
        """Note a finding."""
        self.findings.append(Finding(level, text))

    @property
    def passed(self) -> bool:
        """Nothing worse than a warning was found."""
        return all(finding.level != "error" for finding in self.findings)


def validate(task: Task) -> Validation:
    """All that can be checked of a task without a model. Raises ResitError when it cannot be rendered."""
    found = Validation(task.name)
    task.sampling()  # a fault in the settings is an error here, as it is when the task is run
    questions = checks.rendered(task)
    found.documents = len(questions)
    _check_texts(questions, found)
    _check_exemplars(task, questions[0], found)
    _check_golds(questions, with_trust(task.rules, True), found)  # the programs that it runs are its own
    if task.config.fewshot_config.fewshot_indices:
        found.add("note", "fewshot_indices has no effect, here as in lm-eval 0.4.13")
    return found


def unproved(task: Task) -> list[str]:
    """The errors of texts and golds alone. Raises ResitError when the task cannot be rendered."""
    found = Validation(task.name)
    task.sampling()
    questions = checks.rendered(task)
    _check_texts(questions, found)
    _check_golds(questions, with_trust(task.rules, True), found)
    return [finding.text for finding in found.findings if finding.level == "error"]


def _check_texts(questions: Sequence[Question], found: Validation) -> None:
    if empty := checks.empty(questions):
        found.add("error", f"{_some(empty)}: the prompt or the reference is empty")
    if copies := checks.repeated(questions):
        found.add("warning", f"{_some(copies)}: the same as an earlier document")


def _check_exemplars(task: Task, question: Question, found: Validation) -> None:
    answers = checks.worked_answers(task)
    found.exemplars = len(answers)
    if leaked := [document for document, _ in checks.leaks(task)]:
        found.add("error", f"{_some(leaked)}: an exemplar asks the same question")
    if answers and task.exemplars.holds_documents:
        found.add("note", "the exemplars are other documents of the split that is asked")
    if not answers:
        return
    rule, rules = headline_rule(task.rules), task.rules
    score = score_question(question, _generations(question, answers), rules)
    unread = [i for i, sample in enumerate(score.samples) if _found_nothing(sample.verdicts.get(rule))]
    if unread:
        told = f"{len(unread)} of {len(answers)} exemplars, the first in row {unread[0]}"
        found.add("warning", f"{told}: {rule} reads no answer from what the exemplar shows")


def _found_nothing(verdict: Verdict | None) -> bool:
    return verdict is None or verdict.extracted is None


def headline_rule(rules: ScoringRules) -> str:
    """The filter or named rule that the task is quoted by."""
    return rules.headline.partition(",")[2] or (rules.filters[0].name if rules.filters else "none")


def _check_golds(questions: Sequence[Question], rules: ScoringRules, found: Validation) -> None:
    policy, sentences = make_policy(rules.options), (*SENTENCES, *sentences_of(rules))
    trials = [_trial(question, policy, sentences) for question in questions]
    pairs = ((trial.question, trial.generations()) for trial in trials)
    for trial, score in zip(trials, score_task(pairs, rules), strict=True):
        trial.judge(score, found.rules)
    headline = headline_rule(rules)
    for rule, proof in found.rules.items():
        _conclude(rule, proof, found, "error" if rule == headline else "note")


def _conclude(rule: str, proof: RuleProof, found: Validation, level: Level) -> None:
    if proof.unproved:
        found.add(level, f"{rule}: {_some(proof.unproved)}: the gold cannot be made to grade right")
    if proof.bare and not proof.proved and rule not in RECALL_RULES:
        found.add(level, f"{rule} reads no answer out of a sentence: it takes the bare answer only")
    if proof.fooled:
        found.add(level, f"{rule}: {_some(proof.fooled)}: an altered gold grades right")
    if proof.unsigned:
        told = f"{rule}: {_some(proof.unsigned)}: the gold with the opposite sign grades right"
        found.add("warning" if level == "error" else level, told)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A document's gold to be said in every sentence, alone, one too many, and with the opposite sign."""

    question: Question
    sentences: tuple[str, ...]
    bare: tuple[str, ...]
    gold: str
    altered: str
    opposite: str | None

    def generations(self) -> list[Generation]:
        """The gold in sentences, the altered and the opposite one in sentences, the bare gold."""
        said = [
            self._say(answer) for answer in (self.gold, self.altered, self.opposite) if answer is not None
        ]
        return _generations(self.question, [text for texts in (*said, self.bare) for text in texts])

    def _say(self, answer: str) -> list[str]:
        return [sentence.replace("{}", answer) for sentence in self.sentences]

    def judge(self, score: QuestionScore, proofs: dict[str, RuleProof]) -> None:
        """Add what the rules made of this document's responses."""
        document, count = self.question.document.doc_id, len(self.sentences)
        for rule in dict.fromkeys(name for sample in score.samples for name in sample.verdicts):
            right = [_is_right(sample.verdicts.get(rule)) for sample in score.samples]
            proof, said = proofs.setdefault(rule, RuleProof()), right[:count]
            if any(said):
                proof.proved += 1
            elif any(right[-len(self.bare) :]):
                proof.bare += 1
            else:
                proof.unproved.append(document)
            if any(map(operator.and_, said, right[count : 2 * count])):
                proof.fooled.append(document)
            if self.opposite and any(map(operator.and_, said, right[2 * count : 3 * count])):
                proof.unsigned.append(document)


def _trial(question: Question, policy: Policy, sentences: tuple[str, ...]) -> _Trial:
    target = question.target if isinstance(question.target, str) else question.target[0]
    gold = (target.rpartition(policy.gold_marker)[2] if policy.gold_marker else target).strip()
    bare = tuple(dict.fromkeys((gold, target)))
    number = _number(gold)
    if number is None:
        return _Trial(question, sentences, bare, gold, f"{gold}1", None)
    differs = abs(2 * number) > Decimal(float(policy.tolerance or 0))
    return _Trial(question, sentences, bare, gold, f"{number + 1:f}", f"{-number:f}" if differs else None)


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.replace(",", "").lstrip("$").rstrip(".%"))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _is_right(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.correct >= 1


def _generations(question: Question, texts: Sequence[str]) -> list[Generation]:
    document = question.document
    return [
        Generation(question.task, document.doc_id, document.doc_hash, repeat, 0, text=text)
        for repeat, text in enumerate(texts)
    ]


def sentences_of(rules: ScoringRules) -> Iterator[str]:
    """Sentences that the task's own patterns ask for: what stands before and behind their groups."""
    if PROGRAM in rules.named:
        yield "```python\ndef solution():\n    return {}\n```"
    for chain in rules.filters:
        for step in chain.steps:
            pattern = str(step.kwargs.get("regex_pattern", ""))
            before = LITERAL.match(pattern)
            behind = LITERAL.match(pattern.rpartition(")")[2])
            if before:
                yield f"{before[0]}{{}}{behind[0] if behind else ''}."


def _some(documents: Sequence[int]) -> str:
    shown = ", ".join(map(str, documents[:5])) + (", …" if len(documents) > 5 else "")
    return f"{len(documents)} document{'s' if len(documents) > 1 else ''} ({shown})"


def as_json(found: Validation) -> Mapping[str, object]:
    """The validation as JSON."""
    from dataclasses import asdict

    return {**asdict(found), "passed": found.passed}


def lines(found: Validation) -> Iterator[str]:
    """The validation for people."""
    yield f"{found.task}: {'passed' if found.passed else 'FAILED'}"
    yield f"  {found.documents} documents rendered, {found.exemplars} exemplars looked at"
    for rule, proof in found.rules.items():
        refused = found.documents - len(proof.fooled)
        yield f"  {rule}: {proof.proved} golds right in a sentence, altered golds wrong for {refused}"
    for finding in found.findings:
        yield f"  {finding.level}: {finding.text}"
