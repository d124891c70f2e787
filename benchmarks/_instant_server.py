"""A completions server that answers at once, or after a fixed time: `_instant_server.py [SECONDS]`.

It prints its port. It speaks just enough HTTP to be faster than any client: keep-alive, Content-Length, `n`.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from typing import Any

TEXT = " There are 16 eggs and she uses 7 of them, so 16 - 7 = 9 are left. 9 * 2 = 18. The answer is 18."
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
SEVERAL = re.compile(rb'"n": ?(\d+)')


def response(texts: int) -> bytes:
    """A whole HTTP response with that many different choices."""
    choices = [{"index": i, "text": f"{TEXT}{' ' * i}", "finish_reason": "stop"} for i in range(texts)]
    usage = {"prompt_tokens": 700, "completion_tokens": 40 * texts}
    body = json.dumps(
        {"object": "text_completion", "model": "m", "choices": choices, "usage": usage}
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


ANSWERS = {n: response(n) for n in range(1, 65)}


class Connection(asyncio.Protocol):
    """One kept connection; requests come one after the other."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport  # uvloop's are no subclass of asyncio's

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        length = LENGTH.search(self.buffer, 0, head)
        size = head + 4 + (int(length[1]) if length else 0)
        if len(self.buffer) < size:
            return
        asked = SEVERAL.search(self.buffer, head, size)
        self.buffer = self.buffer[size:]
        answer = ANSWERS[int(asked[1]) if asked else 1]
        if self.seconds:
            asyncio.get_running_loop().call_later(self.seconds, self.transport.write, answer)
        else:
            self.transport.write(answer)


async def main() -> None:
    """Serve until killed."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(seconds), "127.0.0.1", 0, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        import uvloop

        uvloop.run(main())
    except ImportError:
        asyncio.run(main())
