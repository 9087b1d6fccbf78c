"""Measures the Python package against what people use today, in one run:

- LangGraph checkpoints, put and get, against `SqliteSaver` in this process and `PostgresSaver`,
- a worker that claims and completes tasks, against Celery on Redis with late acknowledgement,
- what the package adds to a request, against a raw WebSocket.

    bench/python/run [PROGRAM] [--turns 7] [--seconds 1] [--tasks 2000] [--only worker]

The sides take turns. A ratio is taken turn by turn, and its median is shown with the lowest and the
highest; above 1, Baton is faster. The processor time of an operation is that of this process and of
the servers together. Every server is a process of its own in a temporary folder, on a free port.
Baton, PostgreSQL and Redis sync every write, SQLite as `SqliteSaver` sets it.
"""

from __future__ import annotations

import argparse
import json
import os
import pwd
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from websockets.sync.client import connect as connect_websocket

import baton
from baton.langgraph import BatonSaver

TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclass
class Taken:
    """The time of one operation, in microseconds."""

    time: float
    processor: float


def processor_seconds(pids: Sequence[int]) -> float:
    """The processor time of this process, and of others with their children."""
    total = time.process_time()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or not pids:
            continue
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(folder.name) in pids or int(fields[1]) in pids:
                total += (int(fields[11]) + int(fields[12])) * TICK
    return total


def measured(work: Callable[[], None], seconds: float, pids: Sequence[int]) -> Taken:
    """The median time of one call, and its mean processor time."""
    times: list[float] = []
    busy = processor_seconds(pids)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    busy = processor_seconds(pids) - busy
    return Taken(statistics.median(times) * 1e6, busy / len(times) * 1e6)


def put_and_get(saver: BaseCheckpointSaver[Any], size: int) -> Callable[[], None]:
    """One step of a thread: a checkpoint whose only channel changes, which is then read."""
    config: Any = {"configurable": {"thread_id": uuid4().hex, "checkpoint_ns": ""}}
    version = 0

    def work() -> None:
        nonlocal config, version
        version += 1
        checkpoint: Any = {
            **empty_checkpoint(),
            "id": str(uuid6()),
            "channel_values": {"messages": "x" * size},
            "channel_versions": {"messages": version},
        }
        config = saver.put(config, checkpoint, {"step": version}, {"messages": version})
        assert saver.get_tuple({"configurable": {**config["configurable"]}}) is not None

    return work


def raw_request(connection: Any, workspace: str) -> Callable[[], None]:
    """The same request as `state.get`, with nothing but a WebSocket and JSON."""
    number = 0

    def work() -> None:
        nonlocal number
        number += 1
        request = {"id": number, "workspace": workspace, "agent": "bench", "command": "state.get"}
        connection.send(json.dumps({**request, "namespace": "shared", "key": "plan"}))
        assert json.loads(connection.recv())["id"] == number

    return work


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running(command: Sequence[str], port: int, **how: Any) -> Generator[int, None, None]:
    """A server that accepts connections: its process."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, **quiet, **how)
    try:
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


@contextmanager
def postgres(folder: Path) -> Generator[tuple[str, int], None, None]:
    """PostgreSQL with its defaults, and its process. It refuses to run as root."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    program = shutil.which("postgres") or (str(max(found)) if found else None)
    if program is None:
        sys.exit("there is no PostgreSQL: apt install postgresql")
    program = str(Path(program).resolve())
    data, port = folder / "postgres", free_port()
    data.mkdir()
    how: dict[str, Any] = {"cwd": data}
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        folder.chmod(0o755)
        os.chown(data, user.pw_uid, user.pw_gid)
        how |= {"user": user.pw_uid, "group": user.pw_gid}
    initdb = [str(Path(program).parent / "initdb"), "--pgdata", str(data), "--username", "bench"]
    subprocess.run([*initdb, "--auth", "trust"], check=True, stdout=subprocess.DEVNULL, **how)
    command = [program, "-D", str(data), "-p", str(port), "-k", str(data), "-h", "127.0.0.1"]
    with running(command, port, **how) as pid:
        for _ in range(100):
            ready = subprocess.run(
                [str(Path(program).parent / "pg_isready"), "-h", "127.0.0.1", "-p", str(port)],
                stdout=subprocess.DEVNULL,
                check=False,
            )
            if ready.returncode == 0:
                break
            time.sleep(0.1)
        yield f"postgresql://bench@127.0.0.1:{port}/postgres", pid


