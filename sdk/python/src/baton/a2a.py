"""The Agent2Agent protocol on Baton: the tasks of agents that are built on `a2a-sdk`.

    async with baton.connect_async(agent="reviewer") as b:
        handler = DefaultRequestHandler(
            agent_executor=Reviewer(), task_store=BatonTaskStore(b), agent_card=card
        )

Needs the extra `a2a`.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any
from urllib.parse import quote

from a2a.server.context import ServerCallContext
from a2a.server.owner_resolver import OwnerResolver, resolve_user_scope
from a2a.server.tasks.task_store import TaskStore
from a2a.types.a2a_pb2 import ListTasksRequest, ListTasksResponse, Task
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import InvalidParamsError
from google.protobuf.json_format import MessageToJson, Parse

from ._bridge import Bridge, Client, Steps
from ._entries import Entries, Entry, grouped
from .errors import Conflict

NAMESPACE = "a2a"
_TIME_MAX = 10**19


class BatonTaskStore(TaskStore):
    """A `TaskStore` of `a2a-sdk` in a workspace of Baton: the tasks of an agent survive it, every
    process of the agent sees them, and earlier states are in the history of the workspace.

    | key | entry |
    |---|---|
    | `t/OWNER/ID` | a task, as JSON |
    | `x/OWNER/TIME/ID` | that there is one; the last changed is listed first |

    Args:
        client: A `Baton` or an `AsyncBaton`.
        namespace: The namespace of the entries, which is created when it is first used.
        owner_resolver: Whose tasks a caller sees; by default, those of the same user.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespace: str = NAMESPACE,
        owner_resolver: OwnerResolver = resolve_user_scope,
    ) -> None:
        self._bridge = Bridge(client)
        self._entries = Entries(namespace)
        self._owner_resolver = owner_resolver

    def _owner(self, context: ServerCallContext) -> str:
        return quote(self._owner_resolver(context), safe="") or "-"

    async def save(self, task: Task, context: ServerCallContext) -> None:
        await self._bridge.run_async(self._save(self._owner(context), task))

    def _save(self, owner: str, task: Task) -> Steps[None]:
        key, index = _key(owner, task.id), _index_key(owner, task)
        about = {
            "id": task.id,
            "context": task.context_id,
            "state": int(task.status.state),
            "time": _time(task),
        }
        text = MessageToJson(task, indent=None)
        while True:
            old = yield from self._entries.find(key)
            *parts, head = self._entries.set_text(key, text)
            head["value"]["index"] = index
            commands = [head, self._entries.set(index, about)]
            stale: list[str] = []
            if old is not None:
                stale = self._entries.text_keys(key, old["value"])[1:]
                if old["value"]["index"] != index:
                    commands.append(self._entries.delete(old["value"]["index"]))
            version = 0 if old is None else old["version"]
            where = {"namespace": self._entries.namespace, "key": key, "version": version}
            for group in grouped(parts):
                yield from self._entries.commit(group)
            try:
                yield from self._entries.commit(commands, [{"entry": where}])
            except Conflict as error:
                yield from self._entries.remove(part["key"] for part in parts)
                if error.code != "transaction.precondition_failed":
                    raise
            else:
                yield from self._entries.remove(stale)
                return

    async def get(self, task_id: str, context: ServerCallContext) -> Task | None:
        text = await self._bridge.run_async(self._get(_key(self._owner(context), task_id)))
        return None if text is None else Parse(text, Task(), ignore_unknown_fields=True)

    def _get(self, key: str) -> Steps[str | None]:
        entry = yield from self._entries.find(key)
        if entry is None:
            return None
        return (yield from self._entries.text_of(key, entry["value"]))

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        size = params.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
        after = _decoded(params.page_token) if params.page_token else ""
        steps = self._list(self._owner(context), params, after, size)
        total, last, texts = await self._bridge.run_async(steps)
        return ListTasksResponse(
            tasks=[Parse(text, Task(), ignore_unknown_fields=True) for text in texts],
            next_page_token=_encoded(last) if last else "",
            total_size=total,
            page_size=size,
        )

    def _list(
        self, owner: str, params: ListTasksRequest, after: str, size: int
    ) -> Steps[tuple[int, str, list[str]]]:
        found = yield from self._entries.all(f"x/{owner}/")
        matching = [entry for entry in found if _matches(params, entry["value"])]
        later = [entry for entry in matching if entry["key"] > after]
        page: list[Entry] = later[:size]
        texts: list[str] = []
        for entry in page:
            text = yield from self._get(_key(owner, entry["value"]["id"]))
            # It may have been deleted since it was listed.
            if text is not None:
                texts.append(text)
        last = page[-1]["key"] if len(later) > size else ""
        return len(matching), last, texts

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        await self._bridge.run_async(self._delete(_key(self._owner(context), task_id)))

    def _delete(self, key: str) -> Steps[None]:
        entry = yield from self._entries.find(key)
        if entry is not None:
            value: dict[str, Any] = entry["value"]
            yield from self._entries.remove([*self._entries.text_keys(key, value), value["index"]])


def _key(owner: str, id: str) -> str:
    return f"t/{owner}/{quote(id, safe='')}"


def _time(task: Task) -> int | None:
    """When the status was set, in nanoseconds."""
    has_time = task.HasField("status") and task.status.HasField("timestamp")
    return task.status.timestamp.ToNanoseconds() if has_time else None


def _index_key(owner: str, task: Task) -> str:
    # A task without a time comes after all others.
    return f"x/{owner}/{_TIME_MAX - (_time(task) or 0):020}/{quote(task.id, safe='')}"


def _matches(params: ListTasksRequest, about: dict[str, Any]) -> bool:
    if params.context_id and about["context"] != params.context_id:
        return False
    if params.status and about["state"] != params.status:
        return False
    if not params.HasField("status_timestamp_after"):
        return True
    since = params.status_timestamp_after.ToNanoseconds()
    return about["time"] is not None and about["time"] >= since


def _encoded(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode()


def _decoded(token: str) -> str:
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise InvalidParamsError(f"invalid page token: {token}") from error
