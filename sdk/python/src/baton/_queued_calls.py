"""One method per operation of a transaction or a batch; each is queued.

Made by `generate.py` from `spec/`; changes made here are overwritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import params as p
from . import types as t
from ._command_queue import Pending, QueuedCalls
from ._omit import OMIT
from ._operations import OPERATIONS


class AgentsCalls(QueuedCalls):
    """The operations `agent.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def register(
        self,
        agent: str,
        *,
        capabilities: Sequence[str] | None = None,
        metadata: Any = OMIT,
        parent: str | None = None,
        ttl_ms: int | None = None,
    ) -> Pending[t.Agent]:
        """Register an agent and start its session (`agent.register`).

        Args:
            agent: The id of the agent.
            capabilities: The capabilities of the agent. Tasks and hand-offs that require
                capabilities go to agents that have all of them.
            metadata: Any JSON that describes the agent. Default: none.
            parent: The agent that supervises this one, which must have a session. When that
                session ends, this one ends in the same commit. Default: none.
            ttl_ms: Time to live of the session in milliseconds. The agent is lost if it makes
                no call for this long, and none of its calls waits.
        """
        sent: dict[str, Any] = {"agent": agent}
        if capabilities is not None:
            sent["capabilities"] = capabilities
        if metadata is not OMIT:
            sent["metadata"] = metadata
        if parent is not None:
            sent["parent"] = parent
        if ttl_ms is not None:
            sent["ttl_ms"] = ttl_ms
        return self._queue(OPERATIONS["agent.register"], sent, lambda raw: t.Agent(raw))

    def heartbeat(
        self,
        agent: str,
        *,
        token: int | None = None,
    ) -> Pending[t.Agent]:
        """Renew a session (`agent.heartbeat`).

        Args:
            agent: The agent.
            token: The token of the session. If omitted, the current session is renewed.
        """
        sent: dict[str, Any] = {"agent": agent}
        if token is not None:
            sent["token"] = token
        return self._queue(OPERATIONS["agent.heartbeat"], sent, lambda raw: t.Agent(raw))

    def leave(
        self,
        agent: str,
        *,
        token: int | None = None,
    ) -> Pending[t.Agent]:
        """End a session (`agent.leave`).

        Args:
            agent: The agent.
            token: The token of the session. If omitted, the current session is ended.
        """
        sent: dict[str, Any] = {"agent": agent}
        if token is not None:
            sent["token"] = token
        return self._queue(OPERATIONS["agent.leave"], sent, lambda raw: t.Agent(raw))

    def next(
        self,
        *,
        capabilities: Sequence[str] | None = None,
        kinds: Sequence[t.WorkKind] | None = None,
        lease_ms: int | None = None,
        redeliver_ms: int | None = None,
        types: Sequence[str] | None = None,
        wait_ms: int | None = None,
    ) -> Pending[t.Work | None]:
        """Receive the next hand-off, message or task, whichever comes first (`agent.next`).

        Args:
            capabilities: The capabilities of the caller for tasks. If omitted, those of its
                session.
            kinds: The kinds of work to receive, at least two. If omitted, all.
            lease_ms: The lease of a task in milliseconds, unless it is renewed.
            redeliver_ms: How long after a delivery without an acknowledgement a message is
                delivered again, in milliseconds.
            types: Only tasks of these types. If omitted, any type.
            wait_ms: How long to wait for work, in milliseconds. If omitted, the call does not
                wait.
        """
        sent: dict[str, Any] = {}
        if capabilities is not None:
            sent["capabilities"] = capabilities
        if kinds is not None:
            sent["kinds"] = kinds
        if lease_ms is not None:
            sent["lease_ms"] = lease_ms
        if redeliver_ms is not None:
            sent["redeliver_ms"] = redeliver_ms
        if types is not None:
            sent["types"] = types
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        return self._queue(OPERATIONS["agent.next"], sent, lambda raw: t.optional(t.Work, raw))


class ArtifactsCalls(QueuedCalls):
    """The operations `artifact.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def delete(
        self,
        artifact: str,
    ) -> Pending[t.Artifact]:
        """Delete an artifact that nothing references (`artifact.delete`).

        Args:
            artifact: The artifact.
        """
        sent: dict[str, Any] = {"artifact": artifact}
        return self._queue(OPERATIONS["artifact.delete"], sent, lambda raw: t.Artifact(raw))


class BarriersCalls(QueuedCalls):
    """The operations `barrier.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def arrive(
        self,
        name: str,
        count: int,
        *,
        wait_ms: int | None = None,
    ) -> Pending[t.Arrival]:
        """Arrive at a barrier, optionally waiting until it opens (`barrier.arrive`).

        Args:
            name: The barrier.
            count: The number of arrivals that opens the barrier. It must be the same in every
                call of a generation.
            wait_ms: How long to wait for the barrier to open, in milliseconds. If omitted, the
                call returns at once and the arrival stays. If the wait times out, the arrival
                is withdrawn.
        """
        sent: dict[str, Any] = {"name": name, "count": count}
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        return self._queue(OPERATIONS["barrier.arrive"], sent, lambda raw: t.Arrival(raw))

    def reset(
        self,
        name: str,
    ) -> Pending[t.Barrier]:
        """Discard all arrivals and start a new generation (`barrier.reset`).

        Args:
            name: The barrier.
        """
        sent: dict[str, Any] = {"name": name}
        return self._queue(OPERATIONS["barrier.reset"], sent, lambda raw: t.Barrier(raw))


class CheckpointsCalls(QueuedCalls):
    """The operations `checkpoint.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def save(
        self,
        state: Any,
        task: str,
        *,
        token: int | None = None,
        content_type: str | None = None,
        description: str | None = None,
        key: str | None = None,
        label: str | None = None,
        metadata: Any = OMIT,
        parent: str | None = None,
        parent_key: str | None = None,
    ) -> Pending[t.Checkpoint]:
        """Save a checkpoint of a task or another unit of work (`checkpoint.save`).

        Args:
            state: The state: any JSON, stored byte for byte; with `content_type`, a string with
                bytes in Base64.
            task: The task, or any other id of a unit of work.
            token: The token of the task's lease. Required if the task exists in this workspace.
                If omitted for any other unit of work, no token is checked.
            content_type: The type of the bytes, as the caller names it. If omitted, the state
                is JSON.
            description: Human-readable description. Default: none.
            key: A key of the caller's choice, unique within the task. A checkpoint with the
                same key is replaced. Default: none.
            label: A label. Labelled checkpoints are not removed by retention rules. Default:
                none.
            metadata: An object to filter lists by. Default: none.
            parent: The checkpoint that this one continues. If omitted, the one with
                `parent_key`; without `key` and `parent_key`, the head of the task.
            parent_key: The key of the checkpoint that this one continues. It need not exist.
                Default: none.
        """
        sent: dict[str, Any] = {"state": state, "task": task}
        if token is not None:
            sent["token"] = token
        if content_type is not None:
            sent["content_type"] = content_type
        if description is not None:
            sent["description"] = description
        if key is not None:
            sent["key"] = key
        if label is not None:
            sent["label"] = label
        if metadata is not OMIT:
            sent["metadata"] = metadata
        if parent is not None:
            sent["parent"] = parent
        if parent_key is not None:
            sent["parent_key"] = parent_key
        return self._queue(OPERATIONS["checkpoint.save"], sent, lambda raw: t.Checkpoint(raw))

    def restore(
        self,
        checkpoint: str,
        *,
        token: int | None = None,
    ) -> Pending[t.Checkpoint]:
        """Make a checkpoint the current one of its task and return it (`checkpoint.restore`).

        Args:
            checkpoint: The checkpoint.
            token: The token of the task's lease. Required if the task is leased; if omitted
                otherwise, no token is checked.
        """
        sent: dict[str, Any] = {"checkpoint": checkpoint}
        if token is not None:
            sent["token"] = token
        return self._queue(OPERATIONS["checkpoint.restore"], sent, lambda raw: t.Checkpoint(raw))

    def fork(
        self,
        checkpoint: str,
        task: str,
        *,
        token: int | None = None,
    ) -> Pending[t.Checkpoint]:
        """Start the checkpoints of another task with a copy of this one (`checkpoint.fork`).

        Args:
            checkpoint: The checkpoint.
            task: The new task, or other unit of work. It must not have checkpoints yet.
            token: The token of that task's lease. Required if the task is leased; if omitted
                otherwise, no token is checked.
        """
        sent: dict[str, Any] = {"checkpoint": checkpoint, "task": task}
        if token is not None:
            sent["token"] = token
        return self._queue(OPERATIONS["checkpoint.fork"], sent, lambda raw: t.Checkpoint(raw))

    def label(
        self,
        checkpoint: str,
        *,
        label: str | None = None,
    ) -> Pending[t.Checkpoint]:
        """Set or remove the label of a checkpoint (`checkpoint.label`).

        Args:
            checkpoint: The checkpoint.
            label: The new label. If omitted, the label is removed.
        """
        sent: dict[str, Any] = {"checkpoint": checkpoint}
        if label is not None:
            sent["label"] = label
        return self._queue(OPERATIONS["checkpoint.label"], sent, lambda raw: t.Checkpoint(raw))

    def write(
        self,
        task: str,
        key: str,
        writer: str,
        writes: Sequence[p.NewWrite],
        *,
        token: int | None = None,
        path: str | None = None,
    ) -> Pending[t.CheckpointWritten]:
        """Store pending writes after a checkpoint (`checkpoint.write`).

        Args:
            task: The task, or any other id of a unit of work.
            key: The key of the checkpoint. It need not be saved yet.
            writer: The step that writes: together with `index` it identifies a write.
            writes: The writes.
            token: The token of the task's lease. Required if the task exists in this workspace.
                If omitted for any other unit of work, no token is checked.
            path: The place of the step. Writes are returned by path, writer and index. Default:
                empty.
        """
        sent: dict[str, Any] = {"task": task, "key": key, "writer": writer, "writes": writes}
        if token is not None:
            sent["token"] = token
        if path is not None:
            sent["path"] = path
        return self._queue(OPERATIONS["checkpoint.write"], sent, lambda raw: t.CheckpointWritten(raw))

    def copy(
        self,
        task: str,
        to: str,
        *,
        token: int | None = None,
    ) -> Pending[t.CheckpointCopied]:
        """Copy all checkpoints of a task to another one (`checkpoint.copy`).

        Args:
            task: The task whose checkpoints are copied.
            to: The other task, or other unit of work. It must not have checkpoints yet.
            token: The token of that task's lease. Required if the task is leased; if omitted
                otherwise, no token is checked.
        """
        sent: dict[str, Any] = {"task": task, "to": to}
        if token is not None:
            sent["token"] = token
        return self._queue(OPERATIONS["checkpoint.copy"], sent, lambda raw: t.CheckpointCopied(raw))

    def prune(
        self,
        task: str,
        *,
        all: bool | None = None,
        keep: int | None = None,
        keys: Sequence[str] | None = None,
        metadata: Any = OMIT,
        older_than_ms: int | None = None,
    ) -> Pending[t.CheckpointPruned]:
        """Delete checkpoints of a task by number, age, metadata or key (`checkpoint.prune`).

        Args:
            task: The task.
            all: Also delete the head and labelled checkpoints. If it deletes the last one, it
                also deletes pending writes after checkpoints that were never saved.
            keep: The number of newest checkpoints to keep. Labelled ones are not counted unless
                `all` is set. If omitted, the number does not matter.
            keys: Delete only checkpoints with one of these keys. If omitted, any.
            metadata: Delete only checkpoints whose metadata contains this object, as `@>` of
                `PostgreSQL` defines it. If omitted, any.
            older_than_ms: The minimum age of a deleted checkpoint in milliseconds. If omitted,
                age does not matter.
        """
        sent: dict[str, Any] = {"task": task}
        if all is not None:
            sent["all"] = all
        if keep is not None:
            sent["keep"] = keep
        if keys is not None:
            sent["keys"] = keys
        if metadata is not OMIT:
            sent["metadata"] = metadata
        if older_than_ms is not None:
            sent["older_than_ms"] = older_than_ms
        return self._queue(OPERATIONS["checkpoint.prune"], sent, lambda raw: t.CheckpointPruned(raw))

    def retain(
        self,
        *,
        keep: int | None = None,
        max_age_ms: int | None = None,
        task: str | None = None,
    ) -> Pending[t.CheckpointRules]:
        """Set a retention rule for checkpoints (`checkpoint.retain`).

        Args:
            keep: The number of newest checkpoints to keep per task; labelled ones are not
                counted. If omitted, the number is not limited.
            max_age_ms: The maximum age in milliseconds. If omitted, age is not limited.
            task: The tasks that the rule applies to. If omitted, all tasks without a more
                specific rule.
        """
        sent: dict[str, Any] = {}
        if keep is not None:
            sent["keep"] = keep
        if max_age_ms is not None:
            sent["max_age_ms"] = max_age_ms
        if task is not None:
            sent["task"] = task
        return self._queue(OPERATIONS["checkpoint.retain"], sent, lambda raw: t.CheckpointRules(raw))


class ContractsCalls(QueuedCalls):
    """The operations `contract.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def declare(
        self,
        name: str,
        keys: Sequence[p.ContractTerms],
        *,
        on_break: t.OnBreak | None = None,
    ) -> Pending[t.DeclaredContract]:
        """Declare the keys that you depend on (`contract.declare`).

        Args:
            name: The name of the contract.
            keys: The keys that you depend on, at least one.
            on_break: The effect on a command that would break the contract.
        """
        sent: dict[str, Any] = {"name": name, "keys": keys}
        if on_break is not None:
            sent["on_break"] = on_break
        return self._queue(OPERATIONS["contract.declare"], sent, lambda raw: t.DeclaredContract(raw))

    def delete(
        self,
        name: str,
        *,
        force: bool | None = None,
    ) -> Pending[t.DeclaredContract]:
        """Delete a declared contract (`contract.delete`).

        Args:
            name: The name of the contract.
            force: Delete it even if another agent owns it.
        """
        sent: dict[str, Any] = {"name": name}
        if force is not None:
            sent["force"] = force
        return self._queue(OPERATIONS["contract.delete"], sent, lambda raw: t.DeclaredContract(raw))


