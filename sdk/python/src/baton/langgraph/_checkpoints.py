"""The operations of a checkpointer, as algorithms for a `Bridge`."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from .._bridge import Steps
from .._entries import Command, Entries
from .._flow import Call
from ._found import Found, Scan, is_large, write_value
from ._keys import Place, namespace_prefix, part_key, task_of
from ._upkeep import Upkeep
from ._values import Typed, contains, divided, joined, loaded, packed, stored

INLINE_LENGTH_MAX = 1_000_000
"""Channels with more bytes have entries of their own, which are written only when they change."""
INLINE_TOTAL_MAX = 3_000_000
"""How many bytes the values in a checkpoint have together; the server accepts four mebibytes."""
WRITES_TOTAL_MAX = 2_000_000
"""How many bytes the values of a task's writes have together."""
BATCH_TUPLES = 16
_KNOWN_MAX = 4_096


def config_of(place: Place) -> RunnableConfig:
    return {
        "configurable": {
            "thread_id": place.thread,
            "checkpoint_ns": place.namespace,
            "checkpoint_id": place.id,
        }
    }


def place_in(config: RunnableConfig) -> Place:
    """The place that a config names; its id is empty if the newest checkpoint is meant."""
    names: dict[str, Any] = config.get("configurable", {})
    if "thread_id" not in names:
        raise ValueError("a checkpoint needs a `thread_id` in `configurable`")
    return Place(
        str(names["thread_id"]),
        names.get("checkpoint_ns") or "",
        names.get("checkpoint_id") or "",
    )


