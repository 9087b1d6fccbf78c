"""Settings of a client, each with its reason."""

from __future__ import annotations

import math
from dataclasses import dataclass

LIMIT_MAX = 2_000_000.0
"""The longest time, in seconds, that every function of the standard library can wait: 23 days."""


def limit(seconds: float) -> float | None:
    """A time limit for the standard library: none if it is longer than that, such as infinity."""
    if math.isnan(seconds):
        raise ValueError("a time limit must be a number, not nan")
    return None if seconds > LIMIT_MAX else seconds


@dataclass(frozen=True)
class Options:
    """Settings of a client. Times are in seconds."""

    request_timeout: float = 30.0
    """How long a call may take, over as many connections as it needs, besides the time that it asks
    to wait."""
    connect_timeout: float = 5.0
    """How long one attempt to connect may take."""
    backoff_min: float = 0.05
    """The first pause before connecting again; every further one is twice as long."""
    backoff_max: float = 5.0
    """The longest pause before connecting again."""
    silence_max: float = 8.0
    """A connection on which nothing is heard for so long is given up, and the next server is used.
    The server is pinged in the second half of it. A call outlives a dead server, and attempts to
    connect to others that are dead too: all of this is less than `request_timeout`."""
    stall_max: float = 300.0
    """How long nothing may move while bytes of artifacts, exports and backups are transferred."""
    automatic_keys: bool = True
    """Gives every command without an idempotency key one of its own, so that it can be sent again
    when the connection breaks. Each costs the workspace a kept answer for a day."""
    resume_watches: bool = True
    """Resumes a watch that the server ended because it fell behind or was interrupted."""
    queue_max: int = 16_384
    """How many calls may wait to be sent. More are refused."""
    queue_bytes_max: int = 64 << 20
    """How many bytes unanswered calls may have together, unless it is one call."""
    request_bytes_max: int = 9 << 20
    """How many bytes one call may have: what a server takes."""
    in_flight_max: int = 256
    """How many calls are sent without waiting for the answers of earlier ones. Calls that ask to
    wait are not counted."""
    watches_max: int = 256
    """How many watches one client may have."""
    watch_queue_max: int = 1_024
    """How many events may wait for one watcher. When there are more, the client ends the watch at
    the server and resumes it when the watcher has caught up."""
    watch_queue_bytes_max: int = 16 << 20
    """How many bytes of events may wait for one watcher, unless it is one event."""
    frame_bytes_max: int = 64 << 20
    """The largest frame that is taken from the server."""

    def backoff(self, failures: int, chance: float) -> float:
        """The pause after so many failed attempts. `chance` is from 0 to 1, so that clients which
        lost a server together do not come back together."""
        doubled = min(self.backoff_min * 2 ** min(failures, 20), self.backoff_max)
        return doubled * (0.5 + chance / 2)


def at_least_one(name: str, given: int) -> int:
    """The argument, if it is a positive integer."""
    if type(given) is not int or given < 1:
        raise ValueError(f"{name} must be an integer of at least 1, not {given!r}")
    return given
