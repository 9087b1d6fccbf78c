"""Has tasks of Baton done by agents that are built on the official Python package, in both bindings."""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from a2a_agent import Agent
from a2a_client import PATIENCE, Server

sys.path.insert(0, str(Path(__file__).parent.parent / "sdk/python/src"))
import baton  # noqa: E402
from baton.a2a import BatonTaskStore  # noqa: E402


def eventually(what: str, seen: Callable[[], object]) -> object:
    """Waits until something is there."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = seen()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"it never came about that {what}")


def ended(server: Server, task: str) -> dict:
    return server.command("ada", command="task.wait", task=task, wait_ms=PATIENCE * 1000)


def created(server: Server, peer: str, text: str, **more: object) -> str:
    task = {"type": "write", "description": text, "assigned_agent": peer, "max_retries": 0, **more}
    return server.command("ada", command="task.create", **task)["id"]


def use(server: Server, peer: str, agent: Agent) -> None:
    done = ended(server, created(server, peer, "hello"))
    assert (done["status"], done["result"]) == ("completed", "HELLO"), done
    failed = ended(server, created(server, peer, "refuse it"))
    assert (failed["status"], failed["error"]["detail"]) == ("failed", "not today"), failed

    task = created(server, peer, "ask me")
    read = lambda: server.command("ada", command="task.get", task=task)  # noqa: E731
    asked = lambda: read().get("metadata", {}).get("question")  # noqa: E731
    assert eventually("the agent asks", asked) == "which colour?"
    body = {"task": task, "message": {"parts": [{"text": "green"}]}}
    server.command("ada", command="message.send", to=peer, body=body)
    done = ended(server, task)
    assert (done["status"], done["result"]) == ("completed", "GREEN"), done

    task = server.command("ada", command="task.create", type="write", description="go on")["id"]
    token = server.claim("ada", task)["lease"]["token"]
    offer = {"to": peer, "task": task, "token": token, "state": {"tone": "dry"}}
    handoff = server.command("ada", command="handoff.offer", **offer)["id"]
    done = ended(server, task)
    assert done["result"] == ["GO ON", "in a dry tone"], done
    assert server.command("ada", command="handoff.get", handoff=handoff)["status"] == "completed"

    agent.worker.go.clear()
    task = created(server, peer, "wait for it")
    eventually("the agent begins", lambda: "wait for it" in agent.worker.begun)
    server.kill()
    server.start()
    agent.worker.go.set()
    done = ended(server, task)
    assert (done["status"], done["result"]) == ("completed", "WAIT FOR IT"), done
    assert agent.worker.begun.count("wait for it") == 1, "nothing is done twice"


def main() -> None:
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        # The tasks of one agent are in another server.
        for name in ["kept", "server"]:
            os.mkdir(f"{folder}/{name}")
        kept = Server(program, f"{folder}/kept")
        store = BatonTaskStore(baton.connect(kept.url, agent="writer"))
        agents = {
            "json": Agent("JSONRPC"),
            "rest": Agent("HTTP+JSON", store),
            "poll": Agent("JSONRPC", streaming=False),
        }
        peers = [f"--a2a-peer={name}=a2a:{agent.url}" for name, agent in agents.items()]
        server = Server(program, f"{folder}/server", *peers, "--a2a-peers-private")
        try:
            for name, agent in agents.items():
                use(server, name, agent)
                print(f"{name}: done, refused, asked, handed over, and survived")
            entries = kept.command("ada", command="state.list", namespace="a2a", prefix="t/")["entries"]
            assert len(entries) == 5, entries
        finally:
            server.kill()
            kept.kill()


if __name__ == "__main__":
    main()
