"""Locks, permits, sessions and tasks: what is held for a time and renewed in the background.

The body of the `with` block learns at once that it has lost what it holds:

- in asyncio its task is cancelled, and the block raises `LeaseLost`;
- in a thread, Baton calls that it waits for or makes raise `LeaseLost`, `lost` is true, callbacks
  of `on_lost` are called, and the block raises `LeaseLost` at its end if nothing else did.

Whatever it still writes elsewhere is refused if it carries the token: see `baton`.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from . import _flow as flow
from ._flow import Call
from ._lease_scope import Loss, outside, under
from .errors import BatonError, Conflict, LeaseLost, NotFound, Stale, Unavailable

if TYPE_CHECKING:
    from ._async_baton import AsyncBaton
    from ._baton import Baton


@dataclass(frozen=True)
class Kind:
    """The operations of something that is held."""

    noun: str
    acquire: str
    renew: str
    release: str


LOCK = Kind("lock", "lock.acquire", "lock.renew", "lock.release")
PERMIT = Kind("a permit of semaphore", "semaphore.acquire", "semaphore.renew", "semaphore.release")


@dataclass(frozen=True)
class Wanted:
    """The lock or permit to acquire, its TTL, and how long to wait for it (forever if none)."""

    kind: Kind
    name: str
    fields: dict[str, Any]
    wait: float | None

    @property
    def what(self) -> str:
        return f"{self.kind.noun} `{self.name}`"

    def acquiring(self) -> flow.Flow[dict[str, Any]]:
        return flow.waiting(Call(self.kind.acquire, self.fields), self.wait, self.what)


class Lease:
    """The state of a hold."""

    def __init__(self, what: str) -> None:
        self.what = what
        """A description of it, in words."""
        self._loss = Loss()
        self._token: int | None = None

    @property
    def token(self) -> int:
        """The fencing token: pass it to whatever this protects."""
        if self._token is None:
            raise LeaseLost(self.what, "it is not held yet")
        return self._token

    @property
    def loss(self) -> Loss:
        """Whether it is lost, for code that runs under it elsewhere."""
        return self._loss

    @property
    def lost(self) -> bool:
        """Whether it is lost."""
        return self._loss.error is not None

    def check(self) -> None:
        """Raises `LeaseLost` if it is lost."""
        self._loss.check()

    def refused(self, error: BatonError) -> None:
        """Handles a refused call under it: it is lost if it ended."""
        if isinstance(error, (Stale, Conflict)):
            self._loss.set(LeaseLost(self.what, error.detail))

    def on_lost(self, callback: Callable[[LeaseLost], None]) -> None:
        """Calls this when it is lost: in the loop, or in the thread of the connection. It must not
        block."""
        self._loss.add(callback)


H = TypeVar("H", bound="Held")
A = TypeVar("A", bound="AsyncHeld")


class Held(Lease):
    """Something that is held during a `with` block."""

    def __init__(self, baton: Baton, what: str) -> None:
        super().__init__(what)
        self._base = baton
        self._stop: Callable[[], None] | None = None
        self._scope: contextlib.AbstractContextManager[None] | None = None

    @property
    def baton(self) -> Baton:
        """The workspace under the token: changes through it are refused once this is lost."""
        return self._base.under(self.token)

    def _keep(self, token: int, ttl: float, operation: str, fields: dict[str, Any]) -> None:
        self._token = token
        self._stop = self._base.keep(self.what, operation, fields, ttl, self._loss.set)

    def _acquire(self) -> None:
        raise NotImplementedError

    def _end(self, error: BaseException | None) -> None:
        """Gives it back."""
        raise NotImplementedError

    def __enter__(self: H) -> H:
        self._acquire()
        self._scope = under(self._loss)
        self._scope.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._scope is not None:
            self._scope.__exit__(kind, error, trace)
        self.stop_renewing()
        if self.lost:
            if error is None:
                self.check()
            return
        with outside():
            self._end(error)

    def stop_renewing(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None


class AsyncHeld(Lease):
    """Something that is held during an `async with` block."""

    def __init__(self, baton: AsyncBaton, what: str) -> None:
        super().__init__(what)
        self._base = baton
        self._stop: Callable[[], None] | None = None
        self._scope: contextlib.AbstractContextManager[None] | None = None
        self._task: asyncio.Task[Any] | None = None
        self._has_cancelled = False

    @property
    def baton(self) -> AsyncBaton:
        """The workspace under the token: changes through it are refused once this is lost."""
        return self._base.under(self.token)

    def _keep(self, token: int, ttl: float, operation: str, fields: dict[str, Any]) -> None:
        self._token = token
        self._stop = self._base.keep(self.what, operation, fields, ttl, self._loss.set)

    async def _acquire(self) -> None:
        raise NotImplementedError

    async def _end(self, error: BaseException | None) -> None:
        """Gives it back."""
        raise NotImplementedError

    def _cancel(self, _: LeaseLost) -> None:
        if self._task is not None and not self._task.done():
            self._has_cancelled = True
            self._task.cancel()

    async def __aenter__(self: A) -> A:
        await self._acquire()
        self._task = asyncio.current_task()
        self._loss.add(self._cancel)
        self._scope = under(self._loss)
        self._scope.__enter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._scope is not None:
            self._scope.__exit__(kind, error, trace)
        self._loss.remove(self._cancel)
        self.stop_renewing()
        if self.lost:
            if self._has_cancelled and isinstance(error, asyncio.CancelledError):
                uncancel = getattr(self._task, "uncancel", None)
                if uncancel is not None:
                    uncancel()
                assert self._loss.error is not None
                raise self._loss.error from None
            if error is None:
                self.check()
            return
        with outside():
            await self._end(error)

    def stop_renewing(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None


RELEASE_TIMEOUT = 2.0
"""How long an exception of a block waits for the release of what the block held, in seconds. While
the server is away, that would take as long as every call may take."""


def _giving_back(
    operation: str, fields: dict[str, Any], error: BaseException | None
) -> flow.Flow[Any]:
    """Gives it back. If that cannot be said, it ends by itself when its time is over."""
    timeout = None if error is None else RELEASE_TIMEOUT
    call = Call(operation, fields, timeout=timeout)
    return flow.ignoring(call, Unavailable, Stale, NotFound)


def _release(wanted: Wanted, token: int, error: BaseException | None) -> flow.Flow[Any]:
    return _giving_back(wanted.kind.release, {"name": wanted.name, "token": token}, error)


class Hold(Held):
    """A lock, or a permit of a semaphore. Use it as a context manager."""

    def __init__(self, baton: Baton, wanted: Wanted) -> None:
        super().__init__(baton, wanted.what)
        self._wanted = wanted

    def _acquire(self) -> None:
        hold = self._base.run(self._wanted.acquiring())
        fields = {"name": self._wanted.name, "token": hold["token"]}
        self._keep(hold["token"], hold["ttl_ms"] / 1000, self._wanted.kind.renew, fields)

    def _end(self, error: BaseException | None) -> None:
        self._base.run(_release(self._wanted, self.token, error))


class AsyncHold(AsyncHeld):
    """A lock, or a permit of a semaphore. Use it as an asynchronous context manager."""

    def __init__(self, baton: AsyncBaton, wanted: Wanted) -> None:
        super().__init__(baton, wanted.what)
        self._wanted = wanted

    async def _acquire(self) -> None:
        hold = await self._base.run(self._wanted.acquiring())
        fields = {"name": self._wanted.name, "token": hold["token"]}
        self._keep(hold["token"], hold["ttl_ms"] / 1000, self._wanted.kind.renew, fields)

    async def _end(self, error: BaseException | None) -> None:
        await self._base.run(_release(self._wanted, self.token, error))


def _leaving(agent: str, token: int, error: BaseException | None) -> flow.Flow[Any]:
    return _giving_back("agent.leave", {"agent": agent, "token": token}, error)


class Session(Held):
    """The session of an agent, with heartbeats. Use it as a context manager."""

    def __init__(self, baton: Baton, fields: dict[str, Any]) -> None:
        super().__init__(baton, f"the session of `{baton.agent}`")
        self._fields = {"agent": baton.agent, **fields}

    def _acquire(self) -> None:
        agent = self._base.call("agent.register", **self._fields)
        fields = {"agent": agent["id"], "token": agent["token"]}
        self._keep(agent["token"], agent["ttl_ms"] / 1000, "agent.heartbeat", fields)

    def _end(self, error: BaseException | None) -> None:
        self._base.run(_leaving(self._base.agent, self.token, error))


class AsyncSession(AsyncHeld):
    """The session of an agent, with heartbeats. Use it as an asynchronous context manager."""

    def __init__(self, baton: AsyncBaton, fields: dict[str, Any]) -> None:
        super().__init__(baton, f"the session of `{baton.agent}`")
        self._fields = {"agent": baton.agent, **fields}

    async def _acquire(self) -> None:
        agent = await self._base.call("agent.register", **self._fields)
        fields = {"agent": agent["id"], "token": agent["token"]}
        self._keep(agent["token"], agent["ttl_ms"] / 1000, "agent.heartbeat", fields)

    async def _end(self, error: BaseException | None) -> None:
        await self._base.run(_leaving(self._base.agent, self.token, error))


def hold_fields(name: str, ttl: float | None, **more: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": name}
    if ttl is not None:
        fields["ttl_ms"] = milliseconds(ttl)
    fields.update({name: value for name, value in more.items() if value is not None})
    return fields


def milliseconds(seconds: float) -> int:
    if not math.isfinite(seconds):
        raise ValueError(f"a time must be a finite number of seconds, not {seconds}")
    return round(seconds * 1000)


__all__ = [
    "LOCK",
    "PERMIT",
    "AsyncHeld",
    "AsyncHold",
    "AsyncSession",
    "BatonError",
    "Held",
    "Hold",
    "Lease",
    "Session",
    "Wanted",
    "hold_fields",
    "milliseconds",
]
