"""How fast samples come from a server that is never the bottleneck.

    python benchmarks/client_throughput.py [--requests N] [--rounds N] [--memory N,N] [--million]

The server is a process of its own and answers at once; prompts have 2.4 KB, 64 are in flight. Side by side: a
bare aiohttp loop over the same requests, our client alone, our client with every sample journaled and
graded. Then the peak memory over 10,000, 100,000 (--million: 1,000,000) requests, each in a fresh process.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp
from _figures import at_most, more, record

from resit.grading.scoring import scorer
from resit.models import Setup, create
from resit.records import (
    Document,
    FilterChain,
    FilterStep,
    MetricSpec,
    Question,
    Request,
    Sampling,
    ScoringRules,
)
from resit.runs.journal import AppendFile, to_line

IN_FLIGHT = 64
PROMPT = (
    "Q: A farm has sixteen hens and each lays an egg a day. How many eggs are there in a week?\nA: " * 25
)[:2400]
SAMPLING = Sampling(max_tokens=256, stop=("Q:", "</s>", "<|im_end|>"))
REGEX = {"regex_pattern": "The answer is (\\-?[0-9\\.\\,]+)."}
RULES = ScoringRules(
    filters=(FilterChain("strict-match", (FilterStep("regex", REGEX), FilterStep("take_first"))),),
    metrics=(MetricSpec("exact_match"),),
)


@contextlib.contextmanager
def server(seconds: float = 0.0) -> Iterator[str]:
    """The base URL of a server in its own process."""
    script = Path(__file__).with_name("_instant_server.py")
    with subprocess.Popen(
        [sys.executable, script, str(seconds)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.terminate()


def requests(count: int) -> Iterator[Request]:
    """Requests with prompts that differ, made as they are pulled."""
    for number in range(count):
        document = Document(number, f"{number:064x}", {})
        yield Request(Question("t", document, f"{PROMPT}{number}\nA:", "18"), 0, SAMPLING, number)


async def bare(url: str, count: int) -> None:
    """The least that a client can do: send, receive, parse."""
    todo = iter(range(count))
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session:

        async def worker() -> None:
            for number in todo:
                body = {"model": "m", "prompt": f"{PROMPT}{number}\nA:", "max_tokens": 256, "temperature": 0,
                        "stop": SAMPLING.stop, "seed": number}  # fmt: skip
                async with session.post(f"{url}/completions", data=json.dumps(body).encode()) as response:
                    json.loads(await response.read())["choices"][0]["text"]

        await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))


def run_bare(url: str, count: int) -> float:
    """Seconds of the bare loop, on uvloop where it is installed."""
    began = time.perf_counter()
    try:
        import uvloop

        uvloop.run(bare(url, count))
    except ImportError:
        asyncio.run(bare(url, count))
    return time.perf_counter() - began


def run_client(url: str, count: int) -> float:
    """Seconds of our client, its answers thrown away."""
    began = time.perf_counter()
    with create("openai-completions", {"base_url": url, "model": "m"}, Setup(IN_FLIGHT)) as model:
        answered = sum(generation.error is None for generation in model.generate(requests(count)))
    assert answered == count
    return time.perf_counter() - began


def run_whole(url: str, count: int) -> float:
    """Seconds of our client with each sample journaled and graded as it comes."""
    questions: dict[int, Question] = {}

    def remembered() -> Iterator[Request]:
        for request in requests(count):
            questions[request.question.document.doc_id] = request.question
            yield request

    score = scorer(RULES)
    began, right = time.perf_counter(), 0.0
    with tempfile.TemporaryDirectory() as folder:
        journal = AppendFile(Path(folder) / "generations.jsonl")
        with create("openai-completions", {"base_url": url, "model": "m"}, Setup(IN_FLIGHT)) as model:
            for generation in model.generate(remembered()):
                journal.append(to_line(generation))
                scored = score(questions.pop(generation.doc_id), [generation])
                right += scored.metrics["exact_match,strict-match"]
        journal.close()
    assert right == count, f"{right} of {count} graded right"
    return time.perf_counter() - began


def peak_memory(count: int) -> float:
    """MiB at the peak of a fresh process that sends so many requests."""
    command = [sys.executable, __file__, "--requests", str(count), "--only-memory"]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--requests", type=int, default=20_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--memory", default="10000,100000", help="requests whose peak memory is looked at")
    options.add_argument("--million", action="store_true", help="a million as well")
    options.add_argument("--only-memory", action="store_true", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.only_memory:
        with server() as url:
            run_whole(url, asked.requests)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    with server() as url:
        fastest = {
            name: min(run(url, asked.requests) for _ in range(asked.rounds)) for name, run in RUNS.items()
        }
    bare_seconds = fastest[BARE]
    for name, seconds in fastest.items():
        rate, share = asked.requests / seconds, bare_seconds / seconds
        print(f"{name:42} {rate:7.0f} requests/s   {share:5.0%} of the bare loop")
        if name != BARE:
            bare_rate, least = asked.requests / bare_seconds, LEAST_SHARE if name == WHOLE else None
            record(more(f"requests a second, {name}", rate, "1/s", BARE, bare_rate, least))
    counts = [int(count) for count in asked.memory.split(",") if count]
    for count in [*counts, *([1_000_000] if asked.million else [])]:
        peak = peak_memory(count)
        print(f"peak memory over {count:9,} requests        {peak:7.0f} MiB", flush=True)
        record(at_most(f"peak memory over {count:,} requests", peak, "MiB", MOST_MIB))


BARE, WHOLE = "bare aiohttp loop", "resit's client, journaled and graded"
RUNS = {BARE: run_bare, "resit's client": run_client, WHOLE: run_whole}
LEAST_SHARE, MOST_MIB = 0.5, 250.0
"""What is wanted: of the bare loop's rate, journaling and grading included; of memory."""

if __name__ == "__main__":
    main()
