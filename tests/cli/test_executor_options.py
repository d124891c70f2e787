"""What `--executor`, `--workers`, `--resources` and `--address` refuse, before Ray is looked for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resit.errors import UsageError
from resit.models import Setup
from resit.runs.ray_executor import Cluster, recipe_of

Command = Callable[..., Any]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--executor", "dask"], "--executor: expected local or ray, found 'dask'"),
        (["--executor", "ray"], "--workers: expected a whole number above 0"),
        (["--executor", "ray", "--workers", 0], "--workers: expected a whole number above 0, found 0"),
        (["--executor", "ray", "--workers", -2], "found -2"),
        (["--workers", 2], "--workers says where Ray's workers run"),
        (["--address", "head:6379"], "--address says where Ray's workers run"),
        (["--resources", "gpu=1"], "--resources says where Ray's workers run"),
        (["--executor", "ray", "--workers", 2, "--resources", "gpu=many"], "gpu: expected a number"),
        (["--executor", "ray", "--workers", 2, "--resources", "gpu=-1"], "from 0 up, found -1"),
        (["--executor", "ray", "--workers", 2, "--resources", "cpu=1.5"], "Ray divides nothing above 1"),
        (["--executor", "ray", "--workers", 2, "--resources", "gpu"], "expected key=value"),
        (["--shard", "5/4"], "--shard: expected i/n with i from 1 to n, found '5/4'"),
    ],
)
def test_what_cannot_be_meant(command: Command, words: list[object], said: str, tmp_path: Path) -> None:
    refused = command("run", "-M", "scripted", "-t", "gsm8k", *words, "-o", tmp_path / "run")
    assert refused.status == 2
    assert said in refused.err
    assert not (tmp_path / "run").exists()


def test_what_a_worker_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert Cluster(workers=4).options() == {"num_cpus": 1.0, "resources": {}}
    assert Cluster(workers=32).options() == {"num_cpus": 0.25, "resources": {}}, "all of them on a laptop"
    assert Cluster("head:6379", 32).options()["num_cpus"] == 1.0
    asked = Cluster("head:6379", 2, {"gpu": 1, "cpu": 4, "tpu": 2, "memory": 10**9}).options()
    assert asked == {"num_gpus": 1, "num_cpus": 4, "memory": 10**9, "resources": {"tpu": 2}}


def test_the_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert Cluster().reached_at == "10.0.0.1:6379"
    assert Cluster("head:6379").reached_at == "head:6379"


def test_secrets_travel_by_name_only() -> None:
    header = {"header": {"Authorization": "Bearer 1234"}}
    with pytest.raises(UsageError, match="header would travel to the workers as plain text"):
        recipe_of("openai-chat", header, Setup())
    named = {"header": {"Authorization": "Bearer ${KEY}"}}
    with pytest.raises(UsageError, match="header"):
        recipe_of("openai-chat", named, Setup())  # outside a study nobody puts the value in
    assert recipe_of("openai-chat", named, Setup(), expand=True).args == named
    assert recipe_of("openai-chat", {"api_key_env": "KEY"}, Setup()).args == {"api_key_env": "KEY"}


def test_ray_is_loaded_by_nothing_but_a_run_that_wants_it() -> None:
    code = "import sys, resit.cli.launch, resit.runs.ray_executor; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
