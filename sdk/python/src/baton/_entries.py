"""The entries of a namespace that a framework keeps its data in, as algorithms for a `Bridge`.

A value of Baton has at most one mebibyte and a transaction nine, so longer texts are divided among
several entries, and many entries among several transactions, of which the last makes the others
visible.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ._bridge import Steps
from ._flow import Call
from ._json import Encoded
from .errors import Conflict, NotFound

COMMANDS_MAX = 500
"""How many commands a transaction has at most here; the server accepts a thousand."""
TRANSACTION_CHARACTERS_MAX = 2_000_000
"""Four bytes each, at worst, are less than the nine mebibytes of a request."""
PAGE_ENTRIES = 100
TEXT_PART_MAX = 250_000
"""A value of Baton has at most one mebibyte; a longer text is divided."""
LARGE_PAGE_ENTRIES = 16
"""For entries that may have a mebibyte each."""

Entry = dict[str, Any]
Command = dict[str, Any]


class Entries:
    """The entries of one namespace, which is created when it is first used."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._is_ready = namespace == "shared"

    def ready(self) -> Steps[None]:
        if self._is_ready:
            return
        try:
            yield Call("namespace.get", {"name": self.namespace})
        except NotFound:
            # Another client may have just created it.
            with contextlib.suppress(Conflict):
                yield Call("namespace.create", {"name": self.namespace})
        self._is_ready = True

    # Reading.

    def find(self, key: str) -> Steps[Entry | None]:
        """An entry, if there is one."""
        yield from self.ready()
        try:
            return (yield Call("state.get", {"namespace": self.namespace, "key": key}))
        except NotFound as error:
            if error.code != "state.not_found":
                raise
            return None

    def page(
        self,
        prefix: str,
        limit: int = PAGE_ENTRIES,
        after: dict[str, Any] | None = None,
        at: int | None = None,
    ) -> Steps[dict[str, Any]]:
        """A page of the entries under a prefix, in the order of their keys; `after` is the page
        before, whose revision is read again."""
        yield from self.ready()
        fields: dict[str, Any] = {"namespace": self.namespace, "prefix": prefix, "limit": limit}
        if at is not None:
            fields["at"] = at
        if after is not None:
            fields |= {"cursor": after["cursor"], "at": after["revision"]}
        return (yield Call("state.list", fields))

    def all(
        self, prefix: str, limit: int = PAGE_ENTRIES, at: int | None = None
    ) -> Steps[list[Entry]]:
        """All entries under a prefix, at one revision."""
        page: dict[str, Any] | None = None
        found: list[Entry] = []
        while page is None or page.get("cursor") is not None:
            page = yield from self.page(prefix, limit, page, at)
            found += page["entries"]
        return found

    # Commands of transactions.

    def set(self, key: str, value: Any, **fields: Any) -> Command:
        return {
            "command": "state.set",
            "namespace": self.namespace,
            "key": key,
            "value": value,
            **fields,
        }

    def delete(self, key: str) -> Command:
        return {"command": "state.delete", "namespace": self.namespace, "key": key}

    def set_text(self, key: str, text: str) -> list[Command]:
        """Commands that store a text, which may be longer than a value can be. The last one makes
        it visible."""
        if len(text) <= TEXT_PART_MAX:
            return [self.set(key, {"text": text})]
        name = secrets.token_hex(8)
        parts = [text[at : at + TEXT_PART_MAX] for at in range(0, len(text), TEXT_PART_MAX)]
        return [
            *(self.set(f"{key}#{name}.{at}", part) for at, part in enumerate(parts)),
            self.set(key, {"name": name, "parts": len(parts)}),
        ]

    def text_keys(self, key: str, value: dict[str, Any]) -> list[str]:
        """The keys of the entries of a text."""
        parts = range(value.get("parts", 0))
        return [key, *(f"{key}#{value['name']}.{at}" for at in parts)]

    def text_of(self, key: str, value: dict[str, Any]) -> Steps[str]:
        """The text of which this is the first entry."""
        if "text" in value:
            return value["text"]
        parts = yield [
            Call("state.get", {"namespace": self.namespace, "key": part})
            for part in self.text_keys(key, value)[1:]
        ]
        return "".join(part["value"] for part in parts)

    # Writing.

    def commit(
        self, commands: Iterable[Command], require: Sequence[dict[str, Any]] = ()
    ) -> Steps[list[Any]]:
        """Executes commands, all or none. They must fit in a transaction."""
        yield from self.ready()
        fields = {"require": list(require), "commands": list(commands)}
        return (yield Call("transaction", fields))

    def write(self, before: Sequence[Command], last: Sequence[Command]) -> Steps[None]:
        """Executes commands in one transaction if they fit; if not, the last ones are in the last
        transaction, so that nothing refers to what is not there."""
        groups = grouped([*before, *last])
        if len(groups) > 1:
            groups = [*grouped(before), *([list(last)] if last else [])]
        for group in groups:
            yield from self.commit(group)

    def merge(self, key: str, change: Callable[[Any], Sequence[Command]]) -> Steps[None]:
        """Executes what a function makes of the value of an entry, and begins again when another
        client was faster. The entry is taken as absent at first, because it mostly is."""
        entry: Entry = {"value": None, "version": 0}
        while True:
            where = {"namespace": self.namespace, "key": key, "version": entry["version"]}
            try:
                yield from self.commit(change(entry["value"]), [{"entry": where}])
                return
            except Conflict as error:
                if error.code != "transaction.precondition_failed":
                    raise
                entry = error.facts.get("entry") or {"value": None, "version": 0}

    def remove(self, keys: Iterable[str], at_once: int = COMMANDS_MAX) -> Steps[None]:
        """Deletes entries, and ignores those that another client has deleted meanwhile. The event
        of a deletion has the value, so that fewer large ones fit in a transaction."""
        left = list(dict.fromkeys(keys))
        while left:
            group = left[:at_once]
            try:
                yield from self.commit(self.delete(key) for key in group)
            except NotFound as error:
                if error.facts.get("cause_code") != "state.not_found":
                    raise
                left.remove(error.facts["cause"]["key"])
            else:
                left = left[at_once:]

    def clear(self, prefix: str, limit: int = PAGE_ENTRIES) -> Steps[None]:
        """Deletes everything under a prefix."""
        while True:
            page = yield from self.page(prefix, limit)
            if not page["entries"]:
                return
            yield from self.remove(entry["key"] for entry in page["entries"])


def grouped(commands: Sequence[Command]) -> list[list[Command]]:
    """Commands in as few transactions as possible."""
    groups: list[list[Command]] = []
    characters = TRANSACTION_CHARACTERS_MAX
    for command in commands:
        size = _characters(command.get("value", command.get("state", command.get("writes"))))
        is_full = characters + size > TRANSACTION_CHARACTERS_MAX
        if not groups or is_full or len(groups[-1]) == COMMANDS_MAX:
            groups.append([])
            characters = 0
        groups[-1].append(command)
        characters += size
    return groups


def _characters(value: Any) -> int:
    """About how many characters a value has as JSON."""
    if isinstance(value, (str, Encoded)):
        return len(value)
    if isinstance(value, dict):
        members: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return sum(len(name) + _characters(it) for name, it in members.items())
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return sum(map(_characters, items))
    return 8