class EventsCalls(QueuedCalls):
    """The operations `event.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def emit(
        self,
        type: str,
        payload: Any = OMIT,
    ) -> Pending[t.EventEmitted]:
        """Emit an event of your own type (`event.emit`).

        Args:
            type: The type: words with dots between them, such as `deploy.finished`.
            payload: Any JSON. Default: none.
        """
        sent: dict[str, Any] = {"type": type}
        if payload is not OMIT:
            sent["payload"] = payload
        return self._queue(OPERATIONS["event.emit"], sent, lambda raw: t.EventEmitted(raw))


class HandlersCalls(QueuedCalls):
    """The operations `handler.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def register(
        self,
        handler: str,
    ) -> Pending[t.Handler]:
        """Register the caller for a handler (`handler.register`).

        Args:
            handler: The handler.
        """
        sent: dict[str, Any] = {"handler": handler}
        return self._queue(OPERATIONS["handler.register"], sent, lambda raw: t.Handler(raw))

    def remove(
        self,
        handler: str,
    ) -> Pending[t.Handler]:
        """Remove the caller from a handler (`handler.remove`).

        Args:
            handler: The handler.
        """
        sent: dict[str, Any] = {"handler": handler}
        return self._queue(OPERATIONS["handler.remove"], sent, lambda raw: t.Handler(raw))


class HandoffsCalls(QueuedCalls):
    """The operations `handoff.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def offer(
        self,
        to: p.Receiver,
        *,
        token: int | None = None,
        approval: bool | p.ApprovalWanted | None = None,
        artifacts: Any = OMIT,
        copy: bool | None = None,
        deadline_ms: int | None = None,
        keys: Sequence[p.Selected] | None = None,
        notes: Any = OMIT,
        on_loop: t.OnLoop | None = None,
        output_keys: Any = OMIT,
        reason: str | None = None,
        redeliver_ms: int | None = None,
        remaining_work: Any = OMIT,
        state: Mapping[str, Any] | None = None,
        task: str | None = None,
        traceparent: str | None = None,
        work_completed: Any = OMIT,
    ) -> Pending[t.Handoff]:
        """Offer work to an agent, which may accept or reject it (`handoff.offer`).

        Args:
            to: The receiver: an agent id, or `{"capability": name}` for the first agent that
                has the capability and accepts.
            token: The token of the giver's lease. Required with `task`. If omitted, there is no
                task.
            approval: Require an approval: `true`, or an object that names the approvers and how
                long an approval is valid.
            artifacts: References to what the work has produced: a list, usually of artifact
                ids. Default: none.
            copy: Copy the keys in the giver's own namespace: the giver keeps them. If `false`,
                they move.
            deadline_ms: How long the receiver has to accept, in milliseconds.
            keys: Keys to hand over, as `namespace/key`. Keys in the giver's own namespace move
                to the receiver's; others stay where they are. The answer to `handoff.accept`
                contains their values. A key with `*` is a pattern, such as `agent:ada/**`: it
                selects the keys of its namespace that match it at the moment of the move,
                possibly none.
            notes: Further notes for the receiver, as any JSON. Default: none.
            on_loop: The action if the task is handed around in a loop.
            output_keys: Names of what the work has produced, as any JSON. Default: none.
            reason: The reason, which is recorded. Default: none.
            redeliver_ms: How long after a delivery without an answer it is delivered again, in
                milliseconds.
            remaining_work: Remaining work, as any JSON. Default: none.
            state: Context for the receiver as a flat object.
            task: The task to hand over. If omitted, only context and keys are offered;
                `handoff.execute` requires it.
            traceparent: W3C trace context (`traceparent`). Default: none.
            work_completed: Completed work, as any JSON. Default: none.
        """
        sent: dict[str, Any] = {"to": to}
        if token is not None:
            sent["token"] = token
        if approval is not None:
            sent["approval"] = approval
        if artifacts is not OMIT:
            sent["artifacts"] = artifacts
        if copy is not None:
            sent["copy"] = copy
        if deadline_ms is not None:
            sent["deadline_ms"] = deadline_ms
        if keys is not None:
            sent["keys"] = keys
        if notes is not OMIT:
            sent["notes"] = notes
        if on_loop is not None:
            sent["on_loop"] = on_loop
        if output_keys is not OMIT:
            sent["output_keys"] = output_keys
        if reason is not None:
            sent["reason"] = reason
        if redeliver_ms is not None:
            sent["redeliver_ms"] = redeliver_ms
        if remaining_work is not OMIT:
            sent["remaining_work"] = remaining_work
        if state is not None:
            sent["state"] = state
        if task is not None:
            sent["task"] = task
        if traceparent is not None:
            sent["traceparent"] = traceparent
        if work_completed is not OMIT:
            sent["work_completed"] = work_completed
        return self._queue(OPERATIONS["handoff.offer"], sent, lambda raw: t.Handoff(raw))

    def import_context(
        self,
        to: p.Receiver,
        context: p.TransferContext,
        *,
        approval: bool | p.ApprovalWanted | None = None,
        deadline_ms: int | None = None,
    ) -> Pending[t.Handoff]:
        """Offer work from another system, given as a portable context (`handoff.import_context`).

        Args:
            to: The receiver: an agent id, or `{"capability": name}` for the first agent that
                has the capability and accepts.
            context: The context, as `handoff.export` returns it or another system sends it.
            approval: Require an approval: `true`, or an object that names the approvers and how
                long an approval is valid.
            deadline_ms: How long the receiver has to accept, in milliseconds.
        """
        sent: dict[str, Any] = {"to": to, "context": context}
        if approval is not None:
            sent["approval"] = approval
        if deadline_ms is not None:
            sent["deadline_ms"] = deadline_ms
        return self._queue(OPERATIONS["handoff.import_context"], sent, lambda raw: t.Handoff(raw))

    def execute(
        self,
        to: p.Receiver,
        *,
        token: int | None = None,
        approval: bool | p.ApprovalWanted | None = None,
        artifacts: Any = OMIT,
        copy: bool | None = None,
        deadline_ms: int | None = None,
        keys: Sequence[p.Selected] | None = None,
        notes: Any = OMIT,
        on_loop: t.OnLoop | None = None,
        output_keys: Any = OMIT,
        reason: str | None = None,
        redeliver_ms: int | None = None,
        remaining_work: Any = OMIT,
        state: Mapping[str, Any] | None = None,
        task: str | None = None,
        traceparent: str | None = None,
        work_completed: Any = OMIT,
    ) -> Pending[t.Handoff]:
        """Hand over a task and state at once, without acceptance (`handoff.execute`).

        Args:
            to: The receiver: an agent id, or `{"capability": name}` for the first agent that
                has the capability and accepts.
            token: The token of the giver's lease. Required with `task`. If omitted, there is no
                task.
            approval: Require an approval: `true`, or an object that names the approvers and how
                long an approval is valid.
            artifacts: References to what the work has produced: a list, usually of artifact
                ids. Default: none.
            copy: Copy the keys in the giver's own namespace: the giver keeps them. If `false`,
                they move.
            deadline_ms: How long the receiver has to accept, in milliseconds.
            keys: Keys to hand over, as `namespace/key`. Keys in the giver's own namespace move
                to the receiver's; others stay where they are. The answer to `handoff.accept`
                contains their values. A key with `*` is a pattern, such as `agent:ada/**`: it
                selects the keys of its namespace that match it at the moment of the move,
                possibly none.
            notes: Further notes for the receiver, as any JSON. Default: none.
            on_loop: The action if the task is handed around in a loop.
            output_keys: Names of what the work has produced, as any JSON. Default: none.
            reason: The reason, which is recorded. Default: none.
            redeliver_ms: How long after a delivery without an answer it is delivered again, in
                milliseconds.
            remaining_work: Remaining work, as any JSON. Default: none.
            state: Context for the receiver as a flat object.
            task: The task to hand over. If omitted, only context and keys are offered;
                `handoff.execute` requires it.
            traceparent: W3C trace context (`traceparent`). Default: none.
            work_completed: Completed work, as any JSON. Default: none.
        """
        sent: dict[str, Any] = {"to": to}
        if token is not None:
            sent["token"] = token
        if approval is not None:
            sent["approval"] = approval
        if artifacts is not OMIT:
            sent["artifacts"] = artifacts
        if copy is not None:
            sent["copy"] = copy
        if deadline_ms is not None:
            sent["deadline_ms"] = deadline_ms
        if keys is not None:
            sent["keys"] = keys
        if notes is not OMIT:
            sent["notes"] = notes
        if on_loop is not None:
            sent["on_loop"] = on_loop
        if output_keys is not OMIT:
            sent["output_keys"] = output_keys
        if reason is not None:
            sent["reason"] = reason
        if redeliver_ms is not None:
            sent["redeliver_ms"] = redeliver_ms
        if remaining_work is not OMIT:
            sent["remaining_work"] = remaining_work
        if state is not None:
            sent["state"] = state
        if task is not None:
            sent["task"] = task
        if traceparent is not None:
            sent["traceparent"] = traceparent
        if work_completed is not OMIT:
            sent["work_completed"] = work_completed
        return self._queue(OPERATIONS["handoff.execute"], sent, lambda raw: t.Handoff(raw))

    def execute_all(
        self,
        to: str,
        *,
        copy: bool | None = None,
        deadline_ms: int | None = None,
        notes: Any = OMIT,
        overwrite: bool | None = None,
        reason: str | None = None,
    ) -> Pending[t.HandoffHandoffs]:
        """Hand over all tasks and keys of the caller at once, without acceptance
        (`handoff.execute_all`).

        Args:
            to: The receiver.
            copy: Copy the keys: the caller keeps them. If `false`, they move.
            deadline_ms: How long the receiver has to claim the tasks, in milliseconds.
            notes: Further notes for the receiver, as any JSON. Default: none.
            overwrite: Replace keys that the receiver already has. If `false`, they are a
                conflict.
            reason: The reason, which is recorded. Default: none.
        """
        sent: dict[str, Any] = {"to": to}
        if copy is not None:
            sent["copy"] = copy
        if deadline_ms is not None:
            sent["deadline_ms"] = deadline_ms
        if notes is not OMIT:
            sent["notes"] = notes
        if overwrite is not None:
            sent["overwrite"] = overwrite
        if reason is not None:
            sent["reason"] = reason
        return self._queue(OPERATIONS["handoff.execute_all"], sent, lambda raw: t.HandoffHandoffs(raw))

    def validate(
        self,
        to: p.Receiver,
        *,
        token: int | None = None,
        approval: bool | p.ApprovalWanted | None = None,
        artifacts: Any = OMIT,
        copy: bool | None = None,
        deadline_ms: int | None = None,
        keys: Sequence[p.Selected] | None = None,
        notes: Any = OMIT,
        on_loop: t.OnLoop | None = None,
        output_keys: Any = OMIT,
        reason: str | None = None,
        redeliver_ms: int | None = None,
        remaining_work: Any = OMIT,
        state: Mapping[str, Any] | None = None,
        task: str | None = None,
        traceparent: str | None = None,
        work_completed: Any = OMIT,
    ) -> Pending[t.HandoffVerdict]:
        """Check an offer against the rules without making it (`handoff.validate`).

        Args:
            to: The receiver: an agent id, or `{"capability": name}` for the first agent that
                has the capability and accepts.
            token: The token of the giver's lease. Required with `task`. If omitted, there is no
                task.
            approval: Require an approval: `true`, or an object that names the approvers and how
                long an approval is valid.
            artifacts: References to what the work has produced: a list, usually of artifact
                ids. Default: none.
            copy: Copy the keys in the giver's own namespace: the giver keeps them. If `false`,
                they move.
            deadline_ms: How long the receiver has to accept, in milliseconds.
            keys: Keys to hand over, as `namespace/key`. Keys in the giver's own namespace move
                to the receiver's; others stay where they are. The answer to `handoff.accept`
                contains their values. A key with `*` is a pattern, such as `agent:ada/**`: it
                selects the keys of its namespace that match it at the moment of the move,
                possibly none.
            notes: Further notes for the receiver, as any JSON. Default: none.
            on_loop: The action if the task is handed around in a loop.
            output_keys: Names of what the work has produced, as any JSON. Default: none.
            reason: The reason, which is recorded. Default: none.
            redeliver_ms: How long after a delivery without an answer it is delivered again, in
                milliseconds.
            remaining_work: Remaining work, as any JSON. Default: none.
            state: Context for the receiver as a flat object.
            task: The task to hand over. If omitted, only context and keys are offered;
                `handoff.execute` requires it.
            traceparent: W3C trace context (`traceparent`). Default: none.
            work_completed: Completed work, as any JSON. Default: none.
        """
        sent: dict[str, Any] = {"to": to}
        if token is not None:
            sent["token"] = token
        if approval is not None:
            sent["approval"] = approval
        if artifacts is not OMIT:
            sent["artifacts"] = artifacts
        if copy is not None:
            sent["copy"] = copy
        if deadline_ms is not None:
            sent["deadline_ms"] = deadline_ms
        if keys is not None:
            sent["keys"] = keys
        if notes is not OMIT:
            sent["notes"] = notes
        if on_loop is not None:
            sent["on_loop"] = on_loop
        if output_keys is not OMIT:
            sent["output_keys"] = output_keys
        if reason is not None:
            sent["reason"] = reason
        if redeliver_ms is not None:
            sent["redeliver_ms"] = redeliver_ms
        if remaining_work is not OMIT:
            sent["remaining_work"] = remaining_work
        if state is not None:
            sent["state"] = state
        if task is not None:
            sent["task"] = task
        if traceparent is not None:
            sent["traceparent"] = traceparent
        if work_completed is not OMIT:
            sent["work_completed"] = work_completed
        return self._queue(OPERATIONS["handoff.validate"], sent, lambda raw: t.HandoffVerdict(raw))

    def receive(
        self,
        *,
        wait_ms: int | None = None,
    ) -> Pending[t.Handoff | None]:
        """Receive the next hand-off, optionally waiting for one (`handoff.receive`).

        Args:
            wait_ms: How long to wait for a hand-off, in milliseconds. If omitted, the call does
                not wait.
        """
        sent: dict[str, Any] = {}
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        return self._queue(OPERATIONS["handoff.receive"], sent, lambda raw: t.optional(t.Handoff, raw))

    def accept(
        self,
        handoff: str,
        *,
        lease_ms: int | None = None,
        overwrite: bool | None = None,
    ) -> Pending[t.HandoffAccepted]:
        """Accept a hand-off (`handoff.accept`).

        Args:
            handoff: The hand-off.
            lease_ms: The receiver's lease of the task in milliseconds. If omitted, the length
                of the giver's lease.
            overwrite: Replace keys that exist in the receiver's namespace. If `false`, they are
                a conflict.
        """
        sent: dict[str, Any] = {"handoff": handoff}
        if lease_ms is not None:
            sent["lease_ms"] = lease_ms
        if overwrite is not None:
            sent["overwrite"] = overwrite
        return self._queue(OPERATIONS["handoff.accept"], sent, lambda raw: t.HandoffAccepted(raw))

    def reject(
        self,
        handoff: str,
        *,
        reason: str | None = None,
    ) -> Pending[t.Handoff]:
        """Reject a hand-off (`handoff.reject`).

        Args:
            handoff: The hand-off.
            reason: The reason, which is recorded. Default: none.
        """
        sent: dict[str, Any] = {"handoff": handoff}
        if reason is not None:
            sent["reason"] = reason
        return self._queue(OPERATIONS["handoff.reject"], sent, lambda raw: t.Handoff(raw))

    def complete(
        self,
        handoff: str,
        *,
        changes: Mapping[str, Any] | None = None,
        result: Any = OMIT,
    ) -> Pending[t.Handoff]:
        """Complete an accepted hand-off (`handoff.complete`).

        Args:
            handoff: The hand-off.
            changes: The changed members of the hand-off's `state`.
            result: The result. Default: none.
        """
        sent: dict[str, Any] = {"handoff": handoff}
        if changes is not None:
            sent["changes"] = changes
        if result is not OMIT:
            sent["result"] = result
        return self._queue(OPERATIONS["handoff.complete"], sent, lambda raw: t.Handoff(raw))

    def cancel(
        self,
        handoff: str,
        *,
        reason: str | None = None,
    ) -> Pending[t.Handoff]:
        """Cancel a hand-off (`handoff.cancel`).

        Args:
            handoff: The hand-off.
            reason: The reason, which is recorded. Default: none.
        """
        sent: dict[str, Any] = {"handoff": handoff}
        if reason is not None:
            sent["reason"] = reason
        return self._queue(OPERATIONS["handoff.cancel"], sent, lambda raw: t.Handoff(raw))

    def approve(
        self,
        handoff: str,
        *,
        digest: str | None = None,
        reason: str | None = None,
    ) -> Pending[t.Handoff]:
        """Approve a hand-off (`handoff.approve`).

        Args:
            handoff: The hand-off.
            digest: The `digest` of the hand-off that is approved. If it does not match, the
                approval is rejected. If omitted, it is not compared.
            reason: The reason, which is recorded. Default: none.
        """
        sent: dict[str, Any] = {"handoff": handoff}
        if digest is not None:
            sent["digest"] = digest
        if reason is not None:
            sent["reason"] = reason
        return self._queue(OPERATIONS["handoff.approve"], sent, lambda raw: t.Handoff(raw))

    def wait(
        self,
        handoff: str,
        *,
        statuses: Sequence[t.HandoffStatus] | None = None,
        wait_ms: int | None = None,
    ) -> Pending[t.Handoff | None]:
        """Wait until a hand-off has ended or has one of the given statuses (`handoff.wait`).

        Args:
            handoff: The hand-off.
            statuses: Return as soon as the hand-off has one of these statuses. If omitted, when
                it has ended. A hand-off that has ended always ends the wait.
            wait_ms: How long to wait, in milliseconds. If omitted, the call does not wait.
        """
        sent: dict[str, Any] = {"handoff": handoff}
        if statuses is not None:
            sent["statuses"] = statuses
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        return self._queue(OPERATIONS["handoff.wait"], sent, lambda raw: t.optional(t.Handoff, raw))


