"""Transactions: several commands, all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import params
from ._command_queue import CommandQueue, Pending
from ._omit import OMIT
from ._operation import Operation

T = TypeVar("T")


class TransactionQueue(CommandQueue):
    """The commands and preconditions of a transaction that is being written.

    `require_*` adds preconditions; the groups (`state`, `tasks`, …) queue commands. A command
    returns a `Pending`, whose `result` can be read after the commit.
    """

    def __init__(self, agent: str) -> None:
        super().__init__(agent)
        self._require: list[params.Precondition] = []
        self._commands: list[dict[str, Any]] = []
        self._pending: list[Pending[Any]] = []
        self.revision: int | None = None
        """The revision of the commit."""

    def require(self, precondition: params.Precondition) -> None:
        """Any precondition, as it is on the wire."""
        self._require.append(precondition)

    def require_entry(
        self,
        key: str,
        *,
        version: int | None = None,
        exists: bool | None = None,
        value: Any = OMIT,
        namespace: str = "shared",
    ) -> None:
        """The entry must have this version (0: absent), exist or not, or have this value."""
        entry: dict[str, Any] = {"namespace": namespace, "key": key}
        if version is not None:
            entry["version"] = version
        if exists is not None:
            entry["exists"] = exists
        if value is not OMIT:
            entry["value"] = value
        self._require.append({"entry": entry})  # pyright: ignore[reportArgumentType]

    def require_token(self, token: int) -> None:
        """The lease, hold, permit or session with this token must not be over."""
        self._require.append({"token": token})

    def require_revision(self, revision: int) -> None:
        """The workspace must not have changed since this revision."""
        self._require.append({"revision": revision})

    def require_agent(self, agent: str, active: bool = True) -> None:
        """The agent must have an active session, or none."""
        self._require.append({"agent": {"agent": agent, "active": active}})

    def require_namespace(self, name: str, exists: bool = True) -> None:
        """The namespace must exist, or not."""
        self._require.append({"namespace": {"name": name, "exists": exists}})

    def require_task(
        self, task: str, *, status: str | None = None, holder: str | None = None
    ) -> None:
        """The task must exist, and have this status or be held by this agent."""
        wanted = {"status": status, "holder": holder}
        given = {name: value for name, value in wanted.items() if value is not None}
        self._require.append({"task": {"task": task, **given}})  # pyright: ignore[reportArgumentType]

    def require_lock(
        self, name: str, *, held: bool | None = None, holder: str | None = None
    ) -> None:
        """The lock must be held or free, or be held by this agent."""
        wanted = {"held": held, "holder": holder}
        given = {name: value for name, value in wanted.items() if value is not None}
        self._require.append({"lock": {"name": name, **given}})  # pyright: ignore[reportArgumentType]

    def require_handoff(self, handoff: str, status: str) -> None:
        """The hand-off must have this status."""
        wanted = {"handoff": handoff, "status": status}
        self._require.append({"handoff": wanted})  # pyright: ignore[reportArgumentType]

    def optional(self, pending: Pending[T]) -> Pending[T]:
        """Lets a queued command come to nothing, such as a lock that is not free.

        Without this, no command is executed then.
        """
        self._commands[self._pending.index(pending)]["optional"] = True
        return pending

    def queue(
        self, operation: Operation, fields: dict[str, Any], make: Callable[[Any], T]
    ) -> Pending[T]:
        """Queues a command."""
        self._commands.append({"command": operation.name, **fields})
        pending = Pending(make)
        self._pending.append(pending)
        return pending

    def fields(self, fence: int | None) -> dict[str, Any]:
        """The fields of the command `transaction`."""
        require: list[Any] = list(self._require)
        if fence is not None:
            require.insert(0, {"token": fence})
        return {"require": require, "commands": self._commands}

    def committed(self, revision: int, results: list[Any]) -> None:
        self.revision = revision
        for pending, raw in zip(self._pending, results, strict=True):
            pending.resolve(raw)

    @property
    def is_empty(self) -> bool:
        return not self._commands
