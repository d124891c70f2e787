"""`resit/gsm_fresh`: GSM-style problems, generated from a seed by reasoning-gym's `gsm_symbolic`.

A problem is kept only if its gold answer can be trusted. Of reasoning-gym 0.1.25's items about one in forty
cannot: quotients and percentages are cut to whole numbers in the middle of a solution (`78 / 12 = 6 pans`),
an age comes out as -1. Those are dropped and counted, and so are questions that print 0.6666666666666666.

Test questions are drawn from the templates that the few-shot pool (`train`) does not use, so no exemplar
shows how a test question is solved. The first n questions of a larger set with the same seed are the set
of size n.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from resit.assets.splits import GSM_FRESH, SEED
from resit.errors import AssetError, UsageError

GENERATOR = "gsm_symbolic"
EXEMPLAR_TEMPLATES = frozenset({7, 12, 20, 23, 30, 39, 44, 45, 67, 71})
"""Templates of the few-shot pool: short, clear solutions; the test split has all the others."""
SIZES = {"train": 200, "test": 1319}
BARE_NUMBER_REQUEST = " Give the result as your final answer. Do not include units."
"""What the generator appends to a question and GSM8K's questions do not have."""
MOST_DRAWS_PER_ROW = 40

NUMBER = r"\d+(?:\.\d+)?%?"
OPERATOR = r"\s*(?:[-+*/×÷]|(?<=\s)x(?=\s))\s*"
ENDED = r"(?!\s*[-+*/×÷(]|\s+x\s|[\d.]*\d)"
STEP = re.compile(
    rf"(?<![\w.%)])({NUMBER}(?:{OPERATOR}{NUMBER})+)\s*=\s*({NUMBER})(?!\s*[-+*/×÷(]|\s+x\s|[\d.]*\d)"
)
CONTINUED = re.compile(r"(?:[-+*/×÷(]|\bx)\s*\Z")
ROUNDED = re.compile(r"from (\d+\.\d+) to (\d+)\b")
NOISE = re.compile(r"\d\.\d{5}")
FLOAT_ERROR = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Generated:
    """Rows, what made them, and how many items were left out, by reason."""

    rows: list[dict[str, Any]]
    made_by: Mapping[str, Any]
    dropped: Mapping[str, int]


def generate(
    split: str, *, seed: int = SEED, size: int | None = None, train_size: int | None = None
) -> Generated:
    """`size` distinct problems of the test split (default 1319), or `train_size` of the few-shot pool (200).

    A row is `question`, `answer` (worked solution, last line `#### N`) and `template`, the number of the
    generator's template: rows of one template are alike, so they are a cluster. Raises AssetError without
    reasoning-gym, UsageError for a split or size that does not exist.
    """
    count = _count(split, train_size if split == "train" else size)
    _whole("seed", seed)
    dropped: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    seen: set[str] = set()
    for row in _items(split, seed, count, dropped):
        if row["question"] in seen:
            dropped["duplicate"] += 1
            continue
        seen.add(row["question"])
        rows.append(row)
        if len(rows) == count:
            import importlib.metadata

            version = importlib.metadata.version("reasoning-gym")
            made_by = {"generator": f"reasoning-gym {version} {GENERATOR}", "seed": seed}
            return Generated(rows, made_by, dict(sorted(dropped.items())))
    raise UsageError(
        f"{GSM_FRESH}: the generator has only {len(rows)} distinct problems for split {split}, not {count}"
    )


def _count(split: str, asked: int | None) -> int:
    if split not in SIZES:
        raise UsageError(f"{GSM_FRESH} has no split {split!r}; it has {', '.join(SIZES)}")
    count = SIZES[split] if asked is None else _whole("size", asked)
    if count < 1:
        raise UsageError(f"{GSM_FRESH}: expected size to be a whole number above 0, found {count}")
    return count


