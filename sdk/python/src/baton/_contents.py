"""Artifacts as files, secrets, and workspaces as files."""

from __future__ import annotations

import asyncio
import http.client
import io
import os
import tempfile
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from . import types
from ._async_calls import ArtifactsCalls as AsyncArtifactsCalls
from ._async_calls import SecretsCalls as AsyncSecretsCalls
from ._async_calls import WorkspaceCalls as AsyncWorkspaceCalls
from ._calls import ArtifactsCalls, SecretsCalls, WorkspaceCalls
from ._http import Http, Progress, Source, copy, pieces
from .errors import ProtocolError

if TYPE_CHECKING:
    from ._baton import Baton

Path = str | os.PathLike[str]

_BYTES = {"Content-Type": "application/octet-stream"}


def put(
    http: Http,
    source: Source | Path,
    name: str | None,
    media_type: str | None,
    keep_ms: int | None,
    progress: Progress | None,
) -> types.Artifact:
    """Uploads an artifact."""
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            path: str = os.fspath(source)
            return put(
                http,
                file,
                os.path.basename(path) if name is None else name,
                media_type,
                keep_ms,
                progress,
            )
    body, length = pieces(source, progress)
    headers = {"Content-Type": media_type or "application/octet-stream"}
    query = {"name": name, "keep_ms": keep_ms}
    raw = http.json("PUT", "artifacts", query=query, headers=headers, body=body, length=length)
    return types.Artifact(raw)


def download(http: Http, artifact: str, to: Path | IO[bytes], progress: Progress | None) -> int:
    """Writes an artifact to a file; a path appears when it is complete."""
    if isinstance(to, (str, os.PathLike)):
        path = os.fspath(to)
        partial = f"{path}.part-{os.getpid()}"
        try:
            with open(partial, "wb") as file:
                count = download(http, artifact, file, progress)
            os.replace(partial, path)
        except BaseException:
            if os.path.exists(partial):
                os.unlink(partial)
            raise
        return count
    with http.open("GET", f"artifacts/{artifact}") as response:
        return copy(response, to, progress)


class ArtifactReader(io.RawIOBase):
    """An artifact as a file: it is read as it comes, and `seek` reads only what is wanted."""

    def __init__(self, http: Http, artifact: types.Artifact) -> None:
        super().__init__()
        self._http = http
        self.artifact = artifact
        """The metadata of the artifact."""
        self._position = 0
        self._response: http_response | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.artifact.bytes}
        target = base[whence] + offset
        if target < 0:
            raise ValueError("a position cannot be negative")
        if target != self._position:
            self._drop()
            self._position = target
        return target

    def readinto(self, buffer: Any) -> int:
        if self.closed:
            raise ValueError("I/O operation on a closed file")
        if self._position >= self.artifact.bytes or not len(buffer):
            return 0
        if self._response is None:
            headers = {"Range": f"bytes={self._position}-"} if self._position else {}
            path = f"artifacts/{self.artifact.artifact}"
            self._response = self._http.open("GET", path, headers=headers)
        try:
            count = self._response.readinto(buffer)
        except (OSError, http.client.HTTPException) as error:
            self._drop()
            raise ProtocolError(f"the artifact ends early: {error}") from None
        if count == 0:
            raise ProtocolError(f"the artifact ends at byte {self._position}")
        self._position += count
        return count

    def _drop(self) -> None:
        if self._response is not None:
            self._response.close()
            self._response = None

    def close(self) -> None:
        self._drop()
        super().close()


http_response = http.client.HTTPResponse


class ArtifactWriter:
    """A file that becomes an artifact when its `with` block ends, and nothing if that raises."""

    def __init__(
        self, baton: Baton, name: str | None, media_type: str | None, keep_ms: int | None
    ) -> None:
        self._baton = baton
        self._how: dict[str, Any] = {"name": name, "media_type": media_type, "keep_ms": keep_ms}
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=8 << 20)  # noqa: SIM115
        self.artifact: types.Artifact | None = None
        """The artifact, after the block has ended."""

    def write(self, data: bytes) -> int:
        return self._file.write(data)

    def __enter__(self) -> ArtifactWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._file:
            if error is None:
                self._file.seek(0)
                self.artifact = self._baton.artifacts.put(self._file, **self._how)


class Artifacts(ArtifactsCalls):
    """Files, known by the digest of their bytes."""

    __slots__ = ()

    def put(
        self,
        source: Source | Path,
        *,
        name: str | None = None,
        media_type: str | None = None,
        keep_ms: int | None = None,
        progress: Progress | None = None,
    ) -> types.Artifact:
        """Uploads bytes, an open file, or the file at a path. `progress` is called with the bytes
        that were sent, and how many there are."""
        return put(self._baton.http(), source, name, media_type, keep_ms, progress)

    def open(self, artifact: str) -> io.BufferedReader:
        """The artifact as a file for reading, with `seek`."""
        return io.BufferedReader(ArtifactReader(self._baton.http(), self.get(artifact)), 1 << 16)

    def create(
        self,
        *,
        name: str | None = None,
        media_type: str | None = None,
        keep_ms: int | None = None,
    ) -> ArtifactWriter:
        """A file for writing, as a context manager: it is uploaded when the block ends."""
        return ArtifactWriter(self._baton, name, media_type, keep_ms)

    def read(self, artifact: str) -> bytes:
        """All bytes of an artifact."""
        return self._baton.http().read("GET", f"artifacts/{artifact}")

    def download(
        self, artifact: str, to: Path | IO[bytes], *, progress: Progress | None = None
    ) -> int:
        """Writes an artifact to a path or an open file, and returns how many bytes it has."""
        return download(self._baton.http(), artifact, to, progress)


