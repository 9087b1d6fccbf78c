"""An agent that is built on the official Python package of the Agent2Agent protocol."""

import asyncio
import socket
import threading

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskStore, TaskUpdater
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, Task, TaskState
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette


class Worker(AgentExecutor):
    """Writes in capitals. It waits for `go` if a message says so, asks if it says so, and refuses."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go = threading.Event()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        said = lambda words: updater.new_agent_message([Part(text=words)])  # noqa: E731
        if context.current_task is None:
            self.begun.append(text)
            task = Task(id=context.task_id, context_id=context.context_id, history=[context.message])
            task.status.state = TaskState.TASK_STATE_SUBMITTED
            await event_queue.enqueue_event(task)
            await updater.start_work(said("reading"))
            if text.startswith("ask"):
                await updater.requires_input(said("which colour?"))
                return
        if text.startswith("refuse"):
            await updater.failed(said("not today"))
            return
        if text.startswith("wait"):
            await asyncio.to_thread(self.go.wait, 60)
        parts = [Part(text=text.upper())]
        # Without the extension, what is handed over is a part of the message.
        for part in MessageToDict(context.message).get("parts", []):
            state = (part.get("data") or {}).get("transfer_context", {}).get("state")
            if state:
                parts.append(Part(text=f"in a {state['tone']} tone"))
        await updater.add_artifact(parts, artifact_id="result", name="result")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class Agent:
    """The agent on a free port, in a thread."""

    def __init__(self, binding: str, store: TaskStore | None = None, streaming: bool = True) -> None:
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.worker = Worker()
        skill = AgentSkill(id="capitals", name="capitals", description="Writes in capitals.", tags=["text"])
        card = AgentCard(
            name="Writer",
            description="Writes in capitals.",
            version="1.0",
            capabilities=AgentCapabilities(streaming=streaming),
            default_input_modes=["text/plain"],
            default_output_modes=["text/plain"],
            skills=[skill],
            supported_interfaces=[
                AgentInterface(url=f"{self.url}/a2a", protocol_binding=binding, protocol_version="1.0")
            ],
        )
        handler = DefaultRequestHandler(
            agent_executor=self.worker, task_store=store or InMemoryTaskStore(), agent_card=card
        )
        routes = create_agent_card_routes(card)
        if binding == "JSONRPC":
            routes += create_jsonrpc_routes(handler, "/a2a")
        else:
            routes += create_rest_routes(handler, path_prefix="/a2a")
        config = uvicorn.Config(Starlette(routes=routes), log_level="error")
        self.server = uvicorn.Server(config)
        run = self.server.run
        threading.Thread(target=run, kwargs={"sockets": [self.socket]}, daemon=True).start()
