"""Services: receive what comes to an agent, and answer the requests among it.

                                          ┌── next, received in the same commit ◀─┐
                                          ▼                                       │
    session ──▶ handlers registered ──▶ receive ──▶ handler ─▶ returns ─▶ reply ──┤
      ▲  │                                ▲           └─────▶ raises ─▶ reply with the error
      │  └ heartbeats                     └── acknowledge, if it is no request
      └── the session is lost: all of it begins again

A message that is no request is acknowledged if its handler returned, and comes again if it raised.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import _flow as flow
from . import types
from ._flow import Call
from ._lease import AsyncSession, Lease, Session, milliseconds
from ._lease_scope import Loss, outside, under
from ._mail import REDELIVER_MS, answering, receiving_next, told_again
from ._options import at_least_one
from ._outcomes import UNSTORABLE
from ._threads import ThreadGroup
from ._worker import HOPELESS, PAUSE
from .errors import BatonError, LeaseLost

if TYPE_CHECKING:
    from ._async_baton import AsyncBaton
    from ._baton import Baton

WAIT_MS = 30_000

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Served:
    """The counts of a service."""

    answered: int = 0
    """Requests that were answered, and messages that were acknowledged."""
    failed: int = 0
    """Requests that were answered with an error, and messages that will come again."""
    lost: int = 0
    """Requests whose caller no longer waited for the answer."""


def _name_of(message: types.Message) -> str | None:
    """The handler that a request is addressed to; none for other mail."""
    if message.request is None:
        return None
    address = message.request.address
    return str(address.get("handler", "")) if isinstance(address, dict) else ""


def _end_with(session: Lease, error: BatonError) -> None:
    """Ends the work under a session that has ended, before the next heartbeat shows it: without a
    session, a call would wait for messages that it cannot take once the next session begins."""
    if error.code.endswith(".session_ended"):
        session.refused(error)


class ServiceBase(Generic[F]):
    """The part that both kinds of services share: the handlers."""

    def __init__(self, capabilities: Sequence[str], concurrency: int, ttl: float) -> None:
        self._capabilities = list(capabilities)
        self._concurrency = at_least_one("concurrency", concurrency)
        self._ttl = ttl
        self._handlers: dict[str, Callable[..., Any]] = {}
        self._others: Callable[..., Any] | None = None
        self._stopped = Loss()
        self.served = Served()
        """The counts so far."""

    def handler(self, name: str) -> Callable[[F], F]:
        """Decorates the handler of requests to this name. What it returns is the answer."""

        def register(handler: F) -> F:
            if name in self._handlers:
                raise ValueError(f"there is a handler `{name}` already")
            self._handlers[name] = handler
            return handler

        return register

    def message(self, handler: F) -> F:
        """Decorates the handler of everything else: messages, and requests to the agent itself."""
        if self._others is not None:
            raise ValueError("there is a handler for messages already")
        self._others = handler
        return handler

    def stop(self) -> None:
        """Receives nothing new; `run` returns when what was begun is finished."""
        self._stopped.set(LeaseLost("the service", "it was stopped"))

    @property
    def is_stopping(self) -> bool:
        return self._stopped.error is not None

    def _find(self, message: types.Message) -> Callable[..., Any]:
        name = _name_of(message)
        handler = self._handlers.get(name, self._others) if name else self._others
        if handler is None:
            raise LookupError("no handler is here for this message")
        return handler

    def _session_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"ttl_ms": milliseconds(self._ttl)}
        if self._capabilities:
            fields["capabilities"] = self._capabilities
        return fields

    def _receive_fields(self) -> dict[str, Any]:
        return {"limit": 1, "redeliver_ms": REDELIVER_MS, "wait_ms": WAIT_MS}

    def _receives_next(self, call: Call) -> bool:
        """Whether the next message is received with the answer to this one."""
        return call.operation == "message.reply" and not self.is_stopping

    def _count(self, error: BaseException | None, was_reported: bool) -> None:
        if not was_reported:
            self.served.lost += 1
        elif error is not None:
            self.served.failed += 1
        else:
            self.served.answered += 1


class Service(ServiceBase[Callable[[types.Message], Any]]):
    """A service whose handlers are functions."""

    def __init__(
        self, baton: Baton, capabilities: Sequence[str], concurrency: int, ttl: float
    ) -> None:
        super().__init__(capabilities, concurrency, ttl)
        self._baton = baton
        self._lock = threading.Lock()
        self._error: BaseException | None = None

    def run(self) -> Served:
        """Serves until `stop` is called, and then until what was begun is finished."""
        while not self.is_stopping:
            try:
                self._session()
            except HOPELESS:
                raise
            except BatonError:
                if not self.is_stopping:
                    time.sleep(PAUSE)
            except KeyboardInterrupt:
                self.stop()
                raise
        if self._error is not None:
            raise self._error
        return self.served

    def _session(self) -> None:
        with Session(self._baton, self._session_fields()) as session:
            for name in self._handlers:
                self._baton.handlers.register(name)
            slots = ThreadGroup("baton-service", self._concurrency, lambda: self._slot(session))
            try:
                slots.start()
                slots.wait()
            except BaseException:
                self.stop()
                raise

    def _slot(self, session: Session) -> None:
        try:
            while not self.is_stopping and not session.lost:
                for message in self._receive(session):
                    following: types.Message | None = message
                    while following is not None:
                        following = self._serve(session, following)
        except BaseException as error:
            if not session.lost:
                self._error = self._error or error
                self.stop()

    def _receive(self, session: Session) -> list[types.Message]:
        try:
            with under(self._stopped), under(session.loss):
                raw = self._baton.call(
                    "inbox.receive", agent=self._baton.agent, **self._receive_fields()
                )
        except HOPELESS:
            raise
        except BatonError as error:
            _end_with(session, error)
            if not self.is_stopping and not session.lost:
                time.sleep(PAUSE)
            return []
        return [types.Message(each) for each in raw["messages"]]

    def _serve(self, session: Session, message: types.Message) -> types.Message | None:
        """Handles a message; the next one, if it was received with the answer."""
        result: Any = None
        error: BaseException | None = None
        try:
            with under(session.loss):
                result = self._find(message)(message)
        except Exception as raised:
            error = raised
        was_reported = not session.lost
        following: types.Message | None = None
        if was_reported:
            try:
                error, following = self._answer(session, message, result, error)
            except BatonError:
                was_reported = False
        with self._lock:
            self._count(error, was_reported)
        return following

    def _answer(
        self, session: Session, message: types.Message, result: Any, error: BaseException | None
    ) -> tuple[BaseException | None, types.Message | None]:
        """Says what came of a message; returns the error, if it is one, and the next message."""
        call = answering(message, result, error)
        if call is None:
            return error, None
        try:
            return error, self._report(session, call)
        except UNSTORABLE as refusal:
            # Otherwise the sender would wait for nothing.
            instead = answering(message, None, refusal)
            if instead is None:
                raise
            return refusal, self._report(session, instead)

    def _report(self, session: Session, call: Call) -> types.Message | None:
        if not self._receives_next(call):
            with outside():
                self._baton.run(flow.ignoring(call))
            return None
        try:
            with under(self._stopped), under(session.loss):
                both = receiving_next(call, REDELIVER_MS, WAIT_MS)
                raw = self._baton.call(both.operation, **both.fields)
        except UNSTORABLE:
            raise
        except BatonError as error:
            _end_with(session, error)
            # The wait has ended, and whether the answer was sent is not known: this call says so.
            with outside():
                self._baton.run(told_again(call))
            return None
        return types.Message(raw["messages"][0]) if raw["messages"] else None


class AsyncService(ServiceBase[Callable[[types.Message], Awaitable[Any]]]):
    """A service whose handlers are coroutine functions."""

    def __init__(
        self, baton: AsyncBaton, capabilities: Sequence[str], concurrency: int, ttl: float
    ) -> None:
        super().__init__(capabilities, concurrency, ttl)
        self._baton = baton

    async def run(self) -> Served:
        """Serves until `stop` is called, and then until what was begun is finished."""
        while not self.is_stopping:
            try:
                await self._session()
            except HOPELESS:
                raise
            except BatonError:
                if not self.is_stopping:
                    await asyncio.sleep(PAUSE)
        return self.served

    async def _session(self) -> None:
        async with AsyncSession(self._baton, self._session_fields()) as session:
            for name in self._handlers:
                await self._baton.handlers.register(name)
            slots = [asyncio.create_task(self._slot(session)) for _ in range(self._concurrency)]
            try:
                await asyncio.gather(*slots)
            finally:
                for slot in slots:
                    slot.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.gather(*slots, return_exceptions=True)

    async def _slot(self, session: AsyncSession) -> None:
        while not self.is_stopping and not session.lost:
            for message in await self._receive(session):
                following: types.Message | None = message
                while following is not None:
                    following = await self._serve(session, following)

    async def _receive(self, session: AsyncSession) -> list[types.Message]:
        try:
            with under(self._stopped):
                raw = await self._baton.call(
                    "inbox.receive", agent=self._baton.agent, **self._receive_fields()
                )
        except HOPELESS:
            raise
        except BatonError as error:
            _end_with(session, error)
            if not self.is_stopping and not session.lost:
                await asyncio.sleep(PAUSE)
            return []
        return [types.Message(each) for each in raw["messages"]]

    async def _serve(self, session: AsyncSession, message: types.Message) -> types.Message | None:
        """Handles a message; the next one, if it was received with the answer."""
        result: Any = None
        error: BaseException | None = None
        try:
            result = await self._find(message)(message)
        except Exception as raised:
            error = raised
        was_reported = not session.lost
        following: types.Message | None = None
        if was_reported:
            try:
                error, following = await self._answer(session, message, result, error)
            except BatonError:
                was_reported = False
        self._count(error, was_reported)
        return following

    async def _answer(
        self,
        session: AsyncSession,
        message: types.Message,
        result: Any,
        error: BaseException | None,
    ) -> tuple[BaseException | None, types.Message | None]:
        """Says what came of a message; returns the error, if it is one, and the next message."""
        call = answering(message, result, error)
        if call is None:
            return error, None
        try:
            return error, await self._report(session, call)
        except UNSTORABLE as refusal:
            # Otherwise the sender would wait for nothing.
            instead = answering(message, None, refusal)
            if instead is None:
                raise
            return refusal, await self._report(session, instead)

    async def _report(self, session: AsyncSession, call: Call) -> types.Message | None:
        if not self._receives_next(call):
            with outside():
                await self._baton.run(flow.ignoring(call))
            return None
        try:
            with under(self._stopped):
                both = receiving_next(call, REDELIVER_MS, WAIT_MS)
                raw = await self._baton.call(both.operation, **both.fields)
        except UNSTORABLE:
            raise
        except BatonError as error:
            _end_with(session, error)
            # The wait has ended, and whether the answer was sent is not known: this call says so.
            with outside():
                await self._baton.run(told_again(call))
            return None
        return types.Message(raw["messages"][0]) if raw["messages"] else None
