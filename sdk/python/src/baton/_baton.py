"""The blocking client."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import Any, TypeVar

from . import _calls as calls
from . import _flow as flow
from . import _model_runs as model_runs
from . import params, types
from ._batch import BatchQueue, QueuedCall, settle
from ._checkpoints import Checkpoints
from ._contents import Artifacts, Secrets, Workspace
from ._endpoint import Endpoint
from ._flow import Flow, operation_named
from ._handoffs import Handoffs, RuleBook, Rules
from ._http import Http
from ._job import Job, claim_fields
from ._lease import LOCK, PERMIT, Hold, Session, Wanted, hold_fields, milliseconds
from ._mail import Inbox, Messages, Streams, Topics
from ._operation import Operation
from ._options import Options
from ._protocol import TRANSACTION
from ._requests import Answer, Outcome
from ._service import Service
from ._state import State
from ._sync_shell import SyncShell
from ._tasks import Tasks
from ._transaction import TransactionQueue
from ._view import Handle, Moment, View
from ._watch import Watch
from ._worker import Worker
from .errors import LeaseLost
from .model import Endpoint as ModelEndpoint

T = TypeVar("T")


class _Owner:
    """The state that all handles of one connection share. The connection ends with it."""

    def __init__(self, shell: SyncShell) -> None:
        self.shell = shell
        self.rule_book = RuleBook()
        self._finalizer = weakref.finalize(self, shell.abandon)

    def close(self) -> None:
        self._finalizer.detach()
        self.shell.close()


class Baton(Handle):
    """A workspace of a server, as one agent sees it.

    Handles are cheap: `as_agent`, `in_workspace`, `under`, `once` and `at` make others of the same
    connection. Any thread may use them. `close`, or the end of the `with` block, ends the
    connection for all of them.
    """

    def __init__(self, owner: _Owner, view: View) -> None:
        self._owner = owner
        self._view = view

    @classmethod
    def opened(cls, endpoint: Endpoint, options: Options, view: View) -> Baton:
        """A client of the server at an endpoint."""
        return cls(_Owner(SyncShell(endpoint, options)), view)

    def _with(self, view: View) -> Baton:
        return type(self)(self._owner, view)

    def __repr__(self) -> str:
        return f"Baton({self.url!r}, workspace={self.workspace_name!r}, agent={self.agent!r})"

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._owner.shell.url

    @property
    def rule_book(self) -> RuleBook:
        """The rules of this client that are functions."""
        return self._owner.rule_book

    def close(self) -> None:
        """Finishes what was begun, disconnects, and refuses everything from now on."""
        self._owner.close()

    def __enter__(self) -> Baton:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Calls.

    def execute(
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
        return self._owner.shell.call(
            operation,
            view.prepared(operation, fields, at, token),
            view.caller,
            idempotency_key=idempotency_key or view.idempotency_key,
            timeout=timeout,
        )

    def execute_many(self, calls: Sequence[QueuedCall]) -> list[Outcome]:
        """Makes several calls, which are sent together; returns an answer or an error of each."""
        view = self._view
        if view.idempotency_key is not None:
            raise ValueError("one idempotency key cannot be that of several calls")
        prepared = [
            (operation, view.prepared(operation, fields, None, None)) for operation, fields in calls
        ]
        return self._owner.shell.call_many(prepared, view.caller)

    def call(self, command: str, **fields: Any) -> Any:
        """Any operation by its name and the fields of the wire; its result as plain JSON."""
        return self.execute(operation_named(command), fields).result

    def call_minimal(self, command: str, **fields: Any) -> types.Minimal:
        """Any write by its name and the fields of the wire, answered with what the caller cannot
        know, such as the id, the version and the token, and not with the whole record."""
        operation = operation_named(command)
        if not operation.minimal:
            raise ValueError(f"`{command}` has no minimal answer: use `call`")
        answer = self.execute(operation, {**fields, "return": "minimal"})
        return types.Minimal(answer.result)

    def run(self, steps: Flow[T]) -> T:
        """Runs an algorithm of several calls."""
        try:
            call = next(steps)
            while True:
                try:
                    operation = operation_named(call.operation)
                    result = self.execute(
                        operation, call.fields, token=call.token, timeout=call.timeout
                    ).result
                except Exception as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(result)
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

    def http(self) -> Http:
        """For requests that carry bytes."""
        shell = self._owner.shell
        return Http(shell.target(), self.workspace_name, self.agent, shell.options.stall_max)

    def watch(
        self,
        pattern: str = "**",
        *,
        types: Sequence[types.EventType | str] | None = None,
        start: int | None = None,
        snapshot: bool = False,
        waits: bool = False,
    ) -> Watch:
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
        return Watch(shell.watch(request, self._view.caller, start, snapshot), snapshot)

    def transaction(self) -> Transaction:
        """A context manager: what is queued in the block is committed together when it ends, or not
        at all."""
        return Transaction(self)

    def batch(self) -> Batch:
        """A context manager: what is queued in the block is sent together when it ends. Each call
        is executed independently, in this order; one that is refused does not stop the next."""
        return Batch(self)

    # The most common operations.

    def lock(self, name: str, *, ttl: float | None = None, wait: float | None = None) -> Hold:
        """A context manager that holds a lock.

        Args:
            name: The lock.
            ttl: After how many seconds it ends if it is not renewed, which happens by itself.
            wait: How many seconds to wait for it; forever if not given.
        """
        return Hold(self, Wanted(LOCK, name, hold_fields(name, ttl), wait))

    def semaphore(
        self,
        name: str,
        permits: int | None = None,
        *,
        weight: int | None = None,
        ttl: float | None = None,
        wait: float | None = None,
    ) -> Hold:
        """A context manager that holds permits of a semaphore: one, or `weight`. See `lock`."""
        fields = hold_fields(name, ttl, permits=permits, weight=weight)
        return Hold(self, Wanted(PERMIT, name, fields, wait))

    def session(
        self,
        *,
        capabilities: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        ttl: float | None = None,
    ) -> Session:
        """A context manager during which the agent has a session, with heartbeats."""
        fields: dict[str, Any] = {}
        if capabilities is not None:
            fields["capabilities"] = list(capabilities)
        if metadata is not None:
            fields["metadata"] = metadata
        if ttl is not None:
            fields["ttl_ms"] = milliseconds(ttl)
        return Session(self, fields)

    def claim(
        self,
        *types: str,
        task: str | None = None,
        lease: float | None = None,
        capabilities: Sequence[str] | None = None,
        wait: float | None = 0,
    ) -> Job:
        """A context manager that claims a task and works on it: see `Job`. Raises `NotAcquired` if
        none comes within `wait` seconds."""
        return Job(self, claim_fields(types, task, lease, capabilities), wait)

    def worker(
        self,
        *,
        concurrency: int = 1,
        lease: float | None = None,
        capabilities: Sequence[str] | None = None,
    ) -> Worker:
        """A worker: decorate its handlers with `@worker.task(type)`, then `worker.run()`."""
        return Worker(self, concurrency, lease, capabilities)

    def service(
        self, *, capabilities: Sequence[str] = (), concurrency: int = 1, ttl: float = 30.0
    ) -> Service:
        """A service: decorate its handlers with `@service.handler(name)`, then `service.run()`."""
        return Service(self, capabilities, concurrency, ttl)

    def send(self, to: str, body: Any, **fields: Any) -> types.Message:
        """Sends a message to an agent."""
        return types.Message(self.call("message.send", to=to, body=body, **fields))

    def request(
        self, to: params.Address, body: Any, *, timeout: float = 30.0, keep: bool = True
    ) -> Any:
        """Sends a request to an agent, `{"handler": name}` or `{"capability": name}`, and returns
        the body of the answer. With `keep=False` it is live: only in memory, delivered at most
        once, and not repeated if the connection breaks."""
        answered = self.messages.request(
            to, body, timeout_ms=milliseconds(timeout), keep=None if keep else False
        )
        return answered.body

    def run_task(self, type: str, definition: Any = None, *, wait: float | None = None) -> Any:
        """Creates a task, waits until it has finished, and returns its result."""
        return self.run(flow.run_task({"type": type, "definition": definition}, wait))

    def gather(
        self, *tasks: str, wait: float | None = None, return_exceptions: bool = False
    ) -> list[Any]:
        """Waits until tasks have finished, and returns their results in the same order. A task that
        did not complete raises `TaskFailed`, or is returned as that with `return_exceptions`."""
        return self.run(flow.gather(tasks, wait, return_exceptions))

    def run_with_context(
        self,
        work: Job | types.Task,
        endpoint: ModelEndpoint,
        *,
        instructions: str = model_runs.INSTRUCTIONS,
        token_budget: int | None = None,
    ) -> types.Task:
        """Runs a claimed task with a model: sends its context to the endpoint, and completes the
        task with `{"text", "model", "usage", "lineage"}`. The lease is renewed meanwhile.

        If there is no completion, the attempt fails with the reason, which is retried according to
        the task, and `ModelError` is raised.

        Args:
            work: The job, or the task as it was claimed.
            endpoint: The model.
            instructions: What precedes the context.
            token_budget: How many tokens the context may have.
        """
        return model_runs.run(self, work, endpoint, instructions, token_budget)

    # The operations, by what they are about.

    @cached_property
    def agents(self) -> calls.AgentsCalls:
        return calls.AgentsCalls(self)

    @cached_property
    def artifacts(self) -> Artifacts:
        return Artifacts(self)

    @cached_property
    def barriers(self) -> calls.BarriersCalls:
        return calls.BarriersCalls(self)

    @cached_property
    def checkpoints(self) -> Checkpoints:
        return Checkpoints(self)

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
    def handoffs(self) -> Handoffs:
        return Handoffs(self)

    @cached_property
    def inbox(self) -> Inbox:
        return Inbox(self)

    @cached_property
    def joins(self) -> calls.JoinsCalls:
        return calls.JoinsCalls(self)

    @cached_property
    def locks(self) -> calls.LocksCalls:
        return calls.LocksCalls(self)

    @cached_property
    def messages(self) -> Messages:
        return Messages(self)

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
    def rules(self) -> Rules:
        return Rules(self)

    @cached_property
    def secrets(self) -> Secrets:
        return Secrets(self)

    @cached_property
    def semaphores(self) -> calls.SemaphoresCalls:
        return calls.SemaphoresCalls(self)

    @cached_property
    def spending(self) -> calls.SpendingCalls:
        return calls.SpendingCalls(self)

    @cached_property
    def state(self) -> State:
        return State(self)

    @cached_property
    def streams(self) -> Streams:
        return Streams(self)

    @cached_property
    def tasks(self) -> Tasks:
        return Tasks(self)

    @cached_property
    def topics(self) -> Topics:
        return Topics(self)

    @cached_property
    def workspace(self) -> Workspace:
        return Workspace(self)


class Transaction(TransactionQueue):
    """A transaction of a blocking client."""

    def __init__(self, baton: Baton) -> None:
        super().__init__(baton.agent)
        self._baton = baton

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.commit()

    def commit(self) -> None:
        """Commits what was queued. The end of the `with` block does it."""
        # The token of the handle is a precondition here, not a field.
        plain = self._baton.without_token()
        answer = plain.execute(TRANSACTION, self.fields(self._baton.token))
        self.committed(answer.revision, answer.result)


class Batch(BatchQueue):
    """A batch of a blocking client."""

    def __init__(self, baton: Baton) -> None:
        super().__init__(baton.agent)
        self._baton = baton

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.send()

    def send(self) -> None:
        """Sends what was queued, waits for all outcomes, and raises the first error, if there is
        one. The end of the `with` block does it."""
        calls, pending = self.take()
        settle(pending, self._baton.execute_many(calls))
