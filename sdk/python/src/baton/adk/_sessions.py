"""Sessions of the ADK, as entries of a workspace."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
)
from google.adk.sessions.session import Session
from google.adk.sessions.state import State
from pydantic_core import to_jsonable_python

from .._bridge import Bridge, Client, Steps
from .._entries import Command, Entries
from .._flow import Call
from .._handovers import Handovers
from .._item_log import Head, ItemLog
from ..errors import Conflict, NotFound
from ._scopes import SHARED, Scopes, decoded, encoded, named, sessions_prefix

NAMESPACE = "adk"
_OPEN_MAX = 10_000


def _marker(head: Head) -> str:
    return f"{head.first}:{head.next}:{head.version}"


def _head(marker: str) -> Head:
    return Head(*map(int, marker.split(":")))


class BatonSessionService(BaseSessionService):
    """Sessions in a workspace of Baton.

    The state is in the namespace `shared`, under the keys that every client of Baton uses for
    sessions: `app:` for all users, `user:` for all sessions of a user, others for one session;
    `temp:` is not stored. An event and its changes of the state are one commit. A session that
    another process has continued is refused with `StaleSessionError`.

    A transfer to another agent is recorded as a hand-off of Baton, with the state and the events
    that the receiver gets. It is completed with the final response of the receiver. Rules of the
    workspace apply: what they refuse is raised, and the transfer is not stored.

    Args:
        client: A `Baton` or an `AsyncBaton`.
        namespace: The namespace of sessions and events, which is created when it is first used.
        record_transfers: Whether transfers are recorded as hand-offs.
    """

    def __init__(
        self, client: Client, *, namespace: str = NAMESPACE, record_transfers: bool = True
    ) -> None:
        self._bridge = Bridge(client)
        self._entries = Entries(namespace)
        self._shared = Entries(SHARED)
        self._handovers = Handovers(client) if record_transfers else None
        self._open: OrderedDict[Scopes, tuple[str, str]] = OrderedDict()

    def _log(self, scopes: Scopes) -> ItemLog:
        return ItemLog(self._entries, scopes.events_prefix)

    # Sessions.

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        id = (session_id or "").strip() or str(uuid.uuid4())
        scopes = Scopes(app_name, user_id, id)
        now = time.time()
        # A session that is deleted and created again has other events than before.
        first = int(now * 1000) % 10**12
        head = Head(first, first)
        stored = _json(state or {})
        commands = [self._record(scopes, now), *self._changes(scopes, stored)]
        commands.append(self._log(scopes).set_head(head))
        try:
            requirement = self._log(scopes).requirement(head)
            await self._bridge.run_async(self._entries.commit(commands, [requirement]))
        except Conflict as error:
            if error.code != "transaction.precondition_failed":
                raise
            raise AlreadyExistsError(f"session `{id}` exists already") from error
        found = await self.get_session(app_name=app_name, user_id=user_id, session_id=id)
        if found is None:
            raise SessionNotFoundError(f"session `{id}` was deleted meanwhile")
        return found

    def _record(self, scopes: Scopes, update_time: float) -> Command:
        value = {"app": scopes.app, "user": scopes.user, "id": scopes.session}
        return self._entries.set(scopes.key, {**value, "update_time": update_time})

    def _changes(self, scopes: Scopes, delta: Mapping[str, Any]) -> list[Command]:
        keys = {name: scopes.state_key(name) for name in delta}
        return [self._shared.set(key, delta[name]) for name, key in keys.items() if key is not None]

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        scopes = Scopes(app_name, user_id, session_id.strip())
        return await self._bridge.run_async(self._get(scopes, config or GetSessionConfig()))

    def _get(self, scopes: Scopes, config: GetSessionConfig) -> Steps[Session | None]:
        limit = config.num_recent_events
        items, head, revision = yield from self._log(scopes).read_at(limit)
        if head.version == 0:
            return None
        # The state as of the same revision.
        where = {"namespace": self._entries.namespace, "key": scopes.key, "at": revision}
        record = yield Call("state.get", where)
        state: dict[str, Any] = {}
        for scope, prefix in scopes.prefixes.items():
            entries = yield from self._shared.all(prefix, at=revision)
            state |= named(prefix, scope, entries)
        events = [Event.model_validate(item) for item in items]
        if config.after_timestamp is not None:
            events = [it for it in events if it.timestamp >= config.after_timestamp]
        return _session(scopes, state, events, record["value"]["update_time"], head)

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        sessions = await self._bridge.run_async(self._list(app_name, user_id))
        return ListSessionsResponse(
            sessions=sorted(sessions, key=lambda session: session.last_update_time)
        )

    def _list(self, app: str, user: str | None) -> Steps[list[Session]]:
        records = yield from self._entries.all(sessions_prefix(app, user))
        of_app = f"sessions/app/{encoded(app)}/"
        shared = named(of_app, State.APP_PREFIX, (yield from self._shared.all(of_app)))
        of_users: dict[str, dict[str, Any]] = {}
        own: dict[tuple[str, str], dict[str, Any]] = {}
        part = encoded(app) if user is None else f"{encoded(app)}/{encoded(user)}"
        for entry in (yield from self._shared.all(f"sessions/user/{part}/")):
            _, _, _, name, rest = entry["key"].split("/", 4)
            its = of_users.setdefault(decoded(name), {})
            its[State.USER_PREFIX + rest] = entry["value"]
        for entry in (yield from self._shared.all(f"sessions/own/{part}/")):
            _, _, _, name, id, rest = entry["key"].split("/", 5)
            own.setdefault((decoded(name), decoded(id)), {})[rest] = entry["value"]
        sessions: list[Session] = []
        for record in records:
            value = record["value"]
            scopes = Scopes(value["app"], value["user"], value["id"])
            state = {
                **shared,
                **of_users.get(scopes.user, {}),
                **own.get((scopes.user, scopes.session), {}),
            }
            sessions.append(_session(scopes, state, [], value["update_time"], None))
        return sessions

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        scopes = Scopes(app_name, user_id, session_id)
        self._open.pop(scopes, None)
        await self._bridge.run_async(self._delete(scopes))

    def _delete(self, scopes: Scopes) -> Steps[None]:
        yield from self._entries.remove([scopes.key])
        yield from self._log(scopes).delete()
        yield from self._shared.clear(scopes.prefixes[""])

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        prefix = Scopes(app_name, user_id, "").prefixes[State.USER_PREFIX]
        return named(prefix, "", await self._bridge.run_async(self._shared.all(prefix)))

    # Events.

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        scopes = Scopes(session.app_name, session.user_id, session.id)
        transfer = await self._transfer(session, event)
        try:
            head = await self._bridge.run_async(self._append(scopes, session, event))
        except BaseException:
            if transfer is not None and self._handovers is not None:
                await self._handovers.cancel(transfer, event.author, "it was not stored")
            raise
        session._storage_update_marker = _marker(head)
        session.last_update_time = event.timestamp
        await self._finish(scopes, event, transfer)
        return self._commit_event_to_session(session, event)

    def _append(self, scopes: Scopes, session: Session, event: Event) -> Steps[Head]:
        marker = session._storage_update_marker
        head = _head(marker) if marker else (yield from self._head_of(scopes, session))
        delta = _json(event.actions.state_delta if event.actions else {})
        also = [self._record(scopes, event.timestamp), *self._changes(scopes, delta)]
        item = event.model_dump(mode="json", exclude_none=True)
        try:
            return (yield from self._log(scopes).append([item], head, True, also))
        except Conflict as error:
            if error.code != "client.session_changed":
                raise
            if error.facts.get("entry") is None:
                raise SessionNotFoundError(f"session `{scopes.session}` was deleted") from error
            raise StaleSessionError(
                f"session `{scopes.session}` was continued by another process; load it again"
            ) from error

    def _head_of(self, scopes: Scopes, session: Session) -> Steps[Head]:
        """For a session that did not come from here: its time must be that of the stored one."""
        record = yield from self._entries.find(scopes.key)
        if record is None:
            raise SessionNotFoundError(f"there is no session `{scopes.session}`")
        if record["value"]["update_time"] > session.last_update_time:
            raise StaleSessionError(
                f"session `{scopes.session}` was continued by another process; load it again"
            )
        _, head, _ = yield from self._log(scopes).read_at(0)
        return head

    # Transfers.

    async def _transfer(self, session: Session, event: Event) -> str | None:
        """Offers a hand-off, if the event is a transfer."""
        target = event.actions.transfer_to_agent if event.actions else None
        if not target or self._handovers is None:
            return None
        state = {
            name: value
            for name, value in session.state.items()
            if not name.startswith(State.TEMP_PREFIX)
        }
        notes = {
            "framework": "adk",
            "app": session.app_name,
            "user": session.user_id,
            "session": session.id,
            "invocation": event.invocation_id,
        }
        seen = [it.model_dump(mode="json", exclude_none=True) for it in (*session.events, event)]
        return await self._handovers.offer(
            event.author,
            target,
            reason=getattr(event.actions, "transfer_reason", None),
            state=_json(state),
            notes=notes,
            seen={"events": seen},
        )

    async def _finish(self, scopes: Scopes, event: Event, transfer: str | None) -> None:
        """Accepts the hand-off of this event, and completes the one before."""
        if self._handovers is None:
            return
        current = self._open.get(scopes)
        target = event.actions.transfer_to_agent if event.actions else None
        is_last = transfer is not None or event.is_final_response()
        if current is not None and current[1] == event.author and is_last:
            self._open.pop(scopes, None)
            result = {"handed_over_to": target} if transfer else _text(event)
            # Another agent may have cancelled it.
            with contextlib.suppress(Conflict, NotFound):
                await self._handovers.end(*current, result, _delta(event))
        if transfer is not None and target:
            await self._handovers.accept(transfer, target)
            self._open[scopes] = (transfer, target)
            while len(self._open) > _OPEN_MAX:
                self._open.popitem(last=False)


def _session(
    scopes: Scopes, state: dict[str, Any], events: list[Event], time: float, head: Head | None
) -> Session:
    session = Session(
        id=scopes.session,
        app_name=scopes.app,
        user_id=scopes.user,
        state=state,
        events=events,
        last_update_time=time,
    )
    if head is not None:
        session._storage_update_marker = _marker(head)
    return session


def _json(state: Mapping[str, Any]) -> dict[str, Any]:
    """State as JSON; what is not has its text."""
    return to_jsonable_python(dict(state), fallback=str)


def _text(event: Event) -> str | None:
    parts = event.content.parts if event.content else None
    texts = [part.text for part in parts or [] if part.text and not part.thought]
    return "".join(texts) or None


def _delta(event: Event) -> dict[str, Any]:
    return _json(event.actions.state_delta if event.actions else {})
