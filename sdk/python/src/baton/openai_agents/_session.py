"""Conversations of the OpenAI Agents SDK, as entries of a workspace."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from agents.items import TResponseInputItem
from agents.memory import SessionSettings

from .._bridge import Bridge, Client
from .._entries import Entries
from .._item_log import Head, ItemLog

NAMESPACE = "openai-agents"


class BatonSession:
    """The history of a conversation: a `Session` of the OpenAI Agents SDK.

    Several processes may use one conversation. Items that are added together stay together, and
    all see the same order. `pop_item` removes only an item that this object has seen: if another
    has written since, it raises `Conflict`, so a run that is rewound does not remove the items of
    another run.

    Args:
        session_id: The conversation.
        client: A `Baton` or an `AsyncBaton`.
        exclusive: Whether `add_items` raises `Conflict` too, if another has written since this
            object has read the conversation.
        namespace: The namespace of the entries, which is created when it is first used.
        session_settings: How many items are read by default.
    """

    def __init__(
        self,
        session_id: str,
        client: Client,
        *,
        exclusive: bool = False,
        namespace: str = NAMESPACE,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._is_exclusive = exclusive
        self._bridge = Bridge(client)
        self._log = ItemLog(Entries(namespace), f"s/{quote(session_id, safe='')}/")
        self._head: Head | None = None

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest items, or all of them, oldest first."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is not None and limit <= 0:
            return []
        items, self._head = await self._bridge.run_async(self._log.read(limit))
        return items

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items, all or none."""
        if not items:
            return
        plain: list[Any] = list(items)
        guarded = self._is_exclusive and self._head is not None
        steps = self._log.append(plain, self._head, guarded)
        self._head = await self._bridge.run_async(steps)

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes the newest item and returns it."""
        item, self._head = await self._bridge.run_async(self._log.pop(self._head))
        return item

    async def clear_session(self) -> None:
        """Removes all items."""
        self._head = await self._bridge.run_async(self._log.clear())
