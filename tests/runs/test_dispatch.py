"""Units of work: how they are cut, and what becomes of those of lost workers."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resit.models.protocol import owed
from resit.records import Document, Question, Request, Sampling
from resit.runs.dispatch import ALONE, LONGEST, STRIKES, Dispatch, Key, cut, key_of


def asked(*tasks: tuple[str, int, int]) -> list[Request]:
    """Requests of tasks given as (name, questions, repeats)."""
    return [
        Request(Question(name, Document(doc, f"{name}-{doc}", {}), "?", "18"), repeat, Sampling(), repeat)
        for name, questions, repeats in tasks
        for doc in range(questions)
        for repeat in range(repeats)
    ]


@pytest.mark.parametrize(
    ("tasks", "size", "sizes"),
    [
        ([("a", 5, 1)], 2, [2, 2, 1]),
        ([("a", 5, 1), ("b", 2, 1)], 4, [4, 1, 2]),  # a unit has one task: one shared prefix
        ([("a", 3, 4)], 8, [8, 4]),
        ([("a", 3, 5)], 8, [5, 5, 5]),  # a question's repeats stay together
        ([("a", 2, 64)], 8, [64, 64]),
        ([("a", 1, 150)], 8, [LONGEST, LONGEST, 22]),
        ([("a", 1, 150)], 100, [100, 50]),
        ([], 8, []),
    ],
)
def test_units_follow_tasks_and_questions(
    tasks: list[tuple[str, int, int]], size: int, sizes: list[int]
) -> None:
    assert [len(unit) for unit in cut(asked(*tasks), size)] == sizes


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 6), st.integers(1, 90)), max_size=4),
    st.integers(1, 100),
)
def test_cutting_loses_and_reorders_nothing(tasks: list[tuple[str, int, int]], size: int) -> None:
    requests = asked(*tasks)
    units = list(cut(requests, size))
    assert [request for unit in units for request in unit] == requests
    assert all(len({request.question.task for request in unit}) == 1 for unit in units)
    assert all(len(unit) <= max(size, LONGEST) for unit in units)


def test_requests_are_pulled_no_further_than_one_unit_ahead() -> None:
    pulled = 0

    def counting() -> Iterator[Request]:
        nonlocal pulled
        for request in asked(("a", 1000, 1)):
            pulled += 1
            yield request

    dispatch = Dispatch(counting(), 8)
    dispatch.give(0)
    dispatch.give(1)
    assert not dispatch.dry()
    assert pulled <= 3 * 8 + 1  # a question is known to be complete when the next one comes


def finish(dispatch: Dispatch, worker: int, request: Request) -> bool:
    return dispatch.take(worker, owed(request, text="18"))


def test_what_a_lost_worker_had_finished_is_not_given_again() -> None:
    dispatch = Dispatch(asked(("a", 8, 1)), 4)
    first = dispatch.give(0)
    assert first is not None
    done = list(first.owed.values())[1]
    assert finish(dispatch, 0, done)
    assert dispatch.lost(0, "killed") == []
    again = dispatch.give(1)
    assert again is not None
    assert [request.question.document.doc_id for request in again.owed.values()] == [0, 2, 3]
    assert not finish(dispatch, 0, done), "the dead do not deliver"


def test_lost_units_come_first_and_in_order() -> None:
    dispatch = Dispatch(asked(("a", 12, 1)), 4)
    dispatch.give(0)
    dispatch.give(0)
    dispatch.lost(0, "killed")
    firsts = []
    for worker in range(3):
        unit = dispatch.give(worker)
        assert unit is not None
        firsts.append(next(iter(unit.owed.values())).question.document.doc_id)
    assert firsts == [0, 4, 8]


def test_a_unit_that_kills_is_told_from_its_company() -> None:
    """Document 2 kills every worker that has it; all others are finished."""
    dispatch = Dispatch(asked(("a", 12, 2)), 8)
    finished, aside, deaths = set(), [], 0
    while not dispatch.finished():
        unit = dispatch.give(0)
        while (more := dispatch.give(0)) is not None and deaths < 2:  # a worker often has several units
            pass
        assert unit is not None or more is not None
        mine = [] if unit is None else list(unit.owed.values())
        if any(request.question.document.doc_id == 2 for request in mine):
            deaths += 1
            aside += dispatch.lost(0, f"death {deaths}")
            continue
        for request in mine:
            assert finish(dispatch, 0, request)
            finished.add(key_of(request))
        if dispatch.held(0):
            dispatch.lost(0)
    assert deaths == STRIKES
    (unit,) = aside
    assert {key[1] for key in unit.owed} == {"a-2"}
    assert unit.reason == "death 3"
    assert len(finished) == 22


def test_suspects_wait_for_the_end_and_for_an_empty_worker() -> None:
    dispatch = Dispatch(asked(("a", 3, 1)), 1)
    for _ in range(ALONE):
        dispatch.give(0)
        dispatch.lost(0, "killed")
    ordinary = [dispatch.give(1), dispatch.give(1)]
    assert [next(iter(unit.owed))[1] for unit in ordinary if unit] == ["a-1", "a-2"]
    assert dispatch.dry()
    assert not dispatch.finished()
    assert dispatch.give(1) is None, "worker 1 still has ordinary work"
    suspect = dispatch.give(2)
    assert suspect is not None
    assert suspect.alone
    assert dispatch.give(2) is None


def test_a_worker_that_fails_without_dying_leaves_no_suspicion() -> None:
    dispatch = Dispatch(asked(("a", 1, 1)), 1)
    for worker in range(10):
        assert dispatch.give(worker) is not None
        assert dispatch.lost(worker) == []
    unit = dispatch.give(11)
    assert unit is not None
    assert unit.strikes == 0


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 6), st.sets(st.integers(0, 8), max_size=3))
def test_every_sample_is_finished_once_or_set_aside(
    seed: int, repeats: int, size: int, poison: set[int]
) -> None:
    chance = random.Random(seed)
    requests = asked(("a", 9, repeats), ("b", 4, repeats))
    dispatch = Dispatch(requests, size)
    done: list[Key] = []
    aside: list[Key] = []
    holding: dict[int, list[Request]] = {0: [], 1: [], 2: []}
    while not dispatch.finished():
        worker = chance.choice(sorted(holding))
        unit = dispatch.give(worker)
        mine = holding[worker]
        mine += unit.owed.values() if unit else []
        deadly = [request for request in mine if request.question.document.doc_id in poison]
        if deadly or (mine and chance.random() < 0.1):
            for lost in dispatch.lost(worker, "killed" if deadly else ""):
                aside += lost.owed
            mine.clear()
        elif mine:
            request = mine.pop(0)
            assert finish(dispatch, worker, request)
            done.append(key_of(request))
    assert sorted([*done, *aside]) == sorted(map(key_of, requests))
    assert all(int(doc_hash.split("-")[1]) in poison for _, doc_hash, _ in aside)
