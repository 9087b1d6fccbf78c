"""The blocking shell: one thread that owns the socket, around the protocol core.

    caller ── lock ──▶ Protocol ──▶ socket        a caller writes too, if the socket takes it
    caller ◀── slot ◀── Protocol ◀── socket ◀── thread `baton-io`: reads, connects again, renews

1. The socket never blocks, and is read and written under one lock: TLS needs that.
2. Nothing is run under the lock but the core and a write that does not block.
3. The thread ends with `close`, with the last handle, and with the process. A forked child has no
   thread: there every call fails.
"""

from __future__ import annotations

import contextlib
import os
import random
import selectors
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ._batch import QueuedCall
from ._endpoint import Endpoint, Target, is_of_this_server
from ._error import BatonError
from ._lease_scope import aborted_by_lost_leases
from ._link import Link
from ._operation import Operation
from ._options import Options, limit
from ._protocol import Protocol
from ._pulse import Beat, Pulse
from ._requests import Answer, Caller, Outcome, Request
from ._watches import Item
from .errors import Closed, Denied, Forked, LeaseLost, ProtocolError, Unreachable

_READ_BYTES = 256 << 10
_GOODBYE = 1.0
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

_shells: weakref.WeakSet[SyncShell] = weakref.WeakSet()


class Slot:
    """A slot in which one outcome is awaited. The first delivery counts."""

    __slots__ = ("_gate", "outcome")

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._gate.acquire()
        self.outcome: Any = None

    def deliver(self, outcome: Any) -> None:
        if self.outcome is None:
            self.outcome = outcome
            with contextlib.suppress(RuntimeError):
                self._gate.release()

    def wait(self, seconds: float | None) -> bool:
        left = None if seconds is None else limit(seconds)
        return self._gate.acquire(timeout=-1 if left is None else max(left, 0))


class _Connection:
    """A socket and the WebSocket on it."""

    def __init__(self, sock: socket.socket, link: Link) -> None:
        self.sock = sock
        self.link = link
        self.unsent = bytearray()
        self.is_suspect = False
        """The server fell silent, or cannot serve: another one is preferred."""

    def write(self) -> None:
        """Writes what the socket takes without blocking."""
        data = self.link.outgoing()
        if data:
            self.unsent += data
        while self.unsent:
            try:
                count = self.sock.send(self.unsent)
            except _WOULD_BLOCK:
                return
            del self.unsent[:count]

    def read(self) -> tuple[list[bytes], bool]:
        """The messages that have come, and whether the other side has closed."""
        messages: list[bytes] = []
        while True:
            try:
                data = self.sock.recv(_READ_BYTES)
            except _WOULD_BLOCK:
                return messages, False
            if not data:
                self.link.receive_end()
                return messages, True
            messages += self.link.receive(data)
            if not self.link.is_open:
                return messages, True
            if len(data) < _READ_BYTES and not isinstance(self.sock, ssl.SSLSocket):
                return messages, False


def dial(target: Target, options: Options) -> _Connection:
    """Connects once, and shakes hands."""
    address = target.address
    deadline = time.monotonic() + options.connect_timeout
    try:
        sock = socket.create_connection(
            (address.host, address.port), limit(options.connect_timeout)
        )
    except OSError as error:
        raise Unreachable(address.url, str(error) or type(error).__name__) from None
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tls = target.tls()
        if tls is not None:
            sock = tls.wrap_socket(sock, server_hostname=address.host)
        link = Link(address, target.token, options.frame_bytes_max, target.workspace)
        _shake_hands(sock, link, deadline)
        error = link.handshake_error() or link.agreed()
        if error is not None:
            raise error
        sock.setblocking(False)
        return _Connection(sock, link)
    except ssl.SSLError as error:
        sock.close()
        raise Unreachable(address.url, f"TLS: {error}") from None
    except OSError as error:
        sock.close()
        if isinstance(error, BatonError):
            raise
        raise Unreachable(address.url, str(error) or type(error).__name__) from None
    except BaseException:
        sock.close()
        raise


def dial_any(endpoint: Endpoint, options: Options) -> _Connection:
    """Connects to the first server that accepts it; else the error is that of the first."""
    first: BatonError | None = None
    failed: list[Target] = []
    for target in endpoint.targets():
        try:
            connection = dial(target, options)
        except BatonError as error:
            if not is_of_this_server(error):
                raise
            first = first or error
            failed.append(target)
        else:
            return _prefer_owner(endpoint, options, target, connection, failed)
    assert first is not None
    raise first


