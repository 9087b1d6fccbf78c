"""Failures: a typed error with a hint, no hang, no thread left, no partial write."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import pickle
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

import pytest

import baton
from conftest import Server, StartServer, free_port

QUICK = baton.Options(request_timeout=0.5, connect_timeout=1.0, backoff_max=0.1)


def is_well_formed(error: baton.BatonError) -> bool:
    again = pickle.loads(pickle.dumps(error))
    same = (again.code, again.hint, type(again)) == (error.code, error.hint, type(error))
    return bool(error.code and error.hint and error.detail) and same


def test_no_server() -> None:
    begun = time.monotonic()
    with pytest.raises(baton.Unreachable) as caught:
        baton.connect(f"http://127.0.0.1:{free_port()}")
    assert is_well_formed(caught.value)
    assert isinstance(caught.value, ConnectionError)
    assert time.monotonic() - begun < 5


async def test_no_server_async() -> None:
    with pytest.raises(baton.Unreachable):
        await baton.connect_async(f"http://127.0.0.1:{free_port()}")


def test_another_server_is_used(start_server: StartServer) -> None:
    first, second = start_server(), start_server()
    away = f"http://127.0.0.1:{free_port()}"
    with baton.connect(f"{away}, {first.url},{second.url}", options=QUICK) as b:
        b.state.set("k", 1)
        first.kill()
        # The second server has other data, so the entry shows which one answers.
        assert b.state.value("k", default=None) is None
        first.start()
        second.kill()
        assert b.state.value("k") == 1
    with pytest.raises(baton.Unreachable, match=away):
        baton.connect(f"{away},{second.url}")


async def test_another_server_is_used_async(start_server: StartServer) -> None:
    first, second = start_server(), start_server()
    away = f"http://127.0.0.1:{free_port()}"
    urls = f"{away},{first.url},{second.url}"
    async with baton.connect_async(urls, options=QUICK) as b:
        await b.state.set("k", 1)
        first.kill()
        assert await b.state.value("k", default=None) is None


class NamingOwner:
    """In front of a server: passes on what it gets, and names the owner of the workspace."""

    def __init__(self, server: str, owner: str) -> None:
        self._port = int(server.rpartition(":")[2])
        self._owner = owner.encode()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.workspaces: list[bytes] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _run(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            request = client.recv(65536)
            self.workspaces += re.findall(rb"(?im)^baton-workspace: (.*)\r$", request)
            server = socket.create_connection(("127.0.0.1", self._port))
            server.sendall(request)
            line, _, rest = server.recv(65536).partition(b"\r\n")
            client.sendall(b"%s\r\nbaton-owner: %s\r\n%s" % (line, self._owner, rest))
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=_pass_on, args=(one, other)).start()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_RDWR)
    one.close()


async def test_the_owner_of_the_workspace_is_used(start_server: StartServer) -> None:
    first, owner = start_server(), start_server()
    away = f"http://127.0.0.1:{free_port()}"
    with baton.connect(owner.url, workspace="fleet") as b:
        b.state.set("place", "owner")
    with (
        contextlib.closing(NamingOwner(first.url, owner.url)) as front,
        contextlib.closing(NamingOwner(first.url, away)) as lost,
    ):
        for urls, place in (
            (f"{front.url},{owner.url}", "owner"),
            # It is not one of those that were given, or it cannot be reached.
            (front.url, None),
            (f"{front.url},{away}", None),
            (f"{lost.url},{away}", None),
        ):
            with baton.connect(urls, workspace="fleet", options=QUICK) as b:
                assert b.state.value("place", default=None) == place
            async with baton.connect_async(urls, workspace="fleet", options=QUICK) as a:
                assert await a.state.value("place", default=None) == place
        assert front.workspaces == [b"fleet"] * 4


@pytest.mark.parametrize(
    "url",
    ["", "localhost:4747", "http://a,", ",http://a", "http://a,b", ",".join(["http://a"] * 33),
     "ftp://host", "http://", "http://:80", "http://host:", "http://host:x",
     "http://host:65536", "http://host/v1", "http://user@host", "http://a b", "http://::1",
     "http://host\r\nX: y"],
)  # fmt: skip
def test_wrong_urls(url: str) -> None:
    with pytest.raises(baton.BadUrl) as caught:
        baton.connect(url or " ")
    assert is_well_formed(caught.value)


class Answering:
    """A program that is not Baton: it answers every connection with these bytes."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(self._answer)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.fixture
