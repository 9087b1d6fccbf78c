"""One request to a model and its response.

It is made in a thread of its own, so that the caller can give up at any time: when it
takes too long, when the lease of the task is lost, or when it is cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from ._error import BatonError
from ._json import decode, encode
from ._options import limit
from .errors import ModelError
from .model import Completion, Endpoint

ANSWER_BYTES_MAX = 16 << 20
"""How much of a response is read."""
DETAIL_CHARACTERS_MAX = 300
"""How much of an error response is reported."""


def _unreachable(reason: object) -> ModelError:
    return ModelError(f"the model could not be asked: {reason}")


def _odd(reason: object) -> ModelError:
    return ModelError(f"the endpoint answered otherwise than it should: {reason}")


class Exchange:
    """A request that is made during a `with` block."""

    def __init__(self, endpoint: Endpoint, instructions: str, context: str) -> None:
        self._endpoint = endpoint
        self._request = encode(
            {
                "model": endpoint.model,
                "messages": [
                    {"role": "system", "content": instructions},
                    {"role": "user", "content": context},
                ],
            }
        )
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_over = False
        self._outcome: Future[Completion] = Future()
        # From here on only this class settles it: it can no longer be cancelled.
        self._outcome.set_running_or_notify_cancel()

    def __enter__(self) -> Exchange:
        threading.Thread(target=self._run, name="baton-model", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._disconnect()

    def wait(self) -> Completion:
        """The completion. Blocks."""
        try:
            return self._outcome.result(limit(self._endpoint.timeout))
        except FutureTimeout:
            raise self._late() from None

    async def wait_async(self) -> Completion:
        """The completion."""
        try:
            waiting = asyncio.wrap_future(self._outcome)
            return await asyncio.wait_for(waiting, limit(self._endpoint.timeout))
        except asyncio.TimeoutError:
            raise self._late() from None

    def give_up(self, error: BatonError) -> None:
        """Ends the waiting with an error. Any thread may call this; it does not block."""
        self._settle(error)

    def _late(self) -> ModelError:
        return _unreachable(f"no response within {self._endpoint.timeout:g} s")

    def _settle(self, outcome: Completion | BatonError) -> None:
        with self._lock:
            if self._outcome.done():
                return
            if isinstance(outcome, Completion):
                self._outcome.set_result(outcome)
            else:
                self._outcome.set_exception(outcome)

    def _disconnect(self) -> None:
        """Ends the thread, wherever it reads or writes."""
        with self._lock:
            self._is_over = True
            connected = self._socket
        if connected is not None:
            # Not the method of `SSLSocket`, which other threads must not call during a read.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connected, socket.SHUT_RDWR)

    def _run(self) -> None:
        try:
            self._settle(self._ask())
        except ModelError as error:
            self._settle(error)
        except TimeoutError:
            self._settle(self._late())
        except Exception as error:
            self._settle(_unreachable(str(error) or type(error).__name__))

    def _ask(self) -> Completion:
        connection = self._endpoint.connection()
        try:
            connection.connect()
            with self._lock:
                self._socket = connection.sock
                if self._is_over:
                    raise _unreachable("it is no longer waited for")
            # An endpoint that refuses closes early; what it said can still be read.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                headers = self._endpoint.headers()
                connection.request("POST", self._endpoint.path, self._request, headers)
            status, body = _read(connection.getresponse())
        finally:
            connection.close()
        if not 200 <= status < 300:
            detail = body.decode(errors="replace")[:DETAIL_CHARACTERS_MAX]
            raise ModelError(f"the endpoint answered with status {status}: {detail}", status)
        return _completion(body, self._endpoint.model)


def _read(response: http.client.HTTPResponse) -> tuple[int, bytes]:
    with response:
        body = response.read(ANSWER_BYTES_MAX + 1)
    if len(body) > ANSWER_BYTES_MAX:
        raise _unreachable(f"the response has more than {ANSWER_BYTES_MAX} bytes")
    return response.status, body


def _completion(body: bytes, model: str) -> Completion:
    """The completion in a response."""
    try:
        answer: Any = decode(body)
        # Nothing may be in it that cannot be stored as a result.
        encode(answer)
    except (ValueError, RecursionError) as error:
        raise _odd(error.detail if isinstance(error, BatonError) else error) from None
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        text = None
    if not isinstance(text, str) or not text.strip():
        raise _odd("there is no text in it")
    named = answer.get("model")
    return Completion(text, named if isinstance(named, str) else model, answer.get("usage"))