class InboxCalls(QueuedCalls):
    """The operations `inbox.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def receive(
        self,
        *,
        agent: str | None = None,
        limit: int | None = None,
        redeliver_ms: int | None = None,
        wait_ms: int | None = None,
    ) -> Pending[t.MessageReceived]:
        """Receive messages, optionally waiting for one (`inbox.receive`).

        Args:
            agent: The owner of the inbox, which must be the caller. If omitted, the caller.
            limit: The maximum number of messages.
            redeliver_ms: How long after a delivery without an acknowledgement a message is
                delivered again, in milliseconds.
            wait_ms: How long to wait if the inbox is empty, in milliseconds. If omitted, the
                call does not wait.
        """
        sent: dict[str, Any] = {}
        sent["agent"] = self._agent if agent is None else agent
        if limit is not None:
            sent["limit"] = limit
        if redeliver_ms is not None:
            sent["redeliver_ms"] = redeliver_ms
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        return self._queue(OPERATIONS["inbox.receive"], sent, lambda raw: t.MessageReceived(raw))

    def ack(
        self,
        *,
        agent: str | None = None,
        message: str | None = None,
        messages: Sequence[str] | None = None,
    ) -> Pending[t.MessageAcked]:
        """Acknowledge messages, so that they are not delivered again (`inbox.ack`).

        Args:
            agent: The owner of the inbox, which must be the caller. If omitted, the caller.
            message: One message. If omitted, `messages` is required.
            messages: Several messages.
        """
        sent: dict[str, Any] = {}
        sent["agent"] = self._agent if agent is None else agent
        if message is not None:
            sent["message"] = message
        if messages is not None:
            sent["messages"] = messages
        return self._queue(OPERATIONS["inbox.ack"], sent, lambda raw: t.MessageAcked(raw))

    def requeue(
        self,
        message: str,
    ) -> Pending[t.Message]:
        """Return a dead message to its inbox (`inbox.requeue`).

        Args:
            message: The message.
        """
        sent: dict[str, Any] = {"message": message}
        return self._queue(OPERATIONS["inbox.requeue"], sent, lambda raw: t.Message(raw))


class JoinsCalls(QueuedCalls):
    """The operations `join.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def create(
        self,
        *,
        deadline_ms: int | None = None,
        group: str | None = None,
        id: str | None = None,
        need: int | t.Every | None = None,
        tasks: Sequence[str] | None = None,
    ) -> Pending[t.Join]:
        """Create a join over a group or a list of tasks (`join.create`).

        Args:
            deadline_ms: How long the join waits, in milliseconds. If omitted, there is no
                limit.
            group: The group. Tasks that are added to the group later belong to the join too. If
                omitted, `tasks` is required.
            id: The id of the join. If omitted, it is generated. In a WebSocket frame, where
                `id` numbers the request, the field is called `join`.
            need: The number of tasks that must complete, or `"all"`: every task must finish,
                with any outcome.
            tasks: The tasks. If omitted, `group` is required.
        """
        sent: dict[str, Any] = {}
        if deadline_ms is not None:
            sent["deadline_ms"] = deadline_ms
        if group is not None:
            sent["group"] = group
        if id is not None:
            sent["id"] = id
        if need is not None:
            sent["need"] = need
        if tasks is not None:
            sent["tasks"] = tasks
        return self._queue(OPERATIONS["join.create"], sent, lambda raw: t.Join(raw))

    def wait(
        self,
        join: str,
        *,
        wait_ms: int | None = None,
    ) -> Pending[t.Join | None]:
        """Wait until a join is settled (`join.wait`).

        Args:
            join: The join.
            wait_ms: How long to wait, in milliseconds. If omitted, the call does not wait.
        """
        sent: dict[str, Any] = {"join": join}
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        return self._queue(OPERATIONS["join.wait"], sent, lambda raw: t.optional(t.Join, raw))


class LocksCalls(QueuedCalls):
    """The operations `lock.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def acquire(
        self,
        name: str,
        *,
        ttl_ms: int | None = None,
        wait_ms: int | None = None,
    ) -> Pending[t.Hold | None]:
        """Acquire a lock, optionally waiting for it (`lock.acquire`).

        Args:
            name: The lock.
            ttl_ms: Time to live of the hold in milliseconds, unless it is renewed.
            wait_ms: How long to wait for the lock, in milliseconds. If omitted, the call does
                not wait.
        """
        sent: dict[str, Any] = {"name": name}
        if ttl_ms is not None:
            sent["ttl_ms"] = ttl_ms
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        return self._queue(OPERATIONS["lock.acquire"], sent, lambda raw: t.optional(t.Hold, raw))

    def renew(
        self,
        name: str,
        token: int,
        *,
        ttl_ms: int | None = None,
    ) -> Pending[t.Hold]:
        """Renew a lock (`lock.renew`).

        Args:
            name: The lock.
            token: The token of the hold.
            ttl_ms: The new time to live in milliseconds, from now on. If omitted, the previous
                one.
        """
        sent: dict[str, Any] = {"name": name, "token": token}
        if ttl_ms is not None:
            sent["ttl_ms"] = ttl_ms
        return self._queue(OPERATIONS["lock.renew"], sent, lambda raw: t.Hold(raw))

    def release(
        self,
        name: str,
        token: int,
    ) -> Pending[t.Lock]:
        """Release a lock (`lock.release`).

        Args:
            name: The lock.
            token: The token of the hold.
        """
        sent: dict[str, Any] = {"name": name, "token": token}
        return self._queue(OPERATIONS["lock.release"], sent, lambda raw: t.Lock(raw))


