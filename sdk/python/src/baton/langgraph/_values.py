"""Values of LangGraph as bytes.

The serialiser of LangGraph returns a type and bytes. What is JSON already is kept as JSON, so that
people can read it, unless another serialiser was given: that one may encrypt.

The state of a checkpoint is one run of bytes: a header in JSON, which says what follows, and the
values one after another. What two checkpoints have in common is stored once by the server.
"""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ._javascript import MARK, OBJECTS, in_channel, of_javascript

PART_LENGTH_MAX = 250_000
"""A value of Baton has at most one mebibyte; a longer text is divided."""
_DEPTH_MAX = 32
_LENGTH_BYTES = 4


class Typed(NamedTuple):
    """A serialised value."""

    type: str
    data: bytes

    @property
    def text(self) -> str:
        """Its bytes in Base64."""
        return b64encode(self.data).decode()


def is_plain(value: Any, depth: int = 0) -> bool:
    """Whether a value comes back from JSON as it is. An object with `lc` would come back as what
    it describes."""
    kind = cast("type[Any]", type(value))
    if value is None or kind is str or kind is bool or kind is int:
        return True
    if kind is float:
        return math.isfinite(value)
    if depth == _DEPTH_MAX:
        return False
    if kind is list:
        return all(is_plain(item, depth + 1) for item in value)
    if kind is dict:
        members = cast("dict[Any, Any]", value)
        return "lc" not in members and all(
            type(name) is str and is_plain(item, depth + 1) for name, item in members.items()
        )
    return False


def json_bytes(value: Any) -> bytes | None:
    """A value as JSON in Unicode; none if it has characters that are not."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def stored(serde: SerializerProtocol, value: Any, channel: str = "") -> Typed:
    if type(serde) is JsonPlusSerializer and channel not in OBJECTS and is_plain(value):
        data = json_bytes(value)
        if data is not None:
            return Typed("json", data)
    return Typed(*serde.dumps_typed(value))


def loaded(serde: SerializerProtocol, given: Typed, channel: str = "") -> Any:
    if given.type != "json" or type(serde) is not JsonPlusSerializer:
        return serde.loads_typed((given.type, given.data))
    if MARK in given.data:
        value = of_javascript(serde.loads_typed((given.type, given.data)))
    else:
        # To look at every object takes longer than to read them.
        value = json.loads(given.data)
    return in_channel(channel, value)


def divided(given: Typed) -> tuple[dict[str, Any], list[str]]:
    """The head and the parts of a value that has entries of its own."""
    text = given.text
    parts = [text[at : at + PART_LENGTH_MAX] for at in range(0, len(text), PART_LENGTH_MAX)]
    return {"type": given.type, "parts": len(parts)}, parts


def joined(head: Mapping[str, Any], parts: Sequence[str]) -> Typed:
    return Typed(head["type"], b64decode("".join(parts)))


def packed(header: Mapping[str, Any], values: Sequence[bytes]) -> str:
    """A header and what follows it, in Base64."""
    head = json.dumps(header, separators=(",", ":")).encode()
    return b64encode(b"".join((len(head).to_bytes(_LENGTH_BYTES, "big"), head, *values))).decode()


def unpacked(text: str) -> tuple[dict[str, Any], bytes]:
    """The header, and what follows it."""
    data = b64decode(text)
    end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big")
    return json.loads(data[_LENGTH_BYTES:end]), data[end:]


def contains(value: Any, wanted: Any) -> bool:
    """Whether a value contains all that another one has, as `@>` of PostgreSQL."""
    if isinstance(wanted, Mapping):
        members = cast("Mapping[str, Any]", wanted)
        return isinstance(value, Mapping) and all(
            name in value and contains(value[name], item) for name, item in members.items()
        )
    if isinstance(wanted, (list, tuple)):
        items = cast("Sequence[Any]", wanted)
        return isinstance(value, (list, tuple)) and all(
            any(contains(it, item) for it in cast("Sequence[Any]", value)) for item in items
        )
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
