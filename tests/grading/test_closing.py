"""What a chat says after its answer is no answer."""

from __future__ import annotations

import pytest

from resit.grading import grade


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("So it takes 2 + 1 = 3 bolts.\n\nLet me know if you need help with the other 2 questions!", "3"),
        ("So she has 3 bolts. Would you like me to check the other 2?", "3"),
        ("He has 12 apples. I hope this helps, and feel free to ask 5 more questions.", "12"),
        ("It is 12. If you need any of the other 3 answers, just ask.", "12"),
        ("He starts with **18** cups.\n\n**Check:** 18 - 6 = 12; 12 - 2 = 10; 10 / 2 = 5", "18"),
        ("Total: 15 apples.\n\nVerification: 15 - 5 = 10", "15"),
    ],
)
def test_an_offer_or_a_check_after_the_answer_is_passed_over(answer: str, gold: str) -> None:
    assert grade(answer, gold).correct


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("Let me know 5", "5"),
        ("She pays $30.\n\nIf you need 2 of them she pays $60.", "60"),
        ("If you have 5 apples and 3 more, you have 8.", "8"),
        ("Let me know the price first: it is 4. So 3 of them cost 12.", "12"),
    ],
)
def test_words_of_an_offer_that_state_the_answer_are_read(answer: str, gold: str) -> None:
    assert grade(answer, gold).correct