class MessagesCalls(QueuedCalls):
    """The operations `message.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def send(
        self,
        to: str,
        body: Any,
        *,
        reply_to: str | None = None,
        thread: str | None = None,
        traceparent: str | None = None,
        ttl_ms: int | None = None,
    ) -> Pending[t.Message]:
        """Send a message to an agent's inbox (`message.send`).

        Args:
            to: The receiving agent. It need not be registered yet.
            body: The body: any JSON.
            reply_to: The message that it answers, of the same conversation. Default: none.
            thread: The first message of the conversation that it belongs to. If omitted, the
                conversation of `reply_to`, or a new one.
            traceparent: W3C trace context (`traceparent`). Default: none.
            ttl_ms: Time to live in milliseconds. If omitted, the message does not expire.
        """
        sent: dict[str, Any] = {"to": to, "body": body}
        if reply_to is not None:
            sent["reply_to"] = reply_to
        if thread is not None:
            sent["thread"] = thread
        if traceparent is not None:
            sent["traceparent"] = traceparent
        if ttl_ms is not None:
            sent["ttl_ms"] = ttl_ms
        return self._queue(OPERATIONS["message.send"], sent, lambda raw: t.Message(raw))

    def request(
        self,
        to: p.Address,
        body: Any,
        *,
        keep: bool | None = None,
        timeout_ms: int | None = None,
        traceparent: str | None = None,
    ) -> Pending[t.Answered]:
        """Send a request and wait for the reply (`message.request`).

        Args:
            to: The address: an agent id, `{"handler": name}` or `{"capability": name}`.
            body: The body: any JSON.
            keep: Record the request and its reply. If `false`, the request is live: it is
                delivered at most once, its reply goes straight to the caller, and both are only
                in memory. It is lost with the server or the session of its handler, and has no
                idempotency key.
            timeout_ms: How long to wait for the reply, in milliseconds.
            traceparent: W3C trace context (`traceparent`). Default: none.
        """
        sent: dict[str, Any] = {"to": to, "body": body}
        if keep is not None:
            sent["keep"] = keep
        if timeout_ms is not None:
            sent["timeout_ms"] = timeout_ms
        if traceparent is not None:
            sent["traceparent"] = traceparent
        return self._queue(OPERATIONS["message.request"], sent, lambda raw: t.Answered(raw))

    def reply(
        self,
        request: str,
        *,
        body: Any = OMIT,
        error: Any = OMIT,
    ) -> Pending[t.Message]:
        """Reply to a request, optionally receiving the next message (`message.reply`).

        Args:
            request: The id of the request.
            body: The body of the reply. If omitted, `error` is required.
            error: The error. If omitted, `body` is required.
        """
        sent: dict[str, Any] = {"request": request}
        if body is not OMIT:
            sent["body"] = body
        if error is not OMIT:
            sent["error"] = error
        return self._queue(OPERATIONS["message.reply"], sent, lambda raw: t.Message(raw))


class NamespacesCalls(QueuedCalls):
    """The operations `namespace.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def create(
        self,
        name: str,
        *,
        rules: p.Rules | None = None,
    ) -> Pending[t.Namespace]:
        """Create a namespace (`namespace.create`).

        Args:
            name: The name of the namespace.
            rules: The rules for writes. If omitted, there are none.
        """
        sent: dict[str, Any] = {"name": name}
        if rules is not None:
            sent["rules"] = rules
        return self._queue(OPERATIONS["namespace.create"], sent, lambda raw: t.Namespace(raw))

    def configure(
        self,
        name: str,
        rules: p.Rules,
    ) -> Pending[t.Namespace]:
        """Replace the rules of a namespace (`namespace.configure`).

        Args:
            name: The name of the namespace.
            rules: The new rules.
        """
        sent: dict[str, Any] = {"name": name, "rules": rules}
        return self._queue(OPERATIONS["namespace.configure"], sent, lambda raw: t.Namespace(raw))

    def delete(
        self,
        name: str,
    ) -> Pending[t.Namespace]:
        """Delete a namespace with all its entries (`namespace.delete`).

        Args:
            name: The name of the namespace.
        """
        sent: dict[str, Any] = {"name": name}
        return self._queue(OPERATIONS["namespace.delete"], sent, lambda raw: t.Namespace(raw))


class PipelinesCalls(QueuedCalls):
    """The operations `pipeline.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def create(
        self,
        pipeline: str,
        stages: Sequence[p.StageDesign],
        *,
        automatic: bool | None = None,
        input: Any = OMIT,
        metadata: Any = OMIT,
        traceparent: str | None = None,
    ) -> Pending[t.Pipeline]:
        """Create a pipeline (`pipeline.create`).

        Args:
            pipeline: The name of the pipeline.
            stages: The stages. Each follows the one before it in this list, unless it has
                `after`.
            automatic: Create a task for every stage that becomes ready; the result of the task
                is the output of the stage.
            input: The input of the first stages. Default: none.
            metadata: An object with free-form metadata. Default: none.
            traceparent: W3C trace context (`traceparent`) of the pipeline and its tasks.
                Default: none.
        """
        sent: dict[str, Any] = {"pipeline": pipeline, "stages": stages}
        if automatic is not None:
            sent["automatic"] = automatic
        if input is not OMIT:
            sent["input"] = input
        if metadata is not OMIT:
            sent["metadata"] = metadata
        if traceparent is not None:
            sent["traceparent"] = traceparent
        return self._queue(OPERATIONS["pipeline.create"], sent, lambda raw: t.Pipeline(raw))

    def start_stage(
        self,
        pipeline: str,
        stage: str,
        *,
        input: Any = OMIT,
    ) -> Pending[t.Stage]:
        """Start a stage (`pipeline.start_stage`).

        Args:
            pipeline: The pipeline.
            stage: The stage.
            input: The input of the stage. If omitted, the outputs of the stages before it.
        """
        sent: dict[str, Any] = {"pipeline": pipeline, "stage": stage}
        if input is not OMIT:
            sent["input"] = input
        return self._queue(OPERATIONS["pipeline.start_stage"], sent, lambda raw: t.Stage(raw))

    def complete_stage(
        self,
        pipeline: str,
        stage: str,
        *,
        output: Any = OMIT,
    ) -> Pending[t.StageMoved]:
        """Complete a stage (`pipeline.complete_stage`).

        Args:
            pipeline: The pipeline.
            stage: The stage.
            output: The output of the stage. If omitted, `null`.
        """
        sent: dict[str, Any] = {"pipeline": pipeline, "stage": stage}
        if output is not OMIT:
            sent["output"] = output
        return self._queue(OPERATIONS["pipeline.complete_stage"], sent, lambda raw: t.StageMoved(raw))

    def review_stage(
        self,
        pipeline: str,
        stage: str,
        verdict: t.Verdict,
        *,
        attempt: int | None = None,
        note: str | None = None,
        output: Any = OMIT,
    ) -> Pending[t.StageMoved]:
        """Decide on a stage that waits for review (`pipeline.review_stage`).

        Args:
            pipeline: The pipeline.
            stage: The stage.
            verdict: The verdict: `complete` accepts the output, `retry` makes the stage ready
                to be started again, and `fail` fails it.
            attempt: The number of the attempt that was reviewed: `attempts` of the stage. The
                verdict is refused if another attempt waits for review. If omitted, the verdict
                is about the attempt that waits.
            note: A note, which is recorded. Default: none.
            output: The output, if it is accepted. If omitted, the submitted one.
        """
        sent: dict[str, Any] = {"pipeline": pipeline, "stage": stage, "verdict": verdict}
        if attempt is not None:
            sent["attempt"] = attempt
        if note is not None:
            sent["note"] = note
        if output is not OMIT:
            sent["output"] = output
        return self._queue(OPERATIONS["pipeline.review_stage"], sent, lambda raw: t.StageMoved(raw))

    def fail_stage(
        self,
        pipeline: str,
        stage: str,
        error: Any,
    ) -> Pending[t.Stage]:
        """Fail a stage (`pipeline.fail_stage`).

        Args:
            pipeline: The pipeline.
            stage: The stage.
            error: The error.
        """
        sent: dict[str, Any] = {"pipeline": pipeline, "stage": stage, "error": error}
        return self._queue(OPERATIONS["pipeline.fail_stage"], sent, lambda raw: t.Stage(raw))

    def retry_stage(
        self,
        pipeline: str,
        stage: str,
    ) -> Pending[t.Stage]:
        """Retry a failed stage (`pipeline.retry_stage`).

        Args:
            pipeline: The pipeline.
            stage: The stage.
        """
        sent: dict[str, Any] = {"pipeline": pipeline, "stage": stage}
        return self._queue(OPERATIONS["pipeline.retry_stage"], sent, lambda raw: t.Stage(raw))

    def skip_stage(
        self,
        pipeline: str,
        stage: str,
        *,
        reason: str | None = None,
    ) -> Pending[t.StageMoved]:
        """Skip a stage (`pipeline.skip_stage`).

        Args:
            pipeline: The pipeline.
            stage: The stage.
            reason: The reason, which is recorded. Default: none.
        """
        sent: dict[str, Any] = {"pipeline": pipeline, "stage": stage}
        if reason is not None:
            sent["reason"] = reason
        return self._queue(OPERATIONS["pipeline.skip_stage"], sent, lambda raw: t.StageMoved(raw))

    def abort(
        self,
        pipeline: str,
        *,
        reason: str | None = None,
    ) -> Pending[t.Pipeline]:
        """Abort a pipeline (`pipeline.abort`).

        Args:
            pipeline: The pipeline.
            reason: The reason, which is recorded. Default: none.
        """
        sent: dict[str, Any] = {"pipeline": pipeline}
        if reason is not None:
            sent["reason"] = reason
        return self._queue(OPERATIONS["pipeline.abort"], sent, lambda raw: t.Pipeline(raw))

    def delete(
        self,
        pipeline: str,
    ) -> Pending[t.Pipeline]:
        """Delete a finished pipeline (`pipeline.delete`).

        Args:
            pipeline: The pipeline.
        """
        sent: dict[str, Any] = {"pipeline": pipeline}
        return self._queue(OPERATIONS["pipeline.delete"], sent, lambda raw: t.Pipeline(raw))


