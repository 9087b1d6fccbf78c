"""Values of LangGraph as bytes.

The serialiser of LangGraph returns a type and bytes. What is JSON already is kept as JSON, so that
people can read it, unless another serialiser was given: that one may encrypt.

The state of a checkpoint is an object of JSON if all values are. If not, it is one run of bytes: a
header in JSON, which says what follows, and the values one after another. What two checkpoints have
in common is stored once by the server.
"""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from .._json import Encoded
from ._javascript import MARK, OBJECTS, in_channel, of_javascript

CONTENT_TYPE = "langgraph.v1"
PART_LENGTH_MAX = 250_000
"""A value of Baton has at most one mebibyte; a longer text is divided."""
_DEPTH_MAX = 32
_LENGTH_BYTES = 4
_NESTED = (b"{", b"[")
_FORM = b'{"langgraph":1'
"""The prefix of the state of a checkpoint in JSON."""


class Ready(NamedTuple):
    """A value that was read with the answer of the server."""

    value: Any


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


def loaded(serde: SerializerProtocol, given: Typed | Ready, channel: str = "") -> Any:
    if isinstance(given, Ready):
        return given.value
    if given.type != "json" or type(serde) is not JsonPlusSerializer:
        return serde.loads_typed((given.type, given.data))
    if given.data[:1] in _NESTED and MARK in given.data:
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


def packed(
    serde: SerializerProtocol, header: Mapping[str, Any], parts: Mapping[str, Typed]
) -> tuple[str | None, Encoded]:
    """The type and the state of a checkpoint; no type if it is JSON."""
    if type(serde) is JsonPlusSerializer and all(it.type == "json" for it in parts.values()):
        return None, _object(header, parts)
    head = json.dumps(
        {**header, "parts": [[name, part.type, len(part.data)] for name, part in parts.items()]},
        separators=(",", ":"),
    ).encode()
    length = len(head).to_bytes(_LENGTH_BYTES, "big")
    data = b"".join((length, head, *(part.data for part in parts.values())))
    return CONTENT_TYPE, Encoded(b'"%s"' % b64encode(data))


def _object(header: Mapping[str, Any], parts: Mapping[str, Typed]) -> Encoded:
    pieces = [_FORM]
    for name, item in header.items():
        pieces += (b',"%s":' % name.encode(), json.dumps(item).encode())
    for name in ("checkpoint", "metadata"):
        pieces += (b',"%s":' % name.encode(), parts[name].data)
    pieces.append(b',"values":{')
    separator = b""
    for name, part in parts.items():
        if name.startswith("="):
            pieces += (separator, json.dumps(name[1:]).encode(), b":", part.data)
            separator = b","
    pieces.append(b"}}")
    return Encoded(b"".join(pieces))


def unpacked(
    content_type: str | None, state: Any
) -> tuple[Mapping[str, Any], Mapping[str, Typed | Ready]] | None:
    """The header and the parts of a state; none if it is of another form."""
    if content_type == CONTENT_TYPE:
        return _cut(a2b_base64(state))
    if content_type is not None or not isinstance(state, dict) or "langgraph" not in state:
        return None
    header = cast("dict[str, Any]", state)
    parts = {f"={channel}": Ready(value) for channel, value in header["values"].items()}
    parts |= {name: Ready(header[name]) for name in ("checkpoint", "metadata")}
    return header, parts


def _cut(data: bytes) -> tuple[Mapping[str, Any], Mapping[str, Typed | Ready]]:
    at = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big")
    header: dict[str, Any] = json.loads(data[_LENGTH_BYTES:at])
    parts: dict[str, Typed | Ready] = {}
    for name, kind, size in header["parts"]:
        parts[name] = Typed(kind, data[at : at + size])
        at += size
    return header, parts


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
