from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit.models.limiter import COOL_DOWN, HIGHEST, START, Limiter


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def fill(limiter: Limiter, share: float = 1.0) -> None:
    while limiter.in_flight < int(limiter.limit * share):
        limiter.sent()


def clean_round(limiter: Limiter, share: float = 1.0) -> None:
    for _ in range(int(limiter.limit)):
        fill(limiter, share)
        limiter.answered()


def test_slow_start_doubles_up_to_the_highest(clock: Clock) -> None:
    limiter = Limiter(clock=clock)
    limits = [limiter.limit]
    for _ in range(5):
        clean_round(limiter)
        limits.append(limiter.limit)
    assert limits == [START, 40, 80, HIGHEST, HIGHEST, HIGHEST]


def test_slots_that_were_not_used_prove_nothing(clock: Clock) -> None:
    limiter = Limiter(clock=clock)
    clean_round(limiter, share=0.75)
    clean_round(limiter, share=0.75)
    assert limiter.limit == START
    clean_round(limiter, share=0.8)
    assert limiter.limit == 2 * START


def test_retried_answers_and_other_errors_do_not_raise_it(clock: Clock) -> None:
    limiter = Limiter(clock=clock)
    for _ in range(10 * START):
        fill(limiter)
        limiter.answered(first_try=False)
    for _ in range(START - 1):
        fill(limiter)
        limiter.answered()
    fill(limiter)
    limiter.broke()
    for _ in range(START - 1):
        fill(limiter)
        limiter.answered()
    assert limiter.limit == START
    limiter.answered()
    assert limiter.limit == 2 * START


def test_a_refusal_halves_once_a_cool_down(clock: Clock) -> None:
    limiter = Limiter(clock=clock)
    fill(limiter)
    for _ in range(10):
        limiter.refused()
    assert limiter.limit == START / 2
    clock.now += COOL_DOWN
    limiter.refused()
    assert limiter.limit == START / 4


def test_after_a_refusal_it_grows_by_a_twentieth_and_not_before_the_cool_down_is_over(clock: Clock) -> None:
    limiter = Limiter(clock=clock)
    for _ in range(2):
        clean_round(limiter)
    fill(limiter)
    limiter.refused()
    assert limiter.limit == 40
    clean_round(limiter)
    assert limiter.limit == 40
    clock.now += COOL_DOWN
    clean_round(limiter)
    assert limiter.limit == 42
    for _ in range(200):
        clean_round(limiter)
    assert limiter.limit == HIGHEST


def test_nothing_is_sent_before_the_time_that_the_server_names(clock: Clock) -> None:
    limiter = Limiter(clock=clock)
    limiter.sent()
    limiter.refused(retry_after=30)
    assert (limiter.free(), limiter.pause()) == (0, 30)
    limiter.sent()
    limiter.refused(retry_after=5)
    assert limiter.pause() == 30, "a shorter wait does not shorten a longer one"
    clock.now += 29.5
    assert limiter.free() == 0
    clock.now += 0.5
    assert limiter.free() == START / 2


def test_a_long_retry_after_extends_the_cool_down(clock: Clock) -> None:
    limiter = Limiter(clock=clock)
    limiter.sent()
    limiter.refused(retry_after=60)
    clock.now += 50
    limiter.sent()
    limiter.refused()
    assert limiter.limit == START / 2


def test_it_never_falls_below_one(clock: Clock) -> None:
    limiter = Limiter(clock=clock)
    for _ in range(20):
        limiter.sent()
        limiter.refused()
        clock.now += COOL_DOWN
    assert limiter.limit == 1
    assert limiter.free() == 1


def test_a_fixed_limit_stays_but_pauses(clock: Clock) -> None:
    limiter = Limiter(7, clock)
    for _ in range(5):
        clean_round(limiter)
    while limiter.in_flight:
        limiter.answered()
    limiter.sent()
    limiter.refused(retry_after=2)
    assert (limiter.limit, limiter.free()) == (7, 0)
    clock.now += 2
    assert limiter.free() == 7


@given(st.lists(st.sampled_from(["sent", "answered", "refused", "broke", "wait"]), max_size=300))
def test_the_count_in_flight_is_exact_and_the_limit_within_its_range(steps: list[str]) -> None:
    clock = Clock()
    limiter, flying = Limiter(clock=clock), 0
    for step in steps:
        if step == "wait":
            clock.now += 4
        elif step == "sent" and limiter.free() > 0:
            limiter.sent()
            flying += 1
        elif step != "sent" and flying:
            getattr(limiter, step)()
            flying -= 1
        assert limiter.in_flight == flying
        assert 1 <= limiter.limit <= HIGHEST
