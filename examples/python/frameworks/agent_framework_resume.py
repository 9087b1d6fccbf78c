"""A workflow of Microsoft's Agent Framework fails in its last step, and another process continues
it from its last checkpoint. Its agent has its history in Baton, too.

python examples/python/frameworks/agent_framework_resume.py                        # own folder
python examples/python/frameworks/agent_framework_resume.py http://127.0.0.1:4747  # a server
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    Executor,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)

import baton
from baton.agent_framework import BatonCheckpointStorage, BatonHistoryProvider

drafts = 0


class Scripted(BaseChatClient[Any]):
    """A model that says what it is given, so that nothing is paid for."""

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **kwargs: Any,
    ) -> Any:
        async def answer() -> ChatResponse[Any]:
            return ChatResponse(messages=[Message("assistant", ["Leases end by themselves."])])

        return answer()


class Write(Executor):
    def __init__(self, b: baton.AsyncBaton) -> None:
        super().__init__(id="write")
        self._agent = Agent(Scripted(), context_providers=[BatonHistoryProvider(b)])

    @handler
    async def write(self, topic: str, ctx: WorkflowContext[str]) -> None:
        global drafts
        drafts += 1
        answer = await self._agent.run(topic, session=AgentSession(session_id="article-7"))
        await ctx.send_message(answer.text)


class Publish(Executor):
    def __init__(self, is_down: bool) -> None:
        super().__init__(id="publish")
        self._is_down = is_down

    @handler
    async def publish(self, text: str, ctx: WorkflowContext[Any, str]) -> None:
        if self._is_down:
            raise ConnectionError("the site is down")
        await ctx.yield_output(f"Published: {text}")


def workflow(b: baton.AsyncBaton, is_down: bool) -> Workflow:
    write, publish = Write(b), Publish(is_down)
    storage = BatonCheckpointStorage(b)
    builder = WorkflowBuilder(start_executor=write, checkpoint_storage=storage, name="article")
    return builder.add_edge(write, publish).build()


async def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else None
    workspace = f"articles-{uuid4()}"
    with tempfile.TemporaryDirectory() as folder:
        opening = (
            baton.connect_async(url, workspace=workspace)
            if url
            else baton.open_async(folder, workspace=workspace)
        )
        async with opening as b:
            try:
                await workflow(b, is_down=True).run("leases")
            except ConnectionError as error:
                print("failed:", error)

            # Another process: the draft is not written again.
            latest = await BatonCheckpointStorage(b).get_latest(workflow_name="article")
            assert latest is not None
            result = await workflow(b, is_down=False).run(checkpoint_id=latest.checkpoint_id)
            print(result.get_outputs())
            assert result.get_outputs() == ["Published: Leases end by themselves."]
            assert drafts == 1
            assert len(await BatonHistoryProvider(b).get_messages("article-7")) == 2


if __name__ == "__main__":
    asyncio.run(main())
