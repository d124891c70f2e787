"""The named rules: ways from a response and a gold answer to a verdict."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

from resit import plugins
from resit.errors import UsageError
from resit.grading.filters import Unscorable
from resit.grading.reasoning import REASONING_TAGS
from resit.records import ScoringRules, Verdict


@dataclass(frozen=True, slots=True)
class Policy:
    """What a task may decide about grading; see `docs/grading.md`."""

    language: str | None = None
    """Two-letter code: how the language writes numbers. None: as its answer phrase tells, else English."""
    tolerance: Fraction | None = None
    """Largest difference that still counts as equal. None: only equal is equal."""
    gold_marker: str = "####"
    """The gold answer is what follows its last occurrence in the reference; empty: the whole reference."""
    reasoning_tags: tuple[tuple[str, str], ...] = REASONING_TAGS
    """Opening and closing tag of the reasoning that is no part of the answer."""
    trust_model_code: bool = False
    """Run the programs that a model wrote; never a task's own wish, always the user's."""


Rule: TypeAlias = Callable[[str, str, Policy, bool], Verdict]
"""Response, gold, policy, and whether the response was cut off by its length, to a verdict.

Raises `Unscorable` where no response could be judged: the gold answer needs an extra that is absent.
"""

RULES: Mapping[str, str] = {
    "robust": "resit.grading.robust:robust",
    "math": "resit.grading.symbolic:math",
    "lm_eval_strict": "resit.grading.legacy:lm_eval_strict",
    "lm_eval_strict_cot": "resit.grading.legacy:lm_eval_strict_cot",
    "lm_eval_strict_self_consistency": "resit.grading.legacy:lm_eval_strict_self_consistency",
    "lm_eval_strict_llama": "resit.grading.legacy:lm_eval_strict_llama",
    "lm_eval_flexible": "resit.grading.legacy:lm_eval_flexible",
    "scale": "resit.grading.legacy:scale",
    "deepseek_math": "resit.grading.deepseek_math:deepseek_math",
    "gsm8k": "resit.grading.legacy:gsm8k",
    "program": "resit.grading.program:program",
    "recall_exact": "resit.grading.recall:recall_exact",
    "recall_rouge_l": "resit.grading.recall:recall_rouge_l",
}
"""Name to where the rule's function is; it is imported when it is first used."""


TRUST = "trust_model_code"
PROGRAM = "program"
"""The rule that runs what a model wrote."""
RECALL_RULES = ("recall_exact", "recall_rouge_l")
"""Rules that compare the whole continuation: they look for no answer in it."""


@cache
def find_rule(name: str) -> Rule:
    """The rule of that name; raises `UsageError` with the closest names for an unknown one."""
    if name not in RULES:
        added: Rule | None = plugins.find("resit.rules", str(name))
        if added is not None:
            return added
        close = get_close_matches(str(name).replace("-", "_"), RULES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known rules: {', '.join(RULES)}"
        raise UsageError(f"grading rule {name!r} is not known", hint)
    module, _, function = RULES[name].partition(":")
    rule: Rule = getattr(import_module(module), function)
    return rule


def with_trust(rules: ScoringRules, trust: bool) -> ScoringRules:
    """The rules as the user's `--trust-model-code` leaves them.

    Raises UsageError without it for rules that have to run programs.
    """
    if PROGRAM not in rules.named:
        return rules
    if not trust:
        raise UsageError(
            f"the rule {PROGRAM!r} runs the Python that the model wrote, which nobody has read",
            "pass --trust-model-code to run it in the sandbox (docs/programs.md says what that guarantees)",
        )
    return replace(rules, options={**rules.options, TRUST: True})


def make_policy(options: Mapping[str, Any]) -> Policy:
    """The policy that a task's options ask for; raises `UsageError` for an unknown or bad one."""
    known = {"language", "tolerance", "gold", "gold_marker", "reasoning_tags", TRUST}
    for name in options:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known options: {', '.join(sorted(known))}"
            raise UsageError(f"grading option {name!r} is not known", hint)
    return Policy(
        language=_language(options.get("language")),
        tolerance=_tolerance(options.get("tolerance")),
        gold_marker=_gold_marker(options),
        reasoning_tags=_tags(options.get("reasoning_tags", REASONING_TAGS)),
        trust_model_code=options.get(TRUST) is True,
    )


def _language(value: Any) -> str | None:
    if value is not None and (not isinstance(value, str) or not re.fullmatch("[a-z]{2,3}", value)):
        raise UsageError(f"language must be a code of two or three letters, such as de, found {value!r}")
    return value


def _tolerance(value: Any) -> Fraction | None:
    if value is None:
        return None
    try:
        tolerance = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        tolerance = Fraction(-1)
    if tolerance < 0:
        raise UsageError(f"tolerance must be a number from 0 up, such as 0.01, found {value!r}")
    return tolerance


def _gold_marker(options: Mapping[str, Any]) -> str:
    gold = options.get("gold")
    if gold is None:
        return str(options.get("gold_marker", "####") or "")
    if gold == "whole":
        return ""
    if isinstance(gold, str) and gold.startswith("after "):
        return gold.removeprefix("after ").strip()
    raise UsageError(f"gold must be 'whole' or 'after MARKER' such as 'after ####', found {gold!r}")


def _tags(value: Any) -> tuple[tuple[str, str], ...]:
    try:
        pairs = tuple((str(opening), str(closing)) for opening, closing in value)
    except (TypeError, ValueError):
        pairs = (("", ""),)
    if not all(opening and closing for opening, closing in pairs):
        raise UsageError(f"reasoning_tags must be pairs of opening and closing tag, found {value!r}")
    return pairs


def grade(
    answer: str | None, gold: str, rule: str = "robust", *, finish_reason: str = "stop", **options: Any
) -> Verdict:
    """The verdict of one rule on one response.

    `options` are those of `Policy`. Raises `UsageError` for an unknown rule or option, and nothing
    else whatever the response is; no response (None) is an empty one.
    """
    policy = make_policy(options) if options else _DEFAULT_POLICY
    return _judged(find_rule(rule), rule, answer, gold, policy, finish_reason == "length")


def grade_many(
    pairs: Iterable[tuple[str | None, str]], rule: str = "robust", **options: Any
) -> Iterator[Verdict]:
    """`grade` for each (answer, gold), lazily and in order; rule and options are looked up once."""
    judge, policy = find_rule(rule), make_policy(options)
    return (_judged(judge, rule, answer, gold, policy, False) for answer, gold in pairs)


def _judged(
    judge: Rule, name: str, answer: str | None, gold: str, policy: Policy, truncated: bool
) -> Verdict:
    try:
        return judge("" if answer is None else str(answer), str(gold), policy, truncated)
    except Unscorable as reason:
        return Verdict(name, None, 0.0, reason=str(reason))


_DEFAULT_POLICY = Policy()
