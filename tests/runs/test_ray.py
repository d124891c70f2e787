"""Runs on real Ray: a head and two nodes, each a raylet of its own, and drivers in processes of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("ray", reason="needs `pip install 'resit[ray]'`")

WORKERS, SLOTS = 4, 2
PATIENCE = 300.0
LLAMA = ("-M", "llamacpp", "-a", "pretrained=smollm2-135m,n_ctx=512,n_threads=1", "-b", str(SLOTS))


class Nodes:
    """A cluster of this test's own."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "object_store_memory": 80 * 2**20, "include_dashboard": False},
        )
        self.workers = [self.add() for _ in range(2)]

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self) -> Any:
        return self._cluster.add_node(num_cpus=2, object_store_memory=80 * 2**20)

    def remove(self, number: int) -> None:
        """Lose a node as a machine is lost."""
        self._cluster.remove_node(self.workers.pop(number), allow_graceful=False)

    def actors(self) -> list[int]:
        """Processes of the workers of Resit, on all nodes."""
        raylets = {node.all_processes["raylet"][0].process.pid for node in self.workers}
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                title = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if parent in raylets and title.startswith(b"ray::Actor"):
                found.append(int(entry.name))
        return found

    def close(self) -> None:
        self._cluster.shutdown()


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        cluster = Nodes()
        yield cluster
        cluster.close()


@pytest.fixture
def environment(model_cache: Path) -> dict[str, str]:
    return {**os.environ, "RESIT_CACHE": str(model_cache), "RAY_USAGE_STATS_ENABLED": "0"}


def ray_options(nodes: Nodes, workers: int = WORKERS) -> list[str]:
    return ["--executor", "ray", "--address", nodes.address, "--workers", str(workers)]


def resit(*words: object) -> list[str]:
    return [sys.executable, "-m", "resit", "run", *map(str, words)]


