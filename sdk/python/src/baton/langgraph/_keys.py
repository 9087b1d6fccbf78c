"""Names of threads, checkpoints and entries.

    task NAMESPACE:THREAD, key CHECKPOINT_NS/CHECKPOINT    a checkpoint, with its writes

    v/THREAD/CHECKPOINT_NS/CHANNEL/VERSION    the entry of a value too large for a checkpoint
    v/THREAD/CHECKPOINT_NS//CHECKPOINT/NAME   the entry of a value too large for a write
    s/LABEL/LABEL//KEY                        the entry of an item of the store

Parts of keys are percent-encoded, so that a slash in a name does not end it. Keys of checkpoints
sort as their ids, and the greatest is the newest.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

_UNESCAPED = "!'()*"
"""The characters that `quote` escapes and `encodeURIComponent` does not."""
_IS_PLAIN = re.compile(r"[A-Za-z0-9._~!'()*-]*").fullmatch
"""Finds soon that there is nothing to encode, which is mostly so."""
_NOT_IN_TASKS = re.compile(rb"[^A-Za-z0-9._-]")
"""Characters that the id of a task cannot contain, the colon after the namespace, the escape."""
_ESCAPED = re.compile(rb"@([0-9a-f]{2})")


def encoded(part: str) -> str:
    return part if _IS_PLAIN(part) else quote(part, safe=_UNESCAPED)


def task_of(namespace: str, thread: str) -> str:
    """The id under which the checkpoints of a thread are."""
    escaped = _NOT_IN_TASKS.sub(lambda it: b"@%02x" % it[0][0], thread.encode())
    return f"{namespace}:{escaped.decode()}"


def thread_of(namespace: str, task: str) -> str | None:
    """The thread whose checkpoints are under an id; none if they are not of this namespace."""
    beginning = f"{namespace}:"
    if not task.startswith(beginning):
        return None
    escaped = task[len(beginning) :].encode()
    return _ESCAPED.sub(lambda it: bytes.fromhex(it[1].decode()), escaped).decode()


def namespace_prefix(namespace: str) -> str:
    """The prefix of the keys of all checkpoints of a namespace of LangGraph."""
    return f"{encoded(namespace)}/"


def values_prefix(thread: str) -> str:
    return f"v/{encoded(thread)}/"


def part_key(key: str, index: int) -> str:
    """The key of a part of a long value."""
    return f"{key}#{index}"


class Place(NamedTuple):
    """A checkpoint."""

    thread: str
    namespace: str
    id: str

    @property
    def key(self) -> str:
        return f"{namespace_prefix(self.namespace)}{encoded(self.id)}"

    def value_key(self, channel: str, version: str | int | float) -> str:
        names = (encoded(self.namespace), encoded(channel), encoded(str(version)))
        return values_prefix(self.thread) + "/".join(names)

    def write_value_key(self, name: str) -> str:
        names = (encoded(self.namespace), "", encoded(self.id), encoded(name))
        return values_prefix(self.thread) + "/".join(names)


def place_of(thread: str, key: str) -> Place:
    """The checkpoint that a key names."""
    namespace, _, id = key.partition("/")
    if "%" in key:
        namespace, id = unquote(namespace), unquote(id)
    return Place(thread, namespace, id)
