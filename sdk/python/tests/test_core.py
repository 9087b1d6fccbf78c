"""The protocol core without a socket: what is sent, what is delivered, what is said about calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton._json import Encoded
from baton._leases import PAUSE, READS_SESSION_AFTER, RENEWALS_PER_TTL
from baton._operations import OPERATIONS
from baton._options import Options
from baton._protocol import Protocol
from baton._requests import Answer, Caller, Request
from baton.errors import (
    BatonError,
    Closed,
    Conflict,
    Crowded,
    Denied,
    LeaseLost,
    NotJson,
    OutcomeUnknown,
    ProtocolError,
    TimedOut,
    TooLarge,
    Unreachable,
)

ADA = Caller("lab", "ada")


class Client:
    """A core with a clock, and what it delivered."""

    def __init__(self, options: Options | None = None) -> None:
        self.now = 100.0
        self.core = Protocol("http://nowhere:1", options or Options())
        self.core.connected()
        self.outcomes: list[Any] = []

    def call(self, operation: str, once: str | None = None, **fields: Any) -> Request:
        return self.core.call(
            OPERATIONS[operation], fields, ADA, self.outcomes.append, idempotency_key=once
        )

    def sent(self) -> list[dict[str, Any]]:
        messages, _ = self.core.outgoing(self.now)
        self.deliver()
        return [json.loads(message) for message in messages]

    def receive(self, **frame: Any) -> None:
        self.core.received(json.dumps(frame).encode(), self.now)
        self.deliver()

    def deliver(self) -> None:
        for deliver in self.core.deliveries():
            deliver()

    def reconnect(self, reason: str = "it rains") -> None:
        self.core.broken(reason)
        self.deliver()
        self.core.connected()


def set_plan(client: Client, once: str | None = None) -> Request:
    return client.call("state.set", once, namespace="shared", key="plan", value=1)


def test_a_call_is_sent_once_and_answered() -> None:
    client = Client()
    request = set_plan(client)
    (frame,) = client.sent()
    assert frame["command"] == "state.set"
    assert frame["workspace"] == "lab"
    assert frame["agent"] == "ada"
    assert "idempotency_key" in frame
    assert client.sent() == []
    client.receive(id=request.id, revision=7, result={"version": 1})
    assert client.outcomes == [Answer(7, {"version": 1})]


def test_the_id_of_a_task_is_not_the_number_of_the_request() -> None:
    client = Client()
    client.call("task.create", type="x", id="t-1")
    (frame,) = client.sent()
    assert frame["task"] == "t-1"
    assert isinstance(frame["id"], int)


def test_a_filter_by_agent_is_not_the_agent_that_acts() -> None:
    client = Client()
    client.call("task.list")
    client.call("agent.register", agent="bob")
    first, second = client.sent()
    assert "agent" not in first
    assert second["agent"] == "bob"


def test_a_query_about_another_agent_names_its_caller() -> None:
    client = Client()
    client.call("agent.get", agent="bob")
    client.call("task.list", agent="bob")
    client.call("agent.get", agent="ada")
    client.call("task.list")
    client.call("agent.leave", agent="bob")
    callers = [(frame.get("agent"), frame.get("caller")) for frame in client.sent()]
    ada, bob = ("ada", None), ("bob", "ada")
    assert callers == [bob, bob, ada, (None, None), ("bob", None)]


def test_a_refusal_is_the_exception_of_its_kind_with_its_facts() -> None:
    client = Client()
    request = set_plan(client)
    client.sent()
    problem = {
        "code": "state.version_conflict",
        "kind": "conflict",
        "detail": "no",
        "hint": "again",
        "entry": {"version": 3},
    }
    client.receive(id=request.id, error=problem)
    (error,) = client.outcomes
    assert isinstance(error, Conflict)
    assert (error.code, error.hint) == ("state.version_conflict", "again")
    assert error.facts == {"entry": {"version": 3}}


def test_a_kind_of_a_newer_server_is_still_a_baton_error() -> None:
    client = Client()
    request = set_plan(client)
    client.sent()
    client.receive(id=request.id, error={"code": "x.y", "kind": "brand_new", "detail": "d"})
    assert isinstance(client.outcomes[0], BatonError)


def test_what_may_be_repeated_is_sent_again_in_order_and_under_the_same_key() -> None:
    client = Client()
    set_plan(client)
    client.call("state.get", namespace="shared", key="plan")
    set_plan(client, once="mine")
    first = client.sent()
    client.reconnect()
    assert client.sent() == first
    assert first[2]["idempotency_key"] == "mine"
    assert client.outcomes == []


def test_without_a_key_the_outcome_of_what_was_sent_is_unknown() -> None:
    client = Client(Options(automatic_keys=False))
    set_plan(client)
    client.sent()
    waiting = set_plan(client)
    client.reconnect()
    (error,) = client.outcomes
    assert isinstance(error, OutcomeUnknown)
    assert error.is_unknown
    # Requests that were not sent are not lost.
    assert [frame["id"] for frame in client.sent()] == [waiting.id]


@pytest.mark.parametrize("was_sent", [True, False])
def test_a_call_that_is_given_up_says_what_is_known(was_sent: bool) -> None:
    client = Client()
    request = set_plan(client)
    if was_sent:
        client.sent()
    error = client.core.give_up(request, 5)
    assert isinstance(error, OutcomeUnknown if was_sent else TimedOut)
    client.receive(id=request.id, revision=1, result={})
    assert client.outcomes == []


def test_a_question_that_is_given_up_has_changed_nothing() -> None:
    client = Client()
    request = client.call("state.get", namespace="shared", key="plan")
    client.sent()
    assert isinstance(client.core.give_up(request, 5), TimedOut)


def test_without_a_connection_the_reason_is_the_last_one() -> None:
    client = Client()
    client.core.broken("it rains")
    request = set_plan(client)
    assert client.sent() == []
    error = client.core.give_up(request, 5)
    assert isinstance(error, Unreachable)
    assert "it rains" in str(error)


REVOKED = Denied.__new__(Denied)
BatonError.__init__(REVOKED, "access.bad_token", "the token is not valid", "ask for a new one", {})


def test_a_server_that_refuses_the_client_ends_what_waits() -> None:
    client = Client()
    watcher = Watcher(client, start=1)
    begin(client, watcher)
    client.call("state.get", namespace="shared", key="a")
    client.call("task.claim", wait_ms=10_000)
    client.call("message.request", to="bob", topic="t", body=1)
    set_plan(client)
    lost: list[LeaseLost] = []
    client.core.keep("a lock", "lock.renew", {"name": "a"}, ADA, 30.0, lost.append, client.now)
    client.sent()
    client.core.broken("the server closed")
    set_plan(client)
    client.core.denied(REVOKED, client.now)
    client.deliver()
    # What was sent may have been executed; a call that waits was cancelled with its connection.
    asked, claimed, requested, uncertain, unsent = client.outcomes
    assert asked is claimed is unsent is REVOKED
    assert isinstance(requested, OutcomeUnknown)
    assert isinstance(uncertain, OutcomeUnknown)
    assert watcher.taken() == [REVOKED]
    # Nothing is left for a next connection, until something is asked again.
    assert not client.core.is_wanted
    set_plan(client)
    assert client.core.is_wanted


def test_what_was_uncertain_stays_so_until_it_is_answered() -> None:
    client = Client()
    request = set_plan(client)
    client.sent()
    client.core.broken("it rains")
    assert isinstance(client.core.give_up(request, 5), OutcomeUnknown)


def test_a_server_that_shuts_down_is_a_connection_that_breaks() -> None:
    client = Client()
    request = set_plan(client)
    client.sent()
    client.receive(id=request.id, error={"code": "server.closing", "kind": "unavailable"})
    assert client.outcomes == []
    set_plan(client)
    assert client.sent() == []
    client.reconnect()
    assert len(client.sent()) == 2


def test_what_is_granted_too_late_is_given_back() -> None:
    client = Client()
    request = client.call("task.claim", wait_ms=1000)
    client.sent()
    client.core.give_up(request)
    client.receive(id=request.id, revision=3, result={"id": "t-1", "lease": {"token": 9}})
    (frame,) = client.sent()
    assert (frame["command"], frame["task"], frame["token"]) == ("task.release", "t-1", 9)
    assert client.outcomes == []


def test_nothing_is_given_back_if_nothing_was_granted() -> None:
    client = Client()
    request = client.call("lock.acquire", name="l", wait_ms=1000)
    client.sent()
    client.core.give_up(request)
    client.receive(id=request.id, revision=3, result=None)
    assert client.sent() == []


def test_calls_that_wait_do_not_hold_up_others() -> None:
    client = Client(Options(in_flight_max=1))
    for _ in range(3):
        client.call("lock.acquire", name="l", wait_ms=1000)
    first, second = set_plan(client), set_plan(client)
    assert [frame["id"] for frame in client.sent()][-1] == first.id
    client.receive(id=first.id, revision=1, result={})
    assert [frame["id"] for frame in client.sent()] == [second.id]


def test_queues_have_limits() -> None:
    client = Client(Options(queue_max=1, request_bytes_max=1000))
    with pytest.raises(TooLarge):
        client.call("state.set", namespace="shared", key="k", value="x" * 2000)
    set_plan(client)
    with pytest.raises(Crowded):
        set_plan(client)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), "\ud800", {(1, 2): 3}])
def test_what_is_not_json_is_not_sent(value: object) -> None:
    client = Client()
    with pytest.raises(NotJson):
        client.call("state.set", namespace="shared", key="k", value=value)
    assert client.sent() == []


def test_what_is_json_already_is_sent_as_it_is() -> None:
    client = Client()
    value = Encoded(b'{"a": [1,"\xc3\xa9"]}')
    client.call("state.set", namespace="shared", key="k", value=value)
    client.call("state.set", namespace="shared", key="k", value={"in": [value]})
    first, second = client.sent()
    assert first["value"] == {"a": [1, "é"]}
    assert second["value"] == {"in": [{"a": [1, "é"]}]}
    assert first.keys() == second.keys()


def test_closing_ends_what_waits() -> None:
    client = Client()
    set_plan(client)
    client.core.over()
    client.deliver()
    assert isinstance(client.outcomes[0], Closed)
    with pytest.raises(Closed):
        set_plan(client)


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b'{"revision":1}', b"\xff"])
def test_a_frame_that_is_none_breaks_the_connection(text: bytes) -> None:
    client = Client()
    with pytest.raises(ProtocolError):
        client.core.received(text, client.now)


# Watches.


class Watcher:
    def __init__(self, client: Client, **how: Any) -> None:
        self.client = client
        self.begun: list[BatonError | None] = []
        self.signals = 0
        request = {"pattern": "**"}
        self.number = client.core.watch(request, ADA, self.begun.append, self._ready, **how)

    def _ready(self) -> None:
        self.signals += 1

    def taken(self) -> list[Any]:
        items: list[Any] = []
        while True:
            item, _ = self.client.core.poll(self.number)
            if item is None:
                return items
            items.append(item)
            if isinstance(item, BatonError):
                return items

    def revisions(self) -> list[tuple[int, int]]:
        return [(item[1]["revision"], item[1]["index"]) for item in self.taken()]


def begin(client: Client, watcher: Watcher, start: int = 1) -> int:
    """The number of the subscription, which has begun."""
    (frame,) = client.sent()
    assert frame["command"] == "watch"
    client.receive(id=frame["id"], revision=start - 1, result={"watch": frame["id"], "from": start})
    assert watcher.begun == [None]
    return frame["id"]


def event(revision: int, index: int = 0, last: bool = True, **more: Any) -> dict[str, Any]:
    return {"revision": revision, "index": index, "last": last, **more}


def test_a_watch_resumes_after_the_last_complete_commit() -> None:
    client = Client()
    watcher = Watcher(client, start=1)
    number = begin(client, watcher)
    client.receive(watch=number, event=event(1))
    client.receive(watch=number, event=event(2, 0, last=False))
    client.receive(watch=number, event=event(2, 1, last=False))
    client.reconnect()
    (frame,) = client.sent()
    assert frame["from"] == 2
    client.receive(id=frame["id"], revision=9, result={"watch": frame["id"], "from": 2})
    # Events that have already arrived arrive again, and are dropped.
    for index in range(3):
        client.receive(watch=frame["id"], event=event(2, index, last=index == 2))
    client.receive(watch=number, event=event(3))  # of the old subscription
    client.receive(watch=frame["id"], event=event(3))
    assert watcher.revisions() == [(1, 0), (2, 0), (2, 1), (2, 2), (3, 0)]


def test_a_gap_ends_a_watch() -> None:
    client = Client()
    watcher = Watcher(client, start=1)
    number = begin(client, watcher)
    client.receive(watch=number, event=event(1))
    client.reconnect()
    (frame,) = client.sent()
    client.receive(id=frame["id"], revision=9, result={"watch": frame["id"], "from": 5})
    items = watcher.taken()
    assert isinstance(items[-1], ProtocolError)


def test_a_live_event_comes_once_and_moves_nothing() -> None:
    client = Client()
    watcher = Watcher(client, start=4)
    number = begin(client, watcher, start=4)
    client.receive(watch=number, event=event(3, live=True))
    client.reconnect()
    (frame,) = client.sent()
    assert frame["from"] == 4
    assert len(watcher.taken()) == 1


def test_a_snapshot_comes_once() -> None:
    client = Client()
    watcher = Watcher(client, snapshot=True)
    (frame,) = client.sent()
    assert frame["snapshot"] is True
    number = frame["id"]
    client.receive(id=number, revision=7, result={"watch": number, "from": 8})
    client.reconnect()
    (frame,) = client.sent()
    assert frame["snapshot"] is True, "it has not arrived"
    number = frame["id"]
    client.receive(id=number, revision=7, result={"watch": number, "from": 8})
    client.receive(watch=number, snapshot={"revision": 7, "entries": []})
    client.reconnect()
    (frame,) = client.sent()
    assert frame["from"] == 8
    assert "snapshot" not in frame
    assert len(watcher.taken()) == 1


def test_the_server_decides_about_a_snapshot_together_with_a_revision() -> None:
    client = Client()
    Watcher(client, snapshot=True, start=5)
    (frame,) = client.sent()
    assert (frame["snapshot"], frame["from"]) == (True, 5)


def test_a_slow_watcher_is_unsubscribed_and_resumes_where_it_was() -> None:
    client = Client(Options(watch_queue_max=4))
    watcher = Watcher(client, start=1)
    number = begin(client, watcher)
    for revision in range(1, 7):
        client.receive(watch=number, event=event(revision))
    (frame,) = client.sent()
    assert (frame["command"], frame["watch"]) == ("unwatch", number)
    assert watcher.revisions() == [(1, 0), (2, 0), (3, 0), (4, 0)]
    (frame,) = client.sent()
    assert frame["from"] == 5


def test_a_watch_that_fell_behind_is_resumed_and_one_that_is_refused_ends() -> None:
    client = Client()
    watcher = Watcher(client, start=1)
    number = begin(client, watcher)
    behind = {"code": "watch.lagged", "kind": "exhausted", "detail": "d", "resume_from": 5}
    client.receive(watch=number, error=behind)
    (frame,) = client.sent()
    assert frame["from"] == 5
    refused = {"code": "request.denied", "kind": "denied", "detail": "no"}
    client.receive(id=frame["id"], error=refused)
    assert watcher.taken()[0].code == "request.denied"


def test_a_watch_that_never_began_is_told_why() -> None:
    client = Client()
    watcher = Watcher(client)
    (frame,) = client.sent()
    client.receive(id=frame["id"], error={"code": "x.y", "kind": "invalid", "detail": "no"})
    (error,) = watcher.begun
    assert error is not None
    assert error.code == "x.y"


# Leases.


def keep_unread(client: Client, ttl: float = 30.0) -> tuple[int, list[LeaseLost]]:
    lost: list[LeaseLost] = []
    fields = {"name": "l", "token": 1}
    number = client.core.keep("a lock", "lock.renew", fields, ADA, ttl, lost.append, client.now)
    return number, lost


def read_session(client: Client, **answer: Any) -> None:
    """Answers the call that reads the session."""
    (frame,) = client.sent()
    assert (frame["command"], frame["agent"]) == ("agent.get", "ada")
    client.receive(id=frame["id"], **answer)


def keep(client: Client, ttl: float = 30.0) -> tuple[int, list[LeaseLost]]:
    """Keeps a lock of an agent that was never registered."""
    number, lost = keep_unread(client, ttl)
    begun = client.now
    client.now += READS_SESSION_AFTER
    unknown = {"code": "agent.not_found", "kind": "not_found", "detail": "never seen"}
    read_session(client, error=unknown)
    client.now = begun
    return number, lost


def test_a_lease_is_renewed_in_a_third_of_its_time() -> None:
    client = Client()
    _, lost = keep(client)
    assert client.sent() == []
    _, due = client.core.outgoing(client.now)
    assert due == client.now + 30 / RENEWALS_PER_TTL
    for _ in range(5):
        client.now += 10
        (frame,) = client.sent()
        assert frame["command"] == "lock.renew"
        client.receive(id=frame["id"], revision=1, result={})
    assert lost == []


@pytest.mark.parametrize(
    ("status", "session", "period"),
    [("active", 6.0, 2.0), ("active", 90.0, 10.0), ("left", 6.0, 10.0), ("lost", 6.0, 10.0)],
)
def test_a_lease_is_renewed_in_a_third_of_the_session_if_that_is_shorter(
    status: str, session: float, period: float
) -> None:
    client = Client()
    begun = client.now
    _, lost = keep_unread(client)
    assert client.sent() == []
    assert client.core.outgoing(client.now)[1] == begun + READS_SESSION_AFTER
    client.now += READS_SESSION_AFTER
    read_session(client, revision=1, result={"status": status, "ttl_ms": session * 1000})
    for times in range(1, 20):
        assert client.core.outgoing(client.now)[1] == begun + period * times
        client.now = begun + period * times
        (frame,) = client.sent()
        assert frame["command"] == "lock.renew"
        client.receive(id=frame["id"], revision=1, result={})
    assert lost == []


def test_a_session_that_cannot_be_read_is_read_later() -> None:
    client = Client()
    begun = client.now
    keep_unread(client)
    client.now += READS_SESSION_AFTER
    busy = {"code": "server.busy", "kind": "unavailable", "detail": "not now"}
    read_session(client, error=busy)
    client.now += PAUSE
    read_session(client, revision=1, result={"status": "active", "ttl_ms": 6000})
    assert client.core.outgoing(client.now)[1] == begun + 2


def test_a_session_itself_is_renewed_without_reading_it() -> None:
    client = Client()
    lost: list[LeaseLost] = []
    fields = {"agent": "ada", "token": 1}
    client.core.keep("it", "agent.heartbeat", fields, ADA, 30.0, lost.append, client.now)
    client.now += 10
    (frame,) = client.sent()
    assert frame["command"] == "agent.heartbeat"


def test_the_session_of_what_was_let_go_is_not_waited_for() -> None:
    client = Client()
    number, _ = keep_unread(client)
    client.now += READS_SESSION_AFTER
    (frame,) = client.sent()
    client.core.let_go(number)
    client.receive(id=frame["id"], revision=1, result={"status": "active", "ttl_ms": 6000})
    client.now += 100
    assert client.sent() == []


def test_a_lease_is_lost_when_the_server_says_so() -> None:
    client = Client()
    _, lost = keep(client)
    client.now += 10
    (frame,) = client.sent()
    stale = {"code": "lock.stale_token", "kind": "stale", "detail": "it is bob's"}
    client.receive(id=frame["id"], error=stale)
    assert "it is bob's" in str(lost[0])
    client.now += 100
    assert client.sent() == []


def test_a_lease_is_lost_when_it_cannot_be_renewed_in_time_and_not_a_moment_later() -> None:
    client = Client()
    _, lost = keep(client)
    client.core.broken("it rains")
    client.now += 29.9
    client.sent()
    assert lost == []
    client.now += 0.2
    client.sent()
    assert len(lost) == 1


def test_a_renewal_counts_from_when_it_was_sent() -> None:
    client = Client()
    _, lost = keep(client)
    client.now += 10
    (frame,) = client.sent()
    client.now += 15
    client.receive(id=frame["id"], revision=1, result={})
    client.core.broken("it rains")
    client.now += 15.1  # 30.1 s after it was sent
    client.sent()
    assert len(lost) == 1


def test_a_renewal_is_repeated_over_the_next_connection() -> None:
    client = Client()
    _, lost = keep(client)
    client.now += 10
    (frame,) = client.sent()
    client.reconnect()
    assert client.sent() == [frame]
    client.receive(id=frame["id"], revision=1, result={})
    assert lost == []


def test_what_was_let_go_is_renewed_no_longer() -> None:
    client = Client()
    number, lost = keep(client)
    client.core.let_go(number)
    client.now += 100
    assert client.sent() == []
    assert lost == []
