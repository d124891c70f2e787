"""Talking to a server of our own process: a connection for each request, all of them droppable."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from contextlib import suppress
from typing import Any


class Refused(Exception):
    """The server answered with an error object."""

    def __init__(self, status: int, error: dict[str, Any]) -> None:
        super().__init__(str(error.get("message") or error))
        self.status = status
        self.error = error


class Loopback:
    """Asks `http://host:port` from any number of threads, without a time limit.

    Connections are not kept: the server drops idle ones, and a new one costs less than 0.1 ms.
    """

    def __init__(self, address: str, key: str) -> None:
        self._host = address.removeprefix("http://").rstrip("/")
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        self._open: set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The JSON object that the server answers with. Raises Refused, or OSError when dropped."""
        data = None if body is None else json.dumps(body)
        connection = http.client.HTTPConnection(self._host)
        with self._lock:
            self._open.add(connection)
        try:
            connection.request(method, path, data, self._headers)
            response = connection.getresponse()
            answer = json.loads(response.read().decode("utf-8", "replace"))
        except (OSError, http.client.HTTPException) as error:
            raise OSError(f"the connection to llama.cpp ended ({error!r})") from error
        finally:
            with self._lock:
                self._open.discard(connection)
            connection.close()
        if response.status != http.client.OK or "error" in answer:
            raise Refused(response.status, answer.get("error", answer))
        return dict(answer)

    def drop(self) -> None:
        """End every connection; the server gives up what it was generating for them."""
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            with suppress(OSError, AttributeError):
                connection.sock.shutdown(socket.SHUT_RDWR)