class ReactionsCalls(QueuedCalls):
    """The operations `reaction.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def add(
        self,
        name: str,
        on: p.ReactionOn,
        *,
        do: Sequence[Any] | None = None,
        enabled: bool | None = None,
        webhook: p.WantedWebhook | None = None,
    ) -> Pending[t.Reaction]:
        """Add or replace a reaction (`reaction.add`).

        Args:
            name: The name of the reaction.
            on: The events that it runs on.
            do: Commands to execute, as objects with `command`. `{{field}}` is replaced by a
                field of the event.
            enabled: Whether it runs.
            webhook: A webhook to call. Default: none.
        """
        sent: dict[str, Any] = {"name": name, "on": on}
        if do is not None:
            sent["do"] = do
        if enabled is not None:
            sent["enabled"] = enabled
        if webhook is not None:
            sent["webhook"] = webhook
        return self._queue(OPERATIONS["reaction.add"], sent, lambda raw: t.Reaction(raw))

    def remove(
        self,
        name: str,
    ) -> Pending[t.Reaction]:
        """Remove a reaction (`reaction.remove`).

        Args:
            name: The name of the reaction.
        """
        sent: dict[str, Any] = {"name": name}
        return self._queue(OPERATIONS["reaction.remove"], sent, lambda raw: t.Reaction(raw))

    def enable(
        self,
        name: str,
    ) -> Pending[t.Reaction]:
        """Enable a reaction (`reaction.enable`).

        Args:
            name: The name of the reaction.
        """
        sent: dict[str, Any] = {"name": name}
        return self._queue(OPERATIONS["reaction.enable"], sent, lambda raw: t.Reaction(raw))

    def disable(
        self,
        name: str,
    ) -> Pending[t.Reaction]:
        """Disable a reaction (`reaction.disable`).

        Args:
            name: The name of the reaction.
        """
        sent: dict[str, Any] = {"name": name}
        return self._queue(OPERATIONS["reaction.disable"], sent, lambda raw: t.Reaction(raw))


class RulesCalls(QueuedCalls):
    """The operations `rule.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def add(
        self,
        name: str,
        check: p.WantedCheck,
        *,
        message: str | None = None,
        on: p.RuleOn | None = None,
        severity: t.Severity | None = None,
    ) -> Pending[t.Rule]:
        """Add or replace a rule (`rule.add`).

        Args:
            name: The name of the rule.
            check: The requirement.
            message: A message for the violator, shown before the details. Default: none.
            on: When it applies. If omitted, always.
            severity: How serious a violation is.
        """
        sent: dict[str, Any] = {"name": name, "check": check}
        if message is not None:
            sent["message"] = message
        if on is not None:
            sent["on"] = on
        if severity is not None:
            sent["severity"] = severity
        return self._queue(OPERATIONS["rule.add"], sent, lambda raw: t.Rule(raw))

    def remove(
        self,
        name: str,
    ) -> Pending[t.Rule]:
        """Remove a rule (`rule.remove`).

        Args:
            name: The name of the rule.
        """
        sent: dict[str, Any] = {"name": name}
        return self._queue(OPERATIONS["rule.remove"], sent, lambda raw: t.Rule(raw))


class SecretsCalls(QueuedCalls):
    """The operations `secret.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def delete(
        self,
        secret: str,
    ) -> Pending[t.SecretRecord]:
        """Delete a secret permanently (`secret.delete`).

        Args:
            secret: The secret.
        """
        sent: dict[str, Any] = {"secret": secret}
        return self._queue(OPERATIONS["secret.delete"], sent, lambda raw: t.SecretRecord(raw))


