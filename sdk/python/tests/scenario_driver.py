"""Plays scenarios through the package, driven as `crates/scenario/src/backends/external.rs` says.

    baton-scenario python tests/scenario_driver.py            through Baton
    baton-scenario python tests/scenario_driver.py --async    through AsyncBaton

A call is made with the generated method of its operation, and every property of what it returns is
read. Only what no method accepts, because the scenario is about bad requests, is sent as it is.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import keyword
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any

import baton
from baton import _queued_calls
from baton._operation import Operation
from baton._operations import OPERATIONS
from baton._record import Record
from baton._requests import Answer
from baton._transaction import TransactionQueue

ANSWER_TIMEOUT = 60.0
# A scenario says which calls have a key: a key is recorded, so events are numbered otherwise.
OPTIONS = baton.Options(automatic_keys=False)

GROUPS = {
    "agent": "agents", "artifact": "artifacts", "barrier": "barriers", "checkpoint": "checkpoints",
    "context": "context", "contract": "contracts", "event": "events", "handler": "handlers",
    "handoff": "handoffs", "inbox": "inbox", "join": "joins", "lock": "locks",
    "message": "messages", "namespace": "namespaces", "pipeline": "pipelines",
    "reaction": "reactions", "rule": "rules", "secret": "secrets", "semaphore": "semaphores",
    "spend": "spending", "state": "state", "stream": "streams", "task": "tasks", "topic": "topics",
    "workspace": "workspace",
}  # fmt: skip

Call = dict[str, Any]


class Seen:
    """The last answer of a handle, with its revision."""

    answer: Answer | None = None


def method_of(handle: Any, command: str, fields: dict[str, Any]) -> Callable[..., Any] | None:
    """The method of an operation that takes these fields; none if there is none."""
    prefix, _, verb = command.partition(".")
    group = getattr(handle, GROUPS.get(prefix, "-"), None)
    method = getattr(group, python_name(verb), None) if command in OPERATIONS else None
    if method is None:
        return None
    try:
        inspect.signature(method).bind(**python_fields(command, fields))
    except TypeError:
        return None
    return method


def python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def python_fields(command: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields under their names in Python. In a scenario `id` has the name of its object."""
    operation = OPERATIONS[command]
    named = {python_name(name): value for name, value in fields.items()}
    if operation.id_field is not None and operation.id_field in named:
        named["id"] = named.pop(operation.id_field)
    return named


def touch(value: Any) -> None:
    """Reads every property of a record, so that each is converted once."""
    if isinstance(value, Record):
        for name, member in vars(type(value)).items():
            if isinstance(member, property):
                touch(getattr(value, name))
    elif isinstance(value, list):
        for each in value:  # pyright: ignore[reportUnknownVariableType]
            touch(each)
    elif isinstance(value, dict):
        for each in value.values():  # pyright: ignore[reportUnknownVariableType]
            touch(each)


def raw_of(value: Any) -> Any:
    return value.raw if isinstance(value, Record) else value


def refused(error: baton.BatonError) -> dict[str, Any]:
    problem = {"code": error.code, "kind": error.kind, "detail": error.detail, "hint": error.hint}
    return {"error": {**error.facts, **problem}}


def prepared(call: Call) -> tuple[str, dict[str, Any], str, Operation]:
    """The agent that acts, the fields without it, the command, and its operation."""
    command, fields, agent = call["command"], dict(call["fields"]), call["agent"]
    operation = OPERATIONS.get(command) or Operation(command)
    if operation.agent == "acts" and "agent" in fields:
        agent = fields.pop("agent")
    return agent, fields, command, operation


def is_transaction(fields: dict[str, Any]) -> bool:
    """Whether it can be written as one; the rest are bad requests."""
    return set(fields) in ({"commands"}, {"commands", "require"})