@contextmanager
def redis(folder: Path) -> Generator[tuple[str, int], None, None]:
    program = shutil.which("redis-server")
    if program is None:
        sys.exit("there is no Redis: apt install redis-server")
    port = free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
    with running([*command, *durable], port) as pid:
        yield f"redis://127.0.0.1:{port}/0", pid


CELERY = """
import os, resource, time
from celery import Celery

app = Celery("bench", broker=os.environ["BENCH_REDIS"])
app.conf.update(task_acks_late=True, task_ignore_result=True, worker_prefetch_multiplier=1)
begun, done = 0.0, 0

@app.task
def work(number, count, report):
    global begun, done
    if done == 0:
        begun = time.perf_counter()
    done += 1
    if done == count:
        seconds = time.perf_counter() - begun
        busy = resource.getrusage(resource.RUSAGE_SELF)
        with open(report + ".new", "w") as file:
            print(seconds, busy.ru_utime + busy.ru_stime, file=file)
        os.rename(report + ".new", report)
        begun, done = 0.0, 0
"""


class CeleryWorker:
    """One Celery worker, which runs its tasks itself, one after another."""

    def __init__(self, url: str, pid: int, folder: Path) -> None:
        (folder / "bench_tasks.py").write_text(CELERY)
        self._folder, self._redis = folder, pid
        os.environ["BENCH_REDIS"] = url
        sys.path.insert(0, str(folder))
        from bench_tasks import work  # pyright: ignore

        self._work: Any = work
        self._command = [sys.executable, "-m", "celery", "-A", "bench_tasks", "worker"]
        self._command += ["--pool", "solo", "--without-gossip", "--without-mingle"]

    def turn(self, count: int) -> Taken:
        report = self._folder / uuid4().hex
        for number in range(count):
            self._work.delay(number, count, str(report))
        busy = processor_seconds([self._redis]) - time.process_time()
        how: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        worker = subprocess.Popen([*self._command, "-l", "ERROR"], cwd=self._folder, **how)
        try:
            while not report.exists():
                time.sleep(0.05)
                assert worker.poll() is None, "the Celery worker has ended"
        finally:
            worker.terminate()
            worker.wait()
        busy = processor_seconds([self._redis]) - time.process_time() - busy
        # The start of the worker is in its processor time, but not in the time.
        seconds, worker_busy = map(float, report.read_text().split())
        return Taken(seconds / count * 1e6, (worker_busy + busy) / count * 1e6)


def baton_turn(b: baton.Baton, pid: int, count: int) -> Taken:
    """One worker of the package: a loop that claims with the completion of the task before."""
    kind = f"bench-{uuid4().hex}"
    for number in range(count):
        b.tasks.create(kind, {"number": number})
    times: list[float] = []
    worker = b.worker()

    @worker.task(kind)
    def work(job: baton.Job) -> None:
        times.append(time.perf_counter())
        if len(times) == count:
            worker.stop()

    busy = processor_seconds([pid])
    worker.run()
    busy = processor_seconds([pid]) - busy
    return Taken((times[-1] - times[0]) / (count - 1) * 1e6, busy / count * 1e6)


