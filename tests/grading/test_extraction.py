"""What a response states, where it stands, and why it was read or not."""

from __future__ import annotations

import pytest

from resit.grading import grade


@pytest.mark.parametrize(
    ("answer", "extracted", "reason"),
    [
        ("16 eggs are laid.\nExample: 2 for $4.\nThe answer is 18.", "18", "answer phrase"),
        ("16 eggs are laid.\nExample: 2 for $4.\nThe answer is 18", None, "truncated"),
        ("16 eggs are laid.\nExample: 2 for $4.\nSo she makes", "16", "last number stated"),
    ],
)
def test_a_marker_below_a_heading_of_its_own_that_was_cut_off(
    answer: str, extracted: str | None, reason: str
) -> None:
    verdict = grade(answer, "18", finish_reason="length")
    assert (verdict.extracted, verdict.reason) == (extracted, reason)


@pytest.mark.parametrize(
    ("answer", "gold", "extracted", "reason", "read_from"),
    [
        ("He leaves at 2:15 and arrives at 3:30 pm.", "3:30", "3:30 pm", "last time stated", "3:30 pm."),
        ("He leaves at 3:75.", "3:30", None, "no answer found", None),
        ("He leaves early.", "3:30", None, "no answer found", None),
        ("The answer is 3:30, not 4:00.", "3:30", "3:30", "answer phrase", "3:30"),
        ("The answer is late, at 3:75. So 3:30.", "3:30", "3:30", "last time stated", "3:30"),
        ("\\boxed{3:00}", "3", "3", "boxed", "3:00"),
        ("\\boxed{3：00}", "3", "3", "boxed", "3：00"),
        ("\\boxed{3:30}", "3", None, "boxed content is not a number", "3:30"),
        ("\\boxed{4!}", "24", "24", "boxed", "4!"),
        ("\\boxed{1 or 2}", "3", None, "boxed content is not a number", None),
        ("\\boxed{none} of 5. So 3.", "3", "3", "last number stated", "3"),
        ("<answer>so it is 3 apples in all</answer>", "3", "3", "tag", "3"),
        ("<answer>so it is 5. Then 6.", "6", "6", "last number stated", "6"),
        ("<answer>nothing</answer> but 3", "3", "3", "last number stated", "3"),
        ("The roots are 1 and 2", "2, 1", None, "no answer found", None),
        ("The answer is 1 and 2.", "2, 1", "1, 2", "answer phrase", "1 and 2"),
        ("We solve it.\nx = 1, 2", "2, 1", "1, 2", "last numbers stated", None),
        ("3 is odd.\n1, 2", "2, 1", "1, 2", "last numbers stated", "1, 2"),
        ("答案是三百二十。", "320", "320", "answer phrase", "三百二十"),
        ("答案是三三十。", "320", None, "no answer found", None),
        ("The answer is twelve.", "12", "12", "answer phrase", "twelve"),
        ("The answer is 3 + 4 = 7x.", "7", None, "an expression, not a number", None),
        ("The answer is 3 + 4 = 7.", "7", "7", "answer phrase", "7"),
        ("The answer is 3 + 4 = \\text{7} hats.", "7", "7", "answer phrase", "7"),
        ("The answer is 3 + 4.", "7", "7", "answer phrase", "3 + 4"),
        ("Antwort: 1.250", "2, 1", "1250", "answer phrase", "1.250"),
        ("<aaaaaaaaaaaaaaa answer>5</answer>", "5", "5", "last number stated", "5"),
        ("<aaaaaaaaaaaaaa answer>5</answer>", "5", "5", "tag", "5"),
        ("The answer is 3 + 4 = x.", "7", None, "a calculation without result", None),
        ("The answer is 3 + x.", "7", None, "a calculation without result", None),
        ("The answer is 5-6.", "5", None, "a range", None),
        ("The answer is 5 = 5.0.", "5", "5", "answer phrase", "5.0"),
        ("The answer is " + "1 = " * 39 + "1.", "1", "1", "answer phrase", "1"),
        ("The answer is " + "1 = " * 40 + "1.", "1", None, "a calculation without result", None),
        ("The answer is 6 or 6.0.", "6", "6", "answer phrase", "6"),
        ("The answer is 6 or 7.", "6", None, "several numbers", None),
        ("The answer is 2040 minutes or 34 hours.", "34", "34", "answer phrase", "34"),
        ("The answer is 4 blue and 6 red.", "6", None, "several numbers", None),
        ("The answer is 5 feet 6 inches.", "5", None, "several numbers", None),
        ("The answer is not 5. It is 6.", "6", "6", "last number stated", "6"),
        ("The answer is definitely not 5. It is 6.", "6", "6", "last number stated", "6"),
        ("The answer was not 5. It is 6.", "6", "6", "last number stated", "6"),
        ("The answer isn't 5. It is 6.", "6", "6", "last number stated", "6"),
        ("The answer, if Bob doesn't count, is 5. So 6 with him.", "5", "5", "answer phrase", "5"),
        ("The answer is daily 5 apples.", "5", "5", "answer phrase", "5"),
        ("The answer, not ours, is 5. So 6.", "6", "6", "last number stated", "6"),
        ("You can answer: 5. It is 6.", "6", "6", "last number stated", "6"),
        ("She boxed 5 hats. So 6.", "6", "6", "last number stated", "6"),
        ("\\boxed 5. So 6.", "5", "5", "boxed", "5"),
        ("\\boxed  {5} So 6.", "5", "5", "boxed", "5"),
        ("\\boxed{5\nSo 6.", "5", "5", "boxed", "5"),
        ("\\boxed{\\frac{1}{2}} So 6.", "0.5", "0.5", "boxed", "\\frac{1}{2}"),
        ("####\n5\nSo 6.", "5", "5", "####", "5"),
        ("###### 5", "5", "5", "####", "5"),
        ("#########\nThen came 5.", "5", "5", "last number stated", "5"),
        ("So 5." + "".join("\n" + "a" * n for n in range(1, 41)), "5", None, "no answer found", None),
        ("So 5." + "".join("\n" + "a" * n for n in range(1, 40)), "5", "5", "last number stated", "5"),
        ("It is 5. " + "<think>6</think>" * 21, "5", "5", "last number stated", "5"),
        ("\nQuestion: why?" * 51 + " So 5.", "5", "5", "last number stated", "5"),
        ("<answer>5", "5", "5", "tag", "5"),
        ("</answer>5 So 6.", "6", "6", "last number stated", "6"),
        ("**5** apples.", "5", "5", "bold", "5"),
        ("**all 5** of them, so 6.", "6", "6", "last number stated", "6"),
        ("The answer:\n\n5\n", "5", "5", "answer phrase", "5"),
        ("Die Antwort lautet 1.250.", "1250", "1250", "answer phrase", "1.250"),
        ("It is certainly not 5.", "5", None, "denied", None),
        ("I cannot determine it from 5.", "5", None, "refusal", None),
        ("Is it 5?", "5", None, "ends with a question", None),
        ("So it is 5 and again it is 5 and so on. " * 6, "5", None, "repetition", None),
        ("\nIt is 9.\n\nQuestion: next?\n#### 5", "9", "9", "last number stated", "9"),
        ("It is 5.\nNote: 6 were left.", "5", "5", "last number stated", "5"),
        ("She has twelve.", "12", "12", "last number stated", "twelve"),
        ("She has half.", "12", None, "no answer found", None),
        ("She has 12 (if 3 are lost).", "12", "12", "last number stated", "12"),
        ("She works 12 for 3 days.", "12", "12", "last number stated", "12"),
        ("Step 4: 12", "12", "12", "last number stated", "12"),
        ("3 + 4", "7", "7", "last number stated", "3 + 4"),
        ("So 3 + 4 = 7 and 8", "7", None, "several numbers", None),
        ("#### 1. First we add 3 and 4, so 7", "7", "7", "last number stated", "7"),
    ],
)
def test_where_and_why_it_was_read(
    answer: str, gold: str, extracted: str | None, reason: str, read_from: str | None
) -> None:
    verdict = grade(answer, gold)
    assert (verdict.extracted, verdict.reason) == (extracted, reason)
    if read_from is not None:
        assert verdict.span is not None
        assert answer[slice(*verdict.span)] == read_from