def answering() -> Iterator[Callable[[bytes], str]]:
    made: list[Answering] = []

    def start(answer: bytes) -> str:
        made.append(Answering(answer))
        return made[-1].url

    yield start
    for each in made:
        each.close()


NOT_BATON = [
    (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", baton.ProtocolError),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", baton.ProtocolError),
    (b"SSH-2.0-OpenSSH\r\n\r\n", baton.ProtocolError),
    (b"", baton.Unreachable),
    # A server of another release: it knows the path, but not this sub-protocol.
    (
        b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\n"
        b"Content-Length: 63\r\n\r\n"
        b'{"code":"request.x","kind":"invalid","detail":"no","hint":"v9"}',
        baton.Invalid,
    ),
]


@pytest.mark.parametrize(("answer", "expected"), NOT_BATON)
def test_another_program_on_the_port(
    answering: Callable[[bytes], str], answer: bytes, expected: type[baton.BatonError]
) -> None:
    with pytest.raises(expected):
        baton.connect(answering(answer), options=QUICK)


@pytest.mark.parametrize(("answer", "expected"), NOT_BATON)
async def test_another_program_on_the_port_async(
    answering: Callable[[bytes], str], answer: bytes, expected: type[baton.BatonError]
) -> None:
    with pytest.raises(expected):
        await baton.connect_async(answering(answer), options=QUICK)


def test_wrong_tokens(start_server: StartServer) -> None:
    server = start_server("--tokens")
    for token in (None, "baton_wrong"):
        with pytest.raises(baton.Denied) as caught:
            baton.connect(server.url, token=token)
        assert is_well_formed(caught.value)
    with pytest.raises(baton.BadToken):
        baton.connect(server.url, token="two\nlines")
    right = next(line.split("=")[1] for line in server.text.splitlines() if "BATON_TOKEN=" in line)
    with baton.connect(server.url, token=right) as b:
        b.state.set("k", 1)
        b.artifacts.put(b"with the token")


def made_token(server: Server) -> tuple[str, Callable[[], None]]:
    """A token for a worker, and what revokes it."""
    right = next(line.split("=")[1] for line in server.text.splitlines() if "BATON_TOKEN=" in line)

    def ask(method: str, path: str, body: object = None) -> dict[str, object]:
        request = urllib.request.Request(
            f"{server.url}/v1/access/tokens{path}",
            method=method,
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {right}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    made = ask("POST", "", {"name": "worker", "grant": {"role": "worker"}})

    def revoke() -> None:
        ask("DELETE", f"/{made['id']}")

    return str(made["token"]), revoke


def test_what_waits_ends_when_the_token_is_revoked(start_server: StartServer) -> None:
    server = start_server("--tokens")
    token, revoke = made_token(server)
    with baton.connect(server.url, token=token) as b, b.watch("**") as watch:
        with ThreadPoolExecutor() as pool:
            claiming = pool.submit(b.tasks.claim, wait_ms=3_600_000)
            b.state.set("k", 1)
            assert next(watch).type == "state.set"
            revoke()
            with pytest.raises(baton.Denied):
                claiming.result(60)
            with pytest.raises(baton.Denied):
                next(watch)
        # A later call connects again, and is refused again.
        with pytest.raises(baton.Denied):
            b.state.get("k")


async def test_what_waits_ends_when_the_token_is_revoked_async(start_server: StartServer) -> None:
    server = start_server("--tokens")
    token, revoke = made_token(server)
    async with await baton.connect_async(server.url, token=token) as b:
        claiming = asyncio.create_task(b.tasks.claim(wait_ms=3_600_000))
        await b.state.set("k", 1)
        await asyncio.to_thread(revoke)
        with pytest.raises(baton.Denied):
            await asyncio.wait_for(claiming, 60)
        with pytest.raises(baton.Denied):
            await b.state.get("k")


def test_an_older_server_does_not_know_a_field_and_a_newer_one_lacks_one(b: baton.Baton) -> None:
    with pytest.raises(baton.Invalid) as caught:
        b.call("state.set", namespace="shared", key="k", value=1, invented=True)
    assert caught.value.code == "request.unknown_field"
    with pytest.raises(baton.ProtocolError) as lacking:
        baton.types.Entry({"key": "k"})
    assert "lacks" in lacking.value.detail
    newer = baton.types.Hold({**b.locks.acquire("l").raw, "invented": 1})  # type: ignore[union-attr]
    assert newer.raw["invented"] == 1


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "Out of range"),
        (object(), "object has no JSON form"),
        (b"bytes", "bytes has no JSON form"),
        ("\ud800", "surrogates"),
        ({1, "a"}, "a set whose members cannot be sorted"),
        ({"a": {1, None}}, "a set whose members cannot be sorted"),
        ({1: "a", "1": "b"}, "two keys of a dict are '1' as text"),
        ([({"x": [{None: 1, "null": 2}]},)], "two keys of a dict are 'null' as text"),
        (MappingProxyType({"x": {True: 1, "true": 2}}), "two keys of a dict are 'true' as text"),
    ],
)
def test_values_that_are_not_json(b: baton.Baton, value: object, reason: str) -> None:
    before = b.workspace.get().raw
    with pytest.raises(baton.NotJson, match=reason) as caught:
        b.state.set("k", value)
    assert is_well_formed(caught.value)
    assert b.workspace.get().raw == before, "nothing was written"


