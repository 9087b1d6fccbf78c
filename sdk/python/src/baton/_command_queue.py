"""Commands that are queued in a `with` block and sent when it ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._error import BatonError
from ._omit import OMIT
from ._operation import Operation
from .errors import Invalid

if TYPE_CHECKING:
    from . import _queued_calls as calls

T = TypeVar("T")


class Pending(Generic[T]):
    """The result of a queued command, once the `with` block that queued it has ended."""

    __slots__ = ("_make", "_raw")

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._raw: Any = OMIT

    @property
    def result(self) -> T:
        """The result of the command. Raises its error if it was refused."""
        if self._raw is OMIT:
            raise Invalid(
                "client.not_committed",
                "the command was not sent yet",
                "read the result after the `with` block has ended",
            )
        if isinstance(self._raw, BatonError):
            raise self._raw
        return self._make(self._raw)

    def resolve(self, raw: Any) -> None:
        """The result of the command, as JSON, or the error with which it was refused."""
        self._raw = raw


class CommandQueue:
    """The groups (`state`, `tasks`, …) queue commands. A command returns a `Pending`, whose
    `result` can be read when the commands have been sent."""

    def __init__(self, agent: str) -> None:
        self._agent = agent

    @property
    def agent(self) -> str:
        return self._agent

    def queue(
        self, operation: Operation, fields: dict[str, Any], make: Callable[[Any], T]
    ) -> Pending[T]:
        """Queues a command."""
        raise NotImplementedError

    # The groups. They are imported when one is first used.

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


class QueuedCalls:
    """Operations that are queued."""

    __slots__ = ("_to",)

    def __init__(self, to: CommandQueue) -> None:
        self._to = to

    @property
    def _agent(self) -> str:
        return self._to.agent

    @property
    def _namespace(self) -> str:
        return "shared"

    def _queue(
        self, operation: Operation, fields: dict[str, Any], make: Callable[[Any], T]
    ) -> Pending[T]:
        return self._to.queue(operation, fields, make)


def _calls() -> Any:
    from . import _queued_calls

    return _queued_calls
