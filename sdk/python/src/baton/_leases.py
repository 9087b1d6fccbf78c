"""Leases: what ends unless it is renewed, such as a lock or the lease of a task. No I/O.

Each is renewed in a third of its time, so two renewals may fail before it is too late. It is lost
when the server says so, or when no renewal has worked for as long as one lasts: another may have it
by then.

What an agent holds is also lost when the session of the agent ends, and every renewal is a sign of
life of that session. So it is renewed in a third of the time of the session if that is shorter. The
session is read once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ._error import BatonError
from ._requests import Answer, Caller, Outcome
from .errors import LeaseLost

RENEWALS_PER_TTL = 3
READS_SESSION_AFTER = 0.033
"""When the session is read, in seconds: early enough for the shortest one, which lasts 0.1 s, and
late enough that work which ends at once needs no further call."""
PAUSE = 1.0
"""The longest pause after a call that failed, in seconds."""
SESSION = "agent.heartbeat"
"""The operation that renews a session, which is not held under another one."""

_FINAL = ("invalid", "not_found", "conflict", "stale", "denied")


@dataclass
class Kept:
    """Something that is renewed."""

    what: str
    """A description of it, in words."""
    operation: str
    fields: dict[str, Any]
    caller: Caller
    ttl: float
    on_lost: Callable[[LeaseLost], None]
    begun: float
    """When the last renewal was sent; counted from then, because the server cannot have renewed it
    any earlier."""
    request: int | None = None
    """The renewal in flight."""
    reading: int | None = None
    """The request in flight that reads the session."""
    last: BatonError | None = None

    def __post_init__(self) -> None:
        self.kept_until = self.begun + self.ttl
        self.period = self.ttl / RENEWALS_PER_TTL
        """The time between two renewals."""
        self.renew_at = self.begun + self.period
        is_held = self.operation != SESSION
        self.read_at = self.begun + READS_SESSION_AFTER if is_held else None
        """When to read the session; none if that is not needed any more."""

    def due(self) -> float:
        """When there is something to do without an answer."""
        times = [self.kept_until]
        if self.request is None:
            times.append(self.renew_at)
        if self.read_at is not None and self.reading is None:
            times.append(self.read_at)
        return min(times)

    def has_read(self, outcome: Outcome, now: float) -> None:
        """The answer to the request that reads the session."""
        self.reading = None
        if isinstance(outcome, Answer):
            self.read_at = None
            if outcome.result["status"] == "active":
                self.period = min(self.ttl, outcome.result["ttl_ms"] / 1000) / RENEWALS_PER_TTL
                self.renew_at = min(self.renew_at, self.begun + self.period)
        elif outcome.kind in _FINAL:
            # It was never registered, or it is not permitted to know.
            self.read_at = None
        else:
            self.read_at = now + PAUSE


class Leases:
    """Everything that a client renews."""

    def __init__(self) -> None:
        self._kept: dict[int, Kept] = {}

    def add(self, number: int, kept: Kept) -> None:
        self._kept[number] = kept

    def remove(self, number: int) -> Kept | None:
        return self._kept.pop(number, None)

    def next_due(self) -> float | None:
        return min((it.due() for it in self._kept.values()), default=None)

    def due(self, now: float) -> tuple[list[tuple[int, Kept]], list[Kept], list[Kept]]:
        """The holds to renew now, the lost ones, and the agents whose session is to be read."""
        renewed: list[tuple[int, Kept]] = []
        lost: list[Kept] = []
        read: list[Kept] = []
        for number, kept in list(self._kept.items()):
            if now >= kept.kept_until:
                del self._kept[number]
                lost.append(kept)
                continue
            if kept.request is None and now >= kept.renew_at:
                kept.begun = now
                renewed.append((number, kept))
            if kept.reading is None and kept.read_at is not None and now >= kept.read_at:
                read.append(kept)
        return renewed, lost, read

    def answered(self, number: int, outcome: Outcome, now: float) -> LeaseLost | None:
        """The answer to a renewal; the error if it says that the lease is lost."""
        kept = self._kept.get(number)
        if kept is None:
            return None
        kept.request = None
        if isinstance(outcome, Answer):
            kept.kept_until = kept.begun + kept.ttl
            kept.renew_at = kept.begun + kept.period
            kept.last = None
            return None
        kept.last = outcome
        if outcome.kind in _FINAL:
            del self._kept[number]
            return LeaseLost(kept.what, outcome.detail)
        kept.renew_at = now + min(kept.period, PAUSE)
        return None


def silent(kept: Kept) -> LeaseLost:
    """The error for what could not be renewed in time."""
    reason = f"it could not be renewed within {kept.ttl:g} s"
    return LeaseLost(kept.what, f"{reason}: {kept.last.detail}" if kept.last else reason)
