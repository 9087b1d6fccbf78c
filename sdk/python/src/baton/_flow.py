"""Algorithms of several calls, written once for both shells.

A flow is a generator: it yields calls, gets their results, and returns what came of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from . import types
from ._operation import Operation
from ._operations import OPERATIONS
from .errors import BatonError, Conflict, Invalid, NotAcquired, NotFound, TaskFailed

T = TypeVar("T")

WAIT_MAX_MS = 600_000
"""How long one call waits at most; longer waits are several calls."""
RECEIVE_MAX_MS = 30_000
"""The same for calls that receive something again and again."""


@dataclass
class Call:
    """A call to make."""

    operation: str
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    token: int | None = None
    timeout: float | None = None
    """How long it may take, in seconds, if that is not what the options say."""


Flow = Generator[Call, Any, T]


def waits(wait: float | None) -> Iterator[int | None]:
    """The waits of successive calls that together wait so many seconds: forever if none."""
    if wait == 0:
        yield None
    left = None if wait is None or math.isinf(wait) else round(wait * 1000)
    while left is None or left > 0:
        chunk = RECEIVE_MAX_MS if left is None else min(left, RECEIVE_MAX_MS)
        yield chunk
        left = None if left is None else left - chunk


def update(
    namespace: str, key: str, change: Callable[[Any], Any], default: Any
) -> Flow[types.Entry]:
    """Reads, changes and writes a value, and begins again when another was faster."""
    where = {"namespace": namespace, "key": key}
    try:
        current: dict[str, Any] | None = yield Call("state.get", dict(where))
    except NotFound as error:
        if error.code != "state.not_found":
            raise
        current = None
    while True:
        value = change(default if current is None else current["value"])
        version = 0 if current is None else current["version"]
        fields = {**where, "value": value, "expected_version": version}
        try:
            return types.Entry((yield Call("state.set", fields)))
        except Conflict as error:
            if error.code != "state.version_conflict" or "entry" not in error.facts:
                raise
            current = error.facts["entry"]


def value_or(namespace: str, key: str, default: T) -> Flow[Any | T]:
    """The value of a key, or something else if it is absent."""
    try:
        return (yield Call("state.get", {"namespace": namespace, "key": key}))["value"]
    except NotFound as error:
        if error.code != "state.not_found":
            raise
        return default


def waiting(call: Call, wait: float | None, what: str) -> Flow[Any]:
    """Makes a call that waits, for as long as is wanted: forever if `wait` is none."""
    left = None if wait is None or math.isinf(wait) else max(round(wait * 1000), 0)
    while True:
        chunk = WAIT_MAX_MS if left is None else min(left, WAIT_MAX_MS)
        fields = {**call.fields, "wait_ms": chunk} if chunk else call.fields
        result = yield Call(call.operation, fields, call.token)
        if result is not None:
            return result
        if left is not None:
            left -= chunk
            if left <= 0:
                assert wait is not None
                raise NotAcquired(what, wait)


def gather(tasks: Sequence[str], wait: float | None, return_exceptions: bool) -> Flow[list[Any]]:
    """Waits until tasks have finished, and returns their results in the same order."""
    if not tasks:
        return []
    distinct = list(dict.fromkeys(tasks))
    join = yield Call("join.create", {"tasks": distinct, "need": "all"})
    what = f"the result of {len(distinct)} tasks"
    yield from waiting(Call("join.wait", {"join": join["id"]}), wait, what)
    outcomes: dict[str, Any] = {}
    for task in distinct:
        found = yield Call("task.get", {"task": task})
        if found["status"] == "completed":
            outcomes[task] = found.get("result")
            continue
        error = TaskFailed(task, found["status"], found.get("error"))
        if not return_exceptions:
            raise error
        outcomes[task] = error
    return [outcomes[task] for task in tasks]


def run_task(fields: Mapping[str, Any], wait: float | None) -> Flow[Any]:
    """Creates a task and waits for its result."""
    task = yield Call("task.create", dict(fields))
    return (yield from gather([task["id"]], wait, False))[0]


def ignoring(call: Call, *kinds: type[BatonError]) -> Flow[Any]:
    """Makes a call; errors of these kinds do not matter."""
    try:
        return (yield call)
    except kinds:
        return None


def operation_named(name: str) -> Operation:
    operation = OPERATIONS.get(name)
    if operation is None:
        raise Invalid(
            "request.unknown_command",
            f"there is no command `{name}`",
            "see docs/reference.md for the operations",
        )
    return operation
