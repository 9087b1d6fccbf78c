"""Servers on one log, the proxies between them and the database, and connections to them, for
`scripts/cluster`."""

import asyncio
import base64
import http.client
import json
import os
import re
import socket
import struct
import subprocess
import sys
import time

PROGRAM = os.environ.get("BATON_PROGRAM", "target/debug/baton")
NATS = os.environ.get("BATON_NATS")
LOG = NATS or os.environ["BATON_POSTGRES"]
# No check depends on this; it only ends a test that hangs.
PATIENCE_S = 90


def key_file(folder: str, digit: str) -> str:
    """A file with a key for secrets."""
    path = os.path.join(folder, f"{digit}.key")
    with open(path, "w", encoding="ascii") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(digit * 64)
    return path


class Proxy:
    """The traffic between a server and the database passes through this process."""

    SOCKET = ".s.PGSQL.5432"

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.log = re.sub(r"@[^/?]+", "@" + folder.replace("/", "%2F"), LOG, count=1)
        os.mkdir(folder)
        self.start()

    def start(self) -> None:
        path = f"{self.folder}/{self.SOCKET}"
        if os.path.exists(path):
            os.unlink(path)
        database = re.search(r"@([^/?]+)", LOG)[1].replace("%2F", "/") + f"/{self.SOCKET}"
        command = [sys.executable, __file__, path, database]
        self.process = subprocess.Popen(command)
        while not os.path.exists(path):
            time.sleep(0.02)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


async def pass_on(path: str, database: str) -> None:
    """Passes on what arrives at a socket, until this process is ended."""

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while content := await source.read(1 << 16):
                target.write(content)
                await target.drain()
        except OSError:
            pass
        finally:
            target.close()

    async def accept(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            ends = await asyncio.open_unix_connection(database)
        except OSError:
            return target.close()
        await asyncio.gather(copy(source, ends[1]), copy(ends[0], target))

    listener = await asyncio.start_unix_server(accept, path)
    await listener.serve_forever()


class Server:
    """One `baton serve`, started again on its port."""

    def __init__(
        self, folder: str, name: str, log: str = LOG, key: str = "a", proxy: Proxy | None = None
    ) -> None:
        self.name = name
        self.log = proxy.log if proxy else log
        self.proxy = proxy
        self.key = key_file(folder, key)
        self.path = os.path.join(folder, name)
        self.port = 0
        self.starts = 0
        self.silent_at = float("-inf")
        self.start()

    def start(self) -> None:
        self.starts += 1
        path = f"{self.path}-{self.starts}.log"
        command = [PROGRAM, "serve", "--log", self.log, "--listen", f"127.0.0.1:{self.port}"]
        command += ["--secrets-key-file", self.key]
        with open(path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=log)
        while True:
            with open(path, encoding="utf-8") as log:
                text = log.read()
            if found := re.search(r"address +http://127\.0\.0\.1:(\d+)", text):
                self.port = int(found[1])
                return
            if self.process.poll() is not None:
                sys.exit(f"a server did not start: {text}")
            time.sleep(0.02)

    def ask(self, method: str, path: str, body: object = None, key: str | None = None, wait_s=4.0):
        """The status and the body of an answer, or none without an answer."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=wait_s)
        try:
            headers = {"content-type": "application/json"}
            if key:
                headers["idempotency-key"] = key
            line.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = line.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        except (OSError, http.client.HTTPException, ValueError):
            self.silent_at = time.monotonic()
            return None
        finally:
            line.close()

    def secret(self, method: str, path: str, body: str) -> bytes:
        """The answer to a request about a secret, which is repeated until there is an owner."""
        begun = time.monotonic()
        while True:
            line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=4)
            try:
                line.request(method, path, body)
                answer = line.getresponse()
                content = answer.read()
                if answer.status < 300:
                    return content
            except (OSError, http.client.HTTPException) as error:
                content = str(error).encode()
            finally:
                line.close()
            if time.monotonic() - begun > PATIENCE_S:
                sys.exit(f"a secret cannot be used at {self.name}: {content!r}")
            time.sleep(0.1)


class WebSocket:
    """The few frames that this test needs."""

    def __init__(self, port: int, wait_s: float) -> None:
        self.line = socket.create_connection(("127.0.0.1", port), timeout=wait_s)
        key = base64.b64encode(os.urandom(16)).decode()
        head = (
            f"GET /v1/ws HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: upgrade\r\n"
            f"upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n\r\n"
        )
        self.line.sendall(head.encode())
        self.file = self.line.makefile("rb")
        if b" 101 " not in self.file.readline():
            raise OSError("no WebSocket")
        while self.file.readline() not in (b"\r\n", b""):
            pass

    def send(self, document: dict, opcode: int = 1) -> None:
        payload = json.dumps(document).encode()
        size = len(payload)
        head = bytes([0x80 | opcode])
        head += bytes([0x80 | size]) if size < 126 else bytes([0xFE]) + struct.pack(">H", size)
        self.line.sendall(head + b"\0\0\0\0" + payload)

    def receive(self) -> dict:
        while True:
            first, second = self.file.read(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack(">H", self.file.read(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self.file.read(8))
            payload = self.file.read(size)
            if first & 0x0F == 1:
                return json.loads(payload)
            if first & 0x0F == 8:
                raise OSError("closed")

    def close(self) -> None:
        self.file.close()
        self.line.close()


if __name__ == "__main__":
    asyncio.run(pass_on(*sys.argv[1:]))