def test_values_that_are_too_deep_or_too_large(b: baton.Baton) -> None:
    deep: list[object] = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(baton.Invalid):
        b.state.set("k", deep)
    with pytest.raises(baton.TooLarge):
        b.state.set("k", "x" * (2 << 20))
    with pytest.raises(baton.TooLarge):
        b.state.set("k", "x" * (10 << 20))
    assert b.state.set("k", 1).version == 1, "the connection still works"


NO_LIMIT = baton.Options(
    request_timeout=float("inf"), connect_timeout=float("inf"), silence_max=float("inf")
)


def test_an_infinite_time_limit_is_none(shared_server: Server, workspace: str) -> None:
    with baton.connect(shared_server.url, workspace=workspace, options=NO_LIMIT) as b:
        for timeout in (float("inf"), 1e12):
            assert b.state.set("k", 1, timeout=timeout).version
        with b.lock("door", wait=float("inf")), b.watch("state/**", start=1) as events:
            assert events.next(float("inf"))
        with pytest.raises(ValueError, match="time limit"):
            b.state.get("k", timeout=float("nan"))
        with pytest.raises(ValueError, match="finite"):
            b.lock("door", ttl=float("inf")).__enter__()


async def test_an_infinite_time_limit_is_none_async(shared_server: Server, workspace: str) -> None:
    async with baton.connect_async(shared_server.url, workspace=workspace, options=NO_LIMIT) as b:
        for timeout in (float("inf"), 1e12):
            assert (await b.state.set("k", 1, timeout=timeout)).version
        async with (
            b.lock("door", wait=float("inf")),
            await b.watch("state/**", start=1) as events,
        ):
            assert await events.next(float("inf"))
        with pytest.raises(ValueError, match="time limit"):
            await b.state.get("k", timeout=float("nan"))


def test_a_ttl_of_nothing_is_refused_as_given(b: baton.Baton) -> None:
    with pytest.raises(baton.Invalid, match="not 0 "), b.lock("door", ttl=0):
        pass


def test_an_exception_does_not_wait_for_a_server_that_is_away(start_server: StartServer) -> None:
    server = start_server()
    # Longer than the test may take.
    patient = baton.Options(request_timeout=600)
    with baton.connect(server.url, options=patient) as b:
        for hold in (b.lock("door"), b.semaphore("models", 1), b.session()):
            with pytest.raises(KeyError, match="mine"), hold:
                server.kill()
                raise KeyError("mine")
            server.start()
            b.state.set("k", 1)


async def test_an_exception_does_not_wait_for_a_server_that_is_away_async(
    start_server: StartServer,
) -> None:
    server = start_server()
    patient = baton.Options(request_timeout=600)
    async with baton.connect_async(server.url, options=patient) as b:
        with pytest.raises(KeyError, match="mine"):
            async with b.lock("door"):
                server.kill()
                raise KeyError("mine")


def test_use_after_close(shared_server: Server) -> None:
    b = baton.connect(shared_server.url)
    watch = b.watch()
    b.close()
    b.close()
    for use in (lambda: b.state.get("k"), lambda: b.watch(), lambda: watch.next(1)):
        with pytest.raises(baton.Closed) as caught:
            use()
        assert is_well_formed(caught.value)


