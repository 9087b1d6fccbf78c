"""Checkpoints and the writes after them, as they are found among the entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol

from .._bridge import Steps
from .._entries import PAGE_ENTRIES, Entries, Entry
from ._keys import Place, place_of
from ._values import loaded

StoredWrite = dict[str, Any]
"""`{"index", "channel", "value", "path"?, "at"?}`; `at` is the name of a large value."""


@dataclass
class Found:
    """A checkpoint and the writes after it, as entries."""

    place: Place
    serde: SerializerProtocol
    checkpoint: dict[str, Any] | None = None
    """None if only its writes have arrived."""
    writes: list[tuple[str, StoredWrite]] = field(default_factory=list[tuple[str, StoredWrite]])
    keys: list[str] = field(default_factory=list[str])

    def add(self, entry: Entry, task: str | None) -> None:
        self.keys.append(entry["key"])
        if task is None:
            self.checkpoint = entry["value"]
        else:
            self.writes += [(task, write) for write in entry["value"]]

    @property
    def parent(self) -> Place | None:
        """The checkpoint before this one."""
        parent = (self.checkpoint or {}).get("parent")
        return None if parent is None else self.place._replace(id=parent)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        return loaded(self.serde, self.checkpoint["metadata"]) if self.checkpoint else {}

    @cached_property
    def content(self) -> dict[str, Any]:
        """The checkpoint without the values of its channels."""
        return loaded(self.serde, self.checkpoint["checkpoint"]) if self.checkpoint else {}

    @property
    def inline(self) -> dict[str, Any]:
        """The values that are in the entry of the checkpoint."""
        return (self.checkpoint or {}).get("values", {})

    @property
    def elsewhere(self) -> list[str]:
        """The channels whose values have entries of their own. LangGraph.js does not write which
        ones have, so all of its channels may."""
        versions: Mapping[str, Any] = self.content.get("channel_versions", {})
        listed: list[str] | None = (self.checkpoint or {}).get("blobs")
        return list(versions) if listed is None else [it for it in listed if it in versions]

    def value_key(self, channel: str) -> str:
        return self.place.value_key(channel, self.content["channel_versions"][channel])

    def sorted_writes(self) -> list[tuple[str, StoredWrite]]:
        """In the order in which the tasks of a step are applied."""
        return sorted(
            self.writes, key=lambda it: (it[1].get("path", ""), it[0], int(it[1]["index"]))
        )

    @property
    def run(self) -> str | None:
        run = self.metadata.get("run_id")
        return run if isinstance(run, str) else None

    @property
    def all_keys(self) -> list[str]:
        """The keys of what is deleted with it. Its large values are not among them."""
        return [*self.keys, *([self.place.run_key(self.run)] if self.run else [])]

    @property
    def open_delta_channels(self) -> set[str]:
        """The channels whose values are made of the writes of earlier checkpoints."""
        counters: dict[str, Any] = self.metadata.get("counters_since_delta_snapshot") or {}
        stored = {*self.inline, *self.elsewhere}
        return {channel for channel in counters if channel not in stored}


class Scan:
    """The checkpoints under a prefix, in the order of their keys: within a namespace, the newest
    first."""

    def __init__(
        self,
        entries: Entries,
        serde: SerializerProtocol,
        prefix: str,
        first_limit: int = PAGE_ENTRIES,
    ) -> None:
        self._entries = entries
        self._serde = serde
        self._prefix = prefix
        self._limit = first_limit
        self._page: dict[str, Any] | None = None
        self._left: list[Entry] = []

    def next(self) -> Steps[Found | None]:
        """The next one, with all of its writes."""
        found: Found | None = None
        while True:
            for position, entry in enumerate(self._left):
                place, task = place_of(entry["key"])
                if found is not None and found.place != place:
                    del self._left[:position]
                    return found
                found = found or Found(place, self._serde)
                found.add(entry, task)
            self._left = []
            if self._page is not None and self._page.get("cursor") is None:
                return found
            self._page = yield from self._entries.page(self._prefix, self._limit, self._page)
            self._left = list(self._page["entries"])
            self._limit = PAGE_ENTRIES

    def next_checkpoint(self) -> Steps[Found | None]:
        """The next one that has more than writes."""
        while True:
            found = yield from self.next()
            if found is None or found.checkpoint is not None:
                return found

    def all(self) -> Steps[list[Found]]:
        """All of them."""
        everything: list[Found] = []
        while (found := (yield from self.next())) is not None:
            everything.append(found)
        return everything


def needed(kept: Iterable[Found], everything: Mapping[Place, Found]) -> set[Place]:
    """The checkpoints of which the values of delta channels in others are made: back to the nearest
    one that has the value itself."""
    wanted: set[Place] = set()
    for found in kept:
        channels = found.open_delta_channels
        parent = found.parent
        while channels and parent is not None and parent in everything:
            ancestor = everything[parent]
            wanted.add(parent)
            channels = channels - {*ancestor.inline, *ancestor.elsewhere}
            parent = ancestor.parent
    return wanted
