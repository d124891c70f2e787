"""The vLLM backend against vLLM itself, and against transformers over the same weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from resit.errors import ResitError, UsageError
from resit.models import LikelihoodModel, create
from resit.models.vllm.engine import AHEAD, _One, checked_extras
from resit.models.vllm.model import VllmModel
from resit.records import Generation, Message, Passage, Request, TokenLikelihoods

Ask = Callable[..., Request]
SLOTS, CONTEXT = 8, 1024

SHOTS = "".join(
    f"Q: Ana has {n} pens and buys {n + 1} more. How many pens has she?\n"
    f"A: {n} + {n + 1} = {2 * n + 1}. The answer is {2 * n + 1}.\n\n"
    for n in range(3, 8)
)
STORY = "Mara had seven pears. She gave two of them to her brother’s friend and ate one."


def question(number: int) -> str:
    return f"{SHOTS}Q: Tom has {number} nuts and eats two. How many has he left?\nA:"


def llm(model: VllmModel) -> Any:
    """vLLM's own object in the model."""
    driver = model._engine().driver
    assert isinstance(driver, _One)
    return driver.llm


@pytest.fixture(scope="session")
def plain(checkpoint: Path) -> Any:
    """The same weights in transformers."""
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()


def by_document(generations: Iterator[Generation]) -> dict[tuple[int, int], Generation]:
    return {(g.doc_id, g.repeat): g for g in generations}


def test_greedy_texts_are_transformers_own(model: VllmModel, plain: Any, ask: Ask) -> None:
    found = by_document(model.generate(ask(question(n), n, max_tokens=24) for n in range(3, 9)))
    tokens = model._tokens
    same = 0
    for number in range(3, 9):
        ids = torch.tensor([tokens.token_ids(question(number))])
        with torch.inference_mode():
            whole = plain.generate(ids, max_new_tokens=24, do_sample=False, pad_token_id=2)
        text = tokens.tokenizer.decode(whole[0, ids.shape[1] :], skip_special_tokens=True)
        same += text == found[number, 0].text
        assert found[number, 0].prompt_tokens == ids.shape[1]
    assert same >= 5  # one near tie may fall the other way


def test_each_sample_has_its_seed_and_can_be_drawn_again_alone(model: VllmModel, ask: Ask) -> None:
    sampling = {"max_tokens": 12, "temperature": 1.0}
    asked = [ask(question(4), 0, repeat, seed=1000 + 17 * repeat, **sampling) for repeat in range(12)]
    first = by_document(model.generate(asked))
    assert len({g.text for g in first.values()}) > 8
    alone = by_document(model.generate(reversed(asked[3:6])))
    assert {key: g.text for key, g in alone.items()} == {key: first[key].text for key in alone}
    assert {g.seed for g in first.values()} == {request.seed for request in asked}


def test_seeds_and_more_prompts_than_one_step_takes_go_together(model: VllmModel) -> None:
    import vllm

    budget = llm(model).llm_engine.vllm_config.scheduler_config.max_num_batched_tokens
    long = " ".join(f"{n} nuts and {n + 1} figs," for n in range(75))
    prompts = [list(model._tokens.token_ids(f"{n} times {long} how many?")) for n in range(SLOTS)]
    assert sum(map(len, prompts)) > budget > len(prompts[0]), "else none would be evaluated in part"
    params = [
        vllm.SamplingParams(max_tokens=3, temperature=1.0, seed=n, ignore_eos=True) for n in range(SLOTS)
    ]
    outputs = llm(model).generate([{"prompt_token_ids": ids} for ids in prompts], params, use_tqdm=False)
    assert [len(output.outputs[0].token_ids) for output in outputs] == [3] * SLOTS


def test_vllms_n_is_as_many_requests_with_seeds_one_apart(model: VllmModel, ask: Ask) -> None:
    """Why every sample is a request of its own: n is made into such requests, with seeds of vLLM's choice."""
    import vllm

    sampling = {"max_tokens": 12, "temperature": 1.0}
    params = vllm.SamplingParams(n=4, seed=500, **sampling)
    prompt = {"prompt_token_ids": list(model._tokens.token_ids(question(4)))}
    (output,) = llm(model).generate([prompt], params, use_tqdm=False)
    own = by_document(model.generate(ask(question(4), 0, n, seed=500 + n, **sampling) for n in range(4)))
    assert [found.text for found in output.outputs] == [own[0, n].text for n in range(4)]


def test_repeats_share_their_prompt_and_questions_their_exemplars(model: VllmModel, ask: Ask) -> None:
    shots = f"Once. {SHOTS}"  # nobody else's prefix
    prompts = [f"{shots}Q: Tom has {n} nuts.\nA:" for n in (4, 5)]
    size = len(model._tokens.token_ids(prompts[0]))
    found = list(
        model.generate(
            ask(prompt, n, r, seed=r, max_tokens=4, temperature=1.0)
            for n, prompt in enumerate(prompts)
            for r in range(4)
        )
    )
    cached = sorted(g.cached_tokens or 0 for g in found)
    assert cached[0] == 0
    assert all(count >= size - 64 for count in cached[1:])  # but for the last blocks of 32


