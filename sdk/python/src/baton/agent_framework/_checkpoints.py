"""Checkpoints of workflows of the Agent Framework, as entries of a workspace.

c/ID                       a checkpoint, as JSON
w/WORKFLOW/TIME/ID         that it belongs to a workflow; the latest is listed first
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

from agent_framework import WorkflowCheckpoint, WorkflowCheckpointException
from agent_framework._workflows._checkpoint_encoding import (
    decode_checkpoint_value,
    encode_checkpoint_value,
)

from .._bridge import Bridge, Client, Steps
from .._entries import Entries, Entry

NAMESPACE = "agent-framework"
_TIME_MAX = 10**18


class BatonCheckpointStorage:
    """A `CheckpointStorage` of the Agent Framework in a workspace of Baton.

    Values that are not JSON are pickled by the framework. Only its own types, and those that are
    named, are restored.

    Args:
        client: A `Baton` or an `AsyncBaton`.
        allowed_checkpoint_types: Types that may be restored, as `module:name`.
        namespace: The namespace of the entries, which is created when it is first used.
    """

    def __init__(
        self,
        client: Client,
        *,
        allowed_checkpoint_types: Iterable[str] = (),
        namespace: str = NAMESPACE,
    ) -> None:
        self._bridge = Bridge(client)
        self._entries = Entries(namespace)
        self._allowed = frozenset(allowed_checkpoint_types)

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        try:
            encoded = encode_checkpoint_value(checkpoint.to_dict())
            # Values that cannot be restored are refused now, not when they are needed.
            decode_checkpoint_value(encoded, allowed_types=self._allowed)
        except WorkflowCheckpointException:
            raise
        except Exception as error:
            raise WorkflowCheckpointException(
                f"checkpoint `{checkpoint.checkpoint_id}` cannot be stored: {error}"
            ) from error
        await self._bridge.run_async(self._save(checkpoint, json.dumps(encoded)))
        return checkpoint.checkpoint_id

    def _save(self, checkpoint: WorkflowCheckpoint, text: str) -> Steps[None]:
        key, index = _key(checkpoint.checkpoint_id), _index_key(checkpoint)
        old = yield from self._entries.find(key)
        *parts, head = self._entries.set_text(key, text)
        head["value"]["index"] = index
        about = {"id": checkpoint.checkpoint_id, "previous": checkpoint.previous_checkpoint_id}
        yield from self._entries.write(parts, [head, self._entries.set(index, about)])
        if old is not None:
            keys = [*self._entries.text_keys(key, old["value"])[1:], old["value"]["index"]]
            yield from self._entries.remove(it for it in keys if it != index)

    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        text = await self._bridge.run_async(self._load(checkpoint_id))
        if text is None:
            raise WorkflowCheckpointException(f"there is no checkpoint `{checkpoint_id}`")
        return self._decoded(text)

    def _load(self, id: str) -> Steps[str | None]:
        entry = yield from self._entries.find(_key(id))
        if entry is None:
            return None
        return (yield from self._entries.text_of(_key(id), entry["value"]))

    def _decoded(self, text: str) -> WorkflowCheckpoint:
        decoded = decode_checkpoint_value(json.loads(text), allowed_types=self._allowed)
        return WorkflowCheckpoint.from_dict(decoded)

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        texts = await self._bridge.run_async(self._all(workflow_name))
        return [self._decoded(text) for text in texts]

    def _all(self, workflow: str) -> Steps[list[str]]:
        texts: list[str] = []
        for entry in (yield from self._oldest_first(workflow)):
            text = yield from self._load(entry["value"]["id"])
            if text is not None:
                texts.append(text)
        return texts

    def _oldest_first(self, workflow: str) -> Steps[list[Entry]]:
        return (yield from self._entries.all(_prefix(workflow)))[::-1]

    async def list_checkpoint_ids(self, *, workflow_name: str) -> list[str]:
        entries = await self._bridge.run_async(self._oldest_first(workflow_name))
        return [entry["value"]["id"] for entry in entries]

    async def get_latest(self, *, workflow_name: str) -> WorkflowCheckpoint | None:
        text = await self._bridge.run_async(self._latest(workflow_name))
        return None if text is None else self._decoded(text)

    def _latest(self, workflow: str) -> Steps[str | None]:
        page = yield from self._entries.page(_prefix(workflow), 1)
        latest = next(iter(page["entries"]), None)
        return None if latest is None else (yield from self._load(latest["value"]["id"]))

    async def delete(self, checkpoint_id: str) -> bool:
        return await self._bridge.run_async(self._delete(checkpoint_id))

    def _delete(self, id: str) -> Steps[bool]:
        entry = yield from self._entries.find(_key(id))
        if entry is None:
            return False
        value: dict[str, Any] = entry["value"]
        yield from self._entries.remove([*self._entries.text_keys(_key(id), value), value["index"]])
        return True


def _key(id: str) -> str:
    return f"c/{quote(id, safe='')}"


def _prefix(workflow: str) -> str:
    return f"w/{quote(workflow, safe='')}/"


def _index_key(checkpoint: WorkflowCheckpoint) -> str:
    time = datetime.fromisoformat(checkpoint.timestamp)
    if time.tzinfo is None:
        time = time.replace(tzinfo=timezone.utc)
    microseconds = int(time.timestamp()) * 1_000_000 + time.microsecond
    place = f"{_TIME_MAX - microseconds:019}/{quote(checkpoint.checkpoint_id, safe='')}"
    return _prefix(checkpoint.workflow_name) + place
