"""The private server of a folder, shared by all processes that open the folder.

    open ──▶ lock `embedded.lock` ──▶ does the server of `embedded.json` answer? ──yes──▶ connect
                                              │ no
                                              ▼
             start `baton serve` on a free port of loopback, with a new key ──▶ write the file

1. The server ends by itself when no connection has been open for `LINGER_MS`. The system closes the
   connection of a process that ends, however it ends, so no process has to announce its end.
2. Callers show an access token. It is in `embedded.json`, which only the user can read, and is made
   with a key that is new with every start.
3. If the server is killed, the next process that connects starts another one, under the lock.
4. The folder itself is locked by the server, so there is never a second one.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import hmac
import http.client
import json
import os
import secrets
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from ._address import Address
from ._endpoint import Target
from ._http import Http
from .errors import NoProgram, NotStarted

LINGER_MS = 2_000
START_TIMEOUT = 30.0
"""How long a server may take to start: it may have much data to read."""
_ISSUER = "baton-embedded"
_AUDIENCE = "baton"


def find_program() -> str:
    """The `baton` program: `BATON_BIN`, the one of this package, or the one on the PATH."""
    named = os.environ.get("BATON_BIN")
    if named:
        if os.access(named, os.X_OK):
            return named
        raise NoProgram(f"BATON_BIN={named}, which cannot be run")
    installed = Path(sysconfig.get_path("scripts")) / "baton"
    beside = Path(sys.executable).parent / "baton"
    for path in (installed, beside):
        if os.access(path, os.X_OK):
            return str(path)
    found = shutil.which("baton")
    if found:
        return found
    raise NoProgram(f"BATON_BIN (not set), {installed} and the PATH")


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _signed(key: bytes) -> str:
    """A JWT that the server accepts because it is signed with the key. It is used once, to make an
    access token: a JWT would speak for one agent only."""
    head = {"alg": "HS256", "typ": "JWT"}
    claims = {
        "iss": _ISSUER,
        "aud": _AUDIENCE,
        "sub": _ISSUER,
        "exp": int(time.time()) + 60,
        "baton": {"role": "admin"},
    }
    text = ".".join(_base64(json.dumps(part).encode()) for part in (head, claims))
    return f"{text}.{_base64(hmac.new(key, text.encode(), hashlib.sha256).digest())}"


class Embedded:
    """The endpoint of a folder. It starts the server when there is none."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser().resolve()
        if self.folder.exists() and not self.folder.is_dir():
            raise NotStarted(str(self.folder), "it is not a folder")
        self._target: Target | None = None

    @property
    def url(self) -> str:
        return f"the server of {self.folder}"

    def target(self) -> Target:
        """The running server; it is started if there is none."""
        if self._target is not None and _answers(self._target):
            return self._target
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                known = self._known()
                self._target = known if known and _answers(known) else self._start()
        except OSError as error:
            if isinstance(error, NoProgram):
                raise
            raise NotStarted(str(self.folder), str(error)) from None
        return self._target

    def targets(self) -> Sequence[Target]:
        return [self.target()]

    @property
    def has_others(self) -> bool:
        return False

    def use(self, target: Target) -> None:
        """There is no other."""

    def leave(self, is_suspect: bool) -> None:
        """There is no other."""

    def owner(self, url: str | None) -> Target | None:
        """A folder has no other server."""
        return None

    @contextlib.contextmanager
    def _locked(self) -> Generator[None, None, None]:
        """One process at a time. The lock ends with the process."""
        descriptor = os.open(self.folder / "embedded.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            deadline = time.monotonic() + START_TIMEOUT
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        reason = "another process has been starting it for too long"
                        raise NotStarted(str(self.folder), reason) from None
                    time.sleep(0.01)
            yield
        finally:
            os.close(descriptor)

    def _known(self) -> Target | None:
        """The server that was started last."""
        try:
            known: Any = json.loads((self.folder / "embedded.json").read_text("utf-8"))
            return Target(Address.parse(known["url"]), str(known["token"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _start(self) -> Target:
        program = find_program()
        # As text: the server takes a line break at the end of the file for that of an editor.
        key = secrets.token_hex(32).encode()
        key_file = self.folder / "embedded.key"
        log_file = self.folder / "embedded.log"
        _write_private(key_file, key)
        _write_private(log_file, b"")
        command = [
            program, "serve", "--data", str(self.folder), "--listen", "127.0.0.1:0",
            "--jwt-key", str(key_file), "--jwt-issuer", _ISSUER, "--jwt-audience", _AUDIENCE,
            "--exit-idle-ms", str(LINGER_MS), "--log-format", "json",
        ]  # fmt: skip
        # Settings of other servers must not change this one.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("BATON_")}
        environment["BATON_CONFIG"] = os.devnull
        with open(log_file, "ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        url = _await_start(process, log_file, str(self.folder))
        address = Address.parse(url)
        earlier = self._known()
        target = Target(address, earlier.token if earlier else None)
        # The token of an earlier start is in the data.
        if target.token is None or not _answers(target):
            target = Target(address, _make_token(address, key))
        contents = {"url": url, "token": target.token, "process": process.pid}
        _write_private(self.folder / "embedded.json", json.dumps(contents).encode())
        _reap(process)
        return target


def _write_private(path: Path, data: bytes) -> None:
    """Writes a file that only the user can read; it appears when it is complete."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(data)
    os.replace(partial, path)


def _await_start(process: subprocess.Popen[bytes], log_file: Path, folder: str) -> str:
    """Waits until the server says where it listens."""
    deadline = time.monotonic() + START_TIMEOUT
    pause = 0.005
    while True:
        has_ended = process.poll() is not None
        lines = log_file.read_text("utf-8", "replace").splitlines()
        for line in lines:
            with contextlib.suppress(ValueError):
                contents: Any = json.loads(line)
                if isinstance(contents, dict) and "address" in contents:
                    return str(contents["address"])  # pyright: ignore[reportUnknownArgumentType]
        if has_ended:
            reason = _refusal(lines) or f"it ended with status {process.returncode}"
            raise NotStarted(folder, reason)
        if time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise NotStarted(folder, f"it did not start within {START_TIMEOUT:g} s")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


def _refusal(lines: list[str]) -> str:
    """Why the program did not start, in its own words."""
    text = " ".join(lines[-5:]).strip()
    try:
        error: Any = json.loads(lines[-1])["error"]
        text = str(error["detail"])
        if error["code"] == "cli.usage":
            text += "; the program is of another release than this package"
    except (ValueError, LookupError, TypeError):
        pass
    return text


def _make_token(address: Address, key: bytes) -> str:
    """Makes an access token for processes that can read the file."""
    http = Http(Target(address, _signed(key)), "default", _ISSUER, START_TIMEOUT)
    body = json.dumps({"name": "embedded", "grant": {"role": "admin"}}).encode()
    made = http.json("POST", "/v1/access/tokens", body=body)
    return str(made["token"])


_children: list[subprocess.Popen[bytes]] = []


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Remembers a server, and collects those that have ended, so that none stays a zombie."""
    process.returncode = process.poll()
    _children[:] = [child for child in _children if child.poll() is None]
    _children.append(process)


def _answers(target: Target) -> bool:
    """Whether the server that we started is there, and not another program on its port."""
    address = target.address
    connection = http.client.HTTPConnection(address.host, address.port, timeout=5.0)
    try:
        connection.request(
            "GET", "/v1/default", headers={"Authorization": f"Bearer {target.token}"}
        )
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
