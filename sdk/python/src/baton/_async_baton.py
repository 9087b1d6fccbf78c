"""The asyncio client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import Any, TypeVar

from . import _async_calls as calls
from . import _flow as flow
from . import _model_runs as model_runs
from . import params, types
from ._async_shell import AsyncShell
from ._batch import BatchQueue, QueuedCall, settle
from ._checkpoints import AsyncCheckpoints
from ._contents import AsyncArtifacts, AsyncSecrets, AsyncWorkspace
from ._endpoint import Endpoint
from ._flow import Flow, operation_named
from ._handoffs import AsyncHandoffs, AsyncRules, RuleBook
from ._http import Http
from ._job import AsyncJob, claim_fields
from ._lease import (
    LOCK,
    PERMIT,
    AsyncHold,
    AsyncSession,
    Wanted,
    hold_fields,
    milliseconds,
)
from ._mail import AsyncInbox, AsyncMessages, AsyncStreams, AsyncTopics
from ._operation import Operation
from ._options import Options
from ._protocol import TRANSACTION
from ._requests import Answer, Outcome
from ._service import AsyncService
from ._state import AsyncState
from ._tasks import AsyncTasks
from ._transaction import TransactionQueue
from ._view import Handle, Moment, View
from ._watch import AsyncWatch
from ._worker import AsyncWorker
from .errors import LeaseLost
from .model import Endpoint as ModelEndpoint

T = TypeVar("T")


class _Owner:
    """The state that all handles of one connection share."""

    def __init__(self, shell: AsyncShell) -> None:
        self.shell = shell
        self.rule_book = RuleBook()


class AsyncBaton(Handle):
    """A workspace of a server, as one agent sees it.

    Handles are cheap: `as_agent`, `in_workspace`, `under`, `once` and `at` make others of the same
    connection. They belong to the event loop in which they were made. `close`, or the end of the
    `async with` block, ends the connection for all of them.
    """

    def __init__(self, owner: _Owner, view: View) -> None:
        self._owner = owner
        self._view = view

    @classmethod
    async def opened(cls, endpoint: Endpoint, options: Options, view: View) -> AsyncBaton:
        """A client of the server at an endpoint."""
        shell = AsyncShell(endpoint, options)
        await shell.start()
        return cls(_Owner(shell), view)

    def _with(self, view: View) -> AsyncBaton:
        return type(self)(self._owner, view)

    def __repr__(self) -> str:
        return f"AsyncBaton({self.url!r}, workspace={self.workspace_name!r}, agent={self.agent!r})"

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._owner.shell.url

    @property
    def rule_book(self) -> RuleBook:
        """The rules of this client that are functions."""
        return self._owner.rule_book

    async def close(self) -> None:
        """Finishes what was begun, disconnects, and refuses everything from now on."""
        await self._owner.shell.close()

    async def __aenter__(self) -> AsyncBaton:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # Calls.

    async def execute(
        self,
        operation: Operation,
        fields: dict[str, Any],
        *,
        at: Moment | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Makes a call, and returns its answer with the revision."""
        view = self._view
        return await self._owner.shell.call(
            operation,
            view.prepared(operation, fields, at, token),
            view.caller,
            idempotency_key=idempotency_key or view.idempotency_key,
            timeout=timeout,
        )

    async def execute_many(self, calls: Sequence[QueuedCall]) -> list[Outcome]:
        """Makes several calls, which are sent together; returns an answer or an error of each."""
        view = self._view
        if view.idempotency_key is not None:
            raise ValueError("one idempotency key cannot be that of several calls")
        prepared = [
            (operation, view.prepared(operation, fields, None, None)) for operation, fields in calls
        ]
        return await self._owner.shell.call_many(prepared, view.caller)

    async def call(self, command: str, **fields: Any) -> Any:
        """Any operation by its name and the fields of the wire; its result as plain JSON."""
        return (await self.execute(operation_named(command), fields)).result

    async def call_minimal(self, command: str, **fields: Any) -> types.Minimal:
        """Any write by its name and the fields of the wire, answered with what the caller cannot
        know, such as the id, the version and the token, and not with the whole record."""
        operation = operation_named(command)
        if not operation.minimal:
            raise ValueError(f"`{command}` has no minimal answer: use `call`")
        answer = await self.execute(operation, {**fields, "return": "minimal"})
        return types.Minimal(answer.result)

    async def run(self, steps: Flow[T]) -> T:
        """Runs an algorithm of several calls."""
        try:
            call = next(steps)
            while True:
                try:
                    operation = operation_named(call.operation)
                    answer = await self.execute(
                        operation, call.fields, token=call.token, timeout=call.timeout
                    )
                except Exception as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(answer.result)
        except StopIteration as stop:
            return stop.value

    def keep(
        self,
        what: str,
        operation: str,
        fields: dict[str, Any],
        ttl: float,
        on_lost: Callable[[LeaseLost], None],
    ) -> Callable[[], None]:
        """Renews something in the background until the result is called."""
        shell = self._owner.shell
        return shell.keep(what, operation, fields, self._view.caller, ttl, on_lost)

    async def http(self) -> Http:
        """For requests that carry bytes."""
        shell = self._owner.shell
        return Http(await shell.target(), self.workspace_name, self.agent, shell.options.stall_max)

    async def watch(
        self,
        pattern: str = "**",
        *,
        types: Sequence[types.EventType | str] | None = None,
        start: int | None = None,
        snapshot: bool = False,
        waits: bool = False,
    ) -> AsyncWatch:
        """The events whose subject matches a pattern such as `state/shared/**`.

        Args:
            pattern: The subjects.
            types: Only events of these types; patterns such as `task.*` are allowed.
            start: The revision to begin with, a past one or the next; from now on if not given.
            snapshot: Also returns the entries that match now, as `watch.entries`.
            waits: Also returns the events that are only about waiting calls, such as `lock.queued`.
        """
        request: dict[str, Any] = {"pattern": pattern}
        if types is not None:
            request["types"] = list(types)
        if waits:
            request["waits"] = True
        shell = self._owner.shell
        handle = await shell.watch(request, self._view.caller, start, snapshot)
        return await AsyncWatch(handle).begin(snapshot)

    def transaction(self) -> AsyncTransaction:
        """A context manager: what is queued in the block is committed together when it ends, or not
        at all."""
        return AsyncTransaction(self)

    def batch(self) -> AsyncBatch:
        """A context manager: what is queued in the block is sent together when it ends. Each call
        is executed independently, in this order; one that is refused does not stop the next."""
        return AsyncBatch(self)

    # The most common operations.

    def lock(self, name: str, *, ttl: float | None = None, wait: float | None = None) -> AsyncHold:
        """A context manager that holds a lock.

        Args:
            name: The lock.
            ttl: After how many seconds it ends if it is not renewed, which happens by itself.
            wait: How many seconds to wait for it; forever if not given.
        """
        return AsyncHold(self, Wanted(LOCK, name, hold_fields(name, ttl), wait))

    def semaphore(
        self,
        name: str,
        permits: int | None = None,
        *,
        weight: int | None = None,
        ttl: float | None = None,
        wait: float | None = None,
    ) -> AsyncHold:
        """A context manager that holds permits of a semaphore: one, or `weight`. See `lock`."""
        fields = hold_fields(name, ttl, permits=permits, weight=weight)
        return AsyncHold(self, Wanted(PERMIT, name, fields, wait))

    def session(
        self,
        *,
        capabilities: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        ttl: float | None = None,
    ) -> AsyncSession:
        """A context manager during which the agent has a session, with heartbeats."""
        fields: dict[str, Any] = {}
        if capabilities is not None:
            fields["capabilities"] = list(capabilities)
        if metadata is not None:
            fields["metadata"] = metadata
        if ttl is not None:
            fields["ttl_ms"] = milliseconds(ttl)
        return AsyncSession(self, fields)

    def claim(
        self,
        *types: str,
        task: str | None = None,
        lease: float | None = None,
        capabilities: Sequence[str] | None = None,
        wait: float | None = 0,
    ) -> AsyncJob:
        """A context manager that claims a task and works on it: see `Job`. Raises `NotAcquired` if
        none comes within `wait` seconds."""
        return AsyncJob(self, claim_fields(types, task, lease, capabilities), wait)

    def worker(
        self,
        *,
        concurrency: int = 1,
        lease: float | None = None,
        capabilities: Sequence[str] | None = None,
    ) -> AsyncWorker:
        """A worker: decorate its handlers with `@worker.task(type)`, then `worker.run()`."""
        return AsyncWorker(self, concurrency, lease, capabilities)

    def service(
        self, *, capabilities: Sequence[str] = (), concurrency: int = 1, ttl: float = 30.0
    ) -> AsyncService:
        """A service: decorate its handlers with `@service.handler(name)`, then `service.run()`."""
        return AsyncService(self, capabilities, concurrency, ttl)

    async def send(self, to: str, body: Any, **fields: Any) -> types.Message:
        """Sends a message to an agent."""
        return types.Message(await self.call("message.send", to=to, body=body, **fields))

    async def request(
        self, to: params.Address, body: Any, *, timeout: float = 30.0, keep: bool = True
    ) -> Any:
        """Sends a request to an agent, `{"handler": name}` or `{"capability": name}`, and returns
        the body of the answer. With `keep=False` it is live: only in memory, delivered at most
        once, and not repeated if the connection breaks."""
        answered = await self.messages.request(
            to, body, timeout_ms=milliseconds(timeout), keep=None if keep else False
        )
        return answered.body

    async def run_task(
        self, type: str, definition: Any = None, *, wait: float | None = None
    ) -> Any:
        """Creates a task, waits until it has finished, and returns its result."""
        return await self.run(flow.run_task({"type": type, "definition": definition}, wait))

    async def gather(
        self, *tasks: str, wait: float | None = None, return_exceptions: bool = False
    ) -> list[Any]:
        """Waits until tasks have finished, and returns their results in the same order. A task that
        did not complete raises `TaskFailed`, or is returned as that with `return_exceptions`."""
        return await self.run(flow.gather(tasks, wait, return_exceptions))

    async def run_with_context(
        self,
        work: AsyncJob | types.Task,
        endpoint: ModelEndpoint,
        *,
        instructions: str = model_runs.INSTRUCTIONS,
        token_budget: int | None = None,
    ) -> types.Task:
        """Runs a claimed task with a model. See `Baton.run_with_context`."""
        return await model_runs.run_async(self, work, endpoint, instructions, token_budget)

    # The operations, by what they are about.

    @cached_property
    def agents(self) -> calls.AgentsCalls:
        return calls.AgentsCalls(self)

    @cached_property
    def artifacts(self) -> AsyncArtifacts:
        return AsyncArtifacts(self)

    @cached_property
    def barriers(self) -> calls.BarriersCalls:
        return calls.BarriersCalls(self)

    @cached_property
    def checkpoints(self) -> AsyncCheckpoints:
        return AsyncCheckpoints(self)

    @cached_property
    def context(self) -> calls.ContextCalls:
        return calls.ContextCalls(self)

    @cached_property
    def contracts(self) -> calls.ContractsCalls:
        return calls.ContractsCalls(self)

    @cached_property
    def events(self) -> calls.EventsCalls:
        return calls.EventsCalls(self)

    @cached_property
    def handlers(self) -> calls.HandlersCalls:
        return calls.HandlersCalls(self)

    @cached_property
    def handoffs(self) -> AsyncHandoffs:
        return AsyncHandoffs(self)

    @cached_property
    def inbox(self) -> AsyncInbox:
        return AsyncInbox(self)

    @cached_property
    def joins(self) -> calls.JoinsCalls:
        return calls.JoinsCalls(self)

    @cached_property
    def locks(self) -> calls.LocksCalls:
        return calls.LocksCalls(self)

    @cached_property
    def messages(self) -> AsyncMessages:
        return AsyncMessages(self)

    @cached_property
    def namespaces(self) -> calls.NamespacesCalls:
        return calls.NamespacesCalls(self)

    @cached_property
    def pipelines(self) -> calls.PipelinesCalls:
        return calls.PipelinesCalls(self)

    @cached_property
    def reactions(self) -> calls.ReactionsCalls:
        return calls.ReactionsCalls(self)

    @cached_property
    def rules(self) -> AsyncRules:
        return AsyncRules(self)

    @cached_property
    def secrets(self) -> AsyncSecrets:
        return AsyncSecrets(self)

    @cached_property
    def semaphores(self) -> calls.SemaphoresCalls:
        return calls.SemaphoresCalls(self)

    @cached_property
    def spending(self) -> calls.SpendingCalls:
        return calls.SpendingCalls(self)

    @cached_property
    def state(self) -> AsyncState:
        return AsyncState(self)

    @cached_property
    def streams(self) -> AsyncStreams:
        return AsyncStreams(self)

    @cached_property
    def tasks(self) -> AsyncTasks:
        return AsyncTasks(self)

    @cached_property
    def topics(self) -> AsyncTopics:
        return AsyncTopics(self)

    @cached_property
    def workspace(self) -> AsyncWorkspace:
        return AsyncWorkspace(self)


class AsyncTransaction(TransactionQueue):
    """A transaction of an asyncio client."""

    def __init__(self, baton: AsyncBaton) -> None:
        super().__init__(baton.agent)
        self._baton = baton

    async def __aenter__(self) -> AsyncTransaction:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self.commit()

    async def commit(self) -> None:
        """Commits what was queued. The end of the `async with` block does it."""
        # The token of the handle is a precondition here, not a field.
        plain = self._baton.without_token()
        answer = await plain.execute(TRANSACTION, self.fields(self._baton.token))
        self.committed(answer.revision, answer.result)


class AsyncBatch(BatchQueue):
    """A batch of an asyncio client."""

    def __init__(self, baton: AsyncBaton) -> None:
        super().__init__(baton.agent)
        self._baton = baton

    async def __aenter__(self) -> AsyncBatch:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self.send()

    async def send(self) -> None:
        """Sends what was queued, waits for all outcomes, and raises the first error, if there is
        one. The end of the `async with` block does it."""
        calls, pending = self.take()
        settle(pending, await self._baton.execute_many(calls))
