"""DeepSeek-Math's published extraction and equality for English maths, bug for bug.

Its leniency is kept: an answer 100 times too large or too small is right, and so is any within 1e-3.
Where it turns to sympy, plain arithmetic is settled here and everything else in a worker process that
can be killed; `docs/grading.md` lists where that differs from the original.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isclose

from resit.grading.expressions import evaluate
from resit.grading.rules import Policy
from resit.grading.values import gold_text
from resit.records import Verdict

_TOLERANCE = 1e-3
_NUMBER = re.compile(r"-?\d*\.?\d+")
_PAIR = re.compile(r"(\(|\[).+(\)|\])")
_MATRIX = re.compile(r"\\begin\{[pb]matrix\}.*\\end\{[pb]matrix\}")
_NO_EXPRESSION = re.compile(r"[\d.,\s]*[A-Za-z]{3,}[\d.,!?]*")
"""A number with a word stuck to it is a product of symbols, never equal to a number."""

_OUTPUT = "```output"
_STEPS: Sequence[tuple[str, str]] = (
    (r"\^\{\\circ\}|\^\\circ", ""),
    (r"\{(c|m)?m\}(\^(2|3))?", ""),
    (r"p\.m\.$", ""),
    (r"(\d)\s*t$", r"\1"),
)
_REMOVED_BEFORE_INFINITY = ("\\$", "$", "x\\in")


def deepseek_math(text: str, gold: str, policy: Policy, truncated: bool) -> Verdict:
    """The verdict of DeepSeek-Math's evaluation; raises `Unscorable` where it needs the extra `math`."""
    extracted = extract_answer(text)
    answer = gold_text(gold, policy.gold_marker).replace(",", "")
    if not extracted:
        return Verdict("deepseek_math", None, 0.0, reason="no match")
    return Verdict("deepseek_math", extracted, float(is_correct(extracted, answer)), reason="matched")


def extract_answer(text: str) -> str:
    """The last candidate of the first kind of marker that the text has; empty: none."""
    candidates = _candidates(text)
    if not candidates:
        return ""
    line = candidates[-1].strip().split("\n")[0].lstrip(":").rstrip(".").rstrip("/")
    return strip_string(line)


def _candidates(text: str) -> list[str]:
    if "final answer is $" in text and "$. I hope" in text:
        return [text.split("final answer is $", 1)[1].split("$. I hope", 1)[0].strip()]
    if "boxed" in text:
        return _boxes(text)
    if "he answer is" in text:
        return [text.split("he answer is")[-1].strip()]
    output = _program_output(text)
    if output:
        return [output]
    return _NUMBER.findall(text.replace(",", ""))[-1:]


def _boxes(text: str) -> list[str]:
    """What stands in each `boxed{}`; a `%` after the closing brace keeps the brace, as published."""
    found = []
    for piece in text.split("boxed{")[1:]:
        depth = 0
        for match in re.finditer(r"[{}]", piece):
            depth += 1 if match[0] == "{" else -1
            if depth < 0:
                end = match.start()
                found.append(piece[: end + 1] if piece[end + 1 : end + 2] == "%" else piece[:end])
                break
    return found


def _program_output(text: str) -> str:
    if _OUTPUT not in text:
        return ""
    return text.rpartition(_OUTPUT)[2].partition("```")[0].strip()


def strip_string(value: str) -> str:
    """The normal form in which DeepSeek-Math compares answers."""
    text = str(value).strip().replace("\n", "").rstrip(".").replace("\\!", "")
    whole = re.fullmatch(r"\\text\{(.*?)\}", text)
    text = whole[1] if whole else text
    text = re.sub(r"[tdc]frac", "frac", text).replace("\\left", "").replace("\\right", "")
    without_unit = re.sub(r"\\text\{.*?\}$", "", text).strip()
    text = without_unit or text
    for pattern, replacement in _STEPS:
        text = re.sub(pattern, replacement, text).strip()
    for mark in _REMOVED_BEFORE_INFINITY:
        text = text.replace(mark, "")
    text = text.replace("\\%", "%").replace(" .", " 0.").replace("{.", "{0.").replace("\\cdot", "")
    text = _strip_names(text)
    if not text:
        return text
    text = f"0{text}" if text[0] == "." else text
    for function in ("sqrt", "tan"):
        text = re.sub(rf"\\{function}(-?[0-9.a-zA-Z]+)", rf"\\{function}{{\1}}", text)
        text = re.sub(rf"\\{function}\s+(\w+)$", rf"\\{function}{{\1}}", text)
    text = _slash_to_fraction(_brace_fractions(text.replace(" ", "")))
    return re.sub(r"(\\|,|\.)+$", "", text)


def _strip_names(text: str) -> str:
    """Infinity, fonts, boxes, the imaginary unit and zero decimals."""
    text = text.replace("infinity", "\\infty")
    if "\\infty" not in text:
        text = text.replace("inf", "\\infty")
    text = text.replace("+\\inity", "\\infty").replace("\\mathbf", "").replace("\\mathrm", "")
    text = re.sub(r"\\mbox{.*?}", "", text)
    if "j" in text and "i" not in text:
        text = text.replace("j", "i")
    # As published, but looking back at the digit: matching all digits takes quadratic time in long ones.
    text = re.sub(r"(?<=\d)\.0+([^\d])", r"\1", text)
    return re.sub(r"(?<=\d)\.0+$", "", text)


