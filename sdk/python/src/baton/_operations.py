"""The facts about every operation that the protocol core needs.

Made by `generate.py` from `spec/`; changes made here are overwritten."""

from __future__ import annotations

from ._operation import GivesBack, Operation

VERSION = "0.1.0"
"""The version of Baton that this was made from."""

OPERATIONS: dict[str, Operation] = {
    "state.set": Operation(
        "state.set",
        minimal=True,
    ),
    "state.patch": Operation(
        "state.patch",
        minimal=True,
    ),
    "state.delete": Operation(
        "state.delete",
        minimal=True,
    ),
    "state.transfer": Operation(
        "state.transfer",
    ),
    "state.get": Operation(
        "state.get",
        asks=True,
    ),
    "state.list": Operation(
        "state.list",
        asks=True,
    ),
    "state.history": Operation(
        "state.history",
        asks=True,
        is_past=True,
    ),
    "state.snapshot": Operation(
        "state.snapshot",
        asks=True,
    ),
    "state.diff": Operation(
        "state.diff",
        asks=True,
        is_past=True,
    ),
    "namespace.create": Operation(
        "namespace.create",
    ),
    "namespace.configure": Operation(
        "namespace.configure",
    ),
    "namespace.delete": Operation(
        "namespace.delete",
    ),
    "namespace.list": Operation(
        "namespace.list",
        asks=True,
    ),
    "namespace.get": Operation(
        "namespace.get",
        asks=True,
    ),
    "agent.register": Operation(
        "agent.register",
        agent="field",
        minimal=True,
    ),
    "agent.heartbeat": Operation(
        "agent.heartbeat",
        agent="field",
        has_token=True,
        minimal=True,
    ),
    "agent.leave": Operation(
        "agent.leave",
        agent="field",
        has_token=True,
        minimal=True,
    ),
    "agent.get": Operation(
        "agent.get",
        asks=True,
        agent="field",
    ),
    "agent.list": Operation(
        "agent.list",
        asks=True,
    ),
    "message.send": Operation(
        "message.send",
        minimal=True,
    ),
    "message.request": Operation(
        "message.request",
        waits="timeout_ms",
    ),
    "message.reply": Operation(
        "message.reply",
        waits="wait_ms",
        minimal=True,
    ),
    "message.get": Operation(
        "message.get",
        asks=True,
    ),
    "inbox.receive": Operation(
        "inbox.receive",
        agent="field",
        waits="wait_ms",
    ),
    "inbox.ack": Operation(
        "inbox.ack",
        agent="field",
    ),
    "inbox.requeue": Operation(
        "inbox.requeue",
        minimal=True,
    ),
    "inbox.list": Operation(
        "inbox.list",
        asks=True,
        agent="field",
    ),
    "handler.register": Operation(
        "handler.register",
    ),
    "handler.remove": Operation(
        "handler.remove",
    ),
    "handler.list": Operation(
        "handler.list",
        asks=True,
    ),
    "topic.publish": Operation(
        "topic.publish",
    ),
    "topic.get": Operation(
        "topic.get",
        asks=True,
    ),
    "topic.list": Operation(
        "topic.list",
        asks=True,
    ),
    "stream.create": Operation(
        "stream.create",
    ),
    "stream.send": Operation(
        "stream.send",
    ),
    "stream.receive": Operation(
        "stream.receive",
        waits="wait_ms",
    ),
    "stream.close": Operation(
        "stream.close",
    ),
    "stream.delete": Operation(
        "stream.delete",
    ),
    "stream.get": Operation(
        "stream.get",
        asks=True,
    ),
    "stream.list": Operation(
        "stream.list",
        asks=True,
    ),
    "rule.add": Operation(
        "rule.add",
    ),
    "rule.remove": Operation(
        "rule.remove",
    ),
    "rule.list": Operation(
        "rule.list",
        asks=True,
    ),
    "event.emit": Operation(
        "event.emit",
    ),
    "event.history": Operation(
        "event.history",
        asks=True,
        is_past=True,
    ),
    "reaction.add": Operation(
        "reaction.add",
    ),
    "reaction.remove": Operation(
        "reaction.remove",
    ),
    "reaction.enable": Operation(
        "reaction.enable",
    ),
    "reaction.disable": Operation(
        "reaction.disable",
    ),
    "reaction.get": Operation(
        "reaction.get",
        asks=True,
    ),
    "reaction.list": Operation(
        "reaction.list",
        asks=True,
    ),
    "contract.declare": Operation(
        "contract.declare",
    ),
    "contract.delete": Operation(
        "contract.delete",
    ),
    "contract.list": Operation(
        "contract.list",
        asks=True,
    ),
    "contract.show": Operation(
        "contract.show",
        asks=True,
    ),
    "contract.check": Operation(
        "contract.check",
        asks=True,
    ),
    "context.build": Operation(
        "context.build",
        asks=True,
        agent="field",
    ),
    "lock.acquire": Operation(
        "lock.acquire",
        waits="wait_ms",
        gives_back=GivesBack(
            "lock.release",
            {
                "name": ("name",),
                "token": ("token",),
            },
        ),
    ),
    "lock.renew": Operation(
        "lock.renew",
        has_token=True,
    ),
    "lock.release": Operation(
        "lock.release",
        has_token=True,
        minimal=True,
    ),
    "lock.get": Operation(
        "lock.get",
        asks=True,
    ),
    "lock.list": Operation(
        "lock.list",
        asks=True,
    ),
    "semaphore.acquire": Operation(
        "semaphore.acquire",
        waits="wait_ms",
        gives_back=GivesBack(
            "semaphore.release",
            {
                "name": ("name",),
                "token": ("token",),
            },
        ),
    ),
    "semaphore.renew": Operation(
        "semaphore.renew",
        has_token=True,
    ),
    "semaphore.release": Operation(
        "semaphore.release",
        has_token=True,
        minimal=True,
    ),
    "semaphore.resize": Operation(
        "semaphore.resize",
        minimal=True,
    ),
    "semaphore.get": Operation(
        "semaphore.get",
        asks=True,
    ),
    "semaphore.list": Operation(
        "semaphore.list",
        asks=True,
    ),
    "task.create": Operation(
        "task.create",
        id_field="task",
        minimal=True,
    ),
    "task.claim": Operation(
        "task.claim",
        waits="wait_ms",
        gives_back=GivesBack(
            "task.release",
            {
                "reason": "the caller was gone when the task was claimed",
                "task": ("id",),
                "token": ("lease", "token"),
            },
        ),
    ),
    "task.heartbeat": Operation(
        "task.heartbeat",
        has_token=True,
        minimal=True,
    ),
    "task.progress": Operation(
        "task.progress",
        has_token=True,
        minimal=True,
    ),
    "task.update": Operation(
        "task.update",
        has_token=True,
        minimal=True,
    ),
    "task.release": Operation(
        "task.release",
        has_token=True,
        minimal=True,
    ),
    "task.complete": Operation(
        "task.complete",
        has_token=True,
        minimal=True,
    ),
    "task.fail": Operation(
        "task.fail",
        has_token=True,
        minimal=True,
    ),
    "task.cancel": Operation(
        "task.cancel",
        minimal=True,
    ),
    "task.review": Operation(
        "task.review",
        minimal=True,
    ),
    "task.retry": Operation(
        "task.retry",
        minimal=True,
    ),
    "task.get": Operation(
        "task.get",
        asks=True,
    ),
    "task.list": Operation(
        "task.list",
        asks=True,
        agent="narrows",
    ),
    "task.stats": Operation(
        "task.stats",
        asks=True,
    ),
    "task.why": Operation(
        "task.why",
        asks=True,
    ),
    "task.history": Operation(
        "task.history",
        asks=True,
        is_past=True,
    ),
    "spend.record": Operation(
        "spend.record",
    ),
    "spend.limit": Operation(
        "spend.limit",
    ),
    "spend.get": Operation(
        "spend.get",
        asks=True,
        agent="narrows",
    ),
    "spend.list": Operation(
        "spend.list",
        asks=True,
        agent="narrows",
    ),
    "barrier.arrive": Operation(
        "barrier.arrive",
        waits="wait_ms",
    ),
    "barrier.reset": Operation(
        "barrier.reset",
    ),
    "barrier.get": Operation(
        "barrier.get",
        asks=True,
    ),
    "join.create": Operation(
        "join.create",
        id_field="join",
        minimal=True,
    ),
    "join.wait": Operation(
        "join.wait",
        waits="wait_ms",
    ),
    "join.get": Operation(
        "join.get",
        asks=True,
    ),
    "pipeline.create": Operation(
        "pipeline.create",
    ),
    "pipeline.start_stage": Operation(
        "pipeline.start_stage",
    ),
    "pipeline.complete_stage": Operation(
        "pipeline.complete_stage",
    ),
    "pipeline.review_stage": Operation(
        "pipeline.review_stage",
    ),
    "pipeline.fail_stage": Operation(
        "pipeline.fail_stage",
    ),
    "pipeline.retry_stage": Operation(
        "pipeline.retry_stage",
    ),
    "pipeline.skip_stage": Operation(
        "pipeline.skip_stage",
    ),
    "pipeline.abort": Operation(
        "pipeline.abort",
    ),
    "pipeline.delete": Operation(
        "pipeline.delete",
    ),
    "pipeline.get": Operation(
        "pipeline.get",
        asks=True,
    ),
    "pipeline.output": Operation(
        "pipeline.output",
        asks=True,
    ),
    "pipeline.list": Operation(
        "pipeline.list",
        asks=True,
    ),
    "checkpoint.save": Operation(
        "checkpoint.save",
        has_token=True,
        minimal=True,
    ),
    "checkpoint.restore": Operation(
        "checkpoint.restore",
        has_token=True,
    ),
    "checkpoint.fork": Operation(
        "checkpoint.fork",
        has_token=True,
        minimal=True,
    ),
    "checkpoint.label": Operation(
        "checkpoint.label",
        minimal=True,
    ),
    "checkpoint.write": Operation(
        "checkpoint.write",
        has_token=True,
    ),
    "checkpoint.copy": Operation(
        "checkpoint.copy",
        has_token=True,
    ),
    "checkpoint.prune": Operation(
        "checkpoint.prune",
    ),
    "checkpoint.retain": Operation(
        "checkpoint.retain",
    ),
    "checkpoint.latest": Operation(
        "checkpoint.latest",
        asks=True,
    ),
    "checkpoint.get": Operation(
        "checkpoint.get",
        asks=True,
    ),
    "checkpoint.list": Operation(
        "checkpoint.list",
        asks=True,
    ),
    "checkpoint.history": Operation(
        "checkpoint.history",
        asks=True,
    ),
    "checkpoint.retention": Operation(
        "checkpoint.retention",
        asks=True,
    ),
    "artifact.delete": Operation(
        "artifact.delete",
    ),
    "artifact.get": Operation(
        "artifact.get",
        asks=True,
    ),
    "artifact.list": Operation(
        "artifact.list",
        asks=True,
    ),
    "secret.delete": Operation(
        "secret.delete",
    ),
    "secret.get": Operation(
        "secret.get",
        asks=True,
    ),
    "secret.list": Operation(
        "secret.list",
        asks=True,
    ),
    "handoff.offer": Operation(
        "handoff.offer",
        has_token=True,
        minimal=True,
    ),
    "handoff.import_context": Operation(
        "handoff.import_context",
        minimal=True,
    ),
    "handoff.execute": Operation(
        "handoff.execute",
        has_token=True,
        minimal=True,
    ),
    "handoff.execute_all": Operation(
        "handoff.execute_all",
    ),
    "handoff.validate": Operation(
        "handoff.validate",
        has_token=True,
    ),
    "handoff.receive": Operation(
        "handoff.receive",
        waits="wait_ms",
    ),
    "handoff.accept": Operation(
        "handoff.accept",
    ),
    "handoff.reject": Operation(
        "handoff.reject",
        minimal=True,
    ),
    "handoff.complete": Operation(
        "handoff.complete",
        minimal=True,
    ),
    "handoff.cancel": Operation(
        "handoff.cancel",
        minimal=True,
    ),
    "handoff.approve": Operation(
        "handoff.approve",
        minimal=True,
    ),
    "handoff.get": Operation(
        "handoff.get",
        asks=True,
    ),
    "handoff.list": Operation(
        "handoff.list",
        asks=True,
    ),
    "handoff.history": Operation(
        "handoff.history",
        asks=True,
    ),
    "handoff.export": Operation(
        "handoff.export",
        asks=True,
    ),
    "handoff.stats": Operation(
        "handoff.stats",
        asks=True,
    ),
    "task.wait": Operation(
        "task.wait",
        waits="wait_ms",
    ),
    "agent.next": Operation(
        "agent.next",
        waits="wait_ms",
        gives_back=GivesBack(
            "task.release",
            {
                "reason": "the caller was gone when the task was claimed",
                "task": ("task", "id"),
                "token": ("task", "lease", "token"),
            },
        ),
    ),
    "handoff.wait": Operation(
        "handoff.wait",
        waits="wait_ms",
    ),
    "workspace.configure": Operation(
        "workspace.configure",
    ),
    "workspace.sync": Operation(
        "workspace.sync",
    ),
    "workspace.get": Operation(
        "workspace.get",
        asks=True,
    ),
    "workspace.list": Operation(
        "workspace.list",
        asks=True,
        is_past=True,
    ),
    "workspace.fork": Operation(
        "workspace.fork",
        asks=True,
        is_past=True,
    ),
    "workspace.delete": Operation(
        "workspace.delete",
        asks=True,
        is_past=True,
    ),
    "workspace.diff": Operation(
        "workspace.diff",
        asks=True,
        is_past=True,
    ),
    "workspace.changes": Operation(
        "workspace.changes",
        asks=True,
        is_past=True,
    ),
    "workspace.search": Operation(
        "workspace.search",
        asks=True,
        is_past=True,
    ),
    "workspace.why": Operation(
        "workspace.why",
        asks=True,
        is_past=True,
    ),
}
