"""What the vLLM backend does around the engine, without vLLM: the engine is a list of ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from resit.errors import ResitError, UsageError
from resit.models import Setup
from resit.models.hf import source
from resit.models.hf.source import Source
from resit.models.vllm import Arguments
from resit.models.vllm.engine import Done, Job
from resit.models.vllm.model import VllmModel
from resit.records import Passage, Prompt, Request

Ask = Callable[..., Request]


@dataclass
class Words:
    """A tokenizer whose tokens are words, numbered by their length."""

    source: Source = field(default_factory=lambda: Source("pretrained=x"))
    template_args: dict[str, Any] = field(default_factory=dict)
    tokenizer: Any = field(default_factory=lambda: SimpleNamespace(all_special_tokens=["[/THINK]"]))
    calls: int = 0

    def token_ids(self, prompt: Prompt) -> tuple[int, ...]:
        self.calls += 1
        if not isinstance(prompt, str):
            raise UsageError("no chat here")
        return tuple(map(len, prompt.split()))

    def divided(self, context: str, text: str) -> tuple[tuple[int, ...], int, tuple[str, ...]]:
        before, pieces = context.split(), tuple(text.split())
        return (0, *map(len, before), *map(len, pieces)), 1 + len(before), pieces


@dataclass
class Ends:
    """An engine that ends each job as it is told; what it took from its cache comes with the end."""

    text: str = "a text"
    finish: str = "stop"
    stop: str | int | None = None
    cached: int = 0
    reads_cache: bool = True
    jobs: list[Job] = field(default_factory=list)

    def run(self, jobs: Iterable[Job]) -> Iterator[Done]:
        for job in jobs:
            self.jobs.append(job)
            yield Done(job, self._output(job), seconds=0.5) if job.token_ids else Done(job, error="empty")

    def _output(self, job: Job) -> Any:
        cached = 0 if job.params.get("skip_reading_prefix_cache") is not False else self.cached
        entries = [{token: SimpleNamespace(logprob=-token, rank=1 + token % 2)} for token in job.token_ids]
        written = SimpleNamespace(
            text=self.text, finish_reason=self.finish, stop_reason=self.stop, token_ids=[1, 2, 3]
        )
        return SimpleNamespace(
            outputs=[written], num_cached_tokens=cached, prompt_logprobs=[None, *entries[1:]]
        )


def model(ends: Ends, **args: Any) -> VllmModel:
    words: Any = Words()
    made = VllmModel(Arguments(pretrained="x", **args), {}, words.source, words, None, Setup())
    made._running = ends  # type: ignore[assignment]
    return made


@pytest.fixture
def small_identity(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """The identity of a model with engine arguments; its files have no say in it."""
    for name in ("weights_digest", "config_digest", "code_digest", "tokenizer_digest", "context_length"):
        monkeypatch.setattr(source, name, lambda *_: None)

    def identity(extras: dict[str, Any]) -> dict[str, Any]:
        words: Any = Words()
        return VllmModel(Arguments(pretrained="x"), extras, words.source, words, None, Setup()).identity()

    return identity


def test_no_key_is_identity(small_identity: Callable[..., dict[str, Any]]) -> None:
    bare = small_identity({"block_size": 16, "hf_overrides": {"a": 1}})
    assert small_identity({"hf_token": "hf_secret", "block_size": 16, "hf_overrides": {"a": 1}}) == bare
    assert bare["engine"] == {"hf_overrides": "{'a': 1}"}


def test_a_prompt_is_tokenised_once_for_all_its_repeats_and_each_has_its_seed(ask: Ask) -> None:
    ends = Ends()
    made = model(ends)
    question = ask("one two").question
    requests = [Request(question, n, ask("").sampling, 100 + 7 * n) for n in range(5)]
    found = list(made.generate(requests))
    assert made._tokens.calls == 1  # type: ignore[attr-defined]
    assert [job.params["seed"] for job in ends.jobs] == [100, 107, 114, 121, 128] == [g.seed for g in found]
    assert {(g.prompt_tokens, g.completion_tokens, g.seconds) for g in found} == {(2, 3, 0.5)}


def test_only_what_was_asked_for_is_sent(ask: Ask) -> None:
    ends = Ends()
    list(model(ends).generate([ask("x", top_k=5, stop=("Q:", ""), extra={"min_tokens": 2})]))
    sent = ends.jobs[0].params
    wanted = {"temperature": 0.0, "top_k": 5, "max_tokens": 256, "seed": 0, "stop": ["Q:"], "min_tokens": 2}
    assert sent == wanted


@pytest.mark.parametrize(
    ("ends", "args", "stops", "expected"),
    [
        (Ends("a text", "stop", "Q:"), {}, ("Q:",), ("a text", None, "stop", "Q:")),
        (Ends("a text", "stop", 2), {}, ("Q:",), ("a text", None, "stop", None)),
        (Ends("a text", "length"), {}, ("Q:",), ("a text", None, "length", None)),
        (Ends("a Q: text", "length"), {}, ("Q:",), ("a ", None, "stop", "Q:")),
        (Ends("Q: hm</t> an Q: x"), {"think_end_token": "</t>"}, ("Q:",), ("an ", "Q: hm</t>", "stop", "Q:")),
    ],
)
def test_ends(
    ends: Ends, args: dict[str, Any], stops: tuple[str, ...], expected: tuple[Any, ...], ask: Ask
) -> None:
    (found,) = model(ends, **args).generate([ask("x", stop=stops)])
    assert (found.text, found.reasoning, found.finish_reason, found.stop) == expected
    assert (ends.jobs[0].params.get("stop") is None) == bool(args)


def test_a_special_token_that_ends_the_reasoning_is_left_in_the_text(ask: Ask) -> None:
    ends = Ends("hm[/THINK] so")
    (found,) = model(ends, think_end_token="[/THINK]").generate([ask("x")])
    assert (found.reasoning, found.text) == ("hm[/THINK]", "so")
    assert ends.jobs[0].params["skip_special_tokens"] is False


def test_a_text_that_was_broken_off_is_an_error(ask: Ask) -> None:
    broken, empty = model(Ends(finish="abort")).generate([ask("x"), ask("")])
    assert "broke the text off (abort)" in str(broken.error)
    assert empty.error == "empty"


def test_what_concerns_every_request_is_raised_after_what_is_finished(ask: Ask) -> None:
    found = model(Ends()).generate([ask("x"), ask(()), ask("y")])
    assert next(found).error is None
    with pytest.raises(ResitError, match="no chat here"):
        next(found)


def test_passages() -> None:
    ends = Ends()
    passages = [Passage("a", "one three"), Passage("b", "four", "one two"), Passage("e", "")]
    found = {got.key: got for got in model(ends).loglikelihoods(passages)}
    assert found["a"].logprobs == (-3.0, -5.0)
    assert found["a"].greedy == (False, False)
    assert (found["b"].pieces, found["b"].logprobs, found["b"].greedy) == (("four",), (-4.0,), (True,))
    assert "no token" in str(found["e"].error)
    assert all(job.params["prompt_logprobs"] == 0 and job.params["max_tokens"] == 1 for job in ends.jobs)


@pytest.mark.parametrize(("cached", "asked"), [(64, 1), (101, 1), (102, 2)])
def test_what_the_cache_kept_back_is_evaluated_again(cached: int, asked: int) -> None:
    ends = Ends(cached=cached)
    passage = Passage("k", "word", "w " * 101)  # 102 tokens with BOS: the last predicts the first scored
    (found,) = model(ends).loglikelihoods([passage])
    assert found.logprobs == (-4.0,)
    assert len(ends.jobs) == asked
    assert ends.jobs[0].params["skip_reading_prefix_cache"] is False
    assert all("skip_reading_prefix_cache" not in job.params for job in ends.jobs[1:])


def test_short_contexts_and_old_engines_leave_the_cache_alone() -> None:
    for ends, context in ((Ends(), "w " * 20), (Ends(reads_cache=False), "w " * 200)):
        list(model(ends).loglikelihoods([Passage("k", "word", context)]))
        assert "skip_reading_prefix_cache" not in ends.jobs[0].params
