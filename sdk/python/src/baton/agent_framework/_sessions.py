"""Histories and sessions of agents of the Agent Framework, as entries of a workspace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

from agent_framework import AgentSession, HistoryProvider, Message, SessionStore

from .._bridge import Bridge, Client, Steps
from .._entries import Entries
from .._item_log import ItemLog
from ..errors import Conflict
from ._checkpoints import NAMESPACE


class BatonHistoryProvider(HistoryProvider):
    """The messages of conversations in a workspace of Baton. Messages that are stored together stay
    together, and all processes see one order.

    Args:
        client: A `Baton` or an `AsyncBaton`.
        source_id: The name of this provider among others of an agent.
        limit: How many of the latest messages are loaded; all if not given.
        namespace: The namespace of the entries, which is created when it is first used.
        options: Those of `HistoryProvider`.
    """

    def __init__(
        self,
        client: Client,
        *,
        source_id: str = "baton",
        limit: int | None = None,
        namespace: str = NAMESPACE,
        **options: Any,
    ) -> None:
        super().__init__(source_id, **options)
        self._bridge = Bridge(client)
        self._entries = Entries(namespace)
        self._limit = limit

    def _log(self, session_id: str | None) -> ItemLog:
        names = (quote(self.source_id, safe=""), quote(session_id or "", safe=""))
        return ItemLog(self._entries, f"h/{'/'.join(names)}/")

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        items, _ = await self._bridge.run_async(self._log(session_id).read(self._limit))
        return [Message.from_dict(item) for item in items]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        items = [json.loads(json.dumps(message.to_dict())) for message in messages]
        if items:
            await self._bridge.run_async(self._log(session_id).append(items, None))

    async def clear(self, session_id: str | None) -> None:
        """Removes the messages of a conversation."""
        await self._bridge.run_async(self._log(session_id).clear())


class BatonSessionStore(SessionStore):
    """Sessions in a workspace of Baton.

    `set` raises `Conflict` if another process has stored the session since this one was read with
    `get`: the framework would overwrite it. A session that was not read from here is stored in any
    case.

    Args:
        client: A `Baton` or an `AsyncBaton`.
        namespace: The namespace of the entries, which is created when it is first used.
    """

    def __init__(self, client: Client, *, namespace: str = NAMESPACE) -> None:
        super().__init__()
        self._bridge = Bridge(client)
        self._entries = Entries(namespace)
        self._versions: WeakKeyDictionary[AgentSession, int] = WeakKeyDictionary()

    async def get(self, session_id: str) -> AgentSession | None:
        SessionStore.validate_session_id(session_id)
        found = await self._bridge.run_async(self._load(_key(session_id)))
        if found is None:
            return None
        session = AgentSession.from_dict(json.loads(found[0]))
        self._versions[session] = found[1]
        return session

    def _load(self, key: str) -> Steps[tuple[str, int] | None]:
        entry = yield from self._entries.find(key)
        if entry is None:
            return None
        return (yield from self._entries.text_of(key, entry["value"])), entry["version"]

    async def set(self, session_id: str, session: AgentSession) -> None:
        SessionStore.validate_session_id(session_id)
        text = json.dumps(session.to_dict(), ensure_ascii=False)
        version = self._versions.get(session)
        steps = self._store(_key(session_id), text, version)
        self._versions[session] = await self._bridge.run_async(steps)

    def _store(self, key: str, text: str, version: int | None) -> Steps[int]:
        old = yield from self._entries.find(key)
        *parts, head = self._entries.set_text(key, text)
        yield from self._entries.write(parts, [])
        if version is not None:
            head["expected_version"] = version
        try:
            (entry,) = yield from self._entries.commit([head])
        except Conflict as error:
            yield from self._entries.remove(part["key"] for part in parts)
            raise Conflict(
                "client.session_changed",
                "another process has stored this session since it was read",
                "read it again, then decide",
                error.facts,
            ) from None
        if old is not None:
            yield from self._entries.remove(self._entries.text_keys(key, old["value"])[1:])
        return entry["version"]

    async def delete(self, session_id: str) -> None:
        SessionStore.validate_session_id(session_id)
        await self._bridge.run_async(self._delete(_key(session_id)))

    def _delete(self, key: str) -> Steps[None]:
        entry = yield from self._entries.find(key)
        if entry is not None:
            yield from self._entries.remove(self._entries.text_keys(key, entry["value"]))


def _key(session_id: str) -> str:
    return f"s/{quote(session_id, safe='')}"