class SemaphoresCalls(QueuedCalls):
    """The operations `semaphore.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def acquire(
        self,
        name: str,
        *,
        permits: int | None = None,
        ttl_ms: int | None = None,
        wait_ms: int | None = None,
        weight: int | None = None,
    ) -> Pending[t.Permit | None]:
        """Acquire a permit, optionally waiting for one (`semaphore.acquire`).

        Args:
            name: The semaphore.
            permits: The number of permits of the semaphore. Required in the first call for a
                name; later calls must give the same number, unless `semaphore.resize` has set
                another since. If omitted later, the existing number.
            ttl_ms: Time to live of the permit in milliseconds, unless it is renewed.
            wait_ms: How long to wait for a permit, in milliseconds. If omitted, the call does
                not wait.
            weight: How many of the permits to take, at most as many as the semaphore has. They
                are acquired and released together, under one token.
        """
        sent: dict[str, Any] = {"name": name}
        if permits is not None:
            sent["permits"] = permits
        if ttl_ms is not None:
            sent["ttl_ms"] = ttl_ms
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        if weight is not None:
            sent["weight"] = weight
        return self._queue(OPERATIONS["semaphore.acquire"], sent, lambda raw: t.optional(t.Permit, raw))

    def renew(
        self,
        name: str,
        token: int,
        *,
        ttl_ms: int | None = None,
    ) -> Pending[t.Permit]:
        """Renew a permit (`semaphore.renew`).

        Args:
            name: The semaphore.
            token: The token of the permit.
            ttl_ms: The new time to live in milliseconds, from now on. If omitted, the previous
                one.
        """
        sent: dict[str, Any] = {"name": name, "token": token}
        if ttl_ms is not None:
            sent["ttl_ms"] = ttl_ms
        return self._queue(OPERATIONS["semaphore.renew"], sent, lambda raw: t.Permit(raw))

    def release(
        self,
        name: str,
        token: int,
    ) -> Pending[t.Semaphore]:
        """Release a permit (`semaphore.release`).

        Args:
            name: The semaphore.
            token: The token of the permit.
        """
        sent: dict[str, Any] = {"name": name, "token": token}
        return self._queue(OPERATIONS["semaphore.release"], sent, lambda raw: t.Semaphore(raw))

    def resize(
        self,
        name: str,
        permits: int,
    ) -> Pending[t.Semaphore]:
        """Change the number of permits of a semaphore (`semaphore.resize`).

        Args:
            name: The semaphore.
            permits: The new number of permits. Calls of `semaphore.acquire` that give another
                number in `permits` are accepted from then on.
        """
        sent: dict[str, Any] = {"name": name, "permits": permits}
        return self._queue(OPERATIONS["semaphore.resize"], sent, lambda raw: t.Semaphore(raw))


class SpendingCalls(QueuedCalls):
    """The operations `spend.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def record(
        self,
        *,
        calls: int | None = None,
        cost_micros: int | None = None,
        model: str | None = None,
        note: str | None = None,
        strict: bool | None = None,
        task: str | None = None,
        tokens: int | None = None,
    ) -> Pending[t.SpendRecorded]:
        """Record what was spent on a task, or reserve it before a call (`spend.record`).

        Args:
            calls: Calls of a model or a tool.
            cost_micros: Money, in millionths of the currency that the workspace uses.
            model: The model or tool. Default: none.
            note: A note. Default: none.
            strict: Reject the record if it exceeds any budget. Use it before a call. If
                `false`, the record is always accepted.
            task: The task that it was spent on. It is charged to the tasks above it too. If
                omitted, it is charged to the agent and the workspace only.
            tokens: Tokens of a language model.
        """
        sent: dict[str, Any] = {}
        if calls is not None:
            sent["calls"] = calls
        if cost_micros is not None:
            sent["cost_micros"] = cost_micros
        if model is not None:
            sent["model"] = model
        if note is not None:
            sent["note"] = note
        if strict is not None:
            sent["strict"] = strict
        if task is not None:
            sent["task"] = task
        if tokens is not None:
            sent["tokens"] = tokens
        return self._queue(OPERATIONS["spend.record"], sent, lambda raw: t.SpendRecorded(raw))

    def limit(
        self,
        *,
        budget: p.SpendBudget | None = None,
        of: p.SpendPayer | None = None,
    ) -> Pending[t.SpendTotal]:
        """Set or remove the budget of a task, an agent or the workspace (`spend.limit`).

        Args:
            budget: The limits, which replace the previous ones. If omitted, there is no budget.
            of: The owner of the budget: `{"task": "t-7"}`, `{"agent": "ada"}` or `"workspace"`.
                If omitted, the workspace.
        """
        sent: dict[str, Any] = {}
        if budget is not None:
            sent["budget"] = budget
        if of is not None:
            sent["of"] = of
        return self._queue(OPERATIONS["spend.limit"], sent, lambda raw: t.SpendTotal(raw))


class StateCalls(QueuedCalls):
    """The operations `state.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def set(
        self,
        key: str,
        value: Any,
        *,
        namespace: str | None = None,
        ephemeral: bool | None = None,
        expected_revision: int | None = None,
        expected_value: Any = OMIT,
        expected_version: int | None = None,
        if_absent: bool | None = None,
        ttl_ms: int | None = None,
    ) -> Pending[t.Entry]:
        """Write an entry (`state.set`).

        Args:
            key: The key.
            value: The value: any JSON.
            namespace: The namespace.
            ephemeral: Delete the entry when the session of the caller ends.
            expected_revision: Write only if the entry was last changed by this revision; 0
                means that it must not exist. If omitted, the revision is not checked.
            expected_value: Write only if the entry has this value. `null` means the value null,
                not that there is no entry: use `if_absent` for that. If omitted, the value is
                not checked.
            expected_version: Write only if the entry has this version; 0 means that it must not
                exist. If omitted, the version is not checked.
            if_absent: Write only if the entry does not exist.
            ttl_ms: Time to live in milliseconds. The entry is deleted when it elapses without
                another write. If omitted, the `ttl_ms` of the namespace, if it has one.
        """
        sent: dict[str, Any] = {"key": key, "value": value}
        sent["namespace"] = (
            self._namespace if namespace is None else namespace
        )
        if ephemeral is not None:
            sent["ephemeral"] = ephemeral
        if expected_revision is not None:
            sent["expected_revision"] = expected_revision
        if expected_value is not OMIT:
            sent["expected_value"] = expected_value
        if expected_version is not None:
            sent["expected_version"] = expected_version
        if if_absent is not None:
            sent["if_absent"] = if_absent
        if ttl_ms is not None:
            sent["ttl_ms"] = ttl_ms
        return self._queue(OPERATIONS["state.set"], sent, lambda raw: t.Entry(raw))

    def patch(
        self,
        key: str,
        *,
        namespace: str | None = None,
        append: Any = OMIT,
        expected_revision: int | None = None,
        expected_version: int | None = None,
        increment: Any = OMIT,
        json_patch: Any = OMIT,
        max: Any = OMIT,
        merge: Any = OMIT,
        union: Any = OMIT,
    ) -> Pending[t.Entry]:
        """Patch an entry (`state.patch`).

        Args:
            key: The key.
            namespace: The namespace.
            append: A value, or a list of values, to append to the list. If omitted, another
                form is required.
            expected_revision: Write only if the entry was last changed by this revision; 0
                means that it must not exist. If omitted, the revision is not checked.
            expected_version: Write only if the entry has this version; 0 means that it must not
                exist. If omitted, the version is not checked.
            increment: A number to add. If omitted, another form is required.
            json_patch: A JSON Patch (RFC 6902). If omitted, another form is required.
            max: A number that replaces the value if it is larger. If omitted, another form is
                required.
            merge: A JSON Merge Patch (RFC 7396). If omitted, another form is required.
            union: A value, or a list of values, to append to the list unless it already
                contains them. If omitted, another form is required.
        """
        sent: dict[str, Any] = {"key": key}
        sent["namespace"] = (
            self._namespace if namespace is None else namespace
        )
        if append is not OMIT:
            sent["append"] = append
        if expected_revision is not None:
            sent["expected_revision"] = expected_revision
        if expected_version is not None:
            sent["expected_version"] = expected_version
        if increment is not OMIT:
            sent["increment"] = increment
        if json_patch is not OMIT:
            sent["json_patch"] = json_patch
        if max is not OMIT:
            sent["max"] = max
        if merge is not OMIT:
            sent["merge"] = merge
        if union is not OMIT:
            sent["union"] = union
        return self._queue(OPERATIONS["state.patch"], sent, lambda raw: t.Entry(raw))

    def delete(
        self,
        key: str,
        *,
        namespace: str | None = None,
        expected_revision: int | None = None,
        expected_version: int | None = None,
    ) -> Pending[t.Entry]:
        """Delete an entry (`state.delete`).

        Args:
            key: The key.
            namespace: The namespace.
            expected_revision: Delete only if the entry was last changed by this revision. If
                omitted, the revision is not checked.
            expected_version: Delete only if the entry has this version. If omitted, the version
                is not checked.
        """
        sent: dict[str, Any] = {"key": key}
        sent["namespace"] = (
            self._namespace if namespace is None else namespace
        )
        if expected_revision is not None:
            sent["expected_revision"] = expected_revision
        if expected_version is not None:
            sent["expected_version"] = expected_version
        return self._queue(OPERATIONS["state.delete"], sent, lambda raw: t.Entry(raw))

    def transfer(
        self,
        from_namespace: str,
        to_namespace: str,
        *,
        copy: bool | None = None,
        keys: Sequence[str] | None = None,
        overwrite: bool | None = None,
        pattern: str | None = None,
    ) -> Pending[t.StateMoved]:
        """Move or copy entries to another namespace (`state.transfer`).

        Args:
            from_namespace: The namespace to move from.
            to_namespace: The namespace to move to.
            copy: Copy the entries: the source keeps its own. If `false`, they move.
            keys: The keys to move. If omitted, all keys.
            overwrite: Replace entries of the same key in the target. If `false`, they are a
                conflict.
            pattern: Move only keys that match this pattern. If omitted, any key.
        """
        sent: dict[str, Any] = {"from_namespace": from_namespace, "to_namespace": to_namespace}
        if copy is not None:
            sent["copy"] = copy
        if keys is not None:
            sent["keys"] = keys
        if overwrite is not None:
            sent["overwrite"] = overwrite
        if pattern is not None:
            sent["pattern"] = pattern
        return self._queue(OPERATIONS["state.transfer"], sent, lambda raw: t.StateMoved(raw))


