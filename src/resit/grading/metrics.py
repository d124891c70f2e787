"""lm-eval's `exact_match`, exactly, without the arrays it goes through.

lm-eval compares fixed-width numpy strings. Two effects of that are visible and kept: NULs at the end
of a string vanish, and lower-casing cannot make a string longer than it was.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, TypeAlias

from resit.errors import UsageError
from resit.grading.filters import Unscorable
from resit.records import MetricSpec

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NO_DIGITS = str.maketrans("", "", string.digits)
_EVERYTHING_UP_TO = "(?s).*"

Substitution: TypeAlias = Callable[[str], str]
Metric: TypeAlias = Callable[[Any, Any], float]
"""Prediction and reference (a list: any one of them is right) to a value; raises `Unscorable`."""


SHORT = 64
"""Characters up to which a cleaned-up text is remembered."""


@dataclass(frozen=True, slots=True)
class ExactMatch:
    """Equality of text after lm-eval's clean-ups, 1.0 or 0.0."""

    regexes: tuple[Substitution, ...] = ()
    ignore_case: bool = False
    ignore_punctuation: bool = False
    ignore_numbers: bool = False
    has_regexes: bool = False

    def __call__(self, prediction: Any, reference: Any) -> float:
        if self._compares_lists():
            several = list(reference) if isinstance(reference, list | tuple) else [reference]
            return float([prediction] * len(several) == several)
        if isinstance(reference, list | tuple):
            return self._any_of(prediction, list(reference))
        if isinstance(prediction, list):
            return self._share(prediction, reference)
        if not isinstance(prediction, str):
            return self._plain(prediction, reference)
        short = len(prediction) < SHORT  # the same few answers come again and again
        cleaned = _cleaned(self, prediction) if short else self.clean([prediction])[0]
        return float(cleaned == _cleaned(self, str(reference)))

    def _compares_lists(self) -> bool:
        """With an empty list of regexes and nothing else lm-eval compares its lists, not their texts."""
        flags = self.ignore_case or self.ignore_punctuation or self.ignore_numbers
        return self.has_regexes and not self.regexes and not flags

    def clean(self, texts: Sequence[str]) -> list[str]:
        """The texts as they are compared; together they share one width, as in lm-eval's array."""
        width = 0
        for substitute in self.regexes or (str,):
            texts = [substitute(text) for text in texts]
            width = max(map(len, texts), default=0)
            texts = [text.rstrip("\0") for text in texts]
        if self.ignore_case:
            texts = [text.lower()[:width].rstrip("\0") for text in texts]
        if self.ignore_punctuation:
            texts = [text.translate(_NO_PUNCTUATION).rstrip("\0") for text in texts]
        if self.ignore_numbers:
            texts = [text.translate(_NO_DIGITS).rstrip("\0") for text in texts]
        return list(texts)

    def _any_of(self, prediction: Any, references: list[Any]) -> float:
        if not isinstance(prediction, str):
            raise Unscorable(f"exact_match needs one text, the filters gave {type(prediction).__name__}")
        cleaned = self.clean([prediction] * len(references))
        wanted = self.clean([str(reference) for reference in references])
        return float(any(a == b for a, b in zip(cleaned, wanted, strict=True)))

    def _share(self, predictions: list[Any], reference: Any) -> float:
        """The filters did not choose: lm-eval gives the share of the samples that match."""
        if self.has_regexes or not predictions or not all(isinstance(p, str) for p in predictions):
            raise Unscorable("the filters end with a list of answers, exact_match needs one")
        wanted = self.clean([str(reference)])[0]
        return sum(text == wanted for text in self.clean(predictions)) / len(predictions)

    def _plain(self, prediction: Any, reference: Any) -> float:
        if self.has_regexes or self.ignore_case or self.ignore_punctuation or self.ignore_numbers:
            raise Unscorable(f"exact_match needs text, the filters gave {type(prediction).__name__}")
        try:
            return float(bool(prediction == type(prediction)(reference)))
        except (TypeError, ValueError) as error:
            raise Unscorable(f"the reference is no {type(prediction).__name__}: {error}") from error


@lru_cache(maxsize=1024)
def _cleaned(metric: ExactMatch, reference: str) -> str:
    return metric.clean([reference])[0]


def exact_match(
    regexes_to_ignore: Sequence[str] | None = None,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
) -> ExactMatch:
    """The metric with a task's settings; raises `re.error` for a bad pattern."""
    return ExactMatch(
        regexes=tuple(_removal(pattern) for pattern in regexes_to_ignore or ()),
        ignore_case=bool(ignore_case),
        ignore_punctuation=bool(ignore_punctuation),
        ignore_numbers=bool(ignore_numbers),
        has_regexes=regexes_to_ignore is not None,
    )


def _removal(pattern: str) -> Substitution:
    """What removes all matches of `pattern`, in linear time for the patterns of GSM8K."""
    literal = _literal(pattern)
    if literal:
        return lambda text: text.replace(literal, "")
    ending = _literal(pattern.removeprefix(_EVERYTHING_UP_TO))
    if ending:
        # As a pattern it retries from every character of a text without the literal: quadratic.
        return lambda text: text[text.rfind(ending) + len(ending) :] if ending in text else text
    compiled = re.compile(pattern)
    return lambda text: compiled.sub("", text)


def _literal(pattern: str) -> str:
    """The one text that `pattern` matches; empty where it may match several."""
    if len(pattern) == 2 and pattern[0] == "\\" and pattern[1] in string.punctuation:
        return pattern[1]
    return "" if set(pattern) & set(".^$*+?{}[]\\|()") else pattern


def bypass(**_: Any) -> Metric:
    """lm-eval's placeholder for runs that are not scored: always 999."""
    return lambda prediction, reference: 999.0


BUILDERS: dict[str, Callable[..., Metric]] = {"bypass": bypass, "exact_match": exact_match}


def compile_metric(spec: MetricSpec) -> Metric:
    """The metric ready to run; raises `UsageError` for an unknown metric, setting or bad pattern."""
    if spec.name not in BUILDERS:
        close = get_close_matches(spec.name, BUILDERS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known metrics: {', '.join(BUILDERS)}"
        raise UsageError(f"metric {spec.name!r} is not known", hint)
    try:
        return BUILDERS[spec.name](**_settings(spec.kwargs))
    except TypeError as error:
        raise UsageError(f"metric {spec.name!r}: {error}") from error
    except re.error as error:
        raise UsageError(
            f"metric {spec.name!r}: {error.pattern!r} is not a regular expression: {error}"
        ) from error


def _settings(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in kwargs.items() if key not in ("aggregation", "higher_is_better")}