def done(words: Sequence[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def journal(folder: Path) -> list[bytes]:
    path = folder / "generations.jsonl"
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if line.endswith(b"\n")]


def until(condition: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        assert process is None or process.poll() is None, process and process.communicate()
        time.sleep(0.05)


def started(words: Sequence[str], environment: dict[str, str], log: Path) -> subprocess.Popen[str]:
    with log.open("w") as file:
        return subprocess.Popen(words, env=environment, stdout=file, stderr=subprocess.STDOUT, text=True)


def test_a_lost_worker_node_and_driver_lose_nothing_and_change_nothing(
    nodes: Nodes, exam: Callable[..., Path], environment: dict[str, str], tmp_path: Path
) -> None:
    questions = 32
    asked = [*LLAMA, "-t", exam(questions=questions, repeats=1), "--gen-kwargs", "max_gen_toks=24"]
    whole = done(resit(*asked, "-o", tmp_path / "whole"), environment)
    assert whole.returncode == 0, whole.stderr

    folder, log = tmp_path / "run", tmp_path / "log"
    words = resit(*asked, *ray_options(nodes), "-o", folder)
    driver = started(words, environment, log)
    until(lambda: len(journal(folder)) >= 4, driver)
    os.kill(nodes.actors()[0], signal.SIGKILL)
    until(lambda: "SIGKILL" in log.read_text() or "is lost" in log.read_text(), driver)
    seen = journal(folder)
    until(lambda: len(journal(folder)) >= len(seen) + 3, driver)
    nodes.remove(1)
    until(lambda: log.read_text().count("is lost") >= 2, driver)
    seen = journal(folder)
    until(lambda: len(journal(folder)) >= len(seen) + 3, driver)
    driver.kill()
    driver.wait()
    seen = journal(folder)
    assert len(seen) < questions, "the driver was to be killed while it worked"
    until(lambda: not nodes.actors())  # they end with their driver

    nodes.workers.append(nodes.add())
    rest = done(words, environment)
    assert rest.returncode == 0, rest.stderr
    lines = journal(folder)
    assert lines[: len(seen)] == seen, "what was finished stays as it was"
    finished = [json.loads(line) for line in lines]
    assert sorted(line["doc_id"] for line in finished) == list(range(questions)), "none is there twice"
    texts = {line["doc_id"]: line["text"] for line in finished}
    assert texts == {line["doc_id"]: line["text"] for line in map(json.loads, journal(tmp_path / "whole"))}
    assert [(tmp_path / run / "results.json").read_bytes() for run in ("run", "whole")] == [
        (tmp_path / "whole" / "results.json").read_bytes()
    ] * 2
    put_back = [int(count) for count in re.findall(r"; (\d+) samples go back", log.read_text())]
    assert len(put_back) >= 2, "a worker was killed, and a node with workers was removed"
    in_flight = 2 * SLOTS + 3 * SLOTS  # the model's, what waits for it, and a unit on its way
    assert max(put_back) <= in_flight


def test_a_question_that_crashes_workers_is_set_aside(
    nodes: Nodes, exam: Callable[..., Path], tmp_path: Path
) -> None:
    words = resit(
        "-M", "scripted", "-a", "text=#### {target},crash_docs=7", "-t", exam(questions=30, repeats=1)
    )
    run = done([*words, *ray_options(nodes, 2), "-o", str(tmp_path / "run")])
    assert run.returncode == 5, run.stderr
    lines = [json.loads(line) for line in journal(tmp_path / "run")]
    assert sorted(line["doc_id"] for line in lines) == list(range(30))
    (error,) = [line for line in lines if "error" in line]
    assert error["doc_id"] == 7
    assert error["error"].startswith("set aside: 3 workers died of it, the last one: ")
    assert "SIGSEGV" in error["error"]
    assert "1 of 30 samples errored" in run.stderr


def test_workers_that_always_crash_are_an_error_and_no_hang(
    nodes: Nodes, exam: Callable[..., Path], tmp_path: Path
) -> None:
    deadly = ";".join(map(str, range(50)))
    words = resit("-M", "scripted", "-a", f"crash_docs={deadly}", "-t", exam(questions=50, repeats=1))
    run = done([*words, *ray_options(nodes, 2), "-o", str(tmp_path / "run")])
    assert run.returncode == 1
    assert "SIGSEGV" in run.stderr
    assert "Traceback" not in run.stderr
    until(lambda: not nodes.actors())


def test_what_no_node_has_is_told(nodes: Nodes, exam: Callable[..., Path], tmp_path: Path) -> None:
    words = resit("-M", "scripted", "-t", exam(), "-o", tmp_path / "run")
    closed = done([*words, "--executor", "ray", "--workers", "1", "--address", "127.0.0.1:9"])
    assert closed.returncode == 2
    assert "no Ray cluster answers at 127.0.0.1:9" in closed.stderr
    missing = done(
        [*words, "--executor", "ray", "--workers", "1", "--resources", "quantum=1"],
        {**os.environ, "RAY_ADDRESS": ""},
    )
    assert missing.returncode == 2
    assert "a worker takes CPU=1, quantum=1, and no node has more than CPU=" in missing.stderr


def test_a_model_that_workers_cannot_have_is_told_in_its_own_words(
    nodes: Nodes, exam: Callable[..., Path], tmp_path: Path
) -> None:
    """The driver has the variable, the nodes have not."""
    study = tmp_path / "study.yaml"
    study.write_text(
        f"tasks: ['{exam(questions=3)}']\nexecutor: ray\naddress: '{nodes.address}'\nworkers: 2\n"
        "models: [{name: one, model: scripted, model_args: {text: '${ONLY_HERE}'}}]\n"
    )
    run = done(resit(study, "-o", tmp_path / "out"), {**os.environ, "ONLY_HERE": "a-secret-value"})
    assert run.returncode == 2
    assert "the environment variable ONLY_HERE is not set" in run.stderr
    assert "a-secret-value" not in run.stderr


def test_workers_stay_for_the_next_task_of_a_study(
    nodes: Nodes, exam: Callable[..., Path], tmp_path: Path
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        f"tasks: ['{exam('sums', 20)}', '{exam('more', 20)}']\nexecutor: ray\naddress: '{nodes.address}'\n"
        "workers: 1\nresources: {cpu: 0.5}\n"
        "models: [{name: one, model: scripted, model_args: {text: '#### {target}'}}]\n"
    )
    run = done(resit(study, "-o", tmp_path / "out"))
    assert run.returncode == 0, run.stderr
    assert run.stderr.count("loaded its model") == 1
    assert [len(journal(tmp_path / "out" / "one" / task)) for task in ("sums", "more")] == [40, 40]


@pytest.mark.parametrize("times", [1, 2])
def test_interrupts_end_the_workers(
    nodes: Nodes, exam: Callable[..., Path], tmp_path: Path, times: int
) -> None:
    folder, log = tmp_path / "run", tmp_path / "log"
    delay = 0.5 if times == 1 else 20.0
    first = exam("first", 8, 1)
    words = resit("-M", "scripted", "-a", f"delay={delay}", "-t", f"{first},{exam(questions=400)}", "-b", "4")
    driver = started([*words, *ray_options(nodes, 2), "-o", str(folder)], dict(os.environ), log)
    if times == 1:
        until(lambda: len(journal(folder)) >= 4, driver)
    else:
        until(lambda: log.read_text().count("loaded its model") == 2, driver)
    driver.send_signal(signal.SIGINT)
    until(lambda: "finishing what is in flight" in log.read_text(), driver)
    if times == 2:
        driver.send_signal(signal.SIGINT)
    assert driver.wait(PATIENCE) == 130
    until(lambda: not nodes.actors())
    lines = [json.loads(line) for line in journal(folder)]
    assert len(lines) == len({(line["task"], line["doc_id"], line["repeat"]) for line in lines}) < 800
    if times == 1:
        assert not [line for line in lines if "error" in line]
        assert len((folder / "prompts.jsonl").read_bytes().splitlines()) * 2 >= len(lines)


def test_two_drivers_on_one_folder(nodes: Nodes, exam: Callable[..., Path], tmp_path: Path) -> None:
    words = resit("-M", "scripted", "-a", "delay=20", "-t", exam(), "-o", tmp_path / "run")
    first = started([*words, *ray_options(nodes, 1)], dict(os.environ), tmp_path / "log")
    try:
        until(lambda: (tmp_path / "run" / ".writer.json").exists(), first)
        second = done([*words, *ray_options(nodes, 1)])
        assert second.returncode == 2
        assert "is being written by process" in second.stderr
    finally:
        first.kill()
        first.wait()


SCRIPT = Path(__file__).parents[2] / "benchmarks" / "ray_scaling.py"


def measured(*words: str) -> dict[str, Any]:
    """What the benchmark finds."""
    run = done([sys.executable, str(SCRIPT), *words, "--json"])
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout))


def test_a_million_samples_pass_the_driver_in_flat_memory() -> None:
    queue = measured("--workers", "", "--queue", "1000000")["queue"]
    assert (queue["samples"], len(queue["megabytes"])) == (1_000_000, 10)
    assert queue["megabytes"][-1] - queue["megabytes"][0] < 30


def test_every_worker_does_a_share_of_what_arrives() -> None:
    """How much the throughput grows depends on what else the machine does: the benchmark tells it."""
    one, eight = measured("--workers", "1,8", "--seconds", "1", "--queue", "1000")["scaling"]
    assert (one["workers"], eight["workers"]) == (1, 8)
    for row in (one, eight):
        assert len(row["shares"]) == row["workers"]
        assert min(row["shares"]) > 0
        assert sum(row["shares"]) >= row["samples"] > 0
        assert row["per_second"] > 0
        assert row["driver_us"] > 0
    assert eight["efficiency"] == pytest.approx(eight["per_second"] / 8 / one["per_second"])
