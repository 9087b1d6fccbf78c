"""`baton.agent_framework` with Microsoft's Agent Framework itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    CheckpointStorage,
    Executor,
    InMemoryCheckpointStorage,
    Message,
    WorkflowBuilder,
    WorkflowCheckpoint,
    WorkflowCheckpointException,
    WorkflowContext,
    handler,
)

import baton
from baton.agent_framework import BatonCheckpointStorage, BatonHistoryProvider, BatonSessionStore
from conftest import Server, StartServer


@pytest.fixture
async def client(shared_server: Server, workspace: str) -> AsyncIterator[baton.AsyncBaton]:
    async with baton.connect_async(shared_server.url, workspace=workspace) as b:
        yield b


@dataclass
class Point:
    x: int


class Scripted(BaseChatClient[Any]):
    """A model that says what it is given, and remembers what it saw."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self.answers = list(answers)
        self.seen: list[list[str]] = []

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **kwargs: Any,
    ) -> Any:
        async def answer() -> ChatResponse[Any]:
            self.seen.append([message.text for message in messages])
            return ChatResponse(messages=[Message("assistant", [self.answers.pop(0)])])

        awaitable: Awaitable[ChatResponse[Any]] = answer()
        return awaitable


# Checkpoints.


async def contract(storage: CheckpointStorage) -> list[Any]:
    """The results of a storage, for a comparison."""
    out: list[Any] = []
    begun = datetime(2026, 1, 1, tzinfo=timezone.utc)
    out.append(await storage.get_latest(workflow_name="w"))
    for number in (2, 0, 1):
        made = WorkflowCheckpoint(
            workflow_name="w" if number else "w/other",
            graph_signature_hash="g",
            checkpoint_id=f"c/{number}",
            timestamp=(begun + timedelta(microseconds=number)).isoformat(),
            previous_checkpoint_id=f"c/{number - 1}" if number else None,
            state={"n": number, "point": {"nested": (1, {2})}, "text": "é" * 300_000 * number},
            iteration_count=number,
            metadata={"k": None},
        )
        out.append(await storage.save(made))
    loaded = await storage.load("c/1")
    out.append(loaded.to_dict())
    loaded.state["n"] = 9
    out.append((await storage.load("c/1")).state["n"])
    for name in ("w", "w/other", "none"):
        listed = await storage.list_checkpoints(workflow_name=name)
        out.append(sorted(it.checkpoint_id for it in listed))
        out.append(sorted(await storage.list_checkpoint_ids(workflow_name=name)))
        latest = await storage.get_latest(workflow_name=name)
        out.append(latest and latest.checkpoint_id)
    # The same id again replaces it.
    loaded.timestamp = (begun + timedelta(days=1)).isoformat()
    await storage.save(loaded)
    latest = await storage.get_latest(workflow_name="w")
    out.append(latest and (latest.checkpoint_id, latest.state["n"]))
    out.append(len(await storage.list_checkpoints(workflow_name="w")))
    out.append(await storage.delete("c/1"))
    out.append(await storage.delete("c/1"))
    with pytest.raises(WorkflowCheckpointException):
        await storage.load("c/1")
    latest = await storage.get_latest(workflow_name="w")
    out.append(latest and latest.checkpoint_id)
    return out


async def test_checkpoints_are_as_those_in_memory(client: baton.AsyncBaton, b: baton.Baton) -> None:
    expected = await contract(InMemoryCheckpointStorage())
    assert await contract(BatonCheckpointStorage(client)) == expected
    other = b.in_workspace("blocking-client")
    assert await contract(BatonCheckpointStorage(other)) == expected
    storage = BatonCheckpointStorage(other)
    for id in ("c/0", "c/2"):
        assert await storage.delete(id)
    assert other.state.namespace("agent-framework").list().entries == []


async def test_only_named_types_are_restored(client: baton.AsyncBaton) -> None:
    made = WorkflowCheckpoint("w", "g", state={"point": Point(1)})
    with pytest.raises(WorkflowCheckpointException, match="Point"):
        await BatonCheckpointStorage(client).save(made)
    allowed = [f"{Point.__module__}:{Point.__qualname__}"]
    storage = BatonCheckpointStorage(client, allowed_checkpoint_types=allowed)
    id = await storage.save(made)
    assert (await storage.load(id)).state == {"point": Point(1)}
    with pytest.raises(WorkflowCheckpointException):
        await BatonCheckpointStorage(client).load(id)


