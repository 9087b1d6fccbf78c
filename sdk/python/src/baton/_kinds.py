"""One exception per kind of error: the kind says how to react.

Made by `generate.py` from `spec/`; changes made here are overwritten."""

from __future__ import annotations

from ._error import BatonError


class Invalid(BatonError):
    """The request can never succeed as written. Fix it."""

    kind = "invalid"


class Denied(BatonError):
    """The caller is not allowed to do this. Get permission or give up."""

    kind = "denied"


class NotFound(BatonError):
    """The named object does not exist. Create it or give up."""

    kind = "not_found"


class Conflict(BatonError):
    """Another caller was faster. Read again, then decide."""

    kind = "conflict"


class Stale(BatonError):
    """The caller's lease, token or session has ended. Stop acting on it at once."""

    kind = "stale"


class TooLarge(BatonError):
    """The request or a part of it is too large. Send less, or store it elsewhere."""

    kind = "too_large"


class Exhausted(BatonError):
    """A limit is reached. Wait, or ask for less."""

    kind = "exhausted"


class Unavailable(BatonError):
    """Baton cannot serve the request now. Retry later, or check the server."""

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
