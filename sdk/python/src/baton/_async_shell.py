"""The asyncio shell around the protocol core. It has no thread: everything happens in the loop.

Requests that are made in one turn of the loop are written together.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from ._batch import QueuedCall
from ._endpoint import Endpoint, Fixed, Target, is_of_this_server
from ._error import BatonError
from ._lease_scope import aborted_by_lost_leases
from ._link import Link
from ._operation import Operation
from ._options import Options, limit
from ._protocol import Protocol
from ._pulse import Beat, Pulse
from ._requests import Answer, Caller, Outcome
from ._watches import Item
from .errors import (
    Closed,
    Denied,
    Forked,
    LeaseLost,
    ProtocolError,
    TimedOut,
    Unreachable,
    WrongLoop,
)

_GOODBYE = 1.0


class _Connection(asyncio.Protocol):
    """A transport and the WebSocket on it."""

    def __init__(self, shell: AsyncShell, link: Link) -> None:
        self._shell = shell
        self.link = link
        self.transport: asyncio.Transport | None = None
        loop = asyncio.get_running_loop()
        self.shaken: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.is_paused = False
        self.pulse = Pulse(shell.options.silence_max, time.monotonic())
        self.is_suspect = False
        """The server fell silent, or cannot serve: another one is preferred."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.write()

    def write(self) -> None:
        data = self.link.outgoing()
        if data and self.transport is not None:
            self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        self.pulse.heard(time.monotonic())
        try:
            messages = self.link.receive(data)
        except ProtocolError as error:
            self.lose(error.detail)
            return
        if not self.shaken.done():
            error = self.link.handshake_error()
            if error is None and self.link.is_open:
                error = self.link.agreed()
            if error is not None:
                self.shaken.set_exception(error)
                self.close()
                return
            if self.link.is_open:
                self.shaken.set_result(None)
        self.write()
        if messages:
            self._shell.received(self, messages)
        if not self.link.is_open and not self.link.is_connecting:
            self.lose(self.link.end_reason())

    def eof_received(self) -> None:
        self.link.receive_end()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.shaken.done():
            reason = str(exc) if exc else "the connection was closed"
            error = self.link.handshake_error() or Unreachable(self._shell.url, reason)
            self.shaken.set_exception(error)
        if not self.ended.done():
            self.ended.set_result(None)
        self._shell.lost(self, str(exc) if exc else self.link.end_reason())

    def pause_writing(self) -> None:
        self.is_paused = True

    def resume_writing(self) -> None:
        self.is_paused = False
        self._shell.flush_soon()

    def lose(self, reason: str) -> None:
        self._shell.lost(self, reason)
        if self.transport is not None:
            self.transport.abort()

    def close(self) -> None:
        if self.transport is not None:
            self.link.close()
            self.write()
            self.transport.close()


