"""Claims of several tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import types
from ._async_calls import TasksCalls as AsyncTasksCalls
from ._calls import TasksCalls
from ._job import claim_fields
from ._lease import milliseconds


def _several(
    limit: int,
    types_wanted: Sequence[str],
    capabilities: Sequence[str] | None,
    lease: float | None,
    wait: float,
) -> dict[str, Any]:
    fields = claim_fields(types_wanted, None, lease, capabilities)
    return {**fields, "limit": limit, **({"wait_ms": milliseconds(wait)} if wait else {})}


def _claimed(raw: Any) -> list[types.Task]:
    """A claim of one task is answered with that task, or with none."""
    if raw is None:
        return []
    return [types.Task(each) for each in raw.get("tasks", [raw])]


class Tasks(TasksCalls):
    """Tasks."""

    __slots__ = ()

    def claim_several(
        self,
        limit: int,
        *types_wanted: str,
        capabilities: Sequence[str] | None = None,
        lease: float | None = None,
        wait: float = 0,
    ) -> list[types.Task]:
        """Claims as many tasks as are ready, at most so many, in one commit. If none is ready, it
        waits so many seconds for the first."""
        fields = _several(limit, types_wanted, capabilities, lease, wait)
        return _claimed(self._baton.call("task.claim", **fields))


class AsyncTasks(AsyncTasksCalls):
    """Tasks."""

    __slots__ = ()

    async def claim_several(
        self,
        limit: int,
        *types_wanted: str,
        capabilities: Sequence[str] | None = None,
        lease: float | None = None,
        wait: float = 0,
    ) -> list[types.Task]:
        """Claims several tasks in one commit. See `Tasks.claim_several`."""
        fields = _several(limit, types_wanted, capabilities, lease, wait)
        return _claimed(await self._baton.call("task.claim", **fields))
