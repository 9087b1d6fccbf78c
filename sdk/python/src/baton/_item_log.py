"""A log of items, such as those of a conversation, as algorithms for a `Bridge`.

    PREFIX!                the head: which items there are
    PREFIXi/NUMBER         an item; numbers count down, so that the newest is listed first
    PREFIXp/NAME           an item that is too large for a transaction with others

Every change also changes the head, so the head's version tells whether another client has written.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ._bridge import Steps
from ._entries import PAGE_ENTRIES, Command, Entries, grouped
from .errors import Conflict

_NUMBER_MAX = 10**12 - 1
LARGE_LENGTH_MIN = 100_000


@dataclass(frozen=True)
class Head:
    """Which items a log has: from `first` to before `next`."""

    first: int = 0
    next: int = 0
    version: int = 0
    """The version of its entry; 0 if there is none."""

    @classmethod
    def of(cls, entry: dict[str, Any] | None) -> Head:
        if not entry:
            return cls()
        return cls(entry["value"]["first"], entry["value"]["next"], entry["version"])


class ItemLog:
    """A log of items."""

    def __init__(self, entries: Entries, prefix: str) -> None:
        self._entries = entries
        self._prefix = prefix
        self._head_key = f"{prefix}!"

    def _key(self, number: int) -> str:
        return f"{self._prefix}i/{_NUMBER_MAX - number:012}"

    # Reading.

    def read(self, limit: int | None = None) -> Steps[tuple[list[Any], Head]]:
        """The newest items, or all of them, in the order in which they were added."""
        items, head, _ = yield from self.read_at(limit)
        return items, head

    def read_at(self, limit: int | None = None) -> Steps[tuple[list[Any], Head, int]]:
        """The same, with the revision at which they were read."""
        newest_first: list[Any] = []
        head = Head()
        page: dict[str, Any] | None = None
        revision = 0
        while page is None or page.get("cursor") is not None:
            wanted = PAGE_ENTRIES if limit is None else min(limit + 1, PAGE_ENTRIES)
            # The head is the first entry.
            page = yield from self._entries.page(self._prefix, wanted, page)
            revision = page["revision"]
            for entry in page["entries"]:
                if entry["key"] == self._head_key:
                    head = Head.of(entry)
                    continue
                number = self._number(entry["key"])
                is_item = number is not None and head.first <= number < head.next
                if not is_item or len(newest_first) == limit:
                    page = {}
                    break
                newest_first.append((yield from self._item(entry["value"])))
        return newest_first[::-1], head, revision

    def _number(self, key: str) -> int | None:
        kind, _, number = key.removeprefix(self._prefix).partition("/")
        return _NUMBER_MAX - int(number) if kind == "i" else None

    def _item(self, value: dict[str, Any]) -> Steps[Any]:
        if "item" in value:
            return value["item"]
        text = yield from self._entries.text_of(f"{self._prefix}p/{value['at']}", value)
        return json.loads(text)

    # Writing.

    def append(
        self,
        items: Sequence[Any],
        head: Head | None,
        is_guarded: bool = False,
        also: Sequence[Command] = (),
    ) -> Steps[Head]:
        """Adds items at the end, after those that other clients have added meanwhile; or raises
        `Conflict` then, if it is guarded. `also` is executed with the last of them."""
        commands: list[Command] = []
        for item in items:
            text = json.dumps(item, ensure_ascii=False)
            if len(text) < LARGE_LENGTH_MIN:
                commands.append(self._entries.set("", {"item": item}))
                continue
            name = secrets.token_hex(8)
            *parts, last = self._entries.set_text(f"{self._prefix}p/{name}", text)
            yield from self._entries.write(parts, [])
            commands.append(self._entries.set("", {**last["value"], "at": name}))
        groups = grouped(commands)
        for at, group in enumerate(groups):
            more = also if at == len(groups) - 1 else ()
            head = yield from self._append(group, head or Head(), is_guarded, more)
        return head or Head()

    def _append(
        self, group: list[Command], head: Head, is_guarded: bool, also: Sequence[Command]
    ) -> Steps[Head]:
        while True:
            numbered = [
                {**command, "key": self._key(head.next + at)} for at, command in enumerate(group)
            ]
            changed = Head(head.first, head.next + len(group), head.version + 1)
            try:
                yield from self._commit(head, changed, [*numbered, *also])
                return changed
            except Conflict as error:
                head = _winner(error)
                if is_guarded:
                    _refuse(error)

    def pop(self, head: Head | None) -> Steps[tuple[Any, Head]]:
        """Removes the newest item and returns it. With a head it raises `Conflict` if another
        client has written since, because that is not the newest item that the caller means."""
        is_guarded = head is not None
        if head is None:
            head = Head.of((yield from self._entries.find(self._head_key)))
        while head.next > head.first:
            key = self._key(head.next - 1)
            entry = yield from self._entries.find(key)
            changed = Head(head.first, head.next - 1, head.version + 1)
            try:
                if entry is None:
                    raise Conflict("transaction.precondition_failed", "the item was removed")
                item = yield from self._item(entry["value"])
                yield from self._commit(head, changed, [self._entries.delete(key)])
                return item, changed
            except Conflict as error:
                if is_guarded:
                    _refuse(error)
                head = Head.of((yield from self._entries.find(self._head_key)))
        return None, head

    def clear(self) -> Steps[Head]:
        """Removes all items."""
        head = Head.of((yield from self._entries.find(self._head_key)))
        while head.next > head.first:
            changed = Head(head.next, head.next, head.version + 1)
            try:
                yield from self._commit(head, changed, [])
            except Conflict as error:
                head = _winner(error)
                continue
            # They are not part of the log any more.
            yield from self._delete_before(changed.first)
            return changed
        return head

    def _delete_before(self, first: int) -> Steps[None]:
        entries = yield from self._entries.all(f"{self._prefix}i/", 100)
        old = [it for it in entries if (self._number(it["key"]) or 0) < first]
        keys = [it["key"] for it in old]
        for it in old:
            if "parts" in it["value"]:
                key = f"{self._prefix}p/{it['value']['at']}"
                keys += self._entries.text_keys(key, it["value"])[1:]
        yield from self._entries.remove(keys)

    def delete(self) -> Steps[None]:
        """Removes the log itself."""
        yield from self._entries.clear(self._prefix)

    def _commit(self, head: Head, changed: Head, commands: Sequence[Command]) -> Steps[None]:
        yield from self._entries.commit(
            [*commands, self.set_head(changed)], [self.requirement(head)]
        )

    def set_head(self, head: Head) -> Command:
        return self._entries.set(self._head_key, {"first": head.first, "next": head.next})

    def requirement(self, head: Head) -> dict[str, Any]:
        """The precondition that the log has not changed. Its value is compared too: a log that was
        deleted and begun again may have the same version."""
        entry: dict[str, Any] = {"namespace": self._entries.namespace, "key": self._head_key}
        entry["version"] = head.version
        if head.version:
            entry["value"] = {"first": head.first, "next": head.next}
        return {"entry": entry}


def _winner(error: Conflict) -> Head:
    if error.code != "transaction.precondition_failed":
        raise error
    return Head.of(error.facts.get("entry"))


def _refuse(error: Conflict) -> NoReturn:
    raise Conflict(
        "client.session_changed",
        "another client has written to this conversation since it was read",
        "read it again, then decide",
        error.facts,
    ) from None
