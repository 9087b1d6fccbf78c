"""A checkpointer of LangGraph whose checkpoints are checkpoints of a workspace.

| operation | requests, one after another |
|---|---|
| `put` | one |
| `put_writes` | one |
| `get_tuple` | one; two more for each channel of more than a megabyte |
| `get_delta_channel_history` | one for every hundred checkpoints, or four mebibytes of them |
| `list` | the same, and two for each channel of more than a megabyte |
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from .._bridge import Bridge, Client
from .._entries import Entries
from ._checkpoints import Checkpoints, Listing
from ._upkeep import KEEP_LATEST, Upkeep

NAMESPACE = "langgraph"
VERSION_DIGITS = 16
"""Digits of the number in a version, so that versions sort as texts."""


class BatonSaver(BaseCheckpointSaver[str]):
    """Checkpoints in a workspace of Baton.

    It has blocking and asynchronous methods, with either client. With a `Baton`, the asynchronous
    ones use threads; with an `AsyncBaton`, the blocking ones must be called from other threads than
    that of the event loop.

    Args:
        client: A `Baton` or an `AsyncBaton`.
        namespace: What the names of the threads in the workspace begin with. Large values are in
            the namespace of this name, which is created when it is first used.
        serde: How values are serialised; LangGraph's default if not given.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespace: str = NAMESPACE,
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self._bridge = Bridge(client)
        self._checkpoints = Checkpoints(Entries(namespace))
        self._upkeep = Upkeep(self._checkpoints.entries)

    def get_next_version(self, current: str | int | float | None, channel: None) -> str:
        """The version after another one. Two forks of a thread count from the same version, and
        the values of a channel are found by their version: a random part keeps them apart."""
        number = 0 if current is None else int(str(current).partition(".")[0])
        return f"{number + 1:0{VERSION_DIGITS}}.{secrets.token_hex(8)}"

    # Blocking methods.

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._bridge.run(self._checkpoints.get(self.serde, config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        listing = Listing(self._checkpoints, self.serde, config, filter, before, limit)
        while batch := self._bridge.run(listing.batch()):
            yield from batch

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        steps = self._checkpoints.put(self.serde, config, checkpoint, metadata, new_versions)
        return self._bridge.run(steps)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        steps = self._checkpoints.put_writes(self.serde, config, writes, task_id, task_path)
        self._bridge.run(steps)

    def delete_thread(self, thread_id: str) -> None:
        self._checkpoints.forget()
        self._bridge.run(self._upkeep.delete_thread(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Deletes the checkpoints of runs. Raises `ValueError`, and deletes nothing, if a delta
        channel of a later checkpoint is made of them."""
        self._checkpoints.forget()
        self._bridge.run(self._upkeep.delete_for_runs(self.serde, run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        steps = self._upkeep.copy(source_thread_id, target_thread_id)
        self._bridge.run(steps)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = KEEP_LATEST) -> None:
        """Deletes all but the latest checkpoint of each namespace, and those of which its delta
        channels are made; or everything, with the strategy `delete`."""
        self._checkpoints.forget()
        self._bridge.run(self._upkeep.prune(self.serde, thread_ids, strategy))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return self._bridge.run(self._checkpoints.delta_history(self.serde, config, channels))

    # Asynchronous methods.

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._bridge.run_async(self._checkpoints.get(self.serde, config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        listing = Listing(self._checkpoints, self.serde, config, filter, before, limit)
        while batch := await self._bridge.run_async(listing.batch()):
            for found in batch:
                yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        steps = self._checkpoints.put(self.serde, config, checkpoint, metadata, new_versions)
        return await self._bridge.run_async(steps)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        steps = self._checkpoints.put_writes(self.serde, config, writes, task_id, task_path)
        await self._bridge.run_async(steps)

    async def adelete_thread(self, thread_id: str) -> None:
        self._checkpoints.forget()
        await self._bridge.run_async(self._upkeep.delete_thread(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """See `delete_for_runs`."""
        self._checkpoints.forget()
        await self._bridge.run_async(self._upkeep.delete_for_runs(self.serde, run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        steps = self._upkeep.copy(source_thread_id, target_thread_id)
        await self._bridge.run_async(steps)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = KEEP_LATEST) -> None:
        """See `prune`."""
        self._checkpoints.forget()
        await self._bridge.run_async(self._upkeep.prune(self.serde, thread_ids, strategy))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        steps = self._checkpoints.delta_history(self.serde, config, channels)
        return await self._bridge.run_async(steps)