class AsyncShell:
    """The connection of an asyncio client."""

    def __init__(self, endpoint: Endpoint, options: Options) -> None:
        self.endpoint = endpoint
        self.options = options
        self._loop = asyncio.get_running_loop()
        self._process = os.getpid()
        self._protocol = Protocol(endpoint.url, options, has_others=endpoint.has_others)
        self._connection: _Connection | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_flush_due = False
        self._redialing: asyncio.Task[None] | None = None
        self._flushed: asyncio.Future[None] | None = None
        self._failures = 0
        self._has_heard = False

    @property
    def url(self) -> str:
        return self.endpoint.url

    async def start(self) -> None:
        """Connects for the first time. If that fails, the error says why."""
        await self._connect()

    async def target(self) -> Target:
        """The address of the server, for requests over HTTP."""
        self._check_loop()
        if isinstance(self.endpoint, Fixed):
            return self.endpoint.target()
        return await asyncio.to_thread(self.endpoint.target)

    async def _connect(self) -> None:
        """Connects to the first server that accepts it; else the error is that of the first."""
        is_quick = isinstance(self.endpoint, Fixed)
        targets = self.endpoint.targets
        first: BatonError | None = None
        failed: list[Target] = []
        for target in targets() if is_quick else await asyncio.to_thread(targets):
            try:
                connection = await self._dial(target)
            except BatonError as error:
                if not is_of_this_server(error):
                    raise
                first = first or error
                failed.append(target)
            else:
                await self._prefer_owner(target, connection, failed)
                return
        assert first is not None
        raise first

    async def _prefer_owner(
        self, target: Target, connection: _Connection, failed: Sequence[Target]
    ) -> None:
        """Uses the owner of the workspace instead. If it cannot be reached, the connection that
        there is will do."""
        owner = self.endpoint.owner(connection.link.owner)
        if owner is not None and owner != target and owner not in failed:
            try:
                better = await self._dial(owner)
            except BatonError:
                if connection.ended.done():
                    raise
            except BaseException:
                self._discard(connection)
                raise
            else:
                self._discard(connection)
                target, connection = owner, better
        self._use(connection)
        self.endpoint.use(target)

    async def _dial(self, target: Target) -> _Connection:
        """Connects once, and shakes hands."""
        address, options = target.address, self.options
        link = Link(address, target.token, options.frame_bytes_max, target.workspace)
        connection = _Connection(self, link)
        tls = target.tls()
        host = address.host if tls is not None else None

        async def attempt() -> None:
            await self._loop.create_connection(
                lambda: connection, address.host, address.port, ssl=tls, server_hostname=host
            )
            await connection.shaken

        try:
            await asyncio.wait_for(attempt(), limit(options.connect_timeout))
        except asyncio.TimeoutError:
            self._discard(connection)
            raise Unreachable(
                address.url, f"no response within {options.connect_timeout:g} s"
            ) from None
        except OSError as error:
            self._discard(connection)
            if isinstance(error, BatonError):
                raise
            raise Unreachable(address.url, str(error) or type(error).__name__) from None
        except BaseException:
            self._discard(connection)
            raise
        return connection

    def _use(self, connection: _Connection) -> None:
        self._connection = connection
        self._has_heard = False
        self._protocol.connected()
        self._flush()

    def _discard(self, connection: _Connection) -> None:
        if connection.shaken.done() and not connection.shaken.cancelled():
            connection.shaken.exception()
        if connection.transport is not None:
            connection.transport.abort()

    # The calls that handles use.

    def _check_loop(self) -> None:
        if os.getpid() != self._process:
            raise Forked()
        if self._loop.is_closed():
            raise WrongLoop("its event loop is closed")
        if asyncio.get_running_loop() is not self._loop:
            raise WrongLoop("it belongs to another event loop")

    async def call(
        self,
        operation: Operation,
        fields: dict[str, Any],
        caller: Caller,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Makes a call and waits for its answer."""
        self._check_loop()
        allowed = limit(self.options.request_timeout if timeout is None else timeout)
        future: asyncio.Future[Any] = self._loop.create_future()

        def deliver(outcome: object) -> None:
            if not future.done():
                future.set_result(outcome)

        with aborted_by_lost_leases(deliver):
            request = self._protocol.call(
                operation, fields, caller, deliver, idempotency_key=idempotency_key
            )
            self.flush_soon()
            timer: asyncio.TimerHandle | None = None
            if allowed is not None:
                seconds = allowed + request.wait_ms / 1000
                timer = self._loop.call_later(
                    seconds, lambda: deliver(self._protocol.give_up(request, seconds))
                )
            try:
                outcome = await future
            except BaseException:
                self._protocol.give_up(request)
                raise
            finally:
                if timer is not None:
                    timer.cancel()
        if isinstance(outcome, BatonError):
            if isinstance(outcome, LeaseLost):
                self._protocol.give_up(request)
            raise outcome
        return outcome

    async def call_many(self, calls: Sequence[QueuedCall], caller: Caller) -> list[Outcome]:
        """Makes several calls, which are sent together, and waits for all of their outcomes."""
        making = (self.call(operation, fields, caller) for operation, fields in calls)
        outcomes = await asyncio.gather(*making, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException) and not isinstance(outcome, BatonError):
                raise outcome
        return cast("list[Outcome]", outcomes)

    async def watch(
        self, request: dict[str, Any], caller: Caller, start: int | None, snapshot: bool
    ) -> AsyncWatchHandle:
        """Begins a watch."""
        self._check_loop()
        handle = AsyncWatchHandle(self)
        begun: asyncio.Future[None] = self._loop.create_future()

        def on_begun(error: BatonError | None) -> None:
            if begun.done():
                return
            if error is None:
                begun.set_result(None)
            else:
                begun.set_exception(error)

        handle.number = self._protocol.watch(
            request, caller, on_begun, handle.ready, start=start, snapshot=snapshot
        )
        self.flush_soon()
        try:
            await asyncio.wait_for(begun, limit(self.options.request_timeout))
        except asyncio.TimeoutError:
            handle.close()
            raise TimedOut(self.options.request_timeout) from None
        except BaseException:
            handle.close()
            raise
        return handle

    def keep(
        self,
        what: str,
        operation: str,
        fields: dict[str, Any],
        caller: Caller,
        ttl: float,
        on_lost: Callable[[LeaseLost], None],
    ) -> Callable[[], None]:
        """Renews something in the background; calling the result ends that."""
        self._check_loop()
        now = time.monotonic()
        number = self._protocol.keep(what, operation, fields, caller, ttl, on_lost, now)
        self.flush_soon()
        return lambda: self._protocol.let_go(number)

    async def close(self) -> None:
        """Finishes what was begun and disconnects."""
        if self._loop.is_closed():
            self._protocol.over()
            return
        self._check_loop()
        self._protocol.close()
        self._flush()
        until = time.monotonic() + _GOODBYE
        # Closing waits a little for calls that are in flight.
        while (  # noqa: ASYNC110
            self._connection and not self._protocol.is_idle and time.monotonic() < until
        ):
            await asyncio.sleep(0.005)
        redialing, self._redialing = self._redialing, None
        if redialing is not None:
            redialing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await redialing
        if self._timer is not None:
            self._timer.cancel()
        connection, self._connection = self._connection, None
        self._protocol.over()
        self._run_deliveries()
        if connection is not None:
            connection.close()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.shield(connection.ended), _GOODBYE)

    # The functions that run in the loop.

    def flush_soon(self) -> None:
        """Sends what there is to send, once in this turn of the loop."""
        if not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flush_due = False
        now = time.monotonic()
        connection = self._connection
        if connection is not None and not connection.link.is_open:
            return
        if connection is not None:
            beat = connection.pulse.beat(now)
            if beat is Beat.GONE:
                connection.is_suspect = True
                connection.lose(connection.pulse.silence(now))
                return
            if beat is Beat.PING:
                connection.link.ping()
            if connection.is_paused:
                connection.write()
                self._wake_at(connection.pulse.due, now)
                return
        messages, due = self._protocol.outgoing(now)
        if self._flushed is not None and not self._flushed.done():
            self._flushed.set_result(None)
        if connection is not None:
            for message in messages:
                connection.link.send(message)
            connection.write()
        self._run_deliveries()
        if connection is not None:
            due = connection.pulse.due if due is None else min(due, connection.pulse.due)
        self._wake_at(due, now)

    def _wake_at(self, due: float | None, now: float) -> None:
        if self._timer is not None:
            if due is not None and abs(self._timer.when() - self._loop.time() - (due - now)) < 1e-3:
                return
            self._timer.cancel()
            self._timer = None
        if due is not None and not self._protocol.is_closed:
            self._timer = self._loop.call_later(max(due - now, 0), self._flush)

    def _run_deliveries(self) -> None:
        for deliver in self._protocol.deliveries():
            deliver()

    def received(self, connection: _Connection, messages: list[bytes]) -> None:
        if connection is not self._connection and self._connection is not None:
            return
        self._has_heard = True
        now = time.monotonic()
        try:
            for message in messages:
                self._protocol.received(message, now)
        except ProtocolError as error:
            connection.lose(error.detail)
            return
        self._run_deliveries()
        if self._protocol.refusals:
            connection.is_suspect = True
            connection.lose("the server cannot serve the workspace")
            return
        self.flush_soon()

    def lost(self, connection: _Connection, reason: str) -> None:
        if connection is not self._connection:
            return
        self._connection = None
        refusals = self._protocol.refusals
        self._protocol.broken(reason)
        self.endpoint.leave(connection.is_suspect)
        self._run_deliveries()
        self._failures = max(0 if self._has_heard else self._failures, refusals - 1)
        if not self._protocol.is_closed and self._redialing is None:
            self._redialing = self._loop.create_task(self._redial())

    async def _redial(self) -> None:
        """Connects again, with growing pauses."""
        while not self._protocol.is_closed:
            self._flush()  # lets leases expire
            await asyncio.sleep(self.options.backoff(self._failures, random.random()))
            self._failures += 1
            try:
                await self._connect()
            except Denied as error:
                self._protocol.denied(error, time.monotonic())
                self._run_deliveries()
                await self._until_wanted()
                continue
            except BatonError as error:
                self._protocol.broken(error.detail)
                self._run_deliveries()
                continue
            if self._connection is not None:
                self._redialing = None
                return

    async def _until_wanted(self) -> None:
        """Waits until something waits for a connection."""
        while not self._protocol.is_wanted and not self._protocol.is_closed:
            self._flushed = self._loop.create_future()
            await self._flushed

    # The calls that watches use.

    def poll(self, number: int) -> Item | BatonError | None:
        item, is_due = self._protocol.poll(number)
        if is_due:
            self.flush_soon()
        return item

    def resume_from(self, number: int) -> int:
        return self._protocol.resume_from(number)

    def leave_watch(self, number: int) -> None:
        self._protocol.leave_watch(number)
        if not self._loop.is_closed() and not self._protocol.is_closed:
            self.flush_soon()


class AsyncWatchHandle:
    """A watch of an asyncio client."""

    def __init__(self, shell: AsyncShell) -> None:
        self._shell = shell
        self._event = asyncio.Event()
        self.number = 0
        self._is_closed = False

    def ready(self) -> None:
        self._event.set()

    async def next(self, seconds: float | None) -> Item | None:
        """The next item, or nothing if none comes in time."""
        seconds = None if seconds is None else limit(seconds)
        while True:
            if self._is_closed:
                raise Closed()
            self._event.clear()
            item = self._shell.poll(self.number)
            if isinstance(item, BatonError):
                raise item
            if item is not None:
                return item
            if seconds is None:
                await self._event.wait()
                continue
            begun = time.monotonic()
            try:
                await asyncio.wait_for(self._event.wait(), max(seconds, 0))
            except asyncio.TimeoutError:
                return None
            seconds -= time.monotonic() - begun

    def resume_from(self) -> int:
        return self._shell.resume_from(self.number)

    def close(self) -> None:
        self._is_closed = True
        self._shell.leave_watch(self.number)
        self._event.set()
