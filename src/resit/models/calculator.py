"""GSM8K's calculator: what stands behind `<<48/2=` is not left to the model.

Works on decoded text, so that it is the same for every backend and tokenizer. The published training
data show how results are written; docs/design/calculator.md has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from resit.models.arithmetic import MAX_LENGTH, evaluate
from resit.records import Insertion

OPENING, CLOSING = "<<", ">>"
DECIMALS = 6
"""Of a value that does not end; also the fewest significant digits that it is written with."""
MOST_DECIMALS = 12
"""A value that ends within so many is written whole."""

_EXPRESSION = re.compile(rf"<<([^<>=\n]{{1,{MAX_LENGTH}}})=")
_MONEY = re.compile(r"[$€£¥₹] ?$")
_WHOLE_WITH_CENTS = re.compile(r"\d\.00(?!\d)")
_BARE_POINT = re.compile(r"(?<![\d.])\.\d")
_ZERO_POINT = re.compile(r"(?<![\d.])0\.\d")


@dataclass(frozen=True, slots=True)
class Form:
    """How the text at hand writes numbers."""

    money: bool = False
    """A currency sign stands before the annotation."""
    cents: bool = False
    """Whole amounts have been written with cents: `9.00`."""
    bare_point: bool = False
    """Numbers below one have been written without their 0, and none with it: `.5`."""

    @classmethod
    def after(cls, text: str, start: int) -> Form:
        """The form of a result whose annotation begins at `start`."""
        return cls(
            money=_MONEY.search(text, max(0, start - 2), start) is not None,
            cents=_WHOLE_WITH_CENTS.search(text, 0, start) is not None,
            bare_point=_BARE_POINT.search(text, 0, start) is not None
            and _ZERO_POINT.search(text, 0, start) is None,
        )


@dataclass(frozen=True, slots=True)
class Annotation:
    """An `<<expression=` in a text, and what the calculator makes of it."""

    expression: str
    at: int
    """Where the result begins: the place after the `=`."""
    result: str | None
    """The result and the closing `>>`; None where the expression cannot be read."""


def annotations_in(text: str) -> Iterator[Annotation]:
    """The annotations that a text opens, from left to right."""
    known: dict[str, Fraction] = {}
    for match in _EXPRESSION.finditer(text):
        value = evaluate(match[1], known)
        if value is None:
            yield Annotation(match[1], match.end(), None)
            continue
        written = write(value, Form.after(text, match.start()))
        if _is_rounded(written, value):
            known[written.removeprefix("-")] = abs(value)
        yield Annotation(match[1], match.end(), written + CLOSING)


def _is_rounded(written: str, value: Fraction) -> bool:
    """Whether an unfinished value was written, which later stands for the whole one; cents are cents."""
    return len(written.partition(".")[2]) >= DECIMALS and Fraction(written) != value


def slip(text: str) -> Annotation | None:
    """The first annotation that does not go on with the calculator's result; None: there is none."""
    return next((a for a in annotations_in(text) if a.result and not text.startswith(a.result, a.at)), None)


def intervene(text: str) -> str | None:
    """What is to be put in now that the text has grown to its end; None: nothing.

    For backends that call it whenever the text has grown.
    """
    start = text.rfind(OPENING)
    equals = text.find("=", start) if start >= 0 else -1
    if equals < 0 or CLOSING in text[equals:] or "\n" in text[equals:]:
        return None
    last = next((a for a in annotations_in(text) if a.at == equals + 1), None)
    if last is None or last.result is None:
        return None
    begun = text[last.at :]  # a token may reach past the `=`
    return last.result[len(begun) :] or None if last.result.startswith(begun) else None


def insertions(text: str) -> tuple[tuple[Insertion, ...], int]:
    """The calculator's results in a finished text, and the number of annotations that are not its own.

    The latter are expressions that it cannot read, and what a model wrote in one token with the `=`.
    """
    found, left = [], 0
    for a in annotations_in(text):
        if a.result is not None and text.startswith(a.result, a.at):
            found.append(Insertion(a.at, a.result, a.expression))
        else:
            left += 1
    return tuple(found), left


def insertion_to(insertion: Insertion) -> dict[str, Any]:
    """The insertion as the journal's JSON holds it; what is unknown is left out."""
    return {name: value for name, value in asdict(insertion).items() if value is not None}


def insertion_from(value: Mapping[str, Any]) -> Insertion:
    """The insertion that a journal's JSON holds. Raises ValueError for another object."""
    try:
        return Insertion(value["at"], value["text"], value["expression"], value.get("instead"))
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"an insertion needs at, text and expression, found {value!r:.80}") from None


def write(value: Fraction, form: Form | None = None) -> str:
    """A value as GSM8K's annotations write it: `24`, `0.2`; as money `2.50`, and `9.00` where that is usual.

    Values that do not end are rounded, halves away from zero: money to cents, others to `DECIMALS`.
    """
    form = form or Form()
    places = _places(value)
    if places is None:
        rounded = Fraction(round_half_up(value, 2)) if form.money else None
        decimals = 2 if rounded else _decimals(value)
        text = _decimal(value, decimals)
        text = text if rounded else _without_zeros(text)
    elif form.money and (places or form.cents):
        text = _decimal(value, max(2, places))
    else:
        text = _decimal(value, places)
    return re.sub(r"^(-?)0\.", r"\1.", text) if form.bare_point else text


def _places(value: Fraction) -> int | None:
    """How many decimals a value has; None where they do not end, or are too many to write."""
    rest = value.denominator
    twos = fives = 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 and max(twos, fives) <= MOST_DECIMALS else None


def _decimals(value: Fraction) -> int:
    """So many decimals that `DECIMALS` of them, and of its digits, are there."""
    decimals = DECIMALS
    while abs(value) * 10**decimals < 10 ** (DECIMALS - 1):
        decimals += 1
    return decimals


def round_half_up(value: Fraction, decimals: int) -> Fraction:
    """The nearest value with so many decimals; of two equally near, the one away from zero."""
    scaled = abs(value) * 10**decimals + Fraction(1, 2)
    whole = scaled.numerator // scaled.denominator
    return Fraction(-whole if value < 0 else whole, 10**decimals)


def _decimal(value: Fraction, decimals: int) -> str:
    scaled = round_half_up(value, decimals) * 10**decimals
    digits = str(abs(scaled.numerator)).rjust(decimals + 1, "0")
    sign = "-" if scaled < 0 else ""
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}" if decimals else f"{sign}{digits}"


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".")
