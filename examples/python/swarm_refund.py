"""A conversation of the shape of OpenAI's Swarm: its context variables go through a hand-off and
come back, and another process continues where the first has ended.

python examples/python/swarm_refund.py                              # in a folder of its own
python examples/python/swarm_refund.py http://127.0.0.1:4747        # with a server
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import baton
from baton.swarm import Conversation


# With Swarm installed: `from swarm import Agent, Result, Swarm`. These have the same shape, and a
# model that says what it is given, so that nothing is paid for.
@dataclass
class Agent:
    name: str
    instructions: str
    functions: list[Any] = field(default_factory=list[Any])


@dataclass
class Result:
    value: str = ""
    agent: Agent | None = None
    context_variables: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class Response:
    messages: list[Any]
    agent: Any
    context_variables: dict[str, Any]


class Swarm:
    def __init__(self, *script: str) -> None:
        self._script = script

    def run(self, agent: Any, messages: list[Any], context_variables: dict[str, Any]) -> Response:
        new: list[Any] = []
        for said in self._script:
            functions = {function.__name__: function for function in agent.functions}
            new.append({"role": "assistant", "content": said, "sender": agent.name})
            if said in functions:
                result = functions[said](context_variables=context_variables)
                context_variables.update(result.context_variables)
                agent = result.agent or agent
        return Response(new, agent, context_variables)


def to_billing(context_variables: dict[str, Any]) -> Result:
    return Result("transferred", billing, {"reason": "charged twice"})


def refund(context_variables: dict[str, Any]) -> Result:
    return Result("refunded", context_variables={"refunded": context_variables["order"]})


billing = Agent("Billing", "Refund what was charged twice.", [refund])
triage = Agent("Triage", "Find out what it is about.", [to_billing])


def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else None
    workspace = f"support-{uuid4()}"
    with (
        tempfile.TemporaryDirectory() as folder,
        baton.connect(url, workspace=workspace)
        if url
        else baton.open(folder, workspace=workspace) as b,
    ):
        variables = {"customer": "ada", "order": 7}
        conversation = Conversation(b, "c-7", [triage, billing], context_variables=variables)
        conversation.turn(Swarm("to_billing", "One moment."), "I was charged twice.")

        # Another process has the same conversation: its agent, its variables, its messages.
        conversation = Conversation(b, "c-7", [triage, billing])
        response = conversation.turn(Swarm("refund", "You get it back."), "And now?")
        print(response.agent.name, response.context_variables)
        assert response.context_variables["refunded"] == 7
        (handoff,) = b.handoffs.list().handoffs
        print("hand-off:", handoff.from_, "to", handoff.to, handoff.raw["state"])
        assert handoff.raw["state"] == {"customer": "ada", "order": 7, "reason": "charged twice"}
        assert [it["role"] for it in conversation.messages].count("user") == 2


if __name__ == "__main__":
    main()
