"""Requests: what waits to be sent, what waits for its answer, and whom to tell. No I/O.

    add ──▶ unsent ──outgoing──▶ in flight ──answered──▶ delivered
              ▲                      │
              └── broken, if it may ─┤
                  be repeated        └── broken, if it may not ──▶ delivered: outcome unknown

1. Requests are sent in the order of their numbers, also again after a broken connection.
2. A command whose outcome is not known is never reported as not done.
3. What is granted to a call that was given up meanwhile is given back.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ._error import BatonError
from ._operation import Operation
from ._options import Options
from .errors import Crowded, OutcomeUnknown, TooLarge


@dataclass(frozen=True)
class Caller:
    """The workspace of a call, and the agent that makes it."""

    workspace: str
    agent: str


@dataclass(frozen=True)
class Answer:
    """The answer to a call."""

    revision: int
    """The revision that the answer reflects."""
    result: Any
    """The result; of a transaction the list of its results."""


ELSEWHERE = {
    "cluster.elsewhere": False,
    "cluster.no_owner": False,
    "cluster.owner_lost": True,
    "cluster.owner_unreachable": False,
    "engine.stopped": False,
    "engine.unknown_outcome": True,
    "log.away": False,
    "log.fenced": False,
}
"""Why a server of several may refuse what another one, or a later moment, does not: it has lost the
workspace or its log. True if the request may have been executed nevertheless."""


Outcome = Answer | BatonError
Deliver = Callable[[Outcome], None]


class Effect(Enum):
    """The effect of sending a request twice."""

    REPEATABLE = 1
    """Nothing: it asks, or it has an idempotency key, or it renews something."""
    CHANGES_ONCE = 2
    """No second effect, because it has an idempotency key."""
    CHANGES = 3
    """A second effect, perhaps."""


SENDS_FIRST = ("message.request", "message.reply")
"""The operations that have an effect before they wait."""


@dataclass
class Request:
    """A request that has not been answered."""

    id: int
    payload: bytes
    effect: Effect
    deliver: Deliver
    operation: Operation | None = None
    """None for a transaction."""
    caller: Caller | None = None
    wait_ms: int = 0
    """How long it asks to wait at most; 0 if it does not."""
    is_uncertain: bool = False
    """It was in flight when an earlier connection broke."""
    refusals: int = 0
    """How many servers have refused it for a reason that passes."""
    refusal: BatonError | None = None
    """The newest of these reasons."""

    @property
    def sends_first(self) -> bool:
        """Whether it has an effect before it waits."""
        return self.operation is not None and self.operation.name in SENDS_FIRST


@dataclass(frozen=True)
class Unwanted:
    """A grant that arrived too late, and the fields of the call that releases it."""

    operation: str
    fields: dict[str, Any]
    caller: Caller


def too_large(count: int, limit: int) -> TooLarge:
    detail = f"the request has {count} bytes; at most {limit} are allowed"
    facts = {"given": count, "max": limit}
    return TooLarge("request.too_large", detail, "split it into several requests", facts)


class Requests:
    """Every request that has not been answered."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._pending: dict[int, Request] = {}
        self._unsent: list[int] = []  # a heap: numbers that were withdrawn are skipped
        self._in_flight: set[int] = set()
        self._patient = 0  # how many of those in flight ask to wait
        self._given_up: dict[int, Request] = {}
        self._bytes = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is on its way but calls that wait."""
        return len(self._pending) == self._patient

    @property
    def has_unsent(self) -> bool:
        return len(self._pending) > len(self._in_flight)

    def add(self, request: Request) -> None:
        options = self._options
        size = len(request.payload)
        if size > options.request_bytes_max:
            raise too_large(size, options.request_bytes_max)
        if len(self._pending) - len(self._in_flight) >= options.queue_max:
            raise Crowded("calls", options.queue_max)
        if self._bytes and self._bytes + size > options.queue_bytes_max:
            raise Crowded("bytes of calls", options.queue_bytes_max)
        self._bytes += size
        self._pending[request.id] = request
        heapq.heappush(self._unsent, request.id)

    def outgoing(self) -> list[bytes]:
        """The requests that may be sent now, in order."""
        out: list[bytes] = []
        room = self._options.in_flight_max - (len(self._in_flight) - self._patient)
        while self._unsent and room > 0:
            request = self._pending.get(heapq.heappop(self._unsent))
            if request is None or request.id in self._in_flight:
                continue
            out.append(request.payload)
            self._in_flight.add(request.id)
            if request.wait_ms:
                self._patient += 1
            else:
                room -= 1
        return out

    def _land(self, request: Request) -> bool:
        """Takes it out of flight; whether it was there."""
        if request.id not in self._in_flight:
            return False
        self._in_flight.discard(request.id)
        if request.wait_ms:
            self._patient -= 1
        return True

    def _remove(self, number: int) -> Request | None:
        request = self._pending.pop(number, None)
        if request is not None:
            self._bytes -= len(request.payload)
        return request

    def answered(self, number: int, outcome: Outcome) -> tuple[Request | None, list[Unwanted]]:
        """The request that this answers, and what was granted to one that was given up."""
        given_up = self._given_up.pop(number, None)
        if given_up is not None:
            return None, _unwanted(given_up, outcome)
        request = self._remove(number)
        if request is not None:
            self._land(request)
        return request, []

    def postponed(self, number: int) -> Request | None:
        """The server refused it because it is going away: it is for the next connection. Returns it
        if it ends instead: it may have been executed, and would be executed again."""
        request = self._pending.get(number)
        if request is None or not self._land(request):
            return None
        if request.effect is Effect.CHANGES and request.sends_first:
            return self._remove(number)
        heapq.heappush(self._unsent, number)
        return None

    @property
    def can_be_repeated(self) -> bool:
        """Whether everything in flight may be sent again."""
        return all(self._pending[it].effect is not Effect.CHANGES for it in self._in_flight)

    def refused(self, number: int, error: BatonError) -> int:
        """A server cannot serve it now: it is for the next one. How many have refused it."""
        request = self._pending.get(number)
        if request is None or not self._land(request):
            return 0
        request.refusals += 1
        request.refusal = error
        request.is_uncertain |= ELSEWHERE[error.code]
        heapq.heappush(self._unsent, number)
        return request.refusals

    def broken(self, reason: str) -> list[tuple[Request, BatonError]]:
        """The connection is gone. What may be repeated will be; the rest ends."""
        self._given_up.clear()
        ended: list[tuple[Request, BatonError]] = []
        for number in sorted(self._in_flight):
            request = self._pending[number]
            self._land(request)
            if request.effect is Effect.CHANGES:
                self._remove(number)
                text = f"the connection broke before the answer came: {reason}"
                ended.append((request, OutcomeUnknown(text)))
            else:
                request.is_uncertain = True
                heapq.heappush(self._unsent, number)
        return ended

    def withdraw(self, number: int) -> tuple[bool, bool]:
        """Withdraws a request without a caller: whether it was still pending, and whether it may
        have been executed."""
        request = self._remove(number)
        if request is None:
            return False, False
        was_sent = self._land(request)
        if was_sent and request.operation is not None and request.operation.gives_back is not None:
            self._given_up[number] = request
        may_be_done = was_sent or request.is_uncertain
        return True, may_be_done and request.effect is not Effect.REPEATABLE

    def drain(self) -> list[Request]:
        """Everything that will not be answered any more."""
        rest = list(self._pending.values())
        self._pending.clear()
        self._in_flight.clear()
        self._unsent.clear()
        self._patient = self._bytes = 0
        return rest

    def was_sent(self, number: int) -> bool:
        return number in self._in_flight


def _unwanted(request: Request, outcome: Outcome) -> list[Unwanted]:
    operation, caller = request.operation, request.caller
    if operation is None or caller is None or isinstance(outcome, BatonError):
        return []
    back = operation.gives_back
    granted = [] if back is None else back.of(outcome.result)
    return [Unwanted(back.operation, fields, caller) for fields in granted if back is not None]
