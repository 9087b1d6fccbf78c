"""Hand-offs of the OpenAI Agents SDK, recorded as hand-offs of Baton."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agents import Agent, RunContextWrapper, RunHooks
from agents.items import TResponseInputItem

from .._bridge import Client
from .._handovers import Handovers, plain

_RUNS_MAX = 1_000


class _Run:
    """The hand-off that a run is in."""

    def __init__(self) -> None:
        self.giver: str | None = None
        self.receiver = ""
        self.handoff: str | None = None


class HandoffRecorder(RunHooks[Any]):
    """Records every hand-off between agents of a run: who gave it, who got it, the context, and
    what the receiver saw, which is what input filters have left of the conversation. It is
    completed with the output of the receiver, or with the name of the next one.

    `Runner.run(agent, input, hooks=HandoffRecorder(b))`. One recorder may be used for many runs.
    A hand-off that is against a rule of the workspace raises, and ends the run.

    Args:
        client: A `Baton` or an `AsyncBaton`.
        notes: What is added to the notes of every hand-off.
    """

    def __init__(self, client: Client, *, notes: Mapping[str, Any] | None = None) -> None:
        self._handovers = Handovers(client)
        self._notes = {"framework": "openai-agents", **(notes or {})}
        self._runs: dict[int, tuple[object, _Run]] = {}

    def _run(self, context: RunContextWrapper[Any]) -> _Run:
        # All contexts of a run have one object for its usage.
        _, run = self._runs.setdefault(id(context.usage), (context.usage, _Run()))
        while len(self._runs) > _RUNS_MAX:
            self._runs.pop(next(iter(self._runs)))
        return run

    async def on_handoff(
        self, context: RunContextWrapper[Any], from_agent: Agent[Any], to_agent: Agent[Any]
    ) -> None:
        run = self._run(context)
        if run.handoff is not None:
            result = {"handed_over_to": to_agent.name}
            await self._handovers.end(run.handoff, run.receiver, result)
        run.giver, run.receiver, run.handoff = from_agent.name, to_agent.name, None

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        run = self._run(context)
        if run.giver is None or agent.name != run.receiver:
            return
        giver, run.giver = run.giver, None
        variables: Any = context.context
        state = (
            cast("dict[str, Any]", plain(dict(cast("Mapping[str, Any]", variables))))
            if isinstance(variables, Mapping)
            else None
        )
        seen = {"instructions": system_prompt, "input": plain(input_items)}
        run.handoff = await self._handovers.begin(
            giver, agent.name, state=state, notes=self._notes, seen=seen
        )

    async def on_agent_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], output: Any
    ) -> None:
        _, run = self._runs.pop(id(context.usage), (None, _Run()))
        if run.handoff is not None:
            await self._handovers.end(run.handoff, run.receiver, plain(output))
