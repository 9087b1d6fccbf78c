"""A run of the OpenAI Agents SDK waits for an approval. Two processes try to continue it, and one
does. The hand-off between its agents is on record, with what the receiver saw.

python examples/python/frameworks/openai_agents_approval.py                        # own folder
python examples/python/frameworks/openai_agents_approval.py http://127.0.0.1:4747  # a server
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from typing import Any
from uuid import uuid4

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

import baton
from baton.openai_agents import BatonSession, HandoffRecorder, RunStates

set_tracing_disabled(True)
refunds: list[int] = []


@function_tool(needs_approval=True)
def refund(amount: int) -> str:
    refunds.append(amount)
    return "refunded"


def agents() -> Agent[Any]:
    # Models that say what they are given, so that nothing is paid for.
    billing = Agent[Any](
        name="Billing",
        instructions="You handle refunds.",
        tools=[refund],
        model=ScriptedModel(
            [
                [function_call("refund", {"amount": 20}, call_id="refund")],
                [assistant_message("You get 20 back.")],
            ]
        ),
    )
    return Agent[Any](
        name="Triage",
        handoffs=[billing],
        model=ScriptedModel([[function_call("transfer_to_billing", {}, call_id="transfer")]]),
    )


async def decide(b: baton.AsyncBaton, run: str, triage: Agent[Any]) -> str | None:
    """Continues the run, unless another process does."""
    try:
        async with RunStates(b).resume(run, triage) as resumed:
            for interruption in resumed.state.get_interruptions():
                resumed.state.approve(interruption)
            resumed.result = await Runner.run(triage, resumed.state)
            return resumed.result.final_output
    except baton.Conflict as error:
        print(f"{b.agent}: {error.detail}")
        return None


async def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else None
    workspace = f"support-{uuid4()}"
    with tempfile.TemporaryDirectory() as folder:
        opening = (
            baton.connect_async(url, workspace=workspace)
            if url
            else baton.open_async(folder, workspace=workspace)
        )
        async with opening as b:
            triage = agents()
            result = await Runner.run(
                triage,
                "I was charged twice.",
                context={"customer": "ada"},
                session=BatonSession("conversation-7", b),
                hooks=HandoffRecorder(b),
            )
            run = await RunStates(b).save(result.to_state())
            outputs = await asyncio.gather(
                *(decide(b.as_agent(name), run, triage) for name in ("erin", "frank"))
            )
            print("output:", outputs)
            assert sorted(outputs, key=str) == [None, "You get 20 back."]
            assert refunds == [20]

            (handoff,) = (await b.handoffs.list()).handoffs
            print("hand-off:", handoff.from_, "to", handoff.to, handoff.raw["state"])
            assert handoff.raw["notes"]["seen"]["instructions"] == "You handle refunds."


if __name__ == "__main__":
    asyncio.run(main())
