"""`BatonTaskStore` does what the store of `a2a-sdk` does. `scripts/a2a_peers.py` has it below an
agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore, TaskStore
from a2a.types.a2a_pb2 import ListTasksRequest, Task, TaskState
from a2a.utils.errors import InvalidParamsError

import baton
from baton.a2a import BatonTaskStore
from conftest import Server, StartServer

WORKING, COMPLETED = TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_COMPLETED
CONTEXT = ServerCallContext()


def task(id: str, seconds: int, state: TaskState = WORKING, context: str = "c") -> Task:
    made = Task(id=id, context_id=context)
    made.status.state = state
    made.status.timestamp.seconds = seconds
    return made


@pytest.fixture
async def client(shared_server: Server, workspace: str) -> AsyncIterator[baton.AsyncBaton]:
    async with baton.connect_async(shared_server.url, workspace=workspace) as b:
        yield b


@pytest.fixture(params=["memory", "async", "blocking"])
def store(
    request: pytest.FixtureRequest,
    client: baton.AsyncBaton,
    shared_server: Server,
    workspace: str,
) -> Iterator[TaskStore]:
    """The store of the package, and that of Baton with either client."""
    if request.param == "memory":
        yield InMemoryTaskStore()
        return
    if request.param == "async":
        yield BatonTaskStore(client)
        return
    with baton.connect(shared_server.url, workspace=workspace) as b:
        yield BatonTaskStore(b)


async def ids(store: TaskStore, params: ListTasksRequest) -> list[str]:
    return [it.id for it in (await store.list(params, CONTEXT)).tasks]


async def test_tasks_are_stored_replaced_listed_and_deleted(store: TaskStore) -> None:
    assert await store.get("t-1", CONTEXT) is None
    await store.save(task("t-1", 1), CONTEXT)
    await store.save(task("t-2", 2, context="d"), CONTEXT)
    await store.save(task("t 3/?", 3), CONTEXT)
    assert await ids(store, ListTasksRequest()) == ["t 3/?", "t-2", "t-1"]
    done = task("t-1", 4, COMPLETED)
    done.artifacts.add(artifact_id="result").parts.add(text="x" * 600_000)
    done.history.add(message_id="m").parts.add(text="go")
    await store.save(done, CONTEXT)
    assert await store.get("t-1", CONTEXT) == done
    assert await ids(store, ListTasksRequest()) == ["t-1", "t 3/?", "t-2"]
    assert await ids(store, ListTasksRequest(context_id="d")) == ["t-2"]
    assert await ids(store, ListTasksRequest(status=COMPLETED)) == ["t-1"]
    since = ListTasksRequest()
    since.status_timestamp_after.seconds = 3
    assert await ids(store, since) == ["t-1", "t 3/?"]
    await store.delete("t-1", CONTEXT)
    await store.delete("t-1", CONTEXT)
    assert await store.get("t-1", CONTEXT) is None
    assert await ids(store, ListTasksRequest()) == ["t 3/?", "t-2"]


async def test_pages_have_every_task_once(store: TaskStore) -> None:
    for number in range(7):
        await store.save(task(f"t-{number}", number // 2), CONTEXT)
    seen: list[str] = []
    token = ""
    while True:
        page = await store.list(ListTasksRequest(page_size=2, page_token=token), CONTEXT)
        assert page.total_size == 7
        seen += [it.id for it in page.tasks]
        token = page.next_page_token
        if not token:
            break
    assert sorted(seen) == [f"t-{number}" for number in range(7)]
    with pytest.raises(InvalidParamsError):
        await store.list(ListTasksRequest(page_token="?"), CONTEXT)


async def test_owners_do_not_see_each_other(client: baton.AsyncBaton) -> None:
    ada = BatonTaskStore(client, owner_resolver=lambda _: "ada/1")
    bob = BatonTaskStore(client, owner_resolver=lambda _: "ada")
    await ada.save(task("t-1", 1), CONTEXT)
    assert await bob.get("t-1", CONTEXT) is None
    assert (await bob.list(ListTasksRequest(), CONTEXT)).total_size == 0
    assert (await ada.list(ListTasksRequest(), CONTEXT)).total_size == 1


async def test_writers_at_the_same_time_leave_one_task(client: baton.AsyncBaton) -> None:
    store = BatonTaskStore(client)
    await asyncio.gather(*(store.save(task("t-1", at), CONTEXT) for at in range(12)))
    listed = await store.list(ListTasksRequest(), CONTEXT)
    kept = await store.get("t-1", CONTEXT)
    assert listed.total_size == 1
    assert list(listed.tasks) == [kept]


async def test_tasks_survive_the_agent_and_the_server(start_server: StartServer) -> None:
    server = start_server()
    done = task("t-1", 1, COMPLETED)
    async with baton.connect_async(server.url) as b:
        await BatonTaskStore(b).save(done, CONTEXT)
    server.kill()
    server.start()
    async with baton.connect_async(server.url) as b:
        assert await BatonTaskStore(b).get("t-1", CONTEXT) == done
