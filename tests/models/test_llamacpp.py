"""The real model on real llama.cpp. A few tokens each: the whole file takes about a minute."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from resit.errors import AssetError, UsageError
from resit.models import Model, Setup, create
from resit.records import Message, Request

pytest.importorskip("xllamacpp", reason="needs resit[llamacpp]")

Ask = Callable[..., Request]

SHOTS = "".join(
    f"Q: Ana has {n} pens and buys {n + 1} more. How many pens has she?\n"
    f"A: {n} + {n + 1} = {2 * n + 1}. The answer is {2 * n + 1}.\n\n"
    for n in range(3, 8)
)
"""A few-shot prefix of our own, long enough to be shared between the slots."""


@pytest.fixture(scope="module")
def model(smollm2: Path) -> Iterator[Model]:
    with create("llamacpp", {"pretrained": str(smollm2), "n_ctx": "512"}, Setup(concurrency=4)) as loaded:
        yield loaded


def question(number: int) -> str:
    return f"{SHOTS}Q: Tom has {number} nuts and eats two. How many has he left?\nA:"


@pytest.mark.slow
def test_answers_with_counts_and_the_stop_string(model: Model, ask: Ask) -> None:
    request = ask(SHOTS + "Q: How many legs have two cats?\nA:", max_tokens=40, stop=(".", "Q:"))
    (answer,) = model.generate([request])
    assert answer.error is None
    assert (answer.finish_reason, answer.stop) == ("stop", ".")
    assert answer.text
    assert "." not in answer.text
    assert answer.prompt_tokens == len(model.encode(request.question.prompt).token_ids or ())
    assert answer.completion_tokens is not None
    assert 0 < answer.completion_tokens <= 40
    assert answer.seconds is not None
    assert answer.seconds > 0


@pytest.mark.slow
def test_the_token_limit_is_told_from_the_models_own_end(model: Model, ask: Ask) -> None:
    (cut,) = model.generate([ask("One, two, three,", max_tokens=3)])
    assert (cut.finish_reason, cut.stop, cut.completion_tokens) == ("length", None, 3)
    turns = (Message("user", "Say only: yes"),)
    (ended,) = model.generate([ask(turns, max_tokens=120)])
    assert (ended.finish_reason, ended.stop) == ("stop", None)


@pytest.mark.slow
def test_a_greedy_text_does_not_depend_on_its_company(model: Model, ask: Ask) -> None:
    requests = [ask(question(n), n, max_tokens=24, stop=("Q:",)) for n in range(6)]
    alone = {n: next(iter(model.generate([request]))).text for n, request in enumerate(requests)}
    for order in (requests, requests[::-1], requests[3:]):
        together = {answer.doc_id: answer.text for answer in model.generate(iter(order))}
        assert together == {n: alone[n] for n in together}
    assert len(set(alone.values())) > 1


@pytest.mark.slow
def test_the_shared_prefix_is_evaluated_once(smollm2: Path, ask: Ask) -> None:
    with create("llamacpp", {"pretrained": str(smollm2), "n_ctx": "512"}, Setup(concurrency=4)) as fresh:
        prefix = len(fresh.encode(SHOTS).token_ids or ())
        answers = list(fresh.generate(ask(question(n), n, max_tokens=2) for n in range(8)))
    assert all(answer.cached_tokens is not None for answer in answers)
    assert min(answer.cached_tokens or 0 for answer in answers) >= prefix - 2


@pytest.mark.slow
def test_seeds(model: Model, ask: Ask) -> None:
    def drawn(seed: int) -> str:
        request = ask("My favourite animal is", seed=seed, temperature=1.0, max_tokens=12)
        return next(iter(model.generate([request]))).text

    assert drawn(7) == drawn(7)
    assert len({drawn(seed) for seed in range(4)}) > 1


@pytest.mark.slow
def test_too_long_a_prompt_fails_alone_and_with_its_counts(model: Model, ask: Ask) -> None:
    requests = [ask("word " * 600, 0), ask("One, two,", 1, max_tokens=2)]
    long, short = sorted(model.generate(requests), key=lambda answer: answer.doc_id)
    assert short.error is None
    assert long.error == "prompt too long: 601 tokens, the context has 512"
    assert long.finish_reason == "error"


@pytest.mark.slow
def test_chat_goes_through_the_template_and_a_last_assistant_turn_is_continued(
    model: Model, ask: Ask
) -> None:
    asked = model.encode((Message("user", "How many?"),)).text
    assert asked.endswith("<|im_start|>user\nHow many?<|im_end|>\n<|im_start|>assistant\n")
    begun = (Message("user", "How many?"), Message("assistant", "The total is "))
    assert model.encode(begun).text == asked + "The total is "
    (answer,) = model.generate([ask(begun, max_tokens=4)])
    assert answer.error is None
    assert "The total is" not in answer.text


@pytest.mark.slow
def test_token_ids_are_shown_with_special_tokens_as_such(model: Model) -> None:
    encoding = model.encode((Message("user", "Hi"),))
    assert encoding.token_ids is not None
    assert encoding.pieces is not None
    assert encoding.pieces[0] == "<|im_start|>"
    assert "".join(encoding.pieces) == encoding.text
    assert encoding.token_ids[:1] != encoding.token_ids[1:2]


@pytest.mark.slow
def test_turns_that_the_template_refuses_stop_the_run(model: Model, ask: Ask) -> None:
    turns = (Message("user", "a"), Message("assistant", "b"), Message("assistant", "c"))
    with pytest.raises(UsageError, match="template refuses the turns user, assistant, assistant"):
        list(model.generate([ask(turns)]))


@pytest.mark.slow
def test_leaving_early_frees_the_slots_at_once(model: Model, ask: Ask) -> None:
    asked: list[int] = []

    def requests() -> Iterator[Request]:
        for n in range(20):
            asked.append(n)
            yield ask(f"Count: {n},", n, max_tokens=1 if n == 0 else 400)

    stream = model.generate(requests())
    next(stream)
    stream.close()
    assert len(asked) < 10, "what waited is not asked any more"
    (answer,) = model.generate([ask("One, two,", max_tokens=1)])
    assert answer.error is None


@pytest.mark.slow
def test_llama_cpp_is_silent_and_python_is_not_muted(
    smollm2: Path, ask: Ask, capfd: pytest.CaptureFixture[str]
) -> None:
    import sys

    with create("llamacpp", {"pretrained": str(smollm2), "n_ctx": "256"}, Setup(concurrency=1)) as loaded:
        stream = loaded.generate([ask("One,", max_tokens=1)])
        print("progress", file=sys.stderr)
        list(stream)
    assert capfd.readouterr() == ("", "progress\n")


@pytest.mark.slow
def test_a_file_that_llama_cpp_refuses(smollm2: Path, tmp_path: Path, ask: Ask) -> None:
    damaged = tmp_path / "damaged.gguf"
    shutil.copyfile(smollm2, damaged)
    with damaged.open("r+b") as stream:
        stream.truncate(damaged.stat().st_size - 512)  # within the last tensor
    with (
        create("llamacpp", {"pretrained": str(damaged)}) as model,
        pytest.raises(AssetError, match=r"damaged\.gguf"),
    ):
        list(model.generate([ask()]))


def test_identity_and_early_errors_need_no_weights(smollm2: Path) -> None:
    before = threading.active_count()
    model = create("llamacpp", {"pretrained": str(smollm2)}, Setup(concurrency=3))
    identity = model.identity()
    assert identity["sha256"] == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert identity["n_ctx"] == 4096
    assert identity == create("llamacpp", {"pretrained": str(smollm2)}, Setup(concurrency=8)).identity()
    assert identity != create("llamacpp", {"pretrained": str(smollm2), "n_ctx": "2048"}).identity()
    assert threading.active_count() == before
    with pytest.raises(UsageError, match="trained with a context of 8192"):
        create("llamacpp", {"pretrained": str(smollm2), "n_ctx": "9000"})


@pytest.mark.parametrize("name", ["no/such/file.gguf", "no-such-model"])
def test_a_missing_model(name: str) -> None:
    with pytest.raises(AssetError, match=name):
        create("llamacpp", {"pretrained": name})


@pytest.mark.slow
def test_repeats_of_a_question_evaluate_its_prompt_once(model: Model, ask: Ask) -> None:
    """Each question has exemplars of its own, as where a task redraws them."""
    requests = [
        ask(f"{number} is the number. {question(number)}", number, repeat, 7 * repeat, "own", **sampled)
        for number in (3, 4)
        for repeat in range(8)
        for sampled in [{"max_tokens": 6, "temperature": 1.0}]
    ]
    shared = {(g.doc_id, g.repeat): g for g in model.generate(requests)}
    size = max(g.prompt_tokens or 0 for g in shared.values())
    evaluated = [(g.prompt_tokens or 0) - (g.cached_tokens or 0) for g in shared.values()]
    assert sum(count > size // 2 for count in evaluated) == 0  # the copies, and the first one's own
    for request in (requests[5], requests[12]):
        (alone,) = model.generate([request])
        assert alone.text == shared[request.question.document.doc_id, request.repeat].text
