"""Where a connection goes, each time it is made: a fixed server, or the private one of a folder."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import Protocol

from ._address import Address
from ._link import authorization
from .errors import BadUrl


@dataclass(frozen=True)
class Target:
    """A server to connect to."""

    address: Address
    token: str | None = None
    ca_file: str | None = None

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
        """What to call it in messages."""
        ...

    def target(self) -> Target:
        """Where to connect now."""
        ...


class Fixed:
    """A server with a URL."""

    def __init__(self, url: str, token: str | None, ca_file: str | None) -> None:
        if token is not None:
            authorization(token)
        self._target = Target(Address.parse(url), token, ca_file)
        self._target.tls()

    @property
    def url(self) -> str:
        return self._target.address.url

    def target(self) -> Target:
        return self._target
