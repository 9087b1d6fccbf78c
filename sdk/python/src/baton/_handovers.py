"""Hand-offs inside a framework, recorded as hand-offs of Baton."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from ._async_baton import AsyncBaton
from ._bridge import Bridge, Client, Steps
from ._flow import Call

_NAME_MAX = 100
NOTES_LENGTH_MAX = 60_000
"""The context of a hand-off has at most 256 KiB; more than this becomes an artifact."""


def agent_id(name: str) -> str:
    """A name of an agent as an id, which has only letters, digits and `._:@-`. Names that would
    become the same id get different ones."""
    plain = re.sub(r"[^A-Za-z0-9._:@-]+", "-", name).strip("-._:@")
    if plain == name and len(name) <= _NAME_MAX:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    # A space is so usual that it needs no digest.
    if re.sub(r" +", "-", name) == plain and len(plain) <= _NAME_MAX:
        return plain
    return f"{plain[:_NAME_MAX]}-{digest}" if plain else f"agent-{digest}"


class Handovers:
    """Records hand-offs that a framework makes by itself."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def _as(self, agent: str) -> Bridge:
        return Bridge(self._client.as_agent(agent))

    async def begin(
        self,
        giver: str,
        receiver: str,
        *,
        state: Mapping[str, Any] | None = None,
        notes: dict[str, Any],
        seen: Any,
    ) -> str:
        """Records that one agent continues for another, with what it saw. Returns the id. Rules
        for hand-offs apply: what they refuse is raised, and does not happen."""
        handoff = await self.offer(giver, receiver, state=state, notes=notes, seen=seen)
        await self.accept(handoff, receiver)
        return handoff

    async def offer(
        self,
        giver: str,
        receiver: str,
        *,
        reason: str | None = None,
        state: Mapping[str, Any] | None = None,
        notes: dict[str, Any],
        seen: Any,
    ) -> str:
        """The first half of `begin`."""
        giver_id = agent_id(giver)
        fields: dict[str, Any] = {"to": agent_id(receiver), "notes": {**notes, "seen": seen}}
        if reason:
            fields["reason"] = reason
        if state:
            fields["state"] = dict(state)
        text = json.dumps(seen, ensure_ascii=False, default=str)
        if len(text) > NOTES_LENGTH_MAX:
            artifact = await self._stored(giver_id, text.encode())
            fields["notes"] = {**notes, "seen": {"artifact": artifact}}
            fields["artifacts"] = [artifact]
        offered = await self._as(giver_id).run_async(_call("handoff.offer", fields))
        return offered["id"]

    async def accept(self, handoff: str, receiver: str) -> None:
        """The second half of `begin`."""
        await self._as(agent_id(receiver)).run_async(_call("handoff.accept", {"handoff": handoff}))

    async def cancel(self, handoff: str, giver: str, reason: str) -> None:
        """Records that what was offered did not happen."""
        fields = {"handoff": handoff, "reason": reason}
        await self._as(agent_id(giver)).run_async(_call("handoff.cancel", fields))

    async def end(
        self, handoff: str, receiver: str, result: Any, changes: Mapping[str, Any] | None = None
    ) -> None:
        """Records what the receiver made of it."""
        fields: dict[str, Any] = {"handoff": handoff, "result": result}
        if changes:
            fields["changes"] = dict(changes)
        await self._as(agent_id(receiver)).run_async(_call("handoff.complete", fields))

    async def _stored(self, agent: str, data: bytes) -> str:
        client = self._client.as_agent(agent)
        how: dict[str, Any] = {"name": "seen.json", "media_type": "application/json"}
        if isinstance(client, AsyncBaton):
            return (await client.artifacts.put(data, **how)).artifact
        bridge = Bridge(client)
        return (await bridge.in_thread(client.artifacts.put, data, **how)).artifact


def _call(operation: str, fields: dict[str, Any]) -> Steps[Any]:
    return (yield Call(operation, fields))


def plain(value: Any) -> Any:
    """A value as JSON, with texts for what is not."""
    return json.loads(json.dumps(value, ensure_ascii=False, default=_described))


def _described(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", exclude_none=True)
    return repr(value)
