"""The target of a connection: servers with a URL, or the private server of a folder."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ._address import Address
from ._error import BatonError
from ._link import authorization
from .errors import BadUrl

SERVERS_MAX = 32
"""More than a cluster has servers, and few enough to try all of them."""


@dataclass(frozen=True)
class Target:
    """A server to connect to."""

    address: Address
    token: str | None = None
    ca_file: str | None = None
    workspace: str | None = None
    """The workspace that the connection is for. Given if another server may own it."""

    def tls(self) -> ssl.SSLContext | None:
        if not self.address.is_secure:
            return None
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise BadUrl(self.address.url, f"the CA file cannot be read: {error}") from None


class Endpoint(Protocol):
    """Says where the server is. It may have to start one, so it may block."""

    @property
    def url(self) -> str:
        """Its name in messages."""
        ...

    def target(self) -> Target:
        """The server that was last connected to, for requests over HTTP."""
        ...

    def targets(self) -> Sequence[Target]:
        """The servers to try now, in this order."""
        ...

    @property
    def has_others(self) -> bool:
        """Whether another server has the same data."""
        ...

    def use(self, target: Target) -> None:
        """There is a connection to this one."""
        ...

    def leave(self, is_suspect: bool) -> None:
        """The connection is over: this server is tried last. One that is suspect, because it fell
        silent or could not serve, is not preferred as the owner either."""
        ...

    def owner(self, url: str | None) -> Target | None:
        """The server with this URL, if a connection may go there."""
        ...


class Fixed:
    """One server with a URL, or several that share their data, with commas between the URLs."""

    def __init__(
        self, url: str, token: str | None, ca_file: str | None, workspace: str | None = None
    ) -> None:
        if token is not None:
            authorization(token)
        urls = url.split(",")
        if len(urls) > SERVERS_MAX:
            raise BadUrl(url, f"it names more than {SERVERS_MAX} servers")
        named = workspace if len(urls) > 1 and is_header_value(workspace) else None
        self._targets = [Target(Address.parse(one.strip()), token, ca_file, named) for one in urls]
        for target in self._targets:
            target.tls()
        self._current = 0
        self._suspect: Target | None = None

    @property
    def url(self) -> str:
        return ",".join(target.address.url for target in self._targets)

    def target(self) -> Target:
        return self._targets[self._current]

    def targets(self) -> Sequence[Target]:
        return self._targets[self._current :] + self._targets[: self._current]

    @property
    def has_others(self) -> bool:
        return len(self._targets) > 1

    def use(self, target: Target) -> None:
        self._current = self._targets.index(target)
        self._suspect = None

    def leave(self, is_suspect: bool) -> None:
        self._suspect = self._targets[self._current] if is_suspect else None
        self._current = (self._current + 1) % len(self._targets)

    def owner(self, url: str | None) -> Target | None:
        # Only one of the servers that were given: the token is shown to no other.
        try:
            address = None if url is None else Address.parse(url)
        except BadUrl:
            return None
        owner = next((target for target in self._targets if target.address == address), None)
        return None if owner == self._suspect else owner


def is_header_value(text: str | None) -> bool:
    """Whether a header can carry it. Other names are refused with the first call."""
    return text is not None and text.isascii() and text.isprintable() and text == text.strip()


def is_of_this_server(error: BatonError) -> bool:
    """Whether another server may accept what one did not: not if the request itself is at fault."""
    return error.kind == "unavailable"
