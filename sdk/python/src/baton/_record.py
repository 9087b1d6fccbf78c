"""The result of an operation: a read-only view of the JSON object, with one property per field.

The object itself is kept, so fields of a newer server are in `raw`, and nothing is converted before
it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, ClassVar, TypeVar

from .errors import ProtocolError

T = TypeVar("T")


class Record:
    """A JSON object that the server sent."""

    __slots__ = ("raw",)

    _required: ClassVar[frozenset[str]] = frozenset()

    raw: dict[str, Any]
    """The object as it came."""

    def __init__(self, raw: dict[str, Any]) -> None:
        try:
            complete = raw.keys() >= self._required
        except AttributeError:
            kind = type(raw).__name__
            raise ProtocolError(f"{type(self).__name__} is not an object but {kind}") from None
        if not complete:
            missing = ", ".join(sorted(self._required - raw.keys()))
            raise ProtocolError(f"{type(self).__name__} lacks {missing}")
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.raw == self.raw  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.raw.items())
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.raw,)

    __hash__ = None  # type: ignore[assignment]


def moment(text: str) -> datetime:
    """A time of the server, in UTC."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def moment_text(moment: datetime) -> str:
    """A time as the server reads it. One without a time zone is taken as local time."""
    text = moment.astimezone(timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def optional(make: Callable[[Any], T], raw: Any) -> T | None:
    """The value, or none if there is none."""
    return None if raw is None else make(raw)