class AsyncArtifacts(AsyncArtifactsCalls):
    """Files, known by the digest of their bytes. Bytes are transferred in a thread."""

    __slots__ = ()

    async def put(
        self,
        source: Source | Path,
        *,
        name: str | None = None,
        media_type: str | None = None,
        keep_ms: int | None = None,
        progress: Progress | None = None,
    ) -> types.Artifact:
        """Uploads bytes, an open file, or the file at a path. `progress` is called in the thread
        that uploads."""
        http = await self._baton.http()
        return await asyncio.to_thread(put, http, source, name, media_type, keep_ms, progress)

    async def open(self, artifact: str) -> io.BufferedReader:
        """The artifact as a blocking file for reading, to be used in a thread."""
        reader = ArtifactReader(await self._baton.http(), await self.get(artifact))
        return io.BufferedReader(reader, 1 << 16)

    async def read(self, artifact: str) -> bytes:
        """All bytes of an artifact."""
        http = await self._baton.http()
        return await asyncio.to_thread(http.read, "GET", f"artifacts/{artifact}")

    async def download(
        self, artifact: str, to: Path | IO[bytes], *, progress: Progress | None = None
    ) -> int:
        """Writes an artifact to a path or an open file, and returns how many bytes it has."""
        http = await self._baton.http()
        return await asyncio.to_thread(download, http, artifact, to, progress)


def put_secret(
    http: Http, value: bytes | str, name: str | None, ttl_ms: int | None
) -> types.SecretRecord:
    body = value.encode() if isinstance(value, str) else value
    query = {"name": name, "ttl_ms": ttl_ms}
    return types.SecretRecord(http.json("PUT", "secrets", query=query, headers=_BYTES, body=body))


class Secrets(SecretsCalls):
    """Values that are stored apart from the history."""

    __slots__ = ()

    def put(
        self, value: bytes | str, *, name: str | None = None, ttl_ms: int | None = None
    ) -> types.SecretRecord:
        """Stores a secret, and returns its reference."""
        return put_secret(self._baton.http(), value, name, ttl_ms)

    def reveal(self, secret: str) -> bytes:
        """The value of a secret. That it was revealed is recorded."""
        return self._baton.http().read("POST", f"secrets/{secret}/reveal", length=0)


class AsyncSecrets(AsyncSecretsCalls):
    """Values that are stored apart from the history."""

    __slots__ = ()

    async def put(
        self, value: bytes | str, *, name: str | None = None, ttl_ms: int | None = None
    ) -> types.SecretRecord:
        """Stores a secret, and returns its reference."""
        return await asyncio.to_thread(put_secret, await self._baton.http(), value, name, ttl_ms)

    async def reveal(self, secret: str) -> bytes:
        """The value of a secret. That it was revealed is recorded."""
        http = await self._baton.http()
        return await asyncio.to_thread(http.read, "POST", f"secrets/{secret}/reveal", length=0)


def export(http: Http, to: IO[bytes], at: int | str | None, progress: Progress | None) -> int:
    with http.open("GET", "export", query={"at": at}) as response:
        return copy(response, to, progress)


def import_(http: Http, source: Source, progress: Progress | None) -> types.Forked:
    body, length = pieces(source, progress)
    return types.Forked(http.json("POST", "import", headers=_BYTES, body=body, length=length))


class Workspace(WorkspaceCalls):
    """The workspace as a whole."""

    __slots__ = ()

    def export(
        self, to: IO[bytes], *, at: int | str | None = None, progress: Progress | None = None
    ) -> int:
        """Writes the workspace to a file."""
        return export(self._baton.http(), to, at, progress)

    def import_(self, source: Source, *, progress: Progress | None = None) -> types.Forked:
        """Makes this workspace from an exported file. It must not exist yet."""
        return import_(self._baton.http(), source, progress)


class AsyncWorkspace(AsyncWorkspaceCalls):
    """The workspace as a whole."""

    __slots__ = ()

    async def export(
        self, to: IO[bytes], *, at: int | str | None = None, progress: Progress | None = None
    ) -> int:
        """Writes the workspace to a file."""
        return await asyncio.to_thread(export, await self._baton.http(), to, at, progress)

    async def import_(self, source: Source, *, progress: Progress | None = None) -> types.Forked:
        """Makes this workspace from an exported file. It must not exist yet."""
        return await asyncio.to_thread(import_, await self._baton.http(), source, progress)
