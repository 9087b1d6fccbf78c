"""Artifacts of the ADK: their bytes are artifacts of Baton, and entries refer to them."""

from __future__ import annotations

import time
from typing import Any, cast
from urllib.parse import quote, unquote

from google.adk.artifacts import artifact_util
from google.adk.artifacts.base_artifact_service import (
    ArtifactVersion,
    BaseArtifactService,
    ensure_part,
)
from google.adk.errors.input_validation_error import InputValidationError
from google.genai import types

from .._async_baton import AsyncBaton
from .._bridge import Bridge, Client, Steps
from .._entries import Entries, Entry
from ..errors import Conflict
from ._sessions import NAMESPACE

_USER = "user:"
_DEPTH_MAX = 10
_DIGITS = 9


class BatonArtifactService(BaseArtifactService):
    """Artifacts in a workspace of Baton. The same bytes are stored once.

    Args:
        client: A `Baton` or an `AsyncBaton`.
        namespace: The namespace of the entries, which is created when it is first used.
    """

    def __init__(self, client: Client, *, namespace: str = NAMESPACE) -> None:
        self._client = client
        self._bridge = Bridge(client)
        self._entries = Entries(namespace)

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: types.Part | dict[str, Any],
        session_id: str | None = None,
        custom_metadata: dict[str, Any] | None = None,
    ) -> int:
        prefix = _prefix(app_name, user_id, filename, session_id)
        part = ensure_part(artifact)
        value: dict[str, Any] = {"file": filename, "created_at": time.time()}
        value["metadata"] = custom_metadata or {}
        if part.inline_data is not None:
            data = part.inline_data.data or b""
            media_type = part.inline_data.mime_type or "application/octet-stream"
            value |= {"media_type": media_type, "name": part.inline_data.display_name}
            value["content"] = {"artifact": await self._upload(data, filename, media_type)}
        elif part.text is not None:
            value["media_type"] = "text/plain"
            text = part.text.encode()
            value["text"] = {"artifact": await self._upload(text, filename, "text/plain")}
        elif part.file_data is not None:
            _check_reference(part, app_name, user_id, session_id)
            value["part"] = part.model_dump(mode="json", exclude_none=True)
            value["media_type"] = part.file_data.mime_type
        else:
            raise InputValidationError("an artifact has data, a text or a reference to a file")
        return await self._bridge.run_async(self._add(prefix, value))

    def _add(self, prefix: str, value: dict[str, Any]) -> Steps[int]:
        latest = yield from self._latest(prefix)
        version = 0 if latest is None else _version(latest) + 1
        while True:
            key = _key(prefix, version)
            try:
                yield from self._entries.commit([self._entries.set(key, value, if_absent=True)])
                return version
            except Conflict as error:
                if error.code != "transaction.command_refused":
                    raise
                version += 1  # Another process has saved this one meanwhile.

    async def _upload(self, data: bytes, name: str, media_type: str) -> str:
        how: dict[str, Any] = {"name": quote(name, safe=" ._-")[:200], "media_type": media_type}
        if isinstance(self._client, AsyncBaton):
            return (await self._client.artifacts.put(data, **how)).artifact
        put = self._client.artifacts.put
        return (await self._bridge.in_thread(put, data, **how)).artifact

    async def _download(self, artifact: str) -> bytes:
        if isinstance(self._client, AsyncBaton):
            return await self._client.artifacts.read(artifact)
        return await self._bridge.in_thread(self._client.artifacts.read, artifact)

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> types.Part | None:
        where = app_name, user_id, filename, session_id, version
        for depth in range(_DEPTH_MAX, 0, -1):
            found = await self._bridge.run_async(self._find(*where))
            if found is None:
                return None
            part = await self._part(found["value"])
            if not artifact_util.is_artifact_ref(part):
                return part
            assert part.file_data is not None
            parsed = artifact_util.resolve_artifact_reference(
                file_uri=cast("str", part.file_data.file_uri),
                app_name=where[0],
                user_id=where[1],
                session_id=where[3],
                remaining_depth=depth,
            )
            where = (
                parsed.app_name,
                parsed.user_id,
                parsed.filename,
                parsed.session_id,
                parsed.version,
            )
        return None

    async def _part(self, value: dict[str, Any]) -> types.Part:
        if "text" in value:
            return types.Part(text=(await self._download(value["text"]["artifact"])).decode())
        if "part" in value:
            return types.Part.model_validate(value["part"])
        data = await self._download(value["content"]["artifact"])
        blob = types.Blob(data=data, mime_type=value["media_type"], display_name=value.get("name"))
        return types.Part(inline_data=blob)

    def _find(
        self, app: str, user: str, filename: str, session: str | None, version: int | None
    ) -> Steps[Entry | None]:
        prefix = _prefix(app, user, filename, session)
        if version is None:
            return (yield from self._latest(prefix))
        if version < 0:
            return None
        return (yield from self._entries.find(_key(prefix, version)))

    def _latest(self, prefix: str) -> Steps[Entry | None]:
        # Versions count down, so that the latest is the first.
        page = yield from self._entries.page(prefix, 1)
        return next(iter(page["entries"]), None)

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        prefixes = [f"{_owner(app_name, user_id)}user/"]
        if session_id is not None:
            prefixes.append(f"{_owner(app_name, user_id)}session/{_part_of(session_id)}/")
        names: set[str] = set()
        for prefix in prefixes:
            for entry in await self._bridge.run_async(self._entries.all(prefix)):
                names.add(unquote(entry["key"][len(prefix) :].partition("/")[0]))
        return sorted(names)

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        prefix = _prefix(app_name, user_id, filename, session_id)
        await self._bridge.run_async(self._entries.clear(prefix))

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        prefix = _prefix(app_name, user_id, filename, session_id)
        entries = await self._bridge.run_async(self._entries.all(prefix))
        return sorted(map(_version, entries))

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        prefix = _prefix(app_name, user_id, filename, session_id)
        entries = await self._bridge.run_async(self._entries.all(prefix))
        return [self._described(entry) for entry in reversed(entries)]

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        steps = self._find(app_name, user_id, filename, session_id, version)
        entry = await self._bridge.run_async(steps)
        return None if entry is None else self._described(entry)

    def _described(self, entry: Entry) -> ArtifactVersion:
        value = entry["value"]
        workspace, namespace = self._client.workspace_name, self._entries.namespace
        return ArtifactVersion(
            version=_version(entry),
            canonical_uri=f"baton://{workspace}/{namespace}/{entry['key']}",
            custom_metadata=value["metadata"],
            create_time=value["created_at"],
            mime_type=value["media_type"],
        )


