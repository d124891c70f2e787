from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from resit.records import Document, Generation, Message, Question, Request, Sampling
from resit.runs.parcels import pack_requests, pack_samples, unpack_requests, unpack_samples

TEXTS = st.text(st.characters(codec=None), max_size=20)  # lone surrogates too: models write them
PROMPTS = TEXTS | st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "assistant"]), TEXTS), min_size=1, max_size=3
).map(tuple)
QUESTIONS = st.builds(
    Question,
    st.sampled_from(["sums", "products"]),
    st.builds(Document, st.integers(0, 99), TEXTS, st.dictionaries(TEXTS, TEXTS | st.integers(), max_size=3)),
    PROMPTS,
    TEXTS | st.lists(TEXTS, min_size=1, max_size=2).map(tuple),
)
SAMPLINGS = st.builds(Sampling, max_tokens=st.integers(1, 9), extra=st.dictionaries(TEXTS, TEXTS, max_size=1))


@given(st.lists(st.tuples(QUESTIONS, SAMPLINGS, st.integers(1, 3)), max_size=4))
def test_requests_arrive_as_they_left(parts: list[tuple[Question, Sampling, int]]) -> None:
    requests = [
        Request(question, repeat, sampling, 7 * repeat)
        for question, sampling, repeats in parts
        for repeat in range(repeats)
    ]
    assert unpack_requests(pack_requests(requests)) == requests


def test_a_question_is_sent_once_for_all_its_repeats() -> None:
    question = Question("sums", Document(0, "h", {"question": "x" * 500}), "p" * 3000, "18")
    sampling = Sampling()
    one, many = (
        len(pack_requests(Request(question, repeat, sampling, 0) for repeat in range(repeats)))
        for repeats in (1, 64)
    )
    assert many < one + 64 * 20


@given(
    st.lists(
        st.builds(
            Generation,
            task=st.just("sums"),
            doc_id=st.integers(0, 9),
            doc_hash=TEXTS,
            repeat=st.integers(0, 9),
            seed=st.integers(0, 2**31 - 1),
            text=TEXTS,
            error=st.none() | TEXTS,
            seconds=st.none() | st.floats(0, 9),
        )
    )
)
def test_samples_arrive_as_they_left(samples: list[Generation]) -> None:
    assert unpack_samples(pack_samples(samples)) == samples
