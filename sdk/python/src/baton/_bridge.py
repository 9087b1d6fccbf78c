"""Runs algorithms of several calls for frameworks that call blocking and awaited methods of the
same object, whichever client that object has.

| client | blocking method | awaited method |
|---|---|---|
| `Baton` | in the thread of the caller | in a thread of the loop's executor |
| `AsyncBaton` | in the loop of the client, which must run in another thread | in the loop |
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from typing import Any, ParamSpec, TypeVar

from ._async_baton import AsyncBaton
from ._baton import Baton
from ._flow import Call, operation_named
from ._operation import Operation
from ._protocol import TRANSACTION
from .errors import Invalid

T = TypeVar("T")
P = ParamSpec("P")

Client = Baton | AsyncBaton
Steps = Generator[Call | Sequence[Call], Any, T]
"""Like a flow, but several independent calls may be yielded together; their results are a list."""


C = TypeVar("C", Baton, AsyncBaton)


def _prepared(client: C, call: Call) -> tuple[C, Operation, dict[str, Any]]:
    """The handle, the operation and the fields of a call."""
    if call.operation != TRANSACTION.name:
        return client, operation_named(call.operation), call.fields
    if client.token is None:
        return client, TRANSACTION, call.fields
    # The token of the handle is a precondition here, not a field.
    require = [{"token": client.token}, *call.fields["require"]]
    return client.without_token(), TRANSACTION, {**call.fields, "require": require}


def _run(client: Baton, steps: Steps[T]) -> T:
    def execute(call: Call) -> Any:
        handle, operation, fields = _prepared(client, call)
        return handle.execute(operation, fields, token=call.token).result

    try:
        wanted = next(steps)
        while True:
            try:
                result = (
                    execute(wanted)
                    if isinstance(wanted, Call)
                    else [execute(call) for call in wanted]
                )
            except Exception as error:
                wanted = steps.throw(error)
            else:
                wanted = steps.send(result)
    except StopIteration as stop:
        return stop.value


async def _run_async(client: AsyncBaton, steps: Steps[T]) -> T:
    async def execute(call: Call) -> Any:
        handle, operation, fields = _prepared(client, call)
        return (await handle.execute(operation, fields, token=call.token)).result

    try:
        wanted = next(steps)
        while True:
            try:
                result: Any
                if isinstance(wanted, Call):
                    result = await execute(wanted)
                else:
                    result = await asyncio.gather(*map(execute, wanted))
            except Exception as error:
                wanted = steps.throw(error)
            else:
                wanted = steps.send(result)
    except StopIteration as stop:
        return stop.value


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class Bridge:
    """A client, for blocking and for awaited methods."""

    def __init__(self, client: Client) -> None:
        self.client = client
        # An `AsyncBaton` belongs to the loop in which it was opened.
        self._loop = _running_loop() if isinstance(client, AsyncBaton) else None

    def run(self, steps: Steps[T]) -> T:
        """For blocking methods."""
        if isinstance(self.client, Baton):
            return _run(self.client, steps)
        if self._loop is None or self._loop is _running_loop():
            steps.close()
            raise Invalid(
                "client.blocking_call",
                "a blocking method was called in the event loop of its AsyncBaton",
                "await the asynchronous method, or use a client of `baton.connect`",
            )
        return asyncio.run_coroutine_threadsafe(_run_async(self.client, steps), self._loop).result()

    async def run_async(self, steps: Steps[T]) -> T:
        """For awaited methods."""
        if isinstance(self.client, AsyncBaton):
            self._loop = self._loop or asyncio.get_running_loop()
            return await _run_async(self.client, steps)
        return await asyncio.to_thread(_run, self.client, steps)

    async def in_thread(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Calls a function that blocks."""
        return await asyncio.to_thread(function, *arguments, **named)
