"""The facts about an operation that the protocol core needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast


@dataclass(frozen=True)
class GivesBack:
    """The operation that gives back what a call was granted after its caller had gone."""

    operation: str
    fields: dict[str, str | tuple[str, ...]]
    """For each field a text, or the path of the value in the result."""

    def of(self, result: Any) -> list[dict[str, Any]]:
        """The fields for everything that was granted: each item, if the result is one list."""
        granted: list[Any] = [result]
        if isinstance(result, dict):
            fields = cast("dict[str, Any]", result)
            only = next(iter(fields.values())) if len(fields) == 1 else None
            granted = cast("list[Any]", only) if isinstance(only, list) else granted
        made = (self._of_one(each) for each in granted)
        return [fields for fields in made if fields is not None]

    def _of_one(self, result: Any) -> dict[str, Any] | None:
        """The fields; none if nothing was granted."""
        made: dict[str, Any] = {}
        for name, source in self.fields.items():
            if isinstance(source, str):
                made[name] = source
                continue
            value = result
            for part in source:
                if not isinstance(value, dict) or part not in value:
                    return None
                value = value[part]  # pyright: ignore[reportUnknownVariableType]
            made[name] = value
        return made


@dataclass(frozen=True)
class Operation:
    """One row of the operation table."""

    name: str
    asks: bool = False
    """It changes nothing, so it can be repeated."""
    agent: Literal["acts", "field", "narrows"] = "acts"
    """The role of `agent` in a frame: the acting agent, a field of the operation, or a filter."""
    waits: str | None = None
    """The field that says how many milliseconds to wait."""
    id_field: str | None = None
    """The name of the field `id` in a frame, where `id` is the number of the request."""
    has_token: bool = False
    """The token is a field of the operation, not a fence around it."""
    is_past: bool = False
    """It asks about the past by itself, so it takes no `at`."""
    minimal: bool = False
    """It has a minimal answer."""
    gives_back: GivesBack | None = None
