"""Several servers, of which some fall silent, refuse or cannot serve: calls go to the next one."""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any, cast

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server as WebSocketServer
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

import baton
from baton import _async_shell, _sync_shell
from baton._async_shell import AsyncShell
from baton._endpoint import Fixed
from baton._protocol import Protocol
from baton._pulse import Beat, Pulse
from baton._sync_shell import SyncShell
from conftest import Server

QUICK = baton.Options(silence_max=0.4, connect_timeout=0.4)
ASYNC = [False, True]


# The pulse, with a clock of the test.


def test_a_silent_server_is_pinged_in_the_second_half_and_gone_at_the_end() -> None:
    pulse = Pulse(8.0, 100.0)
    seen: list[tuple[float, Beat]] = []
    while not seen or seen[-1][1] is not Beat.GONE:
        assert pulse.beat(pulse.due - 0.001) is Beat.NOTHING
        seen.append((pulse.due, pulse.beat(pulse.due)))
    assert seen == [(104.0, Beat.PING), (106.0, Beat.PING), (108.0, Beat.GONE)]
    assert pulse.silence(108.0) == "nothing was heard for 8 s"


def test_a_sign_of_life_begins_it_again() -> None:
    pulse = Pulse(8.0, 100.0)
    assert [pulse.beat(104.0), pulse.beat(106.0)] == [Beat.PING] * 2
    pulse.heard(107.9)
    assert pulse.beat(108.0) is Beat.NOTHING
    assert pulse.due == 111.9
    assert pulse.beat(111.9) is Beat.PING


def test_a_client_that_was_held_up_asks_again() -> None:
    pulse = Pulse(8.0, 100.0)
    assert pulse.beat(150.0) is Beat.PING
    assert pulse.beat(152.0) is Beat.PING
    # What the server answered may not have been read: the end was due at 154.
    assert pulse.beat(170.0) is Beat.PING
    assert pulse.beat(172.0) is Beat.GONE


def test_a_call_outlives_three_dead_servers() -> None:
    options = baton.Options()
    dead = options.silence_max + 3 * options.connect_timeout
    assert dead + options.backoff_max < options.request_timeout
    assert options.silence_max + options.backoff_min < 10


# The shells, with a clock of the test: time passes only in `select`.


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def pass_by(self, seconds: float | None) -> list[Any]:
        assert seconds is not None
        self.now += seconds
        return []


class SilentLink:
    """An open WebSocket of which the other side says nothing."""

    is_open = True
    is_connecting = False

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.pings: list[float] = []

    def ping(self) -> None:
        self.pings.append(self._clock.now)

    def outgoing(self) -> bytes:
        return b""


class Selector:
    """Nothing becomes ready."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __enter__(self) -> Selector:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def register(self, *_: object) -> None:
        pass

    def select(self, seconds: float) -> list[Any]:
        return self._clock.pass_by(seconds)


def test_the_blocking_shell_notices_silence_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    link = SilentLink(clock)
    shell = SyncShell.__new__(SyncShell)
    shell.options = baton.Options()
    near, far = socket.socketpair()
    with near, far:
        parts: dict[str, Any] = {
            "_lock": threading.Lock(),
            "_protocol": Protocol("http://a", shell.options),
            "_is_abandoned": False,
            "_wake_read": far,
        }
        for name, part in parts.items():
            setattr(shell, name, part)
        module: Any = _sync_shell
        connection = module._Connection(near, link)
        monkeypatch.setattr(_sync_shell, "time", clock)
        monkeypatch.setattr(selectors, "DefaultSelector", lambda: Selector(clock))
        reason = shell._serve(connection, [False])  # pyright: ignore[reportPrivateUsage]
    assert reason == "nothing was heard for 8 s"
    assert clock.now == 108.0
    assert link.pings == [104.0, 106.0]
    assert connection.is_suspect


class Timers:
    """The part of an event loop that calls later."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._call: Callable[[], None] | None = None
        self._at = 0.0

    def time(self) -> float:
        return self._clock.now

    def when(self) -> float:
        return self._at

    def cancel(self) -> None:
        self._call = None

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timers:
        self._at, self._call = self._clock.now + seconds, call
        return self

    def run(self) -> None:
        while self._call is not None:
            call, self._call = self._call, None
            self._clock.now = self._at
            call()


