"""Arithmetic, plain or in LaTeX, evaluated exactly: `3*6`, `\\frac{1}{\\sqrt{9}}`, `2^{10}`, `5!`.

No `eval`, no float, no symbol: what is not a rational number, or grows beyond bounds, has no value.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import factorial, isqrt

from resit.grading.numerals import Exact, bounded_power, read_numeral, simplest

MAX_LENGTH = 400
_MAX_DEPTH = 40
_MAX_BITS = 4000
_MAX_FACTORIAL = 400

_LEXEME = re.compile(
    r"\s*(?:(?P<number>(?:\d{1,3}(?:,|\{,\})(?=\d{3}(?!\d)))?(?:\d{1,3}(?:,|\{,\})(?=\d{3}(?!\d)))*\d+(?:\.\d+)?|\.\d+)"
    r"|\\(?P<frac>[dtc]?frac)\s*|\\(?P<sqrt>sqrt)\s*|(?P<times>\\times|\\cdot|\*\*?|×|·)|(?P<over>\\div|/|÷)"
    r"|(?P<other>[-+−^!(){}\[\]]))"
)
_IGNORED = re.compile(r"\\left|\\right|\\[,!;: ]|\\displaystyle|~")


class _NoValue(Exception):
    pass


def evaluate(text: str) -> Exact | None:
    """The exact value of an arithmetic expression; None where it has none within bounds."""
    if len(text) > MAX_LENGTH:
        return None
    try:
        return simplest(_Parser(_IGNORED.sub(" ", text).strip()).whole())
    except (_NoValue, ZeroDivisionError):
        return None


class _Parser:
    """Recursive descent over one expression; raises `_NoValue`."""

    def __init__(self, text: str) -> None:
        self.lexemes = _lexemes(text)
        self.at = 0
        self.depth = 0

    def whole(self) -> Exact:
        value = self._sum()
        if self.at < len(self.lexemes):
            raise _NoValue
        return value

    def _peek(self) -> tuple[str, str]:
        return self.lexemes[self.at] if self.at < len(self.lexemes) else ("end", "")

    def _take(self, *wanted: str) -> str | None:
        kind, text = self._peek()
        if kind in wanted or text in wanted:
            self.at += 1
            return text
        return None

    def _expect(self, wanted: str) -> None:
        if self._take(wanted) is None:
            raise _NoValue

    def _sum(self) -> Exact:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _NoValue
        sign = self._take("+", "-", "−")
        value = self._product()
        value = -value if sign in ("-", "−") else value
        while operator := self._take("+", "-", "−"):
            term = self._product()
            value = _bounded(value + term if operator == "+" else value - term)
        self.depth -= 1
        return value

    def _product(self) -> Exact:
        value = self._power()
        while True:
            if operator := self._take("times"):
                if operator == "**":
                    raise _NoValue  # handled by no published answer format; towers of it are an attack
                value = _bounded(value * self._signed())
            elif self._take("over"):
                value = _bounded(Fraction(value) / self._signed())
            elif self._peek()[0] in ("frac", "sqrt") or self._peek()[1] in ("(", "{"):
                value = _bounded(value * self._power())
            else:
                return value

    def _signed(self) -> Exact:
        return -self._power() if self._take("-", "−") else self._power()

    def _power(self) -> Exact:
        value = self._atom()
        while self._take("!"):
            if not isinstance(value, int) or not 0 <= value <= _MAX_FACTORIAL:
                raise _NoValue
            value = factorial(value)
        if self._take("^"):
            negative = self._take("-", "−")
            exponent = self._group() if self._peek()[1] == "{" else self._atom()
            if self._peek()[1] == "^" or not isinstance(exponent, int):
                raise _NoValue
            return _known(bounded_power(value, -exponent if negative else exponent))
        return value

    def _atom(self) -> Exact:
        kind, text = self._peek()
        self.at += 1
        if kind == "number":
            return _known(read_numeral(text.replace("{,}", ",")))
        if kind == "frac":
            above = self._side()
            return _bounded(Fraction(above) / self._side())
        if kind == "sqrt":
            if self._peek()[1] in ("[", "("):
                raise _NoValue
            return _known(_square_root(self._side()))
        if text in ("(", "{"):
            self.at -= 1
            return self._group()
        raise _NoValue

    def _group(self) -> Exact:
        opener = self._take("(", "{")
        value = self._sum()
        self._expect(")" if opener == "(" else "}")
        return value

    def _side(self) -> Exact:
        """A braced argument, or a single digit: `\\frac12`."""
        kind, text = self._peek()
        if kind == "number" and text.isdecimal():
            self.lexemes[self.at] = ("number", text[1:])
            if len(text) == 1:
                self.at += 1
            return int(text[0])
        if text == "{":
            return self._group()
        raise _NoValue


def _lexemes(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _LEXEME.match(text, at)
        if match is None or match.lastgroup is None:
            raise _NoValue
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


def _bounded(value: Exact) -> Exact:
    if max(abs(value.numerator), value.denominator).bit_length() > _MAX_BITS:
        raise _NoValue
    return simplest(value)


def _known(value: Exact | None) -> Exact:
    if value is None:
        raise _NoValue
    return value


def _square_root(value: Exact) -> Exact | None:
    """The rational square root, None where there is none."""
    if value < 0:
        return None
    above, below = isqrt(value.numerator), isqrt(value.denominator)
    exact = above * above == value.numerator and below * below == value.denominator
    return simplest(Fraction(above, below)) if exact else None
