"""Two agents of Google's ADK: one transfers to the other. The state has its scopes, the transfer is
a hand-off on record, and a process that holds an old session is refused.

python examples/python/frameworks/adk_library.py                        # in a folder of its own
python examples/python/frameworks/adk_library.py http://127.0.0.1:4747  # with a server
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

from google.adk.agents import LlmAgent
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.genai import types

import baton
from baton.adk import BatonArtifactService, BatonSessionService


class Scripted(BaseLlm):
    """A model that says what it is given, so that nothing is paid for."""

    answers: list[types.Part]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=types.ModelContent([self.answers.pop(0)]))


def call(name: str, **arguments: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=arguments))


async def reserve(title: str, tool_context: Any) -> str:
    tool_context.state["user:reserved"] = [title]
    slip = types.Part(text=f"Reserved: {title}")
    version = await tool_context.save_artifact("slip.txt", slip)
    return f"slip version {version}"


def team() -> LlmAgent:
    librarian = LlmAgent(
        name="librarian",
        description="Finds and reserves books.",
        tools=[reserve],
        output_key="answer",
        model=Scripted(
            model="scripted",
            answers=[call("reserve", title="Leases"), types.Part(text="It is yours.")],
        ),
    )
    desk = Scripted(model="scripted", answers=[call("transfer_to_agent", agent_name="librarian")])
    return LlmAgent(name="desk", model=desk, sub_agents=[librarian])


async def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else None
    workspace = f"library-{uuid4()}"
    with tempfile.TemporaryDirectory() as folder:
        opening = (
            baton.connect_async(url, workspace=workspace)
            if url
            else baton.open_async(folder, workspace=workspace)
        )
        async with opening as b:
            sessions, files = BatonSessionService(b), BatonArtifactService(b)
            runner = Runner(
                app_name="library",
                agent=team(),
                session_service=sessions,
                artifact_service=files,
            )
            old = await sessions.create_session(app_name="library", user_id="ada", session_id="s")
            question = types.UserContent("I would like the book about leases.")
            async for event in runner.run_async(
                user_id="ada", session_id="s", new_message=question
            ):
                print(event.author, event.content.parts if event.content else "")

            found = await sessions.get_session(app_name="library", user_id="ada", session_id="s")
            assert found is not None
            print("state:", found.state)
            assert found.state == {"user:reserved": ["Leases"], "answer": "It is yours."}
            part = await files.load_artifact(
                app_name="library", user_id="ada", session_id="s", filename="slip.txt"
            )
            assert part is not None
            assert part.text == "Reserved: Leases"

            (handoff,) = (await b.handoffs.list()).handoffs
            print("hand-off:", handoff.from_, "to", handoff.to, handoff.raw["result"])
            assert handoff.status == "completed"

            # The session as it was before the run is stale by now.
            try:
                await sessions.append_event(old, Event(author="user", invocation_id="late"))
            except ValueError as error:
                print("refused:", error)
            else:
                raise AssertionError("a stale session was continued")


if __name__ == "__main__":
    asyncio.run(main())
