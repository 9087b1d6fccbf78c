"""CrewAI on Baton: the states of flows, feedback that is waited for, and checkpoints.

    with baton.connect(agent="writer") as b:

        @persist(BatonFlowPersistence(b))
        class ArticleFlow(Flow[State]): ...

Needs the extra `crewai`.
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any, Literal
from urllib.parse import quote, unquote
from uuid import uuid4

from crewai.flow.async_feedback.types import PendingFeedbackContext
from crewai.flow.persistence.base import FlowPersistence
from crewai.state.checkpoint_config import CheckpointConfig
from crewai.state.provider.core import BaseProvider
from pydantic import BaseModel, PrivateAttr

from ._baton import Baton
from ._bridge import Bridge, Steps
from ._entries import Command, Entries

NAMESPACE = "crewai"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_described)


def _described(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)


def _state(state: dict[str, Any] | BaseModel) -> dict[str, Any]:
    return state.model_dump(mode="json") if isinstance(state, BaseModel) else dict(state)


class _Texts:
    """Texts by key, each of which may be longer than a value can be."""

    def __init__(self, client: Baton, namespace: str) -> None:
        self.bridge = Bridge(client)
        self.entries = Entries(namespace)

    def load(self, key: str) -> Steps[str | None]:
        entry = yield from self.entries.find(key)
        if entry is None:
            return None
        return (yield from self.entries.text_of(key, entry["value"]))

    def store(self, texts: dict[str, str], also: list[Command]) -> Steps[None]:
        """Stores texts, all or none, and deletes the parts of those that they replace."""
        parts: list[Command] = []
        heads: list[Command] = []
        old: list[str] = []
        for key, text in texts.items():
            present = yield from self.entries.find(key)
            if present is not None:
                old += self.entries.text_keys(key, present["value"])[1:]
            *before, head = self.entries.set_text(key, text)
            parts += before
            heads.append(head)
        yield from self.entries.write(parts, [*heads, *also])
        yield from self.entries.remove(old)

    def delete(self, key: str) -> Steps[None]:
        entry = yield from self.entries.find(key)
        if entry is not None:
            yield from self.entries.remove(self.entries.text_keys(key, entry["value"]))


class BatonFlowPersistence(FlowPersistence):
    """The states of flows in a workspace of Baton. Earlier states are in its history.

    Args:
        client: A `Baton`.
        namespace: The namespace of the entries, which is created when it is first used.
    """

    persistence_type: str = "baton"
    _texts: _Texts = PrivateAttr()

    def __init__(self, client: Baton, *, namespace: str = NAMESPACE) -> None:
        super().__init__()
        self._texts = _Texts(client, namespace)
        self.init_db()

    def init_db(self) -> None:
        """Creates the namespace, if it does not exist."""
        self._texts.bridge.run(self._texts.entries.ready())

    def save_state(
        self, flow_uuid: str, method_name: str, state_data: dict[str, Any] | BaseModel
    ) -> None:
        text = _json({"method": method_name, "state": _state(state_data)})
        self._texts.bridge.run(self._texts.store({_flow_key(flow_uuid): text}, []))

    def load_state(self, flow_uuid: str) -> dict[str, Any] | None:
        text = self._texts.bridge.run(self._texts.load(_flow_key(flow_uuid)))
        return None if text is None else json.loads(text)["state"]

    def save_pending_feedback(
        self,
        flow_uuid: str,
        context: PendingFeedbackContext,
        state_data: dict[str, Any] | BaseModel,
    ) -> None:
        state = _state(state_data)
        texts = {
            _flow_key(flow_uuid): _json({"method": context.method_name, "state": state}),
            _feedback_key(flow_uuid): _json({"context": context.to_dict(), "state": state}),
        }
        self._texts.bridge.run(self._texts.store(texts, []))

    def load_pending_feedback(
        self, flow_uuid: str
    ) -> tuple[dict[str, Any], PendingFeedbackContext] | None:
        text = self._texts.bridge.run(self._texts.load(_feedback_key(flow_uuid)))
        if text is None:
            return None
        found = json.loads(text)
        return found["state"], PendingFeedbackContext.from_dict(found["context"])

    def clear_pending_feedback(self, flow_uuid: str) -> None:
        self._texts.bridge.run(self._texts.delete(_feedback_key(flow_uuid)))


def _flow_key(flow: str) -> str:
    return f"f/{quote(flow, safe='')}"


def _feedback_key(flow: str) -> str:
    return f"p/{quote(flow, safe='')}"


class BatonCheckpointProvider(BaseProvider):
    """Checkpoints of crews and flows in a workspace of Baton, with their parents and branches.

    A location is any text, such as the name of a crew; that of a checkpoint ends with `#` and its
    id.

    Args:
        client: A `Baton`.
        namespace: The namespace of the entries, which is created when it is first used.
    """

    provider_type: Literal["baton"] = "baton"  # pyright: ignore[reportIncompatibleVariableOverride]
    _texts: _Texts = PrivateAttr()

    def __init__(self, client: Baton, *, namespace: str = NAMESPACE) -> None:
        super().__init__()
        self._texts = _Texts(client, namespace)

    def checkpoint(
        self, data: str, location: str, *, parent_id: str | None = None, branch: str = "main"
    ) -> str:
        place, steps = self._saving(data, location, parent_id, branch)
        self._texts.bridge.run(steps)
        return place

    async def acheckpoint(
        self, data: str, location: str, *, parent_id: str | None = None, branch: str = "main"
    ) -> str:
        place, steps = self._saving(data, location, parent_id, branch)
        await self._texts.bridge.run_async(steps)
        return place

    def _saving(
        self, data: str, location: str, parent: str | None, branch: str
    ) -> tuple[str, Steps[None]]:
        now = datetime.now(timezone.utc)
        id = f"{now:%Y%m%dT%H%M%S%f}_{uuid4().hex[:8]}"
        about = {"id": id, "parent": parent, "branch": branch, "created_at": now.isoformat()}
        index = self._texts.entries.set(f"{_branch_prefix(location, branch)}{id}", about)
        return f"{location}#{id}", self._texts.store({_key(location, id): data}, [index])

    def prune(self, location: str, max_keep: int, *, branch: str = "main") -> int:
        return self._texts.bridge.run(self._prune(location, max_keep, branch))

    def _prune(self, location: str, max_keep: int, branch: str) -> Steps[int]:
        # Ids begin with the time, so the newest are the last.
        entries = yield from self._texts.entries.all(_branch_prefix(location, branch))
        old = entries[: max(len(entries) - max_keep, 0)]
        for entry in old:
            yield from self._texts.delete(_key(location, entry["value"]["id"]))
        yield from self._texts.entries.remove(entry["key"] for entry in old)
        return len(old)

    def extract_id(self, location: str) -> str:
        return location.rpartition("#")[2]

    def from_checkpoint(self, location: str) -> str:
        return self._found(location, self._texts.bridge.run(self._texts.load(_place(location))))

    async def afrom_checkpoint(self, location: str) -> str:
        text = await self._texts.bridge.run_async(self._texts.load(_place(location)))
        return self._found(location, text)

    def _found(self, location: str, text: str | None) -> str:
        if text is None:
            raise ValueError(f"there is no checkpoint at `{location}`")
        return text

    def branches(self, location: str) -> list[str]:
        """The branches of a location that have checkpoints."""
        prefix = f"b/{quote(location, safe='')}/"
        entries = self._texts.bridge.run(self._texts.entries.all(prefix))
        return sorted({unquote(it["key"][len(prefix) :].partition("/")[0]) for it in entries})


def checkpoint_config(
    client: Baton, location: str, *, namespace: str = NAMESPACE, **options: Any
) -> CheckpointConfig:
    """A `CheckpointConfig` for a crew, flow or agent whose checkpoints are in a workspace.

    CrewAI accepts only its own providers as an argument, so it is set afterwards.
    """
    config = CheckpointConfig(location=location, **options)
    provider: Any = BatonCheckpointProvider(client, namespace=namespace)
    config.provider = provider
    return config


def _key(location: str, id: str) -> str:
    return f"c/{quote(location, safe='')}/{quote(id, safe='')}"


def _place(location: str) -> str:
    where, _, id = location.rpartition("#")
    return _key(where, id)


def _branch_prefix(location: str, branch: str) -> str:
    return f"b/{quote(location, safe='')}/{quote(branch, safe='')}/"


__all__ = ["BatonCheckpointProvider", "BatonFlowPersistence", "checkpoint_config"]
