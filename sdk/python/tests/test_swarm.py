"""`baton.swarm` with a program of the shape of OpenAI's Swarm, and a scripted model."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

import baton
from baton.swarm import Conversation


@dataclass
class Agent:
    name: str
    functions: list[Any] = field(default_factory=list[Any])
    instructions: Any = "Help."


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
    """The loop of Swarm: functions are called as the model says, variables are merged with
    `update`, and the last agent that was returned goes on."""

    def __init__(self, *script: Any) -> None:
        self._script = list(script)
        self.seen: list[Any] = []

    def run(
        self, agent: Any, messages: list[Any], context_variables: dict[str, Any], **options: Any
    ) -> Response:
        variables = copy.deepcopy(context_variables)
        history = copy.deepcopy(messages)
        count = len(messages)
        active = agent
        while True:
            self.seen.append((active.name, len(history), dict(variables)))
            said = self._script.pop(0)
            is_text = isinstance(said, str)
            content = said if is_text else None
            history.append({"role": "assistant", "content": content, "sender": active.name})
            if is_text:
                return Response(history[count:], active, variables)
            for name, arguments in said:
                function = next(it for it in active.functions if it.__name__ == name)
                given = dict(arguments)
                if "context_variables" in function.__code__.co_varnames:
                    given["context_variables"] = variables
                raw = function(**given)
                result = self._result(raw)
                history.append({"role": "tool", "tool_name": name, "content": result.value})
                variables.update(result.context_variables)
                if result.agent:
                    active = result.agent

    def _result(self, raw: Any) -> Result:
        if hasattr(raw, "context_variables"):
            return raw
        if hasattr(raw, "functions"):
            return Result(json.dumps({"assistant": raw.name}), raw)
        return Result(str(raw))


def team() -> list[Agent]:
    def look_up(number: int, context_variables: dict[str, Any]) -> Result:
        """Looks up an order."""
        name = context_variables["customer"]
        return Result(f"{name}: {number}", context_variables={"order": number, "note": None})

    def to_billing(reason: str) -> Result:
        return Result("transferred", billing, {"reason": reason})

    def to_triage() -> Agent:
        return triage

    def refund(context_variables: dict[str, Any]) -> Result:
        return Result("done", context_variables={"refunded": context_variables["order"]})

    def instructions(variables: dict[str, Any]) -> str:
        return f"Help {variables['customer']}."

    billing = Agent(
        "Billing team",
        [refund, to_triage],
        instructions,
    )
    triage = Agent("Triage", [look_up, to_billing])
    return [triage, billing]


def conversation(b: baton.Baton, agents: list[Agent] | None = None) -> Conversation:
    return Conversation(
        b, "c/7", agents or team(), context_variables={"customer": "ada", "reason": ""}
    )


def test_variables_go_in_and_come_out(b: baton.Baton) -> None:
    swarm = Swarm(
        [("look_up", {"number": 7}), ("to_billing", {"reason": "charged twice"})],
        [("refund", {})],
        "You get it back.",
    )
    response = conversation(b).turn(swarm, "I was charged twice.")
    assert response.agent.name == "Billing team"
    expected = {
        "customer": "ada",
        "reason": "charged twice",
        "order": 7,
        "note": None,
        "refunded": 7,
    }
    assert response.context_variables == expected
    # Another process continues, with the same agent and variables.
    later = conversation(b)
    assert later.context_variables == expected
    assert later.agent.name == "Billing team"
    assert [it["role"] for it in later.messages] == [
        *("user", "assistant", "tool", "tool"),
        *("assistant", "tool", "assistant"),
    ]
    again = Swarm("Bye.")
    later.turn(again, [{"role": "user", "content": "Thanks."}])
    assert again.seen == [("Billing team", 8, expected)]
    assert len(later.messages) == 9


def test_hand_offs_have_the_variables_before_and_after(b: baton.Baton) -> None:
    swarm = Swarm(
        [("look_up", {"number": 7})],
        [("to_billing", {"reason": "x"})],
        [("refund", {})],
        [("to_triage", {})],
        "Anything else?",
    )
    conversation(b).turn(swarm, "Hi")
    first, second = b.handoffs.list().handoffs
    before = {"customer": "ada", "reason": "x", "order": 7, "note": None}
    assert (first.from_, first.to, first.status) == ("Triage", "Billing-team", "completed")
    assert first.raw["state"] == before
    assert first.raw["notes"]["seen"] == {"instructions": "Help ada."}
    assert first.raw["notes"]["function"] == "to_billing"
    assert first.raw["changes"] == {"refunded": 7}
    assert first.raw["result"] == {"handed_over_to": "Triage"}
    assert (second.from_, second.to) == ("Billing-team", "Triage")
    assert second.raw["state"] == {**before, "refunded": 7}
    assert second.raw["result"] == "Anything else?"


def test_a_rule_ends_the_turn_and_nothing_is_stored(b: baton.Baton) -> None:
    b.rules.add("order-known", {"required_keys": ["order"]})
    swarm = Swarm([("to_billing", {"reason": "x"})], "never")
    it = conversation(b)
    with pytest.raises(baton.BatonError, match="order"):
        it.turn(swarm, "Hi")
    assert it.messages == []
    assert it.context_variables == {"customer": "ada", "reason": ""}


def test_a_turn_that_another_process_was_faster_with_is_refused(b: baton.Baton) -> None:
    class Slow(Swarm):
        def run(self, *args: Any, **named: Any) -> Response:
            conversation(b).turn(Swarm("I was faster."), "Hello?")
            return super().run(*args, **named)

    it = conversation(b)
    with pytest.raises(baton.Conflict, match="read it again"):
        it.turn(Slow("I am late."), "Hi")
    assert [message["content"] for message in it.messages] == ["Hello?", "I was faster."]
    it.turn(Swarm("Now."), "Hi")
    assert len(it.messages) == 4


def test_functions_keep_their_signature(b: baton.Baton) -> None:
    checked: list[bool] = []

    class Looking(Swarm):
        def run(self, agent: Any, *args: Any, **named: Any) -> Response:
            wrapped: Callable[..., Any] = agent.functions[0]
            checked.append(next(iter(inspect.signature(wrapped).parameters)) == "number")
            checked.append(wrapped.__doc__ == "Looks up an order.")
            return super().run(agent, *args, **named)

    agents = team()
    originals = list(agents[0].functions)
    conversation(b, agents).turn(Looking("Hi."), "Hi")
    assert checked == [True, True]
    assert agents[0].functions == originals


def test_an_agent_that_is_not_known_is_named(b: baton.Baton) -> None:
    swarm = Swarm([("to_billing", {"reason": "x"})], "Hi.")
    conversation(b).turn(swarm, "Hi")
    with pytest.raises(KeyError, match="Billing team"):
        conversation(b, [Agent("Triage")]).turn(Swarm("Hi."), "Hi")
