"""Watches: where each one is, and what its watcher has not taken yet. No I/O.

             ┌────────── the connection broke, or the server ended it ──────────┐
             ▼                                                                  │
    begin ─▶ due ──outgoing──▶ asked ──answer──▶ live ──▶ items ──▶ ready ──▶ watcher
             ▲                                    │
             └── the watcher caught up ── full ◀──┘ too much is ready

1. An item is ready once, in order: what comes again after resuming is known by its revision and its
   place in the commit, and dropped.
2. A watch is resumed from the first revision that has not arrived completely. A server that would
   begin later has lost something, and the watch ends.
3. What is pushed for a number that is no longer in use is dropped.
4. A watcher that does not take its items delays no other: its queue is bounded, and its
   subscription is given back to the server while it is full.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ._error import BatonError
from ._options import Options
from ._requests import Caller
from .errors import Closed, Crowded, ProtocolError, from_problem

SHUTTING_DOWN = ("server.closing", "engine.closed")


@dataclass
class Position:
    """The items of a watch that have arrived."""

    next: int | None
    """The first revision that has not arrived completely; none while only the server knows."""
    needs_snapshot: bool = False
    within: int | None = None
    """The index of the last event of that revision that has arrived, if some have."""

    def begin(self, revision: int) -> str | None:
        """The server says from which revision on it sends; what is wrong with that."""
        if self.next is not None and not self.needs_snapshot:
            if revision > self.next:
                return f"the watch would begin at revision {revision} instead of {self.next}"
            return None
        self.next = revision
        return None

    def snapshot(self, revision: int) -> bool:
        """Whether a snapshot is new."""
        if not self.needs_snapshot:
            return False
        self.next, self.within, self.needs_snapshot = revision + 1, None, False
        return True

    def event(self, event: Mapping[str, Any]) -> bool:
        """Whether an event is new. If it is, it has arrived."""
        if self.needs_snapshot:
            return False
        # An event that is not stored comes once, or not at all, and nothing is resumed by it.
        if event.get("live"):
            return True
        revision, index = int(event["revision"]), int(event["index"])
        following = self.next or 1
        if revision < following:
            return False
        if revision == following and self.within is not None and index <= self.within:
            return False
        if event.get("last"):
            self.next, self.within = revision + 1, None
        else:
            self.next, self.within = revision, index
        return True

    def skip_to(self, revision: int) -> None:
        """The server knows that nothing before this revision is missing. A commit of which the
        last event has not arrived is, whatever the server knows."""
        if not self.needs_snapshot and self.within is None:
            self.next = max(self.next or 1, revision)


class State(Enum):
    """The state of a watch."""

    DUE = 1
    ASKED = 2
    LIVE = 3
    FULL = 4
    ENDED = 5


Item = tuple[str, dict[str, Any]]
"""`event` or `snapshot`, and what it is."""


@dataclass
class Watched:
    """One watch."""

    caller: Caller
    request: dict[str, Any]
    """`pattern` and `types`."""
    position: Position
    on_begun: Callable[[BatonError | None], None]
    on_ready: Callable[[], None]
    state: State = State.DUE
    not_before: float = 0.0
    subscription: int | None = None
    has_begun: bool = False
    ready: deque[tuple[Item, int]] = field(default_factory=lambda: deque[tuple[Item, int]]())
    ready_bytes: int = 0
    failures: int = 0
    """How often the server ended it since the last item."""
    error: BatonError | None = None

    def is_full(self, options: Options) -> bool:
        """One item always fits, however large it is."""
        return bool(self.ready) and (
            len(self.ready) >= options.watch_queue_max
            or self.ready_bytes >= options.watch_queue_bytes_max
        )

    def has_caught_up(self, options: Options) -> bool:
        return (
            len(self.ready) <= options.watch_queue_max // 2
            and self.ready_bytes <= options.watch_queue_bytes_max // 2
        )

    def frame(self) -> dict[str, Any]:
        """The requests to send now."""
        frame: dict[str, Any] = {"command": "watch", **self.request}
        if self.position.needs_snapshot:
            frame["snapshot"] = True
        elif self.position.next is not None:
            frame["from"] = self.position.next
        return frame


Delivery = Callable[[], None]


class Watches:
    """Every watch of a client, by its own number. The numbers on the wire change with every
    subscription."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._watched: dict[int, Watched] = {}
        self._subscriptions: dict[int, int] = {}
        self._unwanted: list[int] = []
        self._due = 0

    def add(self, number: int, watched: Watched) -> None:
        if len(self._watched) >= self._options.watches_max:
            raise Crowded("watches", self._options.watches_max)
        self._watched[number] = watched

    def remove(self, number: int) -> None:
        """Forgets a watch whose watcher is gone."""
        watched = self._watched.pop(number, None)
        if watched is not None and watched.subscription is not None:
            self._unsubscribe(watched.subscription)

    def knows(self, subscription: int) -> bool:
        return subscription in self._subscriptions

    def _unsubscribe(self, subscription: int) -> None:
        self._subscriptions.pop(subscription, None)
        self._unwanted.append(subscription)

    def outgoing(
        self, now: float, next_id: Callable[[], int]
    ) -> tuple[list[tuple[dict[str, Any], Caller | None]], float | None]:
        """The frames to send now, and when there will be more."""
        frames: list[tuple[dict[str, Any], Caller | None]] = []
        for subscription in self._unwanted:
            frames.append(({"id": next_id(), "command": "unwatch", "watch": subscription}, None))
        self._unwanted.clear()
        soonest: float | None = None
        for number, watched in self._watched.items():
            if watched.state is not State.DUE:
                continue
            if watched.not_before > now:
                soonest = min(soonest or watched.not_before, watched.not_before)
                continue
            subscription = next_id()
            frames.append(({"id": subscription, **watched.frame()}, watched.caller))
            watched.state, watched.subscription = State.ASKED, subscription
            self._subscriptions[subscription] = number
        return frames, soonest

    def _find(self, subscription: int) -> Watched | None:
        return self._watched.get(self._subscriptions.get(subscription, -1))

    def answered(
        self, subscription: int, frame: dict[str, Any], now: float, is_passing: bool = False
    ) -> list[Delivery]:
        """The server's answer to a subscription. Passing is what another server may not refuse."""
        watched = self._find(subscription)
        if watched is None:
            return []
        problem = frame.get("error")
        if problem is not None:
            return self._ended(subscription, watched, problem, now, is_passing)
        fault = watched.position.begin(int(frame["result"]["from"]))
        if fault is not None:
            return self._fail(subscription, watched, ProtocolError(fault))
        watched.state = State.LIVE
        if watched.has_begun:
            return []
        watched.has_begun = True
        return [lambda: watched.on_begun(None)]

    def _fail(self, subscription: int, watched: Watched, error: BatonError) -> list[Delivery]:
        number = self._subscriptions.get(subscription, -1)
        self._unsubscribe(subscription)
        watched.subscription = None
        watched.state, watched.error = State.ENDED, error
        if watched.has_begun:
            return [watched.on_ready]
        self._watched.pop(number, None)
        return [lambda: watched.on_begun(error)]

    def _ended(
        self,
        subscription: int,
        watched: Watched,
        problem: dict[str, Any],
        now: float,
        is_passing: bool = False,
    ) -> list[Delivery]:
        """The server ended a subscription, or refused it."""
        resume_from = problem.get("resume_from")
        may_pass = problem.get("kind") in ("unavailable", "exhausted")
        is_resumed = (
            self._options.resume_watches
            and watched.has_begun
            and (resume_from is not None or may_pass)
        )
        # A server that goes away is as good as a connection that breaks.
        is_broken = is_passing or problem.get("code") in SHUTTING_DOWN
        if not is_resumed and not is_broken:
            deliveries = self._fail(subscription, watched, from_problem(problem))
            # The server has ended it already.
            self._unwanted.remove(subscription)
            return deliveries
        if resume_from is not None:
            watched.position.skip_to(int(resume_from))
        # The first time at once; a server that keeps ending it is given time.
        watched.not_before = 0.0
        if watched.failures:
            watched.not_before = now + self._options.backoff(watched.failures, random.random())
        watched.failures += 1
        caught_up = watched.has_caught_up(self._options)
        watched.state = State.DUE if caught_up else State.FULL
        watched.subscription = None
        self._subscriptions.pop(subscription, None)
        return []

    def pushed(
        self, subscription: int, frame: dict[str, Any], size: int, now: float
    ) -> list[Delivery]:
        """Something was pushed for a subscription."""
        watched = self._find(subscription)
        if watched is None:
            return []
        item: Item
        if "event" in frame:
            item = ("event", frame["event"])
        elif "snapshot" in frame:
            item = ("snapshot", frame["snapshot"])
        elif "error" in frame:
            return self._ended(subscription, watched, frame["error"], now)
        else:
            return self._fail(subscription, watched, ProtocolError("a push brings nothing"))
        if watched.is_full(self._options):
            self._unsubscribe(subscription)
            watched.state, watched.subscription = State.FULL, None
            return []
        watched.failures = 0
        position = watched.position
        is_event = item[0] == "event"
        is_new = position.event(item[1]) if is_event else position.snapshot(item[1]["revision"])
        if not is_new:
            return []
        watched.ready.append((item, size))
        watched.ready_bytes += size
        return [watched.on_ready]

    def broken(self) -> None:
        """The connection is gone, and every subscription with it."""
        self._subscriptions.clear()
        self._unwanted.clear()
        for watched in self._watched.values():
            if watched.state in (State.ASKED, State.LIVE):
                watched.state, watched.subscription = State.DUE, None

    @property
    def has_due(self) -> bool:
        """Whether a watch is to be subscribed."""
        return any(watched.state is State.DUE for watched in self._watched.values())

    def end_all(self, error: BatonError) -> list[Delivery]:
        """Nothing will come any more, for this reason."""
        deliveries: list[Delivery] = []
        for watched in self._watched.values():
            if watched.state is State.ENDED:
                continue
            watched.state, watched.error = State.ENDED, error
            if watched.has_begun:
                deliveries.append(watched.on_ready)
            else:
                on_begun = watched.on_begun
                deliveries.append(lambda on_begun=on_begun: on_begun(error))
        return deliveries

    def poll(self, number: int) -> tuple[Item | BatonError | None, bool]:
        """The next item for a watcher, and whether the watch has become due."""
        watched = self._watched.get(number)
        if watched is None:
            return Closed(), False
        if watched.ready:
            item, size = watched.ready.popleft()
            watched.ready_bytes -= size
            is_due = watched.state is State.FULL and watched.has_caught_up(self._options)
            if is_due:
                watched.state = State.DUE
            return item, is_due
        return watched.error, False

    def resume_from(self, number: int) -> int:
        """The revision from which a watcher that goes now would have to resume."""
        watched = self._watched.get(number)
        if watched is None:
            return 1
        if watched.ready:
            kind, item = watched.ready[0][0]
            return int(item["revision"]) + (0 if kind == "event" else 1)
        return watched.position.next or 1