def _prefer_owner(
    endpoint: Endpoint,
    options: Options,
    target: Target,
    connection: _Connection,
    failed: Sequence[Target],
) -> _Connection:
    """Connects to the owner of the workspace instead. If it cannot be reached, the connection that
    there is will do."""
    owner = endpoint.owner(connection.link.owner)
    if owner is not None and owner != target and owner not in failed:
        with contextlib.suppress(BatonError):
            better = dial(owner, options)
            connection.sock.close()
            target, connection = owner, better
    endpoint.use(target)
    return connection


def _shake_hands(sock: socket.socket, link: Link, deadline: float) -> None:
    sock.sendall(link.outgoing())
    while link.is_connecting and link.handshake_error() is None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no response to the handshake in time")
        sock.settimeout(limit(left))
        data = sock.recv(1 << 16)
        if data:
            link.receive(data)
        else:
            link.receive_end()
            return


class SyncShell:
    """The connection of a blocking client."""

    def __init__(self, endpoint: Endpoint, options: Options) -> None:
        self.endpoint = endpoint
        self.options = options
        self._lock = threading.Lock()
        self._protocol = Protocol(endpoint.url, options, has_others=endpoint.has_others)
        self._is_forked = False
        self._is_abandoned = False
        self._sleeping_until: float = 0.0
        self._is_resting = False
        """The thread connects again when something waits for a connection."""
        self._connection: _Connection | None = dial_any(endpoint, options)
        self._protocol.connected()
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_read.setblocking(False)
        self._wake_write.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="baton-io", daemon=True)
        _shells.add(self)
        self._thread.start()

    @property
    def url(self) -> str:
        return self.endpoint.url

    def target(self) -> Target:
        """The address of the server, for requests over HTTP."""
        self._check_process()
        return self.endpoint.target()

    # The calls that handles use.

    def call(
        self,
        operation: Operation,
        fields: dict[str, Any],
        caller: Caller,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Makes a call and waits for its answer."""
        self._check_process()
        slot = Slot()
        with aborted_by_lost_leases(slot.deliver):
            with self._lock:
                request = self._protocol.call(
                    operation, fields, caller, slot.deliver, idempotency_key=idempotency_key
                )
                self._flush()
            seconds = (self.options.request_timeout if timeout is None else timeout) + (
                request.wait_ms / 1000
            )
            outcome = self._outcome(request, slot, seconds, seconds)
        if isinstance(outcome, BatonError):
            raise outcome
        return outcome

    def call_many(self, calls: Sequence[QueuedCall], caller: Caller) -> list[Outcome]:
        """Makes several calls with one write, and waits for all of their outcomes."""
        self._check_process()
        slots = [Slot() for _ in calls]

        def lost(error: LeaseLost) -> None:
            for slot in slots:
                slot.deliver(error)

        with aborted_by_lost_leases(lost):
            with self._lock:
                requests = [
                    self._taken_in(call, caller, slot)
                    for call, slot in zip(calls, slots, strict=True)
                ]
                self._flush()
            begun = time.monotonic()
            try:
                return [
                    self._outcome_until(begun, request, slot)
                    for request, slot in zip(requests, slots, strict=True)
                ]
            except BaseException:
                with self._lock:
                    for request in requests:
                        if request is not None:
                            self._protocol.give_up(request)
                raise

    def _taken_in(self, call: QueuedCall, caller: Caller, slot: Slot) -> Request | None:
        """Takes one of several calls in; none if it is refused, which its slot then contains."""
        try:
            return self._protocol.call(*call, caller, slot.deliver)
        except BatonError as error:
            slot.deliver(error)
            return None

    def _outcome_until(self, begun: float, request: Request | None, slot: Slot) -> Outcome:
        if request is None:
            return slot.outcome
        seconds = self.options.request_timeout + request.wait_ms / 1000
        return self._outcome(request, slot, begun + seconds - time.monotonic(), seconds)

    def _outcome(self, request: Request, slot: Slot, left: float, seconds: float) -> Outcome:
        """Waits for an outcome, of which so much time is left; otherwise the call is given up."""
        try:
            is_answered = slot.wait(left)
        except BaseException:
            with self._lock:
                self._protocol.give_up(request)
            raise
        outcome: Outcome | None = slot.outcome
        if not is_answered or isinstance(outcome, LeaseLost):
            with self._lock:
                error = self._protocol.give_up(request, seconds)
            # A result that was delivered at the last moment counts.
            outcome = slot.outcome if slot.outcome is not None else error
        assert outcome is not None
        return outcome

    def watch(
        self, request: dict[str, Any], caller: Caller, start: int | None, snapshot: bool
    ) -> WatchHandle:
        """Begins a watch."""
        self._check_process()
        handle = WatchHandle(self)
        begun = Slot()

        def on_begun(error: BatonError | None) -> None:
            begun.deliver(error or True)

        with self._lock:
            handle.number = self._protocol.watch(
                request, caller, on_begun, handle.ready, start=start, snapshot=snapshot
            )
            self._flush()
        try:
            if not begun.wait(self.options.request_timeout):
                begun.deliver(Unreachable(self.url, "the watch did not begin in time"))
        except BaseException:
            handle.close()
            raise
        if isinstance(begun.outcome, BatonError):
            handle.close()
            raise begun.outcome
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
        self._check_process()
        with self._lock:
            now = time.monotonic()
            number = self._protocol.keep(what, operation, fields, caller, ttl, on_lost, now)
            self._flush()

        def let_go() -> None:
            if not self._is_forked:
                with self._lock:
                    self._protocol.let_go(number)

        return let_go

    def close(self) -> None:
        """Finishes what was begun, disconnects, and ends the thread."""
        if self._is_forked:
            return
        with self._lock:
            self._protocol.close()
        self._wake()
        if threading.current_thread() is not self._thread:
            self._thread.join(limit(self.options.connect_timeout + 2 * _GOODBYE))

    def abandon(self) -> None:
        """No caller is left: the thread ends immediately. The garbage collector calls this,
        perhaps in the middle of anything, so it takes no lock and waits for nothing."""
        self._is_abandoned = True
        if not self._is_forked:
            self._wake()

    def _check_process(self) -> None:
        if self._is_forked:
            raise Forked()

    def forked(self) -> None:
        """This is a child of the process that made the connection."""
        self._is_forked = True
        # The former holder of the lock does not exist here.
        self._lock = threading.Lock()
        connection, self._connection = self._connection, None
        inherited = [self._wake_read, self._wake_write]
        if connection is not None:
            inherited.append(connection.sock)
        for sock in inherited:
            # Closes the descriptor of the child; the connection of the parent stays open.
            descriptor = sock.detach()
            if descriptor >= 0:
                os.close(descriptor)

    # The functions that run under the lock.

    def _flush(self) -> None:
        """Sends what can be sent. A broken connection is for the thread to notice."""
        connection = self._connection
        if connection is not None and not connection.link.is_open:
            return
        messages, due = self._protocol.outgoing(time.monotonic())
        if connection is not None:
            for message in messages:
                connection.link.send(message)
            with contextlib.suppress(OSError):
                connection.write()
        has_unsent = connection is not None and connection.unsent
        if has_unsent or self._is_resting or (due is not None and due < self._sleeping_until):
            self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._wake_write.send(b"\0")

    # The thread.

    def _run(self) -> None:
        failures = 0
        heard = [False]
        while True:
            connection = self._connection
            if connection is not None:
                heard[0] = False
                reason = self._serve(connection, heard)
                with contextlib.suppress(OSError):
                    connection.sock.close()
                with self._lock:
                    self._connection = None
                    refusals = self._protocol.refusals
                    if reason is not None:
                        self._protocol.broken(reason)
                if reason is None:
                    break
                self.endpoint.leave(connection.is_suspect)
                self._run_deliveries()
                failures = max(0 if heard[0] else failures, refusals - 1)
            if not self._pause(self.options.backoff(failures, random.random())):
                break
            # A connection on which nothing is heard before it breaks is a failure too.
            failures += 1
            if not self._connect() and not self._pause(None):
                break
        with self._lock:
            self._protocol.over()
        self._run_deliveries()
        self._wake_read.close()
        self._wake_write.close()

    def _connect(self) -> bool:
        """Tries to connect; false if the server refuses this client."""
        try:
            connection = dial_any(self.endpoint, self.options)
        except BatonError as error:
            is_denied = isinstance(error, Denied)
            with self._lock:
                if is_denied:
                    self._protocol.denied(error, time.monotonic())
                else:
                    self._protocol.broken(error.detail)
            self._run_deliveries()
            return not is_denied
        with self._lock:
            self._connection = connection
            self._protocol.connected()
        return True

    def _run_deliveries(self) -> None:
        with self._lock:
            deliveries = self._protocol.deliveries()
        for deliver in deliveries:
            deliver()

    def _is_done(self) -> bool:
        return self._is_abandoned or (self._protocol.is_closed and self._protocol.is_idle)

    def _pause(self, seconds: float | None) -> bool:
        """Waits before connecting again, for this time or until a connection is wanted, and lets
        leases expire; false if the client is closed."""
        until = None if seconds is None else time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_read, selectors.EVENT_READ)
            while True:
                with self._lock:
                    # There is no connection on which what was begun could be finished.
                    if self._protocol.is_closed or self._is_abandoned:
                        return False
                    _, due = self._protocol.outgoing(time.monotonic())
                    self._is_resting = until is None and not self._protocol.is_wanted
                self._run_deliveries()
                left = None if until is None else until - time.monotonic()
                if (left is None and not self._is_resting) or (left is not None and left <= 0):
                    return True
                if due is not None:
                    soon = max(due - time.monotonic(), 0)
                    left = soon if left is None else min(left, soon)
                if selector.select(left):
                    self._drain_wakes()

    def _drain_wakes(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._wake_read.recv(4096):
                pass

    def _serve(self, connection: _Connection, heard: list[bool]) -> str | None:
        """Uses a connection until it breaks, and says why; none if the client is closed."""
        pulse = Pulse(self.options.silence_max, time.monotonic())
        sock = connection.sock
        closing_since: float | None = None
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_read, selectors.EVENT_READ)
            selector.register(sock, selectors.EVENT_READ)
            wants_write = False
            while True:
                now = time.monotonic()
                beat = pulse.beat(now)
                if beat is Beat.GONE:
                    connection.is_suspect = True
                    return pulse.silence(now)
                with self._lock:
                    if not connection.link.is_open:
                        return connection.link.end_reason()
                    if beat is Beat.PING:
                        connection.link.ping()
                    messages, due = self._protocol.outgoing(now)
                    for message in messages:
                        connection.link.send(message)
                    try:
                        connection.write()
                    except OSError as error:
                        return str(error)
                    if self._protocol.is_closed or self._is_abandoned:
                        closing_since = closing_since or now
                        if self._is_done() or now - closing_since > _GOODBYE:
                            self._say_goodbye(connection)
                            return None
                    until = min(pulse.due, due) if due is not None else pulse.due
                    if closing_since is not None:
                        until = min(until, closing_since + _GOODBYE)
                    self._sleeping_until = until
                self._run_deliveries()
                if bool(connection.unsent) != wants_write:
                    wants_write = not wants_write
                    events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wants_write else 0)
                    selector.modify(sock, events)
                ready = selector.select(limit(max(until - time.monotonic(), 0)))
                for key, _ in ready:
                    if key.fileobj is self._wake_read:
                        self._drain_wakes()
                        continue
                    reason = self._read(connection)
                    if reason is not None:
                        return reason
                    pulse.heard(time.monotonic())
                    heard[0] = True

    def _read(self, connection: _Connection) -> str | None:
        """Takes in what has come; why the connection is of no use any more, if it is not."""
        with self._lock:
            try:
                messages, has_ended = connection.read()
                now = time.monotonic()
                for message in messages:
                    self._protocol.received(message, now)
            except ProtocolError as error:
                return error.detail
            except OSError as error:
                return str(error)
            deliveries = self._protocol.deliveries()
            connection.is_suspect = self._protocol.refusals > 0
        for deliver in deliveries:
            deliver()
        if connection.is_suspect:
            return "the server cannot serve the workspace"
        return connection.link.end_reason() if has_ended else None

    def _say_goodbye(self, connection: _Connection) -> None:
        with contextlib.suppress(OSError):
            connection.link.close()
            connection.write()

    # The calls that watches use.

    def poll(self, number: int) -> Item | BatonError | None:
        self._check_process()
        with self._lock:
            item, is_due = self._protocol.poll(number)
            if is_due:
                self._flush()
            return item

    def resume_from(self, number: int) -> int:
        with self._lock:
            return self._protocol.resume_from(number)

    def leave_watch(self, number: int) -> None:
        if self._is_forked:
            return
        with self._lock:
            self._protocol.leave_watch(number)
            if not self._protocol.is_closed:
                self._flush()


class WatchHandle:
    """A watch of a blocking client."""

    def __init__(self, shell: SyncShell) -> None:
        self._shell = shell
        self._condition = threading.Condition()
        self._signals = 0
        self.number = 0
        self._is_closed = False

    def ready(self) -> None:
        with self._condition:
            self._signals += 1
            self._condition.notify_all()

    def next(self, seconds: float | None) -> Item | None:
        """The next item, or nothing if none comes in time."""
        allowed = None if seconds is None else limit(seconds)
        deadline = None if allowed is None else time.monotonic() + allowed
        while True:
            if self._is_closed:
                raise Closed()
            seen = self._signals
            item = self._shell.poll(self.number)
            if isinstance(item, BatonError):
                raise item
            if item is not None:
                return item
            with self._condition:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return None
                # Signals that have arrived since then are handled first.
                if self._signals == seen and not self._is_closed:
                    self._condition.wait(left)

    def resume_from(self) -> int:
        return self._shell.resume_from(self.number)

    def close(self) -> None:
        self._is_closed = True
        self._shell.leave_watch(self.number)
        self.ready()


def _after_fork() -> None:
    for shell in list(_shells):
        shell.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
