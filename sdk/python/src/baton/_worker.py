"""Workers: claim tasks, run a handler for each while its lease is renewed, and report the result.

             ┌──────────────── next, claimed in the same commit ◀──────────┐
             ▼                                                             │
    claim ──▶ handler ─────▶ returns ─▶ complete ──────────────────────────┘
      ▲         │ └────────▶ raises ─▶ fail, or release
      └─────────┴── the lease is lost: what the handler returns does not count

1. When the worker is stopped, it claims nothing new and finishes the tasks in progress.
2. That the server cannot be reached is no reason to end: the worker tries again.
3. A worker with several handlers at a time claims tasks for all of them in its first call.
4. A worker with handlers for hand-offs or messages waits for these and for tasks in one call. It
   does not claim the next task when it completes one, because a hand-off or a message may be first.
5. If the session of the agent ends while the worker waits, it claims again, without a session.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import types
from ._flow import Flow
from ._handoffs import AsyncOffer, Offer
from ._job import AsyncJob, Job, claim_fields
from ._lease_scope import Loss, under
from ._mail import REDELIVER_MS, AsyncMail, Mail, answered
from ._omit import OMIT
from ._options import at_least_one
from ._outcomes import Settled, settling
from ._threads import ThreadGroup
from .errors import BatonError, Closed, Denied, Forked, Invalid, LeaseLost, WrongLoop

if TYPE_CHECKING:
    from ._async_baton import AsyncBaton
    from ._baton import Baton

WAIT_MS = 30_000
"""How long one claim waits before the next one does."""
SEVERAL_MAX = 100
"""How many tasks one call may claim."""
PAUSE = 1.0
"""The pause after a claim that could not be made, in seconds."""

HOPELESS = (Invalid, Denied, Closed, Forked, WrongLoop)
"""Errors after which trying again makes no sense."""

F = TypeVar("F", bound=Callable[..., Any])
H = TypeVar("H", bound=Callable[..., Any])


@dataclass
class Worked:
    """The counts of a worker."""

    completed: int = 0
    failed: int = 0
    """Tries that failed, and were reported as such."""
    released: int = 0
    handed_over: int = 0
    lost: int = 0
    """Tasks whose lease was lost, or whose outcome could not be reported."""
    handoffs: int = 0
    """Hand-offs whose handler returned."""
    messages: int = 0
    """Messages that were acknowledged, and requests that were answered."""

    def count(self, what: str) -> None:
        setattr(self, what, getattr(self, what) + 1)


class WorkerBase(Generic[F]):
    """The part that both kinds of workers share: the handlers and the types to claim."""

    def __init__(
        self, concurrency: int, lease: float | None, capabilities: Sequence[str] | None
    ) -> None:
        self._concurrency = at_least_one("concurrency", concurrency)
        self._lease = lease
        self._capabilities = capabilities
        self._handlers: dict[str, Callable[..., Any]] = {}
        self._any: Callable[..., Any] | None = None
        self._on_handoff: Callable[..., Any] | None = None
        self._on_message: Callable[..., Any] | None = None
        self.worked = Worked()
        """The counts so far."""

    def task(self, *types: str) -> Callable[[F], F]:
        """Decorates the handler of tasks of these types; of every other type if none is named.

        The handler gets a job. What it returns is the result of the task. What it raises is why
        the try failed; `RetryLater`, `GiveUp` and `Release` say more exactly what shall happen.
        """

        def register(handler: F) -> F:
            for name in types:
                if name in self._handlers:
                    raise ValueError(f"there is a handler for `{name}` already")
                self._handlers[name] = handler
            if not types:
                if self._any is not None:
                    raise ValueError("there is a handler for every other type already")
                self._any = handler
            return handler

        return register

    def handoff(self, handler: H) -> H:
        """Decorates the handler of hand-offs that are offered to this agent.

        The handler gets an offer and answers it: `with offer.work() as job:`, `offer.accept()` or
        `offer.reject()`. An offer that it does not answer is delivered again.
        """
        if self._on_handoff is not None:
            raise ValueError("there is a handler for hand-offs already")
        self._on_handoff = handler
        return handler

    def message(self, handler: H) -> H:
        """Decorates the handler of messages to this agent.

        A message is acknowledged when the handler returns, and delivered again if it raises. A
        request is answered with what the handler returns or raises.
        """
        if self._on_message is not None:
            raise ValueError("there is a handler for messages already")
        self._on_message = handler
        return handler

    def _handler(self, task_type: str) -> Callable[..., Any]:
        handler = self._handlers.get(task_type, self._any)
        if handler is None:
            raise KeyError(task_type)
        return handler

    @property
    def _has_task_handler(self) -> bool:
        return bool(self._handlers) or self._any is not None

    def _claiming(self) -> dict[str, Any]:
        types_wanted = [] if self._any is not None else sorted(self._handlers)
        return claim_fields(types_wanted, None, self._lease, self._capabilities)

    def _following(self) -> dict[str, Any] | None:
        """The claim to send with a completed task, if nothing else can be first."""
        alone = self._on_handoff is None and self._on_message is None
        return self._claiming() if alone else None

    def _first_claim(self, asking: Asking) -> dict[str, Any] | None:
        """One claim for all slots, if there are several and they do nothing else."""
        if self._concurrency < 2 or asking.operation != "task.claim":
            return None
        return {**asking.fields, "limit": min(self._concurrency, SEVERAL_MAX)}

    def _asking(self) -> Asking:
        """The call that waits for the next work."""
        handlers = {
            "handoff": self._on_handoff is not None,
            "message": self._on_message is not None,
            "task": self._has_task_handler,
        }
        kinds = [kind for kind, is_handled in handlers.items() if is_handled]
        if not kinds:
            raise ValueError("the worker has no handler: decorate one with `@worker.task(...)`")
        if kinds == ["task"]:
            return Asking("task.claim", self._claiming(), "task")
        if kinds == ["handoff"]:
            return Asking("handoff.receive", {}, "handoff")
        if kinds == ["message"]:
            return Asking("inbox.receive", {"limit": 1, "redeliver_ms": REDELIVER_MS}, "messages")
        fields: dict[str, Any] = {"kinds": kinds}
        if self._has_task_handler:
            fields = {**fields, **self._claiming()}
        if self._on_message is not None:
            fields["redeliver_ms"] = REDELIVER_MS
        return Asking("agent.next", fields, None)


@dataclass(frozen=True)
class Asking:
    """A call that waits for the next work."""

    operation: str
    fields: dict[str, Any]
    kind: str | None
    """The only kind that it receives; none if the answer says which."""

    def work(self, raw: Any) -> dict[str, Any] | None:
        """The answer as that of `agent.next`: one member, named by its kind."""
        if self.kind == "messages":
            messages = raw["messages"]
            return {"message": messages[0]} if messages else None
        if raw is None or self.kind is None:
            return raw
        return {self.kind: raw}


def _claimed(settled: Settled) -> dict[str, Any] | None:
    """The task that was claimed when another one was completed."""
    return settled.answer.get("next") if settled.outcome == "completed" else None


SyncHandler = Callable[[Job], Any]
AsyncHandler = Callable[[AsyncJob], Awaitable[Any]]


class Worker(WorkerBase[SyncHandler]):
    """A worker whose handlers are functions, each run in a thread of the worker."""

    def __init__(
        self,
        baton: Baton,
        concurrency: int,
        lease: float | None,
        capabilities: Sequence[str] | None,
    ) -> None:
        super().__init__(concurrency, lease, capabilities)
        self._baton = baton
        self._stopped = Loss()
        self._lock = threading.Lock()
        self._error: BaseException | None = None

    def stop(self) -> None:
        """Claims nothing new; `run` returns when what was begun is finished. Any thread, and any
        handler, may call this."""
        self._stopped.set(LeaseLost("the worker", "it was stopped"))

    @property
    def is_stopping(self) -> bool:
        return self._stopped.error is not None

    def run(self, *, until: Callable[[Worked], bool] | None = None) -> Worked:
        """Works until `stop` is called, and then until what was begun is finished.

        `until` is asked after every task; the worker stops when it says so. A `KeyboardInterrupt`
        stops it in the same way and is raised in the end; a second one is raised at once.

        Raises an error only if claiming makes no sense, for example because it is not allowed.
        """
        asking = self._asking()
        first = self._first(asking)
        name = "baton-worker"
        slots = ThreadGroup(name, self._concurrency, lambda: self._slot(asking, first, until))
        interrupted: KeyboardInterrupt | None = None
        try:
            slots.start()
            slots.wait()
        except KeyboardInterrupt as error:
            interrupted = error
            self.stop()
            slots.wait()
        if interrupted is not None:
            raise interrupted
        if self._error is not None:
            raise self._error
        return self.worked

    def _first(self, asking: Asking) -> list[dict[str, Any]]:
        """Claims the ready tasks when the slots start. If that fails, each slot claims its own."""
        claim = self._first_claim(asking)
        if claim is None:
            return []
        try:
            with under(self._stopped):
                return [{"task": each} for each in self._baton.call("task.claim", **claim)["tasks"]]
        except BatonError:
            return []

    def _slot(
        self,
        asking: Asking,
        first: list[dict[str, Any]],
        until: Callable[[Worked], bool] | None,
    ) -> None:
        with self._lock:
            work = first.pop(0) if first else None
        try:
            while work is not None or not self.is_stopping:
                work = work or self._next(asking)
                if work is None:
                    continue
                work = self._do(work)
                if until is not None and until(self.worked):
                    self.stop()
        except BaseException as error:
            self._error = self._error or error
            self.stop()

    def _next(self, asking: Asking) -> dict[str, Any] | None:
        try:
            with under(self._stopped):
                raw = self._baton.call(asking.operation, **asking.fields, wait_ms=WAIT_MS)
            return asking.work(raw)
        except HOPELESS:
            raise
        except BatonError:
            if not self.is_stopping:
                time.sleep(PAUSE)
            return None

    def _do(self, work: dict[str, Any]) -> dict[str, Any] | None:
        """Does the work; the next task, if there is one at once."""
        if "task" in work:
            claimed = self._work(work["task"])
            return None if claimed is None else {"task": claimed}
        if "handoff" in work:
            what = self._receive(Offer(self._baton, types.Handoff(work["handoff"])))
        else:
            what = self._answer(Mail(self._baton, types.Message(work["message"])))
        with self._lock:
            self.worked.count(what)
        return None

    def _receive(self, offer: Offer) -> str:
        assert self._on_handoff is not None
        try:
            self._on_handoff(offer)
        except Exception:
            return "failed"
        return "handoffs"

    def _answer(self, mail: Mail) -> str:
        assert self._on_message is not None
        result: Any = None
        error: Exception | None = None
        try:
            result = self._on_message(mail)
        except Exception as raised:
            error = raised
        try:
            error = self._baton.run(answered(mail.message, result, error))
        except BatonError:
            return "lost"
        return "messages" if error is None else "failed"

    def _work(self, task: dict[str, Any]) -> dict[str, Any] | None:
        """Works on a task; the next one, if there is one at once."""
        job = Job.adopt(self._baton, task)
        result: Any = OMIT
        error: BaseException | None = None
        try:
            with under(job.loss):
                result = self._handler(job.task.type)(job)
        except BaseException as raised:
            error = raised
        finally:
            job.stop_renewing()
        following = None if self.is_stopping else self._following()
        claimed: dict[str, Any] | None = None
        what: str
        if job.outcome is not None:
            what = job.outcome
        elif job.lost:
            what = "lost"
        else:
            steps = settling(job.id, job.token, result, error, following)
            claimed, what = self._report(job, steps)
        with self._lock:
            self.worked.count(what)
        if error is not None and not isinstance(error, Exception):
            raise error
        return claimed

    def _report(self, job: Job, steps: Flow[Settled]) -> tuple[dict[str, Any] | None, str]:
        try:
            settled = self._baton.run(steps)
        except BatonError as error:
            job.refused(error)
            return None, "lost"
        return _claimed(settled), settled.outcome


class AsyncWorker(WorkerBase[AsyncHandler]):
    """A worker whose handlers are coroutine functions. One that loses its lease is cancelled."""

    def __init__(
        self,
        baton: AsyncBaton,
        concurrency: int,
        lease: float | None,
        capabilities: Sequence[str] | None,
    ) -> None:
        super().__init__(concurrency, lease, capabilities)
        self._baton = baton
        self._stopped = Loss()

    def stop(self) -> None:
        """Claims nothing new; `run` returns when what was begun is finished."""
        self._stopped.set(LeaseLost("the worker", "it was stopped"))

    @property
    def is_stopping(self) -> bool:
        return self._stopped.error is not None

    async def run(self, *, until: Callable[[Worked], bool] | None = None) -> Worked:
        """Works until `stop` is called, and then until what was begun is finished. Cancelling it
        lets go of everything at once: the tasks that were begun go back when their leases end."""
        asking = self._asking()
        first = await self._first(asking)
        works = [*first, *[None] * (self._concurrency - len(first))]
        slots = [asyncio.create_task(self._slot(asking, work, until)) for work in works]
        try:
            await asyncio.gather(*slots)
        finally:
            for slot in slots:
                slot.cancel()
            await asyncio.gather(*slots, return_exceptions=True)
        return self.worked

    async def _first(self, asking: Asking) -> list[dict[str, Any]]:
        """Claims the ready tasks when the slots start. If that fails, each slot claims its own."""
        claim = self._first_claim(asking)
        if claim is None:
            return []
        try:
            with under(self._stopped):
                raw = await self._baton.call("task.claim", **claim)
                return [{"task": each} for each in raw["tasks"]]
        except BatonError:
            return []

    async def _slot(
        self,
        asking: Asking,
        work: dict[str, Any] | None,
        until: Callable[[Worked], bool] | None,
    ) -> None:
        try:
            while work is not None or not self.is_stopping:
                work = work or await self._next(asking)
                if work is None:
                    continue
                work = await self._do(work)
                if until is not None and until(self.worked):
                    self.stop()
        except BaseException:
            self.stop()
            raise

    async def _next(self, asking: Asking) -> dict[str, Any] | None:
        try:
            with under(self._stopped):
                raw = await self._baton.call(asking.operation, **asking.fields, wait_ms=WAIT_MS)
            return asking.work(raw)
        except HOPELESS:
            raise
        except BatonError:
            if not self.is_stopping:
                await asyncio.sleep(PAUSE)
            return None

    async def _do(self, work: dict[str, Any]) -> dict[str, Any] | None:
        """Does the work; the next task, if there is one at once."""
        if "task" in work:
            claimed = await self._work(work["task"])
            return None if claimed is None else {"task": claimed}
        if "handoff" in work:
            what = await self._receive(AsyncOffer(self._baton, types.Handoff(work["handoff"])))
        else:
            what = await self._answer(AsyncMail(self._baton, types.Message(work["message"])))
        self.worked.count(what)
        return None

    async def _receive(self, offer: AsyncOffer) -> str:
        assert self._on_handoff is not None
        try:
            await self._on_handoff(offer)
        except Exception:
            return "failed"
        return "handoffs"

    async def _answer(self, mail: AsyncMail) -> str:
        assert self._on_message is not None
        result: Any = None
        error: Exception | None = None
        try:
            result = await self._on_message(mail)
        except Exception as raised:
            error = raised
        try:
            error = await self._baton.run(answered(mail.message, result, error))
        except BatonError:
            return "lost"
        return "messages" if error is None else "failed"

    async def _work(self, task: dict[str, Any]) -> dict[str, Any] | None:
        """Works on a task; the next one, if there is one at once."""
        job = AsyncJob.adopt(self._baton, task)
        result: Any = OMIT
        error: BaseException | None = None
        handling = asyncio.ensure_future(self._handle(job))

        def cancel(_: LeaseLost) -> None:
            handling.cancel()

        job.on_lost(cancel)
        try:
            result = await asyncio.shield(handling)
        except asyncio.CancelledError as raised:
            if not job.lost:
                handling.cancel()
                with contextlib.suppress(BaseException):
                    await handling
                job.stop_renewing()
                raise
            error = raised
        except Exception as raised:
            error = raised
        job.stop_renewing()
        following = None if self.is_stopping else self._following()
        claimed: dict[str, Any] | None = None
        what: str
        if job.outcome is not None:
            what = job.outcome
        elif job.lost:
            what = "lost"
        else:
            steps = settling(job.id, job.token, result, error, following)
            claimed, what = await self._report(job, steps)
        self.worked.count(what)
        return claimed

    async def _handle(self, job: AsyncJob) -> Any:
        with under(job.loss):
            return await self._handler(job.task.type)(job)

    async def _report(
        self, job: AsyncJob, steps: Flow[Settled]
    ) -> tuple[dict[str, Any] | None, str]:
        try:
            settled = await self._baton.run(steps)
        except BatonError as error:
            job.refused(error)
            return None, "lost"
        return _claimed(settled), settled.outcome
