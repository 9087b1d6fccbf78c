"""Three agents, two protocols, one piece of work: a conversation that runs without a model.

    pip install mcp==2.3.0 'a2a-sdk[http-server]==1.3.0' uvicorn
    python examples/python/protocols/three_agents.py                  # `baton` is on the path
    python examples/python/protocols/three_agents.py target/debug/baton

The editor and the checker speak the Model Context Protocol, as coding assistants do. The writer is
an agent of another system, built on the official package of the Agent2Agent protocol; it knows
nothing of Baton. The server hands the editor's task to the writer, brings its question back, and
the checker begins when the article is done.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import threading
from typing import Any

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Part,
    Task,
    TaskState,
)
from mcp import Client, StdioServerParameters
from starlette.applications import Starlette

PATIENCE = 60
# A tool waits for at most 50 s.
WAIT_MS = 50_000


class Writer(AgentExecutor):
    """Asks how long the text should be, and writes it."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        said = context.get_user_input()
        if context.current_task is None:
            print(f"writer   is asked: {said.splitlines()[0]}")
            task = Task(id=context.task_id, context_id=context.context_id)
            task.status.state = TaskState.TASK_STATE_SUBMITTED
            await event_queue.enqueue_event(task)
            question = updater.new_agent_message([Part(text="how many words?")])
            await updater.requires_input(question)
            return
        text = " ".join(["tides"] * int(said))
        await updater.add_artifact([Part(text=text)], artifact_id="result", name="result")
        await updater.complete()
        print(f"writer   has written {said} words")

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


def serve_writer() -> str:
    """Serves the writer on a free port, and returns its address."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    interface = AgentInterface(url=f"{url}/a2a", protocol_binding="JSONRPC", protocol_version="1.0")
    card = AgentCard(
        name="Writer",
        description="Writes about tides.",
        version="1.0",
        supported_interfaces=[interface],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="write", name="write", description="Writes.", tags=["text"])],
    )
    handler = DefaultRequestHandler(
        agent_executor=Writer(), task_store=InMemoryTaskStore(), agent_card=card
    )
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/a2a")]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="error"))
    threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True).start()
    return url


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(tool, dict(arguments))
    assert not result.is_error, result
    assert result.structured_content is not None, result
    return result.structured_content


async def edit(editor: Client) -> None:
    """Plans the work, hands the first part to the writer, and answers its question."""
    plan = [
        {"id": "article", "type": "write", "description": "An article about tides"},
        {"id": "check", "type": "check", "description": "Count it", "depends_on": ["article"]},
    ]
    await call(editor, "baton_create_task", tasks=plan)
    claimed = await call(editor, "baton_claim", task="article")
    token = claimed["task"]["token"]
    offer = {"action": "offer", "to": "writer", "task": "article", "token": token}
    await call(editor, "baton_handoff", **offer, state={"tone": "dry"}, reason="it is your subject")
    print("editor   has offered the article to the writer")
    print(f"editor   is asked: {await question(editor)}")
    await call(editor, "baton_send", to="writer", body={"task": "article", "message": "7"})


async def question(editor: Client) -> str:
    """The question of the agent that works on the article."""
    for _ in range(PATIENCE * 10):
        article = await call(editor, "baton_get", ref="tasks/article")
        if asked := find(article, "question"):
            return asked
        await asyncio.sleep(0.1)
    raise AssertionError("nothing was asked")


def find(value: Any, name: str) -> Any:
    """The first member with this name, at any depth."""
    if isinstance(value, dict):
        members: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        if members.get(name) is not None:
            return members[name]
        return next((it for it in (find(at, name) for at in members.values()) if it), None)
    return None


async def check(checker: Client) -> None:
    """Waits until the article is done, and checks its length."""
    claimed = await call(checker, "baton_claim", types=["check"], wait_ms=WAIT_MS)
    article = await call(checker, "baton_get", ref="tasks/article")
    words = len(str(find(article, "result")).split())
    token = claimed["task"]["token"]
    await call(checker, "baton_report", task="check", token=token, status="done", result=words)
    print(f"checker  has counted {words} words")
    assert words == 7, article


async def work(program: str, url: str) -> None:
    def agent(name: str) -> Client:
        arguments = ["mcp", "--url", url, "--agent", name]
        return Client(StdioServerParameters(command=program, args=arguments))

    async with agent("editor") as editor, agent("checker") as checker:
        await asyncio.wait_for(asyncio.gather(edit(editor), check(checker)), PATIENCE)


def main() -> None:
    program = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "baton"
    peer = f"--a2a-peer=writer={serve_writer()}"
    with tempfile.TemporaryDirectory() as folder:
        serve = [program, "serve", "--data", f"{folder}/data", "--listen", "127.0.0.1:0"]
        serve += [peer, "--a2a-peers-private"]
        server = subprocess.Popen(serve, stderr=subprocess.PIPE, text=True)
        try:
            url = ""
            for line in server.stderr or []:
                if line.startswith("  address  "):
                    url = line.split()[1]
                if "Press ctrl-c" in line:
                    break
            asyncio.run(work(program, url))
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
