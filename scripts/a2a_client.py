"""Has tasks done by a Baton fleet, through the official Python client of the Agent2Agent protocol."""

import asyncio
import http.server
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
from uuid import uuid4

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import A2AError, TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError

PATIENCE = 60


class Server:
    """A server on a folder, which can be killed and started again at the same address."""

    def __init__(self, program: str, folder: str, *more: str) -> None:
        self.program, self.folder, self.listen = program, folder, "127.0.0.1:0"
        self.more = more
        self.start()

    def start(self) -> None:
        command = [self.program, "serve", "--data", f"{self.folder}/data", "--listen", self.listen]
        command += ["--webhooks", "--webhooks-private", *self.more]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if line.startswith("  address  "):
                self.url = line.split()[1]
                self.listen = self.url.split("//")[1]
            if "Press ctrl-c" in line:
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def command(self, by: str, **command: object) -> dict:
        """A command of a worker, which knows nothing of the protocol."""
        headers = {"content-type": "application/json", "baton-agent": by}
        body = json.dumps(command).encode()
        request = urllib.request.Request(f"{self.url}/v1/default/commands", body, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return json.load(response)["result"]

    def claim(self, agent: str, task: str) -> dict:
        claimed = self.command(agent, command="task.claim", task=task)
        assert claimed["id"] == task, claimed
        return claimed

    def complete(self, agent: str, claimed: dict, result: object) -> None:
        token = claimed["lease"]["token"]
        self.command(agent, command="task.complete", task=claimed["id"], token=token, result=result)


class Hook:
    """A receiver of push notifications."""

    def __init__(self) -> None:
        received: queue.Queue = queue.Queue()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                received.put((dict(self.headers), json.loads(body)))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.received = received
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    async def next(self) -> tuple[dict, dict]:
        return await asyncio.to_thread(self.received.get, True, PATIENCE)


def request(text: str, **fields: object) -> SendMessageRequest:
    parts = [Part(text=text)]
    message = Message(message_id=str(uuid4()), role=Role.ROLE_USER, parts=parts, **fields)
    return SendMessageRequest(message=message)


async def first_task(events) -> object:
    async for event in events:
        assert event.HasField("task"), event
        return event.task
    raise AssertionError("a stream begins with a task")


def channel(target: str) -> grpc.aio.Channel:
    """A connection that is soon tried again after the server was killed."""
    backoff = ["grpc.initial_reconnect_backoff_ms", "grpc.min_reconnect_backoff_ms", "grpc.max_reconnect_backoff_ms"]
    return grpc.aio.insecure_channel(target, options=[(option, 100) for option in backoff])


async def until_reached(call):
    """The same call again, while the connection of gRPC has not noticed that the server is back."""
    for _ in range(10 * PATIENCE):
        try:
            return await call()
        except Exception as error:
            if "UNAVAILABLE" not in str(error):
                raise
        await asyncio.sleep(0.1)
    raise AssertionError("the server was not reached again")


async def clients(url: str, binding: str):
    """A client that waits, one that does not, and one that streams."""
    http_client = httpx.AsyncClient(timeout=PATIENCE)
    card = await A2ACardResolver(http_client, url).get_agent_card()
    assert "rust" in {skill.id for skill in card.skills}, card

    def made(**options: bool):
        config = ClientConfig(
            httpx_client=http_client,
            grpc_channel_factory=channel,
            supported_protocol_bindings=[binding],
            **options,
        )
        return ClientFactory(config).create(card)

    return made(streaming=False), made(streaming=False, polling=True), made(streaming=True)


async def send(server: Server, waiting, polling) -> None:
    sent = request("add 2 and 2")
    task = await first_task(polling.send_message(sent))
    assert task.status.state == TaskState.TASK_STATE_SUBMITTED, task
    again = await first_task(polling.send_message(sent))
    assert again.id == task.id, "a repeated message has one effect"
    # The same message again, by a sender that waits for the end.
    sent.configuration.return_immediately = False
    end = asyncio.create_task(first_task(waiting.send_message(sent)))
    claimed = await asyncio.to_thread(server.claim, "ada", task.id)
    assert claimed["description"] == "add 2 and 2", claimed
    await asyncio.to_thread(server.complete, "ada", claimed, 4)
    done = await asyncio.wait_for(end, PATIENCE)
    assert done.status.state == TaskState.TASK_STATE_COMPLETED, done
    assert done.artifacts[0].parts[0].data.number_value == 4, done
    read = await polling.get_task(GetTaskRequest(id=task.id))
    assert read.artifacts == done.artifacts, read
    try:
        await polling.cancel_task(CancelTaskRequest(id=task.id))
        raise AssertionError("a task that has ended cannot be cancelled")
    except TaskNotCancelableError:
        pass
    try:
        await polling.get_task(GetTaskRequest(id="t-404"))
        raise AssertionError("there is no such task")
    except TaskNotFoundError:
        pass


async def stream(server: Server, streaming) -> None:
    events = streaming.send_message(request("stream it"))
    task = await first_task(events)
    claimed = await asyncio.to_thread(server.claim, "ada", task.id)
    token = claimed["lease"]["token"]
    half = {"command": "task.progress", "task": task.id, "token": token, "fraction": 0.5, "note": "half"}
    await asyncio.to_thread(lambda: server.command("ada", **half))
    # A second reader that comes late sees the present, and then the same events.
    late = streaming.subscribe(SubscribeToTaskRequest(id=task.id))
    snapshot = await first_task(late)
    assert snapshot.status.state == TaskState.TASK_STATE_WORKING, snapshot
    await asyncio.to_thread(server.complete, "ada", claimed, "done")
    seen = [event async for event in events]
    kinds = [event.WhichOneof("payload") for event in seen]
    assert kinds == ["status_update", "status_update", "artifact_update", "status_update"], kinds
    assert seen[1].status_update.status.message.parts[0].text == "half", seen[1]
    assert seen[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED, seen[-1]
    tail = [event async for event in late]
    assert tail == seen[2:], "every reader gets the same events in the same order"
    try:
        await first_task(streaming.subscribe(SubscribeToTaskRequest(id=task.id)))
        raise AssertionError("a task that has ended has no stream")
    except UnsupportedOperationError:
        pass


async def question(server: Server, polling, streaming) -> None:
    events = streaming.send_message(request("ask me"))
    task = await first_task(events)
    claimed = await asyncio.to_thread(server.claim, "ada", task.id)
    ask = {"command": "task.update", "task": task.id, "token": claimed["lease"]["token"]}
    ask["fields"] = {"metadata": {"question": "which colour?"}}
    await asyncio.to_thread(lambda: server.command("ada", **ask))
    asked = [event async for event in events][-1].status_update.status
    assert asked.state == TaskState.TASK_STATE_INPUT_REQUIRED, asked
    assert asked.message.parts[0].text == "which colour?", asked
    await first_task(polling.send_message(request("green", task_id=task.id)))
    mail = await asyncio.to_thread(lambda: server.command("ada", command="inbox.receive", agent="ada"))
    assert mail["messages"][0]["body"]["message"]["parts"][0]["text"] == "green", mail
    await asyncio.to_thread(server.complete, "ada", claimed, "green")


async def cancel_and_list(polling) -> None:
    task = await first_task(polling.send_message(request("never mind")))
    cancelled = await polling.cancel_task(CancelTaskRequest(id=task.id))
    assert cancelled.status.state == TaskState.TASK_STATE_CANCELED, cancelled
    await first_task(polling.send_message(request("and another", context_id=task.context_id)))
    ids, token = set(), ""
    while True:
        page = await polling.list_tasks(ListTasksRequest(page_size=1, page_token=token, context_id=task.context_id))
        assert page.total_size == 2 and len(page.tasks) == 1, page
        ids.add(page.tasks[0].id)
        token = page.next_page_token
        if not token:
            break
    assert len(ids) == 2 and task.id in ids, ids


async def push(server: Server, hook: Hook, polling) -> None:
    sent = request("tell me")
    sent.configuration.task_push_notification_config.CopyFrom(TaskPushNotificationConfig(url=hook.url, token="hush"))
    task = await first_task(polling.send_message(sent))
    listing = ListTaskPushNotificationConfigsRequest(task_id=task.id)
    configs = (await polling.list_task_push_notification_configs(listing)).configs
    assert [config.url for config in configs] == [hook.url], configs
    get = GetTaskPushNotificationConfigRequest(task_id=task.id, id=configs[0].id)
    assert (await polling.get_task_push_notification_config(get)).url == hook.url
    more = TaskPushNotificationConfig(task_id=task.id, id="more", url=hook.url)
    await polling.create_task_push_notification_config(more)
    delete = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="more")
    await polling.delete_task_push_notification_config(delete)
    claimed = await asyncio.to_thread(server.claim, "ada", task.id)
    headers, body = await hook.next()
    assert {key.lower(): value for key, value in headers.items()}["x-a2a-notification-token"] == "hush", headers
    assert body["statusUpdate"]["status"]["state"] == "TASK_STATE_WORKING", body
    await asyncio.to_thread(server.complete, "ada", claimed, "told")
    _, body = await hook.next()
    assert body["task"]["status"]["state"] == "TASK_STATE_COMPLETED", body
    assert body["task"]["artifacts"][0]["parts"][0]["text"] == "told", body


async def killed(server: Server, polling, streaming) -> None:
    sent = request("survive")
    events = streaming.send_message(sent)
    task = await first_task(events)
    claimed = await asyncio.to_thread(server.claim, "ada", task.id)
    await anext(events)
    server.kill()
    try:
        # Nothing more comes, and the stream does not end as if the task had.
        async for event in events:
            raise AssertionError(f"a server that is dead said {event}")
    except A2AError:
        pass
    except Exception as error:
        assert any(word in str(error) for word in ["Network", "HTTP", "UNAVAILABLE"]), error
    server.start()
    # The sender does not know whether its message arrived, and repeats it.
    again = await until_reached(lambda: first_task(polling.send_message(sent)))
    assert again.id == task.id and again.status.state == TaskState.TASK_STATE_WORKING, again
    resumed = streaming.subscribe(SubscribeToTaskRequest(id=task.id))
    snapshot = await first_task(resumed)
    assert snapshot.status.state == TaskState.TASK_STATE_WORKING, snapshot
    # The lease and its token have survived: the same worker finishes what it has begun.
    await asyncio.to_thread(server.complete, "ada", claimed, "alive")
    rest = [event async for event in resumed]
    kinds = [event.WhichOneof("payload") for event in rest]
    assert kinds == ["artifact_update", "status_update"], kinds
    listed = await polling.list_tasks(ListTasksRequest(context_id=task.context_id))
    assert listed.total_size == 1, "nothing is done twice"


async def use(server: Server, hook: Hook) -> None:
    ada = {"command": "agent.register", "agent": "ada", "capabilities": ["rust"], "ttl_ms": 600_000}
    server.command("ada", **ada)
    for binding in ["JSONRPC", "HTTP+JSON", "GRPC"]:
        waiting, polling, streaming = await clients(server.url, binding)
        extended = await polling.get_extended_agent_card(GetExtendedAgentCardRequest())
        assert extended.capabilities.push_notifications, extended
        await send(server, waiting, polling)
        await stream(server, streaming)
        await question(server, polling, streaming)
        await cancel_and_list(polling)
        await push(server, hook, polling)
        await killed(server, polling, streaming)
        print(f"{binding}: send, stream, subscribe, ask, cancel, list, push and survive")
    for binding in ["JSONRPC", "GRPC"]:
        waiting, polling, _ = await clients(f"{server.url}/a2a/agents/ada", binding)
        await send(server, waiting, polling)
    print("the agent `ada` by her own card: send")


def main() -> None:
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder)
        try:
            asyncio.run(use(server, Hook()))
        finally:
            server.kill()


if __name__ == "__main__":
    main()
