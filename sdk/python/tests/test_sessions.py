"""The session of an agent that works or holds something: it is kept, and work can do without it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

import pytest

import baton
from conftest import Server

SESSION_MS = 3_000
"""Much shorter than a lease, and long enough for a machine that is busy."""


def status(b: baton.Baton, agent: str) -> str:
    """It is read as another agent: `agents.get` counts as a call of the agent."""
    return next(each.status for each in b.agents.list().agents if each.id == agent)


def outlive(b: baton.Baton) -> None:
    """Waits until a session that begins now, and is not renewed, has ended: that of bob has not."""
    b.as_agent("silent").agents.register(ttl_ms=SESSION_MS)
    while status(b, "silent") == "active":
        time.sleep(0.02)
    assert status(b, "bob") == "active"


def until_idle(b: baton.Baton) -> None:
    while b.tasks.stats().claims_waiting == 0:
        time.sleep(0.02)


@pytest.fixture
def bob(b: baton.Baton) -> baton.Baton:
    bob = b.as_agent("bob")
    bob.agents.register(ttl_ms=SESSION_MS)
    return bob


@contextmanager
def running(worker: baton.Worker) -> Generator[None]:
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join()


def test_a_worker_renews_its_lease_often_enough_for_its_session(
    b: baton.Baton, bob: baton.Baton
) -> None:
    b.tasks.create("slow", id="t")
    worker = bob.worker(lease=60)

    @worker.task("slow")
    def slow(_: baton.Job) -> str:
        worker.stop()
        outlive(b)
        return "done"

    assert worker.run().completed == 1
    task = b.tasks.get("t")
    assert (task.status, task.attempts) == ("completed", 1)


HOLDS: dict[str, Callable[[baton.Baton], baton.Hold]] = {
    "lock": lambda bob: bob.lock("door"),
    "semaphore": lambda bob: bob.semaphore("gpu", permits=1),
}


@pytest.mark.parametrize("kind", HOLDS)
def test_a_hold_is_renewed_often_enough_for_the_session(
    b: baton.Baton, bob: baton.Baton, kind: str
) -> None:
    with HOLDS[kind](bob) as hold:
        outlive(b)
        assert not hold.lost


@pytest.mark.parametrize("reads_mail", [False, True])
def test_a_worker_whose_session_ends_while_it_waits_continues(
    b: baton.Baton, bob: baton.Baton, reads_mail: bool
) -> None:
    worker = bob.worker()

    @worker.task("count")
    def count(_: baton.Job) -> None:
        return None

    if reads_mail:

        @worker.message
        def ignore(_: baton.Mail) -> None:
            return None

    with running(worker):
        until_idle(b)
        # Another program of the agent ends its session, and then begins another one.
        bob.agents.leave()
        until_idle(b)
        bob.agents.register(ttl_ms=SESSION_MS)
        b.tasks.create("count", id="t")
        assert b.gather("t", wait=60) == [None]


def test_a_job_is_lost_with_the_session(b: baton.Baton, bob: baton.Baton) -> None:
    b.tasks.create("slow", id="t", max_retries=0)
    worker = bob.worker()
    lost: list[baton.LeaseLost] = []

    @worker.task("slow")
    def slow(job: baton.Job) -> None:
        worker.stop()
        outlive(b)
        job.on_lost(lost.append)
        b.as_agent("bob").agents.leave()
        while not lost:
            time.sleep(0.02)

    assert worker.run().lost == 1
    assert [error.code for error in lost] == ["client.lease_lost"]


def test_a_job_whose_result_is_refused_is_lost(b: baton.Baton, bob: baton.Baton) -> None:
    b.tasks.create("slow", id="t", max_retries=0)
    worker = bob.worker()
    jobs: list[baton.Job] = []

    @worker.task("slow")
    def slow(job: baton.Job) -> None:
        worker.stop()
        jobs.append(job)
        bob.agents.leave()

    assert worker.run().lost == 1
    assert jobs[0].lost


def test_a_service_whose_session_is_ended_registers_again(b: baton.Baton) -> None:
    bob = b.as_agent("bob")
    service = bob.service(ttl=SESSION_MS / 1000)

    @service.handler("double")
    def double(message: baton.types.Message) -> int:
        return 2 * message.body

    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        while not b.handlers.list().handlers:
            time.sleep(0.02)
        # When it has answered, it waits for the next request.
        assert b.request({"handler": "double"}, 1) == 2
        bob.agents.leave()
        while not b.handlers.list().handlers:
            time.sleep(0.02)
        assert b.request({"handler": "double"}, 2) == 4
    finally:
        service.stop()
        thread.join()


# The same with asyncio.


@asynccontextmanager
async def pair(server: Server, workspace: str) -> AsyncGenerator[tuple[baton.AsyncBaton, ...]]:
    async with await baton.connect_async(server.url, workspace=workspace, agent="ada") as ada:
        bob = ada.as_agent("bob")
        await bob.agents.register(ttl_ms=SESSION_MS)
        yield ada, bob


async def status_async(b: baton.AsyncBaton, agent: str) -> str:
    return next(each.status for each in (await b.agents.list()).agents if each.id == agent)


async def outlive_async(b: baton.AsyncBaton) -> None:
    await b.as_agent("silent").agents.register(ttl_ms=SESSION_MS)
    while await status_async(b, "silent") == "active":
        await asyncio.sleep(0.02)
    assert await status_async(b, "bob") == "active"


async def test_a_worker_and_a_lock_keep_the_session_async(
    shared_server: Server, workspace: str
) -> None:
    async with pair(shared_server, workspace) as (ada, bob):
        await ada.tasks.create("slow", id="t")
        worker = bob.worker(lease=60)

        @worker.task("slow")
        async def slow(_: baton.AsyncJob) -> str:
            worker.stop()
            await outlive_async(ada)
            return "done"

        assert (await worker.run()).completed == 1
        assert (await ada.tasks.get("t")).attempts == 1
        async with bob.lock("door"):
            await outlive_async(ada)


async def test_a_worker_whose_session_ends_while_it_waits_continues_async(
    shared_server: Server, workspace: str
) -> None:
    async with pair(shared_server, workspace) as (ada, bob):
        worker = bob.worker()

        @worker.task("count")
        async def count(_: baton.AsyncJob) -> None:
            worker.stop()

        working = asyncio.create_task(worker.run())
        while (await ada.tasks.stats()).claims_waiting == 0:
            await asyncio.sleep(0.02)
        await bob.agents.leave()
        await ada.tasks.create("count", id="t")
        assert (await working).completed == 1


async def test_a_handler_is_cancelled_when_its_lease_was_lost_with_the_session_async(
    shared_server: Server, workspace: str
) -> None:
    async with pair(shared_server, workspace) as (ada, bob):
        await ada.tasks.create("slow", id="t", max_retries=0)
        worker = bob.worker()
        cancelled = False

        @worker.task("slow")
        async def slow(_: baton.AsyncJob) -> None:
            nonlocal cancelled
            worker.stop()
            await outlive_async(ada)
            await ada.as_agent("bob").agents.leave()
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                cancelled = True
                raise

        assert (await worker.run()).lost == 1
        assert cancelled