async def test_use_after_close_async(shared_server: Server) -> None:
    b = await baton.connect_async(shared_server.url)
    await b.close()
    await b.close()
    with pytest.raises(baton.Closed):
        await b.state.get("k")


def test_closing_ends_calls_that_wait(shared_server: Server, workspace: str) -> None:
    b = baton.connect(shared_server.url, workspace=workspace)
    ended: list[Exception] = []

    def wait() -> None:
        try:
            b.tasks.claim(wait_ms=60_000)
        except baton.BatonError as error:
            ended.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.1)
    b.close()
    thread.join(10)
    assert [type(error) for error in ended] == [baton.Closed]


def test_a_client_that_is_forgotten_leaves_no_thread(shared_server: Server) -> None:
    b = baton.connect(shared_server.url)
    b.state.value("k")
    del b
    gc.collect()


def test_a_server_that_does_not_answer(start_server: StartServer) -> None:
    server = start_server()
    with baton.connect(server.url, options=QUICK) as b:
        b.state.set("k", 1)
        server.pause()
        with pytest.raises(baton.TimedOut):
            b.state.get("k")
        with pytest.raises(baton.OutcomeUnknown) as caught:
            b.state.set("k", 2)
        assert caught.value.is_unknown
        server.resume()
        assert b.state.get("k").version in (1, 2)


def test_a_server_that_is_gone_and_comes_back(start_server: StartServer) -> None:
    server = start_server()
    with baton.connect(server.url, options=QUICK) as b:
        b.state.set("k", 1)
        server.kill()
        with pytest.raises((baton.Unreachable, baton.OutcomeUnknown)):
            b.state.set("k", 2)
        with pytest.raises(baton.Unreachable):
            b.state.get("k")
        server.start()
        deadline = time.monotonic() + 20
        while True:
            try:
                b.state.set("again", 1)
                break
            except baton.Unavailable:
                assert time.monotonic() < deadline


def test_a_lost_lease_ends_what_the_body_waits_for(b: baton.Baton) -> None:
    losses: list[baton.LeaseLost] = []
    begun = time.monotonic()
    lock = b.lock("repo", ttl=1)
    lock.on_lost(losses.append)
    with pytest.raises(baton.LeaseLost) as caught, lock:
        b.as_agent("ada").locks.release("repo", lock.token)
        b.tasks.claim(wait_ms=60_000)
    assert time.monotonic() - begun < 10
    assert is_well_formed(caught.value)
    assert lock.lost
    assert len(losses) == 1
    with pytest.raises(baton.Stale):
        lock.baton.state.set("late", 1)
    assert b.state.value("late") is None


def test_a_lost_lease_is_told_at_the_end_at_the_latest(b: baton.Baton) -> None:
    with pytest.raises(baton.LeaseLost), b.lock("repo", ttl=1) as lock:
        b.as_agent("ada").locks.release("repo", lock.token)
        while not lock.lost:
            time.sleep(0.01)


def test_a_lease_outlives_a_server_that_is_killed(start_server: StartServer) -> None:
    server = start_server()
    with baton.connect(server.url) as b, b.lock("repo", ttl=6) as lock:
        time.sleep(0.5)
        server.kill()
        time.sleep(0.5)
        server.start()
        time.sleep(6.5)
        assert not lock.lost
        lock.baton.state.set("k", 1)


async def test_a_lost_lease_cancels_the_body(shared_server: Server, workspace: str) -> None:
    async with baton.connect_async(shared_server.url, workspace=workspace, agent="ada") as b:
        begun = time.monotonic()
        lock = b.lock("repo", ttl=1)
        with pytest.raises(baton.LeaseLost):
            async with lock:
                await b.as_agent("ada").locks.release("repo", lock.token)
                await asyncio.sleep(60)
        assert time.monotonic() - begun < 10
        with pytest.raises(baton.Stale):
            await lock.baton.state.set("late", 1)
        await b.state.set("after", 1)  # the task is not cancelled any more
        with pytest.raises(ZeroDivisionError):
            async with b.lock("repo"):
                _ = 1 / 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fork beside threads