def _part_of(name: str) -> str:
    return quote(name, safe="@:")


def _owner(app: str, user: str) -> str:
    return f"a/{_part_of(app)}/{_part_of(user)}/"


def _prefix(app: str, user: str, filename: str, session: str | None) -> str:
    """The prefix of the keys of a file."""
    if filename.startswith(_USER):
        return f"{_owner(app, user)}user/{_part_of(filename)}/"
    if session is None:
        raise InputValidationError("a file that is not of the user (`user:`) needs a session")
    return f"{_owner(app, user)}session/{_part_of(session)}/{_part_of(filename)}/"


def _key(prefix: str, version: int) -> str:
    return f"{prefix}{10**_DIGITS - 1 - version:0{_DIGITS}}"


def _version(entry: Entry) -> int:
    return 10**_DIGITS - 1 - int(entry["key"].rpartition("/")[2])


def _check_reference(part: types.Part, app: str, user: str, session: str | None) -> None:
    """A reference to an artifact must be to one that the caller may read."""
    if not artifact_util.is_artifact_ref(part) or part.file_data is None:
        return
    parsed = artifact_util.parse_artifact_uri(part.file_data.file_uri or "")
    if parsed is None:
        raise InputValidationError(f"`{part.file_data.file_uri}` is not a reference")
    artifact_util.validate_artifact_reference_scope(
        app_name=app, user_id=user, session_id=session, parsed_uri=parsed
    )