class SilentConnection:
    is_paused = False
    is_suspect = False

    def __init__(self, clock: Clock) -> None:
        self.link = SilentLink(clock)
        self.pulse = Pulse(baton.Options().silence_max, clock.now)
        self.lost: list[str] = []

    def write(self) -> None:
        pass

    def lose(self, reason: str) -> None:
        self.lost.append(reason)


@pytest.mark.parametrize("is_paused", [False, True])
async def test_the_asyncio_shell_notices_silence_at_its_end(
    monkeypatch: pytest.MonkeyPatch, is_paused: bool
) -> None:
    clock = Clock()
    shell = AsyncShell(Fixed("http://a", None, None), baton.Options())
    timers, connection = Timers(clock), SilentConnection(clock)
    # A server that does not read pauses the writing as well.
    connection.is_paused = is_paused
    monkeypatch.setattr(_async_shell, "time", clock)
    monkeypatch.setattr(shell, "_loop", timers)
    shell._use(cast("Any", connection))  # pyright: ignore[reportPrivateUsage]
    timers.run()
    assert connection.lost == ["nothing was heard for 8 s"]
    assert clock.now == 108.0
    assert connection.link.pings == [104.0, 106.0]
    assert connection.is_suspect


# Whole clients.


class Front:
    """In front of a server: passes bytes on until it falls silent, like a process that is stopped.
    From then on it still accepts connections, as the kernel does for a stopped process."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.is_silent = False
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.dials = 0
        self._start(self._accept)

    def _start(self, run: Callable[..., None], *arguments: socket.socket) -> None:
        self._threads.append(threading.Thread(target=run, args=arguments))
        self._threads[-1].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self.dials += 1
            server = socket.create_connection(("127.0.0.1", self._server.port))
            self._open += [client, server]
            self._start(self._pass_on, client, server)
            self._start(self._pass_on, server, client)

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                if not self.is_silent:
                    other.sendall(data)
            other.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        # The first thread is over before the others are ended, so that it starts no more.
        self._threads[0].join()
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in self._open:
            each.close()


@pytest.fixture
def fronts(shared_server: Server) -> Iterator[list[Front]]:
    made = [Front(shared_server) for _ in range(3)]
    yield made
    for each in made:
        each.close()


@pytest.mark.parametrize("is_async", ASYNC)
@pytest.mark.parametrize("silent", [1, 2])
async def test_servers_that_fall_silent_are_dialled_last(
    fronts: list[Front], workspace: str, is_async: bool, silent: int
) -> None:
    urls = ",".join(front.url for front in fronts)
    name = f"{workspace}-{is_async}-{silent}"

    def fall_silent() -> None:
        for front in fronts[:silent]:
            front.is_silent = True

    if is_async:
        async with baton.connect_async(urls, workspace=name, options=QUICK) as a:
            await a.state.set("n", 0)
            fall_silent()
            assert (await a.state.set("n", 1)).version == 2, "it has one effect"
    else:
        with baton.connect(urls, workspace=name, options=QUICK) as b:
            b.state.set("n", 0)
            fall_silent()
            assert b.state.set("n", 1).version == 2, "it has one effect"
    # The one that fell silent is not dialled again, since another accepts.
    assert [front.dials for front in fronts] == ([1, 1, 0] if silent == 1 else [1, 1, 1])


AWAY = {
    "code": "log.away",
    "kind": "unavailable",
    "detail": "the log has not answered this server for 9 s",
    "hint": "retry",
}


class Scripted:
    """A server that answers every call in the same way."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer
        self.calls: list[dict[str, Any]] = []
        self._server: WebSocketServer = serve(
            self._run, "127.0.0.1", 0, subprotocols=[Subprotocol("baton.v1.json")]
        )
        self.url = f"http://127.0.0.1:{self._server.socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def _run(self, connection: ServerConnection) -> None:
        # A client that leaves a server does not say goodbye.
        with contextlib.suppress(ConnectionClosed):
            for message in connection:
                call = json.loads(message)
                self.calls.append(call)
                connection.send(json.dumps({"id": call["id"], **self._answer}))

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()


def away(**changed: str) -> dict[str, Any]:
    return {"error": {**AWAY, **changed}}


SERVED: dict[str, Any] = {"revision": 7, "result": {"version": 5}}


