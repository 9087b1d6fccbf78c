"""A task that is worked on: its lease is renewed in the background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _flow as flow
from . import params, types
from ._flow import Call
from ._lease import AsyncHeld, Held, milliseconds
from ._omit import OMIT
from ._outcomes import Outcome, recorded, settling
from .errors import BatonError

if TYPE_CHECKING:
    from ._async_baton import AsyncBaton
    from ._baton import Baton


class _JobFacts:
    """The record of the task."""

    task: types.Task

    @property
    def id(self) -> str:
        """The id of the task."""
        return self.task.id

    @property
    def input(self) -> Any:
        """The work to do, as data: the `definition` of the task."""
        return self.task.definition

    @property
    def attempt(self) -> int:
        """How often the task has been claimed, this time included."""
        return self.task.attempts


def claim_fields(
    types_wanted: Sequence[str],
    task: str | None,
    lease: float | None,
    capabilities: Sequence[str] | None,
) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if types_wanted:
        fields["types"] = list(types_wanted)
    if task is not None:
        fields["task"] = task
    if lease is not None:
        fields["lease_ms"] = milliseconds(lease)
    if capabilities is not None:
        fields["capabilities"] = list(capabilities)
    return fields


def _handoff_fields(
    to: params.Receiver,
    task: str,
    token: int,
    reason: str | None,
    state: Mapping[str, Any] | None,
    keys: Sequence[params.Selected] | None,
    notes: Any,
    fields: Mapping[str, Any],
) -> dict[str, Any]:
    given: dict[str, Any] = {"to": to, "task": task, "token": token, **fields}
    if reason is not None:
        given["reason"] = reason
    if state is not None:
        given["state"] = state
    if keys is not None:
        given["keys"] = keys
    if notes is not OMIT:
        given["notes"] = notes
    return given


class Job(_JobFacts, Held):
    """A task that this agent works on.

    As a context manager it claims the task and renews its lease. When the block ends, the task is
    completed with `result`; when it raises, the task fails, and so does the block. `complete`,
    `fail`, `release` and `handoff` may say otherwise earlier.
    """

    def __init__(self, baton: Baton, fields: dict[str, Any], wait: float | None) -> None:
        super().__init__(baton, "the lease of a task")
        self._fields = fields
        self._wait = wait
        self._outcome: Outcome | None = None
        self.result: Any = OMIT
        """The result with which the task is completed when the block ends."""

    @classmethod
    def adopt(cls, baton: Baton, raw: dict[str, Any]) -> Job:
        """A job for a task that was claimed already."""
        job = cls(baton, {}, 0)
        job._begin(raw)
        return job

    def _acquire(self) -> None:
        call = Call("task.claim", self._fields)
        self._begin(self._base.run(flow.waiting(call, self._wait, "a task")))

    def _begin(self, raw: dict[str, Any]) -> None:
        self.task = types.Task(raw)
        self.what = f"the lease of task `{self.id}`"
        self._renew()

    def _renew(self) -> None:
        lease = self.task.raw["lease"]
        fields = {"task": self.id, "token": lease["token"], "return": "minimal"}
        self._keep(lease["token"], lease["lease_ms"] / 1000, "task.heartbeat", fields)

    def progress(self, fraction: float, note: str | None = None) -> None:
        """Says how far the work is, from 0 to 1."""
        fields: dict[str, Any] = {"task": self.id, "token": self.token, "fraction": fraction}
        if note is not None:
            fields["note"] = note
        self._base.call("task.progress", **fields)

    def complete(self, result: Any = OMIT) -> types.Task:
        """The task is done."""
        fields = {} if result is OMIT else {"result": result}
        return types.Task(self._settle("completed", "task.complete", **fields)["task"])

    def fail(self, error: Any, *, retryable: bool | None = None) -> types.Task:
        """This try failed. An exception is recorded with its type and text."""
        fields = {} if retryable is None else {"retryable": retryable}
        return types.Task(self._settle("failed", "task.fail", error=recorded(error), **fields))

    def release(self, reason: str | None = None) -> types.Task:
        """Gives the task back to the queue."""
        return types.Task(self._settle("released", "task.release", reason=reason))

    def handoff(
        self,
        to: params.Receiver,
        *,
        reason: str | None = None,
        state: Mapping[str, Any] | None = None,
        keys: Sequence[params.Selected] | None = None,
        notes: Any = OMIT,
        **fields: Any,
    ) -> types.Handoff:
        """Offers the task to another agent, with state, keys and notes. This ends the work here:
        raise `HandedOver` with the result to leave a handler, or just return.

        Until the receiver accepts, the task stays with this agent; if the receiver rejects it, the
        lease runs out and the task goes back to the queue.
        """
        given = _handoff_fields(to, self.id, self.token, reason, state, keys, notes, fields)
        offered = types.Handoff(self._base.handoffs.offer_fields(given))
        self.stop_renewing()
        self._outcome = "handed_over"
        return offered

    def _settle(self, outcome: Outcome, operation: str, **fields: Any) -> Any:
        self.check()
        # A renewal that arrives later is refused, and the lease would seem to be lost.
        self.stop_renewing()
        try:
            raw = self._base.call(operation, task=self.id, token=self.token, **fields)
        except Exception:
            self._renew()
            raise
        self._outcome = outcome
        return raw

    @property
    def is_settled(self) -> bool:
        """Whether what came of the task has been reported."""
        return self._outcome is not None

    @property
    def has_handed_over(self) -> bool:
        """Whether the task was offered to another agent."""
        return self._outcome == "handed_over"

    @property
    def outcome(self) -> Outcome | None:
        """The reported outcome; none if there is none yet."""
        return self._outcome

    def _end(self, error: BaseException | None) -> None:
        if self.is_settled:
            return
        steps = settling(self.id, self.token, self.result, error, None)
        try:
            settled = self._base.run(steps)
        except BatonError:
            if error is None:
                raise
            return  # What the block has raised matters more.
        self._outcome = settled.outcome
        if error is None and settled.refusal is not None:
            raise settled.refusal


class AsyncJob(_JobFacts, AsyncHeld):
    """A task that this agent works on. See `Job`."""

    def __init__(self, baton: AsyncBaton, fields: dict[str, Any], wait: float | None) -> None:
        super().__init__(baton, "the lease of a task")
        self._fields = fields
        self._wait = wait
        self._outcome: Outcome | None = None
        self.result: Any = OMIT
        """The result with which the task is completed when the block ends."""

    @classmethod
    def adopt(cls, baton: AsyncBaton, raw: dict[str, Any]) -> AsyncJob:
        """A job for a task that was claimed already."""
        job = cls(baton, {}, 0)
        job._begin(raw)
        return job

    async def _acquire(self) -> None:
        call = Call("task.claim", self._fields)
        self._begin(await self._base.run(flow.waiting(call, self._wait, "a task")))

    def _begin(self, raw: dict[str, Any]) -> None:
        self.task = types.Task(raw)
        self.what = f"the lease of task `{self.id}`"
        self._renew()

    def _renew(self) -> None:
        lease = self.task.raw["lease"]
        fields = {"task": self.id, "token": lease["token"], "return": "minimal"}
        self._keep(lease["token"], lease["lease_ms"] / 1000, "task.heartbeat", fields)

    async def progress(self, fraction: float, note: str | None = None) -> None:
        """Says how far the work is, from 0 to 1."""
        fields: dict[str, Any] = {"task": self.id, "token": self.token, "fraction": fraction}
        if note is not None:
            fields["note"] = note
        await self._base.call("task.progress", **fields)

    async def complete(self, result: Any = OMIT) -> types.Task:
        """The task is done."""
        fields = {} if result is OMIT else {"result": result}
        return types.Task((await self._settle("completed", "task.complete", **fields))["task"])

    async def fail(self, error: Any, *, retryable: bool | None = None) -> types.Task:
        """This try failed. An exception is recorded with its type and text."""
        fields: dict[str, Any] = {} if retryable is None else {"retryable": retryable}
        return types.Task(
            await self._settle("failed", "task.fail", error=recorded(error), **fields)
        )

    async def release(self, reason: str | None = None) -> types.Task:
        """Gives the task back to the queue."""
        return types.Task(await self._settle("released", "task.release", reason=reason))

    async def handoff(
        self,
        to: params.Receiver,
        *,
        reason: str | None = None,
        state: Mapping[str, Any] | None = None,
        keys: Sequence[params.Selected] | None = None,
        notes: Any = OMIT,
        **fields: Any,
    ) -> types.Handoff:
        """Offers the task to another agent. See `Job.handoff`."""
        given = _handoff_fields(to, self.id, self.token, reason, state, keys, notes, fields)
        offered = types.Handoff(await self._base.handoffs.offer_fields(given))
        self.stop_renewing()
        self._outcome = "handed_over"
        return offered

    async def _settle(self, outcome: Outcome, operation: str, **fields: Any) -> Any:
        self.check()
        # A renewal that arrives later is refused, and the lease would seem to be lost.
        self.stop_renewing()
        try:
            raw = await self._base.call(operation, task=self.id, token=self.token, **fields)
        except Exception:
            self._renew()
            raise
        self._outcome = outcome
        return raw

    @property
    def is_settled(self) -> bool:
        """Whether what came of the task has been reported."""
        return self._outcome is not None

    @property
    def has_handed_over(self) -> bool:
        """Whether the task was offered to another agent."""
        return self._outcome == "handed_over"

    @property
    def outcome(self) -> Outcome | None:
        """The reported outcome; none if there is none yet."""
        return self._outcome

    async def _end(self, error: BaseException | None) -> None:
        if self.is_settled:
            return
        steps = settling(self.id, self.token, self.result, error, None)
        try:
            settled = await self._base.run(steps)
        except BatonError:
            if error is None:
                raise
            return  # What the block has raised matters more.
        self._outcome = settled.outcome
        if error is None and settled.refusal is not None:
            raise settled.refusal
