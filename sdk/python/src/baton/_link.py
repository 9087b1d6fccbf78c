"""A WebSocket to a server, without I/O: bytes in, messages out, and the reverse."""

from __future__ import annotations

import contextlib
from typing import Any

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidHandshake, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import State
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from ._address import Address
from ._error import BatonError
from ._json import decode
from .errors import BadToken, ProtocolError, Unreachable, from_problem

SUB_PROTOCOL = Subprotocol("baton.v1.json")
WORKSPACE_HEADER = "Baton-Workspace"
"""In the request for a connection: the workspace that it is for."""
OWNER_HEADER = "Baton-Owner"
"""In the response: the server that owns it, if that is another."""


def authorization(token: str) -> str:
    """The header that shows a token."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise BadToken()
    return f"Bearer {token}"


class Link:
    """One WebSocket connection, from its handshake to its end."""

    def __init__(
        self,
        address: Address,
        token: str | None,
        frame_bytes_max: int,
        workspace: str | None = None,
    ) -> None:
        self._address = address
        self._socket = ClientProtocol(
            parse_uri(address.websocket_url),
            subprotocols=[SUB_PROTOCOL],
            max_size=frame_bytes_max,
        )
        request = self._socket.connect()
        if token is not None:
            request.headers["Authorization"] = authorization(token)
        if workspace is not None:
            request.headers[WORKSPACE_HEADER] = workspace
        self._socket.send_request(request)
        self._parts: list[bytes] = []
        self.owner: str | None = None
        """The URL of the server that owns the workspace, if that is another."""

    @property
    def is_open(self) -> bool:
        return self._socket.state is State.OPEN

    @property
    def is_connecting(self) -> bool:
        return self._socket.state is State.CONNECTING

    def outgoing(self) -> bytes:
        """The bytes to send now."""
        return b"".join(self._socket.data_to_send())

    def send(self, message: bytes) -> None:
        """Queues a text message."""
        self._socket.send_text(message)

    def ping(self) -> None:
        self._socket.send_ping(b"")

    def close(self) -> None:
        """Queues the end of the connection."""
        if self.is_open:
            self._socket.send_close(1000)

    def receive(self, data: bytes) -> list[bytes]:
        """Takes in bytes, and returns the messages that are complete."""
        self._socket.receive_data(data)
        return self._messages()

    def receive_end(self) -> None:
        """The other side has closed the connection."""
        # A handshake that was cut short is reported by `handshake_error`.
        with contextlib.suppress(EOFError):
            self._socket.receive_eof()

    def _messages(self) -> list[bytes]:
        messages: list[bytes] = []
        for event in self._socket.events_received():
            if isinstance(event, Response):
                self.owner = event.headers.get(OWNER_HEADER)
            if not isinstance(event, Frame):
                continue
            if event.opcode in (Opcode.TEXT, Opcode.CONT):
                self._parts.append(bytes(event.data))
                if event.fin:
                    messages.append(
                        self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
                    )
                    self._parts = []
            elif event.opcode is Opcode.BINARY:
                raise ProtocolError("the server sent a binary frame")
        return messages

    def handshake_error(self) -> BatonError | None:
        """Why the handshake failed; none if it did not."""
        error = self._socket.handshake_exc
        if error is None:
            return None
        if isinstance(error, InvalidStatus):
            return _refused(error.response)
        is_cut_short = isinstance(error, EOFError) or isinstance(error.__cause__, EOFError)
        if is_cut_short or not isinstance(error, InvalidHandshake):
            return Unreachable(self._address.url, f"the connection was closed: {error}")
        return ProtocolError(f"it does not speak WebSocket: {error}")

    def end_reason(self) -> str:
        """Why the connection ended, for people."""
        error = self._socket.parser_exc
        if error is not None and not isinstance(error, EOFError):
            return str(error)
        code = self._socket.close_code
        reason = self._socket.close_reason
        if code is None or code == 1006:
            return "the server closed the connection"
        return f"the server closed: {code} {reason or ''}".rstrip()

    def agreed(self) -> BatonError | None:
        """The error of a handshake that succeeded; none if there is none."""
        if self._socket.subprotocol != SUB_PROTOCOL:
            return ProtocolError(f"it does not speak `{SUB_PROTOCOL}`")
        return None


def _refused(response: Response) -> BatonError:
    try:
        problem: Any = decode(response.body or b"")
    except ValueError:
        problem = None
    if isinstance(problem, dict) and "code" in problem:
        return from_problem(problem)  # pyright: ignore[reportUnknownArgumentType]
    return ProtocolError(f"it answers with status {response.status_code}; is it a Baton server?")
