"""The most common operations, against a real server, through `Baton`."""

from __future__ import annotations

import io
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import baton


def test_state_is_written_read_and_compared(b: baton.Baton) -> None:
    entry = b.state.set("plan", {"step": 1})
    assert (entry.version, entry.value, entry.updated_by) == (1, {"step": 1}, "ada")
    with pytest.raises(baton.Conflict) as caught:
        b.state.set("plan", {"step": 9}, expected_version=7)
    assert caught.value.code == "state.version_conflict"
    assert caught.value.facts["entry"]["version"] == 1
    assert caught.value.hint
    assert b.state.value("plan") == {"step": 1}
    assert b.state.value("absent", default="nothing") == "nothing"
    with pytest.raises(baton.NotFound):
        b.state.get("absent")
    b.namespaces.create("notes")
    notes = b.state.namespace("notes")
    notes.set("one", None)
    assert notes.get("one").namespace == "notes"
    assert b.at(entry.revision).state.get("plan").value == {"step": 1}


def test_updates_of_many_threads_are_not_lost(b: baton.Baton) -> None:
    def count() -> None:
        for _ in range(20):
            b.state.update("counter", lambda value: value + 1, default=0)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert b.state.value("counter") == 80


def test_an_edit_is_written_at_the_end_or_not_at_all(b: baton.Baton) -> None:
    with b.state.edit("doc", default={}) as draft:
        draft.value["title"] = "Draft"
    assert b.state.value("doc") == {"title": "Draft"}
    with pytest.raises(RuntimeError), b.state.edit("doc") as draft:
        draft.value["title"] = "Bad"
        raise RuntimeError
    with pytest.raises(baton.Conflict), b.state.edit("doc") as draft:
        b.state.set("doc", {"title": "Other"})
        draft.value["title"] = "Late"
    assert b.state.value("doc") == {"title": "Other"}


def test_a_batch_is_sent_together_and_each_call_counts_by_itself(b: baton.Baton) -> None:
    with b.batch() as batch:
        plan = batch.state.set("plan", 1)
        task = batch.tasks.create("write")
        read = batch.call("state.get", namespace="shared", key="plan")
        with pytest.raises(baton.Invalid, match="not sent yet"):
            assert plan.result
    assert (plan.result.version, task.result.status) == (1, "pending")
    assert read.result["value"] == 1, "calls are executed in order"
    batch = b.batch()
    refused = batch.state.set("plan", 2, expected_version=9)
    later = batch.state.set("plan", 3)
    large = batch.state.set("large", "x" * (20 << 20))
    last = batch.state.set("plan", 4)
    with pytest.raises(baton.Conflict) as caught:
        batch.send()
    assert caught.value.code == "state.version_conflict"
    with pytest.raises(baton.Conflict):
        assert refused.result
    with pytest.raises(baton.TooLarge):
        assert large.result
    assert (later.result.version, last.result.version) == (2, 3)
    with pytest.raises(RuntimeError), b.batch() as batch:
        batch.state.set("plan", 5)
        raise RuntimeError
    assert b.state.value("plan") == 4, "nothing of a block that raises is sent"
    with b.batch() as batch:
        counts = [batch.state.patch("counter", increment=1) for _ in range(500)]
    assert counts[-1].result.value == 500
    fenced = b.under(123456)
    with pytest.raises(baton.Stale), fenced.batch() as batch:
        batch.state.set("plan", 6)
    with pytest.raises(ValueError, match="one idempotency key"), b.once("k").batch() as batch:
        batch.state.set("plan", 7)
    with b.batch():
        pass


def test_a_transaction_is_all_or_nothing(b: baton.Baton) -> None:
    b.state.set("plan", 1)
    with b.transaction() as tx:
        tx.require_entry("plan", version=1)
        plan = tx.state.set("plan", 2)
        task = tx.tasks.create("publish", {"n": 1})
    assert plan.result.version == 2
    assert b.tasks.get(task.result.id).type == "publish"
    with pytest.raises(baton.Conflict), b.transaction() as tx:
        tx.require_entry("plan", version=1)
        tx.state.set("other", 1)
    assert b.state.value("other") is None
    with pytest.raises(baton.Invalid):
        _ = tx.state.set("other", 1).result