def test_a_forked_process(shared_server: Server, workspace: str) -> None:
    with baton.connect(shared_server.url, workspace=workspace) as b:
        b.state.set("k", "parent")
        child = os.fork()
        if child == 0:
            status = 1
            try:
                b.state.set("k", "child")
            except baton.Forked as error:
                status = 0 if is_well_formed(error) else 2
                with baton.connect(shared_server.url, workspace=workspace) as own:
                    own.state.set("child", 1)
                b.close()
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert b.state.get("k").value == "parent"
        assert b.state.get("child").value == 1


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A background process, and every Python that it starts, ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_keyboard_interrupt_in_the_middle(shared_server: Server, workspace: str) -> None:
    with baton.connect(shared_server.url, workspace=workspace) as b:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            b.tasks.claim(wait_ms=60_000)
        assert time.monotonic() - begun < 10
        # A task that was claimed for a caller that is gone is returned.
        b.tasks.create("x", id="t")
        task = b.as_agent("bob").tasks.claim(wait_ms=20_000)
        assert task is not None
        assert task.id == "t"


@pytest.mark.usefixtures("interruptible")
def test_a_keyboard_interrupt_ends_a_worker_gracefully(b: baton.Baton) -> None:
    b.tasks.create("slow", id="t")
    worker = b.worker()

    @worker.task("slow")
    def slow(job: baton.Job) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.5)
        return "finished"

    with pytest.raises(KeyboardInterrupt):
        worker.run()
    assert b.tasks.get("t").result == "finished"


def test_an_event_loop_that_is_closed_early(shared_server: Server) -> None:
    async def connect() -> baton.AsyncBaton:
        return await baton.connect_async(shared_server.url)

    loop = asyncio.new_event_loop()
    b = loop.run_until_complete(connect())
    other = asyncio.new_event_loop()
    with pytest.raises(baton.WrongLoop) as caught:
        other.run_until_complete(b.state.get("k"))
    assert is_well_formed(caught.value)
    loop.run_until_complete(b.close())
    loop.close()
    with pytest.raises(baton.WrongLoop):
        other.run_until_complete(b.state.get("k"))
    other.run_until_complete(b.close())
    other.close()


async def test_a_cancelled_call_gives_back_what_it_is_granted(
    shared_server: Server, workspace: str
) -> None:
    async with baton.connect_async(shared_server.url, workspace=workspace, agent="ada") as b:
        claim = asyncio.ensure_future(b.tasks.claim(wait_ms=60_000))
        await asyncio.sleep(0.2)
        claim.cancel()
        with pytest.raises(asyncio.CancelledError):
            await claim
        await b.tasks.create("x", id="t")
        task = await b.as_agent("bob").tasks.claim(wait_ms=20_000)
        assert task is not None


WORKER = """
import sys, time, baton
b = baton.connect(sys.argv[1], workspace=sys.argv[2], agent="first")
worker = b.worker(lease=1.0)
@worker.task("slow")
def slow(job):
    print(job.token, flush=True)
    time.sleep(600)
worker.run()
"""


def test_kill_9_of_a_worker(b: baton.Baton) -> None:
    b.tasks.create("slow", id="t")
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, b.url, b.workspace_name], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    token = int(process.stdout.readline())
    time.sleep(2)  # twice the lease: it is renewed
    assert b.tasks.get("t").status == "in_progress"
    process.kill()
    process.wait()
    process.stdout.close()
    begun = time.monotonic()
    with b.as_agent("second").claim("slow", wait=30) as job:
        assert job.id == "t"
        assert time.monotonic() - begun < 10
        # The dead worker's late writes are refused.
        dead = b.as_agent("first")
        with pytest.raises(baton.Stale):
            dead.tasks.complete("t", token)
        with pytest.raises(baton.Stale):
            dead.under(token).state.set("late", 1)
        with pytest.raises(baton.Conflict), dead.under(token).transaction() as tx:
            tx.state.set("late", 1)
        job.result = "by the second"
    assert b.state.value("late") is None
    assert b.tasks.get("t").result == "by the second"


