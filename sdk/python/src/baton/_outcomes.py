"""What came of a task or a message, and how that is reported: what code has raised or returned may
be something that cannot be stored."""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass
from typing import Any, Literal

from . import types
from ._flow import Call, Flow
from ._json import encode
from ._omit import OMIT
from .errors import BatonError, Invalid, NotJson, TooLarge

UNSTORABLE = (Invalid, TooLarge)
"""Why a record is refused because of what it contains."""
TEXT_BYTES_MAX = 60_000
"""How long a text of an error may be. The server accepts an error of 64 KiB."""
CUT_CHARACTERS = 9_000
"""What is left of a longer text: in JSON, a character has six bytes at most."""

Outcome = Literal["completed", "failed", "released", "handed_over"]


class RetryLater(Exception):
    """Raised by the code that works on a task: this try failed, another may succeed.

    The task goes back, and is offered again after the pause that its `backoff` says.
    """

    def __init__(self, error: Any = "retry later") -> None:
        super().__init__(error)
        self.error = error


class GiveUp(Exception):
    """Raised by the code that works on a task: it failed, and trying again would not help."""

    def __init__(self, error: Any = "given up") -> None:
        super().__init__(error)
        self.error = error


class Release(Exception):
    """Raised by the code that works on a task: it goes back to the queue, and this was no try."""

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason


class HandedOver(Exception):
    """Raised by `Job.handoff` to end the work on a task that was offered to another agent."""

    def __init__(self, handoff: types.Handoff) -> None:
        super().__init__(handoff.id)
        self.handoff = handoff


def described(error: BaseException) -> Any:
    """The error that is reported for an attempt that raised. It can always be stored."""
    try:
        detail = str(error)
    except Exception:
        detail = "the exception cannot be shown as text"
    report = {"type": type(error).__name__, "detail": _storable(detail)}
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        last = frames[-1]
        place = f"{last.name} at {os.path.basename(last.filename)}:{last.lineno}"
        report["where"] = _storable(place)
    if isinstance(error, BatonError):
        report["code"] = error.code
    return report


def recorded(error: Any) -> Any:
    """An error as it is recorded, where an exception or a long text cannot be stored as it is."""
    if isinstance(error, BaseException):
        return described(error)
    return _storable(error) if isinstance(error, str) else error


def _storable(text: str) -> str:
    """A text that can be stored: not too long, and with no surrogates."""
    if len(text) <= TEXT_BYTES_MAX:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if len(encode(text)) <= TEXT_BYTES_MAX:
            return text
    return f"{_storable(text[:CUT_CHARACTERS])}… ({len(text)} characters)"


@dataclass(frozen=True)
class Settled:
    """What was reported of a task."""

    outcome: Outcome
    answer: Any = None
    refusal: BatonError | None = None
    """Why something else could not be reported."""


def settling(
    task: str,
    token: int,
    result: Any,
    error: BaseException | None,
    following: dict[str, Any] | None,
) -> Flow[Settled]:
    """Reports what came of a task. If that cannot be stored, the reason is reported: otherwise the
    task would wait for the end of its lease, and a result would be the same at the next try."""
    if isinstance(error, HandedOver):
        return Settled("handed_over")
    call, outcome = _report_of(task, token, result, error, following)
    try:
        return Settled(outcome, (yield call))
    except UNSTORABLE as refusal:
        about = {"task": task, "token": token, "return": "minimal"}
        if isinstance(error, Release):
            yield Call("task.release", {**about, "reason": described(refusal)["detail"]})
            return Settled("released", refusal=refusal)
        is_retryable = error is not None and call.fields.get("retryable", True)
        failure = {"error": described(refusal), "retryable": is_retryable}
        yield Call("task.fail", {**about, **failure})
        return Settled("failed", refusal=refusal)


def _report_of(
    task: str,
    token: int,
    result: Any,
    error: BaseException | None,
    following: dict[str, Any] | None,
) -> tuple[Call, Outcome]:
    """The call that reports what came of a task, and which count it belongs to."""
    # The reported task is not read, so it is not sent back.
    about: dict[str, Any] = {"task": task, "token": token, "return": "minimal"}
    if error is None:
        fields = about if result is OMIT else {**about, "result": result}
        if following is not None:
            fields = {**fields, "then_claim": following}
        return Call("task.complete", fields), "completed"
    if isinstance(error, Release):
        reason = {} if error.reason is None else {"reason": error.reason}
        return Call("task.release", {**about, **reason}), "released"
    if isinstance(error, RetryLater):
        failure = {"error": recorded(error.error), "retryable": True}
    elif isinstance(error, GiveUp):
        failure = {"error": recorded(error.error), "retryable": False}
    elif isinstance(error, NotJson):
        # A value that is not JSON stays so, however often it is tried.
        failure = {"error": described(error), "retryable": False}
    else:
        failure = {"error": described(error)}
    return Call("task.fail", {**about, **failure}), "failed"