def queue(batch: TransactionQueue, fields: dict[str, Any]) -> None:
    """Queues the commands and preconditions of a transaction."""
    for precondition in fields.get("require", []):
        batch.require(precondition)
    for command in fields.get("commands", []):
        rest = {name: value for name, value in command.items() if name != "command"}
        name = str(command.get("command"))
        method = method_of(batch, name, rest)
        if method is not None:
            method(**python_fields(name, rest))
        else:
            batch.queue(OPERATIONS.get(name) or Operation(name), rest, lambda raw: raw)


def results_of(command: str) -> str:
    return "results" if command == "transaction" else "result"


class SyncPlayer:
    """Plays through `Baton`."""

    def __init__(self) -> None:
        self._waits: list[tuple[str, Future[Any]]] = []

    def open(self, url: str) -> None:
        self._waits = []
        self._baton = baton.connect(url, options=OPTIONS)

    def close(self) -> None:
        self._baton.close()

    def _handle(self, call: Call, agent: str, seen: Seen) -> baton.Baton:
        class Recording(baton.Baton):
            def execute(self, *args: Any, **how: Any) -> Answer:
                seen.answer = super().execute(*args, **how)
                return seen.answer

        handle = self._baton.in_workspace(call["workspace"]).as_agent(agent)
        if call["idempotency_key"] is not None:
            handle = handle.once(call["idempotency_key"])
        return Recording(handle._owner, handle._view)  # pyright: ignore[reportPrivateUsage]

    def call(self, call: Call) -> Any:
        agent, fields, command, operation = prepared(call)
        seen = Seen()
        handle = self._handle(call, agent, seen)
        try:
            if command == "transaction" and is_transaction(fields):
                with handle.transaction() as batch:
                    queue(batch, fields)
                assert seen.answer is not None
                return {"revision": batch.revision, "results": seen.answer.result}
            if operation.minimal and fields.get("return") == "minimal":
                rest = {name: value for name, value in fields.items() if name != "return"}
                result = handle.call_minimal(command, **rest)
                touch(result)
                assert seen.answer is not None
                return {"revision": seen.answer.revision, "result": result.raw}
            method = method_of(handle, command, fields)
            if method is None:
                answer = handle.execute(operation, fields)
                return {"revision": answer.revision, results_of(command): answer.result}
            result = method(**python_fields(command, fields))
        except baton.BatonError as error:
            return refused(error)
        touch(result)
        assert seen.answer is not None
        return {"revision": seen.answer.revision, "result": raw_of(result)}

    def _revision(self, call: Call) -> int:
        return self.call({**call, "command": "workspace.get", "fields": {}})["revision"]

    def call_blocking(self, call: Call) -> Any:
        before = self._revision(call)
        waiting: Future[Any] = Future()

        def wait() -> None:
            waiting.set_result(self.call(call))

        threading.Thread(target=wait, daemon=True).start()
        until = time.monotonic() + ANSWER_TIMEOUT
        while time.monotonic() < until:
            if waiting.done():
                return waiting.result()
            if self._revision(call) != before:
                break
        self._waits.append((call["agent"], waiting))
        return None

    def receive_answer(self, agent: str) -> Any:
        for index, (name, waiting) in enumerate(self._waits):
            if name == agent:
                del self._waits[index]
                return waiting.result(ANSWER_TIMEOUT)
        return None

    def events(self, workspace: str, after: int, up_to: int) -> list[Any]:
        events: list[Any] = []
        with self._baton.in_workspace(workspace).watch("**", start=after + 1, waits=True) as watch:
            for event in watch:
                touch(event)
                events.append(event.raw)
                if event.get("last") and event.revision == up_to:
                    return events
        return events


