"""Bytes over HTTP: artifacts, secrets, exports and backups. Each request has its own connection."""

from __future__ import annotations

import contextlib
import http.client
import io
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any
from urllib.parse import urlencode

from ._endpoint import Target
from ._error import BatonError
from ._json import decode
from ._link import authorization
from ._options import limit
from .errors import OutcomeUnknown, ProtocolError, Unreachable, from_problem

PIECE_BYTES = 256 << 10

Progress = Callable[[int, int | None], None]
"""Called with the bytes that were transferred, and how many there are if that is known."""

Source = bytes | bytearray | memoryview | IO[bytes]


class Http:
    """Requests of one agent in one workspace."""

    def __init__(self, target: Target, workspace: str, agent: str, stall_max: float) -> None:
        self._target = target
        self._workspace = workspace
        self._agent = agent
        self._stall_max = stall_max

    def open(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        body: Iterable[bytes] | bytes | None = None,
        length: int | None = None,
    ) -> http.client.HTTPResponse:
        """Sends a request, and returns its answer with the body still to be read.

        `path` is under `/v1/WORKSPACE/`, unless it begins with `/`.
        """
        target = self._target
        given = {name: value for name, value in (query or {}).items() if value is not None}
        where = path if path.startswith("/") else f"/v1/{self._workspace}/{path}"
        where += f"?{urlencode(given)}" if given else ""
        # One request a connection: the answer closes it.
        sent = {"Baton-Agent": self._agent, "Connection": "close", **(headers or {})}
        if target.token is not None:
            sent["Authorization"] = authorization(target.token)
        if length is not None:
            sent["Content-Length"] = str(length)
        elif body is not None and not isinstance(body, bytes):
            sent["Transfer-Encoding"] = "chunked"
        connection = self._connection()
        try:
            chunked = sent.get("Transfer-Encoding") == "chunked"
            # A server that refuses closes early; what it said can still be read.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, where, body, sent, encode_chunked=chunked)
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._failed(method, error) from None
        except BaseException:
            connection.close()
            raise
        if response.status >= 300:
            refused = _refused(response)
            connection.close()
            raise refused
        return response

    def _connection(self) -> http.client.HTTPConnection:
        address, tls = self._target.address, self._target.tls()
        stall_max = limit(self._stall_max)
        if tls is None:
            return http.client.HTTPConnection(address.host, address.port, timeout=stall_max)
        return http.client.HTTPSConnection(
            address.host, address.port, timeout=stall_max, context=tls
        )

    def _failed(self, method: str, error: Exception) -> BatonError:
        reason = str(error) or type(error).__name__
        if method == "GET" or isinstance(error, ConnectionRefusedError):
            return Unreachable(self._target.address.url, reason)
        return OutcomeUnknown(f"the connection broke: {reason}")

    def json(self, method: str, path: str, **how: Any) -> Any:
        """Sends a request whose answer is JSON."""
        with self.open(method, path, **how) as response:
            return decode(read_all(response))

    def read(self, method: str, path: str, **how: Any) -> bytes:
        """Sends a request whose answer is bytes."""
        with self.open(method, path, **how) as response:
            return read_all(response)


def read_all(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read()
    except (OSError, http.client.HTTPException) as error:
        raise ProtocolError(f"the answer ends early: {error}") from None


def _refused(response: http.client.HTTPResponse) -> BatonError:
    try:
        problem: Any = decode(response.read())
    except (ValueError, OSError, http.client.HTTPException):
        problem = None
    if isinstance(problem, dict) and "code" in problem:
        return from_problem(problem)  # pyright: ignore[reportUnknownArgumentType]
    return ProtocolError(f"it answers with status {response.status}")


def pieces(source: Source, progress: Progress | None) -> tuple[Iterator[bytes], int | None]:
    """The bytes of a source, in pieces, and how many there are if that is known."""
    file: IO[bytes]
    length: int | None
    if isinstance(source, (bytes, bytearray, memoryview)):
        length, file = len(source), io.BytesIO(source)
    else:
        file, length = source, _size(source)

    def read() -> Iterator[bytes]:
        done = 0
        while piece := file.read(PIECE_BYTES):
            yield piece
            done += len(piece)
            if progress is not None:
                progress(done, length)

    return read(), length


def _size(file: IO[bytes]) -> int | None:
    try:
        here = file.tell()
        end = file.seek(0, io.SEEK_END)
        file.seek(here)
    except (OSError, ValueError, AttributeError):
        return None
    return end - here


def copy(response: http.client.HTTPResponse, to: IO[bytes], progress: Progress | None) -> int:
    """Writes an answer to a file as it comes."""
    length = response.length
    done = 0
    try:
        while piece := response.read(PIECE_BYTES):
            to.write(piece)
            done += len(piece)
            if progress is not None:
                progress(done, length)
    except (http.client.HTTPException, OSError) as error:
        raise ProtocolError(f"the answer ends early: {error}") from None
    if length is not None and done < length:
        raise ProtocolError(f"the answer ends {length - done} bytes early")
    return done
