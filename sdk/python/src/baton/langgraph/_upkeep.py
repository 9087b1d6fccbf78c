"""Deletion and copies of checkpoints, as algorithms for a `Bridge`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol

from .._bridge import Steps
from .._entries import LARGE_PAGE_ENTRIES, Entries
from .._flow import Call
from ..errors import NotFound
from ._found import Found, Scan, needed
from ._keys import Place, task_of, thread_of, values_prefix

KEEP_LATEST = "keep_latest"
DELETE = "delete"


class Upkeep:
    """Deletes and copies the checkpoints of threads."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries

    def threads(self, **fields: Any) -> Steps[list[tuple[str, str]]]:
        """The threads and keys of all checkpoints with some metadata."""
        found: list[tuple[str, str]] = []
        cursor: str | None = None
        while True:
            page = yield Call(
                "checkpoint.list", fields if cursor is None else {**fields, "cursor": cursor}
            )
            for checkpoint in page["checkpoints"]:
                thread = thread_of(self._entries.namespace, checkpoint["task"])
                if thread is not None and "key" in checkpoint:
                    found.append((thread, checkpoint["key"]))
            cursor = page.get("cursor")
            if cursor is None:
                return found

    def delete_thread(self, thread: str) -> Steps[None]:
        task = task_of(self._entries.namespace, thread)
        yield Call("checkpoint.prune", {"task": task, "all": True})
        yield from self._remove((yield from self._large_values(thread)))

    def prune(
        self, serde: SerializerProtocol, threads: Sequence[str], strategy: str
    ) -> Steps[None]:
        if strategy not in (KEEP_LATEST, DELETE):
            raise ValueError(f"`{strategy}` is not a strategy; use `{KEEP_LATEST}` or `{DELETE}`")
        for thread in threads:
            if strategy == DELETE:
                yield from self.delete_thread(thread)
                continue
            everything = yield from Scan(self._entries.namespace, serde, thread).all()
            latest: dict[str, Found] = {}
            for found in everything:
                # The newest of a namespace is the first.
                latest.setdefault(found.place.namespace, found)
            by_place = {found.place: found for found in everything}
            kept = {found.place for found in latest.values()} | needed(latest.values(), by_place)
            yield from self._delete(
                thread,
                [it for it in everything if it.place not in kept],
                [it for it in everything if it.place in kept],
            )

    def delete_for_runs(self, serde: SerializerProtocol, runs: Sequence[str]) -> Steps[None]:
        by_thread: dict[str, set[str]] = defaultdict(set)
        for run in runs:
            for thread, key in (yield from self.threads(metadata={"run_id": run})):
                by_thread[thread].add(key)
        deletions: list[tuple[str, list[Found], list[Found]]] = []
        for thread, keys in by_thread.items():
            everything = yield from Scan(self._entries.namespace, serde, thread).all()
            doomed = [it for it in everything if it.place.key in keys]
            kept = [it for it in everything if it.place.key not in keys]
            _check(doomed, kept)
            deletions.append((thread, doomed, kept))
        for deletion in deletions:
            yield from self._delete(*deletion)

    def _delete(self, thread: str, doomed: Sequence[Found], kept: Sequence[Found]) -> Steps[None]:
        """Deletes checkpoints, then the large values that no other one has."""
        if not doomed:
            return
        task = task_of(self._entries.namespace, thread)
        keys = [found.place.key for found in doomed]
        yield Call("checkpoint.prune", {"task": task, "keys": keys, "all": True})
        if not any(found.large_keys() for found in doomed):
            return
        used = _large_values(kept)
        large = yield from self._large_values(thread)
        yield from self._remove(key for key in large if key.partition("#")[0] not in used)

    def _remove(self, keys: Iterable[str]) -> Steps[None]:
        yield from self._entries.remove(keys, LARGE_PAGE_ENTRIES)

    def _large_values(self, thread: str) -> Steps[list[str]]:
        """The keys of the entries of large values. Without any, there may be no namespace."""
        fields: dict[str, Any] = {
            "namespace": self._entries.namespace,
            "prefix": values_prefix(thread),
            "limit": LARGE_PAGE_ENTRIES,
        }
        keys: list[str] = []
        while True:
            try:
                page = yield Call("state.list", dict(fields))
            except NotFound:
                return keys
            keys += [entry["key"] for entry in page["entries"]]
            if page.get("cursor") is None:
                return keys
            fields |= {"cursor": page["cursor"], "at": page["revision"]}

    def copy(self, source: str, target: str) -> Steps[None]:
        namespace = self._entries.namespace
        prefix, new_prefix = values_prefix(source), values_prefix(target)
        # Values first, so that no checkpoint refers to one that is not there.
        if (yield from self._large_values(source)):
            page = None
            while page is None or page.get("cursor") is not None:
                page = yield from self._entries.page(prefix, LARGE_PAGE_ENTRIES, page)
                commands = [
                    self._entries.set(new_prefix + it["key"][len(prefix) :], it["value"])
                    for it in page["entries"]
                ]
                yield from self._entries.write(commands, [])
        fields = {"task": task_of(namespace, source), "to": task_of(namespace, target)}
        try:
            yield Call("checkpoint.copy", fields)
        except NotFound:
            # There is nothing to copy.
            return


def _large_values(kept: Iterable[Found]) -> set[str]:
    """The keys of the large values that checkpoints and their writes have."""
    return {key for found in kept for key in found.large_keys()}


def _check(doomed: Sequence[Found], kept: Sequence[Found]) -> None:
    """Refuses to delete what the values of delta channels in other checkpoints are made of."""
    by_place = {found.place: found for found in (*doomed, *kept)}
    wanted: set[Place] = needed(kept, by_place) & {it.place for it in doomed}
    if wanted:
        place = min(wanted)
        raise ValueError(
            f"checkpoint `{place.id}` of thread `{place.thread}` has writes of delta channels that "
            "later checkpoints need; delete the thread, or the later runs as well"
        )
