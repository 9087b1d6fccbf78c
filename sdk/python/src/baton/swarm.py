"""Swarm on Baton: conversations with their context variables, and hand-offs.

    with baton.connect(agent="support") as b:
        conversation = Conversation(b, "conversation-7", [triage, billing])
        response = conversation.turn(Swarm(), "I was charged twice.")

It fits everything with the shape of OpenAI's Swarm: agents with `name`, `functions` and
`instructions`; functions that return a text, an agent, or a result with `value`, `agent` and
`context_variables`; `run(agent=, messages=, context_variables=)` that returns `messages`, `agent`
and `context_variables`. Nothing else needs to be installed.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from ._baton import Baton
from ._bridge import Bridge, Steps
from ._entries import Entries
from ._flow import Call
from ._handovers import agent_id, plain
from ._item_log import Head, ItemLog

NAMESPACE = "swarm"

Message = dict[str, Any]


class SwarmAgent(Protocol):
    """An agent."""

    name: str
    functions: list[Any]
    instructions: Any


class SwarmResponse(Protocol):
    """The result of a run."""

    messages: list[Any]
    agent: Any
    context_variables: dict[str, Any]


R = TypeVar("R", bound=SwarmResponse, covariant=True)


class SwarmClient(Protocol[R]):
    """A client that runs agents."""

    @property
    def run(self) -> Callable[..., R]:
        """Takes `agent`, `messages`, `context_variables`, and options of its own."""
        ...


class Conversation:
    """A conversation: its messages, the agent whose turn it is, and the context variables.

    A hand-off between agents is recorded as a hand-off of Baton: its `state` is the context
    variables that go in, its `changes` are those that come out. A rule of the workspace can refuse
    it, which ends the turn.

    Args:
        baton: The client.
        name: The conversation.
        agents: The agents that a turn can begin with; a new conversation begins with the first.
        context_variables: Those of a new conversation.
        namespace: The namespace of the entries, which is created when it is first used.
    """

    def __init__(
        self,
        baton: Baton,
        name: str,
        agents: Iterable[SwarmAgent],
        *,
        context_variables: Mapping[str, Any] | None = None,
        namespace: str = NAMESPACE,
    ) -> None:
        self.name = name
        self._baton = baton
        self._agents = {agent.name: agent for agent in agents}
        self._initial = dict(context_variables or {})
        self._entries = Entries(namespace)
        path = quote(name, safe="")
        self._key = f"x/{path}"
        self._log = ItemLog(self._entries, f"m/{path}/")

    @property
    def messages(self) -> list[Message]:
        """All messages."""
        return self._read()[0]

    @property
    def context_variables(self) -> dict[str, Any]:
        """The context variables."""
        return self._read()[1]["context_variables"]

    @property
    def agent(self) -> SwarmAgent:
        """The agent whose turn it is."""
        return self._agent(self._read()[1]["agent"])

    def _read(self) -> tuple[list[Message], dict[str, Any], Head]:
        return Bridge(self._baton).run(self._load())

    def _load(self) -> Steps[tuple[list[Message], dict[str, Any], Head]]:
        messages, head, revision = yield from self._log.read_at()
        if head.version == 0:
            first = next(iter(self._agents))
            return [], {"agent": first, "context_variables": dict(self._initial)}, head
        where = {"namespace": self._entries.namespace, "key": self._key, "at": revision}
        return messages, (yield Call("state.get", where))["value"], head

    def _agent(self, name: str) -> SwarmAgent:
        if name not in self._agents:
            raise KeyError(f"the conversation is with `{name}`: add it to `agents`")
        return self._agents[name]

    def turn(self, client: SwarmClient[R], messages: str | Sequence[Message], **options: Any) -> R:
        """Runs agents until one has answered, and stores what came of it. Raises `Conflict`, and
        stores nothing, if another process has made a turn meanwhile.

        Args:
            client: What runs agents, such as `Swarm()`.
            messages: What the user says.
            options: More arguments of `client.run`.
        """
        history, record, head = self._read()
        said: list[Message] = (
            [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
        )
        run = _Run(self._baton, self.name, self._agents)
        response = client.run(
            agent=run.watched(self._agent(record["agent"])),
            messages=[*history, *said],
            context_variables=copy.deepcopy(record["context_variables"]),
            **options,
        )
        variables = dict(response.context_variables)
        value = {"agent": response.agent.name, "context_variables": plain(variables)}
        new: list[Message] = [*said, *plain(response.messages)]
        also = [self._entries.set(self._key, value)]
        Bridge(self._baton).run(self._log.append(new, head, True, also))
        run.end(response.messages, variables)
        return response


class _Run:
    """One turn, in which functions are watched for hand-offs."""

    def __init__(self, baton: Baton, conversation: str, agents: dict[str, SwarmAgent]) -> None:
        self._baton = baton
        self._conversation = conversation
        self._agents = agents
        self._open: tuple[str, str, dict[str, Any]] | None = None

    def watched(self, agent: SwarmAgent) -> SwarmAgent:
        """A copy of an agent whose functions are watched."""
        twin = copy.copy(agent)
        twin.functions = [self._function(agent, function) for function in agent.functions]
        return twin

    def _function(self, agent: SwarmAgent, function: Callable[..., Any]) -> Callable[..., Any]:
        wants = "context_variables" in getattr(function, "__code__", _NO_CODE).co_varnames

        # Swarm passes the variables to functions that have a variable of this name.
        @functools.wraps(function)
        def watching(
            *args: Any, context_variables: dict[str, Any] | None = None, **named: Any
        ) -> Any:
            if wants:
                named["context_variables"] = context_variables
            result = function(*args, **named)
            is_result = hasattr(result, "context_variables") and hasattr(result, "agent")
            target = result.agent if is_result else result
            if target is None or not hasattr(target, "functions"):
                return result
            changed: dict[str, Any] = result.context_variables if is_result else {}
            variables: dict[str, Any] = {**(context_variables or {}), **changed}
            self._hand_over(agent, target, function.__name__, variables)
            if not is_result:
                return self.watched(target)
            returned = copy.copy(result)
            returned.agent = self.watched(target)
            return returned

        return watching

    def _hand_over(
        self, giver: SwarmAgent, target: SwarmAgent, function: str, variables: dict[str, Any]
    ) -> None:
        self._agents.setdefault(target.name, target)
        state = plain(variables)
        instructions = target.instructions
        if callable(instructions):
            instructions = instructions(variables)
        notes = {
            "framework": "swarm",
            "conversation": self._conversation,
            "function": function,
            "seen": {"instructions": plain(instructions)},
        }
        giver_id, receiver_id = agent_id(giver.name), agent_id(target.name)
        offered = self._baton.as_agent(giver_id).call(
            "handoff.offer", to=receiver_id, state=state, notes=notes
        )
        self._close({"handed_over_to": target.name}, state)
        self._baton.as_agent(receiver_id).call("handoff.accept", handoff=offered["id"])
        self._open = offered["id"], receiver_id, state

    def end(self, messages: Sequence[Any], variables: dict[str, Any]) -> None:
        """After the turn was stored."""
        last: dict[str, Any] = plain(messages[-1]) if messages else {}
        self._close(last.get("content"), plain(variables))

    def _close(self, result: Any, variables: dict[str, Any]) -> None:
        if self._open is None:
            return
        handoff, receiver, before = self._open
        self._open = None
        changes = {
            name: value
            for name, value in variables.items()
            if name not in before or before[name] != value
        }
        self._baton.as_agent(receiver).call(
            "handoff.complete", handoff=handoff, result=result, changes=changes
        )


class _NoCode:
    """The name of a callable that is not a function."""

    co_varnames: tuple[str, ...] = ()


_NO_CODE = _NoCode()

__all__ = ["Conversation", "SwarmAgent", "SwarmClient", "SwarmResponse"]
