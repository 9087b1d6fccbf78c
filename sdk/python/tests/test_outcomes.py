"""What handlers raise and return that cannot be stored as it is: it is reported nevertheless."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

import baton
from conftest import Server

LONG = "x" * 2_000_000
HALF = "\ud83d"


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raising(error: BaseException) -> Callable[[Any], Any]:
    def handler(_: Any) -> Any:
        raise error

    return handler


def returning(result: Any) -> Callable[[Any], Any]:
    return lambda _: result


def recorded(error: Any) -> str:
    """What identifies an error: its code, its text, or both ends of it."""
    if isinstance(error, str):
        return error
    return str(error.get("code") or f"{error['type']}: {error['detail']}")


HANDLERS = [
    (raising(baton.RetryLater(ConnectionError("busy"))), "pending", "ConnectionError: busy"),
    (raising(baton.GiveUp(ValueError("no"))), "failed", "ValueError: no"),
    (raising(baton.GiveUp(LONG)), "failed", "(2000000 characters)"),
    (raising(baton.GiveUp({"b": b"x"})), "failed", "client.not_json"),
    (raising(baton.RetryLater({"b": b"x"})), "pending", "client.not_json"),
    (raising(baton.GiveUp({"long": LONG})), "failed", "task.too_large"),
    (raising(ValueError(LONG)), "pending", "(2000000 characters)"),
    (raising(ValueError("\x01" * 60_000)), "pending", "(60000 characters)"),
    (raising(ValueError("x" * 50_000)), "pending", "xxx"),
    (raising(ValueError(HALF)), "pending", "ValueError: \ufffd"),
    (raising(Silent()), "pending", "Silent: the exception cannot be shown as text"),
    (returning(LONG), "failed", "task.too_large"),
    (returning(b"x"), "failed", "client.not_json"),
]


@pytest.mark.parametrize(("handler", "status", "error"), HANDLERS)
def test_a_worker_reports_every_try(
    b: baton.Baton, handler: Callable[[Any], Any], status: str, error: str
) -> None:
    b.tasks.create("odd", id="t", max_retries=3, backoff={"initial_ms": 60_000})
    worker = b.worker()
    worker.task("odd")(handler)
    worked = worker.run(until=lambda _: True)
    assert (worked.failed, worked.lost) == (1, 0)
    task = b.tasks.get("t")
    assert task.status == status
    assert recorded(task.error).endswith(error)


@pytest.mark.parametrize(("handler", "status", "error"), HANDLERS)
async def test_an_async_worker_reports_every_try(
    shared_server: Server,
    workspace: str,
    handler: Callable[[Any], Any],
    status: str,
    error: str,
) -> None:
    async with baton.connect_async(shared_server.url, workspace=workspace, agent="ada") as a:
        await a.tasks.create("odd", id="t", max_retries=3, backoff={"initial_ms": 60_000})
        worker = a.worker()

        @worker.task("odd")
        async def odd(job: baton.AsyncJob) -> Any:
            return handler(job)

        worked = await worker.run(until=lambda _: True)
        assert (worked.failed, worked.lost) == (1, 0)
        task = await a.tasks.get("t")
        assert task.status == status
        assert recorded(task.error).endswith(error)


def test_a_release_with_a_long_reason(b: baton.Baton) -> None:
    b.tasks.create("odd", id="t")
    worker = b.worker()
    worker.task("odd")(raising(baton.Release(LONG)))
    assert worker.run(until=lambda _: True).released == 1
    assert b.tasks.get("t").status == "pending"


def test_a_block_settles_its_task(b: baton.Baton) -> None:
    for id in ("raises", "large", "odd", "explicit"):
        b.tasks.create("part", id=id, max_retries=0)
    with pytest.raises(ValueError, match="xxx"), b.claim(task="raises"):
        raise ValueError(LONG)
    with pytest.raises(baton.TooLarge), b.claim(task="large") as job:
        job.result = LONG
    with pytest.raises(baton.NotJson), b.claim(task="odd") as job:
        job.result = b"x"
    with b.claim(task="explicit") as job:
        job.fail(ValueError("no"))
    errors = {it.id: recorded(it.error) for it in b.tasks.list().tasks if it.status == "failed"}
    assert errors["raises"].startswith("ValueError: xxx")
    assert errors["large"] == "task.too_large"
    assert errors["odd"] == "client.not_json"
    assert errors["explicit"] == "ValueError: no"


async def test_an_async_block_settles_its_task(shared_server: Server, workspace: str) -> None:
    async with baton.connect_async(shared_server.url, workspace=workspace, agent="ada") as a:
        for id in ("raises", "large"):
            await a.tasks.create("part", id=id, max_retries=0)
        with pytest.raises(ValueError, match="xxx"):
            async with a.claim(task="raises"):
                raise ValueError(LONG)
        with pytest.raises(baton.TooLarge):
            async with a.claim(task="large") as job:
                job.result = LONG
        tasks = (await a.tasks.list()).tasks
        assert [it.status for it in tasks] == ["failed", "failed"]


ANSWERS: list[tuple[Callable[[Any], Any], str]] = [
    (returning(b"x"), "not_json"),
    (returning(LONG), "too_large"),
    (raising(ValueError(HALF)), "\\ufffd"),
    (raising(ValueError(LONG)), "characters"),
    (raising(Silent()), "cannot be shown"),
    (raising(baton.GiveUp({"b": b"x"})), "GiveUp"),
]


def answer(message: baton.types.Message) -> Any:
    handler, _ = ANSWERS[int(message.body)]
    return handler(message)


def refusal(b: baton.Baton, body: int) -> baton.BatonError:
    """The error of a request, once the agent receives requests."""
    while True:
        with pytest.raises(baton.BatonError) as caught:
            b.request("bob", body)
        if caught.value.code != "message.no_handler":
            return caught.value


def check_answers(b: baton.Baton) -> None:
    for index, (_, expected) in enumerate(ANSWERS):
        error = refusal(b, index)
        assert error.code == "message.handler_failed"
        assert expected in ascii(error.facts)


def test_a_service_answers_every_request(b: baton.Baton) -> None:
    service = b.as_agent("bob").service()
    service.message(answer)
    running = threading.Thread(target=service.run)
    running.start()
    try:
        check_answers(b)
    finally:
        service.stop()
        running.join(20)
    assert (service.served.answered, service.served.failed, service.served.lost) == (0, 6, 0)


def test_a_worker_answers_every_request(b: baton.Baton) -> None:
    bob = b.as_agent("bob")
    worker = bob.worker()

    @worker.message
    def asked(mail: baton.Mail) -> Any:
        return answer(mail.message)

    with bob.session():
        running = threading.Thread(target=worker.run)
        running.start()
        try:
            check_answers(b)
        finally:
            worker.stop()
            running.join(20)
    assert (worker.worked.messages, worker.worked.failed, worker.worked.lost) == (0, 6, 0)


async def test_async_services_and_workers_answer_every_request(
    b: baton.Baton, shared_server: Server, workspace: str
) -> None:
    async with baton.connect_async(shared_server.url, workspace=workspace, agent="bob") as a:
        service = a.service()
        worker = a.worker()

        @service.message
        async def served(message: baton.types.Message) -> Any:
            return answer(message)

        @worker.message
        async def worked(mail: baton.AsyncMail) -> Any:
            return answer(mail.message)

        for each in (service, worker):
            async with a.session():
                running = asyncio.ensure_future(each.run())
                await asyncio.to_thread(check_answers, b)
                each.stop()
                await running
        assert (service.served.failed, worker.worked.failed) == (6, 6)


@pytest.mark.parametrize("concurrency", [0, -1, 2.5, float("nan"), "4", True])
def test_a_number_of_handlers_that_is_none(b: baton.Baton, concurrency: Any) -> None:
    for kind in (b.worker, b.service):
        with pytest.raises(ValueError, match="concurrency"):
            kind(concurrency=concurrency)
