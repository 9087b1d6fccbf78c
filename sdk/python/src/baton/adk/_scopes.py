"""Keys of sessions. Those of their state are described in docs/wire.md, and are the same for every
client of Baton; the rest is in a namespace of its own.

    x/APP/USER/SESSION             a session
    e/APP/USER/SESSION/…           its events
    a/APP/USER/SCOPE/FILE/VERSION  an artifact; the scope is `user`, or `session/SESSION`
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from google.adk.sessions.state import State

SHARED = "shared"


def encoded(part: str) -> str:
    """A name without a slash, which would make the entries of one the entries of another."""
    return part.replace("%", "%25").replace("/", "%2F")


def decoded(part: str) -> str:
    return unquote(part)


class Scopes(NamedTuple):
    """A session of a user with an application."""

    app: str
    user: str
    session: str

    @property
    def path(self) -> str:
        return "/".join(quote(name, safe="@:") for name in self)

    @property
    def key(self) -> str:
        return f"x/{self.path}"

    @property
    def events_prefix(self) -> str:
        return f"e/{self.path}/"

    @property
    def prefixes(self) -> dict[str, str]:
        """The keys of state, by the prefix of its names."""
        app, user, session = map(encoded, self)
        return {
            State.APP_PREFIX: f"sessions/app/{app}/",
            State.USER_PREFIX: f"sessions/user/{app}/{user}/",
            "": f"sessions/own/{app}/{user}/{session}/",
        }

    def state_key(self, name: str) -> str | None:
        """The key of a name of the state; none if it is not stored."""
        if name.startswith(State.TEMP_PREFIX):
            return None
        prefixes = self.prefixes
        scope = next(
            (it for it in (State.APP_PREFIX, State.USER_PREFIX) if name.startswith(it)), ""
        )
        return prefixes[scope] + name.removeprefix(scope)


def sessions_prefix(app: str, user: str | None) -> str:
    """The keys of sessions."""
    named = f"x/{quote(app, safe='@:')}/"
    return named if user is None else f"{named}{quote(user, safe='@:')}/"


def named(prefix: str, scope: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """State, by name."""
    return {scope + entry["key"][len(prefix) :]: entry["value"] for entry in entries}