def test_requests_are_pulled_as_places_become_free_and_yielded_as_they_finish(
    model: VllmModel, ask: Ask
) -> None:
    pulled = 0

    def requests() -> Iterator[Request]:
        nonlocal pulled
        for number in range(5 * SLOTS):
            pulled += 1
            yield ask(f"{number}, {number + 1},", number, max_tokens=1 + 3 * (number % 5))

    for yielded, generation in enumerate(model.generate(requests())):
        assert generation.error is None
        assert pulled - yielded <= AHEAD * SLOTS
        if yielded == 0:
            assert pulled == AHEAD * SLOTS
    assert (yielded, pulled) == (5 * SLOTS - 1, 5 * SLOTS)


def test_a_stream_that_is_left_frees_its_places(model: VllmModel, ask: Ask) -> None:
    stream = model.generate(ask(question(n), n, max_tokens=200) for n in range(20))
    short = ask("A word:", 99, max_tokens=1)
    stream.close()  # type: ignore[attr-defined]
    began = model.generate(ask(question(n), n, max_tokens=200 if n else 2) for n in range(20))
    next(began)
    began.close()  # type: ignore[attr-defined]
    assert not llm(model).llm_engine.has_unfinished_requests()
    assert next(model.generate([short])).error is None


def test_ends_are_told_apart(model: VllmModel, ask: Ask) -> None:
    turns = (Message("user", "Say only: yes"),)
    found = by_document(
        model.generate(
            [
                ask("One, two, three,", 0, max_tokens=3),
                ask(SHOTS + "Q: How many legs have two cats?\nA:", 1, max_tokens=60, stop=(".", "Q:")),
                ask(turns, 2, max_tokens=200),
            ]
        )
    )
    limit, stopped, ended = (found[n, 0] for n in range(3))
    assert (limit.finish_reason, limit.stop, limit.completion_tokens) == ("length", None, 3)
    assert (stopped.finish_reason, stopped.stop) == ("stop", ".")
    assert "." not in stopped.text
    assert (ended.finish_reason, ended.stop) == ("stop", None)


def test_what_does_not_fit_is_that_samples_error(model: VllmModel, ask: Ask) -> None:
    found = by_document(model.generate([ask("word " * 2000, 0), ask("", 1), ask("A word:", 2, max_tokens=2)]))
    count = len(model._tokens.token_ids("word " * 2000))
    assert found[0, 0].error == f"prompt too long: {count} tokens, the context has {CONTEXT}"
    assert "empty" in str(found[1, 0].error)
    assert found[2, 0].error is None


def test_settings_of_vllms_own_are_passed_on_and_others_refused(model: VllmModel, ask: Ask) -> None:
    extra = {"min_tokens": 20, "ignore_eos": True}
    (found,) = model.generate([ask("Say only: yes", max_tokens=20, extra=extra)])
    assert found.completion_tokens == 20
    with pytest.raises(UsageError, match=r"generation settings.*no_such"):
        list(model.generate([ask("x", extra={"no_such": 1})]))


def test_the_reasoning_is_taken_off_and_stops_count_after_it(
    beside: Callable[..., VllmModel], model: VllmModel, ask: Ask
) -> None:
    (whole,) = model.generate([ask(question(5), max_tokens=30)])
    tag = whole.text.split()[3]
    (found,) = beside(think_end_token=tag).generate([ask(question(5), max_tokens=30, stop=(whole.text[:2],))])
    place = whole.text.rfind(tag) + len(tag)
    assert found.reasoning == whole.text[:place]
    assert whole.text[place:].lstrip().startswith(found.text)


def test_what_is_shown_is_what_is_sent(model: VllmModel, beside: Callable[..., VllmModel], ask: Ask) -> None:
    turns = (Message("user", "Hi"), Message("assistant", "The answer is"))
    shown = model.encode(turns)
    assert shown.text.endswith("The answer is")
    assert shown.bos
    assert (shown.token_ids or ())[:2].count(1) == 1
    (found,) = model.generate([ask(turns, max_tokens=1)])
    assert found.prompt_tokens == len(shown.token_ids or ())
    with_bos = beside(add_bos_token="true")
    assert with_bos.encode("Hi").token_ids == (1, *(model.encode("Hi").token_ids or ()))
    assert with_bos.encode(turns).token_ids == shown.token_ids


def reference(model: VllmModel, plain: Any, passage: Passage) -> tuple[list[float], list[bool]]:
    """Log-probabilities of one plain forward pass."""
    ids, start, _ = model._tokens.divided(passage.context, passage.text)
    with torch.inference_mode():
        rows = plain(torch.tensor([ids])).logits[0].log_softmax(-1)
    places = range(start, len(ids))
    return [rows[i - 1, ids[i]].item() for i in places], [int(rows[i - 1].argmax()) == ids[i] for i in places]


