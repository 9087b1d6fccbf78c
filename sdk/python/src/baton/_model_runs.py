"""Runs a task with a model: sends its context, and stores the completion as the result.

    a task that was claimed ──▶ context.build ──▶ POST …/chat/completions ──▶ task.complete
                                                               result, usage and lineage of it

1. The result of the task has the completion, its usage and its lineage: the sections of the
   context, their sizes in tokens, and what was left out.
2. If there is no completion, the attempt fails with the reason, and the task is retried according
   to its settings.
3. The lease is renewed meanwhile. If it is lost, the model is no longer waited for, and nothing is
   reported.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from . import types
from ._exchange import Exchange
from ._job import AsyncJob, Job
from ._lease_scope import aborted_by_lost_leases, under
from .errors import BatonError, Invalid, ModelError
from .model import Completion, Endpoint

if TYPE_CHECKING:
    from ._async_baton import AsyncBaton
    from ._baton import Baton

INSTRUCTIONS = (
    "You are one of several agents. Do the task that the user message describes, and answer with "
    "the result alone."
)
"""The default instructions before the context."""


def _lease_of(task: types.Task) -> dict[str, Any]:
    lease: Any = task.raw.get("lease") or {}
    token: int | None = lease.get("token")
    if token is None:
        raise Invalid(
            "client.not_claimed",
            f"task `{task.id}` is not held by this agent",
            "claim it, and pass the job, or the task as `tasks.claim` returns it",
        )
    return {"task": task.id, "token": token, "return": "minimal"}


def _result(completion: Completion, context: types.Context) -> dict[str, Any]:
    """The result of the task."""
    sections = [
        {"name": section.name, "items": section.raw["items"], "tokens": section.tokens}
        for section in context.sections
    ]
    return {
        "text": completion.text,
        "model": completion.model,
        "usage": completion.usage,
        "lineage": {
            "context_tokens": context.tokens,
            "sections": sections,
            "left_out": context.raw.get("left_out", []),
        },
    }


def run(
    baton: Baton,
    work: Job | types.Task,
    endpoint: Endpoint,
    instructions: str,
    token_budget: int | None,
) -> types.Task:
    """Runs a task that was claimed. A task that is no job yet is renewed only meanwhile."""
    if isinstance(work, Job):
        job = work
    else:
        # Its lease may be half over, or lost: then the model is not called.
        baton.call("task.heartbeat", **_lease_of(work))
        job = Job.adopt(baton, work.raw)
    try:
        with under(job.loss):
            context = baton.context.build(task=job.id, token_budget=token_budget)
            asking = Exchange(endpoint, instructions, context.text)
            try:
                with asking as exchange, aborted_by_lost_leases(exchange.give_up):
                    completion = exchange.wait()
            except ModelError as error:
                # If this fails too, the lease expires; the error of the model matters more.
                with contextlib.suppress(BatonError):
                    job.fail(error.detail)
                raise
            return job.complete(_result(completion, context))
    finally:
        if job is not work:
            job.stop_renewing()


async def run_async(
    baton: AsyncBaton,
    work: AsyncJob | types.Task,
    endpoint: Endpoint,
    instructions: str,
    token_budget: int | None,
) -> types.Task:
    """Runs a task that was claimed. See `run`."""
    if isinstance(work, AsyncJob):
        job = work
    else:
        # Its lease may be half over, or lost: then the model is not called.
        await baton.call("task.heartbeat", **_lease_of(work))
        job = AsyncJob.adopt(baton, work.raw)
    try:
        with under(job.loss):
            context = await baton.context.build(task=job.id, token_budget=token_budget)
            asking = Exchange(endpoint, instructions, context.text)
            try:
                with asking as exchange, aborted_by_lost_leases(exchange.give_up):
                    completion = await exchange.wait_async()
            except ModelError as error:
                with contextlib.suppress(BatonError):
                    await job.fail(error.detail)
                raise
            return await job.complete(_result(completion, context))
    finally:
        if job is not work:
            job.stop_renewing()
