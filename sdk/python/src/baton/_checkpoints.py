"""Checkpoints: the saved states of a task or of any other thread of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import types
from ._async_calls import CheckpointsCalls as AsyncCheckpointsCalls
from ._calls import CheckpointsCalls

if TYPE_CHECKING:
    from ._async_baton import AsyncBaton
    from ._baton import Baton


def _save_fields(
    task: str, state: Any, label: str | None, description: str | None, metadata: Any
) -> dict[str, Any]:
    fields: dict[str, Any] = {"task": task, "state": state}
    if label is not None:
        fields["label"] = label
    if description is not None:
        fields["description"] = description
    if metadata is not None:
        fields["metadata"] = metadata
    return fields


class Thread:
    """The checkpoints of one thread of work."""

    def __init__(self, baton: Baton, name: str) -> None:
        self._baton = baton
        self.name = name

    def save(
        self,
        state: Any,
        *,
        label: str | None = None,
        description: str | None = None,
        metadata: Any = None,
    ) -> types.Checkpoint:
        """Saves a state."""
        fields = _save_fields(self.name, state, label, description, metadata)
        return types.Checkpoint(self._baton.call("checkpoint.save", **fields))

    def latest(self) -> types.Checkpoint | None:
        """The latest checkpoint, if there is one."""
        return self._baton.checkpoints.latest(self.name)

    def state(self, default: Any = None) -> Any:
        """The latest saved state, or the default."""
        latest = self.latest()
        return default if latest is None else latest.raw["state"]


class AsyncThread:
    """The checkpoints of one thread of work."""

    def __init__(self, baton: AsyncBaton, name: str) -> None:
        self._baton = baton
        self.name = name

    async def save(
        self,
        state: Any,
        *,
        label: str | None = None,
        description: str | None = None,
        metadata: Any = None,
    ) -> types.Checkpoint:
        """Saves a state."""
        fields = _save_fields(self.name, state, label, description, metadata)
        return types.Checkpoint(await self._baton.call("checkpoint.save", **fields))

    async def latest(self) -> types.Checkpoint | None:
        """The latest checkpoint, if there is one."""
        return await self._baton.checkpoints.latest(self.name)

    async def state(self, default: Any = None) -> Any:
        """The latest saved state, or the default."""
        latest = await self.latest()
        return default if latest is None else latest.raw["state"]


class Checkpoints(CheckpointsCalls):
    """Saved states."""

    __slots__ = ()

    def thread(self, name: str) -> Thread:
        """The checkpoints of one task, or of any other thread of work."""
        return Thread(self._baton, name)


class AsyncCheckpoints(AsyncCheckpointsCalls):
    """Saved states."""

    __slots__ = ()

    def thread(self, name: str) -> AsyncThread:
        """The checkpoints of one task, or of any other thread of work."""
        return AsyncThread(self._baton, name)