class AsyncPlayer:
    """Plays through `AsyncBaton`, in a loop of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._waits: list[tuple[str, asyncio.Task[Any]]] = []

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(asyncio.wait_for(coroutine, ANSWER_TIMEOUT))

    def open(self, url: str) -> None:
        async def connect() -> baton.AsyncBaton:
            return await baton.connect_async(url, options=OPTIONS)

        self._waits = []
        self._baton: baton.AsyncBaton = self._run(connect())

    def close(self) -> None:
        for _, task in self._waits:
            task.cancel()
        self._run(self._baton.close())

    async def _call(self, call: Call) -> Any:
        agent, fields, command, operation = prepared(call)
        seen = Seen()

        class Recording(baton.AsyncBaton):
            async def execute(self, *args: Any, **how: Any) -> Answer:
                seen.answer = await super().execute(*args, **how)
                return seen.answer

        handle = self._baton.in_workspace(call["workspace"]).as_agent(agent)
        if call["idempotency_key"] is not None:
            handle = handle.once(call["idempotency_key"])
        handle = Recording(handle._owner, handle._view)  # pyright: ignore[reportPrivateUsage]
        try:
            if command == "transaction" and is_transaction(fields):
                async with handle.transaction() as batch:
                    queue(batch, fields)
                assert seen.answer is not None
                return {"revision": batch.revision, "results": seen.answer.result}
            if operation.minimal and fields.get("return") == "minimal":
                rest = {name: value for name, value in fields.items() if name != "return"}
                result = await handle.call_minimal(command, **rest)
                touch(result)
                assert seen.answer is not None
                return {"revision": seen.answer.revision, "result": result.raw}
            method = method_of(handle, command, fields)
            if method is None:
                answer = await handle.execute(operation, fields)
                return {"revision": answer.revision, results_of(command): answer.result}
            result = await method(**python_fields(command, fields))
        except baton.BatonError as error:
            return refused(error)
        touch(result)
        assert seen.answer is not None
        return {"revision": seen.answer.revision, "result": raw_of(result)}

    def call(self, call: Call) -> Any:
        return self._run(self._call(call))

    def call_blocking(self, call: Call) -> Any:
        async def begin() -> Any:
            look: Call = {**call, "command": "workspace.get", "fields": {}}
            before = (await self._call(look))["revision"]
            waiting = asyncio.ensure_future(self._call(call))
            while True:
                present = (await self._call(look))["revision"]
                if waiting.done():
                    return waiting.result()
                if present != before:
                    self._waits.append((call["agent"], waiting))
                    return None

        return self._run(begin())

    def receive_answer(self, agent: str) -> Any:
        for index, (name, waiting) in enumerate(self._waits):
            if name == agent:
                del self._waits[index]

                async def result(task: asyncio.Task[Any]) -> Any:
                    return await task

                return self._run(result(waiting))
        return None

    def events(self, workspace: str, after: int, up_to: int) -> list[Any]:
        async def read() -> list[Any]:
            events: list[Any] = []
            handle = self._baton.in_workspace(workspace)
            async with await handle.watch("**", start=after + 1, waits=True) as watch:
                async for event in watch:
                    touch(event)
                    events.append(event.raw)
                    if event.get("last") and event.revision == up_to:
                        break
            return events

        return self._run(read())


def main() -> None:
    # Every command of a transaction has its method; a group that is missing would go unnoticed.
    assert all(
        hasattr(TransactionQueue, name) for name in GROUPS.values() if _in_transactions(name)
    )
    player: Any = AsyncPlayer() if "--async" in sys.argv[1:] else SyncPlayer()
    for text in sys.stdin:
        line = json.loads(text)
        what = line.pop("do")
        if what in ("open", "close"):
            getattr(player, what)(**line)
            reply: dict[str, Any] = {}
        elif what == "events":
            reply = {"events": player.events(**line)}
        elif what == "receive_answer":
            reply = {"answer": player.receive_answer(**line)}
        else:
            reply = {"answer": getattr(player, what)(line)}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def _in_transactions(group: str) -> bool:
    return hasattr(_queued_calls, f"{group.title()}Calls")


if __name__ == "__main__":
    main()
