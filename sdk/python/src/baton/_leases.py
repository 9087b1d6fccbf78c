"""Leases: what ends by itself unless it is renewed, such as a lock or the lease of a task. No I/O.

Each is renewed in a third of its time, so two renewals may go wrong before it is too late. It is
lost when the server says so, or when no renewal has worked for as long as one lasts: another may
have it by then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ._error import BatonError
from ._requests import Answer, Caller, Outcome
from .errors import LeaseLost

RENEWALS_PER_TTL = 3

_FINAL = ("invalid", "not_found", "conflict", "stale", "denied")


@dataclass
class Kept:
    """Something that is renewed."""

    what: str
    """What it is, in words."""
    operation: str
    fields: dict[str, Any]
    caller: Caller
    ttl: float
    on_lost: Callable[[LeaseLost], None]
    kept_until: float
    renew_at: float
    begun: float = 0.0
    """When the renewal in flight was sent; counted from then, because the server cannot have
    renewed it any earlier."""
    request: int | None = None
    last: BatonError | None = None


class Leases:
    """Everything that a client renews."""

    def __init__(self) -> None:
        self._kept: dict[int, Kept] = {}

    def add(self, number: int, kept: Kept) -> None:
        self._kept[number] = kept

    def remove(self, number: int) -> Kept | None:
        return self._kept.pop(number, None)

    def next_due(self) -> float | None:
        times = [
            it.kept_until if it.request is not None else min(it.renew_at, it.kept_until)
            for it in self._kept.values()
        ]
        return min(times, default=None)

    def due(self, now: float) -> tuple[list[tuple[int, Kept]], list[Kept]]:
        """What is to be renewed now, and what is lost."""
        renewed: list[tuple[int, Kept]] = []
        lost: list[Kept] = []
        for number, kept in list(self._kept.items()):
            if now >= kept.kept_until:
                del self._kept[number]
                lost.append(kept)
            elif kept.request is None and now >= kept.renew_at:
                kept.begun = now
                renewed.append((number, kept))
        return renewed, lost

    def answered(self, number: int, outcome: Outcome, now: float) -> LeaseLost | None:
        """The answer to a renewal; the error if it says that the lease is lost."""
        kept = self._kept.get(number)
        if kept is None:
            return None
        kept.request = None
        if isinstance(outcome, Answer):
            kept.kept_until = kept.begun + kept.ttl
            kept.renew_at = kept.begun + kept.ttl / RENEWALS_PER_TTL
            kept.last = None
            return None
        kept.last = outcome
        if outcome.kind in _FINAL:
            del self._kept[number]
            return LeaseLost(kept.what, outcome.detail)
        kept.renew_at = now + min(kept.ttl / RENEWALS_PER_TTL, 1.0)
        return None


def silent(kept: Kept) -> LeaseLost:
    """The error for what could not be renewed in time."""
    reason = f"it could not be renewed within {kept.ttl:g} s"
    return LeaseLost(kept.what, f"{reason}: {kept.last.detail}" if kept.last else reason)