class Checkpoints:
    """The checkpoints of a namespace."""

    def __init__(self, entries: Entries) -> None:
        self.entries = entries
        self._known: dict[str, None] = {}

    # Reading.

    def scan(self, serde: SerializerProtocol, place: Place, limit: int | None = None) -> Scan:
        """A checkpoint, or those of its namespace if it has no id."""
        fields: dict[str, Any] = (
            {"key": place.key} if place.id else {"prefix": namespace_prefix(place.namespace)}
        )
        if limit is not None:
            fields["limit"] = limit
        return Scan(self.entries.namespace, serde, place.thread, fields)

    def get(
        self, serde: SerializerProtocol, config: RunnableConfig
    ) -> Steps[CheckpointTuple | None]:
        found = yield from self.scan(serde, place_in(config), 1).next()
        return None if found is None else (yield from self.tuple_of(found))

    def tuple_of(self, found: Found) -> Steps[CheckpointTuple]:
        values = yield from self._values(found, None)
        writes = yield from self.pending_writes(found)
        parent = found.parent
        return CheckpointTuple(
            config_of(found.place),
            {**found.content, "channel_values": values},  # pyright: ignore[reportArgumentType]
            found.metadata,  # pyright: ignore[reportArgumentType]
            None if parent is None else config_of(parent),
            writes,
        )

    def _values(self, found: Found, channels: set[str] | None) -> Steps[dict[str, Any]]:
        """The values of channels; of all of them if none are named."""
        values = {
            channel: loaded(found.serde, value, channel)
            for channel, value in found.inline.items()
            if channels is None or channel in channels
        }
        large = [it for it in found.elsewhere if channels is None or it in channels]
        for channel in large:
            key = found.value_key(channel)
            head = yield Call("state.get", {"namespace": self.entries.namespace, "key": key})
            value = yield from self._joined(key, head["value"])
            values[channel] = loaded(found.serde, value, channel)
        return values

    def _joined(self, key: str, head: Mapping[str, Any]) -> Steps[Typed]:
        parts = yield [
            Call("state.get", {"namespace": self.entries.namespace, "key": part_key(key, index)})
            for index in range(head["parts"])
        ]
        return joined(head, [part["value"] for part in parts])

    def pending_writes(
        self, found: Found, channels: set[str] | None = None
    ) -> Steps[list[PendingWrite]]:
        """The writes after a checkpoint, which the server has sorted by path, task and index."""
        writes: list[PendingWrite] = []
        for write in found.writes:
            if channels is not None and write["channel"] not in channels:
                continue
            if is_large(write):
                key = found.place.write_value_key(write["value"]["at"])
                value = yield from self._joined(key, write["value"])
            else:
                value = write_value(write)
            channel = write["channel"]
            writes.append((write["writer"], channel, loaded(found.serde, value, channel)))
        return writes

    def delta_history(
        self, serde: SerializerProtocol, config: RunnableConfig, channels: Sequence[str]
    ) -> Steps[dict[str, DeltaChannelHistory]]:
        """Walks from a checkpoint to its ancestors, which follow it in the order of the keys."""
        start = place_in(config)
        scan = self.scan(serde, start._replace(id=""))
        remaining = set(channels)
        collected: dict[str, list[list[PendingWrite]]] = {channel: [] for channel in channels}
        seeds: dict[str, Any] = {}
        found = yield from self._ancestor(scan, serde, start)
        place = found.parent if found else None
        while remaining and place is not None:
            found = yield from self._ancestor(scan, serde, place)
            if found is None:
                break
            writes = yield from self.pending_writes(found, remaining)
            for channel in remaining:
                collected[channel].append([write for write in writes if write[1] == channel])
            seeds |= yield from self._values(found, remaining)
            remaining -= seeds.keys()
            place = found.parent
        histories: dict[str, DeltaChannelHistory] = {}
        for channel in channels:
            newest_first = collected[channel]
            histories[channel] = {"writes": [it for step in reversed(newest_first) for it in step]}
            if channel in seeds:
                histories[channel]["seed"] = seeds[channel]
        return histories

    def _ancestor(self, scan: Scan, serde: SerializerProtocol, place: Place) -> Steps[Found | None]:
        while (found := (yield from scan.next())) is not None:
            if not place.id or found.place.id == place.id:
                return found
            if found.place.id < place.id:
                break
        # Its id is greater than that of a descendant, or the descendant was the last one.
        return (yield from self.scan(serde, place, 1).next()) if place.id else None

    # Writing.

    def put(
        self,
        serde: SerializerProtocol,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Steps[RunnableConfig]:
        parent = place_in(config)
        place = parent._replace(id=checkpoint["id"])
        content: dict[str, Any] = {k: v for k, v in checkpoint.items() if k != "channel_values"}
        whole: dict[str, Any] = dict(get_checkpoint_metadata(config, metadata))
        inline, large, before = self._divided(serde, place, checkpoint, new_versions)
        parts = {"checkpoint": stored(serde, content), "metadata": stored(serde, whole), **inline}
        header: dict[str, Any] = {"large": large} if large else {}
        fields: dict[str, Any] = {
            "task": task_of(self.entries.namespace, place.thread),
            "key": place.key,
        }
        if parent.id:
            header["parent"] = parent.id
            fields["parent_key"] = parent.key
        run = whole.get("run_id")
        if isinstance(run, str):
            fields["metadata"] = {"run_id": run}
        content_type, fields["state"] = packed(serde, header, parts)
        if content_type is not None:
            fields["content_type"] = content_type
        if before:
            yield from self.entries.write(before, [{"command": "checkpoint.save", **fields}])
        else:
            yield Call("checkpoint.save", fields)
        self._remember(place, checkpoint, large)
        return config_of(place)

    def _divided(
        self,
        serde: SerializerProtocol,
        place: Place,
        checkpoint: Checkpoint,
        new_versions: ChannelVersions,
    ) -> tuple[dict[str, Typed], list[str], list[Command]]:
        """The values in the checkpoint, the channels with entries of their own, and the commands
        that write those."""
        inline: dict[str, Typed] = {}
        large: list[str] = []
        commands: list[Command] = []
        left = INLINE_TOTAL_MAX
        versions = checkpoint["channel_versions"]
        for channel, value in checkpoint["channel_values"].items():
            if channel not in versions:
                continue
            if channel not in new_versions and self._is_known(place, channel, versions[channel]):
                large.append(channel)
                continue
            it = stored(serde, value, channel)
            if len(it.data) <= min(INLINE_LENGTH_MAX, left):
                inline[f"={channel}"] = it
                left -= len(it.data)
            else:
                large.append(channel)
                head, parts = divided(it)
                key = place.value_key(channel, versions[channel])
                commands += self._set_parts(key, parts)
                commands.append(self.entries.set(key, head))
        return inline, large, commands

    def _set_parts(self, key: str, parts: Sequence[str]) -> list[Command]:
        return [self.entries.set(part_key(key, at), part) for at, part in enumerate(parts)]

    def _is_known(self, place: Place, channel: str, version: str | int | float) -> bool:
        return bool(self._known) and place.value_key(channel, version) in self._known

    def _remember(self, place: Place, checkpoint: Checkpoint, large: Sequence[str]) -> None:
        """A large value that does not change is not written with every checkpoint."""
        for channel in large:
            self._known[place.value_key(channel, checkpoint["channel_versions"][channel])] = None
        for key in list(self._known)[: max(len(self._known) - _KNOWN_MAX, 0)]:
            self._known.pop(key, None)

    def forget(self) -> None:
        """After values were deleted."""
        self._known.clear()

    def put_writes(
        self,
        serde: SerializerProtocol,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task: str,
        path: str,
    ) -> Steps[None]:
        """Stores the writes of a task. A write that is repeated keeps its first value; those of
        LangGraph itself, such as errors and interrupts, have the last one."""
        place = place_in(config)
        if not place.id:
            raise ValueError("writes need a `checkpoint_id` in `configurable`")
        given: list[dict[str, Any]] = []
        before: list[Command] = []
        left = WRITES_TOTAL_MAX
        for position, (channel, value) in enumerate(writes):
            it = stored(serde, value, channel)
            index = WRITES_IDX_MAP.get(channel, position)
            write: dict[str, Any] = {"index": index, "channel": channel}
            if index < 0:
                write["replace"] = True
            if len(it.data) > left:
                name = secrets.token_hex(8)
                head, parts = divided(it)
                before += self._set_parts(place.write_value_key(name), parts)
                write["value"] = {**head, "at": name}
            else:
                left -= len(it.data)
                write |= {"value": it.text, "content_type": it.type}
            given.append(write)
        fields: dict[str, Any] = {
            "task": task_of(self.entries.namespace, place.thread),
            "key": place.key,
            "writer": task,
            "path": path,
            "writes": given,
        }
        if before:
            yield from self.entries.write(before, [{"command": "checkpoint.write", **fields}])
        else:
            yield Call("checkpoint.write", fields)


class Listing:
    """The checkpoints that match, newest first, a few at a time."""

    def __init__(
        self,
        checkpoints: Checkpoints,
        serde: SerializerProtocol,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> None:
        names: dict[str, Any] = (config or {}).get("configurable", {})
        self._checkpoints = checkpoints
        self._thread: str | None = names.get("thread_id")
        self._namespace: str | None = names.get("checkpoint_ns")
        self._id: str | None = names.get("checkpoint_id")
        self._end: str | None = ((before or {}).get("configurable") or {}).get("checkpoint_id")
        self._filter = filter
        self._left = limit
        self._serde = serde
        self._is_in_order = self._thread is not None and self._namespace is not None
        self._scan = checkpoints.scan(
            serde, Place(str(self._thread), str(self._namespace or ""), "")
        )
        self._sorted: list[Found] | None = None

    def batch(self) -> Steps[list[CheckpointTuple]]:
        """The next ones; none at the end."""
        tuples: list[CheckpointTuple] = []
        while len(tuples) < BATCH_TUPLES and (self._left is None or self._left > 0):
            found = yield from self._next()
            if found is None:
                break
            if self._is_wanted(found):
                tuples.append((yield from self._checkpoints.tuple_of(found)))
                self._left = None if self._left is None else self._left - 1
        return tuples

    def _next(self) -> Steps[Found | None]:
        if self._is_in_order:
            return (yield from self._scan.next())
        if self._sorted is None:
            entries = self._checkpoints.entries
            threads = {str(self._thread)}
            if self._thread is None:
                found = yield from Upkeep(entries).threads()
                threads = {thread for thread, _ in found}
            everything: list[Found] = []
            for thread in threads:
                everything += yield from Scan(entries.namespace, self._serde, thread).all()
            # The newest is the last, because it is taken from the end.
            self._sorted = sorted(everything, key=lambda found: found.place.id)
        return self._sorted.pop() if self._sorted else None

    def _is_wanted(self, found: Found) -> bool:
        place = found.place
        return (
            (self._namespace is None or place.namespace == self._namespace)
            and (not self._id or place.id == self._id)
            and (self._end is None or place.id < self._end)
            and (not self._filter or contains(found.metadata, self._filter))
        )