class StreamsCalls(QueuedCalls):
    """The operations `stream.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def create(
        self,
        stream: str,
        *,
        bytes_max: int | None = None,
        frames_max: int | None = None,
        kept: bool | None = None,
    ) -> Pending[t.Stream]:
        """Create a stream (`stream.create`).

        Args:
            stream: The name of the stream.
            bytes_max: The maximum size of the kept frames in bytes; the oldest are dropped
                first.
            frames_max: The maximum number of frames to keep; the oldest are dropped first.
            kept: Keep frames, so that readers can read them later. If `false`, frames are only
                delivered to current watches of `streams/NAME`.
        """
        sent: dict[str, Any] = {"stream": stream}
        if bytes_max is not None:
            sent["bytes_max"] = bytes_max
        if frames_max is not None:
            sent["frames_max"] = frames_max
        if kept is not None:
            sent["kept"] = kept
        return self._queue(OPERATIONS["stream.create"], sent, lambda raw: t.Stream(raw))

    def send(
        self,
        stream: str,
        data: Any = OMIT,
        *,
        frames: Sequence[Any] | None = None,
    ) -> Pending[t.Sent]:
        """Append frames to a stream (`stream.send`).

        Args:
            stream: The stream.
            data: One frame. If omitted, `frames` is required.
            frames: Several frames, in order.
        """
        sent: dict[str, Any] = {"stream": stream}
        if data is not OMIT:
            sent["data"] = data
        if frames is not None:
            sent["frames"] = frames
        return self._queue(OPERATIONS["stream.send"], sent, lambda raw: t.Sent(raw))

    def receive(
        self,
        stream: str,
        *,
        from_: int | None = None,
        limit: int | None = None,
        wait_ms: int | None = None,
    ) -> Pending[t.Frames]:
        """Read frames, optionally waiting for more (`stream.receive`).

        Args:
            stream: The stream.
            from_: The first offset to read. If omitted, the first that is kept.
            limit: The maximum number of frames.
            wait_ms: How long to wait at the end of the stream for more, in milliseconds. If
                omitted, the call does not wait.
        """
        sent: dict[str, Any] = {"stream": stream}
        if from_ is not None:
            sent["from"] = from_
        if limit is not None:
            sent["limit"] = limit
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        return self._queue(OPERATIONS["stream.receive"], sent, lambda raw: t.Frames(raw))

    def close(
        self,
        stream: str,
        *,
        reason: str | None = None,
    ) -> Pending[t.Stream]:
        """Close a stream (`stream.close`).

        Args:
            stream: The stream.
            reason: The reason, which is recorded. Default: none.
        """
        sent: dict[str, Any] = {"stream": stream}
        if reason is not None:
            sent["reason"] = reason
        return self._queue(OPERATIONS["stream.close"], sent, lambda raw: t.Stream(raw))

    def delete(
        self,
        stream: str,
    ) -> Pending[t.Stream]:
        """Delete a stream and its frames (`stream.delete`).

        Args:
            stream: The stream.
        """
        sent: dict[str, Any] = {"stream": stream}
        return self._queue(OPERATIONS["stream.delete"], sent, lambda raw: t.Stream(raw))


class TasksCalls(QueuedCalls):
    """The operations `task.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def create(
        self,
        type: str,
        definition: Any = OMIT,
        *,
        assigned_agent: str | None = None,
        backoff: p.Backoff | None = None,
        budget: p.SpendBudget | None = None,
        capabilities: Sequence[str] | None = None,
        deadline_ms: int | None = None,
        delay_ms: int | None = None,
        depends_on: Sequence[str] | None = None,
        description: str | None = None,
        group: str | None = None,
        id: str | None = None,
        if_capable: bool | None = None,
        max_retries: int | None = None,
        metadata: Any = OMIT,
        on_exhausted: p.OnExhausted | None = None,
        parent: str | None = None,
        priority: int | None = None,
        review: bool | None = None,
        reviewers: p.Reviewers | None = None,
        schema_version: Any = OMIT,
        traceparent: str | None = None,
    ) -> Pending[t.Task]:
        """Create a task (`task.create`).

        Args:
            type: The task type, which claims filter by.
            definition: The work as data: any JSON. Default: none.
            assigned_agent: The only agent that may claim it. If omitted, any agent.
            backoff: The delay before a retry. If omitted, the defaults of `Backoff`.
            budget: The budget of the task and its subtasks. Once it is used up, none of them
                can start. If omitted, only the budgets of the tasks above it, the agent and the
                workspace apply.
            capabilities: Capabilities that an agent needs to claim it.
            deadline_ms: Deadline in milliseconds from now; the task fails unless it is finished
                by then. If omitted, none.
            delay_ms: Delay in milliseconds before it can be claimed. If omitted, none.
            depends_on: Tasks that must be completed first. If one of them fails or is
                cancelled, this task is cancelled.
            description: Human-readable description. Default: none.
            group: A group, for joins and filters. Default: none.
            id: The id of the task. If omitted, it is generated. In a WebSocket frame, where
                `id` numbers the request, the field is called `task`.
            if_capable: Reject the task if no active agent is able to claim it. If `false`, that
                is a warning.
            max_retries: How often a failed attempt is retried.
            metadata: An object with free-form metadata. Default: none.
            on_exhausted: The action after the last attempt.
            parent: The parent task. If that is cancelled, this one is too; if its lease is
                lost, this one returns to the queue; if it fails, this one is not affected.
                Default: none.
            priority: The priority; higher is claimed first. One point is worth one minute of
                age.
            review: Whether its result must be accepted by another agent before it is completed.
                If `true`, `task.complete` submits the result, and `task.review` decides on it.
            reviewers: The agents that may accept its result. If given, it has `review`. If
                omitted, any agent except the one that did the work.
            schema_version: The version of the schema of `definition`: a string or a number.
                Default: none.
            traceparent: W3C trace context (`traceparent`). Default: none.
        """
        sent: dict[str, Any] = {"type": type}
        if assigned_agent is not None:
            sent["assigned_agent"] = assigned_agent
        if backoff is not None:
            sent["backoff"] = backoff
        if budget is not None:
            sent["budget"] = budget
        if capabilities is not None:
            sent["capabilities"] = capabilities
        if deadline_ms is not None:
            sent["deadline_ms"] = deadline_ms
        if definition is not OMIT:
            sent["definition"] = definition
        if delay_ms is not None:
            sent["delay_ms"] = delay_ms
        if depends_on is not None:
            sent["depends_on"] = depends_on
        if description is not None:
            sent["description"] = description
        if group is not None:
            sent["group"] = group
        if id is not None:
            sent["id"] = id
        if if_capable is not None:
            sent["if_capable"] = if_capable
        if max_retries is not None:
            sent["max_retries"] = max_retries
        if metadata is not OMIT:
            sent["metadata"] = metadata
        if on_exhausted is not None:
            sent["on_exhausted"] = on_exhausted
        if parent is not None:
            sent["parent"] = parent
        if priority is not None:
            sent["priority"] = priority
        if review is not None:
            sent["review"] = review
        if reviewers is not None:
            sent["reviewers"] = reviewers
        if schema_version is not OMIT:
            sent["schema_version"] = schema_version
        if traceparent is not None:
            sent["traceparent"] = traceparent
        return self._queue(OPERATIONS["task.create"], sent, lambda raw: t.Task(raw))

    def claim(
        self,
        types: Sequence[str] | None = None,
        *,
        capabilities: Sequence[str] | None = None,
        lease_ms: int | None = None,
        task: str | None = None,
        wait_ms: int | None = None,
    ) -> Pending[t.Task | None]:
        """Claim the next task, optionally waiting for one (`task.claim`).

        Args:
            types: Only tasks of these types. If omitted, any type.
            capabilities: The capabilities of the caller. If omitted, those of its session.
            lease_ms: The lease in milliseconds, unless it is renewed.
            task: Only this task. If omitted, any task.
            wait_ms: How long to wait for a task, in milliseconds. If omitted, the call does not
                wait.
        """
        sent: dict[str, Any] = {}
        if capabilities is not None:
            sent["capabilities"] = capabilities
        if lease_ms is not None:
            sent["lease_ms"] = lease_ms
        if task is not None:
            sent["task"] = task
        if types is not None:
            sent["types"] = types
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        return self._queue(OPERATIONS["task.claim"], sent, lambda raw: t.optional(t.Task, raw))

    def heartbeat(
        self,
        task: str,
        token: int,
        *,
        lease_ms: int | None = None,
    ) -> Pending[t.Task]:
        """Renew the lease of a task (`task.heartbeat`).

        Args:
            task: The task.
            token: The token of the lease.
            lease_ms: The new lease in milliseconds, from now on. If omitted, the previous one.
        """
        sent: dict[str, Any] = {"task": task, "token": token}
        if lease_ms is not None:
            sent["lease_ms"] = lease_ms
        return self._queue(OPERATIONS["task.heartbeat"], sent, lambda raw: t.Task(raw))

    def progress(
        self,
        task: str,
        token: int,
        fraction: float,
        *,
        note: str | None = None,
    ) -> Pending[t.Task]:
        """Report progress and renew the lease (`task.progress`).

        Args:
            task: The task.
            token: The token of the lease.
            fraction: The completed fraction, 0 to 1.
            note: A note in words. Default: none.
        """
        sent: dict[str, Any] = {"task": task, "token": token, "fraction": fraction}
        if note is not None:
            sent["note"] = note
        return self._queue(OPERATIONS["task.progress"], sent, lambda raw: t.Task(raw))

    def update(
        self,
        task: str,
        token: int,
        fields: Any,
    ) -> Pending[t.Task]:
        """Update fields of a claimed task (`task.update`).

        Args:
            task: The task.
            token: The token of the lease.
            fields: An object with the fields to change.
        """
        sent: dict[str, Any] = {"task": task, "token": token, "fields": fields}
        return self._queue(OPERATIONS["task.update"], sent, lambda raw: t.Task(raw))

    def release(
        self,
        task: str,
        token: int,
        *,
        reason: str | None = None,
    ) -> Pending[t.Task]:
        """Release a task so that another agent can claim it (`task.release`).

        Args:
            task: The task.
            token: The token of the lease.
            reason: The reason, which is recorded. Default: none.
        """
        sent: dict[str, Any] = {"task": task, "token": token}
        if reason is not None:
            sent["reason"] = reason
        return self._queue(OPERATIONS["task.release"], sent, lambda raw: t.Task(raw))

    def complete(
        self,
        task: str,
        token: int,
        result: Any = OMIT,
        *,
        artifacts: Any = OMIT,
        then_claim: p.Next | None = None,
    ) -> Pending[t.TaskCompleted]:
        """Complete a task (`task.complete`).

        Args:
            task: The task.
            token: The token of the lease.
            result: The result. If omitted, the result so far.
            artifacts: References to what it produced: a list, usually of artifact ids. Default:
                none.
            then_claim: Claim the next task in the same commit. If omitted, no task is claimed.
        """
        sent: dict[str, Any] = {"task": task, "token": token}
        if artifacts is not OMIT:
            sent["artifacts"] = artifacts
        if result is not OMIT:
            sent["result"] = result
        if then_claim is not None:
            sent["then_claim"] = then_claim
        return self._queue(OPERATIONS["task.complete"], sent, lambda raw: t.TaskCompleted(raw))

    def fail(
        self,
        task: str,
        token: int,
        error: Any,
        *,
        retryable: bool | None = None,
    ) -> Pending[t.Task]:
        """Fail an attempt at a task (`task.fail`).

        Args:
            task: The task.
            token: The token of the lease.
            error: The error.
            retryable: Whether a retry may help. If `false`, the task is not retried.
        """
        sent: dict[str, Any] = {"task": task, "token": token, "error": error}
        if retryable is not None:
            sent["retryable"] = retryable
        return self._queue(OPERATIONS["task.fail"], sent, lambda raw: t.Task(raw))

    def cancel(
        self,
        task: str,
        *,
        reason: str | None = None,
    ) -> Pending[t.Task]:
        """Cancel a task and its subtasks (`task.cancel`).

        Args:
            task: The task.
            reason: The reason, which is recorded. Default: none.
        """
        sent: dict[str, Any] = {"task": task}
        if reason is not None:
            sent["reason"] = reason
        return self._queue(OPERATIONS["task.cancel"], sent, lambda raw: t.Task(raw))

    def review(
        self,
        task: str,
        verdict: t.Verdict,
        *,
        attempt: int | None = None,
        note: str | None = None,
        result: Any = OMIT,
    ) -> Pending[t.Task]:
        """Decide on a task that waits for review (`task.review`).

        Args:
            task: The task.
            verdict: The verdict.
            attempt: The number of the attempt that was reviewed: `attempts` of the task. The
                verdict is refused if another attempt waits for review. If omitted, the verdict
                is about the attempt that waits.
            note: A note, which is recorded. Default: none.
            result: The result. If omitted, the result so far.
        """
        sent: dict[str, Any] = {"task": task, "verdict": verdict}
        if attempt is not None:
            sent["attempt"] = attempt
        if note is not None:
            sent["note"] = note
        if result is not OMIT:
            sent["result"] = result
        return self._queue(OPERATIONS["task.review"], sent, lambda raw: t.Task(raw))

    def retry(
        self,
        task: str,
        *,
        deadline_ms: int | None = None,
        reason: str | None = None,
    ) -> Pending[t.Task]:
        """Retry a failed task under its own id (`task.retry`).

        Args:
            task: The failed task.
            deadline_ms: A new deadline, in milliseconds from now. Default: the task keeps its
                deadline, or has none if that has passed.
            reason: The reason for the retry. Default: none.
        """
        sent: dict[str, Any] = {"task": task}
        if deadline_ms is not None:
            sent["deadline_ms"] = deadline_ms
        if reason is not None:
            sent["reason"] = reason
        return self._queue(OPERATIONS["task.retry"], sent, lambda raw: t.Task(raw))

    def wait(
        self,
        task: str,
        *,
        statuses: Sequence[t.TaskStatus] | None = None,
        wait_ms: int | None = None,
    ) -> Pending[t.Task | None]:
        """Wait until a task has finished or has one of the given statuses (`task.wait`).

        Args:
            task: The task.
            statuses: Return as soon as the task has one of these statuses. If omitted, when it
                has finished. A finished task always ends the wait.
            wait_ms: How long to wait, in milliseconds. If omitted, the call does not wait.
        """
        sent: dict[str, Any] = {"task": task}
        if statuses is not None:
            sent["statuses"] = statuses
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        return self._queue(OPERATIONS["task.wait"], sent, lambda raw: t.optional(t.Task, raw))


class TopicsCalls(QueuedCalls):
    """The operations `topic.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def publish(
        self,
        topic: str,
        body: Any,
        *,
        durable: bool | None = None,
        traceparent: str | None = None,
    ) -> Pending[t.Published]:
        """Publish a message to a topic (`topic.publish`).

        Args:
            topic: The topic.
            body: The content: any JSON.
            durable: Record the message in the log. If `false`, it is only delivered to current
                watches.
            traceparent: W3C trace context (`traceparent`). Default: none.
        """
        sent: dict[str, Any] = {"topic": topic, "body": body}
        if durable is not None:
            sent["durable"] = durable
        if traceparent is not None:
            sent["traceparent"] = traceparent
        return self._queue(OPERATIONS["topic.publish"], sent, lambda raw: t.Published(raw))


