"""The address of a server."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import BadUrl

PORT_DEFAULT = 4747

_SCHEMES = {"http": False, "ws": False, "https": True, "wss": True}
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._%-]+)(?::([0-9]*))?")


@dataclass(frozen=True)
class Address:
    """Host and port, and whether TLS is spoken there."""

    host: str
    """An IPv6 address is without its brackets."""
    port: int
    is_secure: bool

    @classmethod
    def parse(cls, url: str) -> Address:
        scheme, separator, rest = url.partition("://")
        if not separator or scheme not in _SCHEMES:
            allowed = "it must begin with `http://`, `https://`, `ws://` or `wss://`"
            raise BadUrl(url, allowed)
        authority = rest[:-1] if rest.endswith("/") else rest
        matched = _AUTHORITY.fullmatch(authority)
        if matched is None:
            raise BadUrl(url, "after the scheme it must have a host and a port, and nothing else")
        host, port = matched.group(1).strip("[]"), matched.group(2)
        if port is None:
            return cls(host, PORT_DEFAULT, _SCHEMES[scheme])
        if not port or int(port) > 65_535:
            raise BadUrl(url, "the port must be from 0 to 65535")
        return cls(host, int(port), _SCHEMES[scheme])

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{'https' if self.is_secure else 'http'}://{self.authority}"

    @property
    def websocket_url(self) -> str:
        return f"{'wss' if self.is_secure else 'ws'}://{self.authority}/v1/ws"
