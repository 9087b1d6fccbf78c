"""Shared state: entries with versions."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _flow as flow
from . import types
from ._async_calls import StateCalls as AsyncStateCalls
from ._calls import StateCalls
from ._watch import AsyncWatch, Watch
from .errors import NotFound

if TYPE_CHECKING:
    from ._async_baton import AsyncBaton
    from ._baton import Baton


class Draft:
    """A value that is being edited."""

    def __init__(self, key: str, default: Any) -> None:
        self.key = key
        self.value: Any = default
        """The value. Change it in place, or assign another."""
        self.version = 0
        """The version that was read; 0 if there was no entry."""

    def _take(self, entry: types.Entry) -> None:
        self.value, self.version = entry.value, entry.version


class State(StateCalls):
    """The entries of one namespace, `shared` unless another is chosen."""

    __slots__ = ("_name",)

    def __init__(self, baton: Baton, namespace: str = "shared") -> None:
        super().__init__(baton)
        self._name = namespace

    @property
    def _namespace(self) -> str:
        return self._name

    def namespace(self, name: str) -> State:
        """The entries of another namespace."""
        return State(self._baton, name)

    def value(self, key: str, default: Any = None) -> Any:
        """The value of a key, or the default if there is none."""
        return self._baton.run(flow.value_or(self._name, key, default))

    def update(self, key: str, change: Callable[[Any], Any], default: Any = None) -> types.Entry:
        """Reads a value, writes what `change` makes of it, and begins again when another agent was
        faster. `change` may be called several times."""
        return self._baton.run(flow.update(self._name, key, change, default))

    def edit(self, key: str, default: Any = None) -> Edit:
        """A context manager: what the block makes of `draft.value` is written when it ends. If
        another agent has written meanwhile, the block raises `Conflict` and nothing is written."""
        return Edit(self, key, default)

    def watch(self, key: str = "**", *, start: int | None = None, snapshot: bool = False) -> Watch:
        """The changes of a key, or of all keys that match a pattern."""
        pattern = f"state/{self._name}/{key}"
        return self._baton.watch(pattern, start=start, snapshot=snapshot)


class Edit(Draft):
    """An entry that is edited in a `with` block."""

    def __init__(self, state: State, key: str, default: Any) -> None:
        super().__init__(key, default)
        self._state = state

    def __enter__(self) -> Draft:
        try:
            self._take(self._state.get(self.key))
        except NotFound as error:
            if error.code != "state.not_found":
                raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._state.set(self.key, self.value, expected_version=self.version)


class AsyncState(AsyncStateCalls):
    """The entries of one namespace, `shared` unless another is chosen."""

    __slots__ = ("_name",)

    def __init__(self, baton: AsyncBaton, namespace: str = "shared") -> None:
        super().__init__(baton)
        self._name = namespace

    @property
    def _namespace(self) -> str:
        return self._name

    def namespace(self, name: str) -> AsyncState:
        """The entries of another namespace."""
        return AsyncState(self._baton, name)

    async def value(self, key: str, default: Any = None) -> Any:
        """The value of a key, or the default if there is none."""
        return await self._baton.run(flow.value_or(self._name, key, default))

    async def update(
        self, key: str, change: Callable[[Any], Any], default: Any = None
    ) -> types.Entry:
        """Reads a value, writes what `change` makes of it, and begins again when another agent was
        faster. `change` may be called several times."""
        return await self._baton.run(flow.update(self._name, key, change, default))

    def edit(self, key: str, default: Any = None) -> AsyncEdit:
        """A context manager: what the block makes of `draft.value` is written when it ends. If
        another agent has written meanwhile, the block raises `Conflict` and nothing is written."""
        return AsyncEdit(self, key, default)

    async def watch(
        self, key: str = "**", *, start: int | None = None, snapshot: bool = False
    ) -> AsyncWatch:
        """The changes of a key, or of all keys that match a pattern."""
        pattern = f"state/{self._name}/{key}"
        return await self._baton.watch(pattern, start=start, snapshot=snapshot)


class AsyncEdit(Draft):
    """An entry that is edited in an `async with` block."""

    def __init__(self, state: AsyncState, key: str, default: Any) -> None:
        super().__init__(key, default)
        self._state = state

    async def __aenter__(self) -> Draft:
        try:
            self._take(await self._state.get(self.key))
        except NotFound as error:
            if error.code != "state.not_found":
                raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self._state.set(self.key, self.value, expected_version=self.version)
