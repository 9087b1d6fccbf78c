"""Watches as iterators."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Any

from ._async_shell import AsyncWatchHandle
from ._record import Record, moment
from ._sync_shell import WatchHandle
from ._watches import Item
from .errors import Closed, TimedOut
from .types import Entry

_SNAPSHOT_TIMEOUT = 60.0


class Event(Record):
    """Something that happened. Fields beyond the common ones are read like `event["key"]`."""

    __slots__ = ()
    _required = frozenset({"revision", "type", "subject", "agent", "time"})

    @property
    def revision(self) -> int:
        """The revision of the commit that it is part of."""
        return self.raw["revision"]

    @property
    def index(self) -> int:
        """Its place in the commit."""
        return self.raw.get("index", 0)

    @property
    def type(self) -> str:
        """The type of the event, such as `state.set`."""
        return self.raw["type"]

    @property
    def subject(self) -> str:
        """The subject of the event, such as `state/shared/plan`."""
        return self.raw["subject"]

    @property
    def agent(self) -> str:
        """The agent that caused it."""
        return self.raw["agent"]

    @property
    def time(self) -> datetime:
        """When it happened."""
        return moment(self.raw["time"])

    @property
    def is_live(self) -> bool:
        """Whether it was only sent to current watchers, and not stored."""
        return bool(self.raw.get("live"))

    def __getitem__(self, field: str) -> Any:
        return self.raw[field]

    def get(self, field: str, default: Any = None) -> Any:
        """A field, or the default if there is none."""
        return self.raw.get(field, default)


class _Begun:
    """The part that both kinds of watches share: their start."""

    entries: list[Entry]
    """The entries that matched at the beginning, if a snapshot was asked for."""
    snapshot_revision: int | None
    """The revision of these entries; events after it follow."""

    def __init__(self) -> None:
        self.entries = []
        self.snapshot_revision = None

    def _take_snapshot(self, item: Item | None) -> None:
        if item is None:
            raise TimedOut(_SNAPSHOT_TIMEOUT)
        snapshot = item[1]
        self.entries = [Entry(entry) for entry in snapshot["entries"]]
        self.snapshot_revision = snapshot["revision"]


class Watch(_Begun):
    """Events in order, without gap or duplicate, across lost connections and restarts.

    Iterating blocks until the next event comes. It ends when the watch is closed, and raises when
    the client is closed or the watch cannot be resumed.
    """

    def __init__(self, handle: WatchHandle, snapshot: bool) -> None:
        super().__init__()
        self._handle = handle
        self._is_closed = False
        if snapshot:
            self._take_snapshot(handle.next(_SNAPSHOT_TIMEOUT))

    def next(self, timeout: float | None = None) -> Event | None:
        """The next event; none if no event comes within so many seconds."""
        item = self._handle.next(timeout)
        return None if item is None else Event(item[1])

    @property
    def resume_from(self) -> int:
        """The revision from which another watch would have to go on where this one is."""
        return self._handle.resume_from()

    def close(self) -> None:
        """Ends the watch."""
        if not self._is_closed:
            self._is_closed = True
            self._handle.close()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        try:
            item = self._handle.next(None)
        except Closed:
            if self._is_closed:
                raise StopIteration from None
            raise
        assert item is not None
        return Event(item[1])

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncWatch(_Begun):
    """Events in order, without gap or duplicate, across lost connections and restarts."""

    def __init__(self, handle: AsyncWatchHandle) -> None:
        super().__init__()
        self._handle = handle
        self._is_closed = False

    async def begin(self, snapshot: bool) -> AsyncWatch:
        if snapshot:
            self._take_snapshot(await self._handle.next(_SNAPSHOT_TIMEOUT))
        return self

    async def next(self, timeout: float | None = None) -> Event | None:
        """The next event; none if no event comes within so many seconds."""
        item = await self._handle.next(timeout)
        return None if item is None else Event(item[1])

    @property
    def resume_from(self) -> int:
        """The revision from which another watch would have to go on where this one is."""
        return self._handle.resume_from()

    def close(self) -> None:
        """Ends the watch."""
        if not self._is_closed:
            self._is_closed = True
            self._handle.close()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        try:
            item = await self._handle.next(None)
        except Closed:
            if self._is_closed:
                raise StopAsyncIteration from None
            raise
        assert item is not None
        return Event(item[1])

    async def __aenter__(self) -> AsyncWatch:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
