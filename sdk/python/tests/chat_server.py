"""A server that answers as an endpoint of the OpenAI chat completions API does, or otherwise."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

COMPLETION: dict[str, Any] = {
    "id": "x",
    "model": "small-1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Done."}}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
}


@dataclass
class Asked:
    """A request that was received."""

    path: str
    headers: dict[str, str]
    body: Any


class ChatServer:
    """A server during a `with` block.

    Args:
        status: The status of every response.
        body: The body: bytes, or a value as JSON.
        pause: How many seconds it takes until the response.
        location: Where it redirects to.
        drip: Sends the body byte by byte, with a pause after each, forever if it has to.
    """

    def __init__(
        self,
        body: Any = COMPLETION,
        *,
        status: int = 200,
        pause: float = 0,
        location: str | None = None,
        drip: bool = False,
    ) -> None:
        self.requests: list[Asked] = []
        self._body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._status = status
        self._pause = pause
        self._location = location
        self._drip = drip
        self._over = threading.Event()
        asked = self._asked

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked(self)

            def do_GET(self) -> None:
                asked(self)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # Its threads are waited for: none is left behind.
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def _asked(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length", 0))
        body = json.loads(handler.rfile.read(length) or b"null")
        self.requests.append(Asked(handler.path, dict(handler.headers.items()), body))
        self._over.wait(self._pause)
        try:
            handler.send_response(self._status)
            if self._location is not None:
                handler.send_header("Location", self._location)
            handler.send_header("Content-Length", str(len(self._body)))
            handler.end_headers()
            if not self._drip:
                handler.wfile.write(self._body)
                return
            while not self._over.wait(0.02):
                handler.wfile.write(b" ")
        except OSError:
            # No caller waits for it any more.
            pass

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
