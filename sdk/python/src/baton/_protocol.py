"""The protocol core: many calls, watches and leases over one connection. No I/O, no clock, no lock.

    call ───▶ add ──▶ ┌──────────┐ ──outgoing──▶ shell ──▶ server
    answer ◀───────── │ Protocol │ ◀──received── shell ◀──
                      └──────────┘ ◀──broken──── shell

The shell owns the socket, the clock and the lock. After every step it takes the deliveries and runs
them outside of its lock.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable
from typing import Any

from ._error import BatonError
from ._json import decode, encode, encode_frame
from ._leases import Kept, Leases, silent
from ._operation import Operation
from ._operations import OPERATIONS
from ._options import Options
from ._requests import (
    ELSEWHERE,
    Answer,
    Caller,
    Deliver,
    Effect,
    Outcome,
    Request,
    Requests,
    Unwanted,
)
from ._watches import SHUTTING_DOWN, Item, Position, Watched, Watches
from .errors import (
    Closed,
    LeaseLost,
    OutcomeUnknown,
    ProtocolError,
    TimedOut,
    Unreachable,
    from_problem,
)

TRANSACTION = Operation("transaction")


class Protocol:
    """The state of a client."""

    def __init__(self, url: str, options: Options, *, has_others: bool = False) -> None:
        self.url = url
        self.options = options
        self._has_others = has_others
        self.refusals = 0
        """How many servers, one after another, could not serve a call; with the last of them, the
        connection should be replaced."""
        self._ids = itertools.count(1)
        self._keys = itertools.count()
        self._key_prefix = secrets.token_hex(8)
        self._requests = Requests(options)
        self._watches = Watches(options)
        self._leases = Leases()
        self._renewals: dict[int, tuple[int, Kept]] = {}
        self._readings: dict[int, Kept] = {}
        self._is_open = False
        self._down_reason = "not connected yet"
        self._is_closed = False
        self._deliveries: list[Callable[[], None]] = []

    # The inputs from the client.

    def call(
        self,
        operation: Operation,
        fields: dict[str, Any],
        caller: Caller,
        deliver: Deliver,
        *,
        idempotency_key: str | None = None,
    ) -> Request:
        """Takes a call in, to be sent. It must be withdrawn if no caller waits for it any more."""
        self._check_open()
        effect = Effect.REPEATABLE
        if not operation.asks:
            # A live request is not remembered, so it is not repeated under a key either.
            is_live = operation.name == "message.request" and fields.get("keep") is False
            if idempotency_key is None and self.options.automatic_keys and not is_live:
                idempotency_key = f"{self._key_prefix}-{next(self._keys):x}"
            effect = Effect.CHANGES if idempotency_key is None else Effect.CHANGES_ONCE
        return self._add(operation, fields, caller, deliver, effect, idempotency_key)

    def _add(
        self,
        operation: Operation,
        fields: dict[str, Any],
        caller: Caller,
        deliver: Deliver,
        effect: Effect,
        idempotency_key: str | None,
    ) -> Request:
        number = next(self._ids)
        frame: dict[str, Any] = {"id": number, "workspace": caller.workspace}
        # An operation that names its agent identifies the caller with it; a filter does not.
        if operation.agent != "narrows":
            frame["agent"] = caller.agent
        # Otherwise the agent that a query is about would count as the caller, and be shown its
        # fencing tokens.
        is_about_agent = operation.asks and operation.agent != "acts"
        if is_about_agent and fields.get("agent") not in (None, caller.agent):
            frame["caller"] = caller.agent
        if idempotency_key is not None:
            frame["idempotency_key"] = idempotency_key
        frame["command"] = operation.name
        if operation.id_field is not None and "id" in fields:
            fields = {**fields, operation.id_field: fields["id"]}
            del fields["id"]
        frame.update(fields)
        wait_ms = fields.get(operation.waits, 0) or 0 if operation.waits else 0
        if operation.waits == "timeout_ms" and not wait_ms:
            wait_ms = 30_000
        request = Request(
            number, encode_frame(frame), effect, deliver, operation, caller, _count(wait_ms)
        )
        self._requests.add(request)
        return request

    def give_up(self, request: Request, seconds: float | None = None) -> BatonError:
        """Withdraws a call that no caller waits for; returns the error with its known state."""
        _, may_be_done = self._requests.withdraw(request.id)
        waited = self.options.request_timeout if seconds is None else seconds
        if may_be_done:
            return OutcomeUnknown(f"no response within {waited:g} s")
        if request.refusal is not None:
            return request.refusal
        if not self._is_open:
            return Unreachable(self.url, self._down_reason)
        return TimedOut(waited)

    def watch(
        self,
        request: dict[str, Any],
        caller: Caller,
        on_begun: Callable[[BatonError | None], None],
        on_ready: Callable[[], None],
        *,
        start: int | None = None,
        snapshot: bool = False,
    ) -> int:
        """Takes a watch in, to be begun. It must be left in the end."""
        self._check_open()
        number = next(self._ids)
        if snapshot and start is not None:
            request = request | {"from": start}  # which the server refuses
        following = None if start is None or snapshot else max(start, 1)
        position = Position(following, snapshot)
        self._watches.add(number, Watched(caller, request, position, on_begun, on_ready))
        return number

    def poll(self, number: int) -> tuple[Item | BatonError | None, bool]:
        """The next item of a watch, the error that ended it, or nothing yet; and whether there may
        be something to send, because the watcher has caught up."""
        return self._watches.poll(number)

    def resume_from(self, number: int) -> int:
        return self._watches.resume_from(number)

    def leave_watch(self, number: int) -> None:
        self._watches.remove(number)

    def keep(
        self,
        what: str,
        operation: str,
        fields: dict[str, Any],
        caller: Caller,
        ttl: float,
        on_lost: Callable[[LeaseLost], None],
        now: float,
    ) -> int:
        """Renews something until it is let go or lost."""
        self._check_open()
        number = next(self._ids)
        self._leases.add(number, Kept(what, operation, fields, caller, ttl, on_lost, now))
        return number

    def let_go(self, number: int) -> None:
        """Renews something no longer."""
        kept = self._leases.remove(number)
        if kept is not None and kept.request is not None:
            self._requests.withdraw(kept.request)
            self._renewals.pop(kept.request, None)
        if kept is not None and kept.reading is not None:
            self._requests.withdraw(kept.reading)
            self._readings.pop(kept.reading, None)

    def close(self) -> None:
        """Takes nothing new. What is in flight may still be answered."""
        self._is_closed = True

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def is_idle(self) -> bool:
        """Whether nothing is on its way but calls that wait."""
        return self._requests.is_idle

    def over(self) -> None:
        """The connection will not come back: everything that waits ends."""
        self._is_closed = True
        for request in self._requests.drain():
            uncertain = request.is_uncertain and request.effect is not Effect.REPEATABLE
            error = OutcomeUnknown("the client was closed") if uncertain else Closed()
            self._deliver(request.deliver, error)
        self._deliveries += self._watches.end_all(Closed())

    def _check_open(self) -> None:
        if self._is_closed:
            raise Closed()

    # The inputs from the connection.

    def connected(self) -> None:
        self._is_open = True

    def broken(self, reason: str) -> None:
        """There is no connection, or no longer."""
        self._is_open = False
        self.refusals = 0
        self._down_reason = reason
        for request, error in self._requests.broken(reason):
            self._deliver(request.deliver, error)
        self._watches.broken()

    def denied(self, error: BatonError, now: float) -> None:
        """The server refuses this client, which no repetition changes: what waits for the
        connection ends with the error, except commands that may have been executed."""
        self._is_open = False
        self._down_reason = error.detail
        for request in self._requests.drain():
            self._settle(request, _after_denial(request, error), now)
        self._deliveries += self._watches.end_all(error)

    @property
    def is_wanted(self) -> bool:
        """Whether something waits for a connection."""
        return self._requests.has_unsent or self._watches.has_due

    def outgoing(self, now: float) -> tuple[list[bytes], float | None]:
        """The bytes to send now, and the time of the next call without another event."""
        renewed, lost, read = self._leases.due(now)
        for kept in lost:
            self._deliver(kept.on_lost, silent(kept))
        for number, kept in renewed:
            self._renew(number, kept)
        for kept in read:
            self._read_session(kept)
        soonest = self._leases.next_due()
        if not self._is_open:
            return [], soonest
        frames, watch_due = self._watches.outgoing(now, lambda: next(self._ids))
        out = self._requests.outgoing()
        for frame, caller in frames:
            if caller is not None:
                frame = {**frame, "workspace": caller.workspace, "agent": caller.agent}
            out.append(encode(frame))
        if watch_due is not None:
            soonest = watch_due if soonest is None else min(soonest, watch_due)
        return out, soonest

    def _renew(self, number: int, kept: Kept) -> None:
        operation = OPERATIONS[kept.operation]
        # To renew twice is as good as once.
        request = self._add(operation, kept.fields, kept.caller, _ignore, Effect.REPEATABLE, None)
        kept.request = request.id
        self._renewals[request.id] = number, kept

    def _read_session(self, kept: Kept) -> None:
        operation, caller = OPERATIONS["agent.get"], kept.caller
        fields = {"agent": caller.agent}
        request = self._add(operation, fields, caller, _ignore, Effect.REPEATABLE, None)
        kept.reading = request.id
        self._readings[request.id] = kept

    def _renewed(self, number: int, kept: Kept, outcome: Outcome, now: float) -> None:
        lost = self._leases.answered(number, outcome, now)
        if lost is not None:
            self._deliver(kept.on_lost, lost)

    def received(self, text: str | bytes, now: float) -> None:
        """Takes in what the server sent. `ProtocolError` means that the connection is of no use."""
        try:
            frame = decode(text)
            number, watch = frame.get("id"), frame.get("watch")
        except (ValueError, AttributeError) as error:
            raise ProtocolError(f"a frame is not a JSON object: {error}") from None
        problem = frame.get("error")
        is_leaving = problem is not None and problem.get("code") in SHUTTING_DOWN
        if is_leaving:
            self._is_open = False
            self._down_reason = "the server is shutting down"
        is_passing = problem is not None and self._is_passing(problem)
        if watch is not None and number is None:
            self._deliveries += self._watches.pushed(watch, frame, len(text), now)
        elif number is None:
            detail = problem.get("detail") if problem else "a frame belongs to no request"
            raise ProtocolError(str(detail))
        elif self._watches.knows(number):
            self._deliveries += self._watches.answered(number, frame, now, is_passing)
            self._replace(1 if is_passing else 0)
        elif is_leaving:
            ended = self._requests.postponed(number)
            if ended is not None:
                detail = "the server was shut down before the answer came"
                self._deliver(ended.deliver, OutcomeUnknown(detail))
        elif is_passing and self._requests.was_sent(number):
            self._replace(self._requests.refused(number, from_problem(problem or {})))
        else:
            self._answered(number, frame, problem, now)

    def _is_passing(self, problem: dict[str, Any]) -> bool:
        """Whether another server may serve what this one refuses, and may be asked."""
        is_elsewhere = problem.get("code") in ELSEWHERE
        is_staying = self._is_closed or not self._has_others
        return is_elsewhere and not is_staying and self._requests.can_be_repeated

    def _replace(self, refusals: int) -> None:
        """Sends nothing more over this connection, which the shell replaces."""
        if refusals:
            self.refusals = max(self.refusals, refusals)
            self._is_open = False
            self._down_reason = "the server cannot serve the workspace"

    def _answered(
        self, number: int, frame: dict[str, Any], problem: dict[str, Any] | None, now: float
    ) -> None:
        outcome: Outcome
        if problem is not None:
            outcome = from_problem(problem)
        elif "result" in frame:
            outcome = Answer(frame.get("revision", 0), frame["result"])
        elif "results" in frame:
            outcome = Answer(frame.get("revision", 0), frame["results"])
        else:
            outcome = ProtocolError("an answer has no result")
        request, unwanted = self._requests.answered(number, outcome)
        for each in unwanted:
            self._give_back(each)
        if request is not None:
            self._settle(request, outcome, now)

    def _settle(self, request: Request, outcome: Outcome, now: float) -> None:
        renewal = self._renewals.pop(request.id, None)
        if renewal is not None:
            self._renewed(*renewal, outcome, now)
            return
        kept = self._readings.pop(request.id, None)
        if kept is not None:
            kept.has_read(outcome, now)
            return
        if isinstance(outcome, ProtocolError) and request.effect is not Effect.REPEATABLE:
            outcome = OutcomeUnknown(outcome.detail)
        self._deliver(request.deliver, outcome)

    def _give_back(self, unwanted: Unwanted) -> None:
        """Sends what gives back something that was granted too late. Nobody waits for it; if there
        is no room for it, it ends by itself when its time is over."""
        operation = OPERATIONS[unwanted.operation]
        try:
            self._add(operation, unwanted.fields, unwanted.caller, _ignore, Effect.REPEATABLE, None)
        except BatonError:
            return

    # The calls that the shell uses.

    def _deliver(self, deliver: Callable[[Any], None], value: object) -> None:
        self._deliveries.append(lambda: deliver(value))

    def deliveries(self) -> list[Callable[[], None]]:
        """The callbacks to run now, outside of the lock."""
        taken, self._deliveries = self._deliveries, []
        return taken


def _ignore(_: object) -> None:
    pass


def _after_denial(request: Request, error: BatonError) -> BatonError:
    """The outcome of a request that the server will not answer, since it refuses the client. A call
    that only waits was cancelled with the connection; a request or a reply was sent before that."""
    only_waits = request.wait_ms > 0 and not request.sends_first
    may_be_done = request.is_uncertain and request.effect is not Effect.REPEATABLE
    if may_be_done and not only_waits:
        detail = f"the connection broke before the answer came, and then: {error.detail}"
        return OutcomeUnknown(detail)
    return error


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