def test_a_task_is_claimed_and_completed(b: baton.Baton) -> None:
    task = b.tasks.create("summarise", {"paper": 7}, id="paper-7")
    with b.claim("summarise") as job:
        assert (job.id, job.input, job.attempt) == (task.id, {"paper": 7}, 1)
        job.progress(0.5, "half")
        job.baton.state.set("draft", "under the lease")
        job.result = {"words": 120}
    done = b.tasks.get("paper-7")
    assert (done.status, done.result) == ("completed", {"words": 120})
    with pytest.raises(baton.NotAcquired), b.claim("summarise"):
        pass
    b.tasks.create("summarise", id="paper-8", max_retries=0)
    with pytest.raises(ZeroDivisionError), b.claim("summarise") as job:
        _ = 1 / 0
    assert b.tasks.get("paper-8").error["type"] == "ZeroDivisionError"


def test_a_worker_works_until_it_is_stopped(b: baton.Baton) -> None:
    quick = {"initial_ms": 1, "jitter": 0.0}
    for number in range(6):
        b.tasks.create("square", number, id=f"square-{number}")
    b.tasks.create("flaky", id="flaky", backoff=quick)  # pyright: ignore[reportArgumentType]
    b.tasks.create("broken", id="broken", max_retries=5)
    b.tasks.create("odd", id="odd", max_retries=0)
    worker = b.as_agent("bob").worker(concurrency=2)

    @worker.task("square")
    def square(job: baton.Job) -> int:
        job.progress(0.1)
        return job.input**2

    @worker.task("flaky")
    def flaky(job: baton.Job) -> str:
        if job.attempt < 3:
            raise baton.RetryLater("429")
        return "done"

    @worker.task("broken")
    def broken(job: baton.Job) -> None:
        raise baton.GiveUp({"why": "never"})

    @worker.task("odd")
    def odd(job: baton.Job) -> object:
        return object()  # not JSON

    running = threading.Thread(target=worker.run)
    running.start()
    results = b.gather(*(f"square-{number}" for number in range(6)), "flaky", wait=30)
    assert results == [0, 1, 4, 9, 16, 25, "done"]
    failures = b.gather("broken", "odd", wait=30, return_exceptions=True)
    assert [type(failure) for failure in failures] == [baton.TaskFailed] * 2
    with pytest.raises(baton.TaskFailed):
        b.gather("broken", wait=30)
    begun = time.monotonic()
    worker.stop()
    running.join(20)
    assert not running.is_alive()
    assert time.monotonic() - begun < 5, "a claim that waits is given up"
    assert worker.worked.completed == 7
    assert b.tasks.get("broken").attempts == 1


def test_a_worker_takes_handoffs_messages_and_tasks(b: baton.Baton) -> None:
    bob = b.as_agent("bob")
    bob.agents.register()
    worker = bob.worker()
    seen: list[Any] = []

    @worker.task("count")
    def count(job: baton.Job) -> int:
        seen.append(job.id)
        return 1

    @worker.handoff
    def take(offer: baton.Offer) -> None:
        with offer.work() as job:
            seen.append(offer.handoff.reason)
            job.result = "taken over"

    @worker.message
    def read(mail: baton.Mail) -> str:
        seen.append(mail.body)
        return "read"

    b.tasks.create("count", id="one")
    b.send("bob", "hello")
    b.tasks.create("review", id="two")
    with b.claim("review") as job:
        job.handoff("bob", reason="yours")
    assert worker.run(until=lambda it: it.completed + it.handoffs + it.messages == 3)
    assert seen == ["yours", "hello", "one"]
    assert b.tasks.get("two").result == "taken over"
    assert [mail.status for mail in bob.inbox.list().messages] == ["acked"]
    again = bob.worker()
    again.message(read)
    running = threading.Thread(target=lambda: again.run(until=lambda it: it.messages == 1))
    running.start()
    assert b.request("bob", "are you there?", timeout=20) == "read"
    running.join(20)
    assert not running.is_alive()


