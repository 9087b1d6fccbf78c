"""Lists that come in pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Protocol, TypeVar


class _Page(Protocol):
    @property
    def raw(self) -> dict[str, Any]: ...


P = TypeVar("P", bound=_Page)


def pages(call: Callable[..., P], /, *args: Any, **fields: Any) -> Iterator[P]:
    """All pages of a list, such as `pages(b.tasks.list, status="pending")`."""
    cursor: Any = None
    while True:
        page = call(*args, **fields, cursor=cursor)
        yield page
        cursor = page.raw.get("cursor")
        if cursor is None:
            return


async def async_pages(
    call: Callable[..., Awaitable[P]], /, *args: Any, **fields: Any
) -> AsyncIterator[P]:
    """All pages of a list, for the asyncio client."""
    cursor: Any = None
    while True:
        page = await call(*args, **fields, cursor=cursor)
        yield page
        cursor = page.raw.get("cursor")
        if cursor is None:
            return
