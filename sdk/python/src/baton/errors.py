"""Every error that the SDK raises.

What the server refuses is raised as the class of its kind: `NotFound`, `Conflict` and so on. What
goes wrong before or after that has a class of its own, which is also of one of the kinds.
"""

from __future__ import annotations

from typing import Any

from ._error import BatonError
from ._kinds import (
    KINDS,
    Conflict,
    Denied,
    Exhausted,
    Invalid,
    NotFound,
    Stale,
    TooLarge,
    Unavailable,
)


class BadUrl(Invalid, ValueError):
    """The URL does not name a server. Nothing was sent."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            "client.bad_url",
            f"`{url[:200]}` is not the URL of a server: {reason}",
            "use a URL such as `http://127.0.0.1:4747`",
        )


class BadToken(Invalid, ValueError):
    """The access token cannot be one. Nothing was sent, and the token is not repeated here."""

    def __init__(self) -> None:
        super().__init__(
            "client.bad_token",
            "the token has invalid characters, such as a line break",
            "use the token exactly as printed by `baton token create`, on one line",
        )


class BadEndpoint(Invalid, ValueError):
    """The URL or the key does not make an endpoint of a model. Nothing was sent."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            "client.bad_endpoint",
            f"the endpoint `{url[:200]}` cannot be used: {reason}",
            "use a URL such as `http://127.0.0.1:11434/v1`, or set OPENAI_BASE_URL to it",
        )


class NotJson(Invalid, ValueError):
    """A value cannot be written as JSON. Nothing was sent."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            "client.not_json",
            f"the value is not JSON: {reason}",
            "use dict, list, str, int, float, bool and None; tuples, sets, datetimes, dataclasses "
            "and Pydantic models are converted; numbers are finite, and text is valid Unicode",
        )


class Unreachable(Unavailable, ConnectionError):
    """There is no connection to the server. Nothing was done."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            "client.unreachable",
            f"cannot connect to {url}: {reason}",
            "start the server with `baton serve`, or correct the URL",
        )


class OutcomeUnknown(Unavailable):
    """The command was sent, but no answer came. Whether it was carried out is unknown."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            "client.unknown_outcome",
            f"the outcome of the command is unknown: {reason}",
            "retry with the same idempotency key, or read the current state",
        )


class TimedOut(Unavailable, TimeoutError):
    """The server did not answer in time. Nothing was changed."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            "client.timeout",
            f"no response within {seconds:g} s",
            "retry, or check the server",
        )


class ProtocolError(Unavailable):
    """The other side is not a Baton server, or one of another release. Nothing was changed."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            "client.protocol",
            f"the server's response was not understood: {reason}",
            "use a client and a server of the same release",
        )


class Closed(Unavailable):
    """The client was closed. Nothing was done."""

    def __init__(self) -> None:
        super().__init__("client.closed", "the client is closed", "connect again")


class Crowded(Exhausted):
    """Too much is waiting in the client already. Nothing was done."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(
            "client.crowded",
            f"too many {what} are waiting in the client (limit {limit})",
            "wait for some of them, then retry",
        )


class Forked(Unavailable):
    """The process was forked, and the connection belongs to the parent. Nothing was done."""

    def __init__(self) -> None:
        super().__init__(
            "client.forked",
            "the client was made by another process, and this one was forked from it",
            "connect again in the child process",
        )


class WrongLoop(Unavailable, RuntimeError):
    """The client belongs to another event loop, or to one that is closed. Nothing was done."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            "client.wrong_loop",
            f"the client cannot be used here: {reason}",
            "connect inside the event loop that uses the client, and close it before the loop",
        )


class LeaseLost(Stale):
    """A lease, lock, permit or session has ended: another agent may hold it by now."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(
            "client.lease_lost",
            f"{what} is lost: {reason}",
            "stop this work at once; claim or acquire it again if it is still wanted",
        )


class NotAcquired(Conflict, TimeoutError):
    """The lock or permit did not become free in time."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(
            "client.not_acquired",
            f"{what} was not free within {seconds:g} s",
            "wait longer, or try again later",
        )


class TaskFailed(Conflict):
    """A task that was waited for did not complete.

    `facts` has the `task`, its `status` and its `error`.
    """

    def __init__(self, task: str, status: str, error: Any) -> None:
        super().__init__(
            "client.task_failed",
            f"task `{task}` is {status}: {error!r}",
            "read the task with `tasks.get`; create it again if it is still wanted",
            {"task": task, "status": status, "error": error},
        )


class ModelError(Unavailable):
    """There is no completion of a model. The attempt of the task failed with this reason.

    `facts` has the `status` of the response, if it was one of an error.
    """

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(
            "client.model_failed",
            reason,
            "check the endpoint, the name of the model and the key",
            {} if status is None else {"status": status},
        )


class NoProgram(Unavailable, FileNotFoundError):
    """There is no `baton` program to start."""

    def __init__(self, tried: str) -> None:
        Unavailable.__init__(
            self,
            "client.no_program",
            f"there is no `baton` program: looked at {tried}",
            "install the package with the program (`pip install ./sdk/python`), put `baton` on the "
            "PATH, or name it in BATON_BIN; with a running server use `baton.connect(url)`",
        )


class NotStarted(Unavailable):
    """The private server of a folder could not be started."""

    def __init__(self, folder: str, reason: str) -> None:
        super().__init__(
            "client.not_started",
            f"no server could be started for {folder}: {reason}",
            "if another server uses the folder, connect to it with `baton.connect(url)`",
        )


def from_problem(problem: dict[str, Any]) -> BatonError:
    """The exception for a refusal of the server."""
    known = ["code", "kind", "detail", "hint"]
    if "title" in problem:
        # The form over HTTP; elsewhere these may be facts.
        known += ["type", "title", "status"]
    facts = {name: value for name, value in problem.items() if name not in known}
    kind = KINDS.get(str(problem.get("kind")), Unavailable)
    code = str(problem.get("code", "client.protocol"))
    detail = str(problem.get("detail", "the server refused without a reason"))
    if code == "engine.unknown_outcome":
        kind = OutcomeUnknown
    error = kind.__new__(kind)
    BatonError.__init__(error, code, detail, str(problem.get("hint", "")), facts)
    return error


__all__ = [
    "BadEndpoint",
    "BadToken",
    "BadUrl",
    "BatonError",
    "Closed",
    "Conflict",
    "Crowded",
    "Denied",
    "Exhausted",
    "Forked",
    "Invalid",
    "LeaseLost",
    "ModelError",
    "NoProgram",
    "NotAcquired",
    "NotFound",
    "NotJson",
    "NotStarted",
    "OutcomeUnknown",
    "ProtocolError",
    "Stale",
    "TaskFailed",
    "TimedOut",
    "TooLarge",
    "Unavailable",
    "Unreachable",
    "WrongLoop",
    "from_problem",
]
