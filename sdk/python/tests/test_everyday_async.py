"""The most common operations, against a real server, through `AsyncBaton`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

import baton
from conftest import Server


@pytest_asyncio.fixture
async def a(shared_server: Server, workspace: str) -> AsyncIterator[baton.AsyncBaton]:
    async with baton.connect_async(
        shared_server.url, workspace=f"async-{workspace}", agent="ada"
    ) as client:
        yield client


async def test_state(a: baton.AsyncBaton) -> None:
    await a.state.set("plan", {"step": 1})

    async def count() -> None:
        for _ in range(10):
            await a.state.update("counter", lambda value: value + 1, default=0)

    await asyncio.gather(*(count() for _ in range(5)))
    assert await a.state.value("counter") == 50
    async with a.state.edit("doc", default={}) as draft:
        draft.value["title"] = "Draft"
    with pytest.raises(baton.Conflict):
        async with a.state.edit("doc") as draft:
            await a.state.set("doc", 1)
    assert await a.state.value("doc") == 1
    notes = a.state.namespace("agent:ada")
    with pytest.raises(baton.NotFound):
        await notes.get("x")


async def test_a_batch(a: baton.AsyncBaton) -> None:
    async with a.batch() as batch:
        first = batch.state.set("plan", 1)
        read = batch.call("state.get", namespace="shared", key="plan")
    assert (first.result.version, read.result["value"]) == (1, 1)
    batch = a.batch()
    batch.state.set("plan", 2, expected_version=9)
    later = batch.state.set("plan", 3)
    with pytest.raises(baton.Conflict):
        await batch.send()
    assert later.result.version == 2


async def test_a_transaction(a: baton.AsyncBaton) -> None:
    async with a.transaction() as tx:
        tx.require_entry("plan", exists=False)
        plan = tx.state.set("plan", 1)
    assert plan.result.version == 1
    assert tx.revision == 1


async def test_a_worker_with_a_hand_off(a: baton.AsyncBaton) -> None:
    for number in range(5):
        await a.tasks.create("square", number, id=f"square-{number}")
    await a.tasks.create("write", id="write")
    await a.tasks.create("broken", id="broken", max_retries=0)
    worker = a.worker(concurrency=3)

    @worker.task("square")
    async def square(job: baton.AsyncJob) -> int:
        await job.progress(0.5)
        return job.input**2

    @worker.task("write")
    async def write(job: baton.AsyncJob) -> None:
        await job.handoff("bob", notes="your turn")

    @worker.task("broken")
    async def broken(job: baton.AsyncJob) -> None:
        raise ValueError("no")

    running = asyncio.ensure_future(worker.run())
    results = await a.gather(*(f"square-{number}" for number in range(5)), wait=30)
    assert results == [0, 1, 4, 9, 16]
    with pytest.raises(baton.TaskFailed):
        await a.gather("broken", wait=30)
    async for offer in a.as_agent("bob").handoffs.offers(wait=30):
        async with offer.work() as job:
            assert job.accepted.handoff.notes == "your turn"
            job.result = "written"
        break
    assert (await a.tasks.get("write")).result == "written"
    worker.stop()
    worked = await asyncio.wait_for(running, 20)
    assert (worked.completed, worked.handed_over, worked.failed) == (5, 1, 1)


async def test_a_worker_takes_handoffs_messages_and_tasks(a: baton.AsyncBaton) -> None:
    bob = a.as_agent("bob")
    worker = bob.worker()
    seen: list[Any] = []

    @worker.task("count")
    async def count(job: baton.AsyncJob) -> int:
        seen.append(job.id)
        return 1

    @worker.handoff
    async def take(offer: baton.AsyncOffer) -> None:
        seen.append(offer.handoff.reason)
        await offer.reject("busy")

    @worker.message
    async def read(mail: baton.AsyncMail) -> None:
        seen.append(mail.body)

    await a.tasks.create("count", id="one")
    await a.send("bob", "hello")
    offered = await a.handoffs.offer("bob", reason="yours")
    done = worker.run(until=lambda it: it.completed + it.handoffs + it.messages == 3)
    await asyncio.wait_for(done, 30)
    assert seen == ["yours", "hello", "one"]
    assert (await a.handoffs.get(offered.id)).status == "rejected"


async def test_a_handler_that_loses_its_lease_is_cancelled(a: baton.AsyncBaton) -> None:
    await a.tasks.create("slow", id="t")
    worker = a.worker(lease=1)
    ended: list[BaseException] = []

    @worker.task("slow")
    async def slow(job: baton.AsyncJob) -> None:
        await a.as_agent("eve").tasks.cancel("t")
        try:
            await asyncio.sleep(60)
        except BaseException as error:
            ended.append(error)
            raise

    await asyncio.wait_for(worker.run(until=lambda worked: worked.lost == 1), 30)
    assert [type(error) for error in ended] == [asyncio.CancelledError]


async def test_locks_and_sessions(a: baton.AsyncBaton) -> None:
    bob = a.as_agent("bob")
    async with a.lock("repo", ttl=30):
        with pytest.raises(baton.NotAcquired):
            async with bob.lock("repo", wait=0.05):
                pass
        waiting = asyncio.ensure_future(bob.locks.acquire("repo", wait_ms=20_000))
        await asyncio.sleep(0.05)
    hold = await waiting
    assert hold is not None
    async with a.session(capabilities=["x"]):
        assert (await a.agents.get()).capabilities == ["x"]
    async with a.semaphore("models", 2) as one, bob.semaphore("models", 2) as two:
        assert one.token != two.token
    async with a.semaphore("memory", 4, weight=3):
        assert (await a.semaphores.get("memory")).free == 1


async def test_several_tasks_and_the_next_message_come_with_one_call(a: baton.AsyncBaton) -> None:
    for number in range(2):
        await a.tasks.create("part", number, id=f"part-{number}")
    assert [task.id for task in await a.tasks.claim_several(5, "part")] == ["part-0", "part-1"]
    bob = a.as_agent("bob")
    await bob.agents.register()
    await bob.handlers.register("echo")
    asking = asyncio.ensure_future(a.request({"handler": "echo"}, 1))
    async for mail in bob.inbox.messages(wait=20):
        failed = bob.messages.reply_and_receive(mail.message.id, error="no", wait=0.01)
        assert await failed is None
        break
    with pytest.raises(baton.BatonError) as caught:
        await asking
    assert caught.value.code == "message.handler_failed"


async def test_messages_streams_and_topics(a: baton.AsyncBaton) -> None:
    bob = a.as_agent("bob")
    service = bob.service(concurrency=2)

    @service.handler("size")
    async def size(message: baton.types.Message) -> int:
        return len(message.body)

    running = asyncio.ensure_future(service.run())
    while not (await a.handlers.list()).handlers:
        await asyncio.sleep(0.01)
    assert await a.request({"handler": "size"}, "four") == 4
    service.stop()
    served = await asyncio.wait_for(running, 20)
    assert served.answered == 1
    await a.send("bob", "hello")
    async for mail in bob.inbox.messages(wait=10):
        assert mail.body == "hello"
        await mail.ack()
        break
    async with a.streams.writer("s") as stream:
        await stream.send(1, 2)
    assert [frame.data async for frame in a.streams.read("s")] == [1, 2]
    async with await a.topics.subscribe("news") as posts:
        await a.topics.publish("news", 7)
        post = await posts.next(10)
        assert post is not None
        assert post["body"] == 7


async def test_checkpoints_artifacts_secrets_and_pages(a: baton.AsyncBaton) -> None:
    thread = a.checkpoints.thread("t")
    assert await thread.state("none") == "none"
    await thread.save({"step": 1})
    assert await thread.state() == {"step": 1}
    artifact = await a.artifacts.put(b"data", name="d")
    assert await a.artifacts.read(artifact.artifact) == b"data"
    secret = await a.secrets.put("s")
    assert await a.secrets.reveal(secret.secret) == b"s"
    for number in range(3):
        await a.tasks.create("x", id=f"x-{number}")
    pages = [page async for page in baton.async_pages(a.tasks.list, limit=2)]
    assert sum(len(page.tasks) for page in pages) == 3


async def test_rules_that_are_coroutine_functions(a: baton.AsyncBaton) -> None:
    @a.rules.callback("slow")
    async def slow(proposal: baton.Proposal) -> str:
        await asyncio.sleep(0)
        return "no"

    with pytest.raises(baton.Conflict):
        await a.handoffs.offer("bob")
    assert not (await a.handoffs.validate("bob")).valid


async def test_many_calls_at_once(a: baton.AsyncBaton) -> None:
    await asyncio.gather(*(a.state.patch("n", increment=1) for _ in range(500)))
    assert await a.state.value("n") == 500