class WorkspaceCalls(QueuedCalls):
    """The operations `workspace.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    def configure(
        self,
        *,
        history_age_ms: int | None = None,
        history_count: int | None = None,
    ) -> Pending[t.WorkspaceWorkspace]:
        """Configure a workspace (`workspace.configure`).

        Args:
            history_age_ms: How long to keep history, in milliseconds. If omitted, unchanged.
            history_count: The number of revisions of history to keep. If omitted, unchanged.
        """
        sent: dict[str, Any] = {}
        if history_age_ms is not None:
            sent["history_age_ms"] = history_age_ms
        if history_count is not None:
            sent["history_count"] = history_count
        return self._queue(OPERATIONS["workspace.configure"], sent, lambda raw: t.WorkspaceWorkspace(raw))

    def sync(
        self,
        ours: p.CopyChanges,
        theirs: p.CopyChanges,
        *,
        decisions: Sequence[p.SyncDecision] | None = None,
        dry_run: bool | None = None,
    ) -> Pending[t.SyncReport]:
        """Apply the changes of another copy of a workspace (`workspace.sync`).

        Args:
            ours: The changes of this copy: its response to `workspace.changes` with the other
                copy, for the keys and namespaces in `theirs`.
            theirs: The changes of the other copy: its response to `workspace.changes` with this
                copy.
            decisions: Decisions about conflicts, which apply instead of the rules.
            dry_run: Only report: change nothing.
        """
        sent: dict[str, Any] = {"ours": ours, "theirs": theirs}
        if decisions is not None:
            sent["decisions"] = decisions
        if dry_run is not None:
            sent["dry_run"] = dry_run
        return self._queue(OPERATIONS["workspace.sync"], sent, lambda raw: t.SyncReport(raw))


__all__ = [
    "AgentsCalls",
    "ArtifactsCalls",
    "BarriersCalls",
    "CheckpointsCalls",
    "ContractsCalls",
    "EventsCalls",
    "HandlersCalls",
    "HandoffsCalls",
    "InboxCalls",
    "JoinsCalls",
    "LocksCalls",
    "MessagesCalls",
    "NamespacesCalls",
    "PipelinesCalls",
    "ReactionsCalls",
    "RulesCalls",
    "SecretsCalls",
    "SemaphoresCalls",
    "SpendingCalls",
    "StateCalls",
    "StreamsCalls",
    "TasksCalls",
    "TopicsCalls",
    "WorkspaceCalls",
]
