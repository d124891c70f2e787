"""What users of other harnesses reported about servers, stops, templates and thoughts: a test a case.

The rows are read from the shared folder; `test_every_row_has_a_test` fails when one is added there.
"""

from __future__ import annotations

import ast
import asyncio
import itertools
import json
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from resit.errors import ResitError
from resit.grading import grade
from resit.models import Setup, create
from resit.models.doctor import examine
from resit.models.failures import Kind, Patience, of_error_body, of_status
from resit.models.openai import OpenAIModel
from resit.models.replies import read_reply
from resit.models.stops import cut, divide_reasoning
from resit.models.wire import prefill
from resit.records import Generation, Message, Request

Ask = Callable[..., Request]
Serve = Callable[..., Any]
MakeReply = Callable[..., dict[str, Any]]

AREAS = {"api-client", "chat-template", "stop-sequences", "tokenization", "reasoning-model-think-tags"}


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, dict[str, Any]]:
    lines = (shared / "cases" / "field_cases.jsonl").read_bytes().split(b"\n")
    rows = [json.loads(line) for line in lines if line.strip()]
    return {row["id"]: row for row in rows if row["area"] in AREAS}


ELSEWHERE = {
    "FC-CT-01": "prompts/test_chat_turns.py::test_exemplars_are_turns_of_their_own",
    "FC-CT-03": "prompts/test_chat_turns.py::test_a_prefill_ends_the_prompt_with_its_spaces_kept",
}
"""Rows that are tested, or tested too, where what they ask for is done; the test there names the row."""