def _brace_fractions(text: str) -> str:
    """`\\frac12` with braces; unchanged where a `\\frac` has fewer than two characters after it."""
    first, *rest = text.split("\\frac")
    out = first
    for chunk in rest:
        if chunk[:1] == "{":
            out += "\\frac" + chunk
            continue
        if len(chunk) < 2:
            return text
        above, below, tail = chunk[0], chunk[1], chunk[2:]
        out += f"\\frac{{{above}}}{below if below == '{' else f'{{{below}}}'}{tail}"
    return out


def _slash_to_fraction(text: str) -> str:
    sides = text.split("/")
    if len(sides) != 2:
        return text
    try:
        above, below = (side if "sqrt" in side else int(side) for side in sides)
    except ValueError:
        return text
    return f"\\frac{{{above}}}{{{below}}}" if text == f"{above}/{below}" else text


def is_correct(prediction: str, answer: str) -> bool:
    """DeepSeek-Math's equality of two normalised answers; raises `Unscorable` without the extra `math`."""
    if "\\cup" in prediction and "\\cup" in answer:
        return _same_parts(prediction.split("\\cup"), answer.split("\\cup"))
    try:
        if abs(float(prediction.replace(",", "")) - float(answer.replace(",", ""))) < _TOLERANCE:
            return True
    except (ValueError, OverflowError):
        pass
    return bool(answer and prediction == answer) or math_equal(prediction, answer)


def _same_parts(predictions: list[str], answers: list[str]) -> bool:
    """Every part of either list has an equal one in the other."""
    return all(any(is_correct(p, a) for a in answers) for p in predictions) and all(
        any(is_correct(p, a) for p in predictions) for a in answers
    )


def math_equal(prediction: str, reference: str) -> bool:
    """Equal as text, as numbers (also as percentages of one another), part by part, or symbolically."""
    if prediction == reference:
        return True
    left, right = _digits(prediction), _digits(reference)
    if left is not None and right is not None:
        return any(
            isclose(left, value, rel_tol=1e-9, abs_tol=_TOLERANCE)
            for value in (right / 100, right, right * 100)
        )
    if not prediction:
        return False
    if _PAIR.match(prediction) and _PAIR.match(reference):
        parts = prediction[1:-1].split(","), reference[1:-1].split(",")
        if len(parts[0]) == len(parts[1]) and all(map(math_equal, *parts)):
            return True
    if _MATRIX.fullmatch(prediction) and _MATRIX.fullmatch(reference):
        return _same_cells(prediction, reference)
    return _equation_equal(prediction, reference)


def _digits(text: str) -> float | None:
    text = text.replace(",", "")
    try:
        return float(text)
    except ValueError:
        pass
    if text.endswith("%"):
        try:
            return float(text[:-1].removesuffix("\\")) / 100
        except ValueError:
            pass
    return None


def _same_cells(prediction: str, reference: str) -> bool:
    rows = [
        [
            row.strip().split("&")
            for row in re.sub(r"\\(begin|end)\{[pb]matrix\}", "", text).split("\\\\")
            if row
        ]
        for text in (prediction, reference)
    ]
    return len(rows[0]) == len(rows[1]) and all(
        len(a) == len(b) and all(math_equal(x.strip(), y.strip()) for x, y in zip(a, b, strict=True))
        for a, b in zip(*rows, strict=True)
    )


def _equation_equal(prediction: str, reference: str) -> bool:
    if prediction.count("=") == 1 and reference.count("=") == 1:
        left, right = (
            "{} - ({})".format(*(side.strip() for side in text.split("=")))
            for text in (prediction, reference)
        )
        return symbolic_equal(left, right) or symbolic_equal(f"-({left})", right)
    for equation, other, swap in ((prediction, reference, False), (reference, prediction, True)):
        if equation.count("=") == 1 and "=" not in other and len(equation.split("=")[0].strip()) <= 2:
            side = equation.split("=")[1]
            return math_equal(other, side) if swap else math_equal(side, other)
    return symbolic_equal(prediction, reference)


def symbolic_equal(left: str, right: str) -> bool:
    """Equal as expressions, or numerically within 1e-3; never equal where the worker overruns."""
    if "$" in left or "$" in right:
        return False  # neither of the original's parsers reads it
    left, right = _before_unmatched_brace(left), _before_unmatched_brace(right)
    values = evaluate(left), evaluate(right)
    if values[0] is not None and values[1] is not None:
        return isclose(float(values[0]), float(values[1]), abs_tol=_TOLERANCE)
    if _NO_EXPRESSION.fullmatch(left) and values[1] is not None:
        return False
    from resit.grading.symbolic import ask  # starts processes; only expressions need it

    return bool(ask({"operation": "same", "left": left, "right": right}).get("equal", False))


def _before_unmatched_brace(text: str) -> str:
    """The part that the original's parser reads: it stops at a brace that nothing opened."""
    depth = 0
    for match in re.finditer(r"[{}]", text):
        depth += 1 if match[0] == "{" else -1
        if depth < 0:
            return text[: match.start()]
    return text
