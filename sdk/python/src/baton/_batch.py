"""Batches: several calls that are sent together, each of which is executed independently."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ._command_queue import CommandQueue, Pending
from ._error import BatonError
from ._flow import operation_named
from ._operation import Operation
from ._requests import Outcome

T = TypeVar("T")

QueuedCall = tuple[Operation, dict[str, Any]]
"""An operation and its fields."""


class BatchQueue(CommandQueue):
    """The calls of a batch that is being written.

    They are sent at once and executed in this order, without waiting for each other: one that is
    refused does not stop the next.
    """

    def __init__(self, agent: str) -> None:
        super().__init__(agent)
        self._calls: list[QueuedCall] = []
        self._pending: list[Pending[Any]] = []

    def queue(
        self, operation: Operation, fields: dict[str, Any], make: Callable[[Any], T]
    ) -> Pending[T]:
        """Queues a call."""
        self._calls.append((operation, fields))
        pending = Pending(make)
        self._pending.append(pending)
        return pending

    def call(self, command: str, **fields: Any) -> Pending[Any]:
        """Queues any operation, also one that reads, by its name and the fields of the wire; its
        result is plain JSON."""
        return self.queue(operation_named(command), fields, lambda raw: raw)

    def take(self) -> tuple[list[QueuedCall], list[Pending[Any]]]:
        """The calls that were queued since the last time."""
        taken = self._calls, self._pending
        self._calls, self._pending = [], []
        return taken


def settle(pending: Sequence[Pending[Any]], outcomes: Sequence[Outcome]) -> None:
    """Delivers the outcomes, and then raises the first error, if there is one."""
    for each, outcome in zip(pending, outcomes, strict=True):
        each.resolve(outcome if isinstance(outcome, BatonError) else outcome.result)
    for outcome in outcomes:
        if isinstance(outcome, BatonError):
            raise outcome