@contextlib.contextmanager
def scripted(*answers: dict[str, Any]) -> Generator[list[Scripted], None, None]:
    made = [Scripted(answer) for answer in answers]
    try:
        yield made
    finally:
        for each in made:
            each.close()


async def call_through(
    servers: list[Scripted], is_async: bool, options: baton.Options, command: str = "state.set"
) -> int:
    urls = ",".join(server.url for server in servers)
    fields = {"namespace": "shared", "key": "k"} | ({"value": 1} if "set" in command else {})
    if is_async:
        async with baton.connect_async(urls, options=options) as a:
            return (await a.call(command, **fields))["version"]
    with baton.connect(urls, options=options) as b:
        return b.call(command, **fields)["version"]


@pytest.mark.parametrize("is_async", ASYNC)
@pytest.mark.parametrize("code", ["log.away", "log.fenced", "engine.unknown_outcome"])
async def test_a_server_that_cannot_serve_is_left(is_async: bool, code: str) -> None:
    with scripted(away(code=code), SERVED) as (first, second):
        assert await call_through([first, second], is_async, QUICK) == 5
        (refused,), (served,) = first.calls, second.calls
        assert served["idempotency_key"] == refused["idempotency_key"]


@pytest.mark.parametrize("is_async", ASYNC)
async def test_a_refusal_that_does_not_pass_is_raised_in_the_end(is_async: bool) -> None:
    options = baton.Options(request_timeout=1.0, backoff_max=0.05)
    with scripted(away(), away()) as servers:
        with pytest.raises(baton.Unavailable) as caught:
            # A query: of a command in flight at the end, the outcome would be unknown.
            await call_through(servers, is_async, options, "state.get")
        assert caught.value.code == "log.away"
        assert all(server.calls for server in servers)


@pytest.mark.parametrize("is_async", ASYNC)
async def test_what_another_server_would_refuse_too_is_raised_at_once(is_async: bool) -> None:
    with scripted(away(code="engine.full"), SERVED) as (first, second):
        with pytest.raises(baton.Unavailable) as caught:
            await call_through([first, second], is_async, QUICK)
        assert caught.value.code == "engine.full"
        assert len(first.calls) == 1
        assert not second.calls


@pytest.mark.parametrize("is_async", ASYNC)
async def test_what_may_not_be_repeated_is_refused_at_once(is_async: bool) -> None:
    options = baton.Options(automatic_keys=False)
    with scripted(away(code="cluster.owner_lost"), SERVED) as (first, second):
        with pytest.raises(baton.Unavailable) as caught:
            await call_through([first, second], is_async, options)
        assert caught.value.code == "cluster.owner_lost"
        assert not second.calls


@pytest.mark.parametrize("is_async", ASYNC)
async def test_a_single_server_that_cannot_serve_says_so_at_once(is_async: bool) -> None:
    with scripted(away()) as (only,):
        with pytest.raises(baton.Unavailable) as caught:
            await call_through([only], is_async, QUICK)
        assert caught.value.code == "log.away"
        assert len(only.calls) == 1


@pytest.mark.parametrize("is_async", ASYNC)
async def test_a_watch_leaves_a_server_that_cannot_serve(is_async: bool) -> None:
    begun = {"revision": 7, "result": {"from": 8}}
    with scripted(away(), begun) as (first, second):
        urls = f"{first.url},{second.url}"
        if is_async:
            async with baton.connect_async(urls, options=QUICK) as a:
                await a.watch("state/**")
        else:
            with baton.connect(urls, options=QUICK) as b:
                b.watch("state/**")
        assert [call["command"] for call in first.calls] == ["watch"]
        assert second.calls[0] == {**first.calls[0], "id": second.calls[0]["id"]}


def test_a_server_that_was_left_is_not_preferred_as_the_owner() -> None:
    endpoint = Fixed("http://a,http://b,http://c", None, None, "fleet")

    def order() -> list[str]:
        return [target.address.host for target in endpoint.targets()]

    endpoint.leave(is_suspect=False)
    assert order() == ["b", "c", "a"]
    assert endpoint.owner("http://a:4747") is not None
    endpoint.use(endpoint.targets()[0])
    endpoint.leave(is_suspect=True)
    assert order() == ["c", "a", "b"]
    assert endpoint.owner("http://b:4747") is None
    endpoint.use(endpoint.targets()[0])
    assert endpoint.owner("http://b:4747") is not None
