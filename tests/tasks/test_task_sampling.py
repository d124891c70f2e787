"""`generation_kwargs` under all their names, and what the command line makes of them."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from resit import tasks
from resit.errors import UsageError
from resit.records import Sampling
from resit.tasks.sampling import sampling_of

GREEDY = {"do_sample": False, "until": ["Q:"]}


@pytest.mark.parametrize(
    ("task", "overrides", "expected"),
    [
        # a task without the key: greedy, 256 tokens, until the few-shot delimiter
        (None, {}, Sampling(256, ("\n\n",))),
        (None, {"until": ["Q:"]}, Sampling(256, ("Q:",))),
        ({}, {}, Sampling(256, ("\n\n",))),
        (GREEDY, {}, Sampling(256, ("Q:",))),
        # until: replaced whole, a string counts as one, an empty list stops at nothing
        (GREEDY, {"until": ["A", "B"]}, Sampling(256, ("A", "B"))),
        ({"until": "\n"}, {}, Sampling(256, ("\n",))),
        ({"until": []}, {}, Sampling(256)),
        ({"until": None}, {}, Sampling(256)),
        # the cap under its four names, the strongest first
        ({**GREEDY, "max_gen_toks": 512}, {}, Sampling(512, ("Q:",))),
        ({**GREEDY, "max_new_tokens": 5}, {}, Sampling(5, ("Q:",))),
        ({**GREEDY, "max_tokens": 6}, {}, Sampling(6, ("Q:",))),
        ({**GREEDY, "max_completion_tokens": 7}, {}, Sampling(7, ("Q:",))),
        ({**GREEDY, "max_completion_tokens": 7, "max_tokens": 6}, {}, Sampling(6, ("Q:",))),
        ({**GREEDY, "max_gen_toks": 512}, {"max_gen_toks": 9}, Sampling(9, ("Q:",))),
        ({**GREEDY, "max_gen_toks": 512}, {"max_new_tokens": 9}, Sampling(512, ("Q:",))),
        # sampling: do_sample false is greedy, true without a temperature is 1
        ({"do_sample": False, "temperature": 0.7, "until": []}, {}, Sampling()),
        ({"do_sample": True, "temperature": 0.2, "until": []}, {}, Sampling(temperature=0.2)),
        ({"do_sample": True, "until": []}, {}, Sampling(temperature=1.0)),
        ({"temperature": 0.3, "until": []}, {}, Sampling(temperature=0.3)),
        # the command line goes before the task: a temperature asked for is not ignored
        (GREEDY, {"temperature": 0.7}, Sampling(256, ("Q:",), 0.7)),
        (GREEDY, {"temperature": 0.7, "do_sample": False}, Sampling(256, ("Q:",))),
        (GREEDY, {"temperature": 0}, Sampling(256, ("Q:",))),
        # typed settings, and those that are the backend's own
        (
            {"until": []},
            {"top_p": 0.9, "top_k": 40, "min_p": "0.1", "repetition_penalty": 1},
            Sampling(top_p=0.9, top_k=40, min_p=0.1, repetition_penalty=1.0),
        ),
        ({"until": []}, {"min_tokens": 3, "foo": "x"}, Sampling(extra={"min_tokens": 3, "foo": "x"})),
    ],
)
def test_settings(task: dict[str, Any] | None, overrides: dict[str, Any], expected: Sampling) -> None:
    assert sampling_of(task, overrides, "\n\n", "t") == expected


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        # FC-CFG-01: a cap under a name that nobody reads is an error, not silence
        ({"max_gen_tokens": 512}, "'max_gen_tokens' is not known; did you mean 'max_gen_toks'?"),
        ({"temprature": 1}, "'temprature' is not known; did you mean 'temperature'?"),
        ({"top_pp": 1}, "did you mean 'top_p'?"),
        ({"max_gen_toks": "many"}, "max_gen_toks: expected a whole number, found 'many'"),
        ({"max_gen_toks": 1.5}, "max_gen_toks: expected a whole number, found 1.5"),
        ({"max_gen_toks": 0}, "must be at least 1, found 0"),
        ({"temperature": "hot"}, "temperature: expected a number, found 'hot'"),
        ({"temperature": float("nan")}, "temperature: expected a number, found nan"),
        ({"top_p": "inf"}, "top_p: expected a number, found 'inf'"),
        ({"temperature": True}, "temperature: expected a number, found True"),
        ({"foo": date(2024, 1, 1)}, "'foo': a date is no JSON value, found datetime.date"),
        ({"temperature": -1}, "temperature: expected 0 or more, found -1"),
        ({"do_sample": "maybe"}, "do_sample: expected true or false, found 'maybe'"),
        ({"until": [1]}, r"until: expected a string or a list of strings, found \[1\]"),
        ({"until": 5}, "until: expected a string or a list of strings, found 5"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused(overrides: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        sampling_of({}, overrides, "\n\n", "t")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gsm8k", Sampling(256, ("Question:", "</s>", "<|im_end|>"))),
        ("gsm8k_cot", Sampling(256, ("Q:", "</s>", "<|im_end|>"))),
        ("gsm8k_cot_zeroshot", Sampling(256, ("Q:", "</s>", "<|im_end|>"))),
        ("gsm8k_cot_self_consistency", Sampling(256, ("Q:", "\n\n"), 0.2)),
        (
            "gsm8k_cot_llama",
            Sampling(
                256, ("<|eot_id|>", "<|start_header_id|>user<|end_header_id|>", "Q:", "</s>", "<|im_end|>")
            ),
        ),
        ("gsm8k_0shot_gen", Sampling(1024)),
    ],
)
def test_sampling_of_the_catalogue(name: str, expected: Sampling) -> None:
    (task,) = tasks.load([name])
    assert task.sampling() == task.sampling({}) == expected
