"""Which leases the current code runs under, so that their loss also ends the calls it waits for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from contextvars import ContextVar

from .errors import LeaseLost

Listener = Callable[[LeaseLost], None]


class Loss:
    """Whether something is lost, and whom to tell. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: list[Listener] = []
        self.error: LeaseLost | None = None

    def set(self, error: LeaseLost) -> None:
        with self._lock:
            if self.error is not None:
                return
            self.error = error
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener(error)

    def add(self, listener: Listener) -> None:
        """Tells it when that happens; at once if it has."""
        with self._lock:
            if self.error is None:
                self._listeners.append(listener)
                return
            error = self.error
        listener(error)

    def remove(self, listener: Listener) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._listeners.remove(listener)

    def check(self) -> None:
        """Raises `LeaseLost` if it is lost."""
        if self.error is not None:
            raise self.error


_scope: ContextVar[tuple[Loss, ...]] = ContextVar("baton_leases", default=())


@contextlib.contextmanager
def under(loss: Loss) -> Generator[None, None, None]:
    """Runs the body under a lease: calls in it fail once the lease is lost."""
    token = _scope.set((*_scope.get(), loss))
    try:
        yield
    finally:
        _scope.reset(token)


@contextlib.contextmanager
def outside() -> Generator[None, None, None]:
    """Runs the body under no lease, as what ends a lease must be."""
    token = _scope.set(())
    try:
        yield
    finally:
        _scope.reset(token)


class aborted_by_lost_leases:
    """Tells a listener of the loss of any lease that the caller runs under.

    A class, not a generator: it is entered with every call.
    """

    __slots__ = ("_listener", "_losses")

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._losses = _scope.get()

    def __enter__(self) -> None:
        for loss in self._losses:
            loss.check()
        for loss in self._losses:
            loss.add(self._listener)

    def __exit__(self, *_: object) -> None:
        for loss in self._losses:
            loss.remove(self._listener)
