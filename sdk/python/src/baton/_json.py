"""Values to JSON and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any, cast

from ._record import Record, moment_text
from .errors import NotJson


class Encoded:
    """A value that is JSON in UTF-8 already."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data)


_TEXT = frozenset([str])
_SCALARS = frozenset([str, int, float, bool, type(None)])


def _check_keys(value: object) -> None:
    """Raises `ValueError` if two keys of a dict become the same text, such as `1` and `"1"`: one of
    the two items would be lost."""
    if isinstance(value, dict):
        members = cast("dict[Any, Any]", value)
        if not _TEXT.issuperset(map(type, members)):
            _check_distinct(members)
        items = members.values()
    elif isinstance(value, (list, tuple)):
        items = cast("list[Any]", value)
    else:
        return
    # Most lists are passed over without a look at each member.
    if not _SCALARS.issuperset(map(type, items)):
        for item in items:
            _check_keys(item)


def _check_distinct(value: dict[Any, Any]) -> None:
    texts: set[str] = set()
    for key in value:
        (text,) = json.loads(json.dumps({key: None}))
        if text in texts:
            raise ValueError(f"two keys of a dict are {text!r} as text")
        texts.add(text)


def _sorted(value: Set[Any]) -> list[Any]:
    try:
        return sorted(value)
    except TypeError:
        raise TypeError("a set whose members cannot be sorted, such as 1 and 'a'") from None


def _default(value: object) -> Any:
    """The JSON form of objects that JSON does not support."""
    plain = _plain(value)
    _check_keys(plain)
    return plain


def _plain(value: object) -> Any:
    if isinstance(value, Encoded):
        return json.loads(value.data)
    if isinstance(value, Record):
        return value.raw
    if isinstance(value, datetime):
        return moment_text(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, Set):
        return _sorted(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    # Pydantic models, without depending on pydantic.
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    raise TypeError(f"{type(value).__name__} has no JSON form")


_encoder = json.JSONEncoder(
    separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_default
)


def encode(value: object) -> bytes:
    """JSON in UTF-8."""
    try:
        data = _encoder.encode(value).encode()
        # Afterwards: a value that contains itself has been refused.
        _check_keys(value)
        return data
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJson(str(error) or type(error).__name__) from None


def encode_frame(frame: dict[str, Any]) -> bytes:
    """A frame, which has a number at least. Fields that are JSON already are copied: otherwise a
    long text would be searched for characters to escape."""
    ready = {name: it.data for name, it in frame.items() if type(it) is Encoded}
    if not ready:
        return encode(frame)
    parts = [encode({name: it for name, it in frame.items() if name not in ready})[:-1]]
    for name, data in ready.items():
        parts += (b",", encode(name), b":", data)
    return b"".join((*parts, b"}"))


decode = json.loads
