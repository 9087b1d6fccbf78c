"""Keys of entries, the same as those of the package for LangGraph.js. Parts are percent-encoded, so
that a slash in a name does not end it.

    t/THREAD/NAMESPACE/CHECKPOINT/c          a checkpoint
    t/THREAD/NAMESPACE/CHECKPOINT/w/TASK     the writes of a task after it
    v/THREAD/NAMESPACE/CHANNEL/VERSION       the value of a channel
    v/THREAD/NAMESPACE//CHECKPOINT/NAME      the value of a write, if it is large
    r/RUN/THREAD/NAMESPACE/CHECKPOINT        a checkpoint of a run
    s/LABEL/LABEL//KEY                       an item of the store

Entries are listed in the order of their keys, and the newest checkpoint is wanted first. The id of
a checkpoint is therefore written as the complement of its bytes: a greater id is a smaller key.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, unquote

END = "~"
"""After every hexadecimal digit, so that a longer id with the same beginning is the greater one."""

_UNESCAPED = "!'()*"
"""What `encodeURIComponent` leaves as it is, and `quote` does not."""


def encoded(part: str) -> str:
    return quote(part, safe=_UNESCAPED)


def descending(id: str) -> str:
    return bytes(255 - byte for byte in id.encode()).hex() + END


def ascending(text: str) -> str:
    return bytes(255 - byte for byte in bytes.fromhex(text.removesuffix(END))).decode()


def thread_prefix(thread: str) -> str:
    return f"t/{encoded(thread)}/"


def namespace_prefix(thread: str, namespace: str) -> str:
    return f"{thread_prefix(thread)}{encoded(namespace)}/"


def values_prefix(thread: str) -> str:
    return f"v/{encoded(thread)}/"


def run_prefix(run: str) -> str:
    return f"r/{encoded(run)}/"


def part_key(key: str, index: int) -> str:
    """The key of a part of a long value."""
    return f"{key}#{index}"


class Place(NamedTuple):
    """A checkpoint."""

    thread: str
    namespace: str
    id: str

    @property
    def prefix(self) -> str:
        return f"{namespace_prefix(self.thread, self.namespace)}{descending(self.id)}/"

    @property
    def key(self) -> str:
        return f"{self.prefix}c"

    def writes_key(self, task: str) -> str:
        return f"{self.prefix}w/{encoded(task)}"

    def value_key(self, channel: str, version: str | int | float) -> str:
        names = (encoded(self.namespace), encoded(channel), encoded(str(version)))
        return values_prefix(self.thread) + "/".join(names)

    def write_value_key(self, name: str) -> str:
        names = (encoded(self.namespace), "", encoded(self.id), encoded(name))
        return values_prefix(self.thread) + "/".join(names)

    def run_key(self, run: str) -> str:
        names = (encoded(self.thread), encoded(self.namespace), encoded(self.id))
        return run_prefix(run) + "/".join(names)


def place_of(key: str) -> tuple[Place, str | None]:
    """What the key of a checkpoint or of its writes says: the task is none for the former."""
    _, thread, namespace, id, _, *task = key.split("/")
    place = Place(unquote(thread), unquote(namespace), ascending(id))
    return place, unquote(task[0]) if task else None


def place_of_run(key: str) -> Place:
    """What the key of a checkpoint of a run says."""
    _, _, thread, namespace, id = key.split("/")
    return Place(unquote(thread), unquote(namespace), unquote(id))
