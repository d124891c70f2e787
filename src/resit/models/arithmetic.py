"""Arithmetic as models write it, evaluated exactly on fractions: `48/2`, `$1,200 × 15%`, `2*(3+.5)`.

No `eval` and no float. What is not a rational number, can be read in two ways, or grows beyond bounds
has no value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

MAX_LENGTH = 200
_MAX_DEPTH = 30
_MAX_BITS = 1000
"""Of a numerator or denominator: about 300 digits."""

Known = Mapping[str, Fraction]
"""Values of numbers by how they are written, where they are not what is written (`6.666667` for 20/3)."""

_LEXEME = re.compile(
    r"\s*(?:(?P<number>\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+(?:\.(?:\d+|(?![\d.])))?(?!,\d)|\.\d+)"
    r"|(?P<power>\*\*|\^)|(?P<floor>//)|(?P<times>[*×·⋅∙xX])|(?P<over>[/÷])|(?P<plus>\+)|(?P<minus>[-−–])"
    r"|(?P<percent>%)|(?P<of>of\b)|(?P<opening>\()|(?P<closing>\))|(?P<currency>[$€£¥₹]))",
    re.ASCII,
)
_STARTS_OPERAND = ("number", "opening", "currency")


class _NoValue(Exception):
    pass


def evaluate(text: str, known: Known | None = None) -> Fraction | None:
    """The exact value of an expression; None where it has none."""
    if len(text) > MAX_LENGTH:
        return None
    try:
        return _Parser(text, known or {}).whole()
    except (_NoValue, ZeroDivisionError):
        return None


def _lexemes(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    text, at = text.rstrip(), 0
    while at < len(text):
        match = _LEXEME.match(text, at)
        if match is None or match.lastgroup is None:
            raise _NoValue
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


class _Parser:
    """Recursive descent with Python's precedence; raises `_NoValue` and ZeroDivisionError."""

    def __init__(self, text: str, known: Known) -> None:
        self._lexemes = _lexemes(text)
        self._known = known
        self._at = 0
        self._depth = 0

    def whole(self) -> Fraction:
        value = self._sum()
        if self._at < len(self._lexemes):
            raise _NoValue
        return value

    def _next(self) -> str:
        return self._lexemes[self._at][0] if self._at < len(self._lexemes) else "end"

    def _take(self, *wanted: str) -> str:
        kind = self._next()
        if kind not in wanted:
            return ""
        self._at += 1
        return kind

    def _sum(self) -> Fraction:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _NoValue
        value, percent = self._product()
        shares = [percent]
        while operator := self._take("plus", "minus"):
            term, percent = self._product()
            shares.append(percent)
            value = _bounded(value + term if operator == "plus" else value - term)
        if any(shares) and not all(shares):
            raise _NoValue  # 100 + 10%: of the 100, or 0.1?
        self._depth -= 1
        return value

    def _product(self) -> tuple[Fraction, bool]:
        """A product's value, and whether it is a bare percentage."""
        value, percent = self._signed()
        divided = False
        while True:
            if operator := self._take("times", "of", "over", "floor", "percent"):
                value = _applied(operator, value, self._signed()[0])
                divided = divided or operator not in ("times", "of")
            elif self._next() == "opening" and not divided:
                value = _bounded(value * self._signed()[0])
            else:
                return value, percent
            percent = False

    def _signed(self) -> tuple[Fraction, bool]:
        negative = False
        while sign := self._take("plus", "minus"):
            negative ^= sign == "minus"
        value = self._power()
        percent = self._next() == "percent" and self._following() not in _STARTS_OPERAND
        if percent:
            self._at += 1
            value /= 100
        return (-value if negative else value), percent

    def _following(self) -> str:
        return self._lexemes[self._at + 1][0] if self._at + 1 < len(self._lexemes) else "end"

    def _power(self) -> Fraction:
        base = self._operand()
        if not self._take("power"):
            return base
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _NoValue
        negative = bool(self._take("minus"))
        exponent = self._power()
        self._depth -= 1
        return _raised(base, -exponent if negative else exponent)

    def _operand(self) -> Fraction:
        while self._take("currency"):
            pass
        if self._take("opening"):
            value = self._sum()
            if not self._take("closing"):
                raise _NoValue
            return value
        if not self._take("number"):
            raise _NoValue
        text = self._lexemes[self._at - 1][1].replace(",", "")
        return self._known[text] if text in self._known else Fraction(text)


def _applied(operator: str, left: Fraction, right: Fraction) -> Fraction:
    if operator in ("times", "of"):
        return _bounded(left * right)
    if operator == "over":
        return _bounded(left / right)
    return _bounded(Fraction(left // right) if operator == "floor" else left % right)


def _raised(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        raise _NoValue
    size = max(abs(base.numerator), base.denominator).bit_length()
    if abs(exponent) * size > _MAX_BITS:
        raise _NoValue  # before it is computed
    return Fraction(base ** int(exponent))


def _bounded(value: Fraction) -> Fraction:
    if max(abs(value.numerator), value.denominator).bit_length() > _MAX_BITS:
        raise _NoValue
    return value
