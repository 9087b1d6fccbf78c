"""One exception per kind of error: the kind says how to react.

Made by `generate.py` from `spec/`; changes made here are overwritten."""

from __future__ import annotations

from ._error import BatonError


class Invalid(BatonError):
    """The request can never succeed as written. Fix it."""

    kind = "invalid"


class Denied(BatonError):
    """The caller may not do this. Get permission or stop asking."""

    kind = "denied"


class NotFound(BatonError):
    """The named thing does not exist. Create it or stop asking."""

    kind = "not_found"


class Conflict(BatonError):
    """Someone else got there first. Read again, then decide."""

    kind = "conflict"


class Stale(BatonError):
    """The caller's lease, token or session is old. Stop acting on it at once."""

    kind = "stale"


class TooLarge(BatonError):
    """What was sent is larger than allowed. Send less, or store it as an artifact."""

    kind = "too_large"


class Exhausted(BatonError):
    """A limit is reached. Wait, or ask for less."""

    kind = "exhausted"


class Unavailable(BatonError):
    """Baton cannot serve this now. Try again later, or look at the server."""

    kind = "unavailable"


KINDS: dict[str, type[BatonError]] = {
    "invalid": Invalid,
    "denied": Denied,
    "not_found": NotFound,
    "conflict": Conflict,
    "stale": Stale,
    "too_large": TooLarge,
    "exhausted": Exhausted,
    "unavailable": Unavailable,
}

__all__ = [
    "KINDS",
    "Conflict",
    "Denied",
    "Exhausted",
    "Invalid",
    "NotFound",
    "Stale",
    "TooLarge",
    "Unavailable",
]