class Add(Executor):
    is_broken = False

    @handler
    async def add(self, number: int, ctx: WorkflowContext[int, int]) -> None:
        if self.id == "three" and Add.is_broken:
            raise RuntimeError("the model is down")
        count = ctx.get_state("count") or 0
        ctx.set_state("count", count + 1)
        if self.id == "three":
            await ctx.yield_output(number + 1)
        else:
            await ctx.send_message(number + 1)


def workflow(storage: CheckpointStorage) -> Any:
    one, two, three = Add(id="one"), Add(id="two"), Add(id="three")
    builder = WorkflowBuilder(start_executor=one, checkpoint_storage=storage, name="sum")
    return builder.add_edge(one, two).add_edge(two, three).build()


async def test_a_workflow_continues_after_the_server_was_killed(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_server()
    monkeypatch.setattr(Add, "is_broken", True)
    async with baton.connect_async(server.url) as b:
        with pytest.raises(RuntimeError, match="the model is down"):
            await workflow(BatonCheckpointStorage(b)).run(1)
    server.kill()
    server.start()
    monkeypatch.setattr(Add, "is_broken", False)
    async with baton.connect_async(server.url) as b:
        storage = BatonCheckpointStorage(b)
        latest = await storage.get_latest(workflow_name="sum")
        assert latest is not None
        result = await workflow(storage).run(checkpoint_id=latest.checkpoint_id)
        assert result.get_outputs() == [4]
        last = await storage.get_latest(workflow_name="sum")
        assert last is not None
        assert last.state["count"] == 3


# Histories.


async def test_a_history_is_shared_by_processes(client: baton.AsyncBaton, b: baton.Baton) -> None:
    model = Scripted("Hello Ada.", "You are Ada.")
    session = AgentSession(session_id="c/7")
    for handle in (client, b):
        agent = Agent(model, context_providers=[BatonHistoryProvider(handle)])
        said = "Who am I?" if handle is b else "I am Ada."
        await agent.run(said, session=session)
    assert model.seen[1] == ["I am Ada.", "Hello Ada.", "Who am I?"]
    history = BatonHistoryProvider(b)
    found = await history.get_messages("c/7")
    assert [it.role for it in found] == ["user", "assistant"] * 2
    assert len(await BatonHistoryProvider(b, limit=1).get_messages("c/7")) == 1
    assert await history.get_messages("other") == []
    await history.clear("c/7")
    assert await history.get_messages("c/7") == []


async def test_messages_stored_at_the_same_time_are_all_kept(client: baton.AsyncBaton) -> None:
    async def save(number: int) -> None:
        pair = [Message("user", [f"{number}a"]), Message("assistant", [f"{number}b"])]
        await BatonHistoryProvider(client).save_messages("s", pair)

    await asyncio.gather(*map(save, range(8)))
    found = [it.text for it in await BatonHistoryProvider(client).get_messages("s")]
    assert len(found) == 16
    assert all(a[:-1] == b[:-1] for a, b in zip(found[::2], found[1::2], strict=True))


# Sessions.


async def test_sessions_are_stored_and_never_overwritten_blindly(
    client: baton.AsyncBaton,
) -> None:
    store = BatonSessionStore(client)
    assert await store.get("s/1") is None
    session = AgentSession(session_id="s/1")
    session.state["plan"] = {"message": Message("user", ["hi"]), "text": "x" * 600_000}
    await store.set("s/1", session)
    one, two = await store.get("s/1"), await BatonSessionStore(client).get("s/1")
    assert one is not None
    assert two is not None
    assert one.state["plan"]["text"] == "x" * 600_000
    assert one.state["plan"]["message"].text == "hi"
    one.state["plan"] = 1
    await store.set("s/1", one)
    one.state["plan"] = 2
    await store.set("s/1", one)
    session.state["plan"] = "stale"
    with pytest.raises(baton.Conflict, match="read it again"):
        await store.set("s/1", session)
    again = await store.get("s/1")
    assert again is not None
    assert again.state["plan"] == 2
    await store.set("s/1", AgentSession(session_id="s/1"))
    await store.delete("s/1")
    await store.delete("s/1")
    assert await store.get("s/1") is None
    assert (await client.state.namespace("agent-framework").list()).entries == []
    with pytest.raises(ValueError, match="non-empty"):
        await store.get("")
