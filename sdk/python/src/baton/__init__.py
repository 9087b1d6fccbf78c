"""Baton for Python: shared state, tasks, hand-offs, locks, messages and events for AI agents.

    import baton

    with baton.open("./data", agent="ada") as b:          # or baton.connect("http://127.0.0.1:4747")
        b.state.set("plan", {"step": 1})
        b.state.update("plan", lambda plan: {**plan, "step": plan["step"] + 1})
        print(b.state.get("plan").value)

`open` and `connect` return a `Baton`, which blocks; `open_async` and `connect_async` return an
`AsyncBaton`, which has the same methods as coroutines.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from types import TracebackType
from typing import Any

from . import errors, model, params, types
from ._async_baton import AsyncBatch, AsyncBaton, AsyncTransaction
from ._baton import Batch, Baton, Transaction
from ._command_queue import Pending
from ._embedded import Embedded
from ._endpoint import Endpoint, Fixed
from ._error import BatonError
from ._handoffs import AsyncOffer, Offer, Proposal
from ._job import AsyncJob, Job
from ._lease import AsyncHold, AsyncSession, Hold, Lease, Session
from ._mail import AsyncMail, Mail
from ._omit import OMIT
from ._operations import VERSION
from ._options import Options
from ._outcomes import GiveUp, HandedOver, Release, RetryLater
from ._pages import async_pages, pages
from ._service import AsyncService, Served, Service
from ._view import View
from ._watch import AsyncWatch, Event, Watch
from ._worker import AsyncWorker, Worked, Worker
from .errors import (
    BadEndpoint,
    BadToken,
    BadUrl,
    Closed,
    Conflict,
    Crowded,
    Denied,
    Exhausted,
    Forked,
    Invalid,
    LeaseLost,
    ModelError,
    NoProgram,
    NotAcquired,
    NotFound,
    NotJson,
    NotStarted,
    OutcomeUnknown,
    ProtocolError,
    Stale,
    TaskFailed,
    TimedOut,
    TooLarge,
    Unavailable,
    Unreachable,
    WrongLoop,
)

__version__ = VERSION

URL_DEFAULT = "http://127.0.0.1:4747"


def _view(workspace: str | None, agent: str | None) -> View:
    named = workspace or os.environ.get("BATON_WORKSPACE") or "default"
    return View(named, agent or os.environ.get("BATON_AGENT") or "anonymous")


def _server(url: str | None, token: str | None, ca_file: str | None, view: View) -> Fixed:
    return Fixed(
        url or os.environ.get("BATON_URL") or URL_DEFAULT,
        token or os.environ.get("BATON_TOKEN") or None,
        ca_file or os.environ.get("BATON_CA_FILE") or None,
        view.workspace,
    )


class Opening:
    """An `AsyncBaton` that is being opened: await it, or enter it with `async with`."""

    def __init__(self, endpoint: Endpoint, options: Options, view: View) -> None:
        self._how = endpoint, options, view
        self._baton: AsyncBaton | None = None

    def __await__(self) -> Generator[Any, None, AsyncBaton]:
        return AsyncBaton.opened(*self._how).__await__()

    async def __aenter__(self) -> AsyncBaton:
        self._baton = await AsyncBaton.opened(*self._how)
        return self._baton

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._baton is not None:
            await self._baton.close()


def connect(
    url: str | None = None,
    *,
    token: str | None = None,
    workspace: str | None = None,
    agent: str | None = None,
    ca_file: str | None = None,
    options: Options | None = None,
) -> Baton:
    """Connects to a server.

    Args:
        url: Such as `http://127.0.0.1:4747`; `BATON_URL`, or that, if not given. Servers that share
            their data are given with commas between their URLs: the one that owns `workspace` is
            used, and when it fails, another.
        token: The access token; `BATON_TOKEN` if not given.
        workspace: `BATON_WORKSPACE`, or `default`, if not given.
        agent: The agent that acts; `BATON_AGENT`, or `anonymous`, if not given.
        ca_file: The authorities to trust with `https://`, in PEM; those of the system if not given.
        options: Timeouts and limits.
    """
    view = _view(workspace, agent)
    return Baton.opened(_server(url, token, ca_file, view), options or Options(), view)


def connect_async(
    url: str | None = None,
    *,
    token: str | None = None,
    workspace: str | None = None,
    agent: str | None = None,
    ca_file: str | None = None,
    options: Options | None = None,
) -> Opening:
    """Connects to a server with asyncio: `async with connect_async() as b`, or `b = await …`. The
    arguments are those of `connect`."""
    view = _view(workspace, agent)
    return Opening(_server(url, token, ca_file, view), options or Options(), view)


def open(
    folder: str | os.PathLike[str],
    *,
    workspace: str | None = None,
    agent: str | None = None,
    options: Options | None = None,
) -> Baton:
    """Opens a folder: starts a private server for it, or uses the one that another process has
    started. The server ends soon after the last process that uses it, however that ends.

    Args:
        folder: Where the data is; it is created if it does not exist.
        workspace: `BATON_WORKSPACE`, or `default`, if not given.
        agent: The agent that acts; `BATON_AGENT`, or `anonymous`, if not given.
        options: Timeouts and limits.
    """
    return Baton.opened(Embedded(folder), options or Options(), _view(workspace, agent))


def open_async(
    folder: str | os.PathLike[str],
    *,
    workspace: str | None = None,
    agent: str | None = None,
    options: Options | None = None,
) -> Opening:
    """Opens a folder with asyncio. The arguments are those of `open`."""
    return Opening(Embedded(folder), options or Options(), _view(workspace, agent))


__all__ = [
    "OMIT",
    "AsyncBatch",
    "AsyncBaton",
    "AsyncHold",
    "AsyncJob",
    "AsyncMail",
    "AsyncOffer",
    "AsyncService",
    "AsyncSession",
    "AsyncTransaction",
    "AsyncWatch",
    "AsyncWorker",
    "BadEndpoint",
    "BadToken",
    "BadUrl",
    "Batch",
    "Baton",
    "BatonError",
    "Closed",
    "Conflict",
    "Crowded",
    "Denied",
    "Event",
    "Exhausted",
    "Forked",
    "GiveUp",
    "HandedOver",
    "Hold",
    "Invalid",
    "Job",
    "Lease",
    "LeaseLost",
    "Mail",
    "ModelError",
    "NoProgram",
    "NotAcquired",
    "NotFound",
    "NotJson",
    "NotStarted",
    "Offer",
    "Opening",
    "Options",
    "OutcomeUnknown",
    "Pending",
    "Proposal",
    "ProtocolError",
    "Release",
    "RetryLater",
    "Served",
    "Service",
    "Session",
    "Stale",
    "TaskFailed",
    "TimedOut",
    "TooLarge",
    "Transaction",
    "Unavailable",
    "Unreachable",
    "Watch",
    "Worked",
    "Worker",
    "WrongLoop",
    "async_pages",
    "connect",
    "connect_async",
    "errors",
    "model",
    "open",
    "open_async",
    "pages",
    "params",
    "types",
]
