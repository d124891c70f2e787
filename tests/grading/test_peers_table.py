"""The outputs on which other harnesses' extractors fail; each must come out right here."""

from __future__ import annotations

import pytest

from resit.grading import grade

RUN_ON = "#### 18\n\nQuestion: A pack holds 1 and 2 pens. How many are there?\nAnswer: 1+2=3\n#### 3"
TABLE = [
    ("#### 18", "18", True),
    ("The answer is 18.", "18", True),
    ("$18 per day.", "18", True),
    ("profit of $70,000.", "70000", True),
    ("\\boxed{70,000}", "70000", True),
    ("\\boxed{\\$70{,}000}", "70000", True),
    ("$18.00", "18", True),
    ("**Answer: \\$18 per day.**", "18", True),
    ("**18**", "18", True),
    (RUN_ON, "18", True),
    ("18 clips, altogether...", "18", True),
    ("72 clips, altogether.", "72", True),
    ("answer is 18, ...; check: 2 hours.", "18", True),
    ("She saves 25%.", "25", True),
    ("change is -5 dollars, i.e. he owes 5.", "-5", True),
    ("10-18=-8? No: 8.", "8", True),
    ("1/2", "0.5", True),
    ("twelve", "12", True),
    ("1e3", "1000", True),
    ("1 000", "1000", True),
    ("18", "180", False),
    ("123457", "123456", False),
    ("", "18", False),
]


@pytest.mark.parametrize(("output", "gold", "right"), TABLE)
def test_the_output_is_judged_right(output: str, gold: str, right: bool) -> None:
    assert bool(grade(output, gold).correct) is right
