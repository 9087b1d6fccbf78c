"""One coroutine per operation.

Made by `generate.py` from `spec/`; changes made here are overwritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from . import params as p
from . import types as t
from ._group import AsyncCalls
from ._omit import OMIT
from ._operations import OPERATIONS


class AgentsCalls(AsyncCalls):
    """The operations `agent.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def register(
        self,
        *,
        agent: str | None = None,
        capabilities: Sequence[str] | None = None,
        metadata: Any = OMIT,
        parent: str | None = None,
        ttl_ms: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Agent:
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
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        sent["agent"] = self._agent if agent is None else agent
        if capabilities is not None:
            sent["capabilities"] = capabilities
        if metadata is not OMIT:
            sent["metadata"] = metadata
        if parent is not None:
            sent["parent"] = parent
        if ttl_ms is not None:
            sent["ttl_ms"] = ttl_ms
        raw = await self._call(
            OPERATIONS["agent.register"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Agent(raw)

    async def heartbeat(
        self,
        *,
        agent: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Agent:
        """Renew a session (`agent.heartbeat`).

        Args:
            agent: The agent.
            token: The token of the session. If omitted, the current session is renewed.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        sent["agent"] = self._agent if agent is None else agent
        if token is not None:
            sent["token"] = token
        raw = await self._call(
            OPERATIONS["agent.heartbeat"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Agent(raw)

    async def leave(
        self,
        *,
        agent: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Agent:
        """End a session (`agent.leave`).

        Args:
            agent: The agent.
            token: The token of the session. If omitted, the current session is ended.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        sent["agent"] = self._agent if agent is None else agent
        if token is not None:
            sent["token"] = token
        raw = await self._call(
            OPERATIONS["agent.leave"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Agent(raw)

    async def get(
        self,
        *,
        agent: str | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Agent:
        """Get an agent (`agent.get`).

        Args:
            agent: The agent.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        sent["agent"] = self._agent if agent is None else agent
        raw = await self._call(OPERATIONS["agent.get"], sent, at=at, timeout=timeout)
        return t.Agent(raw)

    async def list(
        self,
        *,
        capability: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        status: t.AgentStatus | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.AgentAgents:
        """List agents (`agent.list`).

        Args:
            capability: Only agents with this capability. If omitted, all agents.
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            status: Only agents with this status. If omitted, any status.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if capability is not None:
            sent["capability"] = capability
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        if status is not None:
            sent["status"] = status
        raw = await self._call(OPERATIONS["agent.list"], sent, at=at, timeout=timeout)
        return t.AgentAgents(raw)

    async def next(
        self,
        *,
        capabilities: Sequence[str] | None = None,
        kinds: Sequence[t.WorkKind] | None = None,
        lease_ms: int | None = None,
        redeliver_ms: int | None = None,
        types: Sequence[str] | None = None,
        wait_ms: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Work | None:
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
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["agent.next"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.optional(t.Work, raw)


class ArtifactsCalls(AsyncCalls):
    """The operations `artifact.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def delete(
        self,
        artifact: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Artifact:
        """Delete an artifact that nothing references (`artifact.delete`).

        Args:
            artifact: The artifact.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"artifact": artifact}
        raw = await self._call(
            OPERATIONS["artifact.delete"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Artifact(raw)

    async def get(
        self,
        artifact: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Artifact:
        """Get the metadata of an artifact and its references (`artifact.get`).

        Args:
            artifact: The artifact.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"artifact": artifact}
        raw = await self._call(OPERATIONS["artifact.get"], sent, at=at, timeout=timeout)
        return t.Artifact(raw)

    async def list(
        self,
        *,
        name: str | None = None,
        cursor: str | None = None,
        free: bool | None = None,
        limit: int | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.ArtifactArtifacts:
        """List artifacts (`artifact.list`).

        Args:
            name: Only artifacts with this name. If omitted, any name.
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            free: Only artifacts that nothing references.
            limit: The maximum number of results.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if name is not None:
            sent["name"] = name
        if cursor is not None:
            sent["cursor"] = cursor
        if free is not None:
            sent["free"] = free
        if limit is not None:
            sent["limit"] = limit
        raw = await self._call(OPERATIONS["artifact.list"], sent, at=at, timeout=timeout)
        return t.ArtifactArtifacts(raw)


class BarriersCalls(AsyncCalls):
    """The operations `barrier.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def arrive(
        self,
        name: str,
        count: int,
        *,
        wait_ms: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Arrival:
        """Arrive at a barrier, optionally waiting until it opens (`barrier.arrive`).

        Args:
            name: The barrier.
            count: The number of arrivals that opens the barrier. It must be the same in every
                call of a generation.
            wait_ms: How long to wait for the barrier to open, in milliseconds. If omitted, the
                call returns at once and the arrival stays. If the wait times out, the arrival
                is withdrawn.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name, "count": count}
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        raw = await self._call(
            OPERATIONS["barrier.arrive"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Arrival(raw)

    async def reset(
        self,
        name: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Barrier:
        """Discard all arrivals and start a new generation (`barrier.reset`).

        Args:
            name: The barrier.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name}
        raw = await self._call(
            OPERATIONS["barrier.reset"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Barrier(raw)

    async def get(
        self,
        name: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Barrier:
        """Get a barrier (`barrier.get`).

        Args:
            name: The barrier.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name}
        raw = await self._call(OPERATIONS["barrier.get"], sent, at=at, timeout=timeout)
        return t.Barrier(raw)


class CheckpointsCalls(AsyncCalls):
    """The operations `checkpoint.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def save(
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
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Checkpoint:
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
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["checkpoint.save"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Checkpoint(raw)

    async def restore(
        self,
        checkpoint: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Checkpoint:
        """Make a checkpoint the current one of its task and return it (`checkpoint.restore`).

        Args:
            checkpoint: The checkpoint.
            token: The token of the task's lease. Required if the task is leased; if omitted
                otherwise, no token is checked.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"checkpoint": checkpoint}
        if token is not None:
            sent["token"] = token
        raw = await self._call(
            OPERATIONS["checkpoint.restore"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Checkpoint(raw)

    async def fork(
        self,
        checkpoint: str,
        task: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Checkpoint:
        """Start the checkpoints of another task with a copy of this one (`checkpoint.fork`).

        Args:
            checkpoint: The checkpoint.
            task: The new task, or other unit of work. It must not have checkpoints yet.
            token: The token of that task's lease. Required if the task is leased; if omitted
                otherwise, no token is checked.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"checkpoint": checkpoint, "task": task}
        if token is not None:
            sent["token"] = token
        raw = await self._call(
            OPERATIONS["checkpoint.fork"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Checkpoint(raw)

    async def label(
        self,
        checkpoint: str,
        *,
        label: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Checkpoint:
        """Set or remove the label of a checkpoint (`checkpoint.label`).

        Args:
            checkpoint: The checkpoint.
            label: The new label. If omitted, the label is removed.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"checkpoint": checkpoint}
        if label is not None:
            sent["label"] = label
        raw = await self._call(
            OPERATIONS["checkpoint.label"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Checkpoint(raw)

    async def write(
        self,
        task: str,
        key: str,
        writer: str,
        writes: Sequence[p.NewWrite],
        *,
        token: int | None = None,
        path: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.CheckpointWritten:
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
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task, "key": key, "writer": writer, "writes": writes}
        if token is not None:
            sent["token"] = token
        if path is not None:
            sent["path"] = path
        raw = await self._call(
            OPERATIONS["checkpoint.write"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.CheckpointWritten(raw)

    async def copy(
        self,
        task: str,
        to: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.CheckpointCopied:
        """Copy all checkpoints of a task to another one (`checkpoint.copy`).

        Args:
            task: The task whose checkpoints are copied.
            to: The other task, or other unit of work. It must not have checkpoints yet.
            token: The token of that task's lease. Required if the task is leased; if omitted
                otherwise, no token is checked.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task, "to": to}
        if token is not None:
            sent["token"] = token
        raw = await self._call(
            OPERATIONS["checkpoint.copy"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.CheckpointCopied(raw)

    async def prune(
        self,
        task: str,
        *,
        all: bool | None = None,
        keep: int | None = None,
        keys: Sequence[str] | None = None,
        metadata: Any = OMIT,
        older_than_ms: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.CheckpointPruned:
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
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["checkpoint.prune"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.CheckpointPruned(raw)

    async def retain(
        self,
        *,
        keep: int | None = None,
        max_age_ms: int | None = None,
        task: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.CheckpointRules:
        """Set a retention rule for checkpoints (`checkpoint.retain`).

        Args:
            keep: The number of newest checkpoints to keep per task; labelled ones are not
                counted. If omitted, the number is not limited.
            max_age_ms: The maximum age in milliseconds. If omitted, age is not limited.
            task: The tasks that the rule applies to. If omitted, all tasks without a more
                specific rule.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if keep is not None:
            sent["keep"] = keep
        if max_age_ms is not None:
            sent["max_age_ms"] = max_age_ms
        if task is not None:
            sent["task"] = task
        raw = await self._call(
            OPERATIONS["checkpoint.retain"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.CheckpointRules(raw)

    async def latest(
        self,
        task: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Checkpoint | None:
        """Get the current checkpoint of a task (`checkpoint.latest`).

        Args:
            task: The task.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task}
        raw = await self._call(OPERATIONS["checkpoint.latest"], sent, at=at, timeout=timeout)
        return t.optional(t.Checkpoint, raw)

    async def get(
        self,
        checkpoint: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Checkpoint:
        """Get a checkpoint with its state (`checkpoint.get`).

        Args:
            checkpoint: The checkpoint.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"checkpoint": checkpoint}
        raw = await self._call(OPERATIONS["checkpoint.get"], sent, at=at, timeout=timeout)
        return t.Checkpoint(raw)

    async def list(
        self,
        *,
        before: str | None = None,
        cursor: str | None = None,
        label: str | None = None,
        limit: int | None = None,
        metadata: Any = OMIT,
        task: str | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.CheckpointCheckpoints:
        """List checkpoints, newest first, without their states (`checkpoint.list`).

        Args:
            before: Only checkpoints older than this one. If omitted, any.
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            label: Only checkpoints with this label. If omitted, any.
            limit: The maximum number of results.
            metadata: Only checkpoints whose metadata contains this object, as `@>` of
                `PostgreSQL` defines it. If omitted, any.
            task: Only checkpoints of this task. If omitted, of all tasks.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if before is not None:
            sent["before"] = before
        if cursor is not None:
            sent["cursor"] = cursor
        if label is not None:
            sent["label"] = label
        if limit is not None:
            sent["limit"] = limit
        if metadata is not OMIT:
            sent["metadata"] = metadata
        if task is not None:
            sent["task"] = task
        raw = await self._call(OPERATIONS["checkpoint.list"], sent, at=at, timeout=timeout)
        return t.CheckpointCheckpoints(raw)

    async def history(
        self,
        task: str,
        *,
        before: str | None = None,
        cursor: str | None = None,
        key: str | None = None,
        limit: int | None = None,
        metadata: Any = OMIT,
        prefix: str | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.CheckpointHistoryResult:
        """Read checkpoints by key, with states and pending writes (`checkpoint.history`).

        Args:
            task: The task.
            before: Only checkpoints with smaller keys than this one. If omitted, any.
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            key: Only the checkpoint with this key. If omitted, all that have keys.
            limit: The maximum number of results.
            metadata: Only checkpoints whose metadata contains this object, as `@>` of
                `PostgreSQL` defines it. If omitted, any.
            prefix: Only checkpoints whose keys start with this text. If omitted, any.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task}
        if before is not None:
            sent["before"] = before
        if cursor is not None:
            sent["cursor"] = cursor
        if key is not None:
            sent["key"] = key
        if limit is not None:
            sent["limit"] = limit
        if metadata is not OMIT:
            sent["metadata"] = metadata
        if prefix is not None:
            sent["prefix"] = prefix
        raw = await self._call(OPERATIONS["checkpoint.history"], sent, at=at, timeout=timeout)
        return t.CheckpointHistoryResult(raw)

    async def retention(
        self,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.CheckpointRules:
        """List the retention rules for checkpoints (`checkpoint.retention`).

        Args:
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        raw = await self._call(OPERATIONS["checkpoint.retention"], sent, at=at, timeout=timeout)
        return t.CheckpointRules(raw)


class ContextCalls(AsyncCalls):
    """The operations `context.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def build(
        self,
        *,
        agent: str | None = None,
        task: str | None = None,
        token_budget: int | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Context:
        """Build the context of an agent as one text for a model (`context.build`).

        Args:
            agent: The agent.
            task: The task that the context is for. If omitted, the context describes the
                workspace.
            token_budget: The maximum number of tokens.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        sent["agent"] = self._agent if agent is None else agent
        if task is not None:
            sent["task"] = task
        if token_budget is not None:
            sent["token_budget"] = token_budget
        raw = await self._call(OPERATIONS["context.build"], sent, at=at, timeout=timeout)
        return t.Context(raw)


class ContractsCalls(AsyncCalls):
    """The operations `contract.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def declare(
        self,
        name: str,
        keys: Sequence[p.ContractTerms],
        *,
        on_break: t.OnBreak | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.DeclaredContract:
        """Declare the keys that you depend on (`contract.declare`).

        Args:
            name: The name of the contract.
            keys: The keys that you depend on, at least one.
            on_break: The effect on a command that would break the contract.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name, "keys": keys}
        if on_break is not None:
            sent["on_break"] = on_break
        raw = await self._call(
            OPERATIONS["contract.declare"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.DeclaredContract(raw)

    async def delete(
        self,
        name: str,
        *,
        force: bool | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.DeclaredContract:
        """Delete a declared contract (`contract.delete`).

        Args:
            name: The name of the contract.
            force: Delete it even if another agent owns it.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name}
        if force is not None:
            sent["force"] = force
        raw = await self._call(
            OPERATIONS["contract.delete"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.DeclaredContract(raw)

    async def list(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.ContractDeclarations:
        """List declared contracts (`contract.list`).

        Args:
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        raw = await self._call(OPERATIONS["contract.list"], sent, at=at, timeout=timeout)
        return t.ContractDeclarations(raw)

    async def show(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        pattern: str | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.ContractContracts:
        """List which agents write and read which keys (`contract.show`).

        Args:
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            pattern: Only keys that match, as `namespace/key`. If omitted, all keys.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        if pattern is not None:
            sent["pattern"] = pattern
        raw = await self._call(OPERATIONS["contract.show"], sent, at=at, timeout=timeout)
        return t.ContractContracts(raw)

    async def check(
        self,
        *,
        namespace: str | None = None,
        schema: Any = OMIT,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.ContractProblems:
        """Find broken keys that agents, rules or stages depend on (`contract.check`).

        Args:
            namespace: Only keys of this namespace. If omitted, all namespaces.
            schema: A JSON Schema to check as the future schema of the namespace; requires
                `namespace`. If omitted, the present state is checked.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if namespace is not None:
            sent["namespace"] = namespace
        if schema is not OMIT:
            sent["schema"] = schema
        raw = await self._call(OPERATIONS["contract.check"], sent, at=at, timeout=timeout)
        return t.ContractProblems(raw)


class EventsCalls(AsyncCalls):
    """The operations `event.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def emit(
        self,
        type: str,
        payload: Any = OMIT,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.EventEmitted:
        """Emit an event of your own type (`event.emit`).

        Args:
            type: The type: words with dots between them, such as `deploy.finished`.
            payload: Any JSON. Default: none.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"type": type}
        if payload is not OMIT:
            sent["payload"] = payload
        raw = await self._call(
            OPERATIONS["event.emit"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.EventEmitted(raw)

    async def history(
        self,
        *,
        to: int | str | datetime | None = None,
        type: str | None = None,
        cursor: str | None = None,
        from_: int | str | datetime | None = None,
        limit: int | None = None,
        order: t.EventOrder | None = None,
        source: str | None = None,
        subject: str | None = None,
        timeout: float | None = None,
    ) -> t.EventPage:
        """Query the event history (`event.history`).

        Args:
            to: The last revision or time to include. If omitted, the present.
            type: Only types that match, such as `task.*`. If omitted, any type.
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            from_: The first revision or time to include. If omitted, the oldest that is kept.
            limit: The maximum number of results.
            order: The order of the results.
            source: Only events caused by this agent. If omitted, any agent.
            subject: Only subjects that match, such as `tasks/**`. If omitted, any subject.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if to is not None:
            sent["to"] = to
        if type is not None:
            sent["type"] = type
        if cursor is not None:
            sent["cursor"] = cursor
        if from_ is not None:
            sent["from"] = from_
        if limit is not None:
            sent["limit"] = limit
        if order is not None:
            sent["order"] = order
        if source is not None:
            sent["source"] = source
        if subject is not None:
            sent["subject"] = subject
        raw = await self._call(OPERATIONS["event.history"], sent, timeout=timeout)
        return t.EventPage(raw)


class HandlersCalls(AsyncCalls):
    """The operations `handler.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def register(
        self,
        handler: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Handler:
        """Register the caller for a handler (`handler.register`).

        Args:
            handler: The handler.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"handler": handler}
        raw = await self._call(
            OPERATIONS["handler.register"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Handler(raw)

    async def remove(
        self,
        handler: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Handler:
        """Remove the caller from a handler (`handler.remove`).

        Args:
            handler: The handler.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"handler": handler}
        raw = await self._call(
            OPERATIONS["handler.remove"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Handler(raw)

    async def list(
        self,
        *,
        cursor: str | None = None,
        handler: str | None = None,
        limit: int | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.MessageHandlers:
        """List handlers and the agents registered for them (`handler.list`).

        Args:
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            handler: Only this handler. If omitted, all handlers.
            limit: The maximum number of results.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        if handler is not None:
            sent["handler"] = handler
        if limit is not None:
            sent["limit"] = limit
        raw = await self._call(OPERATIONS["handler.list"], sent, at=at, timeout=timeout)
        return t.MessageHandlers(raw)


class HandoffsCalls(AsyncCalls):
    """The operations `handoff.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def offer(
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
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Handoff:
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
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["handoff.offer"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Handoff(raw)

    async def import_context(
        self,
        to: p.Receiver,
        context: p.TransferContext,
        *,
        approval: bool | p.ApprovalWanted | None = None,
        deadline_ms: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Handoff:
        """Offer work from another system, given as a portable context (`handoff.import_context`).

        Args:
            to: The receiver: an agent id, or `{"capability": name}` for the first agent that
                has the capability and accepts.
            context: The context, as `handoff.export` returns it or another system sends it.
            approval: Require an approval: `true`, or an object that names the approvers and how
                long an approval is valid.
            deadline_ms: How long the receiver has to accept, in milliseconds.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"to": to, "context": context}
        if approval is not None:
            sent["approval"] = approval
        if deadline_ms is not None:
            sent["deadline_ms"] = deadline_ms
        raw = await self._call(
            OPERATIONS["handoff.import_context"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Handoff(raw)

    async def execute(
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
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Handoff:
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
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["handoff.execute"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Handoff(raw)

    async def execute_all(
        self,
        to: str,
        *,
        copy: bool | None = None,
        deadline_ms: int | None = None,
        notes: Any = OMIT,
        overwrite: bool | None = None,
        reason: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.HandoffHandoffs:
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
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["handoff.execute_all"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.HandoffHandoffs(raw)

    async def validate(
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
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.HandoffVerdict:
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
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["handoff.validate"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.HandoffVerdict(raw)

    async def receive(
        self,
        *,
        wait_ms: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Handoff | None:
        """Receive the next hand-off, optionally waiting for one (`handoff.receive`).

        Args:
            wait_ms: How long to wait for a hand-off, in milliseconds. If omitted, the call does
                not wait.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        raw = await self._call(
            OPERATIONS["handoff.receive"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.optional(t.Handoff, raw)

    async def accept(
        self,
        handoff: str,
        *,
        lease_ms: int | None = None,
        overwrite: bool | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.HandoffAccepted:
        """Accept a hand-off (`handoff.accept`).

        Args:
            handoff: The hand-off.
            lease_ms: The receiver's lease of the task in milliseconds. If omitted, the length
                of the giver's lease.
            overwrite: Replace keys that exist in the receiver's namespace. If `false`, they are
                a conflict.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"handoff": handoff}
        if lease_ms is not None:
            sent["lease_ms"] = lease_ms
        if overwrite is not None:
            sent["overwrite"] = overwrite
        raw = await self._call(
            OPERATIONS["handoff.accept"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.HandoffAccepted(raw)

    async def reject(
        self,
        handoff: str,
        *,
        reason: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Handoff:
        """Reject a hand-off (`handoff.reject`).

        Args:
            handoff: The hand-off.
            reason: The reason, which is recorded. Default: none.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"handoff": handoff}
        if reason is not None:
            sent["reason"] = reason
        raw = await self._call(
            OPERATIONS["handoff.reject"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Handoff(raw)

    async def complete(
        self,
        handoff: str,
        *,
        changes: Mapping[str, Any] | None = None,
        result: Any = OMIT,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Handoff:
        """Complete an accepted hand-off (`handoff.complete`).

        Args:
            handoff: The hand-off.
            changes: The changed members of the hand-off's `state`.
            result: The result. Default: none.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"handoff": handoff}
        if changes is not None:
            sent["changes"] = changes
        if result is not OMIT:
            sent["result"] = result
        raw = await self._call(
            OPERATIONS["handoff.complete"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Handoff(raw)

    async def cancel(
        self,
        handoff: str,
        *,
        reason: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Handoff:
        """Cancel a hand-off (`handoff.cancel`).

        Args:
            handoff: The hand-off.
            reason: The reason, which is recorded. Default: none.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"handoff": handoff}
        if reason is not None:
            sent["reason"] = reason
        raw = await self._call(
            OPERATIONS["handoff.cancel"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Handoff(raw)

    async def approve(
        self,
        handoff: str,
        *,
        digest: str | None = None,
        reason: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Handoff:
        """Approve a hand-off (`handoff.approve`).

        Args:
            handoff: The hand-off.
            digest: The `digest` of the hand-off that is approved. If it does not match, the
                approval is rejected. If omitted, it is not compared.
            reason: The reason, which is recorded. Default: none.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"handoff": handoff}
        if digest is not None:
            sent["digest"] = digest
        if reason is not None:
            sent["reason"] = reason
        raw = await self._call(
            OPERATIONS["handoff.approve"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Handoff(raw)

    async def get(
        self,
        handoff: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Handoff:
        """Get a hand-off (`handoff.get`).

        Args:
            handoff: The hand-off.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"handoff": handoff}
        raw = await self._call(OPERATIONS["handoff.get"], sent, at=at, timeout=timeout)
        return t.Handoff(raw)

    async def list(
        self,
        *,
        to: str | None = None,
        cursor: str | None = None,
        from_: str | None = None,
        limit: int | None = None,
        status: t.HandoffStatus | None = None,
        task: str | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.HandoffHandoffs:
        """List hand-offs (`handoff.list`).

        Args:
            to: Only hand-offs that this agent may accept or has accepted. If omitted, any
                receiver.
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            from_: Only hand-offs of this giver. If omitted, any giver.
            limit: The maximum number of results.
            status: Only hand-offs with this status. If omitted, any status.
            task: Only hand-offs of this task. If omitted, any task.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if to is not None:
            sent["to"] = to
        if cursor is not None:
            sent["cursor"] = cursor
        if from_ is not None:
            sent["from"] = from_
        if limit is not None:
            sent["limit"] = limit
        if status is not None:
            sent["status"] = status
        if task is not None:
            sent["task"] = task
        raw = await self._call(OPERATIONS["handoff.list"], sent, at=at, timeout=timeout)
        return t.HandoffHandoffs(raw)

    async def history(
        self,
        task: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.HandoffHandoffs:
        """List the hand-offs of a task, oldest first (`handoff.history`).

        Args:
            task: The task.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task}
        raw = await self._call(OPERATIONS["handoff.history"], sent, at=at, timeout=timeout)
        return t.HandoffHandoffs(raw)

    async def export(
        self,
        handoff: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.TransferContext:
        """Export a hand-off as a portable context (`handoff.export`).

        Args:
            handoff: The hand-off.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"handoff": handoff}
        raw = await self._call(OPERATIONS["handoff.export"], sent, at=at, timeout=timeout)
        return t.TransferContext(raw)

    async def stats(
        self,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.HandoffStatistics:
        """Get hand-off statistics (`handoff.stats`).

        Args:
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        raw = await self._call(OPERATIONS["handoff.stats"], sent, at=at, timeout=timeout)
        return t.HandoffStatistics(raw)

    async def wait(
        self,
        handoff: str,
        *,
        statuses: Sequence[t.HandoffStatus] | None = None,
        wait_ms: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Handoff | None:
        """Wait until a hand-off has ended or has one of the given statuses (`handoff.wait`).

        Args:
            handoff: The hand-off.
            statuses: Return as soon as the hand-off has one of these statuses. If omitted, when
                it has ended. A hand-off that has ended always ends the wait.
            wait_ms: How long to wait, in milliseconds. If omitted, the call does not wait.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"handoff": handoff}
        if statuses is not None:
            sent["statuses"] = statuses
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        raw = await self._call(
            OPERATIONS["handoff.wait"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.optional(t.Handoff, raw)


class InboxCalls(AsyncCalls):
    """The operations `inbox.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def receive(
        self,
        *,
        agent: str | None = None,
        limit: int | None = None,
        redeliver_ms: int | None = None,
        wait_ms: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.MessageReceived:
        """Receive messages, optionally waiting for one (`inbox.receive`).

        Args:
            agent: The owner of the inbox, which must be the caller. If omitted, the caller.
            limit: The maximum number of messages.
            redeliver_ms: How long after a delivery without an acknowledgement a message is
                delivered again, in milliseconds.
            wait_ms: How long to wait if the inbox is empty, in milliseconds. If omitted, the
                call does not wait.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        sent["agent"] = self._agent if agent is None else agent
        if limit is not None:
            sent["limit"] = limit
        if redeliver_ms is not None:
            sent["redeliver_ms"] = redeliver_ms
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        raw = await self._call(
            OPERATIONS["inbox.receive"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.MessageReceived(raw)

    async def ack(
        self,
        *,
        agent: str | None = None,
        message: str | None = None,
        messages: Sequence[str] | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.MessageAcked:
        """Acknowledge messages, so that they are not delivered again (`inbox.ack`).

        Args:
            agent: The owner of the inbox, which must be the caller. If omitted, the caller.
            message: One message. If omitted, `messages` is required.
            messages: Several messages.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        sent["agent"] = self._agent if agent is None else agent
        if message is not None:
            sent["message"] = message
        if messages is not None:
            sent["messages"] = messages
        raw = await self._call(
            OPERATIONS["inbox.ack"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.MessageAcked(raw)

    async def requeue(
        self,
        message: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Message:
        """Return a dead message to its inbox (`inbox.requeue`).

        Args:
            message: The message.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"message": message}
        raw = await self._call(
            OPERATIONS["inbox.requeue"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Message(raw)

    async def list(
        self,
        *,
        agent: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        status: t.MessageStatus | None = None,
        thread: str | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.MessageMessages:
        """List the messages of an inbox (`inbox.list`).

        Args:
            agent: The owner of the inbox. If omitted, all inboxes.
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            status: Only messages with this status. If omitted, any status.
            thread: Only messages of this conversation. If omitted, any.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        sent["agent"] = self._agent if agent is None else agent
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        if status is not None:
            sent["status"] = status
        if thread is not None:
            sent["thread"] = thread
        raw = await self._call(OPERATIONS["inbox.list"], sent, at=at, timeout=timeout)
        return t.MessageMessages(raw)


class JoinsCalls(AsyncCalls):
    """The operations `join.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def create(
        self,
        *,
        deadline_ms: int | None = None,
        group: str | None = None,
        id: str | None = None,
        need: int | t.Every | None = None,
        tasks: Sequence[str] | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Join:
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
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["join.create"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Join(raw)

    async def wait(
        self,
        join: str,
        *,
        wait_ms: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Join | None:
        """Wait until a join is settled (`join.wait`).

        Args:
            join: The join.
            wait_ms: How long to wait, in milliseconds. If omitted, the call does not wait.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"join": join}
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        raw = await self._call(
            OPERATIONS["join.wait"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.optional(t.Join, raw)

    async def get(
        self,
        join: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Join:
        """Get a join (`join.get`).

        Args:
            join: The join.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"join": join}
        raw = await self._call(OPERATIONS["join.get"], sent, at=at, timeout=timeout)
        return t.Join(raw)


class LocksCalls(AsyncCalls):
    """The operations `lock.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def acquire(
        self,
        name: str,
        *,
        ttl_ms: int | None = None,
        wait_ms: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Hold | None:
        """Acquire a lock, optionally waiting for it (`lock.acquire`).

        Args:
            name: The lock.
            ttl_ms: Time to live of the hold in milliseconds, unless it is renewed.
            wait_ms: How long to wait for the lock, in milliseconds. If omitted, the call does
                not wait.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name}
        if ttl_ms is not None:
            sent["ttl_ms"] = ttl_ms
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        raw = await self._call(
            OPERATIONS["lock.acquire"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.optional(t.Hold, raw)

    async def renew(
        self,
        name: str,
        token: int,
        *,
        ttl_ms: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Hold:
        """Renew a lock (`lock.renew`).

        Args:
            name: The lock.
            token: The token of the hold.
            ttl_ms: The new time to live in milliseconds, from now on. If omitted, the previous
                one.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name, "token": token}
        if ttl_ms is not None:
            sent["ttl_ms"] = ttl_ms
        raw = await self._call(
            OPERATIONS["lock.renew"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Hold(raw)

    async def release(
        self,
        name: str,
        token: int,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Lock:
        """Release a lock (`lock.release`).

        Args:
            name: The lock.
            token: The token of the hold.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name, "token": token}
        raw = await self._call(
            OPERATIONS["lock.release"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Lock(raw)

    async def get(
        self,
        name: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Lock:
        """Get a lock (`lock.get`).

        Args:
            name: The lock.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name}
        raw = await self._call(OPERATIONS["lock.get"], sent, at=at, timeout=timeout)
        return t.Lock(raw)

    async def list(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.LockLocks:
        """List held locks, their wait queues and deadlocks (`lock.list`).

        Args:
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        raw = await self._call(OPERATIONS["lock.list"], sent, at=at, timeout=timeout)
        return t.LockLocks(raw)


class MessagesCalls(AsyncCalls):
    """The operations `message.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def send(
        self,
        to: str,
        body: Any,
        *,
        reply_to: str | None = None,
        thread: str | None = None,
        traceparent: str | None = None,
        ttl_ms: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Message:
        """Send a message to an agent's inbox (`message.send`).

        Args:
            to: The receiving agent. It need not be registered yet.
            body: The body: any JSON.
            reply_to: The message that it answers, of the same conversation. Default: none.
            thread: The first message of the conversation that it belongs to. If omitted, the
                conversation of `reply_to`, or a new one.
            traceparent: W3C trace context (`traceparent`). Default: none.
            ttl_ms: Time to live in milliseconds. If omitted, the message does not expire.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["message.send"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Message(raw)

    async def request(
        self,
        to: p.Address,
        body: Any,
        *,
        keep: bool | None = None,
        timeout_ms: int | None = None,
        traceparent: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Answered:
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
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"to": to, "body": body}
        if keep is not None:
            sent["keep"] = keep
        if timeout_ms is not None:
            sent["timeout_ms"] = timeout_ms
        if traceparent is not None:
            sent["traceparent"] = traceparent
        raw = await self._call(
            OPERATIONS["message.request"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Answered(raw)

    async def reply(
        self,
        request: str,
        *,
        body: Any = OMIT,
        error: Any = OMIT,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Message:
        """Reply to a request, optionally receiving the next message (`message.reply`).

        Args:
            request: The id of the request.
            body: The body of the reply. If omitted, `error` is required.
            error: The error. If omitted, `body` is required.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"request": request}
        if body is not OMIT:
            sent["body"] = body
        if error is not OMIT:
            sent["error"] = error
        raw = await self._call(
            OPERATIONS["message.reply"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Message(raw)

    async def get(
        self,
        message: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Message:
        """Get a message (`message.get`).

        Args:
            message: The message.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"message": message}
        raw = await self._call(OPERATIONS["message.get"], sent, at=at, timeout=timeout)
        return t.Message(raw)


class NamespacesCalls(AsyncCalls):
    """The operations `namespace.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def create(
        self,
        name: str,
        *,
        rules: p.Rules | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Namespace:
        """Create a namespace (`namespace.create`).

        Args:
            name: The name of the namespace.
            rules: The rules for writes. If omitted, there are none.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name}
        if rules is not None:
            sent["rules"] = rules
        raw = await self._call(
            OPERATIONS["namespace.create"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Namespace(raw)

    async def configure(
        self,
        name: str,
        rules: p.Rules,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Namespace:
        """Replace the rules of a namespace (`namespace.configure`).

        Args:
            name: The name of the namespace.
            rules: The new rules.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name, "rules": rules}
        raw = await self._call(
            OPERATIONS["namespace.configure"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Namespace(raw)

    async def delete(
        self,
        name: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Namespace:
        """Delete a namespace with all its entries (`namespace.delete`).

        Args:
            name: The name of the namespace.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name}
        raw = await self._call(
            OPERATIONS["namespace.delete"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Namespace(raw)

    async def list(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.NamespaceNamespaces:
        """List namespaces (`namespace.list`).

        Args:
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        raw = await self._call(OPERATIONS["namespace.list"], sent, at=at, timeout=timeout)
        return t.NamespaceNamespaces(raw)

    async def get(
        self,
        name: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Namespace:
        """Get a namespace (`namespace.get`).

        Args:
            name: The name of the namespace.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name}
        raw = await self._call(OPERATIONS["namespace.get"], sent, at=at, timeout=timeout)
        return t.Namespace(raw)


class PipelinesCalls(AsyncCalls):
    """The operations `pipeline.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def create(
        self,
        pipeline: str,
        stages: Sequence[p.StageDesign],
        *,
        automatic: bool | None = None,
        input: Any = OMIT,
        metadata: Any = OMIT,
        traceparent: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Pipeline:
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
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["pipeline.create"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Pipeline(raw)

    async def start_stage(
        self,
        pipeline: str,
        stage: str,
        *,
        input: Any = OMIT,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Stage:
        """Start a stage (`pipeline.start_stage`).

        Args:
            pipeline: The pipeline.
            stage: The stage.
            input: The input of the stage. If omitted, the outputs of the stages before it.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"pipeline": pipeline, "stage": stage}
        if input is not OMIT:
            sent["input"] = input
        raw = await self._call(
            OPERATIONS["pipeline.start_stage"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Stage(raw)

    async def complete_stage(
        self,
        pipeline: str,
        stage: str,
        *,
        output: Any = OMIT,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.StageMoved:
        """Complete a stage (`pipeline.complete_stage`).

        Args:
            pipeline: The pipeline.
            stage: The stage.
            output: The output of the stage. If omitted, `null`.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"pipeline": pipeline, "stage": stage}
        if output is not OMIT:
            sent["output"] = output
        raw = await self._call(
            OPERATIONS["pipeline.complete_stage"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.StageMoved(raw)

    async def review_stage(
        self,
        pipeline: str,
        stage: str,
        verdict: t.Verdict,
        *,
        attempt: int | None = None,
        note: str | None = None,
        output: Any = OMIT,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.StageMoved:
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
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"pipeline": pipeline, "stage": stage, "verdict": verdict}
        if attempt is not None:
            sent["attempt"] = attempt
        if note is not None:
            sent["note"] = note
        if output is not OMIT:
            sent["output"] = output
        raw = await self._call(
            OPERATIONS["pipeline.review_stage"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.StageMoved(raw)

    async def fail_stage(
        self,
        pipeline: str,
        stage: str,
        error: Any,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Stage:
        """Fail a stage (`pipeline.fail_stage`).

        Args:
            pipeline: The pipeline.
            stage: The stage.
            error: The error.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"pipeline": pipeline, "stage": stage, "error": error}
        raw = await self._call(
            OPERATIONS["pipeline.fail_stage"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Stage(raw)

    async def retry_stage(
        self,
        pipeline: str,
        stage: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Stage:
        """Retry a failed stage (`pipeline.retry_stage`).

        Args:
            pipeline: The pipeline.
            stage: The stage.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"pipeline": pipeline, "stage": stage}
        raw = await self._call(
            OPERATIONS["pipeline.retry_stage"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Stage(raw)

    async def skip_stage(
        self,
        pipeline: str,
        stage: str,
        *,
        reason: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.StageMoved:
        """Skip a stage (`pipeline.skip_stage`).

        Args:
            pipeline: The pipeline.
            stage: The stage.
            reason: The reason, which is recorded. Default: none.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"pipeline": pipeline, "stage": stage}
        if reason is not None:
            sent["reason"] = reason
        raw = await self._call(
            OPERATIONS["pipeline.skip_stage"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.StageMoved(raw)

    async def abort(
        self,
        pipeline: str,
        *,
        reason: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Pipeline:
        """Abort a pipeline (`pipeline.abort`).

        Args:
            pipeline: The pipeline.
            reason: The reason, which is recorded. Default: none.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"pipeline": pipeline}
        if reason is not None:
            sent["reason"] = reason
        raw = await self._call(
            OPERATIONS["pipeline.abort"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Pipeline(raw)

    async def delete(
        self,
        pipeline: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Pipeline:
        """Delete a finished pipeline (`pipeline.delete`).

        Args:
            pipeline: The pipeline.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"pipeline": pipeline}
        raw = await self._call(
            OPERATIONS["pipeline.delete"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Pipeline(raw)

    async def get(
        self,
        pipeline: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Pipeline:
        """Get a pipeline (`pipeline.get`).

        Args:
            pipeline: The pipeline.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"pipeline": pipeline}
        raw = await self._call(OPERATIONS["pipeline.get"], sent, at=at, timeout=timeout)
        return t.Pipeline(raw)

    async def output(
        self,
        pipeline: str,
        stage: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.StageOutput:
        """Get the output of a stage (`pipeline.output`).

        Args:
            pipeline: The pipeline.
            stage: The stage.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"pipeline": pipeline, "stage": stage}
        raw = await self._call(OPERATIONS["pipeline.output"], sent, at=at, timeout=timeout)
        return t.StageOutput(raw)

    async def list(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        status: t.PipelineStatus | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.PipelinePipelines:
        """List pipelines (`pipeline.list`).

        Args:
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            status: Only pipelines with this status. If omitted, any status.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        if status is not None:
            sent["status"] = status
        raw = await self._call(OPERATIONS["pipeline.list"], sent, at=at, timeout=timeout)
        return t.PipelinePipelines(raw)


class ReactionsCalls(AsyncCalls):
    """The operations `reaction.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def add(
        self,
        name: str,
        on: p.ReactionOn,
        *,
        do: Sequence[Any] | None = None,
        enabled: bool | None = None,
        webhook: p.WantedWebhook | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Reaction:
        """Add or replace a reaction (`reaction.add`).

        Args:
            name: The name of the reaction.
            on: The events that it runs on.
            do: Commands to execute, as objects with `command`. `{{field}}` is replaced by a
                field of the event.
            enabled: Whether it runs.
            webhook: A webhook to call. Default: none.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name, "on": on}
        if do is not None:
            sent["do"] = do
        if enabled is not None:
            sent["enabled"] = enabled
        if webhook is not None:
            sent["webhook"] = webhook
        raw = await self._call(
            OPERATIONS["reaction.add"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Reaction(raw)

    async def remove(
        self,
        name: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Reaction:
        """Remove a reaction (`reaction.remove`).

        Args:
            name: The name of the reaction.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name}
        raw = await self._call(
            OPERATIONS["reaction.remove"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Reaction(raw)

    async def enable(
        self,
        name: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Reaction:
        """Enable a reaction (`reaction.enable`).

        Args:
            name: The name of the reaction.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name}
        raw = await self._call(
            OPERATIONS["reaction.enable"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Reaction(raw)

    async def disable(
        self,
        name: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Reaction:
        """Disable a reaction (`reaction.disable`).

        Args:
            name: The name of the reaction.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name}
        raw = await self._call(
            OPERATIONS["reaction.disable"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Reaction(raw)

    async def get(
        self,
        name: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Reaction:
        """Get a reaction (`reaction.get`).

        Args:
            name: The name of the reaction.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name}
        raw = await self._call(OPERATIONS["reaction.get"], sent, at=at, timeout=timeout)
        return t.Reaction(raw)

    async def list(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.ReactionReactions:
        """List reactions (`reaction.list`).

        Args:
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        raw = await self._call(OPERATIONS["reaction.list"], sent, at=at, timeout=timeout)
        return t.ReactionReactions(raw)


class RulesCalls(AsyncCalls):
    """The operations `rule.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def add(
        self,
        name: str,
        check: p.WantedCheck,
        *,
        message: str | None = None,
        on: p.RuleOn | None = None,
        severity: t.Severity | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Rule:
        """Add or replace a rule (`rule.add`).

        Args:
            name: The name of the rule.
            check: The requirement.
            message: A message for the violator, shown before the details. Default: none.
            on: When it applies. If omitted, always.
            severity: How serious a violation is.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name, "check": check}
        if message is not None:
            sent["message"] = message
        if on is not None:
            sent["on"] = on
        if severity is not None:
            sent["severity"] = severity
        raw = await self._call(
            OPERATIONS["rule.add"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Rule(raw)

    async def remove(
        self,
        name: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Rule:
        """Remove a rule (`rule.remove`).

        Args:
            name: The name of the rule.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name}
        raw = await self._call(
            OPERATIONS["rule.remove"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Rule(raw)

    async def list(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.RuleRules:
        """List rules (`rule.list`).

        Args:
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        raw = await self._call(OPERATIONS["rule.list"], sent, at=at, timeout=timeout)
        return t.RuleRules(raw)


class SecretsCalls(AsyncCalls):
    """The operations `secret.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def delete(
        self,
        secret: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.SecretRecord:
        """Delete a secret permanently (`secret.delete`).

        Args:
            secret: The secret.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"secret": secret}
        raw = await self._call(
            OPERATIONS["secret.delete"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.SecretRecord(raw)

    async def get(
        self,
        secret: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.SecretRecord:
        """Get the metadata of a secret (`secret.get`).

        Args:
            secret: The secret.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"secret": secret}
        raw = await self._call(OPERATIONS["secret.get"], sent, at=at, timeout=timeout)
        return t.SecretRecord(raw)

    async def list(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.SecretSecrets:
        """List secrets, without their values (`secret.list`).

        Args:
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        raw = await self._call(OPERATIONS["secret.list"], sent, at=at, timeout=timeout)
        return t.SecretSecrets(raw)


class SemaphoresCalls(AsyncCalls):
    """The operations `semaphore.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def acquire(
        self,
        name: str,
        *,
        permits: int | None = None,
        ttl_ms: int | None = None,
        wait_ms: int | None = None,
        weight: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Permit | None:
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
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["semaphore.acquire"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.optional(t.Permit, raw)

    async def renew(
        self,
        name: str,
        token: int,
        *,
        ttl_ms: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Permit:
        """Renew a permit (`semaphore.renew`).

        Args:
            name: The semaphore.
            token: The token of the permit.
            ttl_ms: The new time to live in milliseconds, from now on. If omitted, the previous
                one.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name, "token": token}
        if ttl_ms is not None:
            sent["ttl_ms"] = ttl_ms
        raw = await self._call(
            OPERATIONS["semaphore.renew"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Permit(raw)

    async def release(
        self,
        name: str,
        token: int,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Semaphore:
        """Release a permit (`semaphore.release`).

        Args:
            name: The semaphore.
            token: The token of the permit.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name, "token": token}
        raw = await self._call(
            OPERATIONS["semaphore.release"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Semaphore(raw)

    async def resize(
        self,
        name: str,
        permits: int,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Semaphore:
        """Change the number of permits of a semaphore (`semaphore.resize`).

        Args:
            name: The semaphore.
            permits: The new number of permits. Calls of `semaphore.acquire` that give another
                number in `permits` are accepted from then on.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name, "permits": permits}
        raw = await self._call(
            OPERATIONS["semaphore.resize"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Semaphore(raw)

    async def get(
        self,
        name: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Semaphore:
        """Get a semaphore (`semaphore.get`).

        Args:
            name: The semaphore.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"name": name}
        raw = await self._call(OPERATIONS["semaphore.get"], sent, at=at, timeout=timeout)
        return t.Semaphore(raw)

    async def list(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.SemaphoreSemaphores:
        """List semaphores with their holders and wait queues (`semaphore.list`).

        Args:
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        raw = await self._call(OPERATIONS["semaphore.list"], sent, at=at, timeout=timeout)
        return t.SemaphoreSemaphores(raw)


class SpendingCalls(AsyncCalls):
    """The operations `spend.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def record(
        self,
        *,
        calls: int | None = None,
        cost_micros: int | None = None,
        model: str | None = None,
        note: str | None = None,
        strict: bool | None = None,
        task: str | None = None,
        tokens: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.SpendRecorded:
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
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["spend.record"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.SpendRecorded(raw)

    async def limit(
        self,
        *,
        budget: p.SpendBudget | None = None,
        of: p.SpendPayer | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.SpendTotal:
        """Set or remove the budget of a task, an agent or the workspace (`spend.limit`).

        Args:
            budget: The limits, which replace the previous ones. If omitted, there is no budget.
            of: The owner of the budget: `{"task": "t-7"}`, `{"agent": "ada"}` or `"workspace"`.
                If omitted, the workspace.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if budget is not None:
            sent["budget"] = budget
        if of is not None:
            sent["of"] = of
        raw = await self._call(
            OPERATIONS["spend.limit"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.SpendTotal(raw)

    async def get(
        self,
        *,
        agent: str | None = None,
        task: str | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.SpendTotal:
        """Get what a task with its subtasks, an agent or the workspace has spent (`spend.get`).

        Args:
            agent: The agent. If omitted, the task or the workspace.
            task: The task, with its subtasks. If omitted, the agent or the workspace.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if agent is not None:
            sent["agent"] = agent
        if task is not None:
            sent["task"] = task
        raw = await self._call(OPERATIONS["spend.get"], sent, at=at, timeout=timeout)
        return t.SpendTotal(raw)

    async def list(
        self,
        *,
        agent: str | None = None,
        cursor: int | None = None,
        limit: int | None = None,
        task: str | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.SpendRecords:
        """List the latest records of spending (`spend.list`).

        Args:
            agent: Only records of this agent. If omitted, any agent.
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            task: Only records of this task itself. If omitted, any task and none.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if agent is not None:
            sent["agent"] = agent
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        if task is not None:
            sent["task"] = task
        raw = await self._call(OPERATIONS["spend.list"], sent, at=at, timeout=timeout)
        return t.SpendRecords(raw)


class StateCalls(AsyncCalls):
    """The operations `state.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def set(
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
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Entry:
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
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["state.set"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Entry(raw)

    async def patch(
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
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Entry:
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
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["state.patch"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Entry(raw)

    async def delete(
        self,
        key: str,
        *,
        namespace: str | None = None,
        expected_revision: int | None = None,
        expected_version: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Entry:
        """Delete an entry (`state.delete`).

        Args:
            key: The key.
            namespace: The namespace.
            expected_revision: Delete only if the entry was last changed by this revision. If
                omitted, the revision is not checked.
            expected_version: Delete only if the entry has this version. If omitted, the version
                is not checked.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"key": key}
        sent["namespace"] = (
            self._namespace if namespace is None else namespace
        )
        if expected_revision is not None:
            sent["expected_revision"] = expected_revision
        if expected_version is not None:
            sent["expected_version"] = expected_version
        raw = await self._call(
            OPERATIONS["state.delete"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Entry(raw)

    async def transfer(
        self,
        from_namespace: str,
        to_namespace: str,
        *,
        copy: bool | None = None,
        keys: Sequence[str] | None = None,
        overwrite: bool | None = None,
        pattern: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.StateMoved:
        """Move or copy entries to another namespace (`state.transfer`).

        Args:
            from_namespace: The namespace to move from.
            to_namespace: The namespace to move to.
            copy: Copy the entries: the source keeps its own. If `false`, they move.
            keys: The keys to move. If omitted, all keys.
            overwrite: Replace entries of the same key in the target. If `false`, they are a
                conflict.
            pattern: Move only keys that match this pattern. If omitted, any key.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["state.transfer"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.StateMoved(raw)

    async def get(
        self,
        key: str,
        *,
        namespace: str | None = None,
        at: int | None = None,
        timeout: float | None = None,
    ) -> t.Entry:
        """Get an entry (`state.get`).

        Args:
            key: The key.
            namespace: The namespace.
            at: Read the entry as of this revision. If omitted, the present.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"key": key}
        sent["namespace"] = (
            self._namespace if namespace is None else namespace
        )
        if at is not None:
            sent["at"] = at
        raw = await self._call(OPERATIONS["state.get"], sent, timeout=timeout)
        return t.Entry(raw)

    async def list(
        self,
        *,
        namespace: str | None = None,
        at: int | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        pattern: str | None = None,
        prefix: str | None = None,
        timeout: float | None = None,
    ) -> t.Page:
        """List the entries of a namespace (`state.list`).

        Args:
            namespace: The namespace.
            at: Read the entries as of this revision. If omitted, the present.
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            pattern: Only keys that match this pattern. If omitted, any key.
            prefix: Only keys with this prefix. If omitted, any key.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        sent["namespace"] = (
            self._namespace if namespace is None else namespace
        )
        if at is not None:
            sent["at"] = at
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        if pattern is not None:
            sent["pattern"] = pattern
        if prefix is not None:
            sent["prefix"] = prefix
        raw = await self._call(OPERATIONS["state.list"], sent, timeout=timeout)
        return t.Page(raw)

    async def history(
        self,
        *,
        to: int | None = None,
        author: str | None = None,
        cursor: str | None = None,
        from_: int | None = None,
        key: str | None = None,
        limit: int | None = None,
        namespace: str | None = None,
        pattern: str | None = None,
        timeout: float | None = None,
    ) -> t.StateChanges:
        """List changes to entries, newest first (`state.history`).

        Args:
            to: The newest revision to include. If omitted, the present.
            author: Only changes by this agent. If omitted, any agent.
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            from_: The oldest revision to include. If omitted, the oldest that is kept.
            key: Only this key; requires `namespace`. If omitted, any key.
            limit: The maximum number of results.
            namespace: Only this namespace. If omitted, all namespaces.
            pattern: Only keys that match this pattern. If omitted, any key.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if to is not None:
            sent["to"] = to
        if author is not None:
            sent["author"] = author
        if cursor is not None:
            sent["cursor"] = cursor
        if from_ is not None:
            sent["from"] = from_
        if key is not None:
            sent["key"] = key
        if limit is not None:
            sent["limit"] = limit
        if namespace is not None:
            sent["namespace"] = namespace
        if pattern is not None:
            sent["pattern"] = pattern
        raw = await self._call(OPERATIONS["state.history"], sent, timeout=timeout)
        return t.StateChanges(raw)

    async def snapshot(
        self,
        *,
        at: int | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        namespace: str | None = None,
        timeout: float | None = None,
    ) -> t.Page:
        """List the entries of all namespaces at one revision (`state.snapshot`).

        Args:
            at: The revision. If omitted, the present.
            cursor: The `cursor` of the previous page. The next page shows the same revision,
                regardless of later writes. If omitted, the first page is returned.
            limit: The maximum number of entries.
            namespace: Only this namespace. If omitted, all namespaces.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if at is not None:
            sent["at"] = at
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        if namespace is not None:
            sent["namespace"] = namespace
        raw = await self._call(OPERATIONS["state.snapshot"], sent, timeout=timeout)
        return t.Page(raw)

    async def diff(
        self,
        from_: int,
        *,
        to: int | None = None,
        namespace: str | None = None,
        timeout: float | None = None,
    ) -> t.StateChanges:
        """List the entries that differ between two revisions (`state.diff`).

        Args:
            from_: The first revision.
            to: The second revision. If omitted, the present.
            namespace: Only this namespace. If omitted, all namespaces.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"from": from_}
        if to is not None:
            sent["to"] = to
        if namespace is not None:
            sent["namespace"] = namespace
        raw = await self._call(OPERATIONS["state.diff"], sent, timeout=timeout)
        return t.StateChanges(raw)


class StreamsCalls(AsyncCalls):
    """The operations `stream.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def create(
        self,
        stream: str,
        *,
        bytes_max: int | None = None,
        frames_max: int | None = None,
        kept: bool | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Stream:
        """Create a stream (`stream.create`).

        Args:
            stream: The name of the stream.
            bytes_max: The maximum size of the kept frames in bytes; the oldest are dropped
                first.
            frames_max: The maximum number of frames to keep; the oldest are dropped first.
            kept: Keep frames, so that readers can read them later. If `false`, frames are only
                delivered to current watches of `streams/NAME`.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"stream": stream}
        if bytes_max is not None:
            sent["bytes_max"] = bytes_max
        if frames_max is not None:
            sent["frames_max"] = frames_max
        if kept is not None:
            sent["kept"] = kept
        raw = await self._call(
            OPERATIONS["stream.create"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Stream(raw)

    async def send(
        self,
        stream: str,
        data: Any = OMIT,
        *,
        frames: Sequence[Any] | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Sent:
        """Append frames to a stream (`stream.send`).

        Args:
            stream: The stream.
            data: One frame. If omitted, `frames` is required.
            frames: Several frames, in order.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"stream": stream}
        if data is not OMIT:
            sent["data"] = data
        if frames is not None:
            sent["frames"] = frames
        raw = await self._call(
            OPERATIONS["stream.send"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Sent(raw)

    async def receive(
        self,
        stream: str,
        *,
        from_: int | None = None,
        limit: int | None = None,
        wait_ms: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Frames:
        """Read frames, optionally waiting for more (`stream.receive`).

        Args:
            stream: The stream.
            from_: The first offset to read. If omitted, the first that is kept.
            limit: The maximum number of frames.
            wait_ms: How long to wait at the end of the stream for more, in milliseconds. If
                omitted, the call does not wait.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"stream": stream}
        if from_ is not None:
            sent["from"] = from_
        if limit is not None:
            sent["limit"] = limit
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        raw = await self._call(
            OPERATIONS["stream.receive"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Frames(raw)

    async def close(
        self,
        stream: str,
        *,
        reason: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Stream:
        """Close a stream (`stream.close`).

        Args:
            stream: The stream.
            reason: The reason, which is recorded. Default: none.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"stream": stream}
        if reason is not None:
            sent["reason"] = reason
        raw = await self._call(
            OPERATIONS["stream.close"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Stream(raw)

    async def delete(
        self,
        stream: str,
        *,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Stream:
        """Delete a stream and its frames (`stream.delete`).

        Args:
            stream: The stream.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"stream": stream}
        raw = await self._call(
            OPERATIONS["stream.delete"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Stream(raw)

    async def get(
        self,
        stream: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Stream:
        """Get a stream (`stream.get`).

        Args:
            stream: The stream.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"stream": stream}
        raw = await self._call(OPERATIONS["stream.get"], sent, at=at, timeout=timeout)
        return t.Stream(raw)

    async def list(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.StreamStreams:
        """List streams (`stream.list`).

        Args:
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        raw = await self._call(OPERATIONS["stream.list"], sent, at=at, timeout=timeout)
        return t.StreamStreams(raw)


class TasksCalls(AsyncCalls):
    """The operations `task.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def create(
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
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Task:
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
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["task.create"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Task(raw)

    async def claim(
        self,
        types: Sequence[str] | None = None,
        *,
        capabilities: Sequence[str] | None = None,
        lease_ms: int | None = None,
        task: str | None = None,
        wait_ms: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Task | None:
        """Claim the next task, optionally waiting for one (`task.claim`).

        Args:
            types: Only tasks of these types. If omitted, any type.
            capabilities: The capabilities of the caller. If omitted, those of its session.
            lease_ms: The lease in milliseconds, unless it is renewed.
            task: Only this task. If omitted, any task.
            wait_ms: How long to wait for a task, in milliseconds. If omitted, the call does not
                wait.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
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
        raw = await self._call(
            OPERATIONS["task.claim"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.optional(t.Task, raw)

    async def heartbeat(
        self,
        task: str,
        token: int,
        *,
        lease_ms: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Task:
        """Renew the lease of a task (`task.heartbeat`).

        Args:
            task: The task.
            token: The token of the lease.
            lease_ms: The new lease in milliseconds, from now on. If omitted, the previous one.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task, "token": token}
        if lease_ms is not None:
            sent["lease_ms"] = lease_ms
        raw = await self._call(
            OPERATIONS["task.heartbeat"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Task(raw)

    async def progress(
        self,
        task: str,
        token: int,
        fraction: float,
        *,
        note: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Task:
        """Report progress and renew the lease (`task.progress`).

        Args:
            task: The task.
            token: The token of the lease.
            fraction: The completed fraction, 0 to 1.
            note: A note in words. Default: none.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task, "token": token, "fraction": fraction}
        if note is not None:
            sent["note"] = note
        raw = await self._call(
            OPERATIONS["task.progress"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Task(raw)

    async def update(
        self,
        task: str,
        token: int,
        fields: Any,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Task:
        """Update fields of a claimed task (`task.update`).

        Args:
            task: The task.
            token: The token of the lease.
            fields: An object with the fields to change.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task, "token": token, "fields": fields}
        raw = await self._call(
            OPERATIONS["task.update"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Task(raw)

    async def release(
        self,
        task: str,
        token: int,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Task:
        """Release a task so that another agent can claim it (`task.release`).

        Args:
            task: The task.
            token: The token of the lease.
            reason: The reason, which is recorded. Default: none.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task, "token": token}
        if reason is not None:
            sent["reason"] = reason
        raw = await self._call(
            OPERATIONS["task.release"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Task(raw)

    async def complete(
        self,
        task: str,
        token: int,
        result: Any = OMIT,
        *,
        artifacts: Any = OMIT,
        then_claim: p.Next | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.TaskCompleted:
        """Complete a task (`task.complete`).

        Args:
            task: The task.
            token: The token of the lease.
            result: The result. If omitted, the result so far.
            artifacts: References to what it produced: a list, usually of artifact ids. Default:
                none.
            then_claim: Claim the next task in the same commit. If omitted, no task is claimed.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task, "token": token}
        if artifacts is not OMIT:
            sent["artifacts"] = artifacts
        if result is not OMIT:
            sent["result"] = result
        if then_claim is not None:
            sent["then_claim"] = then_claim
        raw = await self._call(
            OPERATIONS["task.complete"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.TaskCompleted(raw)

    async def fail(
        self,
        task: str,
        token: int,
        error: Any,
        *,
        retryable: bool | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Task:
        """Fail an attempt at a task (`task.fail`).

        Args:
            task: The task.
            token: The token of the lease.
            error: The error.
            retryable: Whether a retry may help. If `false`, the task is not retried.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task, "token": token, "error": error}
        if retryable is not None:
            sent["retryable"] = retryable
        raw = await self._call(
            OPERATIONS["task.fail"],
            sent,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Task(raw)

    async def cancel(
        self,
        task: str,
        *,
        reason: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Task:
        """Cancel a task and its subtasks (`task.cancel`).

        Args:
            task: The task.
            reason: The reason, which is recorded. Default: none.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task}
        if reason is not None:
            sent["reason"] = reason
        raw = await self._call(
            OPERATIONS["task.cancel"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Task(raw)

    async def review(
        self,
        task: str,
        verdict: t.Verdict,
        *,
        attempt: int | None = None,
        note: str | None = None,
        result: Any = OMIT,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Task:
        """Decide on a task that waits for review (`task.review`).

        Args:
            task: The task.
            verdict: The verdict.
            attempt: The number of the attempt that was reviewed: `attempts` of the task. The
                verdict is refused if another attempt waits for review. If omitted, the verdict
                is about the attempt that waits.
            note: A note, which is recorded. Default: none.
            result: The result. If omitted, the result so far.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task, "verdict": verdict}
        if attempt is not None:
            sent["attempt"] = attempt
        if note is not None:
            sent["note"] = note
        if result is not OMIT:
            sent["result"] = result
        raw = await self._call(
            OPERATIONS["task.review"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Task(raw)

    async def retry(
        self,
        task: str,
        *,
        deadline_ms: int | None = None,
        reason: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Task:
        """Retry a failed task under its own id (`task.retry`).

        Args:
            task: The failed task.
            deadline_ms: A new deadline, in milliseconds from now. Default: the task keeps its
                deadline, or has none if that has passed.
            reason: The reason for the retry. Default: none.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task}
        if deadline_ms is not None:
            sent["deadline_ms"] = deadline_ms
        if reason is not None:
            sent["reason"] = reason
        raw = await self._call(
            OPERATIONS["task.retry"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Task(raw)

    async def get(
        self,
        task: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Task:
        """Get a task (`task.get`).

        Args:
            task: The task.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task}
        raw = await self._call(OPERATIONS["task.get"], sent, at=at, timeout=timeout)
        return t.Task(raw)

    async def list(
        self,
        *,
        type: str | None = None,
        agent: str | None = None,
        cursor: str | None = None,
        group: str | None = None,
        limit: int | None = None,
        parent: str | None = None,
        status: t.TaskStatus | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.TaskTasks:
        """List tasks (`task.list`).

        Args:
            type: Only tasks of this type. If omitted, any type.
            agent: Only tasks that this agent holds or is assigned to. If omitted, any agent.
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            group: Only tasks of this group. If omitted, any group.
            limit: The maximum number of results.
            parent: Only direct subtasks of this task. If omitted, any task.
            status: Only tasks with this status. If omitted, any status.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if type is not None:
            sent["type"] = type
        if agent is not None:
            sent["agent"] = agent
        if cursor is not None:
            sent["cursor"] = cursor
        if group is not None:
            sent["group"] = group
        if limit is not None:
            sent["limit"] = limit
        if parent is not None:
            sent["parent"] = parent
        if status is not None:
            sent["status"] = status
        raw = await self._call(OPERATIONS["task.list"], sent, at=at, timeout=timeout)
        return t.TaskTasks(raw)

    async def stats(
        self,
        *,
        type: str | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Statistics:
        """Get task counts, durations and failure reasons (`task.stats`).

        Args:
            type: Only tasks of this type. If omitted, all tasks.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if type is not None:
            sent["type"] = type
        raw = await self._call(OPERATIONS["task.stats"], sent, at=at, timeout=timeout)
        return t.Statistics(raw)

    async def why(
        self,
        task: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Why:
        """Explain why a task is not running (`task.why`).

        Args:
            task: The task.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task}
        raw = await self._call(OPERATIONS["task.why"], sent, at=at, timeout=timeout)
        return t.Why(raw)

    async def history(
        self,
        task: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> t.TaskHistoryResult:
        """List the events of a task, newest first (`task.history`).

        Args:
            task: The task.
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        raw = await self._call(OPERATIONS["task.history"], sent, timeout=timeout)
        return t.TaskHistoryResult(raw)

    async def wait(
        self,
        task: str,
        *,
        statuses: Sequence[t.TaskStatus] | None = None,
        wait_ms: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Task | None:
        """Wait until a task has finished or has one of the given statuses (`task.wait`).

        Args:
            task: The task.
            statuses: Return as soon as the task has one of these statuses. If omitted, when it
                has finished. A finished task always ends the wait.
            wait_ms: How long to wait, in milliseconds. If omitted, the call does not wait.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"task": task}
        if statuses is not None:
            sent["statuses"] = statuses
        if wait_ms is not None:
            sent["wait_ms"] = wait_ms
        raw = await self._call(
            OPERATIONS["task.wait"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.optional(t.Task, raw)


class TopicsCalls(AsyncCalls):
    """The operations `topic.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def publish(
        self,
        topic: str,
        body: Any,
        *,
        durable: bool | None = None,
        traceparent: str | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.Published:
        """Publish a message to a topic (`topic.publish`).

        Args:
            topic: The topic.
            body: The content: any JSON.
            durable: Record the message in the log. If `false`, it is only delivered to current
                watches.
            traceparent: W3C trace context (`traceparent`). Default: none.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"topic": topic, "body": body}
        if durable is not None:
            sent["durable"] = durable
        if traceparent is not None:
            sent["traceparent"] = traceparent
        raw = await self._call(
            OPERATIONS["topic.publish"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.Published(raw)

    async def get(
        self,
        topic: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Topic:
        """Get a topic (`topic.get`).

        Args:
            topic: The topic.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"topic": topic}
        raw = await self._call(OPERATIONS["topic.get"], sent, at=at, timeout=timeout)
        return t.Topic(raw)

    async def list(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        prefix: str | None = None,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.TopicTopics:
        """List topics and their message counts (`topic.list`).

        Args:
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            prefix: Only topics with this prefix. If omitted, all topics.
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        if prefix is not None:
            sent["prefix"] = prefix
        raw = await self._call(OPERATIONS["topic.list"], sent, at=at, timeout=timeout)
        return t.TopicTopics(raw)


class WorkspaceCalls(AsyncCalls):
    """The operations `workspace.*`. Fields that end in `_ms` are milliseconds."""

    __slots__ = ()

    async def configure(
        self,
        *,
        history_age_ms: int | None = None,
        history_count: int | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.WorkspaceWorkspace:
        """Configure a workspace (`workspace.configure`).

        Args:
            history_age_ms: How long to keep history, in milliseconds. If omitted, unchanged.
            history_count: The number of revisions of history to keep. If omitted, unchanged.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if history_age_ms is not None:
            sent["history_age_ms"] = history_age_ms
        if history_count is not None:
            sent["history_count"] = history_count
        raw = await self._call(
            OPERATIONS["workspace.configure"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.WorkspaceWorkspace(raw)

    async def sync(
        self,
        ours: p.CopyChanges,
        theirs: p.CopyChanges,
        *,
        decisions: Sequence[p.SyncDecision] | None = None,
        dry_run: bool | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> t.SyncReport:
        """Apply the changes of another copy of a workspace (`workspace.sync`).

        Args:
            ours: The changes of this copy: its response to `workspace.changes` with the other
                copy, for the keys and namespaces in `theirs`.
            theirs: The changes of the other copy: its response to `workspace.changes` with this
                copy.
            decisions: Decisions about conflicts, which apply instead of the rules.
            dry_run: Only report: change nothing.
            token: Refuses the change once the lease, hold or session of this token is over.
            idempotency_key: Repeating the call under this key has no second effect.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"ours": ours, "theirs": theirs}
        if decisions is not None:
            sent["decisions"] = decisions
        if dry_run is not None:
            sent["dry_run"] = dry_run
        raw = await self._call(
            OPERATIONS["workspace.sync"],
            sent,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return t.SyncReport(raw)

    async def get(
        self,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.WorkspaceWorkspace:
        """Get a workspace (`workspace.get`).

        Args:
            at: The revision or time to ask about; the present if not given.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        raw = await self._call(OPERATIONS["workspace.get"], sent, at=at, timeout=timeout)
        return t.WorkspaceWorkspace(raw)

    async def list(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> t.WorkspaceWorkspaces:
        """List workspaces (`workspace.list`).

        Args:
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        raw = await self._call(OPERATIONS["workspace.list"], sent, timeout=timeout)
        return t.WorkspaceWorkspaces(raw)

    async def fork(
        self,
        to: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Forked:
        """Fork a workspace from its state at a revision or time (`workspace.fork`).

        Args:
            to: The name of the new workspace.
            at: The revision or time to fork from. If omitted, the present.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"to": to}
        if at is not None:
            sent["at"] = at
        raw = await self._call(OPERATIONS["workspace.fork"], sent, timeout=timeout)
        return t.Forked(raw)

    async def delete(
        self,
        revision: int,
        *,
        timeout: float | None = None,
    ) -> t.ListedWorkspace:
        """Delete a workspace with its history (`workspace.delete`).

        Args:
            revision: A revision of the workspace, such as its current one. It identifies the
                workspace: one that was created under the same name since is not deleted.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"revision": revision}
        raw = await self._call(OPERATIONS["workspace.delete"], sent, timeout=timeout)
        return t.ListedWorkspace(raw)

    async def diff(
        self,
        from_: int | str | datetime,
        *,
        to: int | str | datetime | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        pattern: str | None = None,
        timeout: float | None = None,
    ) -> t.Differences:
        """List what changed between two revisions or times (`workspace.diff`).

        Args:
            from_: The revision or time to start after.
            to: The last revision or time to include. If omitted, the present.
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of subjects.
            pattern: Only subjects that match. If omitted, all subjects.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"from": from_}
        if to is not None:
            sent["to"] = to
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        if pattern is not None:
            sent["pattern"] = pattern
        raw = await self._call(OPERATIONS["workspace.diff"], sent, timeout=timeout)
        return t.Differences(raw)

    async def changes(
        self,
        *,
        keys: Sequence[str] | None = None,
        limit: int | None = None,
        namespaces: Sequence[str] | None = None,
        with_: p.Known | None = None,
        timeout: float | None = None,
    ) -> t.CopyChanges:
        """List the changes of a copy that another copy does not include yet (`workspace.changes`).

        Args:
            keys: Only these keys, as `namespace/key`, and `namespaces`. If omitted, all keys
                and namespaces.
            limit: The maximum number of entries. The document ends with the revision that
                exceeds it.
            namespaces: Only these namespaces, and `keys`. If omitted, all.
            with_: The copy that the changes are for, and what it includes of others. If
                omitted, no changes are listed: the response identifies this copy.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {}
        if keys is not None:
            sent["keys"] = keys
        if limit is not None:
            sent["limit"] = limit
        if namespaces is not None:
            sent["namespaces"] = namespaces
        if with_ is not None:
            sent["with"] = with_
        raw = await self._call(OPERATIONS["workspace.changes"], sent, timeout=timeout)
        return t.CopyChanges(raw)

    async def search(
        self,
        query: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> t.Results:
        """Search tasks, messages, keys and events (`workspace.search`).

        Args:
            query: Words, phrases in quotation marks, and fields such as `status:failed`; all
                must match.
            cursor: The `cursor` of the previous page. If omitted, the first page is returned.
            limit: The maximum number of results.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"query": query}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        raw = await self._call(OPERATIONS["workspace.search"], sent, timeout=timeout)
        return t.Results(raw)

    async def why(
        self,
        subject: str,
        *,
        at: int | str | datetime | None = None,
        timeout: float | None = None,
    ) -> t.Explanation:
        """Explain what led to an entry, a task or a hand-off (`workspace.why`).

        Args:
            subject: The subject: `state/shared/plan`, `tasks/t-7` or `handoffs/h-7`.
            at: The revision or time to explain. If omitted, the present.
            timeout: Seconds after which the call fails, besides the time that it asks to wait.
        """
        sent: dict[str, Any] = {"subject": subject}
        if at is not None:
            sent["at"] = at
        raw = await self._call(OPERATIONS["workspace.why"], sent, timeout=timeout)
        return t.Explanation(raw)


__all__ = [
    "AgentsCalls",
    "ArtifactsCalls",
    "BarriersCalls",
    "CheckpointsCalls",
    "ContextCalls",
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
