"""When to ping a server, and when its silence means that it is gone. No I/O, no clock.

    heard ── half of the time ──▶ ping ── a quarter ──▶ ping ── a quarter ──▶ gone
      ▲                             │                     │
      └──────── any bytes ──────────┴─────────────────────┘

A client that was held up itself, by its own program or by a busy machine, may have an answer that
it has not read yet. So one that comes much too late asks again before it gives a server up.
"""

from __future__ import annotations

from enum import Enum


class Beat(Enum):
    """What is due."""

    NOTHING = 1
    PING = 2
    GONE = 3


PINGS = 2
"""How often a silent server is asked before it is given up."""


class Pulse:
    """The signs of life of the server on one connection."""

    def __init__(self, silence_max: float, now: float) -> None:
        self._quarter = silence_max / 4
        self.due = now
        self.heard(now)

    def heard(self, now: float) -> None:
        """Bytes have arrived."""
        self._heard_at = now
        self._asked = 0
        self.due = now + 2 * self._quarter

    def beat(self, now: float) -> Beat:
        """What to do now; `due` is when there will be more."""
        if now < self.due:
            return Beat.NOTHING
        is_late = now > self.due + self._quarter
        if self._asked >= PINGS and not is_late:
            return Beat.GONE
        self._asked = min(self._asked + 1, PINGS)
        self.due = now + self._quarter
        return Beat.PING

    def silence(self, now: float) -> str:
        """Why a server is given up."""
        return f"nothing was heard for {now - self._heard_at:.0f} s"