def score(model: VllmModel, *passages: Passage) -> dict[str, TokenLikelihoods]:
    return {found.key: found for found in model.loglikelihoods(passages)}


def test_log_probabilities_are_those_of_a_plain_forward_pass(model: VllmModel, plain: Any) -> None:
    assert isinstance(model, LikelihoodModel)
    passages = [
        Passage("whole", STORY),
        Passage("after", " The answer is 5.", "Three and two are five."),
        Passage("within", "swer is 5.", f"{SHOTS}The an"),
        *(Passage(f"shared {n}", f" {n} - 2 = {n - 2}.", question(n)) for n in range(5, 8)),
        Passage("again", f" {5} - 2 = {3}.", question(5)),  # all of it is in the cache by now
        Passage("empty", ""),
        Passage("long", "word " * 2000),
    ]
    found = score(model, *passages)
    assert "no token" in str(found["empty"].error)
    assert "too long" in str(found["long"].error)
    for passage in passages[:-2]:
        values, greedy = reference(model, plain, passage)
        got = found[passage.key]
        assert got.logprobs == pytest.approx(values, abs=1e-3)
        assert list(got.greedy) == greedy
        assert "".join(got.pieces).endswith(passage.text.strip()[-3:])


def test_a_text_from_the_cache_is_evaluated_again(model: VllmModel, plain: Any) -> None:
    passage = Passage("k", STORY * 6, SHOTS)
    once, twice = score(model, passage)["k"], score(model, passage)["k"]
    assert once.logprobs == pytest.approx(twice.logprobs, abs=1e-4)
    assert once.logprobs == pytest.approx(reference(model, plain, passage)[0], abs=1e-3)


def test_engine_arguments_are_vllms_own_and_typed() -> None:
    given = {"block_size": "32", "enable_chunked_prefill": "true", "hf_overrides": '{"rope_theta": 5.0}'}
    typed = {"block_size": 32, "enable_chunked_prefill": True, "hf_overrides": {"rope_theta": 5.0}}
    assert checked_extras(given) == typed
    with pytest.raises(UsageError, match="no argument 'block_sise'; did you mean 'block_size'"):
        checked_extras({"block_sise": "16"})
    with pytest.raises(UsageError, match=r"block_size: .*found 'many'"):
        checked_extras({"block_size": "many"})
    with pytest.raises(UsageError, match="not JSON"):
        checked_extras({"hf_overrides": "{1"})


def test_lm_evals_arguments_are_understood(checkpoint: Path) -> None:
    notes: list[str] = []
    from resit.models import Setup

    lm_eval = {"swap_space": "4", "seed": "1234", "gpu_memory_utilization": "0.5", "max_length": "512"}
    more = {"tensor_parallel_size": "1", "data_parallel_size": "1", "quantization": "fp8", "revision": "main"}
    model = create("vllm", {"pretrained": str(checkpoint), **lm_eval, **more}, Setup(notify=notes.append))
    assert notes == ["model_args of 'vllm': seed, swap_space changes nothing here"]
    assert model.identity()["max_model_len"] == 512
    assert model.identity()["quantization"] == "fp8"


def test_the_identity_is_what_changes_texts(checkpoint: Path) -> None:
    def identity(**args: str) -> dict[str, Any]:
        return create("vllm", {"pretrained": str(checkpoint), **args}).identity()

    assert identity() == identity(max_num_seqs="4", tensor_parallel_size="2", max_num_batched_tokens="4096")
    for change in ({"dtype": "float32"}, {"kv_cache_dtype": "fp8"}, {"hf_overrides": '{"rope_theta": 5.0}'}):
        assert identity() != identity(**change)


def test_a_model_that_vllm_cannot_load_is_one_error(tmp_path: Path, checkpoint: Path, ask: Ask) -> None:
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((checkpoint / name).read_bytes())
    model = create("vllm", {"pretrained": str(tmp_path)})
    with pytest.raises(ResitError, match=r"model\.safetensors"):
        list(model.generate([ask("x")]))


def test_an_engine_that_dies_stops_the_run_after_what_is_finished(model: VllmModel, ask: Ask) -> None:
    """The last test with this engine: it kills it."""
    engine = model._engine().driver.watched.processes
    family = [psutil.Process(p.pid) for p in engine]
    family += [child for process in family for child in process.children(recursive=True)]
    assert family
    stream = model.generate(ask(question(n), n, max_tokens=300 if n else 1) for n in range(12))
    assert next(stream).error is None
    engine[0].kill()
    with pytest.raises(ResitError, match="engine has stopped"):
        list(stream)
    model.close()
    _, alive = psutil.wait_procs(family, 30)
    assert not alive
