"""The base of the groups of operations, such as `baton.tasks`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from ._operation import Operation

if TYPE_CHECKING:
    from ._async_baton import AsyncBaton
    from ._baton import Baton


class Calls:
    """Operations that block until they are answered."""

    __slots__ = ("_baton",)

    def __init__(self, baton: Baton) -> None:
        self._baton = baton

    @property
    def _agent(self) -> str:
        return self._baton.agent

    @property
    def _namespace(self) -> str:
        return "shared"

    def _call(
        self,
        operation: Operation,
        fields: dict[str, Any],
        *,
        at: int | str | datetime | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Any:
        return self._baton.execute(
            operation,
            fields,
            at=at,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        ).result


class AsyncCalls:
    """Operations that are awaited."""

    __slots__ = ("_baton",)

    def __init__(self, baton: AsyncBaton) -> None:
        self._baton = baton

    @property
    def _agent(self) -> str:
        return self._baton.agent

    @property
    def _namespace(self) -> str:
        return "shared"

    async def _call(
        self,
        operation: Operation,
        fields: dict[str, Any],
        *,
        at: int | str | datetime | None = None,
        token: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Any:
        answer = await self._baton.execute(
            operation,
            fields,
            at=at,
            token=token,
            idempotency_key=idempotency_key,
            timeout=timeout,
        )
        return answer.result
