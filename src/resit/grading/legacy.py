"""Published extraction rules under their own names, bug for bug: lm-eval's, Scale's, GSM8K's own."""

from __future__ import annotations

import re

from resit.grading.filters import Step, regex
from resit.grading.metrics import exact_match
from resit.grading.rules import Policy, Rule
from resit.records import Verdict

_INVALID = "[invalid]"
_FLEXIBLE = r"(-?[$0-9.,]{2,})|(-?[0-9]+)"
_EXACT_MATCH = exact_match(
    regexes_to_ignore=[",", r"\$", r"(?s).*#### ", r"\.$"], ignore_case=True, ignore_punctuation=False
)
_OPENAI = re.compile(r"(?:####|^A:) (\-?[0-9\.\,]+)", re.MULTILINE)


def _lm_eval_rule(name: str, pattern: str, group_select: int) -> Rule:
    step: Step = regex(pattern, group_select)
    compiled = re.compile(pattern)

    def rule(text: str, gold: str, policy: Policy, truncated: bool) -> Verdict:
        assert step.each is not None
        extracted = step.each(text)
        if extracted == _INVALID:
            return Verdict(name, None, 0.0, reason="no match")
        return Verdict(
            name, extracted, _EXACT_MATCH(extracted, gold), _span(compiled, text, group_select), "matched"
        )

    return rule


def _span(pattern: re.Pattern[str], text: str, group_select: int) -> tuple[int, int]:
    """Where the chosen match's first non-empty group stands."""
    matches = pattern.finditer(text)
    match = next(matches)
    if group_select == -1:
        for match in matches:  # noqa: B007 - only the last one is wanted
            pass
    group = next((i for i, found in enumerate(match.groups(), start=1) if found), 0)
    return match.span(group)


lm_eval_strict = _lm_eval_rule("lm_eval_strict", r"#### (\-?[0-9\.\,]+)", 0)
lm_eval_strict_cot = _lm_eval_rule("lm_eval_strict_cot", r"The answer is (\-?[0-9\.\,]+).", 0)
lm_eval_strict_self_consistency = _lm_eval_rule(
    "lm_eval_strict_self_consistency", r"The answer is (\-?[0-9\.\,]*[0-9]+)", 0
)
lm_eval_strict_llama = _lm_eval_rule(
    "lm_eval_strict_llama", r"The final answer is ((-?[$0-9.,]{2,})|(-?[0-9]+))", -1
)
lm_eval_flexible = _lm_eval_rule("lm_eval_flexible", _FLEXIBLE, -1)
scale = _lm_eval_rule("scale", _FLEXIBLE, -1)


def gsm8k(text: str, gold: str, policy: Policy, truncated: bool) -> Verdict:
    """GSM8K's own rule: the first `#### N` or line `A: N`, commas removed, equal as text to the gold's."""
    match = _OPENAI.search(text)
    if match is None:
        return Verdict("gsm8k", None, 0.0, reason="no match")
    extracted = match[1].strip().replace(",", "")
    return Verdict("gsm8k", extracted, float(extracted == _openai_gold(gold)), match.span(1), "matched")


def _openai_gold(gold: str) -> str:
    match = _OPENAI.search(gold)
    return (match[1] if match else gold).strip().replace(",", "")