def test_a_task_is_handed_over_from_inside_a_handler(b: baton.Baton) -> None:
    b.tasks.create("write", {"topic": "tides"}, id="t")
    worker = b.worker()

    @worker.task("write")
    def write(job: baton.Job) -> None:
        job.baton.state.set("outline", ["moon", "sun"])
        job.handoff("bob", reason="yours", state={"tone": "dry"}, keys=["shared/outline"])

    worker.run(until=lambda worked: worked.handed_over == 1)
    bob = b.as_agent("bob")
    offer = next(bob.handoffs.offers(wait=10))
    assert offer.handoff.from_ == "ada"
    with offer.work() as job:
        assert job.accepted.handoff.state == {"tone": "dry"}
        assert job.accepted.values == {"shared/outline": ["moon", "sun"]}
        job.result = "written"
    assert b.tasks.get("t").result == "written"
    assert bob.context.build(task="t").text


def test_a_lease_is_kept_when_the_result_is_refused(b: baton.Baton) -> None:
    b.tasks.create("write", id="t")
    with b.claim("write", lease=1) as job:
        with pytest.raises(baton.NotJson):
            job.complete(float("nan"))
        assert job.outcome is None
        time.sleep(1.5)
        job.complete("fine")
        assert (job.outcome, job.lost) == ("completed", False)


def test_an_offer_can_be_rejected(b: baton.Baton) -> None:
    b.handoffs.offer("bob", notes="please")
    bob = b.as_agent("bob")
    offer = next(bob.handoffs.offers(wait=10))
    assert offer.reject("busy").status == "rejected"
    assert list(bob.handoffs.offers(wait=0)) == []
    b.handoffs.offer("bob", state={"x": 1})
    accepted = next(bob.handoffs.offers(wait=10)).accept()
    assert accepted.handoff.state == {"x": 1}


def test_rules_that_are_functions_block_warn_and_break(b: baton.Baton) -> None:
    @b.rules.callback("tests-first", to="bob")
    def tests_first(proposal: baton.Proposal) -> str | None:
        return None if "tests" in proposal.state else "run the tests first"

    @b.rules.callback("tone", severity="warning")
    def tone(proposal: baton.Proposal) -> bool:
        return "tone" in proposal.state

    with pytest.raises(baton.Conflict) as caught:
        b.handoffs.offer("bob")
    assert caught.value.code == "handoff.invalid"
    assert caught.value.facts["errors"] == [
        {"rule": "tests-first", "detail": "run the tests first"}
    ]
    assert b.handoffs.list().handoffs == [], "nothing was offered"
    b.rules.add("named", {"required_keys": ["name"]})
    verdict = b.handoffs.validate("bob")
    assert not verdict.valid
    assert {finding.rule for finding in verdict.errors} == {"named", "tests-first"}
    b.rules.remove("named")
    assert b.handoffs.offer("bob", state={"tests": 1}).status == "offered"
    assert b.handoffs.offer("eve").status == "offered", "it is not for eve"

    @b.rules.callback("crash", severity="warning")
    def crash(proposal: baton.Proposal) -> None:
        raise ZeroDivisionError

    with pytest.raises(baton.Conflict) as caught:
        b.handoffs.offer("eve", state={"tone": 1})
    assert caught.value.facts["errors"][0]["broken"]
    b.rules.remove_callback("crash")
    b.handoffs.offer("eve", state={"tone": 1})


def test_a_lock_has_one_holder(b: baton.Baton) -> None:
    bob = b.as_agent("bob")
    with b.lock("repo", ttl=30) as lock:
        assert lock.token > 0
        with pytest.raises(baton.NotAcquired), bob.lock("repo", wait=0.05):
            pass
        lock.check()
    with bob.lock("repo", wait=0):
        pass
    with b.semaphore("models", 1), pytest.raises(baton.NotAcquired):
        with bob.semaphore("models", 1, wait=0):
            pass
    b.semaphores.resize("models", 3)
    with b.semaphore("models", weight=2):
        assert b.semaphores.get("models").holders[0].weight == 2
        with bob.semaphore("models", wait=0), pytest.raises(baton.NotAcquired):
            with bob.semaphore("models", weight=2, wait=0):
                pass


