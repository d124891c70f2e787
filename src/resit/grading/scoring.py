"""Scores: what a task's filter chains, metrics and named rules make of a question's generations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from resit.grading.filters import Chain, Step, Unscorable, compile_chain
from resit.grading.metrics import Metric, compile_metric
from resit.grading.rules import Policy, Rule, find_rule, make_policy
from resit.records import (
    FilterChain,
    FilterStep,
    Generation,
    MetricSpec,
    Question,
    QuestionScore,
    SampleScore,
    ScoringRules,
    Verdict,
)

WITHOUT_FILTERS = FilterChain("none", (FilterStep("take_first"),))
"""What lm-eval does with a task that names no filters."""


def score_question(
    question: Question, generations: Sequence[Generation], rules: ScoringRules
) -> QuestionScore:
    """Every rule's verdict on each sample, and each filter chain's answer and metrics for them together.

    Generations with an error are listed and excluded; what they leave too little for is absent.
    Raises `UsageError` for rules that name something unknown.
    """
    return scorer(rules)(question, generations)


def score_task(
    pairs: Iterable[tuple[Question, Sequence[Generation]]], rules: ScoringRules
) -> Iterator[QuestionScore]:
    """`score_question` for each pair, one at a time; the rules are prepared once."""
    score = scorer(rules)
    return (score(question, generations) for question, generations in pairs)


def scorer(rules: ScoringRules) -> Callable[[Question, Sequence[Generation]], QuestionScore]:
    """`score_question` with the rules prepared once, for many questions.

    Raises `UsageError` for rules that name an unknown filter, metric, rule or option.
    """
    return _Scorer.of(rules).score


@dataclass(frozen=True, slots=True)
class _Scorer:
    chains: tuple[Chain, ...]
    alike: tuple[tuple[Chain, ...], ...]
    """The chains, together where they make the same of a single response."""
    metrics: Mapping[str, Metric]
    named: tuple[tuple[str, Rule], ...]
    policy: Policy
    rules: ScoringRules

    @classmethod
    def of(cls, rules: ScoringRules) -> _Scorer:
        own_scorer = rules.process_results is not None
        specs = rules.metrics or (() if own_scorer else (MetricSpec("exact_match"),))
        chains = tuple(compile_chain(chain) for chain in rules.filters or (WITHOUT_FILTERS,))
        alike: dict[tuple[Step, ...], list[Chain]] = {}
        for chain in chains:
            alike.setdefault(chain.for_one, []).append(chain)
        return cls(
            chains=chains,
            alike=tuple(map(tuple, alike.values())),
            metrics={} if own_scorer else {spec.name: compile_metric(spec) for spec in specs},
            named=tuple((name, find_rule(name)) for name in rules.named),
            policy=make_policy(rules.options),
            rules=rules,
        )

    def score(self, question: Question, generations: Sequence[Generation]) -> QuestionScore:
        in_order = sorted(generations, key=lambda generation: generation.repeat)
        work = _Work(self, question)
        samples = tuple(work.sample(generation) for generation in in_order)
        responses = [generation.text for generation in in_order if generation.error is None]
        answers, metrics = work.together(responses)
        document = question.document
        return QuestionScore(question.task, document.doc_id, document.doc_hash, samples, answers, metrics)


@dataclass(slots=True)
class _Work:
    """One question being scored; identical responses and answers are judged once."""

    scorer: _Scorer
    question: Question
    filtered: dict[Any, Any] = field(default_factory=dict)
    values: dict[Any, Any] = field(default_factory=dict)
    by_answer: dict[Any, Mapping[str, Verdict]] = field(default_factory=dict)
    by_rule: dict[Any, Verdict | None] = field(default_factory=dict)

    def sample(self, generation: Generation) -> SampleScore:
        truncated = generation.finish_reason == "length"
        verdicts = {} if generation.error is not None else self._verdicts(generation.text, truncated)
        return SampleScore(
            task=generation.task,
            doc_id=generation.doc_id,
            doc_hash=generation.doc_hash,
            repeat=generation.repeat,
            verdicts=verdicts,
            truncated=truncated,
            error=generation.error,
        )

    def together(self, responses: Sequence[str]) -> tuple[dict[str, Any], dict[str, float]]:
        """Each chain's answer, and the metrics of the answers that can be measured."""
        answers: dict[str, Any] = {}
        metrics: dict[str, float] = {}
        if not responses:
            return answers, metrics
        for chain in self.scorer.chains:
            try:
                answer = chain.apply(list(responses), self._fields(), self.filtered)
                answers[chain.name] = answer
                measured = self._measure(answer)
            except Unscorable:
                continue
            metrics.update({f"{metric},{chain.name}": value for metric, value in measured.items()})
        return answers, metrics

    def _verdicts(self, text: str, truncated: bool) -> dict[str, Verdict]:
        found: dict[str, Verdict] = {}
        for chains in self.scorer.alike:
            found.update(self._by_chains(chains, text))
        if len(self.scorer.alike) > 1:
            found = {chain.name: found[chain.name] for chain in self.scorer.chains}
        for name, rule in self.scorer.named:
            key = (name, text, truncated)
            if key not in self.by_rule:
                self.by_rule[key] = self._by_rule(name, rule, text, truncated)
            verdict = self.by_rule[key]
            if verdict is not None:
                found[name] = verdict
        return found

    def _by_chains(self, chains: tuple[Chain, ...], text: str) -> Mapping[str, Verdict]:
        """The verdicts of chains that make the same of one response; memoised by what they make of it."""
        try:
            answer = chains[0].apply_to_one(text, self._fields(), self.filtered)
        except Unscorable as reason:
            return {chain.name: Verdict(chain.name, None, 0.0, reason=str(reason)) for chain in chains}
        key = (chains[0].name, answer) if isinstance(answer, str) else None
        found = self.by_answer.get(key) if key else None
        if found is None:
            found = {chain.name: self._judge(chain, answer) for chain in chains}
            if key:
                self.by_answer[key] = found
        return found

    def _judge(self, chain: Chain, answer: Any) -> Verdict:
        if chain.found_nothing(answer):
            extracted, reason = None, "no match"
        else:
            extracted, reason = str(answer), "matched"
        try:
            measured = self._measure(answer)
        except Unscorable as error:
            return Verdict(chain.name, extracted, 0.0, reason=str(error))
        if not measured:
            return Verdict(chain.name, extracted, 0.0, reason="not measured")
        return Verdict(chain.name, extracted, next(iter(measured.values())), reason=reason)

    def _by_rule(self, name: str, rule: Rule, text: str, truncated: bool) -> Verdict | None:
        targets = self.question.target
        verdict = None
        for target in (targets,) if isinstance(targets, str) else targets:
            try:
                judged = rule(text, target, self.scorer.policy, truncated)
            except Unscorable:
                continue
            if judged.correct:
                return judged
            verdict = verdict or judged
        return verdict

    def _measure(self, answer: Any) -> Mapping[str, float]:
        """Metric values of one answer, memoised; raises `Unscorable`."""
        key = answer if isinstance(answer, str) else None
        if key is None or key not in self.values:
            measured = (
                self._own_scorer(answer) if self.scorer.rules.process_results else self._metrics(answer)
            )
            if key is None:
                return measured
            self.values[key] = measured
        return self.values[key]  # type: ignore[no-any-return]

    def _metrics(self, answer: Any) -> dict[str, float]:
        targets = self.question.target
        reference = targets if isinstance(targets, str) else list(targets)
        return {name: metric(answer, reference) for name, metric in self.scorer.metrics.items()}

    def _own_scorer(self, answer: Any) -> dict[str, float]:
        call = self.scorer.rules.process_results
        try:
            measured = call(dict(self.question.document.fields), [answer]) if call else {}
        except Exception as error:  # the task's own code, on text that nobody foresaw
            raise Unscorable(f"process_results: {type(error).__name__}: {error}") from error
        return {str(k): float(v) for k, v in measured.items() if isinstance(v, int | float)}

    def _fields(self) -> Mapping[str, Any]:
        return self.question.document.fields
