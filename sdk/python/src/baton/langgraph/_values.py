"""Values of LangGraph as JSON.

The serialiser of LangGraph returns a type and bytes, which are kept in Base64. What is JSON already
is kept as text, so that people and LangGraph.js can read it, unless another serialiser was given:
that one may encrypt.
"""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

PART_LENGTH_MAX = 250_000
"""A value of Baton has at most one mebibyte; a longer text is divided."""
_DEPTH_MAX = 32

Stored = dict[str, Any]
"""`{"type", "text"}`, `{"type", "base64"}`, or `{"type", "isText", "parts"}` for a divided one."""


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


def json_text(value: Any) -> str | None:
    """A value as JSON in Unicode; none if it has characters that are not."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text if text.isascii() or _is_unicode(text) else None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def stored(serde: SerializerProtocol, value: Any) -> Stored:
    if type(serde) is JsonPlusSerializer and is_plain(value):
        text = json_text(value)
        if text is not None:
            return {"type": "json", "text": text}
    kind, data = serde.dumps_typed(value)
    return {"type": kind, "base64": b64encode(data).decode()}


def loaded(serde: SerializerProtocol, given: Stored) -> Any:
    data = given["text"].encode() if "text" in given else b64decode(given["base64"])
    return serde.loads_typed((given["type"], data))


def length(given: Stored) -> int:
    """How many characters a stored value has."""
    return len(given.get("text") or given.get("base64") or "")


def divided(given: Stored) -> tuple[Stored, list[str]]:
    """The head and the parts of a value that is too long for one entry."""
    text: str = given["text"] if "text" in given else given["base64"]
    parts = [text[at : at + PART_LENGTH_MAX] for at in range(0, len(text), PART_LENGTH_MAX)]
    return {"type": given["type"], "isText": "text" in given, "parts": len(parts)}, parts


def joined(head: Stored, parts: Sequence[str]) -> Stored:
    return {"type": head["type"], "text" if head["isText"] else "base64": "".join(parts)}


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