def test_a_session_is_kept_and_ended(b: baton.Baton) -> None:
    with b.session(capabilities=["search"], ttl=30) as session:
        assert b.agents.get().status == "active"
        session.baton.state.set("leader", "ada", ephemeral=True)
    assert b.agents.get().status == "left"
    assert b.state.value("leader") is None


def test_messages_and_requests(b: baton.Baton) -> None:
    bob = b.as_agent("bob")
    b.send("bob", "the draft is ready")
    mail = next(bob.inbox.messages(wait=10))
    assert (mail.body, mail.sender, mail.is_request) == ("the draft is ready", "ada", False)
    mail.ack()
    assert list(bob.inbox.messages(wait=0)) == []
    service = bob.service()
    others: list[object] = []

    @service.handler("size")
    def size(message: baton.types.Message) -> int:
        return len(message.body)

    @service.handler("crash")
    def crash(message: baton.types.Message) -> None:
        raise ValueError("no")

    @service.message
    def other(message: baton.types.Message) -> None:
        others.append(message.body)

    running = threading.Thread(target=service.run)
    running.start()
    try:
        deadline = time.monotonic() + 20
        while len(b.handlers.list().handlers) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert b.request({"handler": "size"}, [1, 2, 3]) == 3
        with pytest.raises(baton.BatonError) as caught:
            b.request({"handler": "crash"}, None)
        assert caught.value.code == "message.handler_failed"
        b.send("bob", "hello")
        while not others and time.monotonic() < deadline:
            time.sleep(0.01)
        assert others == ["hello"]
    finally:
        service.stop()
        running.join(20)
    assert not running.is_alive()
    assert (service.served.answered, service.served.failed) == (2, 1)


def test_several_tasks_are_claimed_at_once(b: baton.Baton) -> None:
    for number in range(3):
        b.tasks.create("part", number, id=f"part-{number}")
    first = b.tasks.claim_several(2, "part", lease=60)
    assert [task.id for task in first] == ["part-0", "part-1"]
    assert len({task.lease.token for task in first if task.lease}) == 2
    assert [task.id for task in b.tasks.claim_several(1, "part")] == ["part-2"]
    assert b.tasks.claim_several(1, "part") == []
    assert b.tasks.claim_several(5, "part", wait=0.01) == []


def test_a_reply_receives_the_next_message(b: baton.Baton) -> None:
    bob = b.as_agent("bob")
    bob.agents.register()
    bob.handlers.register("echo")
    answers: list[object] = []
    asking = threading.Thread(target=lambda: answers.append(b.request({"handler": "echo"}, 1)))
    asking.start()
    mail = next(bob.inbox.messages(wait=20))
    b.send("bob", "next")
    received = bob.messages.reply_and_receive(mail.message.id, 2, wait=20)
    assert received is not None
    assert received.body == "next"
    asking.join(20)
    assert answers == [2]
    assert bob.messages.reply_and_receive(mail.message.id, 2) is None


def test_streams_and_topics(b: baton.Baton) -> None:
    with b.streams.writer("tokens") as stream:
        stream.send("one", "two")
        stream.send("three")
    assert [frame.data for frame in b.streams.read("tokens")] == ["one", "two", "three"]
    assert [frame.offset for frame in b.streams.read("tokens", start=1)] == [1, 2]
    with b.topics.subscribe("news/*") as posts:
        b.topics.publish("news/tech", {"title": "a release"})
        post = posts.next(10)
        assert post is not None
        assert post["body"] == {"title": "a release"}