def test_a_watch_over_five_kills(start_server: StartServer, full: bool) -> None:
    """None missing, none twice. `--full` reads 100,000 events."""
    count = 100_000 if full else 5_000
    server = start_server()
    writer = baton.connect(server.url, workspace="w", agent="writer")
    reader = baton.connect(server.url, workspace="w", agent="reader")

    def write() -> None:
        batch = 100
        for first in range(0, count, batch):
            with writer.transaction() as tx:
                for number in range(first, first + batch):
                    tx.state.set(f"k{number}", number)

    writing = threading.Thread(target=write)
    seen: list[int] = []
    with reader.watch("state/**", start=1) as watch:
        writing.start()
        kills = [count * part // 6 for part in range(1, 6)]
        while len(seen) < count:
            event = watch.next(60)
            assert event is not None, f"{len(seen)} of {count}"
            seen.append(event["value"])
            if kills and len(seen) >= kills[0]:
                del kills[0]
                server.kill()
                server.start()
        assert watch.next(0.2) is None
    writing.join(60)
    assert seen == list(range(count))
    assert not kills
    writer.close()
    reader.close()


async def test_a_watch_over_kills_async(start_server: StartServer) -> None:
    count = 1_000
    server = start_server()
    async with baton.connect_async(server.url, workspace="w") as b:
        watch = await b.watch("state/**", start=1)

        async def write() -> None:
            for number in range(count):
                await b.state.set(f"k{number}", number)

        writing = asyncio.ensure_future(write())
        seen: list[int] = []
        kills = [300, 600]
        while len(seen) < count:
            event = await watch.next(60)
            assert event is not None
            seen.append(event["value"])
            if kills and len(seen) >= kills[0]:
                del kills[0]
                await asyncio.to_thread(server.kill)
                await asyncio.to_thread(server.start)
        await writing
        assert seen == list(range(count))


# The private server of a folder.

OPENER = """
import sys, time, baton
with baton.open(sys.argv[1], agent=sys.argv[2]) as b:
    b.state.set(sys.argv[2], 1)
    print("ready", flush=True)
    sys.stdin.read()
"""


def opener(folder: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", OPENER, str(folder), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


def server_process(folder: Path) -> int:
    return json.loads((folder / "embedded.json").read_text())["process"]


def is_running(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends(process: int, within: float = 15.0) -> bool:
    deadline = time.monotonic() + within
    while is_running(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_a_folder_is_shared_and_its_server_ends_with_the_last_process(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    # At the same time, so that they compete.
    first, second = opener(folder, "first"), opener(folder, "second")
    ready(first)
    ready(second)
    server = server_process(folder)
    assert os.stat(folder / "embedded.json").st_mode & 0o077 == 0, "others cannot read the token"
    first.kill()
    first.wait()
    time.sleep(3)
    assert is_running(server), "the second still uses it"
    with baton.open(folder, agent="third") as b:
        assert b.state.get("first").value == 1
        assert b.state.get("second").value == 1
    second.kill()
    second.wait()
    assert ends(server), "the last one was killed"
    for process in (first, second):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()
    with baton.open(folder) as b:
        assert b.state.get("first").value == 1
        assert server_process(folder) != server
        server = server_process(folder)
    assert ends(server)


def test_every_key_of_a_private_server_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = secrets.token_bytes
    monkeypatch.setattr(secrets, "token_bytes", lambda count=32: random(count - 1) + b"\n")
    with baton.open(tmp_path / "data") as b:
        b.state.set("plan", 1)


def test_a_private_server_that_is_killed_is_started_again(tmp_path: Path) -> None:
    with baton.open(tmp_path / "data") as b:
        b.state.set("k", 1)
        server = server_process(tmp_path / "data")
        os.kill(server, signal.SIGKILL)
        assert b.state.set("k", 2).version == 2
        server = server_process(tmp_path / "data")
    assert ends(server)


async def test_a_folder_with_asyncio(tmp_path: Path) -> None:
    async with baton.open_async(tmp_path / "data", agent="ada") as b:
        await b.state.set("k", 1)
        assert await b.artifacts.read((await b.artifacts.put(b"x")).artifact) == b"x"
    assert await asyncio.to_thread(ends, server_process(tmp_path / "data"))


def test_a_folder_that_cannot_be_opened(
    tmp_path: Path, start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(baton.NotStarted):
        baton.open(tmp_path / "file")
    start_server()
    with pytest.raises(baton.NotStarted) as caught:
        baton.open(tmp_path / "data-0")
    assert is_well_formed(caught.value)
    assert "connect" in caught.value.hint
    monkeypatch.setenv("BATON_BIN", str(tmp_path / "nothing"))
    with pytest.raises(baton.NoProgram) as missing:
        baton.open(tmp_path / "other")
    assert is_well_formed(missing.value)
