"""The arguments that a handle adds to every call: workspace, agent, token, moment, key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from ._operation import Operation
from ._requests import Caller

Moment = int | str | datetime
"""A revision, or a time."""


@dataclass(frozen=True)
class View:
    """How a handle sees the server."""

    workspace: str = "default"
    agent: str = "anonymous"
    token: int | None = None
    at: Moment | None = None
    idempotency_key: str | None = None

    @cached_property
    def caller(self) -> Caller:
        return Caller(self.workspace, self.agent)

    def prepared(
        self, operation: Operation, fields: dict[str, Any], at: Moment | None, token: int | None
    ) -> dict[str, Any]:
        """The fields of a call, with what the handle adds."""
        if operation.asks:
            moment = self.at if at is None else at
            if moment is not None and not operation.is_past:
                fields.setdefault("at", moment)
        else:
            fence = self.token if token is None else token
            if fence is not None:
                fields.setdefault("token", fence)
        return fields


H = TypeVar("H", bound="Handle")


class Handle:
    """The part that `Baton` and `AsyncBaton` share: other views of the same connection."""

    _view: View

    def _with(self: H, view: View) -> H:
        raise NotImplementedError

    @property
    def workspace_name(self) -> str:
        """The workspace of this handle."""
        return self._view.workspace

    @property
    def agent(self) -> str:
        """The agent that acts through this handle."""
        return self._view.agent

    @property
    def token(self) -> int | None:
        """The token that every change through this handle carries, if any."""
        return self._view.token

    def as_agent(self: H, agent: str) -> H:
        """The same workspace, with another agent acting."""
        return self._with(replace(self._view, agent=agent))

    def in_workspace(self: H, workspace: str) -> H:
        """Another workspace of the same server."""
        return self._with(replace(self._view, workspace=workspace))

    def under(self: H, token: int) -> H:
        """The same workspace under a token of a lease, hold or session: every change is refused
        once that is over."""
        return self._with(replace(self._view, token=token))

    def without_token(self: H) -> H:
        """The same workspace, without a token that every change carries."""
        return self._with(replace(self._view, token=None))

    def once(self: H, idempotency_key: str) -> H:
        """The same workspace, for one change that may be repeated: under the same key it has no
        second effect and gets the first answer."""
        return self._with(replace(self._view, idempotency_key=idempotency_key))

    def at(self: H, moment: Moment) -> H:
        """The same workspace as it was at a revision or time. Changes are made in the present."""
        return self._with(replace(self._view, at=moment))