def test_watches_with_a_snapshot_and_from_a_revision(b: baton.Baton) -> None:
    first = b.state.set("a", 1)
    with b.state.watch(snapshot=True) as watch:
        assert [entry.key for entry in watch.entries] == ["a"]
        b.state.set("b", 2)
        event = watch.next(10)
        assert event is not None
        assert (event.type, event.subject, event["value"]) == ("state.set", "state/shared/b", 2)
        assert watch.next(0.01) is None
    with b.watch("state/**", start=first.revision, types=["state.set"]) as watch:
        keys = [next(watch)["key"] for _ in range(2)]
    assert keys == ["a", "b"]
    assert list(watch) == []


def test_checkpoints_of_a_thread(b: baton.Baton) -> None:
    thread = b.checkpoints.thread("thread-1")
    assert thread.latest() is None
    assert thread.state({"step": 0}) == {"step": 0}
    thread.save({"step": 1})
    saved = thread.save({"step": 2}, label="outline", metadata={"by": "ada"})
    assert thread.state() == {"step": 2}
    assert saved.label == "outline"
    assert len(b.checkpoints.list(task="thread-1").checkpoints) == 2


def test_artifacts_are_files_with_progress(b: baton.Baton, tmp_path: Path) -> None:
    data = bytes(range(256)) * 4096  # 1 MiB
    steps: list[tuple[int, int | None]] = []

    def progress(done: int, length: int | None) -> None:
        steps.append((done, length))

    artifact = b.artifacts.put(data, name="report.bin", progress=progress)
    assert steps[-1] == (len(data), len(data))
    assert (artifact.bytes, artifact.name) == (len(data), "report.bin")
    assert b.artifacts.read(artifact.artifact) == data
    with b.artifacts.open(artifact.artifact) as file:
        assert file.read(10) == data[:10]
        file.seek(-4, io.SEEK_END)
        assert file.read() == data[-4:]
        file.seek(1000)
        assert file.read(256) == data[1000:1256]
    path = tmp_path / "copy.bin"
    assert b.artifacts.download(artifact.artifact, path) == len(data)
    assert path.read_bytes() == data
    assert b.artifacts.put(path).artifact == artifact.artifact
    with b.artifacts.create(name="notes.txt", media_type="text/plain") as out:
        out.write(b"hello ")
        out.write(b"world")
    assert out.artifact is not None
    assert b.artifacts.read(out.artifact.artifact) == b"hello world"
    with pytest.raises(baton.NotFound):
        b.artifacts.read("sha256:" + "0" * 64)
    secret = b.secrets.put("key-123", name="api")
    assert b.secrets.reveal(secret.secret) == b"key-123"
    exported = io.BytesIO()
    b.workspace.export(exported)
    exported.seek(0)
    copy = b.in_workspace(b.workspace_name + "-copy")
    copy.workspace.import_(exported)
    assert copy.artifacts.read(artifact.artifact) == data


def test_lists_come_in_pages(b: baton.Baton) -> None:
    for number in range(5):
        b.tasks.create("x", id=f"t-{number}")
    found = [task.id for page in baton.pages(b.tasks.list, limit=2) for task in page.tasks]
    assert sorted(found) == [f"t-{number}" for number in range(5)]


def test_a_repeated_request_has_one_effect(b: baton.Baton) -> None:
    for _ in range(3):
        b.once("request-17").state.patch("log", append="step 4")
    assert b.state.value("log") == ["step 4"]
    b.state.patch("log", append="x", idempotency_key="k")
    b.state.patch("log", append="x", idempotency_key="k")
    assert b.state.value("log") == ["step 4", "x"]


def test_any_operation_can_be_called_by_its_name(b: baton.Baton) -> None:
    assert b.call("state.set", namespace="shared", key="k", value=1)["version"] == 1
    with pytest.raises(baton.Invalid):
        b.call("state.sing")


def test_a_task_is_run_like_a_function(b: baton.Baton) -> None:
    worker = b.worker()

    @worker.task()
    def anything(job: baton.Job) -> str:
        return f"{job.task.type}:{job.input}"

    running = threading.Thread(target=worker.run)
    running.start()
    assert b.run_task("greet", "bob", wait=30) == "greet:bob"
    worker.stop()
    running.join(20)
