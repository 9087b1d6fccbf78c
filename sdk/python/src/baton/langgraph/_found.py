"""Checkpoints and the writes after them, as they are found."""

from __future__ import annotations

from base64 import b64decode
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol

from .._bridge import Steps
from .._flow import Call
from ._keys import Place, place_of, task_of
from ._values import Ready, Typed, loaded, unpacked

PAGE_CHECKPOINTS = 100


@dataclass
class Found:
    """A checkpoint and the writes after it."""

    place: Place
    serde: SerializerProtocol
    header: Mapping[str, Any] = field(repr=False)
    parts: Mapping[str, Typed | Ready] = field(repr=False)
    """The checkpoint, its metadata, and the values of channels, whose names begin with an equals
    sign here."""
    writes: list[dict[str, Any]]

    @property
    def parent(self) -> Place | None:
        """The checkpoint before this one."""
        parent = self.header.get("parent")
        return None if parent is None else self.place._replace(id=parent)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        return loaded(self.serde, self.parts["metadata"])

    @cached_property
    def content(self) -> dict[str, Any]:
        """The checkpoint without the values of its channels."""
        return loaded(self.serde, self.parts["checkpoint"])

    @cached_property
    def inline(self) -> dict[str, Typed | Ready]:
        """The values that are in the checkpoint."""
        return {name[1:]: it for name, it in self.parts.items() if name.startswith("=")}

    @property
    def elsewhere(self) -> list[str]:
        """The channels whose values have entries of their own."""
        versions: Mapping[str, Any] = self.content.get("channel_versions", {})
        return [it for it in self.header.get("large", []) if it in versions]

    def value_key(self, channel: str) -> str:
        return self.place.value_key(channel, self.content["channel_versions"][channel])

    def large_keys(self) -> set[str]:
        """The keys of the large values that it and its writes have."""
        keys = {self.value_key(channel) for channel in self.elsewhere}
        names = [write["value"]["at"] for write in self.writes if is_large(write)]
        return keys | {self.place.write_value_key(name) for name in names}

    @property
    def run(self) -> str | None:
        run = self.metadata.get("run_id")
        return run if isinstance(run, str) else None

    @property
    def open_delta_channels(self) -> set[str]:
        """The channels whose values are made of the writes of earlier checkpoints."""
        counters: dict[str, Any] = self.metadata.get("counters_since_delta_snapshot") or {}
        stored = {*self.inline, *self.elsewhere}
        return {channel for channel in counters if channel not in stored}


def is_large(write: Mapping[str, Any]) -> bool:
    """Whether the value of a write has entries of its own: then it is not bytes."""
    return "content_type" not in write


def write_value(write: Mapping[str, Any]) -> Typed:
    return Typed(write["content_type"], b64decode(write["value"]))


class Scan:
    """The checkpoints of a thread, by key: within a namespace, the newest first."""

    def __init__(
        self,
        namespace: str,
        serde: SerializerProtocol,
        thread: str,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        self._serde = serde
        self._thread = thread
        self._fields = {
            "task": task_of(namespace, thread),
            "limit": PAGE_CHECKPOINTS,
            **(fields or {}),
        }
        self._left: deque[dict[str, Any]] = deque()
        self._is_over = False

    def next(self) -> Steps[Found | None]:
        while True:
            while self._left:
                first = self._left.popleft()
                state = unpacked(first.get("content_type"), first["state"])
                # Another program may save checkpoints with keys here.
                if state is not None:
                    place = place_of(self._thread, first["key"])
                    return Found(place, self._serde, *state, first.get("writes", []))
            if self._is_over:
                return None
            page = yield Call("checkpoint.history", dict(self._fields))
            self._left.extend(page["checkpoints"])
            cursor = page.get("cursor")
            self._fields["cursor"] = cursor
            self._is_over = cursor is None

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
