"""One llama.cpp server for both programs, behind a door that writes down what each of them sends."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from resit.models.llama_server import Layout, LlamaServer

from .writing import installed

CONTEXT = 4096
EVALUATED = {"cache_ram_mib": 8192}
"""Memory for prompts that were evaluated: the second side's need not be again."""


def engine() -> str:
    """llama.cpp's package, its version, and the vector instructions that it was built with.

    Builds with other instructions add up in another order, so that a tie may fall to another token.
    """
    import xllamacpp  # here: only this kind of measurement needs it

    features = re.findall(r"(\w+) = 1", xllamacpp.get_system_info())
    vectors = [name for name in features if name.startswith(("AVX", "AMX", "NEON", "SVE"))]
    return " ".join([f"llama.cpp, xllamacpp {installed('xllamacpp')},", *vectors]).removesuffix(",")


class Door(ThreadingHTTPServer):
    """Passes every request on to a server and keeps the settings of each completion that was asked for."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: str, key: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind, self.key = address.removeprefix("http://").rstrip("/"), key
        self.sent: list[dict[str, Any]] = []

    @property
    def root(self) -> str:
        """The API root to give to a client."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def settings(self) -> dict[str, Any]:
        """What was sent since the last call beside prompt and model; a setting that varied is `varies`."""
        sent, self.sent = self.sent, []
        keys = {key: None for body in sent for key in body}
        values = {key: [body.get(key) for body in sent] for key in keys if key not in ("prompt", "model")}
        return {k: v[0] if all(other == v[0] for other in v) else "varies" for k, v in sorted(values.items())}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Door

    def do_GET(self) -> None:
        self._pass_on(None)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.endswith("/completions"):
            self.server.sent.append(json.loads(body))
        self._pass_on(body)

    def _pass_on(self, body: bytes | None) -> None:
        connection = http.client.HTTPConnection(self.server.behind)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.server.key}"}
        with contextlib.closing(connection):
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type") or "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # a client that no longer waits asks again
            self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def served(model: Path, slots: int, threads: int | None) -> Iterator[Door]:
    """A server with the model loaded, set so that greedy texts depend little on what else it is asked."""
    server = LlamaServer(Layout(model, slots, CONTEXT, threads=threads, more=EVALUATED))
    door = Door(server.address, server.key)
    worker = threading.Thread(target=door.serve_forever, daemon=True)
    worker.start()
    try:
        yield door
    finally:
        door.shutdown()
        door.server_close()
        server.close()