def test_every_row_has_a_test(cases: dict[str, dict[str, Any]]) -> None:
    """A test of this file is named after the row and reads it, or one elsewhere names it."""
    bodies = {
        node.name: ast.unparse(node)
        for node in ast.parse(Path(__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    missing = []
    for row in cases:
        number = row.removeprefix("FC-").replace("-", "_").lower()
        here = [body for name, body in bodies.items() if number in name]
        if not here and row not in ELSEWHERE:
            missing.append(row)
        if here and not any(row in body or "cases[name]" in body for body in here):
            missing.append(f"{row} is not read by its test")
    assert missing == []
    assert len(cases) == 26


@pytest.mark.parametrize("row", ELSEWHERE)
def test_the_tests_elsewhere_are_there_and_name_their_row(row: str) -> None:
    file, _, name = ELSEWHERE[row].partition("::")
    tree = ast.parse((Path(__file__).parents[1] / file).read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    assert len(found) == 1
    assert row in (ast.get_docstring(found[0]) or "")


def collect(
    server: Any,
    requests: Iterable[Request],
    kind: str = "openai-completions",
    notes: list[str] | None = None,
    **args: Any,
) -> list[Generation]:
    setup = Setup(args.pop("concurrency", 4), (notes if notes is not None else []).append)
    with create(kind, {"base_url": server.url, "model": "m", **args}, setup) as model:
        model.patience = Patience(attempts=4, seconds=30, base=0.01, cap=0.2)  # type: ignore[attr-defined]
        return list(model.generate(requests))


def turns(lines: list[str]) -> tuple[Message, ...]:
    return tuple(Message(*line.split(":", 1)) for line in lines)  # type: ignore[arg-type]


def always(response: Callable[[dict[str, Any]], web.Response]) -> Callable[..., Any]:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        return response(body)

    return answer


def test_ct_03_a_prefill_that_ends_with_a_space(
    cases: dict[str, Any], serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    begun = turns(cases["FC-CT-03"]["input"]["messages"])
    assert prefill(begun) == "The total is "
    server = serve(always(lambda body: web.json_response(reply(body["messages"][-1]["content"] + "9."))))
    assert [a.text for a in collect(server, [ask(begun)], "openai-chat")] == ["9."]
    assert server.bodies[0]["messages"][-1]["content"] == "The total is "


def test_ct_04_a_template_that_refuses_a_role_is_found_before_the_run(
    cases: dict[str, Any], serve: Serve, ask: Ask
) -> None:
    asked = turns(cases["FC-CT-04"]["input"]["messages"])
    words = "System role not supported"
    server = serve(always(lambda body: web.json_response({"error": {"message": words}}, status=400)))
    with pytest.raises(ResitError, match=words):
        collect(server, (ask(asked, i) for i in range(1319)), "openai-chat")
    assert len(server.bodies) < 20


def test_stop_01_the_anchored_stop_string_keeps_the_answer(cases: dict[str, Any]) -> None:
    row = cases["FC-STOP-01"]
    text = row["input"]["model_text"]
    anchored = row["expected"]["recommended_stop"].encode().decode("unicode_escape")
    assert cut(text, [anchored]) == (text, None)
    assert grade(text, "52").correct
    left, stop = cut(text, row["input"]["stop"])
    assert stop == "Question", "it is on record, so that such samples can be counted"
    assert grade(left, "52").extracted != row["expected"]["answer"]


def test_stop_03_a_sample_that_a_blank_line_ended_says_so(
    cases: dict[str, Any], serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    row = cases["FC-STOP-03"]["input"]
    server = serve(always(lambda body: web.json_response(reply(row["model_text"]))))
    (answer,) = collect(server, [ask(stop=tuple(row["stop"]))])
    assert (answer.text, answer.stop) == ("First, 4 trays of 9 is 36.", "\n\n")


def test_stop_04_an_empty_list_means_no_stop_strings(
    cases: dict[str, Any], serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    row = cases["FC-STOP-04"]["input"]
    text = "one" + row["backend_default"][0] + "two"
    server = serve(always(lambda body: web.json_response(reply(text))))
    (answer,) = collect(server, [ask(stop=tuple(row["task_until"]))])
    assert answer.text == text
    assert "stop" not in server.bodies[0]


def test_stop_06_the_extra_field_is_kept_and_its_absence_tolerated(cases: dict[str, Any]) -> None:
    responses = cases["FC-STOP-06"]["input"]["responses"]
    found = [
        read_reply(200, {}, json.dumps({"choices": [{"text": "t", **response}]}).encode(), 9).choices[0].stop
        for response in [*responses, {"finish_reason": "stop"}]
    ]
    assert found == [None, "\nQ:", None]


def test_stop_07_a_left_over_fragment_disturbs_nothing(cases: dict[str, Any]) -> None:
    row = cases["FC-STOP-07"]
    text, stop = cut(row["input"]["response_text"], row["input"]["stop"])
    assert stop is None
    assert grade(text, row["expected"]["answer"]).correct


def test_api_01_a_rate_limit_is_waited_out(
    cases: dict[str, Any], serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    """The row's seconds are counted in requests here: one a second."""
    told = re.fullmatch(r"answers (\d+) for (\d+) s, then 200", cases["FC-API-01"]["input"]["server"])
    assert told is not None
    status, refused = int(told[1]), int(told[2])

    def answer(body: dict[str, Any]) -> web.Response:
        if len(server.bodies) <= refused:
            return web.json_response({"error": "slow down"}, status=status)
        return web.json_response(reply("x"))

    server = serve(always(answer))
    answers = collect(server, [ask(doc_id=i) for i in range(20)])
    assert [a.error for a in answers] == [None] * 20
    assert len(server.bodies) == 20 + refused, "it was asked again"


def test_api_03_a_tight_limit_never_shows_as_wrong_answers(
    cases: dict[str, Any], serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    items = cases["FC-API-03"]["input"]["items"]
    windows: dict[int, int] = {}

    def answer(body: dict[str, Any]) -> web.Response:
        window = int(time.monotonic() * 3)
        windows[window] = windows.get(window, 0) + 1
        if windows[window] > 10:
            return web.json_response({"error": "10 requests per window"}, status=429)
        return web.json_response(reply("x"))

    answers = collect(serve(always(answer)), [ask(doc_id=i) for i in range(items)], concurrency=None)
    assert len(answers) == items
    assert all(a.error is None and a.text == "x" for a in answers)


def test_api_04_queueing_does_not_count_as_waiting(
    cases: dict[str, Any], serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    count = cases["FC-API-04"]["input"]["requests"]

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        await asyncio.sleep(24 / count)  # six seconds in all
        return web.json_response(reply("x"))

    server = serve(answer)
    answers = collect(server, [ask(doc_id=i) for i in range(count)], concurrency=4, timeout=5.0)
    assert [a.error for a in answers] == [None] * count
    assert len(server.bodies) == count


def test_api_06_overflow_is_told_by_its_body_not_by_its_status(cases: dict[str, Any]) -> None:
    typed, plain = cases["FC-API-06"]["input"]["responses"]
    failures = [
        of_status(response["status"], {"error": response["error"]}, {}) for response in (typed, plain)
    ]
    assert [failure.kind for failure in failures] == [Kind.OVERFLOW, Kind.OVERFLOW]
    assert str(failures[0]) == "prompt too long: 5100 tokens, the context has 4096"


def test_api_07_an_error_under_status_200_is_that_error(
    cases: dict[str, Any], serve: Serve, ask: Ask
) -> None:
    response = cases["FC-API-07"]["input"]["response"]
    assert of_error_body(response["body"], {}).kind is Kind.OVERFLOW
    server = serve(always(lambda body: web.json_response(response["body"], status=response["status"])))
    (answer,) = collect(server, [ask()])
    assert answer.error == "prompt too long: too long"
    assert len(server.bodies) == 1


def test_api_09_prompts_cut_to_a_window_are_noticed(
    cases: dict[str, Any], serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    row = cases["FC-API-09"]["input"]
    ceiling, ours = row["response"]["usage"]["prompt_tokens"], row["request_prompt_tokens_by_client"]
    usage = {"prompt_tokens": ceiling}
    server = serve(always(lambda body: web.json_response(reply("x", usage=usage))))
    notes: list[str] = []
    collect(server, [ask("word " * (ours + 100 * i), i) for i in range(8)], notes=notes)
    assert [note for note in notes if "cut prompts" in note and str(ceiling) in note]


def probe(server: Any, name: str) -> Any:
    with create("openai-completions", {"base_url": server.url, "model": "m"}, Setup()) as model:
        assert isinstance(model, OpenAIModel)
        return next(found for found in examine(model.patients()[0], model.run, []) if found.probe == name)


def test_api_10_a_self_test_says_whether_the_seed_is_heard(
    cases: dict[str, Any], serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    asked = {name: cases["FC-API-10"]["input"]["request"][name] for name in ("seed", "temperature")}
    server = serve(always(lambda body: web.json_response(reply("x"))))
    collect(server, [ask(**asked)], "openai-chat")
    assert {name: server.bodies[0][name] for name in asked} == asked, "at the top level of the body"
    numbers = itertools.count()
    deaf = serve(always(lambda body: web.json_response(reply(f"text {next(numbers)}"))))
    assert (probe(deaf, "seed").value, probe(deaf, "seed").good) == ("ignored", False)


def test_api_12_greedy_texts_that_change_with_company_are_named(
    cases: dict[str, Any], serve: Serve, reply: MakeReply
) -> None:
    """How many answers flip between two runs is what `resit compare` shows."""
    temperature = cases["FC-API-12"]["input"]["temperature"]

    async def answer(request: web.Request, body: dict[str, Any]) -> web.Response:
        await asyncio.sleep(0.05)
        if body["temperature"] != temperature:
            return web.json_response(reply("drawn"))
        return web.json_response(reply(f"beside {min(server.in_flight, 2) - 1}"))

    server = serve(answer)
    found = probe(server, "greedy")
    assert not found.good
    assert "beside other requests" in found.says


def test_api_13_content_in_blocks_is_flattened_at_the_edge(cases: dict[str, Any]) -> None:
    row = cases["FC-API-13"]
    choice = {**row["input"]["response"], "finish_reason": "stop"}
    text = read_reply(200, {}, json.dumps({"choices": [choice]}).encode(), 9).choices[0].text
    assert text == row["expected"]["text"]
    assert grade(text, row["input"]["gold"]).correct


def test_api_15_a_stream_without_its_end_is_asked_again(
    cases: dict[str, Any], serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    event = cases["FC-API-15"]["input"]["stream"][0]
    calls = itertools.count()

    def answer(body: dict[str, Any]) -> web.Response:
        if next(calls) == 0:
            return web.Response(text=event + "\n\n", content_type="text/event-stream")
        return web.json_response(reply("40"))

    (found,) = collect(serve(always(answer)), [ask()])
    assert (found.text, found.error) == ("40", None)


def test_api_16_the_second_request_equals_the_first(
    cases: dict[str, Any], serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    first = cases["FC-API-16"]["input"]["first_request"]
    status = cases["FC-API-16"]["input"]["first_status"]
    calls = itertools.count()

    def answer(body: dict[str, Any]) -> web.Response:
        if next(calls) == 0:
            return web.json_response({"error": "busy"}, status=status)
        return web.json_response(reply("x"))

    server = serve(always(answer))
    collect(
        server, [ask(temperature=first["temperature"], max_tokens=first["max_tokens"], seed=first["seed"])]
    )
    assert len(server.raw) == 2
    assert server.raw[0] == server.raw[1]
    assert {name: server.bodies[1][name] for name in first} == first


def test_tok_01_one_begin_token(cases: dict[str, Any], tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="needs resit[server]")
    from resit.models.tokens import Tokens

    row = cases["FC-TOK-01"]
    wanted = row["expected"]["token_ids_start"]
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))
    made.add_special_tokens([*wanted, "<end>"])
    template = tokenizers.processors.TemplateProcessing
    made.post_processor = template(single="<bos> $A", special_tokens=[("<bos>", made.token_to_id("<bos>"))])
    made.save(str(tmp_path / "tokenizer.json"))
    encoding = Tokens(str(tmp_path), special=True).encode(row["input"]["rendered"])
    assert list(encoding.pieces or ())[:2] == wanted


def test_tok_03_a_repeating_loop_is_no_answer_and_counts_as_truncated(
    cases: dict[str, Any], serve: Serve, reply: MakeReply, ask: Ask
) -> None:
    row = cases["FC-TOK-03"]["input"]
    body = reply(row["response_text"], finish_reason=row["finish_reason"])
    (answer,) = collect(serve(always(lambda _: web.json_response(body))), [ask()])
    assert (answer.finish_reason, answer.error) == ("length", None)
    assert grade(answer.text, "18", finish_reason=answer.finish_reason).extracted is None


def test_think_01_the_thought_is_taken_off_and_an_unfinished_one_is_no_answer(cases: dict[str, Any]) -> None:
    row = cases["FC-THINK-01"]
    answers = [divide_reasoning(case["output"], "</think>")[1] for case in row["input"]["cases"]]
    golds = [case["gold"] for case in row["input"]["cases"]]
    verdicts = [grade(answer, gold) for answer, gold in zip(answers, golds, strict=True)]
    assert [bool(verdict.correct) for verdict in verdicts] == row["expected"]["correct"]


@pytest.mark.parametrize("name", ["FC-THINK-03", "FC-THINK-04"])
def test_think_03_and_think_04_thoughts_in_the_content(
    cases: dict[str, Any], serve: Serve, ask: Ask, name: str
) -> None:
    row = cases[name]
    server = serve(always(lambda body: web.json_response({"choices": [row["input"]["response"]]})))
    (answer,) = collect(server, [ask()], "openai-chat")
    correct = row["checks"][0]["correct"]
    assert (
        bool(grade(answer.text, row["input"]["gold"], finish_reason=answer.finish_reason).correct) is correct
    )
    (split,) = collect(server, [ask()], "openai-chat", think_end_token="</think>")
    assert bool(grade(split.text, row["input"]["gold"], finish_reason=split.finish_reason).correct) is correct


def test_think_06_the_reasoning_field_is_an_answer_only_by_explicit_policy(
    cases: dict[str, Any], serve: Serve, ask: Ask
) -> None:
    row = cases["FC-THINK-06"]["input"]
    server = serve(always(lambda body: web.json_response({"choices": [row["response"]]})))
    (kept,) = collect(server, [ask()], "openai-chat")
    assert (kept.text, kept.reasoning) == ("", "Sum it up. Final: 26")
    (taken,) = collect(server, [ask()], "openai-chat", reasoning_as_answer="true")
    assert grade(taken.text, row["gold"]).correct


def test_think_07_a_text_lost_by_the_server_is_a_failed_request(
    cases: dict[str, Any], serve: Serve, ask: Ask
) -> None:
    response = cases["FC-THINK-07"]["input"]["response"]
    usage = response.pop("usage")
    server = serve(always(lambda body: web.json_response({"choices": [response], "usage": usage})))
    (answer,) = collect(server, [ask()], "openai-chat")
    assert answer.error is not None
    assert len(server.bodies) == 4, "asked again a bounded number of times"
