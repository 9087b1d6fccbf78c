"""What deletes and copies checkpoints, as algorithms for a `Bridge`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from langgraph.checkpoint.serde.base import SerializerProtocol

from .._bridge import Steps
from .._entries import LARGE_PAGE_ENTRIES, Entries
from ._found import Found, Scan, needed
from ._keys import Place, place_of_run, run_prefix, thread_prefix, values_prefix

KEEP_LATEST = "keep_latest"
DELETE = "delete"


class Upkeep:
    """Deletes and copies the checkpoints of threads."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries

    def delete_thread(self, serde: SerializerProtocol, thread: str) -> Steps[None]:
        scan = Scan(self._entries, serde, thread_prefix(thread))
        everything = yield from scan.all()
        yield from self._entries.remove(key for found in everything for key in found.all_keys)
        yield from self._entries.clear(values_prefix(thread), LARGE_PAGE_ENTRIES)

    def prune(
        self, serde: SerializerProtocol, threads: Sequence[str], strategy: str
    ) -> Steps[None]:
        if strategy not in (KEEP_LATEST, DELETE):
            raise ValueError(f"`{strategy}` is not a strategy; use `{KEEP_LATEST}` or `{DELETE}`")
        for thread in threads:
            if strategy == DELETE:
                yield from self.delete_thread(serde, thread)
                continue
            everything = yield from Scan(self._entries, serde, thread_prefix(thread)).all()
            latest: dict[str, Found] = {}
            for found in everything:
                # The newest of a namespace is the first. One that has only writes so far is not
                # older than the others, and is kept besides.
                if found.checkpoint is not None:
                    latest.setdefault(found.place.namespace, found)
            by_place = {found.place: found for found in everything}
            kept = {found.place for found in latest.values()} | needed(latest.values(), by_place)
            yield from self._delete(
                thread,
                [it for it in everything if it.checkpoint and it.place not in kept],
                [it for it in everything if not it.checkpoint or it.place in kept],
            )

    def delete_for_runs(self, serde: SerializerProtocol, runs: Sequence[str]) -> Steps[None]:
        by_thread: dict[str, set[Place]] = defaultdict(set)
        for run in runs:
            for entry in (yield from self._entries.all(run_prefix(run))):
                place = place_of_run(entry["key"])
                by_thread[place.thread].add(place)
        deletions: list[tuple[str, list[Found], list[Found]]] = []
        for thread, places in by_thread.items():
            everything = yield from Scan(self._entries, serde, thread_prefix(thread)).all()
            doomed = [it for it in everything if it.place in places and it.run in runs]
            kept = [it for it in everything if not (it.place in places and it.run in runs)]
            _check(doomed, kept)
            deletions.append((thread, doomed, kept))
        for deletion in deletions:
            yield from self._delete(*deletion)
        for run in runs:
            # What is left was replaced by a checkpoint of another run.
            yield from self._entries.clear(run_prefix(run))

    def _delete(self, thread: str, doomed: Sequence[Found], kept: Sequence[Found]) -> Steps[None]:
        """Deletes checkpoints, then the large values that no other one has."""
        if not doomed:
            return
        yield from self._entries.remove(key for found in doomed for key in found.all_keys)
        used = _large_values(kept)
        page = None
        unused: list[str] = []
        while page is None or page.get("cursor") is not None:
            page = yield from self._entries.page(values_prefix(thread), LARGE_PAGE_ENTRIES, page)
            keys = [entry["key"] for entry in page["entries"]]
            unused += [key for key in keys if key.partition("#")[0] not in used]
        yield from self._entries.remove(unused)

    def copy(self, serde: SerializerProtocol, source: str, target: str) -> Steps[None]:
        for prefix, new_prefix in [
            # Values first, so that no checkpoint refers to one that is not there.
            (values_prefix(source), values_prefix(target)),
            (thread_prefix(source), thread_prefix(target)),
        ]:
            page = None
            while page is None or page.get("cursor") is not None:
                page = yield from self._entries.page(prefix, LARGE_PAGE_ENTRIES, page)
                commands = [
                    self._entries.set(new_prefix + it["key"][len(prefix) :], it["value"])
                    for it in page["entries"]
                ]
                yield from self._entries.write(commands, [])
        copied = yield from Scan(self._entries, serde, thread_prefix(target)).all()
        yield from self._entries.write(
            [self._entries.set(it.place.run_key(it.run), True) for it in copied if it.run], []
        )


def _large_values(kept: Iterable[Found]) -> set[str]:
    """The keys of the large values that checkpoints and their writes have."""
    keys: set[str] = set()
    for found in kept:
        keys.update(found.value_key(channel) for channel in found.elsewhere)
        keys.update(
            found.place.write_value_key(write["at"]) for _, write in found.writes if "at" in write
        )
    return keys


def _check(doomed: Sequence[Found], kept: Sequence[Found]) -> None:
    """Refuses to delete what the values of delta channels in other checkpoints are made of."""
    by_place = {found.place: found for found in (*doomed, *kept)}
    wanted = needed([it for it in kept if it.checkpoint], by_place) & {it.place for it in doomed}
    if wanted:
        place = min(wanted)
        raise ValueError(
            f"checkpoint `{place.id}` of thread `{place.thread}` has writes of delta channels that "
            "later checkpoints need; delete the thread, or the later runs as well"
        )
