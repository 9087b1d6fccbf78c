"""Models behind an endpoint that implements the OpenAI chat completions API.

    endpoint = baton.model.Endpoint.from_environment("small")
    with b.claim("write") as job:
        b.run_with_context(job, endpoint, token_budget=4000)

1. One call is made. It has a time limit, and the size of the response is bounded.
2. The API key is sent to the endpoint only: redirects are not followed, and for `https://` the
   certificate is verified before.

Deliberately absent: tools, streaming and conversations, which belong to a framework.
"""

from __future__ import annotations

import http.client
import os
import re
import ssl
from dataclasses import dataclass
from typing import Any

from ._options import limit
from .errors import BadEndpoint

TIMEOUT = 600.0
"""The default time limit for a completion, in seconds."""

_URL = re.compile(r"(https?)://(\[[0-9A-Fa-f:.%]+\]|[^/:\[\]]+)(?::([0-9]{1,5}))?(/.*)?")


@dataclass(frozen=True)
class Completion:
    """The completion of a model."""

    text: str
    """The text."""
    model: str
    """The model, as the endpoint names it."""
    usage: Any
    """The usage, as the endpoint counts it."""


class Endpoint:
    """An endpoint that implements the OpenAI chat completions API, with a model."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str | None = None,
        timeout: float = TIMEOUT,
        ca_file: str | None = None,
    ) -> None:
        """
        Args:
            base_url: Such as `http://127.0.0.1:11434/v1`.
            model: The model, as the endpoint names it.
            key: The API key, if the endpoint needs one.
            timeout: How many seconds a completion may take.
            ca_file: The authorities to trust with `https://`, in PEM; those of the system if not
                given.
        """
        self.url = base_url
        """The URL that was given."""
        self.model = model
        """The model."""
        self.timeout = timeout
        """How many seconds a completion may take."""
        is_secure, self._host, self._port, base = _parsed(base_url)
        self._path = f"{base}/chat/completions"
        self._tls = _trust(base_url, ca_file) if is_secure else None
        if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
            # The key is not repeated here.
            raise BadEndpoint(base_url, "the API key has invalid characters, such as a line break")
        self._key = key

    @classmethod
    def from_environment(
        cls, model: str, *, timeout: float = TIMEOUT, ca_file: str | None = None
    ) -> Endpoint:
        """The endpoint that `OPENAI_BASE_URL` names, with the key of `OPENAI_API_KEY` if there is
        one."""
        url = os.environ.get("OPENAI_BASE_URL", "")
        key = os.environ.get("OPENAI_API_KEY") or None
        return cls(url, model, key=key, timeout=timeout, ca_file=ca_file)

    def __repr__(self) -> str:
        # Without the key.
        return f"Endpoint({self.url!r}, {self.model!r})"

    @property
    def path(self) -> str:
        """The URL at which completions are requested."""
        return self._path

    def connection(self) -> http.client.HTTPConnection:
        """A connection, which is made with the first request."""
        host, port, timeout = self._host, self._port, limit(self.timeout)
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=timeout)
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=self._tls)

    def headers(self) -> dict[str, str]:
        """The headers of a request."""
        sent = {"Content-Type": "application/json", "Connection": "close"}
        if self._key is not None:
            sent["Authorization"] = f"Bearer {self._key}"
        return sent


def _parsed(url: str) -> tuple[bool, str, int, str]:
    """Whether it is secure, the host, the port, and the prefix of every path."""
    if not url.startswith(("http://", "https://")):
        raise BadEndpoint(url, "it must begin with `http://` or `https://`")
    matched = _URL.fullmatch(url)
    is_plain = url.isascii() and url.isprintable() and not re.search(r"[ ?#@]", url)
    if matched is None or not is_plain:
        raise BadEndpoint(url, "it must have a host, and only a port and a path besides")
    scheme, host, port, path = matched.groups()
    if port is not None and int(port) > 65_535:
        raise BadEndpoint(url, "the port must be from 0 to 65535")
    is_secure = scheme == "https"
    number = int(port) if port is not None else (443 if is_secure else 80)
    return is_secure, host.strip("[]"), number, (path or "").rstrip("/")


def _trust(url: str, ca_file: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise BadEndpoint(url, f"the CA file cannot be read: {error}") from None


__all__ = ["Completion", "Endpoint"]
