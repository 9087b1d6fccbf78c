"""What a checkpointer does, as algorithms for a `Bridge`."""

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
from .._entries import Command, Entries, Entry, grouped
from .._flow import Call
from ._found import Found, Scan, StoredWrite
from ._keys import Place, namespace_prefix, part_key, thread_prefix
from ._values import (
    PART_LENGTH_MAX,
    Stored,
    contains,
    divided,
    joined,
    length,
    loaded,
    stored,
)

INLINE_LENGTH_MAX = 8_000
"""Channels with shorter values are in the entry of the checkpoint, and are read with it."""
INLINE_TOTAL_MAX = 128_000
WRITES_TOTAL_MAX = 200_000
"""How long the values in the entry of a task's writes are together."""
LATEST_ENTRIES = 4
"""How many entries are read at first if only the newest checkpoint is wanted."""
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

    def scan(self, serde: SerializerProtocol, place: Place) -> Scan:
        """A checkpoint, or those of its namespace if it has no id."""
        if place.id:
            return Scan(self.entries, serde, place.prefix)
        prefix = namespace_prefix(place.thread, place.namespace)
        return Scan(self.entries, serde, prefix, LATEST_ENTRIES)

    def get(
        self, serde: SerializerProtocol, config: RunnableConfig
    ) -> Steps[CheckpointTuple | None]:
        found = yield from self.scan(serde, place_in(config)).next_checkpoint()
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
        versions: Mapping[str, Any] = found.content.get("channel_versions", {})
        values = {
            channel: loaded(found.serde, value)
            for channel, value in found.inline.items()
            if channel in versions and (channels is None or channel in channels)
        }
        elsewhere = [
            it
            for it in found.elsewhere
            if it not in values and (channels is None or it in channels)
        ]
        large = yield from self._large([found.value_key(channel) for channel in elsewhere])
        for channel, value in zip(elsewhere, large, strict=True):
            if value is not None:
                values[channel] = loaded(found.serde, value)
        return values

    def _large(self, keys: Sequence[str]) -> Steps[list[Stored | None]]:
        """Values that have entries of their own, if they are there."""
        if not keys:
            return []
        namespace = self.entries.namespace
        # Of the keys with this prefix the key itself is the first, and a list does not fail.
        pages = yield [
            Call("state.list", {"namespace": namespace, "prefix": key, "limit": 1}) for key in keys
        ]
        values: list[Stored | None] = []
        for key, page in zip(keys, pages, strict=True):
            entry: Entry | None = next(iter(page["entries"]), None)
            if entry is None or entry["key"] != key:
                values.append(None)
            elif "parts" in entry["value"]:
                values.append((yield from self._joined(key, entry["value"])))
            else:
                values.append(entry["value"])
        return values

    def _joined(self, key: str, head: Stored) -> Steps[Stored]:
        parts = yield [
            Call("state.get", {"namespace": self.entries.namespace, "key": part_key(key, index)})
            for index in range(head["parts"])
        ]
        return joined(head, [part["value"] for part in parts])

    def pending_writes(
        self, found: Found, channels: set[str] | None = None
    ) -> Steps[list[PendingWrite]]:
        writes: list[PendingWrite] = []
        for task, write in found.sorted_writes():
            if channels is not None and write["channel"] not in channels:
                continue
            value: Stored = write["value"]
            if "at" in write:
                value = yield from self._joined(found.place.write_value_key(write["at"]), value)
            writes.append((task, write["channel"], loaded(found.serde, value)))
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
        while (found := (yield from scan.next_checkpoint())) is not None:
            if not place.id or found.place.id == place.id:
                return found
            if found.place.id < place.id:
                break
        # Its id is greater than that of a descendant, or the descendant was the last one.
        return (yield from self.scan(serde, place).next_checkpoint()) if place.id else None

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
        inline, blobs, before = self._divided(serde, place, checkpoint, new_versions)
        entry: dict[str, Any] = {
            "checkpoint": stored(serde, content),
            "metadata": stored(serde, whole),
            "values": inline,
            "blobs": blobs,
        }
        if parent.id:
            entry["parent"] = parent.id
        run = whole.get("run_id")
        if isinstance(run, str):
            before.append(self.entries.set(place.run_key(run), True))
        yield from self.entries.write(before, [self.entries.set(place.key, entry)])
        self._remember(place, checkpoint, blobs)
        return config_of(place)

    def _divided(
        self,
        serde: SerializerProtocol,
        place: Place,
        checkpoint: Checkpoint,
        new_versions: ChannelVersions,
    ) -> tuple[dict[str, Stored], list[str], list[Command]]:
        """The values in the entry of the checkpoint, the channels with entries of their own, and
        the commands that write those."""
        inline: dict[str, Stored] = {}
        blobs: list[str] = []
        commands: list[Command] = []
        left = INLINE_TOTAL_MAX
        versions = checkpoint["channel_versions"]
        for channel, value in checkpoint["channel_values"].items():
            if channel not in versions:
                continue
            key = place.value_key(channel, versions[channel])
            if channel not in new_versions and key in self._known:
                blobs.append(channel)
                continue
            it = stored(serde, value)
            if length(it) <= min(INLINE_LENGTH_MAX, left):
                inline[channel] = it
                left -= length(it)
            else:
                blobs.append(channel)
                commands += self._set_large(key, it)
        return inline, blobs, commands

    def _set_large(self, key: str, value: Stored) -> list[Command]:
        if length(value) <= PART_LENGTH_MAX:
            return [self.entries.set(key, value)]
        head, parts = divided(value)
        return [
            self.entries.set(key, head),
            *(self.entries.set(part_key(key, at), part) for at, part in enumerate(parts)),
        ]

    def _remember(self, place: Place, checkpoint: Checkpoint, blobs: Sequence[str]) -> None:
        """A large value that does not change is not written with every checkpoint."""
        for channel in blobs:
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
        given: list[StoredWrite] = []
        large: list[Command] = []
        left = WRITES_TOTAL_MAX
        for position, (channel, value) in enumerate(writes):
            it = stored(serde, value)
            write: StoredWrite = {"index": WRITES_IDX_MAP.get(channel, position)}
            write |= {"channel": channel, "value": it}
            if path:
                write["path"] = path
            if length(it) > left:
                write["at"] = secrets.token_hex(8)
                write["value"], parts = divided(it)
                key = place.write_value_key(write["at"])
                large += [self.entries.set(part_key(key, at), p) for at, p in enumerate(parts)]
            else:
                left -= length(it)
            given.append(write)
        key = place.writes_key(task)
        groups = grouped(large)
        for group in groups[:-1]:
            yield from self.entries.commit(group)

        def merged(present: list[StoredWrite] | None) -> list[Command]:
            by_index = {write["index"]: write for write in present or []}
            for write in given:
                if write["index"] < 0 or write["index"] not in by_index:
                    by_index[write["index"]] = write
            in_order = sorted(by_index.values(), key=lambda write: write["index"])
            return [*(groups[-1] if groups else []), self.entries.set(key, in_order)]

        yield from self.entries.merge(key, merged)


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
        prefix = "t/" if self._thread is None else thread_prefix(str(self._thread))
        self._is_in_order = self._thread is not None and self._namespace is not None
        if self._is_in_order:
            prefix = namespace_prefix(str(self._thread), str(self._namespace))
        self._scan = Scan(checkpoints.entries, serde, prefix)
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
            return (yield from self._scan.next_checkpoint())
        if self._sorted is None:
            everything = yield from self._scan.all()
            # The newest is the last, because it is taken from the end.
            self._sorted = sorted(everything, key=lambda found: found.place.id)
        return self._sorted.pop() if self._sorted else None

    def _is_wanted(self, found: Found) -> bool:
        place = found.place
        return (
            found.checkpoint is not None
            and (self._namespace is None or place.namespace == self._namespace)
            and (not self._id or place.id == self._id)
            and (self._end is None or place.id < self._end)
            and (not self._filter or contains(found.metadata, self._filter))
        )
