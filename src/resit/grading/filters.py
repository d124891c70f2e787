"""lm-eval's filters, exactly: the steps that turn a document's responses into its answer.

A step takes what the step before it returned. Most map each response; `take_first`, `take_first_k`
and `majority_vote` choose among them. Where lm-eval would end the run on one bad response, a step
raises `Unscorable` with the reason, and only that response (or question) is affected.
"""

from __future__ import annotations

import inspect
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeAlias

from resit import plugins
from resit.errors import UsageError
from resit.records import FilterChain, FilterStep

Fields: TypeAlias = Mapping[str, Any]
Each: TypeAlias = Callable[[Any], Any]
Whole: TypeAlias = Callable[[Any, Fields], Any]

NO_FALLBACK = object()
_DEFAULT_PATTERN = r"#### (\-?[0-9\.\,]+)"


class Unscorable(Exception):
    """A filter or metric cannot be applied to this response; lm-eval would end the run here."""


class TooFewSamples(Unscorable):
    """The chain needs more samples than the question has."""


@dataclass(frozen=True, slots=True)
class Step:
    """One compiled step: `each` maps a single response, `whole` takes all that a document has."""

    name: str
    each: Each | None = None
    whole: Whole | None = None
    selects: bool = False
    """Chooses among samples, so it has no meaning for a single one."""
    fallback: Any = NO_FALLBACK
    """What the step gives when it finds nothing."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A compiled filter chain."""

    name: str
    steps: tuple[Step, ...]
    for_one: tuple[Step, ...]
    """The steps that mean something for a single response."""

    def apply(self, responses: Any, fields: Fields, memo: dict[Any, Any] | None = None) -> Any:
        """What the whole chain makes of a document's responses; raises `Unscorable`."""
        return self._run(self.steps, responses, fields, memo)

    def apply_to_one(self, response: str, fields: Fields, memo: dict[Any, Any] | None = None) -> Any:
        """What the steps that do not choose among samples make of one response; raises `Unscorable`."""
        values = self._run(self.for_one, [response], fields, memo)
        return values[0] if isinstance(values, list) and len(values) == 1 else values

    def found_nothing(self, value: Any) -> bool:
        """Whether `value` is what the chain gives when a response holds no answer."""
        return any(step.fallback is not NO_FALLBACK and value == step.fallback for step in self.steps)

    def _run(self, steps: Sequence[Step], values: Any, fields: Fields, memo: dict[Any, Any] | None) -> Any:
        for step in steps:
            try:
                if step.each is not None:
                    values = _map(step.each, values, memo)
                elif step.whole is not None:
                    values = step.whole(values, fields)
            except Unscorable:
                raise
            except Exception as error:  # a task's own function, or a response the step cannot take
                raise Unscorable(f"filter {step.name}: {type(error).__name__}: {error}") from error
        return values


def _map(each: Each, values: Any, memo: dict[Any, Any] | None) -> list[Any]:
    if memo is None:
        return [each(value) for value in values]
    out = []
    for value in values:
        key = (each, value) if type(value) is str else None
        if key is None or (result := memo.get(key, NO_FALLBACK)) is NO_FALLBACK:
            result = each(value)
            if key is not None:
                memo[key] = result
        out.append(result)
    return out


def regex(regex_pattern: str = _DEFAULT_PATTERN, group_select: int = 0, fallback: Any = "[invalid]") -> Step:
    """The match number `group_select` of each response, its first non-empty group, stripped."""
    return Step("regex", each=_pick(regex_pattern, group_select, fallback), fallback=fallback)


@cache
def _pick(regex_pattern: str, group_select: int, fallback: Any) -> Each:
    # Cached so that two chains with the same step share one function, and one memo entry.
    findall = re.compile(regex_pattern).findall

    def pick(response: Any) -> Any:
        found = findall(response) if isinstance(response, str) else findall("")
        if not found:
            return fallback
        match = found[group_select]
        if isinstance(match, tuple):
            match = next((group for group in match if group), fallback)
        return match.strip()

    return pick


def take_first() -> Step:
    """The first response."""
    return Step("take_first", whole=lambda values, _: values[0], selects=True)


def take_first_k(k: int) -> Step:
    """The first `k` responses; fewer than that are `TooFewSamples`."""

    def first(values: Any, _: Fields) -> Any:
        if len(values) < k:
            raise TooFewSamples(f"take_first_k needs {k} samples, the question has {len(values)}")
        return values[:k]

    return Step("take_first_k", whole=first, selects=True)


def majority_vote() -> Step:
    """The response seen most often, the earliest of equals, as a list of one."""
    return Step("majority_vote", whole=lambda values, _: [Counter(values).most_common(1)[0][0]], selects=True)


def remove_whitespace() -> Step:
    """Each response without white space at its ends."""
    return Step("remove_whitespace", each=_strip)


def lowercase() -> Step:
    """Each response in lower case."""
    return Step("lowercase", each=_lower)


def uppercase() -> Step:
    """Each response in upper case."""
    return Step("uppercase", each=_upper)


def _strip(response: Any) -> Any:
    return response.strip()


def _lower(response: Any) -> Any:
    return response.lower()


def _upper(response: Any) -> Any:
    return response.upper()


def map_values(mapping_dict: dict[Any, Any] | None = None, default_value: Any = None) -> Step:
    """Each response looked up in a table."""
    table = {} if mapping_dict is None else mapping_dict
    if not isinstance(table, dict):
        raise UsageError(f"filter map: mapping_dict must be a mapping, found {type(table).__name__}")
    return Step("map", each=lambda response: table.get(response, default_value))


