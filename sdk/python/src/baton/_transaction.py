"""Transactions: several commands, all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import params
from ._omit import OMIT
from ._operation import Operation
from .errors import Invalid

if TYPE_CHECKING:
    from . import _transaction_calls as calls

T = TypeVar("T")


class Pending(Generic[T]):
    """The result of a queued command, once the transaction is committed."""

    __slots__ = ("_make", "_raw")

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._raw: Any = OMIT

    @property
    def result(self) -> T:
        """What the command returned."""
        if self._raw is OMIT:
            raise Invalid(
                "client.not_committed",
                "the transaction is not committed",
                "read the result after the `with` block has ended",
            )
        return self._make(self._raw)

    def resolve(self, raw: Any) -> None:
        self._raw = raw


class Batch:
    """The commands and preconditions of a transaction that is being written.

    `require_*` adds preconditions; the groups (`state`, `tasks`, …) queue commands. A command
    returns a `Pending`, whose `result` can be read after the commit.
    """

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._require: list[params.Precondition] = []
        self._commands: list[dict[str, Any]] = []
        self._pending: list[Pending[Any]] = []
        self._is_committed = False
        self.revision: int | None = None
        """The revision of the commit."""

    @property
    def agent(self) -> str:
        return self._agent

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

    # The groups. They are imported when a transaction is first made.

    @cached_property
    def agents(self) -> calls.AgentsCalls:
        return _calls().AgentsCalls(self)

    @cached_property
    def artifacts(self) -> calls.ArtifactsCalls:
        return _calls().ArtifactsCalls(self)

    @cached_property
    def barriers(self) -> calls.BarriersCalls:
        return _calls().BarriersCalls(self)

    @cached_property
    def checkpoints(self) -> calls.CheckpointsCalls:
        return _calls().CheckpointsCalls(self)

    @cached_property
    def contracts(self) -> calls.ContractsCalls:
        return _calls().ContractsCalls(self)

    @cached_property
    def events(self) -> calls.EventsCalls:
        return _calls().EventsCalls(self)

    @cached_property
    def handlers(self) -> calls.HandlersCalls:
        return _calls().HandlersCalls(self)

    @cached_property
    def handoffs(self) -> calls.HandoffsCalls:
        return _calls().HandoffsCalls(self)

    @cached_property
    def inbox(self) -> calls.InboxCalls:
        return _calls().InboxCalls(self)

    @cached_property
    def joins(self) -> calls.JoinsCalls:
        return _calls().JoinsCalls(self)

    @cached_property
    def locks(self) -> calls.LocksCalls:
        return _calls().LocksCalls(self)

    @cached_property
    def messages(self) -> calls.MessagesCalls:
        return _calls().MessagesCalls(self)

    @cached_property
    def namespaces(self) -> calls.NamespacesCalls:
        return _calls().NamespacesCalls(self)

    @cached_property
    def pipelines(self) -> calls.PipelinesCalls:
        return _calls().PipelinesCalls(self)

    @cached_property
    def reactions(self) -> calls.ReactionsCalls:
        return _calls().ReactionsCalls(self)

    @cached_property
    def rules(self) -> calls.RulesCalls:
        return _calls().RulesCalls(self)

    @cached_property
    def secrets(self) -> calls.SecretsCalls:
        return _calls().SecretsCalls(self)

    @cached_property
    def semaphores(self) -> calls.SemaphoresCalls:
        return _calls().SemaphoresCalls(self)

    @cached_property
    def spending(self) -> calls.SpendingCalls:
        return _calls().SpendingCalls(self)

    @cached_property
    def state(self) -> calls.StateCalls:
        return _calls().StateCalls(self)

    @cached_property
    def streams(self) -> calls.StreamsCalls:
        return _calls().StreamsCalls(self)

    @cached_property
    def tasks(self) -> calls.TasksCalls:
        return _calls().TasksCalls(self)

    @cached_property
    def topics(self) -> calls.TopicsCalls:
        return _calls().TopicsCalls(self)

    @cached_property
    def workspace(self) -> calls.WorkspaceCalls:
        return _calls().WorkspaceCalls(self)


class TransactionCalls:
    """Operations that are queued into a transaction."""

    __slots__ = ("_batch",)

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    @property
    def _agent(self) -> str:
        return self._batch.agent

    @property
    def _namespace(self) -> str:
        return "shared"

    def _queue(
        self, operation: Operation, fields: dict[str, Any], make: Callable[[Any], T]
    ) -> Pending[T]:
        return self._batch.queue(operation, fields, make)


def _calls() -> Any:
    from . import _transaction_calls

    return _transaction_calls
