"""A store of LangGraph whose items are entries of a workspace.

There is no index of embeddings: a search with a query is refused, instead of returning something
else. The items are those of the package for LangGraph.js.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, cast

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from .._bridge import Bridge, Client, Steps
from .._entries import Command, Entries, Entry
from .._flow import Call
from .._record import moment, moment_text
from ..errors import Conflict, NotFound
from ._keys import encoded
from ._saver import NAMESPACE

ROOT = "s/"
MINUTE_MS = 60_000


def prefix_of(namespace: Sequence[str]) -> str:
    return ROOT + "".join(f"{encoded(label)}/" for label in namespace)


def key_of(namespace: Sequence[str], key: str) -> str:
    """The key of an item. A label is never empty, so that `//` ends a namespace."""
    return f"{prefix_of(namespace)}/{encoded(key)}"


class BatonStore(BaseStore):
    """Items in a workspace of Baton.

    A batch reads first, then writes all or nothing. See `BatonSaver` about clients.

    Args:
        client: A `Baton` or an `AsyncBaton`.
        namespace: The namespace of the entries, which is created when it is first used.
        ttl: The default time to live of items, and whether reading renews it.
    """

    supports_ttl = True

    def __init__(
        self, client: Client, *, namespace: str = NAMESPACE, ttl: TTLConfig | None = None
    ) -> None:
        self.ttl_config = ttl
        self._bridge = Bridge(client)
        self._entries = Entries(namespace)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self._bridge.run(self._batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await self._bridge.run_async(self._batch(list(ops)))

    def _batch(self, ops: Sequence[Op]) -> Steps[list[Result]]:
        results: list[Result] = []
        # Only the last write of an item counts.
        writes: dict[str, PutOp] = {}
        for op in ops:
            if isinstance(op, GetOp):
                results.append((yield from self._get(op)))
            elif isinstance(op, SearchOp):
                found = yield from self._search(op)
                results.append(cast("Result", found))
            elif isinstance(op, ListNamespacesOp):
                results.append((yield from self._list_namespaces(op)))
            else:
                writes[key_of(op.namespace, op.key)] = op
                results.append(None)
        if writes:
            yield from self._write(writes)
        return results

    # Reading.

    def _get(self, op: GetOp) -> Steps[Item | None]:
        entry = yield from self._entries.find(key_of(op.namespace, op.key))
        if entry is None:
            return None
        if op.refresh_ttl:
            yield from self._renew([entry])
        return Item(**_fields(entry))

    def _search(self, op: SearchOp) -> Steps[list[SearchItem]]:
        if op.query is not None:
            raise ValueError(
                "this store has no index of embeddings, so it cannot search for a `query`"
            )
        wanted = op.offset + op.limit
        found: list[Entry] = []
        page: dict[str, Any] | None = None
        while len(found) < wanted and (page is None or page.get("cursor") is not None):
            page = yield from self._entries.page(prefix_of(op.namespace_prefix), after=page)
            found += [it for it in page["entries"] if _is_match(it["value"]["value"], op.filter)]
        chosen = found[op.offset : wanted]
        if op.refresh_ttl:
            yield from self._renew(chosen)
        return [SearchItem(**_fields(entry)) for entry in chosen]

    def _list_namespaces(self, op: ListNamespacesOp) -> Steps[list[tuple[str, ...]]]:
        found: set[tuple[str, ...]] = set()
        conditions = op.match_conditions or ()
        for entry in (yield from self._entries.all(_common_prefix(conditions))):
            namespace: tuple[str, ...] = tuple(entry["value"]["namespace"])
            if all(_is_namespace(condition, namespace) for condition in conditions):
                found.add(namespace[: op.max_depth])
        return sorted(found)[op.offset : op.offset + op.limit]

    def _renew(self, entries: Iterable[Entry]) -> Steps[None]:
        """Begins the time to live of items again."""
        for entry in entries:
            item = entry["value"]
            if item.get("ttl") is None:
                continue
            # It may have been written or deleted meanwhile.
            with contextlib.suppress(Conflict, NotFound):
                yield Call("state.set", self._set(entry["key"], item, entry["version"]))

    # Writing.

    def _set(self, key: str, item: dict[str, Any], version: int) -> dict[str, Any]:
        fields: dict[str, Any] = {"namespace": self._entries.namespace, "key": key, "value": item}
        if item.get("ttl") is not None:
            fields["ttl_ms"] = max(round(item["ttl"] * MINUTE_MS), 1)
        return {**fields, "expected_version": version}

    def _write(self, writes: Mapping[str, PutOp]) -> Steps[None]:
        present: dict[str, Entry | None] = {}
        # A single item is taken as absent at first. If it is not, the refusal says what it is.
        if len(writes) > 1 or any(op.value is None for op in writes.values()):
            present = yield from self._present(list(writes))
        while True:
            commands = self._commands(writes, present)
            if not commands:
                return
            try:
                yield from self._entries.commit(commands)
                return
            except (Conflict, NotFound) as error:
                if error.code != "transaction.command_refused":
                    raise
                present = yield from self._present(list(writes))

    def _commands(
        self, writes: Mapping[str, PutOp], present: Mapping[str, Entry | None]
    ) -> list[Command]:
        now = moment_text(datetime.now(timezone.utc))
        commands: list[Command] = []
        for key, op in writes.items():
            entry = present.get(key)
            version = 0 if entry is None else entry["version"]
            if op.value is None:
                if entry is not None:
                    commands.append({**self._entries.delete(key), "expected_version": version})
                continue
            item: dict[str, Any] = {"namespace": list(op.namespace), "key": op.key}
            item |= {"value": op.value, "updated_at": now}
            item["created_at"] = now if entry is None else entry["value"]["created_at"]
            if op.ttl is not None:
                item["ttl"] = op.ttl
            commands.append({"command": "state.set", **self._set(key, item, version)})
        return commands

    def _present(self, keys: Sequence[str]) -> Steps[dict[str, Entry | None]]:
        yield from self._entries.ready()
        namespace = self._entries.namespace
        # Of the keys with this prefix the key itself is the first, and a list does not fail.
        pages = yield [
            Call("state.list", {"namespace": namespace, "prefix": key, "limit": 1}) for key in keys
        ]
        return {
            key: next((it for it in page["entries"] if it["key"] == key), None)
            for key, page in zip(keys, pages, strict=True)
        }


def _fields(entry: Entry) -> dict[str, Any]:
    item = entry["value"]
    return {
        "namespace": tuple(item["namespace"]),
        "key": item["key"],
        "value": item["value"],
        "created_at": moment(item["created_at"]),
        # LangGraph.js does not write it, and does not renew items.
        "updated_at": moment(item.get("updated_at") or entry["updated_at"]),
    }


def _common_prefix(conditions: Sequence[MatchCondition]) -> str:
    """The prefix of the keys of all items that meet the conditions."""
    prefixes = [list(it.path) for it in conditions if it.match_type == "prefix"]
    plain = [path[: path.index("*")] if "*" in path else path for path in prefixes]
    return prefix_of(max(plain, key=len) if plain else [])


def _is_namespace(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    if len(path) > len(namespace):
        return False
    start = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    return all(label in ("*", namespace[start + at]) for at, label in enumerate(path))


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": lambda value, wanted: value is not None and float(value) > float(wanted),
    "$gte": lambda value, wanted: value is not None and float(value) >= float(wanted),
    "$lt": lambda value, wanted: value is not None and float(value) < float(wanted),
    "$lte": lambda value, wanted: value is not None and float(value) <= float(wanted),
}


def _is_match(value: Mapping[str, Any], filter: Mapping[str, Any] | None) -> bool:
    return all(_matches(value.get(name), wanted) for name, wanted in (filter or {}).items())


def _matches(value: Any, wanted: Any) -> bool:
    """Whether a value is the wanted one, contains it, or satisfies its operators."""
    if isinstance(wanted, Mapping):
        members = cast("Mapping[str, Any]", wanted)
        if any(name.startswith("$") for name in members):
            return all(_compare(value, name, it) for name, it in members.items())
        return isinstance(value, Mapping) and _is_match(cast("Mapping[str, Any]", value), members)
    if isinstance(wanted, (list, tuple)):
        items = cast("Sequence[Any]", wanted)
        return (
            isinstance(value, (list, tuple))
            and len(cast("Sequence[Any]", value)) == len(items)
            and all(map(_matches, cast("Sequence[Any]", value), items))
        )
    return value == wanted


def _compare(value: Any, name: str, wanted: Any) -> bool:
    if name not in _OPERATORS:
        raise ValueError(f"there is no operator `{name}`; use {', '.join(_OPERATORS)}")
    return _OPERATORS[name](value, wanted)
