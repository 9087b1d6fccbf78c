"""Runs that wait for an approval, of which each is continued by one process only."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from agents import Agent, RunResult, RunResultStreaming, RunState

from .._async_baton import AsyncBaton
from .._bridge import Bridge, Steps
from .._entries import Entries
from .._handovers import plain
from .._job import AsyncJob
from ..errors import NotFound
from ._session import NAMESPACE

TASK_TYPE = "openai-agents.run"


class ResumedRun:
    """A run that this process continues."""

    def __init__(self, run: str, state: RunState[Any, Agent[Any]], job: AsyncJob) -> None:
        self.run = run
        self.state = state
        """Approve or reject its interruptions, then give it to `Runner.run`."""
        self.job = job
        """The task of the run, whose lease is renewed while the block runs."""
        self.result: RunResult | RunResultStreaming | None = None
        """The result of `Runner.run`. Set it: the block stores it when it ends."""


class RunStates:
    """Stored states of interrupted runs.

    A stored run is a task. `resume` claims it, so one process continues it; if that dies, its
    lease ends and another can.

    Args:
        client: An `AsyncBaton`.
        namespace: The namespace of the entries, which is created when it is first used.
    """

    def __init__(self, client: AsyncBaton, *, namespace: str = NAMESPACE) -> None:
        self._client = client
        self._entries = Entries(namespace)

    def _key(self, run: str) -> str:
        return f"r/{quote(run, safe='')}"

    async def save(self, state: RunState[Any, Any], *, run: str | None = None) -> str:
        """Stores a run that was interrupted: `await runs.save(result.to_state())`. Returns its
        id."""
        run = run or uuid4().hex
        await Bridge(self._client).run_async(self._create(run, state.to_string()))
        return run

    def _create(self, run: str, text: str) -> Steps[None]:
        *parts, head = self._entries.set_text(self._key(run), text)
        task: dict[str, Any] = {"command": "task.create", "id": run, "type": TASK_TYPE}
        # A process that dies has not used up the run.
        task |= {"definition": {"run": run}, "max_retries": 1000}
        yield from self._entries.write(parts, [{**head, "if_absent": True}, task])

    async def pending(self) -> list[str]:
        """The runs that no process continues now."""
        page = await self._client.tasks.list(type=TASK_TYPE, status="pending")
        return [task.id for task in page.tasks]

    @asynccontextmanager
    async def resume(
        self,
        run: str,
        agent: Agent[Any],
        *,
        lease: float = 60.0,
        wait: float | None = 0,
        **options: Any,
    ) -> AsyncGenerator[ResumedRun, None]:
        """Continues a run in an `async with` block. Raises `Conflict` if another process does.

        When the block ends, the run is done if its `result` has an output; it is stored again if it
        has interruptions, or if the block raises. `options` are those of `RunState.from_string`.
        """
        async with self._client.claim(task=run, lease=lease, wait=wait) as job:
            key = self._key(run)
            fenced = Bridge(job.baton)
            entry = await fenced.run_async(self._entries.find(key))
            if entry is None:
                raise NotFound("client.unknown_run", f"there is no stored run `{run}`")
            text = await fenced.run_async(self._entries.text_of(key, entry["value"]))
            state = await RunState.from_string(agent, text, **options)
            resumed = ResumedRun(run, state, job)
            try:
                yield resumed
            except Exception as error:
                await job.release(f"{type(error).__name__}: {error}"[:1000])
                raise
            await self._settle(resumed, fenced, self._entries.text_keys(key, entry["value"]))

    async def _settle(self, resumed: ResumedRun, fenced: Bridge, old: list[str]) -> None:
        result, job = resumed.result, resumed.job
        if result is None:
            await job.release("it was not continued")
        elif result.interruptions:
            commands = self._entries.set_text(old[0], result.to_state().to_string())
            # Only while the lease lasts: another process may have continued.
            await fenced.run_async(self._entries.write(commands[:-1], commands[-1:]))
            await fenced.run_async(self._entries.remove(old[1:]))
            await job.release("it waits for an approval")
        else:
            await job.complete(plain(result.final_output))
            await Bridge(self._client).run_async(self._entries.remove(old))
