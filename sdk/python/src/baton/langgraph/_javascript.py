"""The data of LangGraph.js, in the form that LangGraph has in Python.

Its serialiser writes JSON. Messages of LangChain have a form that LangChain reads in both
languages; other objects have one of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, cast

from langgraph.checkpoint.serde.types import INTERRUPT, TASKS, _DeltaSnapshot
from langgraph.types import Interrupt, Send

MARK = b'"lc"'
"""The members of JSON that describe objects."""


def of_javascript(value: Any) -> Any:
    """A value from JSON with its objects."""
    if isinstance(value, list):
        return [of_javascript(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    members = {name: of_javascript(it) for name, it in cast("dict[str, Any]", value).items()}
    if members.get("lc") != 2:
        return members
    kind = members.get("type")
    if kind == "undefined":
        return None
    if kind == "delta_snapshot":
        return _DeltaSnapshot(members.get("value"))
    names, arguments = members.get("id"), members.get("args")
    if kind == "constructor" and isinstance(names, list) and isinstance(arguments, list):
        build = _BUILT.get("/".join(map(str, cast("list[Any]", names))))
        if build is not None and arguments:
            # A set or a map of objects can be one in JavaScript only.
            with contextlib.suppress(TypeError):
                return build(arguments[0])
    return members


_BUILT: dict[str, Callable[[Any], Any]] = {"Set": set, "Map": dict, "Uint8Array": bytes}


def in_channel(channel: str, value: Any) -> Any:
    """The value of a channel from JSON: interrupts and sends are not marked in it. Python does not
    store values of those channels as JSON."""
    build = OBJECTS.get(channel)
    if build is None:
        return value
    if isinstance(value, list):
        return [in_channel(channel, item) for item in cast("list[Any]", value)]
    return build(cast("dict[str, Any]", value)) if type(value) is dict else value


def _interrupt(members: dict[str, Any]) -> Interrupt:
    value, id = members.get("value"), members.get("id")
    return Interrupt(value) if id is None else Interrupt(value, id)


def _send(members: dict[str, Any]) -> Any:
    return Send(members["node"], members.get("args")) if "node" in members else members


OBJECTS: dict[str, Callable[[dict[str, Any]], Any]] = {INTERRUPT: _interrupt, TASKS: _send}
"""Channels whose values are objects."""