def _whole(name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise UsageError(f"{GSM_FRESH}: expected {name} to be a whole number, found {value!r}")


def _items(split: str, seed: int, count: int, dropped: Counter[str]) -> Iterator[dict[str, Any]]:
    """Trustworthy problems of a split, in the generator's order, until far more than enough were drawn."""
    draws = count * MOST_DRAWS_PER_ROW
    items = generator().create_dataset(GENERATOR, seed=stream(split, seed), size=draws)
    for index, template in enumerate(items.task_indices):
        if (template in EXEMPLAR_TEMPLATES) != (split == "train"):
            continue
        item = items[index]
        reason = distrust(item)
        if reason:
            dropped[reason] += 1
        else:
            yield row_of(item, template)


def stream(split: str, seed: int) -> int:
    """The generator's seed: it adds the item's index to it, so seeds must lie far apart."""
    return int.from_bytes(hashlib.sha256(f"{GSM_FRESH} {split} {seed}".encode()).digest()[:6])


def generator() -> Any:
    """The module reasoning_gym; raises AssetError where it is not installed."""
    try:
        with warnings.catch_warnings():
            # its dependencies have invalid escapes and `is` with literals: reported on the first import
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            import reasoning_gym
    except ImportError as error:
        raise AssetError(
            f"{GSM_FRESH} is generated by reasoning-gym, which is not installed ({error})",
            "pip install 'resit[fresh]'",
        ) from None
    return reasoning_gym


def row_of(item: Mapping[str, Any], template: int) -> dict[str, Any]:
    """A generated item as a row."""
    solution = item["metadata"]["answer_cot"].rpartition("####")[0].rstrip()
    question = item["question"].removesuffix(BARE_NUMBER_REQUEST)
    return {"question": question, "answer": f"{solution}\n#### {gold_of(item)}", "template": template}


def gold_of(item: Mapping[str, Any]) -> Fraction | None:
    """An item's gold answer; None when it is not a number."""
    try:
        return Fraction(str(item["answer"]).replace(",", ""))
    except (ValueError, ZeroDivisionError):
        return None


def distrust(item: Mapping[str, Any]) -> str:
    """Why an item's gold answer cannot be trusted, or an empty string."""
    gold = gold_of(item)
    solution, marker, last = item["metadata"]["answer_cot"].rpartition("####")
    if gold is None or not marker:
        return "no number"
    if _number(last) != gold or _number(item["metadata"]["answer_value"]) != gold:
        return "gold contradicts its solution"
    if gold.denominator != 1:
        return "not a whole number"
    if gold < 0:
        return "below zero"
    if NOISE.search(item["question"]):
        return "float noise in the question"
    return "" if steps_hold(solution) else "a step does not hold"


def _number(value: object) -> Fraction | None:
    try:
        return Fraction(str(value).replace(",", "").strip())
    except ValueError:
        return None


def steps_hold(solution: str) -> bool:
    """Whether every plain statement `a + b = c` and every rounding of a worked solution is right.

    Statements with words between the numbers are not read.
    """
    text = re.sub(r"(?<=\d),(?=\d{3}\b)|[$€£¥₹]", "", solution)
    for found in STEP.finditer(text):
        if CONTINUED.search(text, 0, found.start()):
            continue
        value, stated = _value(found.group(1)), _percent(found.group(2))
        decimals = len(found.group(2).rstrip("%").partition(".")[2])
        tolerance = max(Fraction(1, 2 * 10**decimals) if decimals else Fraction(0), FLOAT_ERROR)
        if value is None or abs(value - stated) > tolerance:
            return False
    return all(Fraction(b) == (Fraction(a) + Fraction(1, 2)) // 1 for a, b in ROUNDED.findall(text))


def _percent(text: str) -> Fraction:
    return Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)


def _value(expression: str) -> Fraction | None:
    """A sum of products; `÷` binds looser than `/`, which writes fractions. None for a division by zero."""
    tokens = re.findall(rf"{NUMBER}|[-+*/×÷x]", expression)
    total, sign = Fraction(0), 1
    term: list[str] = []
    for token in [*tokens, "+"]:
        if token in "+-" and term:
            value = _product(term)
            if value is None:
                return None
            total += sign * value
            sign, term = (1 if token == "+" else -1), []
        else:
            term.append(token)
    return total


def _product(tokens: list[str]) -> Fraction | None:
    if "÷" in tokens:
        place = len(tokens) - 1 - tokens[::-1].index("÷")
        left, right = _product(tokens[:place]), _product(tokens[place + 1 :])
        return None if left is None or not right else left / right
    value = _percent(tokens[0])
    for operator, operand in zip(tokens[1::2], tokens[2::2], strict=True):
        number = _percent(operand)
        if operator == "/" and not number:
            return None
        value = value / number if operator == "/" else value * number
    return value
