"""Servers for the tests. `BATON_BIN` names the program."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import baton

START_TIMEOUT = 60.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the long tests at their full size")


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--full"))


@pytest.fixture(scope="session")
def program() -> str:
    named = os.environ.get("BATON_BIN")
    assert named, "set BATON_BIN to the baton program"
    return named


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server on a folder, which can be killed and started again on the same port."""

    def __init__(self, program: str, folder: Path, *options: str, port: int = 0) -> None:
        self._program = program
        self._folder = folder
        self._options = options
        self._port = port
        self._banner = folder.parent / f"{folder.name}.log"
        self.text = ""
        self.start()

    def start(self) -> None:
        with open(self._banner, "wb") as banner:
            self._process = subprocess.Popen(
                [
                    self._program,
                    "serve",
                    "--data",
                    str(self._folder),
                    "--listen",
                    f"127.0.0.1:{self._port}",
                    *self._options,
                ],
                stdin=subprocess.DEVNULL,
                stdout=banner,
                stderr=banner,
            )
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            self.text = self._banner.read_text()
            found = re.search(r"http://127\.0\.0\.1:(\d+)", self.text)
            if found:
                self._port = int(found.group(1))
                return
            assert self._process.poll() is None, self.text
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.01)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.resume()
            self.kill()


StartServer = Callable[..., Server]


@pytest.fixture
def start_server(program: str, tmp_path: Path) -> Iterator[StartServer]:
    """Starts servers of a test's own."""
    servers: list[Server] = []

    def start(*options: str) -> Server:
        server = Server(program, tmp_path / f"data-{len(servers)}", *options)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="session")
def shared_server(program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that do not harm it; each uses its own workspace."""
    server = Server(program, tmp_path_factory.mktemp("shared") / "data")
    yield server
    server.close()


@pytest.fixture
def workspace(request: pytest.FixtureRequest) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", request.node.name)[:60].strip("-")


@pytest.fixture
def b(shared_server: Server, workspace: str) -> Iterator[baton.Baton]:
    """A client in a workspace of the test's own."""
    with baton.connect(shared_server.url, workspace=workspace, agent="ada") as client:
        yield client


@pytest.fixture(autouse=True)
def no_thread_is_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test ends with the threads that it began with."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + 10
    while True:
        # Connections of fixtures end after this.
        left = [
            thread
            for thread in set(threading.enumerate()) - before
            if not (thread.name == "baton-io" and "b" in request.fixturenames)
            and not thread.name.startswith("asyncio_")
        ]
        if not left:
            return
        assert time.monotonic() < deadline, f"{left} are left behind"
        time.sleep(0.01)