def show(
    title: str, pairs: Sequence[tuple[Taken, Taken]], goal: float | None, unit: str = ""
) -> None:
    is_difference = goal is None
    results = [a.time - b.time if is_difference else b.time / a.time for a, b in pairs]
    ours, theirs = zip(*pairs, strict=True)
    middle = statistics.median(results)

    def side(turns: Sequence[Taken]) -> str:
        taken = statistics.median(it.time for it in turns)
        busy = statistics.median(it.processor for it in turns)
        return f"{taken:.0f} µs, CPU {busy:.0f} µs"

    verdict = "" if goal is None else f", at least {goal}: {'PASS' if middle >= goal else 'BELOW'}"
    print(
        f"{title}: {middle:.2f}{unit} ({side(ours)}; {side(theirs)}), "
        f"{min(results):.2f}-{max(results):.2f} by turn{verdict}",
        flush=True,
    )


class Bench:
    """A server of Baton, and what is measured with it."""

    def __init__(self, options: argparse.Namespace, stack: ExitStack) -> None:
        self.options, self.stack = options, stack
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [options.program, "serve", "--data", str(self.folder / "data")]
        command += ["--listen", f"127.0.0.1:{port}"]
        self.pid = stack.enter_context(running(command, port, cwd=self.folder))
        self.b = stack.enter_context(baton.connect(self.url, workspace="bench", agent="bench"))

    def turns(
        self, ours: Callable[[], None], theirs: Callable[[], None], pids: Sequence[int]
    ) -> list[tuple[Taken, Taken]]:
        seconds = self.options.seconds
        return [
            (measured(ours, seconds, [self.pid]), measured(theirs, seconds, pids))
            for _ in range(self.options.turns)
        ]

    def langgraph(self) -> None:
        database, database_pid = self.stack.enter_context(postgres(self.folder))
        in_postgres = self.stack.enter_context(PostgresSaver.from_conn_string(database))
        in_postgres.setup()
        file = str(self.folder / "langgraph.db")
        in_sqlite = self.stack.enter_context(SqliteSaver.from_conn_string(file))
        savers: list[tuple[str, BaseCheckpointSaver[Any], list[int], float]] = [
            ("SqliteSaver", in_sqlite, [], 1.0),
            ("PostgresSaver", in_postgres, [database_pid], 5.0),
        ]
        for size, label in ((2_000, "2 KB"), (100_000, "100 KB")):
            for name, saver, pids, goal in savers:
                ours, theirs = put_and_get(BatonSaver(self.b), size), put_and_get(saver, size)
                title = f"LangGraph put + get, {label}, against {name}"
                show(title, self.turns(ours, theirs, pids), goal)

    def worker(self) -> None:
        queue, queue_pid = self.stack.enter_context(redis(self.folder))
        celery = CeleryWorker(queue, queue_pid, self.folder)
        count = self.options.tasks
        pairs = [
            (baton_turn(self.b, self.pid, count), celery.turn(count))
            for _ in range(self.options.turns)
        ]
        show("claim and complete, one worker, against Celery on Redis", pairs, 3.0)

    def overhead(self) -> None:
        self.b.state.set("plan", {"step": 1})
        address = self.url.replace("http://", "ws://") + "/v1/ws"
        web_socket = connect_websocket(
            address, subprotocols=["baton.v1.json"], compression=None, max_size=None
        )
        raw = raw_request(self.stack.enter_context(web_socket), "bench")

        def get() -> None:
            self.b.state.get("plan")

        pairs = self.turns(get, raw, [self.pid])
        show("state.get, against a raw WebSocket", pairs, None, " µs more")


PARTS: dict[str, Callable[[Bench], None]] = {
    "langgraph": Bench.langgraph,
    "worker": Bench.worker,
    "overhead": Bench.overhead,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--tasks", type=int, default=2_000)
    parser.add_argument("--only", choices=PARTS, action="append")
    options = parser.parse_args()
    with ExitStack() as stack:
        bench = Bench(options, stack)
        for name, part in PARTS.items():
            if options.only is None or name in options.only:
                part(bench)


if __name__ == "__main__":
    main()
