"""Tasks that a model does: what it is sent, and what happens to its completions."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from chat_server import COMPLETION, ChatServer

import baton
from baton.model import Endpoint
from conftest import Server, free_port


@pytest_asyncio.fixture
async def a(shared_server: Server, workspace: str) -> AsyncIterator[baton.AsyncBaton]:
    async with baton.connect_async(
        shared_server.url, workspace=f"async-{workspace}", agent="ada"
    ) as client:
        yield client


def at(server: ChatServer, timeout: float = 30) -> Endpoint:
    return Endpoint(server.url, "small", key="sk-hush", timeout=timeout)


def saying(content: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content}}]}


def create(b: baton.Baton, id: str = "t") -> None:
    b.tasks.create("write", id=id, description="Write as shared/style says", max_retries=1)


def error_of(b: baton.Baton) -> str:
    """Why the task `t` failed, which was tried once and will be again."""
    task = b.tasks.get("t")
    assert task.retries == 1
    assert isinstance(task.error, str)
    return task.error


def test_a_model_does_a_task_and_the_result_says_how(b: baton.Baton) -> None:
    b.state.set("style", "short")
    create(b)
    with ChatServer() as server, b.claim("write") as job:
        done = b.run_with_context(job, at(server), token_budget=4000)
        assert (done.id, done.status, job.outcome) == ("t", "completed", "completed")
    result: Any = b.tasks.get("t").result
    assert (result["text"], result["model"]) == ("Done.", "small-1")
    assert result["usage"] == COMPLETION["usage"]
    lineage = result["lineage"]
    assert {"name", "items", "tokens"} == lineage["sections"][0].keys()
    assert any("entry shared/style" in section["items"] for section in lineage["sections"])
    assert 0 < lineage["context_tokens"] <= 4000
    assert lineage["left_out"] == []
    [asked] = server.requests
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["Authorization"] == "Bearer sk-hush"
    assert asked.body["model"] == "small"
    system, user = asked.body["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert "answer with the result alone" in system["content"]
    assert "Write as shared/style says" in user["content"]
    assert '"short"' in user["content"]


def test_a_claimed_task_is_renewed_while_the_model_answers(b: baton.Baton) -> None:
    create(b)
    [task] = b.tasks.claim_several(1, "write", lease=3)
    with ChatServer(pause=4) as server:
        done = b.run_with_context(task, at(server), instructions="Answer in one word.")
    assert done.status == "completed"
    assert server.requests[0].body["messages"][0]["content"] == "Answer in one word."


@pytest.mark.parametrize(
    ("status", "body", "wanted"),
    [
        (500, b"overloaded", "the endpoint answered with status 500: overloaded"),
        (401, b"x" * 1000, "the endpoint answered with status 401: " + "x" * 300),
        (200, b"no JSON", "the endpoint answered otherwise than it should: "),
        (200, b"[" * 100_000, "the endpoint answered otherwise than it should: "),
        (200, {**saying("x"), "usage": float("nan")}, "otherwise than it should: "),
        (200, saying("\ud800"), "otherwise than it should: "),
        (200, {}, "there is no text in it"),
        (200, [], "there is no text in it"),
        (200, {"choices": []}, "there is no text in it"),
        (200, saying(None), "there is no text in it"),
        (200, saying(7), "there is no text in it"),
        (200, saying(""), "there is no text in it"),
        (200, saying(" \n"), "there is no text in it"),
        (200, b" " * (17 << 20), "the response has more than 16777216 bytes"),
    ],
)
def test_a_model_that_gives_nothing_fails_the_attempt(
    b: baton.Baton, status: int, body: Any, wanted: str
) -> None:
    create(b)
    with ChatServer(body, status=status) as server:
        with pytest.raises(baton.ModelError) as caught, b.claim("write") as job:
            b.run_with_context(job, at(server))
    assert caught.value.code == "client.model_failed"
    assert caught.value.facts == ({} if status == 200 else {"status": status})
    assert error_of(b) == caught.value.detail
    assert wanted in caught.value.detail
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("is_dripping", [False, True])
def test_a_model_that_is_too_slow_fails_the_attempt(b: baton.Baton, is_dripping: bool) -> None:
    create(b)
    with ChatServer(pause=0 if is_dripping else 30, drip=is_dripping) as server:
        begun = time.monotonic()
        with pytest.raises(baton.ModelError), b.claim("write") as job:
            b.run_with_context(job, at(server, timeout=0.3))
        assert time.monotonic() - begun < 10
    assert error_of(b) == "the model could not be asked: no response within 0.3 s"


def test_the_key_is_not_sent_where_an_endpoint_redirects_to(b: baton.Baton) -> None:
    create(b)
    with ChatServer() as other:
        location = f"http://localhost:{other.port}/v1/chat/completions"
        with ChatServer(b"moved", status=307, location=location) as server:
            with pytest.raises(baton.ModelError), b.claim("write") as job:
                b.run_with_context(job, at(server))
        assert other.requests == []
    assert error_of(b) == "the endpoint answered with status 307: moved"


def test_nothing_is_sent_to_an_endpoint_that_is_not_authenticated(b: baton.Baton) -> None:
    create(b)
    with ChatServer() as server:
        endpoint = Endpoint(f"https://127.0.0.1:{server.port}/v1", "small", key="sk-hush")
        with pytest.raises(baton.ModelError), b.claim("write") as job:
            b.run_with_context(job, endpoint)
        assert server.requests == []
    assert "SSL" in error_of(b)


def test_an_endpoint_that_is_not_there_fails_the_attempt(b: baton.Baton) -> None:
    create(b)
    endpoint = Endpoint(f"http://127.0.0.1:{free_port()}", "small")
    with pytest.raises(baton.ModelError), b.claim("write") as job:
        b.run_with_context(job, endpoint)
    assert "refused" in error_of(b)


def test_whoever_does_not_hold_the_task_calls_no_model(b: baton.Baton) -> None:
    create(b)
    with ChatServer() as server:
        with pytest.raises(baton.Invalid) as caught:
            b.run_with_context(b.tasks.get("t"), at(server))
        assert caught.value.code == "client.not_claimed"
        [task] = b.tasks.claim_several(1, "write")
        b.tasks.cancel("t")
        with pytest.raises(baton.BatonError) as other:
            b.run_with_context(task, at(server))
        assert other.value.kind in ("stale", "conflict")
        assert server.requests == []


def test_a_model_is_no_longer_waited_for_when_the_lease_is_lost(b: baton.Baton) -> None:
    create(b)
    with ChatServer(pause=30) as server:

        def cancel() -> None:
            while not server.requests:
                time.sleep(0.01)
            b.tasks.cancel("t")

        cancelling = threading.Thread(target=cancel)
        cancelling.start()
        begun = time.monotonic()
        with pytest.raises(baton.LeaseLost), b.claim("write", lease=1) as job:
            b.run_with_context(job, at(server))
        assert time.monotonic() - begun < 10
        cancelling.join()
    assert b.tasks.get("t").status == "cancelled"


def test_a_worker_counts_what_its_models_did(b: baton.Baton) -> None:
    for id in ("good", "bad"):
        b.tasks.create("write", id=id, max_retries=0)
    worker = b.worker()
    with ChatServer() as good, ChatServer(status=500) as bad:

        @worker.task("write")
        def write(job: baton.Job) -> None:
            b.run_with_context(job, at(good if job.id == "good" else bad))

        worked = worker.run(until=lambda worked: worked.completed + worked.failed == 2)
    assert (worked.completed, worked.failed) == (1, 1)
    assert b.tasks.get("good").status == "completed"
    assert b.tasks.get("bad").status == "failed"


def test_an_endpoint_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1/")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hush")
    endpoint = Endpoint.from_environment("small")
    assert endpoint.headers()["Authorization"] == "Bearer sk-hush"
    assert endpoint.path == "/v1/chat/completions"
    assert "hush" not in repr(endpoint)
    assert endpoint.timeout == 600
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert "Authorization" not in Endpoint.from_environment("small").headers()
    monkeypatch.delenv("OPENAI_BASE_URL")
    with pytest.raises(baton.BadEndpoint, match="OPENAI_BASE_URL"):
        Endpoint.from_environment("small")


@pytest.mark.parametrize(
    "url",
    [
        "a",
        "ftp://a",
        "http://",
        "https://",
        "http://:1",
        "http://a:x",
        "http://a:",
        "http://u@a",
        "http://a:65536",
        "http://a b",
        "http://a/v1?x",
        "http://a/\n",
        "http://a/ü",
        "http://[::1",
        "http://::1",
        "HTTP://a",
        "",
    ],
)
def test_a_url_that_is_no_endpoint_is_rejected(url: str) -> None:
    with pytest.raises(baton.BadEndpoint):
        Endpoint(url, "small")


@pytest.mark.parametrize(
    ("url", "host", "port", "path"),
    [
        ("http://a:81/v1/", "a", 81, "/v1/chat/completions"),
        ("http://a", "a", 80, "/chat/completions"),
        ("https://a/v1", "a", 443, "/v1/chat/completions"),
        ("https://[::1]:81", "::1", 81, "/chat/completions"),
    ],
)
def test_a_url_is_read(url: str, host: str, port: int, path: str) -> None:
    endpoint = Endpoint(url, "small")
    connection = endpoint.connection()
    assert (connection.host, connection.port, endpoint.path) == (host, port, path)


def test_a_key_or_a_file_that_cannot_be_used_is_rejected() -> None:
    with pytest.raises(baton.BadEndpoint) as caught:
        Endpoint("http://a", "small", key="sk-hush\n")
    assert "hush" not in str(caught.value)
    with pytest.raises(baton.BadEndpoint, match="CA file"):
        Endpoint("https://a", "small", ca_file="/nowhere/ca.pem")


async def test_a_model_does_a_task_with_asyncio(a: baton.AsyncBaton) -> None:
    for id in ("job", "task"):
        await a.tasks.create("write", id=id)
    with ChatServer(pause=4) as server:
        async with a.claim(task="job", lease=3) as job:
            done = await a.run_with_context(job, at(server))
        assert done.status == "completed"
        [task] = await a.tasks.claim_several(1, "write", lease=3)
        done = await a.run_with_context(task, at(server), token_budget=1000)
    result: Any = done.result
    assert (result["text"], result["usage"]["total_tokens"]) == ("Done.", 9)


async def test_failures_with_asyncio(a: baton.AsyncBaton) -> None:
    await a.tasks.create("write", id="t", max_retries=2, backoff={"initial_ms": 10})
    for server, wanted in [
        (ChatServer(status=500, body=b"overloaded"), "status 500: overloaded"),
        (ChatServer(saying("")), "there is no text in it"),
        (ChatServer(pause=30), "no response within 0.3 s"),
    ]:
        with server, pytest.raises(baton.ModelError, match=wanted):
            async with a.claim("write", wait=30) as job:
                await a.run_with_context(job, at(server, timeout=0.3))
        assert wanted in str((await a.tasks.get("t")).error)
    assert (await a.tasks.get("t")).status == "failed"


async def test_losing_the_lease_or_being_cancelled_ends_the_waiting(a: baton.AsyncBaton) -> None:
    for id in ("job", "task", "cancelled"):
        await a.tasks.create("write", id=id)

    async def cancel(server: ChatServer, task: str) -> None:
        while not server.requests:
            await asyncio.sleep(0.01)
        await a.tasks.cancel(task)

    with ChatServer(pause=30) as server:
        cancelling = asyncio.create_task(cancel(server, "job"))
        with pytest.raises(baton.LeaseLost):
            async with a.claim(task="job", lease=1) as job:
                await a.run_with_context(job, at(server))
        await cancelling
    with ChatServer(pause=30) as server:
        [task] = await a.tasks.claim_several(1, lease=1)
        cancelling = asyncio.create_task(cancel(server, "task"))
        with pytest.raises(baton.LeaseLost):
            await a.run_with_context(task, at(server))
        await cancelling
    with ChatServer(pause=30) as server:
        [task] = await a.tasks.claim_several(1)
        running = asyncio.create_task(a.run_with_context(task, at(server)))
        while not server.requests:
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert (await a.tasks.get("cancelled")).status == "in_progress", "its lease ends by itself"