def regex_pos(regex_pattern: str = r"\['(.*?)'\]", group_select: int = 0, fallback: Any = None) -> Step:
    """The tags of the ('token', 'TAG') pairs in each response; the pattern is accepted and unused."""
    del regex_pattern, group_select
    nothing = ["invalid"] if fallback is None else fallback
    pairs = re.compile(r"\('([^']*)', '([^']*)'\)")

    def tags(response: Any) -> Any:
        found = pairs.findall(response) if isinstance(response, str) else response
        return [tag for _, tag in found] or nothing

    return Step("regex_pos", each=tags, fallback=nothing)


def multi_choice_regex(
    regex_pattern: str = _DEFAULT_PATTERN,
    group_select: int = 0,
    fallback: Any = "[invalid]",
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    regexes_to_ignore: Sequence[str] | None = None,
) -> Step:
    """The letter of the choice each response names: by pattern, by the choice's text, or after a colon."""
    ignored = [re.compile(pattern) for pattern in regexes_to_ignore or ()]
    given = re.compile(regex_pattern)

    def simplify(text: str) -> str:
        for pattern in ignored:
            text = pattern.sub("", text)
        if ignore_case:
            text = text.lower()
        return text.translate(_punctuation()) if ignore_punctuation else text

    def find(pattern: re.Pattern[str], response: Any, letters: Mapping[str, str]) -> Any:
        found = pattern.findall(response if isinstance(response, str) else "")
        if not found:
            return None
        match = found[group_select]
        if isinstance(match, tuple):
            match = next((group for group in match if group), "")
        match = match.strip()
        return letters.get(match, match) if match else match

    def choose(responses: Any, fields: Fields) -> list[Any]:
        texts = [simplify(choice.strip()) for choice in fields["choices"]]
        letters = [chr(ord("A") + index) for index in range(len(texts))]
        by_text = {text: f"({letter})" for text, letter in zip(texts, letters, strict=True)}
        by_letter = {letter: f"({letter})" for letter in letters}
        # Longest first: a choice that begins another one must not hide it.
        longest_first = sorted((re.escape(text) for text in texts), key=len, reverse=True)
        any_text = re.compile("|".join(longest_first))
        any_letter = re.compile(rf":[\s]*({'|'.join(letters)})")
        return [
            find(given, response, {})
            or find(any_text, simplify(response), by_text)
            or find(any_letter, response, by_letter)
            or fallback
            for response in responses
        ]

    return Step("multi_choice_regex", whole=choose, fallback=fallback)


@cache
def _punctuation() -> dict[int, None]:
    return {code: None for code in range(sys.maxunicode) if unicodedata.category(chr(code)).startswith("P")}


_ENTITY_LABELS = {
    "person": "PER",
    "people": "PER",
    "persons": "PER",
    "per": "PER",
    "location": "LOC",
    "counties": "LOC",
    "places": "LOC",
    "country": "LOC",
    "continent": "LOC",
    "loc": "LOC",
    "organization": "ORG",
    "company": "ORG",
    "org": "ORG",
    "time": "DATE",
    "date": "DATE",
}


def format_span() -> Step:
    """Each response's named entities as `label: entity $ label: entity`."""
    label = re.compile(rf"\b({'|'.join(_ENTITY_LABELS)})\s*:")
    group = re.compile(r"\b(PER|LOC|ORG|DATE):\s*([^$]+)")

    def spans(response: Any) -> str:
        text = label.sub(lambda match: f"{_ENTITY_LABELS[match[1]]}:", response.lower())
        text = text.replace("$$", "$").rstrip("$").replace("\n", "$").strip()
        return " $ ".join(
            f"{name.lower()}: {entity.strip()}"
            for name, entities in group.findall(text)
            for entity in entities.split(",")
            if entity.strip().lower() != "none"
        )

    return Step("format_span", each=spans)


def custom(call: Callable[..., Any]) -> Step:
    """A task's own function of (all documents' responses, all documents), given one document."""

    def apply(responses: Any, fields: Fields) -> Any:
        return next(iter(call([responses], [fields])))

    return Step("custom", whole=apply)


BUILDERS: dict[str, Callable[..., Step]] = {
    "custom": custom,
    "format_span": format_span,
    "lowercase": lowercase,
    "majority_vote": majority_vote,
    "map": map_values,
    "multi_choice_regex": multi_choice_regex,
    "regex": regex,
    "regex_pos": regex_pos,
    "remove_whitespace": remove_whitespace,
    "take_first": take_first,
    "take_first_k": take_first_k,
    "uppercase": uppercase,
}


def compile_chain(chain: FilterChain) -> Chain:
    """The chain ready to run; raises `UsageError` for an unknown filter, setting or bad pattern."""
    steps = tuple(_compile_step(chain.name, step) for step in chain.steps)
    return Chain(chain.name, steps, tuple(step for step in steps if not step.selects))


def _compile_step(chain: str, step: FilterStep) -> Step:
    where = f"filter {step.function!r} of {chain!r}"
    build = BUILDERS.get(step.function) or plugins.find("resit.filters", step.function)
    if build is None:
        close = get_close_matches(step.function, BUILDERS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known filters: {', '.join(BUILDERS)}"
        raise UsageError(f"{where} is not known", hint)
    if step.function == "custom":
        call = step.call or step.kwargs.get("filter_fn")
        if not callable(call):
            raise UsageError(f"{where} needs filter_fn, a function of (responses, documents)")
        return custom(call)
    try:
        inspect.signature(build).bind(**step.kwargs)
        return build(**step.kwargs)
    except TypeError as error:
        accepted = ", ".join(inspect.signature(build).parameters) or "no settings"
        raise UsageError(f"{where}: {error}", f"it accepts: {accepted}") from error
    except re.error as error:
        raise UsageError(f"{where}: {error.pattern!r} is not a regular expression: {error}") from error
