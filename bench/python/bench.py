"""Measures the Python package: LangGraph checkpoints against SQLite in the same process, and what
the package adds to a request.

target/python-adapters/bin/python bench/python/bench.py PROGRAM [--turns 7] [--seconds 1]

Both sides take turns. A ratio is taken turn by turn, and its median is shown with the lowest and
the highest. Baton runs in a process of its own and syncs every write; SQLite is called in this
process, with the defaults of `SqliteSaver`.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.sqlite import SqliteSaver
from websockets.sync.client import connect as connect_websocket

import baton
from baton.langgraph import BatonSaver


def median_time(work: Callable[[], None], seconds: float) -> float:
    """The median time of one call, in microseconds."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e6


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


def raw_request(url: str, workspace: str) -> Callable[[], None]:
    """The same request as `state.get`, with nothing but a WebSocket and JSON."""
    address = url.replace("http://", "ws://") + "/v1/ws"
    connection = connect_websocket(
        address, subprotocols=["baton.v1.json"], compression=None, max_size=None
    )
    number = 0

    def work() -> None:
        nonlocal number
        number += 1
        request = {"id": number, "workspace": workspace, "agent": "bench", "command": "state.get"}
        connection.send(json.dumps({**request, "namespace": "shared", "key": "plan"}))
        assert json.loads(connection.recv())["id"] == number

    return work


@contextmanager
def server(program: str, folder: Path) -> Generator[str, None, None]:
    """A server without access tokens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place: tuple[str, int] = probe.getsockname()
    address = f"{place[0]}:{place[1]}"
    command = [program, "serve", "--data", str(folder / "data"), "--listen", address]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with (
                suppress(OSError),
                socket.create_connection(place, 1),
            ):
                break
            time.sleep(0.1)
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait()


def compare(
    title: str,
    ours: Callable[[], None],
    theirs: Callable[[], None],
    turns: int,
    seconds: float,
    is_difference: bool = False,
) -> None:
    pairs = [(median_time(ours, seconds), median_time(theirs, seconds)) for _ in range(turns)]
    results = [a - b if is_difference else a / b for a, b in pairs]
    middle = [statistics.median(side) for side in zip(*pairs, strict=True)]
    unit = " µs more" if is_difference else " times as long"
    print(
        f"{title}: {statistics.median(results):.2f}{unit} "
        f"({middle[0]:.0f} µs; {middle[1]:.0f} µs), "
        f"{min(results):.2f} to {max(results):.2f} by turn"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    how = options.turns, options.seconds
    with (
        tempfile.TemporaryDirectory() as folder,
        server(options.program, Path(folder)) as url,
        baton.connect(url, workspace="bench", agent="bench") as b,
        SqliteSaver.from_conn_string(str(Path(folder) / "langgraph.db")) as sqlite,
    ):
        for size, label in ((2_000, "2 KB"), (100_000, "100 KB")):
            ours, theirs = put_and_get(BatonSaver(b), size), put_and_get(sqlite, size)
            compare(f"LangGraph put + get, {label}, against SqliteSaver", ours, theirs, *how)
        b.state.set("plan", {"step": 1})
        raw = raw_request(url, "bench")
        title = "state.get, against a raw WebSocket"
        compare(title, lambda: b.state.get("plan") and None, raw, *how, is_difference=True)


if __name__ == "__main__":
    main()
