"""The results of the operations.

Made by `generate.py` from `spec/`; changes made here are overwritten."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from ._record import Record, moment, optional

AgentStatus = Literal["active", "left", "lost"]
"""The status of an agent."""

By = Literal["handoff", "rule", "stage", "contract"]
"""How the dependency is known."""

ChangeOfSubject = Literal["created", "changed", "ended", "passed"]
"""How a subject changed."""

ContextWhy = Literal["budget", "missing", "not_examined"]
"""Why something was left out."""

EventOrder = Literal["newest", "oldest"]
"""The order of events."""

Every = Literal["all"]
"""The word `all`."""

HandoffStatus = Literal[
    "offered",
    "approved",
    "delivered",
    "accepted",
    "rejected",
    "expired",
    "cancelled",
    "completed",
    "failed",
]
"""The status of a hand-off."""

JoinStatus = Literal["waiting", "satisfied", "failed", "expired"]
"""The status of a join."""

LockStatus = Literal["held", "free"]
"""Whether a lock is held."""

Manner = Literal["fork", "import"]
"""How a workspace came from another."""

Merge = Literal["last_write_wins", "reject", "json_merge", "append", "union", "counter", "max"]
"""How the server combines a written value with the existing one."""

MessageStatus = Literal[
    "waiting",
    "delivered",
    "dead",
    "acked",
    "replied",
    "expired",
    "timed_out",
    "lost",
]
"""The status of a message."""

OnBreak = Literal["warn", "refuse"]
"""The effect on a command that would break a contract."""

OnLoop = Literal["refuse", "review"]
"""The action if a task is handed around in a loop."""

PipelineStatus = Literal["created", "running", "completed", "failed", "aborted"]
"""The status of a pipeline."""

SearchKind = Literal["task", "message", "key", "event"]
"""The kind of a search result."""

Severity = Literal["error", "warning"]
"""How serious a violation is."""

StageStatus = Literal[
    "pending",
    "ready",
    "running",
    "waiting_review",
    "completed",
    "failed",
    "skipped",
]
"""The status of a stage."""

StepStatus = Literal["completed", "failed"]
"""The outcome of a step."""

StreamStatus = Literal["open", "closed"]
"""The status of a stream."""

SyncChoice = Literal["ours", "theirs"]
"""The side whose value to use."""

TaskStatus = Literal[
    "pending",
    "in_progress",
    "handed_off",
    "waiting_review",
    "completed",
    "failed",
    "cancelled",
]
"""The status of a task."""

Trouble = Literal["vanished", "retyped", "renamed", "schema", "broken"]
"""The kinds of problems of a key."""

ValueKind = Literal["object", "array", "string", "number", "boolean", "null"]
"""The JSON type of a value."""

Verdict = Literal["retry", "complete", "fail"]
"""The verdict of a review."""

Won = Literal["ours", "theirs", "merged"]
"""The side whose value is there afterwards."""

WonBy = Literal["newer", "last_write", "rule", "decision", "in_use"]
"""The reason for an outcome."""

WorkKind = Literal["handoff", "message", "task"]
"""A kind of work."""

EventType = Literal[
    "agent.forgotten",
    "agent.joined",
    "agent.left",
    "agent.lost",
    "agent.seen",
    "artifact.deleted",
    "artifact.expired",
    "artifact.put",
    "barrier.arrived",
    "barrier.forgotten",
    "barrier.opened",
    "barrier.passed",
    "barrier.reset",
    "barrier.withdrawn",
    "checkpoint.copied",
    "checkpoint.forked",
    "checkpoint.labelled",
    "checkpoint.pruned",
    "checkpoint.restored",
    "checkpoint.retained",
    "checkpoint.saved",
    "checkpoint.written",
    "contract.broken",
    "contract.declared",
    "contract.deleted",
    "deploy.finished",
    "handoff.accepted",
    "handoff.approved",
    "handoff.cancelled",
    "handoff.completed",
    "handoff.delivered",
    "handoff.executed",
    "handoff.expired",
    "handoff.failed",
    "handoff.gave_up",
    "handoff.offered",
    "handoff.passed",
    "handoff.queued",
    "handoff.refused",
    "handoff.rejected",
    "handoff.undelivered",
    "join.answered",
    "join.created",
    "join.gave_up",
    "join.queued",
    "join.settled",
    "lock.acquired",
    "lock.dropped",
    "lock.expired",
    "lock.gave_up",
    "lock.queued",
    "lock.released",
    "lock.renewed",
    "message.acked",
    "message.delivered",
    "message.died",
    "message.expired",
    "message.gave_up",
    "message.handler_added",
    "message.handler_removed",
    "message.handlers_gone",
    "message.lost",
    "message.polled",
    "message.queued",
    "message.rejoined",
    "message.replied",
    "message.requeued",
    "message.rerouted",
    "message.returned",
    "message.sent",
    "message.timed_out",
    "namespace.configured",
    "namespace.created",
    "namespace.deleted",
    "pipeline.aborted",
    "pipeline.completed",
    "pipeline.created",
    "pipeline.deleted",
    "pipeline.failed",
    "pipeline.stage_abandoned",
    "pipeline.stage_completed",
    "pipeline.stage_failed",
    "pipeline.stage_ready",
    "pipeline.stage_retried",
    "pipeline.stage_reviewed",
    "pipeline.stage_skipped",
    "pipeline.stage_started",
    "pipeline.stage_submitted",
    "reaction.added",
    "reaction.call_begun",
    "reaction.call_dead",
    "reaction.call_done",
    "reaction.call_failed",
    "reaction.called",
    "reaction.disabled",
    "reaction.enabled",
    "reaction.failed",
    "reaction.ran",
    "reaction.removed",
    "reaction.sealed",
    "reaction.stopped",
    "receipt.awaited",
    "receipt.kept",
    "rule.added",
    "rule.removed",
    "secret.deleted",
    "secret.expired",
    "secret.put",
    "secret.revealed",
    "semaphore.acquired",
    "semaphore.created",
    "semaphore.dropped",
    "semaphore.expired",
    "semaphore.forgotten",
    "semaphore.gave_up",
    "semaphore.queued",
    "semaphore.released",
    "semaphore.renewed",
    "semaphore.resized",
    "spend.exhausted",
    "spend.limited",
    "spend.recorded",
    "state.copied",
    "state.deleted",
    "state.expired",
    "state.let_go",
    "state.patched",
    "state.set",
    "state.sync_deleted",
    "state.synced",
    "state.transferred",
    "state.transferred_away",
    "stream.closed",
    "stream.created",
    "stream.deleted",
    "stream.gave_up",
    "stream.queued",
    "stream.sent",
    "stream.told",
    "task.abandoned",
    "task.cancelled",
    "task.claimed",
    "task.completed",
    "task.created",
    "task.failed",
    "task.gave_up",
    "task.handed_off",
    "task.handed_over",
    "task.offered",
    "task.progressed",
    "task.queued",
    "task.ready",
    "task.released",
    "task.renewed",
    "task.retried",
    "task.reviewed",
    "task.submitted",
    "task.taken_back",
    "task.updated",
    "topic.posted",
    "wait.answered",
    "wait.gave_up",
    "wait.queued",
    "workspace.configured",
    "workspace.founded",
    "workspace.synced",
]
"""The types of events that Baton itself records."""


class Agent(Record):
    """An agent."""

    __slots__ = ()
    _required = frozenset(
        {
            "capabilities",
            "id",
            "last_seen_at",
            "registered_at",
            "status",
            "ttl_ms",
        }
    )

    @property
    def capabilities(self) -> list[str]:
        """The capabilities of the agent."""
        return self.raw["capabilities"]

    @property
    def ended_at(self) -> datetime | None:
        """When that session ended. Absent while it is active."""
        return optional(moment, self.raw.get("ended_at"))

    @property
    def id(self) -> str:
        """The id of the agent."""
        return self.raw["id"]

    @property
    def last_seen_at(self) -> datetime:
        """The last recorded sign of life: a heartbeat or another command of the agent. It is
        recorded when a quarter of `ttl_ms` has passed since the last one. Calls that change
        nothing, and calls that wait, renew the session without a record.
        """
        return moment(self.raw["last_seen_at"])

    @property
    def metadata(self) -> Any:
        """Metadata given at registration. Absent if none was given."""
        return self.raw.get("metadata")

    @property
    def parent(self) -> str | None:
        """The agent that supervises that session. Absent if there is none."""
        return self.raw.get("parent")

    @property
    def registered_at(self) -> datetime:
        """When that session started."""
        return moment(self.raw["registered_at"])

    @property
    def status(self) -> AgentStatus:
        """The status."""
        return self.raw["status"]

    @property
    def token(self) -> int | None:
        """The token of the current session, or of the last one. Absent unless the caller is the
        agent, an operator or an admin.
        """
        return self.raw.get("token")

    @property
    def ttl_ms(self) -> int:
        """Time to live of the session in milliseconds. Every accepted call of the agent renews it.
        """
        return self.raw["ttl_ms"]


class AgentAgents(Record):
    """A page of results, by id."""

    __slots__ = ()
    _required = frozenset({"agents"})

    @property
    def agents(self) -> list[Agent]:
        """The results on this page."""
        return [Agent(each) for each in self.raw["agents"]]

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")


class Answered(Record):
    """The reply to a request."""

    __slots__ = ()
    _required = frozenset({"body", "from", "request"})

    @property
    def body(self) -> Any:
        """The body of the reply."""
        return self.raw["body"]

    @property
    def from_(self) -> str:
        """The agent that replied."""
        return self.raw["from"]

    @property
    def request(self) -> str:
        """The request."""
        return self.raw["request"]


class Approval(Record):
    """The approval of a hand-off."""

    __slots__ = ()
    _required = frozenset[str]()

    @property
    def approved_by(self) -> str | None:
        """The agent that approved it. Absent if it is not approved."""
        return self.raw.get("approved_by")

    @property
    def by(self) -> list[str]:
        """The agents that may approve. If omitted, any agent except the giver and the receiver.
        """
        return self.raw.get("by", [])

    @property
    def expires_at(self) -> datetime | None:
        """When the approval expires. Absent if it is not approved or does not expire."""
        return optional(moment, self.raw.get("expires_at"))

    @property
    def expires_ms(self) -> int | None:
        """How long an approval is valid, in milliseconds. Absent if as long as the offer."""
        return self.raw.get("expires_ms")


class Arrival(Record):
    """The result of an arrival."""

    __slots__ = ()
    _required = frozenset({"arrived", "count", "generation", "name", "opened"})

    @property
    def arrived(self) -> int:
        """The number of arrivals in the generation."""
        return self.raw["arrived"]

    @property
    def count(self) -> int:
        """The number of arrivals that opens it."""
        return self.raw["count"]

    @property
    def generation(self) -> int:
        """The generation that it counts for."""
        return self.raw["generation"]

    @property
    def name(self) -> str:
        """The barrier."""
        return self.raw["name"]

    @property
    def opened(self) -> bool:
        """Whether that generation has opened."""
        return self.raw["opened"]


class Artifact(Record):
    """The metadata of an artifact."""

    __slots__ = ()
    _required = frozenset(
        {
            "artifact",
            "bytes",
            "keep_ms",
            "media_type",
            "put_at",
            "put_by",
            "references",
        }
    )

    @property
    def artifact(self) -> str:
        """The id: the SHA-256 of the bytes."""
        return self.raw["artifact"]

    @property
    def bytes(self) -> int:
        """The size in bytes."""
        return self.raw["bytes"]

    @property
    def expires_at(self) -> datetime | None:
        """When it is deleted unless something references it by then. Absent while it is
        referenced.
        """
        return optional(moment, self.raw.get("expires_at"))

    @property
    def holders(self) -> list[str]:
        """The first of these records, as subjects. Absent if there are none."""
        return self.raw.get("holders", [])

    @property
    def keep_ms(self) -> int:
        """How long it is kept while nothing references it, in milliseconds."""
        return self.raw["keep_ms"]

    @property
    def media_type(self) -> str:
        """The media type."""
        return self.raw["media_type"]

    @property
    def name(self) -> str | None:
        """File name for display. Absent if none was given."""
        return self.raw.get("name")

    @property
    def put_at(self) -> datetime:
        """When it was last uploaded."""
        return moment(self.raw["put_at"])

    @property
    def put_by(self) -> str:
        """The agent that last uploaded it."""
        return self.raw["put_by"]

    @property
    def references(self) -> int:
        """The number of records that reference it."""
        return self.raw["references"]


class ArtifactArtifacts(Record):
    """A page of artifacts."""

    __slots__ = ()
    _required = frozenset({"artifacts", "bytes"})

    @property
    def artifacts(self) -> list[Artifact]:
        """The results on this page, by id."""
        return [Artifact(each) for each in self.raw["artifacts"]]

    @property
    def bytes(self) -> int:
        """The total size of all artifacts of the workspace in bytes."""
        return self.raw["bytes"]

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")


class Asked(Record):
    """The further fields of a request."""

    __slots__ = ()
    _required = frozenset({"address", "deadline"})

    @property
    def address(self) -> dict[str, Any] | str:
        """The address of the request."""
        return self.raw["address"]

    @property
    def answer(self) -> Given | None:
        """The reply. Absent before the request is answered."""
        return optional(Given, self.raw.get("answer"))

    @property
    def deadline(self) -> datetime:
        """Until when it can be answered."""
        return moment(self.raw["deadline"])

    @property
    def key(self) -> str | None:
        """The requester's idempotency key: a repeated request replaces the first. Absent if none
        was given.
        """
        return self.raw.get("key")


class Backoff(Record):
    """The delay before the next attempt: `initial_ms`, multiplied by `multiplier` after each
    failure, up to `max_ms`, and randomised by the fraction `jitter` in both directions.
    """

    __slots__ = ()
    _required = frozenset[str]()

    @property
    def initial_ms(self) -> int:
        """The delay before the first retry in milliseconds."""
        return self.raw.get("initial_ms", 1000)

    @property
    def jitter(self) -> float:
        """The fraction of random variation, 0 to 1, so that tasks that failed together are not
        retried together.
        """
        return self.raw.get("jitter", 0.2)

    @property
    def max_ms(self) -> int:
        """The maximum delay in milliseconds, before jitter."""
        return self.raw.get("max_ms", 60000)

    @property
    def multiplier(self) -> float:
        """The factor by which each delay grows; at least 1."""
        return self.raw.get("multiplier", 2.0)


class Barrier(Record):
    """A barrier."""

    __slots__ = ()
    _required = frozenset({"arrived", "generation", "name", "waiting"})

    @property
    def arrived(self) -> list[str]:
        """The agents that have arrived."""
        return self.raw["arrived"]

    @property
    def count(self) -> int | None:
        """The number of arrivals that opens it. Absent before the first arrival."""
        return self.raw.get("count")

    @property
    def generation(self) -> int:
        """The current generation. Earlier ones have opened or were reset."""
        return self.raw["generation"]

    @property
    def name(self) -> str:
        """The name of the barrier."""
        return self.raw["name"]

    @property
    def waiting(self) -> int:
        """The number of arrived agents with a waiting call."""
        return self.raw["waiting"]


class Cause(Record):
    """One link in the chain of events that led to something."""

    __slots__ = ()
    _required = frozenset({"agent", "revision", "sentence", "subject", "time", "type"})

    @property
    def agent(self) -> str:
        """The agent that did it."""
        return self.raw["agent"]

    @property
    def handoff(self) -> str | None:
        """The hand-off through which it arrived. Absent if there was none."""
        return self.raw.get("handoff")

    @property
    def revision(self) -> int:
        """The revision."""
        return self.raw["revision"]

    @property
    def sentence(self) -> str:
        """The event as a sentence."""
        return self.raw["sentence"]

    @property
    def subject(self) -> str:
        """The subject of the event."""
        return self.raw["subject"]

    @property
    def task(self) -> str | None:
        """The task that the agent worked on. Absent if there was none."""
        return self.raw.get("task")

    @property
    def time(self) -> datetime:
        """The time."""
        return moment(self.raw["time"])

    @property
    def type(self) -> str:
        """The event type, such as `state.set`."""
        return self.raw["type"]


class Change(Record):
    """One change of an entry."""

    __slots__ = ()
    _required = frozenset({"agent", "key", "namespace", "operation", "revision", "time"})

    @property
    def agent(self) -> str:
        """The agent that did it."""
        return self.raw["agent"]

    @property
    def key(self) -> str:
        """The key."""
        return self.raw["key"]

    @property
    def namespace(self) -> str:
        """The namespace."""
        return self.raw["namespace"]

    @property
    def new_value(self) -> Any:
        """The new value. Absent if the entry was deleted."""
        return self.raw.get("new_value")

    @property
    def old_value(self) -> Any:
        """The previous value. Absent if there was no entry."""
        return self.raw.get("old_value")

    @property
    def operation(self) -> str:
        """The event type, such as `state.set`."""
        return self.raw["operation"]

    @property
    def revision(self) -> int:
        """The revision."""
        return self.raw["revision"]

    @property
    def source(self) -> Source | None:
        """The origin of a transferred value. Absent for other changes."""
        return optional(Source, self.raw.get("source"))

    @property
    def time(self) -> datetime:
        """The time."""
        return moment(self.raw["time"])


class Check(Record):
    """The check of a rule, compiled. It is stored as its source."""

    __slots__ = ()
    _required = frozenset[str]()

    @property
    def required_keys(self) -> list[str]:
        """Names that the state must have."""
        return self.raw.get("required_keys", [])

    @property
    def schema(self) -> Any:
        """A JSON Schema for the state as one object."""
        return self.raw.get("schema")

    @property
    def expression(self) -> str | None:
        """A CEL expression that must be true."""
        return self.raw.get("expression")

    @property
    def capability(self) -> str | None:
        """A capability that the receiver must have."""
        return self.raw.get("capability")

    @property
    def receiver_alive(self) -> bool:
        """`true`: the receiver must have a session."""
        return self.raw.get("receiver_alive", False)

    @property
    def state_bytes_max(self) -> int | None:
        """The maximum size of the state, names and values, in bytes."""
        return self.raw.get("state_bytes_max")

    @property
    def hops_max(self) -> int | None:
        """How often the work may change hands."""
        return self.raw.get("hops_max")


class Checkpoint(Record):
    """A checkpoint."""

    __slots__ = ()
    _required = frozenset(
        {
            "bytes",
            "checksum",
            "id",
            "number",
            "revision",
            "saved_at",
            "saved_by",
            "task",
        }
    )

    @property
    def bytes(self) -> int:
        """The size of the state in bytes."""
        return self.raw["bytes"]

    @property
    def checksum(self) -> str:
        """The checksum of the state."""
        return self.raw["checksum"]

    @property
    def content_type(self) -> str | None:
        """The type of the state, if it is bytes. Absent if it is JSON."""
        return self.raw.get("content_type")

    @property
    def description(self) -> str | None:
        """Human-readable description. Absent if none was given."""
        return self.raw.get("description")

    @property
    def id(self) -> str:
        """The id of the checkpoint."""
        return self.raw["id"]

    @property
    def key(self) -> str | None:
        """The key that its author gave it. Absent if none was given."""
        return self.raw.get("key")

    @property
    def label(self) -> str | None:
        """The label. Absent if it has none."""
        return self.raw.get("label")

    @property
    def metadata(self) -> Any:
        """The metadata. Absent if none was given."""
        return self.raw.get("metadata")

    @property
    def number(self) -> int:
        """The number within the task, starting at 1."""
        return self.raw["number"]

    @property
    def parent(self) -> str | None:
        """The checkpoint that it continues. Absent if it is the first."""
        return self.raw.get("parent")

    @property
    def parent_key(self) -> str | None:
        """The key of the checkpoint that it continues, as its author gave it. Absent if none was
        given.
        """
        return self.raw.get("parent_key")

    @property
    def revision(self) -> int:
        """The revision of the commit that saved it."""
        return self.raw["revision"]

    @property
    def saved_at(self) -> datetime:
        """When it was saved."""
        return moment(self.raw["saved_at"])

    @property
    def saved_by(self) -> str:
        """The agent that saved it."""
        return self.raw["saved_by"]

    @property
    def state(self) -> Any:
        """The state, byte for byte as it was saved; with `content_type`, a string in Base64.
        Absent in lists and in the answer to `checkpoint.save`.
        """
        return self.raw.get("state")

    @property
    def task(self) -> str:
        """The task, or any other id of a unit of work."""
        return self.raw["task"]

    @property
    def writes(self) -> list[PendingWrite]:
        """The pending writes after it, by path, writer and index. Absent if there are none, in
        lists, and in answers to commands.
        """
        return [PendingWrite(each) for each in self.raw.get("writes", [])]


class CheckpointCheckpoints(Record):
    """A page of checkpoints."""

    __slots__ = ()
    _required = frozenset({"checkpoints"})

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """The results on this page, newest first."""
        return [Checkpoint(each) for each in self.raw["checkpoints"]]

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")


class CheckpointCopied(Record):
    """Checkpoints were copied."""

    __slots__ = ()
    _required = frozenset({"copied"})

    @property
    def copied(self) -> int:
        """The number of copied checkpoints."""
        return self.raw["copied"]


class CheckpointHistoryResult(Record):
    """Checkpoints by key, with states and pending writes."""

    __slots__ = ()
    _required = frozenset({"checkpoints"})

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """The results on this page, largest key first."""
        return [Checkpoint(each) for each in self.raw["checkpoints"]]

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")


class CheckpointPruned(Record):
    """Checkpoints were deleted."""

    __slots__ = ()
    _required = frozenset({"bytes", "pruned"})

    @property
    def bytes(self) -> int:
        """The number of bytes that no other checkpoint shares."""
        return self.raw["bytes"]

    @property
    def pruned(self) -> int:
        """The number of deleted checkpoints."""
        return self.raw["pruned"]


class CheckpointRule(Record):
    """A retention rule. Labelled checkpoints and heads are always kept."""

    __slots__ = ()
    _required = frozenset({"task"})

    @property
    def keep(self) -> int | None:
        """The number of newest checkpoints to keep per task; labelled ones are not counted. Absent
        if the number is not bounded.
        """
        return self.raw.get("keep")

    @property
    def max_age_ms(self) -> int | None:
        """The maximum age in milliseconds. Absent if the age is not bounded."""
        return self.raw.get("max_age_ms")

    @property
    def task(self) -> str:
        """The tasks that it applies to."""
        return self.raw["task"]


class CheckpointRules(Record):
    """The retention rules."""

    __slots__ = ()
    _required = frozenset({"rules"})

    @property
    def rules(self) -> list[CheckpointRule]:
        """The rules by pattern. The longest pattern that matches a task applies."""
        return [CheckpointRule(each) for each in self.raw["rules"]]


class CheckpointWritten(Record):
    """Pending writes were stored."""

    __slots__ = ()
    _required = frozenset({"written"})

    @property
    def written(self) -> int:
        """The number of writes that were stored; the others existed already."""
        return self.raw["written"]


class Context(Record):
    """The context of an agent."""

    __slots__ = ()
    _required = frozenset({"sections", "text", "token_budget", "tokens"})

    @property
    def left_out(self) -> list[ContextLeftOut]:
        """The items that were left out."""
        return [ContextLeftOut(each) for each in self.raw.get("left_out", [])]

    @property
    def sections(self) -> list[ContextSection]:
        """The parts of the text."""
        return [ContextSection(each) for each in self.raw["sections"]]

    @property
    def text(self) -> str:
        """The whole text, ready to be put into a prompt."""
        return self.raw["text"]

    @property
    def token_budget(self) -> int:
        """The maximum number of tokens."""
        return self.raw["token_budget"]

    @property
    def tokens(self) -> int:
        """The number of tokens of the text."""
        return self.raw["tokens"]

    @property
    def traceparent(self) -> str | None:
        """W3C trace context (`traceparent`) of the task, to be continued; it is not part of the
        text. Absent if there is none.
        """
        return self.raw.get("traceparent")


class ContextLeftOut(Record):
    """The items that were left out of a context."""

    __slots__ = ()
    _required = frozenset({"tokens", "what", "why"})

    @property
    def tokens(self) -> int:
        """The number of tokens that it would have had; 0 if unknown."""
        return self.raw["tokens"]

    @property
    def what(self) -> str:
        """The name of what was left out."""
        return self.raw["what"]

    @property
    def why(self) -> ContextWhy:
        """The reason."""
        return self.raw["why"]


class ContextSection(Record):
    """A part of a context."""

    __slots__ = ()
    _required = frozenset({"items", "name", "text", "tokens"})

    @property
    def items(self) -> list[str]:
        """The names of what it contains."""
        return self.raw["items"]

    @property
    def name(self) -> str:
        """The name of the part."""
        return self.raw["name"]

    @property
    def text(self) -> str:
        """Its text."""
        return self.raw["text"]

    @property
    def tokens(self) -> int:
        """The number of tokens of the text."""
        return self.raw["tokens"]


class Contract(Record):
    """A key with its writers and readers."""

    __slots__ = ()
    _required = frozenset({"key", "readers", "writers"})

    @property
    def key(self) -> str:
        """`namespace/key`."""
        return self.raw["key"]

    @property
    def present(self) -> PresentKey | None:
        """The current state of the key. Absent if it does not exist."""
        return optional(PresentKey, self.raw.get("present"))

    @property
    def readers(self) -> list[KeyReader]:
        """The dependencies on it."""
        return [KeyReader(each) for each in self.raw["readers"]]

    @property
    def writers(self) -> list[str]:
        """Agents, and `stage:PIPELINE/STAGE`."""
        return self.raw["writers"]


class ContractContracts(Record):
    """A page of keys with their writers and readers, by key."""

    __slots__ = ()
    _required = frozenset({"contracts"})

    @property
    def contracts(self) -> list[Contract]:
        """The results on this page."""
        return [Contract(each) for each in self.raw["contracts"]]

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")


class ContractDeclarations(Record):
    """A page of declared contracts, by name."""

    __slots__ = ()
    _required = frozenset({"declarations"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def declarations(self) -> list[DeclaredContract]:
        """The results on this page."""
        return [DeclaredContract(each) for each in self.raw["declarations"]]


class ContractProblem(Record):
    """A broken dependency, or one that would break."""

    __slots__ = ()
    _required = frozenset({"depended_on_by", "detail", "key", "problem"})

    @property
    def depended_on_by(self) -> list[str]:
        """The dependents."""
        return self.raw["depended_on_by"]

    @property
    def detail(self) -> str:
        """A description in words."""
        return self.raw["detail"]

    @property
    def key(self) -> str:
        """`namespace/key`."""
        return self.raw["key"]

    @property
    def problem(self) -> Trouble:
        """The kind of problem."""
        return self.raw["problem"]


class ContractProblems(Record):
    """Problems by key; empty if there are none."""

    __slots__ = ()
    _required = frozenset({"problems"})

    @property
    def problems(self) -> list[ContractProblem]:
        """The problems."""
        return [ContractProblem(each) for each in self.raw["problems"]]


class ContractTerms(Record):
    """The terms that a receiver expects of one key, or of all keys that match a pattern."""

    __slots__ = ()
    _required = frozenset({"key"})

    @property
    def fields(self) -> list[str]:
        """Fields that the value contains: names, or JSON Pointers (RFC 6901) such as
        `/owner/name`.
        """
        return self.raw.get("fields", [])

    @property
    def key(self) -> str:
        """`namespace/key`, or a pattern of such names."""
        return self.raw["key"]

    @property
    def optional(self) -> bool:
        """Whether the entry may be deleted. If `false`, that breaks the contract."""
        return self.raw.get("optional", False)

    @property
    def schema(self) -> Any:
        """A JSON Schema that the value satisfies. If omitted, any value does."""
        return self.raw.get("schema")

    @property
    def type(self) -> ValueKind | None:
        """The JSON type of the value. If omitted, any."""
        return self.raw.get("type")


class CopyChanges(Record):
    """The changes of a copy that another copy does not include yet."""

    __slots__ = ()
    _required = frozenset({"copy", "revision", "since", "time", "workspace"})

    @property
    def copy(self) -> str:
        """The copy."""
        return self.raw["copy"]

    @property
    def entries(self) -> list[EntryChange]:
        """The entries that changed, by namespace and key."""
        return [EntryChange(each) for each in self.raw.get("entries", [])]

    @property
    def more(self) -> bool:
        """Whether there are later changes."""
        return self.raw.get("more", False)

    @property
    def namespaces(self) -> list[NamespaceChange]:
        """The namespaces that changed or that `entries` are in, by name."""
        return [NamespaceChange(each) for each in self.raw.get("namespaces", [])]

    @property
    def others(self) -> list[OtherChanges]:
        """The other changes, which are not synchronized, by kind."""
        return [OtherChanges(each) for each in self.raw.get("others", [])]

    @property
    def revision(self) -> int:
        """The revision that this reflects."""
        return self.raw["revision"]

    @property
    def seen(self) -> list[Seen]:
        """The revisions of other copies that the copy includes at `revision`."""
        return [Seen(each) for each in self.raw.get("seen", [])]

    @property
    def seen_before(self) -> list[Seen]:
        """The revisions of other copies that it included at `since`."""
        return [Seen(each) for each in self.raw.get("seen_before", [])]

    @property
    def since(self) -> int:
        """The changes after this revision."""
        return self.raw["since"]

    @property
    def time(self) -> datetime:
        """The time of that revision."""
        return moment(self.raw["time"])

    @property
    def workspace(self) -> str:
        """The name of the workspace."""
        return self.raw["workspace"]


class Counts(Record):
    """Tasks by status. Only finished tasks that are still kept are counted."""

    __slots__ = ()
    _required = frozenset(
        {
            "blocked",
            "cancelled",
            "completed",
            "delayed",
            "failed",
            "in_progress",
            "pending",
            "ready",
            "waiting_review",
        }
    )

    @property
    def blocked(self) -> int:
        """Pending tasks that wait for another task."""
        return self.raw["blocked"]

    @property
    def cancelled(self) -> int:
        """Cancelled tasks."""
        return self.raw["cancelled"]

    @property
    def completed(self) -> int:
        """Completed tasks."""
        return self.raw["completed"]

    @property
    def delayed(self) -> int:
        """Pending tasks whose start time has not come."""
        return self.raw["delayed"]

    @property
    def failed(self) -> int:
        """Failed tasks."""
        return self.raw["failed"]

    @property
    def handed_off(self) -> int:
        """Tasks that were handed to an agent that has not claimed them yet."""
        return self.raw.get("handed_off", 0)

    @property
    def in_progress(self) -> int:
        """Tasks with a lease."""
        return self.raw["in_progress"]

    @property
    def pending(self) -> int:
        """Pending: `ready`, `delayed` and `blocked` together."""
        return self.raw["pending"]

    @property
    def ready(self) -> int:
        """Pending tasks that can be claimed now."""
        return self.raw["ready"]

    @property
    def waiting_review(self) -> int:
        """Tasks that wait for review."""
        return self.raw["waiting_review"]


class DeclaredContract(Record):
    """A declared contract."""

    __slots__ = ()
    _required = frozenset({"declared_at", "keys", "name", "on_break", "owner", "revision"})

    @property
    def declared_at(self) -> datetime:
        """When it was declared."""
        return moment(self.raw["declared_at"])

    @property
    def keys(self) -> list[ContractTerms]:
        """The keys, with what is expected of them."""
        return [ContractTerms(each) for each in self.raw["keys"]]

    @property
    def name(self) -> str:
        """The name of the contract."""
        return self.raw["name"]

    @property
    def on_break(self) -> OnBreak:
        """The effect on a command that would break the contract."""
        return self.raw["on_break"]

    @property
    def owner(self) -> str:
        """The agent that declared it and depends on the keys."""
        return self.raw["owner"]

    @property
    def revision(self) -> int:
        """The revision of the last change."""
        return self.raw["revision"]


class Delivery(Record):
    """A delivery to a receiver."""

    __slots__ = ()
    _required = frozenset({"receiver", "until"})

    @property
    def receiver(self) -> str:
        """The receiver."""
        return self.raw["receiver"]

    @property
    def until(self) -> datetime:
        """When it is delivered again unless it is answered."""
        return moment(self.raw["until"])


class Difference(Record):
    """The changes of one subject."""

    __slots__ = ()
    _required = frozenset({"change", "count", "events", "subject"})

    @property
    def change(self) -> ChangeOfSubject:
        """How it changed."""
        return self.raw["change"]

    @property
    def count(self) -> int:
        """The number of events."""
        return self.raw["count"]

    @property
    def events(self) -> list[Happened]:
        """The last events, oldest first."""
        return [Happened(each) for each in self.raw["events"]]

    @property
    def new_value(self) -> Any:
        """For an entry, the new value. Absent if the entry was deleted."""
        return self.raw.get("new_value")

    @property
    def old_value(self) -> Any:
        """For an entry, the previous value. Absent if there was no entry."""
        return self.raw.get("old_value")

    @property
    def subject(self) -> str:
        """The subject, such as `tasks/t-7` or `state/shared/plan`."""
        return self.raw["subject"]


class Differences(Record):
    """A page of the changes between two revisions or times."""

    __slots__ = ()
    _required = frozenset({"differences", "from", "to"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def differences(self) -> list[Difference]:
        """The changes, by subject."""
        return [Difference(each) for each in self.raw["differences"]]

    @property
    def from_(self) -> int:
        """The revision after which they start."""
        return self.raw["from"]

    @property
    def to(self) -> int:
        """The last revision."""
        return self.raw["to"]


class Dot(Record):
    """A write: the copy and the revision that made it."""

    __slots__ = ()
    _required = frozenset({"copy", "revision"})

    @property
    def copy(self) -> str:
        """The copy."""
        return self.raw["copy"]

    @property
    def revision(self) -> int:
        """Its revision."""
        return self.raw["revision"]


class Durations(Record):
    """Statistics of durations. Percentiles are accurate to within an eighth."""

    __slots__ = ()
    _required = frozenset({"average_ms", "count", "max_ms", "p50_ms", "p95_ms", "p99_ms"})

    @property
    def average_ms(self) -> float:
        """Their average in milliseconds."""
        return self.raw["average_ms"]

    @property
    def count(self) -> int:
        """The number of durations."""
        return self.raw["count"]

    @property
    def max_ms(self) -> int:
        """The maximum in milliseconds."""
        return self.raw["max_ms"]

    @property
    def min_ms(self) -> int:
        """The minimum in milliseconds."""
        return self.raw.get("min_ms", 0)

    @property
    def p50_ms(self) -> int:
        """The median in milliseconds."""
        return self.raw["p50_ms"]

    @property
    def p95_ms(self) -> int:
        """The 95th percentile in milliseconds."""
        return self.raw["p95_ms"]

    @property
    def p99_ms(self) -> int:
        """The 99th percentile in milliseconds."""
        return self.raw["p99_ms"]

    @property
    def total_ms(self) -> int:
        """Their sum in milliseconds."""
        return self.raw.get("total_ms", 0)


class Entry(Record):
    """An entry of shared state."""

    __slots__ = ()
    _required = frozenset(
        {
            "checksum",
            "key",
            "namespace",
            "revision",
            "updated_at",
            "updated_by",
            "value",
            "version",
        }
    )

    @property
    def checksum(self) -> str:
        """CRC-32 of the value, as `crc32:` and eight hexadecimal digits."""
        return self.raw["checksum"]

    @property
    def ephemeral(self) -> bool:
        """Whether it is deleted when the session of its author ends. Absent if `false`."""
        return self.raw.get("ephemeral", False)

    @property
    def expires_at(self) -> datetime | None:
        """When it expires. Absent if it does not."""
        return optional(moment, self.raw.get("expires_at"))

    @property
    def key(self) -> str:
        """The key."""
        return self.raw["key"]

    @property
    def namespace(self) -> str:
        """The namespace."""
        return self.raw["namespace"]

    @property
    def revision(self) -> int:
        """The revision of the last change."""
        return self.raw["revision"]

    @property
    def updated_at(self) -> datetime:
        """When it was last written."""
        return moment(self.raw["updated_at"])

    @property
    def updated_by(self) -> str:
        """The agent that last wrote it."""
        return self.raw["updated_by"]

    @property
    def value(self) -> Any:
        """The value."""
        return self.raw["value"]

    @property
    def version(self) -> int:
        """The version, which grows by one with every change. A new key starts at 1; one that was
        deleted continues after its last version, and in a workspace whose name was used by a
        deleted one, new keys start above the versions there.
        """
        return self.raw["version"]

    @property
    def warnings(self) -> list[Warning]:
        """Warnings about the write. Absent if there are none."""
        return [Warning(each) for each in self.raw.get("warnings", [])]


class EntryChange(Record):
    """An entry that changed."""

    __slots__ = ()
    _required = frozenset({"key", "namespace", "written"})

    @property
    def expires_at(self) -> datetime | None:
        """When it expires. Absent if it does not."""
        return optional(moment, self.raw.get("expires_at"))

    @property
    def key(self) -> str:
        """The key."""
        return self.raw["key"]

    @property
    def namespace(self) -> str:
        """The namespace."""
        return self.raw["namespace"]

    @property
    def value(self) -> Any:
        """Its value. Absent if it was deleted."""
        return self.raw.get("value")

    @property
    def was(self) -> Any:
        """Its value at `since`. Absent if there was none."""
        return self.raw.get("was")

    @property
    def written(self) -> Written:
        """Its last change."""
        return Written(self.raw["written"])


class EventEmitted(Record):
    """The event was emitted."""

    __slots__ = ()
    _required = frozenset({"subject", "type"})

    @property
    def subject(self) -> str:
        """The subject to watch it under."""
        return self.raw["subject"]

    @property
    def type(self) -> str:
        """The type."""
        return self.raw["type"]


class EventPage(Record):
    """A page of events. It may have fewer results than requested, or none, and not be the last:
    only the last page has no cursor.
    """

    __slots__ = ()
    _required = frozenset({"events", "oldest"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def events(self) -> list[Any]:
        """The events, as watches deliver them."""
        return self.raw["events"]

    @property
    def oldest(self) -> int:
        """Events up to this revision are no longer kept."""
        return self.raw["oldest"]


class Explanation(Record):
    """The causes of the state of something, latest first."""

    __slots__ = ()
    _required = frozenset({"causes", "complete", "revision", "subject"})

    @property
    def causes(self) -> list[Cause]:
        """The causes, latest first."""
        return [Cause(each) for each in self.raw["causes"]]

    @property
    def complete(self) -> bool:
        """Whether the list reaches back to the first cause. If not, earlier history is no longer
        kept, or the chain is longer than the limit.
        """
        return self.raw["complete"]

    @property
    def revision(self) -> int:
        """The revision that the explanation reflects."""
        return self.raw["revision"]

    @property
    def subject(self) -> str:
        """The subject that is explained."""
        return self.raw["subject"]


class Fact(Record):
    """One reason."""

    __slots__ = ()
    _required = frozenset({"code", "detail"})

    @property
    def agent(self) -> str | None:
        """The agent that it is about. Absent if there is none."""
        return self.raw.get("agent")

    @property
    def at(self) -> datetime | None:
        """The time that it is about. Absent if there is none."""
        return optional(moment, self.raw.get("at"))

    @property
    def code(self) -> str:
        """A stable code, such as `waits_for`, `delayed` or `no_capable_agent`."""
        return self.raw["code"]

    @property
    def detail(self) -> str:
        """The reason as part of a sentence."""
        return self.raw["detail"]

    @property
    def task(self) -> str | None:
        """The other task that it is about. Absent if there is none."""
        return self.raw.get("task")


class Failure(Record):
    """A reason of failed attempts."""

    __slots__ = ()
    _required = frozenset({"count", "reason"})

    @property
    def count(self) -> int:
        """The number of failed attempts."""
        return self.raw["count"]

    @property
    def reason(self) -> str:
        """The `code`, `reason` or `type` of the error, or its text; `other` for all rare ones.
        """
        return self.raw["reason"]


class Finding(Record):
    """A violation that a rule found."""

    __slots__ = ()
    _required = frozenset({"detail", "rule"})

    @property
    def broken(self) -> bool:
        """Whether the rule could not be evaluated. It then counts as an error, whatever its
        severity. Absent if `false`.
        """
        return self.raw.get("broken", False)

    @property
    def detail(self) -> str:
        """The violation, in words."""
        return self.raw["detail"]

    @property
    def rule(self) -> str:
        """The rule."""
        return self.raw["rule"]


class Forked(Record):
    """A new workspace that was created from another."""

    __slots__ = ()
    _required = frozenset({"id", "origin", "revision"})

    @property
    def id(self) -> str:
        """The name of the workspace."""
        return self.raw["id"]

    @property
    def origin(self) -> Origin:
        """Its origin."""
        return Origin(self.raw["origin"])

    @property
    def revision(self) -> int:
        """The revision with which it starts."""
        return self.raw["revision"]


class Found(Record):
    """A search result."""

    __slots__ = ()
    _required = frozenset({"fields", "kind", "revision", "subject", "updated_at"})

    @property
    def created_at(self) -> datetime | None:
        """When it was created. Absent for keys."""
        return optional(moment, self.raw.get("created_at"))

    @property
    def fields(self) -> dict[str, str]:
        """The fields that it can be found by."""
        return self.raw["fields"]

    @property
    def kind(self) -> SearchKind:
        """The kind."""
        return self.raw["kind"]

    @property
    def revision(self) -> int:
        """The revision of the last change, or of the event."""
        return self.raw["revision"]

    @property
    def subject(self) -> str:
        """The subject: `tasks/t-7`, `inbox/bob/m-7` or `state/shared/plan`."""
        return self.raw["subject"]

    @property
    def updated_at(self) -> datetime:
        """The time of that revision."""
        return moment(self.raw["updated_at"])


class Frames(Record):
    """Frames that were read."""

    __slots__ = ()
    _required = frozenset({"frames", "next", "status", "stream"})

    @property
    def frames(self) -> list[StreamFrame]:
        """The frames, in order."""
        return [StreamFrame(each) for each in self.raw["frames"]]

    @property
    def next(self) -> int:
        """The offset to read next."""
        return self.raw["next"]

    @property
    def status(self) -> StreamStatus:
        """Whether more frames may follow."""
        return self.raw["status"]

    @property
    def stream(self) -> str:
        """The stream."""
        return self.raw["stream"]


class Given(Record):
    """The reply to a request: a body or an error."""

    __slots__ = ()
    _required = frozenset[str]()

    @property
    def body(self) -> Any:
        """The body. Absent if the reply is an error."""
        return self.raw.get("body")

    @property
    def error(self) -> Any:
        """The error. Absent if the reply has a body."""
        return self.raw.get("error")


class Handler(Record):
    """An agent that is registered for a handler."""

    __slots__ = ()
    _required = frozenset({"agent", "handler", "since"})

    @property
    def agent(self) -> str:
        """The agent."""
        return self.raw["agent"]

    @property
    def handler(self) -> str:
        """The handler."""
        return self.raw["handler"]

    @property
    def since(self) -> datetime:
        """When it was registered."""
        return moment(self.raw["since"])


class Handoff(Record):
    """A hand-off."""

    __slots__ = ()
    _required = frozenset(
        {
            "content",
            "created_at",
            "deadline",
            "digest",
            "from",
            "hops",
            "id",
            "redeliver_ms",
            "status",
            "steps",
            "to",
            "updated_at",
        }
    )

    @property
    def approval(self) -> Approval | None:
        """The required approval. Absent if none is required."""
        return optional(Approval, self.raw.get("approval"))

    @property
    def artifacts(self) -> Any:
        """References to what the work has produced. Absent if not given."""
        return self.raw.get("artifacts")

    @property
    def changes(self) -> dict[str, Any]:
        """The changed members of `state`. Absent if there are none."""
        return self.raw.get("changes", {})

    @property
    def content(self) -> str:
        """Digest of what the receiver gets and of the progress of the task; equal digests mean
        that nothing has changed.
        """
        return self.raw["content"]

    @property
    def copy(self) -> bool:
        """Whether the giver keeps its own keys and the receiver gets copies. Absent if `false`.
        """
        return self.raw.get("copy", False)

    @property
    def created_at(self) -> datetime:
        """When it was offered."""
        return moment(self.raw["created_at"])

    @property
    def deadline(self) -> datetime:
        """When the offer expires."""
        return moment(self.raw["deadline"])

    @property
    def deliveries(self) -> int:
        """The number of deliveries."""
        return self.raw.get("deliveries", 0)

    @property
    def delivery(self) -> Delivery | None:
        """The current delivery. Absent if it is not delivered."""
        return optional(Delivery, self.raw.get("delivery"))

    @property
    def digest(self) -> str:
        """Digest of the proposal; an approval is bound to it."""
        return self.raw["digest"]

    @property
    def ended_at(self) -> datetime | None:
        """When it ended. Absent before that."""
        return optional(moment, self.raw.get("ended_at"))

    @property
    def error(self) -> Any:
        """The error. Absent unless it failed."""
        return self.raw.get("error")

    @property
    def from_(self) -> str:
        """The giver."""
        return self.raw["from"]

    @property
    def hops(self) -> int:
        """How often the task was handed over before."""
        return self.raw["hops"]

    @property
    def id(self) -> str:
        """The id of the hand-off."""
        return self.raw["id"]

    @property
    def keys(self) -> list[dict[str, Any] | str]:
        """Keys and patterns of keys that are handed over. Absent if there are none."""
        return self.raw.get("keys", [])

    @property
    def notes(self) -> Any:
        """Further notes. Absent if not given."""
        return self.raw.get("notes")

    @property
    def on_loop(self) -> OnLoop | None:
        """The action if the task is handed around in a loop. Absent if not given."""
        return self.raw.get("on_loop")

    @property
    def output_keys(self) -> Any:
        """Names of what the work has produced. Absent if not given."""
        return self.raw.get("output_keys")

    @property
    def passage(self) -> Passage | None:
        """The stages of a pipeline between which it happened. Absent if it did not."""
        return optional(Passage, self.raw.get("passage"))

    @property
    def reason(self) -> str | None:
        """The reason. Absent if not given."""
        return self.raw.get("reason")

    @property
    def receipt(self) -> Receipt | None:
        """The task and keys that the receiver got. Absent before acceptance."""
        return optional(Receipt, self.raw.get("receipt"))

    @property
    def receiver(self) -> str | None:
        """The agent that accepted it. Absent before that."""
        return self.raw.get("receiver")

    @property
    def redeliver_ms(self) -> int:
        """How long after a delivery without an answer it is delivered again, in milliseconds.
        """
        return self.raw["redeliver_ms"]

    @property
    def remaining_work(self) -> Any:
        """Remaining work. Absent if not given."""
        return self.raw.get("remaining_work")

    @property
    def result(self) -> Any:
        """The result. Absent if there is none."""
        return self.raw.get("result")

    @property
    def state(self) -> dict[str, Any]:
        """Context as a flat object. Absent if empty."""
        return self.raw.get("state", {})

    @property
    def status(self) -> HandoffStatus:
        """The status."""
        return self.raw["status"]

    @property
    def steps(self) -> list[Step]:
        """The steps so far."""
        return [Step(each) for each in self.raw["steps"]]

    @property
    def task(self) -> str | None:
        """The task that is handed over. Absent if there is none."""
        return self.raw.get("task")

    @property
    def to(self) -> dict[str, Any] | str:
        """The receiver: an agent id, or `{"capability": name}`."""
        return self.raw["to"]

    @property
    def traceparent(self) -> str | None:
        """W3C trace context (`traceparent`). Absent if not given."""
        return self.raw.get("traceparent")

    @property
    def updated_at(self) -> datetime:
        """When it was last changed."""
        return moment(self.raw["updated_at"])

    @property
    def warnings(self) -> list[Finding]:
        """Findings of rules that did not stop it. Absent if there are none."""
        return [Finding(each) for each in self.raw.get("warnings", [])]

    @property
    def work_completed(self) -> Any:
        """Completed work. Absent if not given."""
        return self.raw.get("work_completed")


class HandoffAccepted(Record):
    """The caller accepted it."""

    __slots__ = ()
    _required = frozenset({"handoff"})

    @property
    def handoff(self) -> Handoff:
        """The hand-off with its receipt."""
        return Handoff(self.raw["handoff"])

    @property
    def task(self) -> Task | None:
        """The task with the caller's lease. Absent if the hand-off has no task."""
        return optional(Task, self.raw.get("task"))

    @property
    def values(self) -> dict[str, Any]:
        """The values of the received keys, by `namespace/key` as they were selected. Absent if no
        keys were handed over.
        """
        return self.raw.get("values", {})


class HandoffHandoffs(Record):
    """A page of hand-offs, by id."""

    __slots__ = ()
    _required = frozenset({"handoffs"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def handoffs(self) -> list[Handoff]:
        """The results on this page."""
        return [Handoff(each) for each in self.raw["handoffs"]]


class HandoffStatistics(Record):
    """Statistics about the hand-offs of a workspace."""

    __slots__ = ()
    _required = frozenset(
        {
            "acceptance",
            "accepted",
            "cancelled",
            "completed",
            "count",
            "durations",
            "expired",
            "failed",
            "open",
            "rejected",
            "success_rate",
            "validation_errors",
        }
    )

    @property
    def acceptance(self) -> Durations:
        """Durations from offer to acceptance."""
        return Durations(self.raw["acceptance"])

    @property
    def accepted(self) -> int:
        """The number that were accepted and are not completed."""
        return self.raw["accepted"]

    @property
    def cancelled(self) -> int:
        """The number that were cancelled."""
        return self.raw["cancelled"]

    @property
    def completed(self) -> int:
        """The number that were completed."""
        return self.raw["completed"]

    @property
    def count(self) -> int:
        """The total number."""
        return self.raw["count"]

    @property
    def durations(self) -> Durations:
        """Durations from offer to end."""
        return Durations(self.raw["durations"])

    @property
    def expired(self) -> int:
        """The number that expired."""
        return self.raw["expired"]

    @property
    def failed(self) -> int:
        """The number that failed."""
        return self.raw["failed"]

    @property
    def open(self) -> int:
        """The number that can still be accepted."""
        return self.raw["open"]

    @property
    def pairs(self) -> list[Pair]:
        """The same per pair of agents, most frequent first. Absent if there are none."""
        return [Pair(each) for each in self.raw.get("pairs", [])]

    @property
    def rejected(self) -> int:
        """The number that were rejected."""
        return self.raw["rejected"]

    @property
    def success_rate(self) -> float:
        """The share of completed ones among those that ended; 0 if none has."""
        return self.raw["success_rate"]

    @property
    def validation_errors(self) -> int:
        """The number that failed because of a rule."""
        return self.raw["validation_errors"]


class HandoffVerdict(Record):
    """The result of a validation."""

    __slots__ = ()
    _required = frozenset({"errors", "valid", "warnings"})

    @property
    def errors(self) -> list[Finding]:
        """Rules and checks that forbid it."""
        return [Finding(each) for each in self.raw["errors"]]

    @property
    def valid(self) -> bool:
        """Whether the offer would be made."""
        return self.raw["valid"]

    @property
    def warnings(self) -> list[Finding]:
        """Findings that do not forbid it."""
        return [Finding(each) for each in self.raw["warnings"]]


class Happened(Record):
    """One event in short."""

    __slots__ = ()
    _required = frozenset({"agent", "revision", "time", "type"})

    @property
    def agent(self) -> str:
        """The agent that did it."""
        return self.raw["agent"]

    @property
    def revision(self) -> int:
        """The revision."""
        return self.raw["revision"]

    @property
    def time(self) -> datetime:
        """The time."""
        return moment(self.raw["time"])

    @property
    def type(self) -> str:
        """The event type, such as `task.claimed`."""
        return self.raw["type"]


class Hold(Record):
    """A held lock."""

    __slots__ = ()
    _required = frozenset({"acquired_at", "expires_at", "holder", "name", "ttl_ms"})

    @property
    def acquired_at(self) -> datetime:
        """When it was acquired."""
        return moment(self.raw["acquired_at"])

    @property
    def expires_at(self) -> datetime:
        """When it expires unless it is renewed."""
        return moment(self.raw["expires_at"])

    @property
    def holder(self) -> str:
        """The holder."""
        return self.raw["holder"]

    @property
    def name(self) -> str:
        """The lock."""
        return self.raw["name"]

    @property
    def token(self) -> int | None:
        """The fencing token of the hold. Absent unless the caller is the holder, an operator or an
        admin.
        """
        return self.raw.get("token")

    @property
    def ttl_ms(self) -> int:
        """The time to live in milliseconds that a renewal grants."""
        return self.raw["ttl_ms"]


class Join(Record):
    """A join."""

    __slots__ = ()
    _required = frozenset({"created_at", "created_by", "id", "members", "need", "status"})

    @property
    def created_at(self) -> datetime:
        """When it was created."""
        return moment(self.raw["created_at"])

    @property
    def created_by(self) -> str:
        """The agent that created it."""
        return self.raw["created_by"]

    @property
    def deadline(self) -> datetime | None:
        """The deadline. Absent if there is none."""
        return optional(moment, self.raw.get("deadline"))

    @property
    def group(self) -> str | None:
        """The group. Absent if tasks are named."""
        return self.raw.get("group")

    @property
    def id(self) -> str:
        """The id of the join."""
        return self.raw["id"]

    @property
    def members(self) -> list[Part]:
        """The tasks in the order they were named, or in order of creation in the group."""
        return [Part(each) for each in self.raw["members"]]

    @property
    def need(self) -> int | str:
        """The condition."""
        return self.raw["need"]

    @property
    def reason(self) -> str | None:
        """Why it failed, in words. Absent unless it failed."""
        return self.raw.get("reason")

    @property
    def settled_at(self) -> datetime | None:
        """When it settled. Absent while it is waiting."""
        return optional(moment, self.raw.get("settled_at"))

    @property
    def status(self) -> JoinStatus:
        """The status."""
        return self.raw["status"]


class KeyReader(Record):
    """A dependency on a key."""

    __slots__ = ()
    _required = frozenset({"by", "who"})

    @property
    def by(self) -> By:
        """How the dependency is known."""
        return self.raw["by"]

    @property
    def kind(self) -> ValueKind | None:
        """The JSON type that was received or declared. Absent if not known."""
        return self.raw.get("kind")

    @property
    def version(self) -> int | None:
        """The version that was received. Absent if not known."""
        return self.raw.get("version")

    @property
    def who(self) -> str:
        """An agent or a pattern of agents, `rule:NAME`, or `stage:PIPELINE/STAGE`."""
        return self.raw["who"]


class KeyRules(Record):
    """Rules for the keys that match a pattern."""

    __slots__ = ()
    _required = frozenset({"pattern", "rules"})

    @property
    def pattern(self) -> str:
        """The keys."""
        return self.raw["pattern"]

    @property
    def rules(self) -> Rules:
        """The rules for these keys."""
        return Rules(self.raw["rules"])


class Lease(Record):
    """The right to work on a task for a limited time."""

    __slots__ = ()
    _required = frozenset({"claimed_at", "expires_at", "holder", "lease_ms"})

    @property
    def abandoned(self) -> bool:
        """Whether the session of the holder has ended: the token is invalid, and the task can only
        be taken over by the hand-off. Absent if `false`.
        """
        return self.raw.get("abandoned", False)

    @property
    def claimed_at(self) -> datetime:
        """When it was claimed."""
        return moment(self.raw["claimed_at"])

    @property
    def expires_at(self) -> datetime:
        """When it expires unless it is renewed."""
        return moment(self.raw["expires_at"])

    @property
    def handoff(self) -> str | None:
        """The hand-off that offers the task; until that is settled the lease does not expire.
        Absent if there is none.
        """
        return self.raw.get("handoff")

    @property
    def holder(self) -> str:
        """The holder."""
        return self.raw["holder"]

    @property
    def lease_ms(self) -> int:
        """The lease in milliseconds that a renewal grants."""
        return self.raw["lease_ms"]

    @property
    def token(self) -> int | None:
        """The fencing token, which every later call about the task must carry. Absent unless the
        caller is the holder, an operator or an admin.
        """
        return self.raw.get("token")


class LeftOut(Record):
    """A key that the receiver did not get."""

    __slots__ = ()
    _required = frozenset({"key", "reason"})

    @property
    def key(self) -> str:
        """`namespace/key` as it was selected."""
        return self.raw["key"]

    @property
    def reason(self) -> str:
        """`missing`, or `too_large` to be part of the answer."""
        return self.raw["reason"]


class Link(Record):
    """One edge of a deadlock: each agent waits for the next."""

    __slots__ = ()
    _required = frozenset({"agent", "held_by", "waits_for"})

    @property
    def agent(self) -> str:
        """The agent that waits."""
        return self.raw["agent"]

    @property
    def held_by(self) -> str:
        """The holder of that lock."""
        return self.raw["held_by"]

    @property
    def waits_for(self) -> str:
        """The lock that it waits for."""
        return self.raw["waits_for"]


class ListedWorkspace(Record):
    """A workspace in a list."""

    __slots__ = ()
    _required = frozenset({"id", "revision"})

    @property
    def id(self) -> str:
        """The name of the workspace."""
        return self.raw["id"]

    @property
    def revision(self) -> int:
        """The revision of its last change."""
        return self.raw["revision"]


class Lock(Record):
    """A lock."""

    __slots__ = ()
    _required = frozenset({"name", "status", "waiters"})

    @property
    def hold(self) -> Hold | None:
        """The hold. Absent if the lock is free."""
        return optional(Hold, self.raw.get("hold"))

    @property
    def name(self) -> str:
        """The name of the lock."""
        return self.raw["name"]

    @property
    def status(self) -> LockStatus:
        """Whether it is held."""
        return self.raw["status"]

    @property
    def waiters(self) -> list[Wait]:
        """The wait queue, first in line first."""
        return [Wait(each) for each in self.raw["waiters"]]


class LockLocks(Record):
    """A page of results, by name."""

    __slots__ = ()
    _required = frozenset({"deadlocks", "locks"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def deadlocks(self) -> list[list[Link]]:
        """Deadlocks: cycles of agents that wait for each other."""
        return [[Link(each) for each in each] for each in self.raw["deadlocks"]]

    @property
    def locks(self) -> list[Lock]:
        """The results on this page."""
        return [Lock(each) for each in self.raw["locks"]]


class Message(Record):
    """A message."""

    __slots__ = ()
    _required = frozenset(
        {
            "body",
            "deliveries",
            "from",
            "id",
            "sent_at",
            "status",
            "thread",
            "to",
        }
    )

    @property
    def body(self) -> Any:
        """The body."""
        return self.raw["body"]

    @property
    def delivered_at(self) -> datetime | None:
        """When it was last delivered. Absent if it never was."""
        return optional(moment, self.raw.get("delivered_at"))

    @property
    def deliveries(self) -> int:
        """The number of deliveries."""
        return self.raw["deliveries"]

    @property
    def ended_at(self) -> datetime | None:
        """When it was acknowledged, answered, expired or lost. Absent before that."""
        return optional(moment, self.raw.get("ended_at"))

    @property
    def expires_at(self) -> datetime | None:
        """When it expires unless it is acknowledged. Absent if it does not expire."""
        return optional(moment, self.raw.get("expires_at"))

    @property
    def from_(self) -> str:
        """The sender."""
        return self.raw["from"]

    @property
    def id(self) -> str:
        """The id of the message. Ids sort by time."""
        return self.raw["id"]

    @property
    def keep(self) -> bool | None:
        """`false` if it is a live request, which is only in memory. Absent for everything that is
        kept.
        """
        return self.raw.get("keep")

    @property
    def redeliver_at(self) -> datetime | None:
        """When it is delivered again unless it is acknowledged. Absent unless it is delivered.
        """
        return optional(moment, self.raw.get("redeliver_at"))

    @property
    def reply_to(self) -> str | None:
        """The message that it answers. Absent if there is none."""
        return self.raw.get("reply_to")

    @property
    def request(self) -> Asked | None:
        """Further fields of a request. Absent for other messages."""
        return optional(Asked, self.raw.get("request"))

    @property
    def revision(self) -> int:
        """The revision of the last change."""
        return self.raw.get("revision", 0)

    @property
    def sent_at(self) -> datetime:
        """When it was sent."""
        return moment(self.raw["sent_at"])

    @property
    def status(self) -> MessageStatus:
        """The status."""
        return self.raw["status"]

    @property
    def thread(self) -> str:
        """The first message of its conversation; its own id if it starts one."""
        return self.raw["thread"]

    @property
    def to(self) -> str:
        """The owner of the inbox."""
        return self.raw["to"]

    @property
    def traceparent(self) -> str | None:
        """W3C trace context (`traceparent`), to be continued by the receiver. Absent if none was
        given.
        """
        return self.raw.get("traceparent")

    @property
    def updated_at(self) -> datetime | None:
        """When it was last changed."""
        return optional(moment, self.raw.get("updated_at"))


class MessageAcked(Record):
    """The messages are acknowledged."""

    __slots__ = ()
    _required = frozenset({"messages"})

    @property
    def messages(self) -> list[str]:
        """Their ids."""
        return self.raw["messages"]


class MessageHandlers(Record):
    """A page of handlers, by handler and agent."""

    __slots__ = ()
    _required = frozenset({"handlers"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def handlers(self) -> list[Handler]:
        """The results on this page."""
        return [Handler(each) for each in self.raw["handlers"]]


class MessageMessages(Record):
    """A page of messages, by id."""

    __slots__ = ()
    _required = frozenset({"messages"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def messages(self) -> list[Message]:
        """The results on this page."""
        return [Message(each) for each in self.raw["messages"]]


class MessageReceived(Record):
    """The received messages, oldest first. Empty if there were none in time."""

    __slots__ = ()
    _required = frozenset({"messages"})

    @property
    def messages(self) -> list[Message]:
        """The messages."""
        return [Message(each) for each in self.raw["messages"]]


class Minimal(Record):
    """The answer to a write with `return: minimal`."""

    __slots__ = ()
    _required = frozenset[str]()

    @property
    def id(self) -> str | None:
        """The id of the task, message, hand-off, join or checkpoint. Absent for other records.
        """
        return self.raw.get("id")

    @property
    def next(self) -> Task | None:
        """The task that was claimed in the same commit, in full. Absent if there is none."""
        return optional(Task, self.raw.get("next"))

    @property
    def status(self) -> str | None:
        """The status of the task, message, hand-off or session. Absent for other records."""
        return self.raw.get("status")

    @property
    def token(self) -> int | None:
        """The fencing token of the caller's lease or session. Absent if it has none."""
        return self.raw.get("token")

    @property
    def version(self) -> int | None:
        """The version of the entry. Absent for other records."""
        return self.raw.get("version")

    @property
    def warnings(self) -> list[Warning]:
        """Warnings about the call. Absent if there are none."""
        return [Warning(each) for each in self.raw.get("warnings", [])]


class Namespace(Record):
    """A namespace."""

    __slots__ = ()
    _required = frozenset({"created_at", "created_by", "name", "revision", "rules"})

    @property
    def created_at(self) -> datetime:
        """When it was created."""
        return moment(self.raw["created_at"])

    @property
    def created_by(self) -> str:
        """The agent that created it."""
        return self.raw["created_by"]

    @property
    def name(self) -> str:
        """The name."""
        return self.raw["name"]

    @property
    def revision(self) -> int:
        """The revision that created it or last changed its rules."""
        return self.raw["revision"]

    @property
    def rules(self) -> Rules:
        """The rules for writes."""
        return Rules(self.raw["rules"])


class NamespaceChange(Record):
    """A namespace in a document."""

    __slots__ = ()
    _required = frozenset({"name"})

    @property
    def name(self) -> str:
        """The name."""
        return self.raw["name"]

    @property
    def rules(self) -> Rules | None:
        """Its rules. Absent if there is no such namespace."""
        return optional(Rules, self.raw.get("rules"))

    @property
    def written(self) -> Written | None:
        """Its last change. Absent if it has not changed."""
        return optional(Written, self.raw.get("written"))


class NamespaceNamespaces(Record):
    """A page of results, by name."""

    __slots__ = ()
    _required = frozenset({"namespaces"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def namespaces(self) -> list[Namespace]:
        """The results on this page."""
        return [Namespace(each) for each in self.raw["namespaces"]]


class Origin(Record):
    """The origin of a workspace that did not start empty."""

    __slots__ = ()
    _required = frozenset({"by", "manner", "revision", "time", "workspace"})

    @property
    def by(self) -> str:
        """The agent that requested it."""
        return self.raw["by"]

    @property
    def copy(self) -> str | None:
        """The copy that it came from, for `workspace.sync`. Absent if an older version recorded
        the origin.
        """
        return self.raw.get("copy")

    @property
    def manner(self) -> Manner:
        """How it was created."""
        return self.raw["manner"]

    @property
    def revision(self) -> int:
        """The revision of that workspace."""
        return self.raw["revision"]

    @property
    def time(self) -> datetime:
        """The time of that revision."""
        return moment(self.raw["time"])

    @property
    def workspace(self) -> str:
        """The workspace whose content it started with."""
        return self.raw["workspace"]


class OtherChanges(Record):
    """How much of one kind changed that is not synchronized."""

    __slots__ = ()
    _required = frozenset({"count", "kind"})

    @property
    def count(self) -> int:
        """How many changed."""
        return self.raw["count"]

    @property
    def kind(self) -> str:
        """The kind, such as `tasks`; `ephemeral` for entries that are bound to a session."""
        return self.raw["kind"]


class Page(Record):
    """A page of entries."""

    __slots__ = ()
    _required = frozenset({"entries", "revision"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def entries(self) -> list[Entry]:
        """The entries, by namespace and key."""
        return [Entry(each) for each in self.raw["entries"]]

    @property
    def revision(self) -> int:
        """The revision that the page reflects."""
        return self.raw["revision"]


class Pair(Record):
    """Statistics about the hand-offs from one agent to another."""

    __slots__ = ()
    _required = frozenset({"completed", "count", "durations", "ended_otherwise", "from", "to"})

    @property
    def completed(self) -> int:
        """The number that were completed."""
        return self.raw["completed"]

    @property
    def count(self) -> int:
        """The total number."""
        return self.raw["count"]

    @property
    def durations(self) -> Durations:
        """Durations from offer to end."""
        return Durations(self.raw["durations"])

    @property
    def ended_otherwise(self) -> int:
        """The number that ended otherwise."""
        return self.raw["ended_otherwise"]

    @property
    def from_(self) -> str:
        """The giver."""
        return self.raw["from"]

    @property
    def to(self) -> str:
        """The receiver as addressed: an agent, or a capability."""
        return self.raw["to"]


class Part(Record):
    """A task in a join."""

    __slots__ = ()
    _required = frozenset({"late", "status", "task"})

    @property
    def error(self) -> Any:
        """The error of the task. Absent if it did not fail."""
        return self.raw.get("error")

    @property
    def late(self) -> bool:
        """Whether the task finished after the join had settled."""
        return self.raw["late"]

    @property
    def omitted(self) -> bool:
        """Whether the result is too large to be copied here; read it from the task. Absent if
        `false`.
        """
        return self.raw.get("omitted", False)

    @property
    def result(self) -> Any:
        """The result of the task. Absent if it has none."""
        return self.raw.get("result")

    @property
    def status(self) -> TaskStatus:
        """The status of the task."""
        return self.raw["status"]

    @property
    def task(self) -> str:
        """The task."""
        return self.raw["task"]


class Passage(Record):
    """The stages of a pipeline between which a hand-off happened."""

    __slots__ = ()
    _required = frozenset({"from_stage", "pipeline", "to_stage"})

    @property
    def from_stage(self) -> str:
        """The completed stage."""
        return self.raw["from_stage"]

    @property
    def omitted_bytes(self) -> int | None:
        """The size of the output in bytes, if it is too large for `state`. Absent if it is not.
        """
        return self.raw.get("omitted_bytes")

    @property
    def pipeline(self) -> str:
        """The pipeline."""
        return self.raw["pipeline"]

    @property
    def to_stage(self) -> str:
        """The stage that was started."""
        return self.raw["to_stage"]


class PendingWrite(Record):
    """A pending write as callers see it."""

    __slots__ = ()
    _required = frozenset({"channel", "index", "value", "writer"})

    @property
    def channel(self) -> str:
        """The channel that is written to."""
        return self.raw["channel"]

    @property
    def content_type(self) -> str | None:
        """The type of the bytes. Absent if the value is JSON."""
        return self.raw.get("content_type")

    @property
    def index(self) -> int:
        """Its index among the writes of the step."""
        return self.raw["index"]

    @property
    def path(self) -> str | None:
        """The place of the step. Absent if none was given."""
        return self.raw.get("path")

    @property
    def value(self) -> Any:
        """The value: JSON; with `content_type`, a string with bytes in Base64."""
        return self.raw["value"]

    @property
    def writer(self) -> str:
        """The step that wrote it."""
        return self.raw["writer"]


class Permit(Record):
    """A held permit."""

    __slots__ = ()
    _required = frozenset({"acquired_at", "expires_at", "holder", "name", "ttl_ms"})

    @property
    def acquired_at(self) -> datetime:
        """When it was acquired."""
        return moment(self.raw["acquired_at"])

    @property
    def expires_at(self) -> datetime:
        """When it expires unless it is renewed."""
        return moment(self.raw["expires_at"])

    @property
    def holder(self) -> str:
        """The holder."""
        return self.raw["holder"]

    @property
    def name(self) -> str:
        """The semaphore."""
        return self.raw["name"]

    @property
    def token(self) -> int | None:
        """The fencing token of the permit. Absent unless the caller is the holder, an operator or
        an admin.
        """
        return self.raw.get("token")

    @property
    def ttl_ms(self) -> int:
        """The time to live in milliseconds that a renewal grants."""
        return self.raw["ttl_ms"]

    @property
    def weight(self) -> int:
        """How many permits of the semaphore it takes."""
        return self.raw.get("weight", 1)


class PermitWait(Record):
    """A call that waits for a permit."""

    __slots__ = ()
    _required = frozenset({"agent", "id", "since", "until"})

    @property
    def agent(self) -> str:
        """The agent that waits."""
        return self.raw["agent"]

    @property
    def id(self) -> int:
        """The waiting call."""
        return self.raw["id"]

    @property
    def since(self) -> datetime:
        """When it started to wait."""
        return moment(self.raw["since"])

    @property
    def until(self) -> datetime:
        """When the wait times out."""
        return moment(self.raw["until"])

    @property
    def weight(self) -> int:
        """How many permits it waits for."""
        return self.raw.get("weight", 1)


class Pipeline(Record):
    """A pipeline."""

    __slots__ = ()
    _required = frozenset(
        {
            "automatic",
            "created_at",
            "created_by",
            "current",
            "name",
            "ready",
            "revision",
            "stages",
            "status",
            "updated_at",
        }
    )

    @property
    def automatic(self) -> bool:
        """Whether a task is created for every stage that becomes ready."""
        return self.raw["automatic"]

    @property
    def created_at(self) -> datetime:
        """When it was created."""
        return moment(self.raw["created_at"])

    @property
    def created_by(self) -> str:
        """The agent that created it."""
        return self.raw["created_by"]

    @property
    def current(self) -> list[str]:
        """The stages that are running."""
        return self.raw["current"]

    @property
    def finished_at(self) -> datetime | None:
        """When it was completed, failed or aborted. Absent before that."""
        return optional(moment, self.raw.get("finished_at"))

    @property
    def input(self) -> Any:
        """The input of the first stages. Absent if not given."""
        return self.raw.get("input")

    @property
    def metadata(self) -> Any:
        """An object with free-form metadata. Absent if not given."""
        return self.raw.get("metadata")

    @property
    def name(self) -> str:
        """The name of the pipeline."""
        return self.raw["name"]

    @property
    def ready(self) -> list[str]:
        """The stages that can be started."""
        return self.raw["ready"]

    @property
    def reason(self) -> str | None:
        """Why it was aborted. Absent if no reason was given."""
        return self.raw.get("reason")

    @property
    def revision(self) -> int:
        """The revision of the last change."""
        return self.raw["revision"]

    @property
    def stages(self) -> list[Stage]:
        """Its stages, in the order they were defined."""
        return [Stage(each) for each in self.raw["stages"]]

    @property
    def started_at(self) -> datetime | None:
        """When its first stage was started. Absent before that."""
        return optional(moment, self.raw.get("started_at"))

    @property
    def status(self) -> PipelineStatus:
        """The status."""
        return self.raw["status"]

    @property
    def traceparent(self) -> str | None:
        """W3C trace context (`traceparent`) of the pipeline and its tasks. Absent if not given.
        """
        return self.raw.get("traceparent")

    @property
    def updated_at(self) -> datetime:
        """When it was last changed."""
        return moment(self.raw["updated_at"])


class PipelinePipelines(Record):
    """A page of pipelines, by name."""

    __slots__ = ()
    _required = frozenset({"pipelines"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def pipelines(self) -> list[PipelineSummary]:
        """The results on this page."""
        return [PipelineSummary(each) for each in self.raw["pipelines"]]


class PipelineSummary(Record):
    """A pipeline in a list."""

    __slots__ = ()
    _required = frozenset(
        {
            "automatic",
            "created_at",
            "created_by",
            "current",
            "done",
            "failed",
            "name",
            "ready",
            "stages",
            "status",
            "updated_at",
        }
    )

    @property
    def automatic(self) -> bool:
        """Whether a task is created for every stage that becomes ready."""
        return self.raw["automatic"]

    @property
    def created_at(self) -> datetime:
        """When it was created."""
        return moment(self.raw["created_at"])

    @property
    def created_by(self) -> str:
        """The agent that created it."""
        return self.raw["created_by"]

    @property
    def current(self) -> list[str]:
        """The stages that are running."""
        return self.raw["current"]

    @property
    def done(self) -> int:
        """The number of stages that are completed or skipped."""
        return self.raw["done"]

    @property
    def failed(self) -> list[str]:
        """The stages that have failed."""
        return self.raw["failed"]

    @property
    def finished_at(self) -> datetime | None:
        """When it was completed, failed or aborted. Absent before that."""
        return optional(moment, self.raw.get("finished_at"))

    @property
    def name(self) -> str:
        """The name of the pipeline."""
        return self.raw["name"]

    @property
    def ready(self) -> list[str]:
        """The stages that can be started."""
        return self.raw["ready"]

    @property
    def stages(self) -> int:
        """The number of stages."""
        return self.raw["stages"]

    @property
    def status(self) -> PipelineStatus:
        """The status."""
        return self.raw["status"]

    @property
    def updated_at(self) -> datetime:
        """When it was last changed."""
        return moment(self.raw["updated_at"])


class PresentKey(Record):
    """The current state of a key."""

    __slots__ = ()
    _required = frozenset({"kind", "version"})

    @property
    def kind(self) -> ValueKind:
        """The JSON type of the value."""
        return self.raw["kind"]

    @property
    def version(self) -> int:
        """The version."""
        return self.raw["version"]


class Progress(Record):
    """The progress of a task."""

    __slots__ = ()
    _required = frozenset({"at", "fraction"})

    @property
    def at(self) -> datetime:
        """When it was reported."""
        return moment(self.raw["at"])

    @property
    def fraction(self) -> float:
        """The completed fraction, 0 to 1."""
        return self.raw["fraction"]

    @property
    def note(self) -> str | None:
        """A note in words. Absent if not given."""
        return self.raw.get("note")


class Published(Record):
    """The result of `topic.publish`."""

    __slots__ = ()
    _required = frozenset({"durable", "posts", "topic"})

    @property
    def durable(self) -> bool:
        """Whether it was recorded."""
        return self.raw["durable"]

    @property
    def posts(self) -> int:
        """The number of recorded messages of the topic."""
        return self.raw["posts"]

    @property
    def topic(self) -> str:
        """The topic."""
        return self.raw["topic"]


class Reaction(Record):
    """A reaction."""

    __slots__ = ()
    _required = frozenset(
        {
            "added_at",
            "added_by",
            "enabled",
            "failures",
            "name",
            "on",
            "revision",
            "runs",
        }
    )

    @property
    def added_at(self) -> datetime:
        """When it was added."""
        return moment(self.raw["added_at"])

    @property
    def added_by(self) -> str:
        """The agent that added it, as which it runs."""
        return self.raw["added_by"]

    @property
    def built_in(self) -> bool:
        """Whether it exists in every workspace. Absent if `false`."""
        return self.raw.get("built_in", False)

    @property
    def calls(self) -> int:
        """The number of pending webhook calls."""
        return self.raw.get("calls", 0)

    @property
    def do(self) -> list[Any]:
        """The commands to execute. `{{field}}` is replaced by a field of the event. Absent if
        there are none.
        """
        return self.raw.get("do", [])

    @property
    def enabled(self) -> bool:
        """Whether it is enabled."""
        return self.raw["enabled"]

    @property
    def failures(self) -> int:
        """How often it has failed."""
        return self.raw["failures"]

    @property
    def name(self) -> str:
        """The name of the reaction."""
        return self.raw["name"]

    @property
    def on(self) -> ReactionOn:
        """The events that it runs on."""
        return ReactionOn(self.raw["on"])

    @property
    def revision(self) -> int:
        """The revision of the last change."""
        return self.raw["revision"]

    @property
    def runs(self) -> int:
        """How often it has run."""
        return self.raw["runs"]

    @property
    def trouble(self) -> ReactionTrouble | None:
        """The last failure. Absent if it never failed."""
        return optional(ReactionTrouble, self.raw.get("trouble"))

    @property
    def webhook(self) -> Webhook | None:
        """The webhook to call. Absent if there is none."""
        return optional(Webhook, self.raw.get("webhook"))


class ReactionOn(Record):
    """The events that a reaction runs on: everything that is given must match. `type` or `subject`
    is required.
    """

    __slots__ = ()
    _required = frozenset[str]()

    @property
    def subject(self) -> str | None:
        """The subject, such as `state/shared/**`. If omitted, any subject."""
        return self.raw.get("subject")

    @property
    def type(self) -> str | None:
        """The event type, such as `task.completed` or `deploy.*`. If omitted, any type."""
        return self.raw.get("type")

    @property
    def where(self) -> str | None:
        """A CEL expression about `event` that must be true. If omitted, none."""
        return self.raw.get("where")


class ReactionReactions(Record):
    """A page of results, by name."""

    __slots__ = ()
    _required = frozenset({"reactions"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def reactions(self) -> list[Reaction]:
        """The results on this page."""
        return [Reaction(each) for each in self.raw["reactions"]]


class ReactionTrouble(Record):
    """The last failure of a reaction."""

    __slots__ = ()
    _required = frozenset({"at", "code", "detail", "revision"})

    @property
    def at(self) -> datetime:
        """When it happened."""
        return moment(self.raw["at"])

    @property
    def code(self) -> str:
        """The code of the rejection."""
        return self.raw["code"]

    @property
    def detail(self) -> str:
        """The error, in words."""
        return self.raw["detail"]

    @property
    def revision(self) -> int:
        """The revision of the commit."""
        return self.raw["revision"]


class Receipt(Record):
    """The task and keys that the receiver got."""

    __slots__ = ()
    _required = frozenset({"state_bytes"})

    @property
    def keys(self) -> list[Taken]:
        """The keys with versions and sizes. Absent if there are none."""
        return [Taken(each) for each in self.raw.get("keys", [])]

    @property
    def left_out(self) -> list[LeftOut]:
        """Selected keys that were left out. Absent if there are none."""
        return [LeftOut(each) for each in self.raw.get("left_out", [])]

    @property
    def state_bytes(self) -> int:
        """The size of `state` in bytes."""
        return self.raw["state_bytes"]


class Results(Record):
    """A page of search results, newest first."""

    __slots__ = ()
    _required = frozenset({"events_since", "found", "keys_since"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page. A page may be short or empty and
        not be the last.
        """
        return self.raw.get("cursor")

    @property
    def events_since(self) -> int:
        """Events up to this revision are not searched; 0 if all are. They are in the history.
        """
        return self.raw["events_since"]

    @property
    def found(self) -> list[Found]:
        """The results on this page."""
        return [Found(each) for each in self.raw["found"]]

    @property
    def keys_since(self) -> int:
        """Keys that were last written up to this revision are not searched; 0 if all are."""
        return self.raw["keys_since"]


class Retention(Record):
    """How much history is kept. History beyond either bound is removed."""

    __slots__ = ()
    _required = frozenset({"history_age_ms", "history_count"})

    @property
    def history_age_ms(self) -> int:
        """The maximum age in milliseconds."""
        return self.raw["history_age_ms"]

    @property
    def history_count(self) -> int:
        """The number of revisions."""
        return self.raw["history_count"]


class Reviewers(Record):
    """The agents that may accept a result: those that are named, and those that have a capability.
    If there are none, any agent may. The agent that did the work can never accept it.
    """

    __slots__ = ()
    _required = frozenset[str]()

    @property
    def agents(self) -> list[str]:
        """The agents that may accept it."""
        return self.raw.get("agents", [])

    @property
    def capability(self) -> str | None:
        """Every agent with a session and this capability may accept it, too. Default: none."""
        return self.raw.get("capability")


class Rule(Record):
    """A rule."""

    __slots__ = ()
    _required = frozenset({"added_at", "added_by", "check", "name", "revision", "severity"})

    @property
    def added_at(self) -> datetime:
        """When it was added."""
        return moment(self.raw["added_at"])

    @property
    def added_by(self) -> str:
        """The agent that added it."""
        return self.raw["added_by"]

    @property
    def check(self) -> Check:
        """The requirement."""
        return Check(self.raw["check"])

    @property
    def message(self) -> str | None:
        """A message for the violator. Absent if not given."""
        return self.raw.get("message")

    @property
    def name(self) -> str:
        """The name of the rule."""
        return self.raw["name"]

    @property
    def on(self) -> RuleOn | None:
        """When it applies. Absent if always."""
        return optional(RuleOn, self.raw.get("on"))

    @property
    def revision(self) -> int:
        """The revision of the last change."""
        return self.raw["revision"]

    @property
    def severity(self) -> Severity:
        """How serious a violation is."""
        return self.raw["severity"]


class RuleOn(Record):
    """When a rule applies: everything that is given must match."""

    __slots__ = ()
    _required = frozenset[str]()

    @property
    def from_(self) -> str | None:
        """The giver. If omitted, any."""
        return self.raw.get("from")

    @property
    def task_type(self) -> str | None:
        """The task type. A hand-off without a task does not match. If omitted, any."""
        return self.raw.get("task_type")

    @property
    def to(self) -> str | None:
        """The receiver. A hand-off to a capability does not match. If omitted, any."""
        return self.raw.get("to")


class RuleRules(Record):
    """A page of results, by name."""

    __slots__ = ()
    _required = frozenset({"rules"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def rules(self) -> list[Rule]:
        """The results on this page."""
        return [Rule(each) for each in self.raw["rules"]]


class Rules(Record):
    """Rules for the values that are written to a namespace, or to keys that match a pattern."""

    __slots__ = ()
    _required = frozenset[str]()

    @property
    def append_only(self) -> bool:
        """Existing keys only grow, by `append` and `union`; they cannot be overwritten or deleted.
        """
        return self.raw.get("append_only", False)

    @property
    def flat(self) -> bool:
        """Warn about values that contain objects or lists of objects."""
        return self.raw.get("flat", False)

    @property
    def keys(self) -> list[KeyRules]:
        """Rules for some keys. The first pattern that matches applies instead of the rules above.
        """
        return [KeyRules(each) for each in self.raw.get("keys", [])]

    @property
    def merge(self) -> Merge | None:
        """How `state.set` combines the new value with the existing one."""
        return self.raw.get("merge")

    @property
    def schema(self) -> Any:
        """A JSON Schema that every new value must satisfy. Default: none."""
        return self.raw.get("schema")

    @property
    def schema_version(self) -> int | None:
        """The version of the schema, for readers. It can only increase. Default: none."""
        return self.raw.get("schema_version")

    @property
    def ttl_ms(self) -> int | None:
        """Time to live of entries without their own, in milliseconds. If omitted, entries do not
        expire.
        """
        return self.raw.get("ttl_ms")

    @property
    def value_bytes_max(self) -> int | None:
        """The maximum size of a value in bytes. If omitted, the general limit."""
        return self.raw.get("value_bytes_max")


class SecretRecord(Record):
    """The metadata of a secret."""

    __slots__ = ()
    _required = frozenset({"bytes", "put_at", "put_by", "reveals", "secret"})

    @property
    def bytes(self) -> int:
        """The size of the value in bytes."""
        return self.raw["bytes"]

    @property
    def expires_at(self) -> datetime | None:
        """When it expires. Absent if it does not."""
        return optional(moment, self.raw.get("expires_at"))

    @property
    def name(self) -> str | None:
        """Name for display. Absent if none was given."""
        return self.raw.get("name")

    @property
    def put_at(self) -> datetime:
        """When it was stored."""
        return moment(self.raw["put_at"])

    @property
    def put_by(self) -> str:
        """The agent that stored it."""
        return self.raw["put_by"]

    @property
    def revealed_at(self) -> datetime | None:
        """When the value was last read. Absent if it never was."""
        return optional(moment, self.raw.get("revealed_at"))

    @property
    def revealed_to(self) -> str | None:
        """The agent that last read the value. Absent if it was never read."""
        return self.raw.get("revealed_to")

    @property
    def reveals(self) -> int:
        """How often the value was read."""
        return self.raw["reveals"]

    @property
    def secret(self) -> str:
        """The reference."""
        return self.raw["secret"]


class SecretSecrets(Record):
    """A page of secrets."""

    __slots__ = ()
    _required = frozenset({"secrets"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def secrets(self) -> list[SecretRecord]:
        """The results on this page, by reference."""
        return [SecretRecord(each) for each in self.raw["secrets"]]


class Seen(Record):
    """How far a copy includes the changes of another one."""

    __slots__ = ()
    _required = frozenset({"copy", "revision", "time"})

    @property
    def copy(self) -> str:
        """The other copy."""
        return self.raw["copy"]

    @property
    def revision(self) -> int:
        """Its last revision that is included."""
        return self.raw["revision"]

    @property
    def time(self) -> datetime:
        """The time of that revision, by which the other copy recognizes it."""
        return moment(self.raw["time"])


class Semaphore(Record):
    """A semaphore."""

    __slots__ = ()
    _required = frozenset({"free", "holders", "name", "permits", "waiters"})

    @property
    def free(self) -> int:
        """The number of free permits. 0 while more permits are held than the semaphore has, after
        it was made smaller.
        """
        return self.raw["free"]

    @property
    def holders(self) -> list[Permit]:
        """The held permits, oldest first."""
        return [Permit(each) for each in self.raw["holders"]]

    @property
    def name(self) -> str:
        """The name of the semaphore."""
        return self.raw["name"]

    @property
    def permits(self) -> int:
        """The number of permits."""
        return self.raw["permits"]

    @property
    def waiters(self) -> list[PermitWait]:
        """The wait queue, first in line first."""
        return [PermitWait(each) for each in self.raw["waiters"]]


class SemaphoreSemaphores(Record):
    """A page of results, by name."""

    __slots__ = ()
    _required = frozenset({"semaphores"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def semaphores(self) -> list[Semaphore]:
        """The results on this page."""
        return [Semaphore(each) for each in self.raw["semaphores"]]


class Sent(Record):
    """The result of an append."""

    __slots__ = ()
    _required = frozenset({"frames", "next", "stream"})

    @property
    def frames(self) -> int:
        """The number of frames."""
        return self.raw["frames"]

    @property
    def next(self) -> int:
        """The offset of the next frame."""
        return self.raw["next"]

    @property
    def offset(self) -> int | None:
        """The offset of the first frame. Absent if frames are not kept."""
        return self.raw.get("offset")

    @property
    def stream(self) -> str:
        """The stream."""
        return self.raw["stream"]


class Source(Record):
    """The origin of a transferred value."""

    __slots__ = ()
    _required = frozenset({"agent", "namespace", "revision", "version"})

    @property
    def agent(self) -> str:
        """The agent that had written it."""
        return self.raw["agent"]

    @property
    def namespace(self) -> str:
        """The namespace that it was in."""
        return self.raw["namespace"]

    @property
    def revision(self) -> int:
        """The revision that had written it there."""
        return self.raw["revision"]

    @property
    def version(self) -> int:
        """The version that it had there."""
        return self.raw["version"]


class SpendAccount(Record):
    """The spending of a task with its subtasks, of an agent or of the workspace, and its budget.
    """

    __slots__ = ()
    _required = frozenset({"of", "spent", "used_up"})

    @property
    def budget(self) -> SpendBudget | None:
        """The budget. Absent if there is none."""
        return optional(SpendBudget, self.raw.get("budget"))

    @property
    def left(self) -> SpendBudget | None:
        """The remaining budget. Absent if there is none."""
        return optional(SpendBudget, self.raw.get("left"))

    @property
    def of(self) -> dict[str, Any] | str:
        """The task, the agent or the workspace that it belongs to."""
        return self.raw["of"]

    @property
    def spent(self) -> SpendAmounts:
        """The total."""
        return SpendAmounts(self.raw["spent"])

    @property
    def used_up(self) -> bool:
        """Whether a limit of the budget is reached."""
        return self.raw["used_up"]


class SpendAmounts(Record):
    """An amount of spending."""

    __slots__ = ()
    _required = frozenset({"calls", "cost_micros", "tokens"})

    @property
    def calls(self) -> int:
        """Calls of a model or a tool."""
        return self.raw["calls"]

    @property
    def cost_micros(self) -> int:
        """Money, in millionths of the currency that the workspace uses."""
        return self.raw["cost_micros"]

    @property
    def tokens(self) -> int:
        """Tokens of a language model."""
        return self.raw["tokens"]


class SpendBudget(Record):
    """A limit for each unit. A unit without a limit is not limited."""

    __slots__ = ()
    _required = frozenset[str]()

    @property
    def calls(self) -> int | None:
        """The maximum number of calls. If omitted, calls are not limited."""
        return self.raw.get("calls")

    @property
    def cost_micros(self) -> int | None:
        """The maximum amount of money, in millionths of the currency. If omitted, money is not
        limited.
        """
        return self.raw.get("cost_micros")

    @property
    def tokens(self) -> int | None:
        """The maximum number of tokens. If omitted, tokens are not limited."""
        return self.raw.get("tokens")


class SpendEntry(Record):
    """One record of spending."""

    __slots__ = ()
    _required = frozenset({"agent", "number", "revision", "spent", "time"})

    @property
    def agent(self) -> str:
        """The agent that spent it."""
        return self.raw["agent"]

    @property
    def model(self) -> str | None:
        """The model or tool. Absent if not given."""
        return self.raw.get("model")

    @property
    def note(self) -> str | None:
        """A note. Absent if not given."""
        return self.raw.get("note")

    @property
    def number(self) -> int:
        """Its number, counted from 1 in the workspace."""
        return self.raw["number"]

    @property
    def revision(self) -> int:
        """The revision."""
        return self.raw["revision"]

    @property
    def spent(self) -> SpendAmounts:
        """The amounts."""
        return SpendAmounts(self.raw["spent"])

    @property
    def task(self) -> str | None:
        """The task. Absent if there is none."""
        return self.raw.get("task")

    @property
    def time(self) -> datetime:
        """When it was recorded."""
        return moment(self.raw["time"])


class SpendRecorded(Record):
    """A new record, and what it was charged to."""

    __slots__ = ()
    _required = frozenset({"record"})

    @property
    def budgets(self) -> list[SpendAccount]:
        """The budgets that it was charged to. Absent if there are none."""
        return [SpendAccount(each) for each in self.raw.get("budgets", [])]

    @property
    def record(self) -> SpendEntry:
        """The record."""
        return SpendEntry(self.raw["record"])


class SpendRecords(Record):
    """A page of records, latest first."""

    __slots__ = ()
    _required = frozenset({"recorded", "records"})

    @property
    def cursor(self) -> int | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def oldest(self) -> int | None:
        """The number of the oldest record that is kept here; the history has the events of older
        ones. Absent if there is none.
        """
        return self.raw.get("oldest")

    @property
    def recorded(self) -> int:
        """How many were ever recorded."""
        return self.raw["recorded"]

    @property
    def records(self) -> list[SpendEntry]:
        """The results on this page."""
        return [SpendEntry(each) for each in self.raw["records"]]


class SpendTotal(Record):
    """A total, and the budgets that apply to it."""

    __slots__ = ()
    _required = frozenset({"account"})

    @property
    def above(self) -> list[SpendAccount]:
        """The budgets of the tasks above, nearest first, and of the workspace. Absent if there are
        none.
        """
        return [SpendAccount(each) for each in self.raw.get("above", [])]

    @property
    def account(self) -> SpendAccount:
        """The total, and its own budget."""
        return SpendAccount(self.raw["account"])


class Stage(Record):
    """A stage of a pipeline."""

    __slots__ = ()
    _required = frozenset({"after", "attempts", "name", "retries", "status"})

    @property
    def after(self) -> list[str]:
        """The stages that it follows."""
        return self.raw["after"]

    @property
    def agent(self) -> str | None:
        """The only agent that may work on it. Absent if any agent may."""
        return self.raw.get("agent")

    @property
    def attempts(self) -> int:
        """How often it was started."""
        return self.raw["attempts"]

    @property
    def capabilities(self) -> list[str]:
        """Capabilities that an agent needs to claim its task. Absent if there are none."""
        return self.raw.get("capabilities", [])

    @property
    def description(self) -> str | None:
        """Human-readable description. Absent if not given."""
        return self.raw.get("description")

    @property
    def each(self) -> bool:
        """Whether one task per element of its input is created. Absent if `false`."""
        return self.raw.get("each", False)

    @property
    def error(self) -> Any:
        """The error. Absent unless it failed."""
        return self.raw.get("error")

    @property
    def finished_at(self) -> datetime | None:
        """When it was completed, failed or skipped. Absent before that."""
        return optional(moment, self.raw.get("finished_at"))

    @property
    def input(self) -> Any:
        """Its input. In a whole pipeline only an input given at its start; otherwise it is the
        output of the stages before it. Absent if there is none.
        """
        return self.raw.get("input")

    @property
    def max_retries(self) -> int | None:
        """How often its task is retried automatically, or how often it may be retried. Absent if
        not given.
        """
        return self.raw.get("max_retries")

    @property
    def name(self) -> str:
        """The name of the stage."""
        return self.raw["name"]

    @property
    def output(self) -> Any:
        """Its output. Absent before it is submitted or completed."""
        return self.raw.get("output")

    @property
    def reads(self) -> list[str]:
        """Keys that it reads. Absent if there are none."""
        return self.raw.get("reads", [])

    @property
    def ready_at(self) -> datetime | None:
        """When it became ready. Absent before that."""
        return optional(moment, self.raw.get("ready_at"))

    @property
    def reason(self) -> str | None:
        """Why it was skipped, or the note of the last review. Absent if none was given."""
        return self.raw.get("reason")

    @property
    def retries(self) -> int:
        """How often it was retried after a failure."""
        return self.raw["retries"]

    @property
    def review(self) -> bool:
        """Whether its output must be accepted by another agent. Absent if `false`."""
        return self.raw.get("review", False)

    @property
    def reviewers(self) -> Reviewers | None:
        """The agents that may accept its output. Absent if any agent except the one that did the
        work may.
        """
        return optional(Reviewers, self.raw.get("reviewers"))

    @property
    def started_at(self) -> datetime | None:
        """When it was last started. Absent before that."""
        return optional(moment, self.raw.get("started_at"))

    @property
    def status(self) -> StageStatus:
        """The status."""
        return self.raw["status"]

    @property
    def submitted_by(self) -> str | None:
        """The agent whose output waits for review. Absent if none waits."""
        return self.raw.get("submitted_by")

    @property
    def tasks(self) -> list[str]:
        """Its tasks, in order. Absent if there are none."""
        return self.raw.get("tasks", [])

    @property
    def type(self) -> str | None:
        """The type of its task. Absent if not given."""
        return self.raw.get("type")

    @property
    def worker(self) -> str | None:
        """The agent that works or last worked on it. Absent before the first start."""
        return self.raw.get("worker")

    @property
    def writes(self) -> list[str]:
        """Keys that it writes. Absent if there are none."""
        return self.raw.get("writes", [])


class StageMoved(Record):
    """A finished stage, and what can start next."""

    __slots__ = ()
    _required = frozenset({"ready", "stage", "status"})

    @property
    def next(self) -> Stage | None:
        """The first stage that can be started now. `null` if none can."""
        return optional(Stage, self.raw.get("next"))

    @property
    def ready(self) -> list[str]:
        """Every stage that can be started now."""
        return self.raw["ready"]

    @property
    def stage(self) -> Stage:
        """The stage."""
        return Stage(self.raw["stage"])

    @property
    def status(self) -> PipelineStatus:
        """The status of the pipeline."""
        return self.raw["status"]


class StageOutput(Record):
    """The output of a stage."""

    __slots__ = ()
    _required = frozenset({"pipeline", "stage", "status"})

    @property
    def output(self) -> Any:
        """The output. Absent before it is submitted, or the stage is completed."""
        return self.raw.get("output")

    @property
    def pipeline(self) -> str:
        """The pipeline."""
        return self.raw["pipeline"]

    @property
    def stage(self) -> str:
        """The stage."""
        return self.raw["stage"]

    @property
    def status(self) -> StageStatus:
        """The status of the stage."""
        return self.raw["status"]


class StateChanges(Record):
    """A page of changes, newest first; or the differences between two revisions, by key."""

    __slots__ = ()
    _required = frozenset({"changes"})

    @property
    def changes(self) -> list[Change]:
        """The changes."""
        return [Change(each) for each in self.raw["changes"]]

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def oldest(self) -> int:
        """Changes up to this revision are no longer kept; 0 if all are kept."""
        return self.raw.get("oldest", 0)


class StateMoved(Record):
    """The moved keys."""

    __slots__ = ()
    _required = frozenset({"keys"})

    @property
    def keys(self) -> list[str]:
        """The keys."""
        return self.raw["keys"]


class Statistics(Record):
    """Statistics about the tasks of a workspace, or of one type."""

    __slots__ = ()
    _required = frozenset({"claims_waiting", "failures", "tasks", "time_in_state"})

    @property
    def claims_waiting(self) -> int:
        """The number of waiting claims."""
        return self.raw["claims_waiting"]

    @property
    def failures(self) -> list[Failure]:
        """Reasons of failed attempts, most frequent first."""
        return [Failure(each) for each in self.raw["failures"]]

    @property
    def tasks(self) -> Counts:
        """Tasks by status."""
        return Counts(self.raw["tasks"])

    @property
    def time_in_state(self) -> TimeInState:
        """How long tasks stayed in each status."""
        return TimeInState(self.raw["time_in_state"])


class Step(Record):
    """One step of a hand-off."""

    __slots__ = ()
    _required = frozenset({"at", "status", "step"})

    @property
    def at(self) -> datetime:
        """When it happened."""
        return moment(self.raw["at"])

    @property
    def by(self) -> str | None:
        """The agent that did it. Absent if it was the engine."""
        return self.raw.get("by")

    @property
    def detail(self) -> str | None:
        """Details in words. Absent if there are none."""
        return self.raw.get("detail")

    @property
    def status(self) -> StepStatus:
        """The outcome."""
        return self.raw["status"]

    @property
    def step(self) -> str:
        """The step: `validate`, `transfer_state`, `transfer_task`, an event of the offer, or
        `stage_completed` and `stage_started` between the stages of a pipeline.
        """
        return self.raw["step"]


class Stream(Record):
    """A stream."""

    __slots__ = ()
    _required = frozenset(
        {
            "bytes",
            "bytes_max",
            "created_at",
            "created_by",
            "first",
            "frames_max",
            "kept",
            "next",
            "readers_waiting",
            "status",
            "stream",
            "updated_at",
        }
    )

    @property
    def bytes(self) -> int:
        """The size of the kept frames in bytes."""
        return self.raw["bytes"]

    @property
    def bytes_max(self) -> int:
        """The maximum size of the kept frames in bytes."""
        return self.raw["bytes_max"]

    @property
    def created_at(self) -> datetime:
        """When it was created."""
        return moment(self.raw["created_at"])

    @property
    def created_by(self) -> str:
        """The agent that created it."""
        return self.raw["created_by"]

    @property
    def first(self) -> int:
        """The first offset that is kept."""
        return self.raw["first"]

    @property
    def frames_max(self) -> int:
        """The maximum number of frames to keep."""
        return self.raw["frames_max"]

    @property
    def kept(self) -> bool:
        """Whether frames are kept."""
        return self.raw["kept"]

    @property
    def next(self) -> int:
        """The offset of the next frame."""
        return self.raw["next"]

    @property
    def readers_waiting(self) -> int:
        """The number of waiting readers."""
        return self.raw["readers_waiting"]

    @property
    def reason(self) -> str | None:
        """Why it was closed. Absent if no reason was given."""
        return self.raw.get("reason")

    @property
    def status(self) -> StreamStatus:
        """The status."""
        return self.raw["status"]

    @property
    def stream(self) -> str:
        """The name of the stream."""
        return self.raw["stream"]

    @property
    def updated_at(self) -> datetime:
        """When it was last changed."""
        return moment(self.raw["updated_at"])


class StreamFrame(Record):
    """One frame."""

    __slots__ = ()
    _required = frozenset({"data", "offset"})

    @property
    def data(self) -> Any:
        """The content."""
        return self.raw["data"]

    @property
    def offset(self) -> int:
        """The offset in the stream."""
        return self.raw["offset"]


class StreamStreams(Record):
    """A page of streams, by name."""

    __slots__ = ()
    _required = frozenset({"streams"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def streams(self) -> list[Stream]:
        """The results on this page."""
        return [Stream(each) for each in self.raw["streams"]]


class SyncConflict(Record):
    """A conflict that the rules leave to a person."""

    __slots__ = ()
    _required = frozenset({"key", "namespace"})

    @property
    def key(self) -> str:
        """The key."""
        return self.raw["key"]

    @property
    def namespace(self) -> str:
        """The namespace."""
        return self.raw["namespace"]

    @property
    def ours(self) -> Any:
        """The value in this copy. Absent if it was deleted."""
        return self.raw.get("ours")

    @property
    def theirs(self) -> Any:
        """The value in the other copy. Absent if it was deleted."""
        return self.raw.get("theirs")


class SyncOutcome(Record):
    """The outcome for one key or namespace."""

    __slots__ = ()
    _required = frozenset({"by", "namespace", "won"})

    @property
    def by(self) -> WonBy:
        """The reason."""
        return self.raw["by"]

    @property
    def key(self) -> str | None:
        """The key. Absent for the rules of the namespace itself."""
        return self.raw.get("key")

    @property
    def lost(self) -> Any:
        """The value that lost a conflict. Absent if there was none, or if it was a deletion."""
        return self.raw.get("lost")

    @property
    def namespace(self) -> str:
        """The namespace."""
        return self.raw["namespace"]

    @property
    def won(self) -> Won:
        """The side whose value is there afterwards."""
        return self.raw["won"]


class SyncReport(Record):
    """The result of a synchronization."""

    __slots__ = ()
    _required = frozenset({"changed", "copy", "outcomes", "revision", "with", "workspace"})

    @property
    def changed(self) -> bool:
        """Whether anything was new. If not, nothing was written."""
        return self.raw["changed"]

    @property
    def conflicts(self) -> list[SyncConflict]:
        """Conflicts that need a decision; only in a dry run, otherwise the request is refused.
        """
        return [SyncConflict(each) for each in self.raw.get("conflicts", [])]

    @property
    def copy(self) -> str:
        """This copy."""
        return self.raw["copy"]

    @property
    def more(self) -> bool:
        """Whether the other copy has later changes, to be synchronized next."""
        return self.raw.get("more", False)

    @property
    def others(self) -> list[OtherChanges]:
        """The other changes in the other copy, which were not synchronized, by kind."""
        return [OtherChanges(each) for each in self.raw.get("others", [])]

    @property
    def outcomes(self) -> list[SyncOutcome]:
        """The outcomes, by namespace and key."""
        return [SyncOutcome(each) for each in self.raw["outcomes"]]

    @property
    def revision(self) -> int:
        """The revision of the other copy that is included now."""
        return self.raw["revision"]

    @property
    def with_(self) -> str:
        """The other copy."""
        return self.raw["with"]

    @property
    def workspace(self) -> str:
        """The name of the other workspace."""
        return self.raw["workspace"]


class Taken(Record):
    """A key that the receiver got."""

    __slots__ = ()
    _required = frozenset({"bytes", "key", "kind", "version"})

    @property
    def bytes(self) -> int:
        """The size of its value in bytes."""
        return self.raw["bytes"]

    @property
    def copied(self) -> bool:
        """Whether it was copied from the giver's namespace to the receiver's. Absent if `false`.
        """
        return self.raw.get("copied", False)

    @property
    def key(self) -> str:
        """`namespace/key` as it was selected."""
        return self.raw["key"]

    @property
    def kind(self) -> ValueKind:
        """The JSON type of its value."""
        return self.raw["kind"]

    @property
    def moved(self) -> bool:
        """Whether it moved from the giver's namespace to the receiver's. Absent if `false`."""
        return self.raw.get("moved", False)

    @property
    def version(self) -> int:
        """The version that was handed over."""
        return self.raw["version"]


class Task(Record):
    """A task."""

    __slots__ = ()
    _required = frozenset(
        {
            "attempts",
            "backoff",
            "created_at",
            "id",
            "max_retries",
            "on_exhausted",
            "priority",
            "requested_by",
            "retries",
            "revision",
            "status",
            "type",
            "updated_at",
        }
    )

    @property
    def artifacts(self) -> Any:
        """References to what it produced: a list. Absent if there are none."""
        return self.raw.get("artifacts")

    @property
    def assigned_agent(self) -> str | None:
        """The only agent that may claim it. Absent if any agent may."""
        return self.raw.get("assigned_agent")

    @property
    def attempts(self) -> int:
        """How often it was claimed."""
        return self.raw["attempts"]

    @property
    def backoff(self) -> Backoff:
        """The delay before a retry."""
        return Backoff(self.raw["backoff"])

    @property
    def capabilities(self) -> list[str]:
        """Capabilities that an agent needs to claim it. Absent if there are none."""
        return self.raw.get("capabilities", [])

    @property
    def created_at(self) -> datetime:
        """When it was created."""
        return moment(self.raw["created_at"])

    @property
    def deadline(self) -> datetime | None:
        """It fails unless it is finished by then. Absent if there is none."""
        return optional(moment, self.raw.get("deadline"))

    @property
    def definition(self) -> Any:
        """The work as data. Absent if not given."""
        return self.raw.get("definition")

    @property
    def depends_on(self) -> list[str]:
        """Tasks that must be completed first. Absent if there are none."""
        return self.raw.get("depends_on", [])

    @property
    def description(self) -> str | None:
        """Human-readable description. Absent if not given."""
        return self.raw.get("description")

    @property
    def error(self) -> Any:
        """The error of the last failed attempt. Absent if there is none."""
        return self.raw.get("error")

    @property
    def finished_at(self) -> datetime | None:
        """When it was completed, failed or cancelled. Absent before that."""
        return optional(moment, self.raw.get("finished_at"))

    @property
    def group(self) -> str | None:
        """The group. Absent if it has none."""
        return self.raw.get("group")

    @property
    def id(self) -> str:
        """The id of the task."""
        return self.raw["id"]

    @property
    def lease(self) -> Lease | None:
        """The lease. Absent if no agent holds it."""
        return optional(Lease, self.raw.get("lease"))

    @property
    def max_retries(self) -> int:
        """How often a failed attempt is retried."""
        return self.raw["max_retries"]

    @property
    def metadata(self) -> Any:
        """An object with free-form metadata. Absent if not given."""
        return self.raw.get("metadata")

    @property
    def not_before(self) -> datetime | None:
        """It cannot be claimed before this time. Absent if there is none."""
        return optional(moment, self.raw.get("not_before"))

    @property
    def on_exhausted(self) -> dict[str, Any] | str:
        """The action after the last attempt."""
        return self.raw["on_exhausted"]

    @property
    def parent(self) -> str | None:
        """The parent task; if that is cancelled, this one is too. Absent if it has none."""
        return self.raw.get("parent")

    @property
    def priority(self) -> int:
        """The priority; higher is claimed first."""
        return self.raw["priority"]

    @property
    def progress(self) -> Progress | None:
        """The last reported progress. Absent if there is none."""
        return optional(Progress, self.raw.get("progress"))

    @property
    def reason(self) -> str | None:
        """The reason of the last release, cancellation or review. Absent if not given."""
        return self.raw.get("reason")

    @property
    def requested_by(self) -> str:
        """The agent that created it."""
        return self.raw["requested_by"]

    @property
    def result(self) -> Any:
        """The result; for a task in progress, the result so far. Absent if there is none."""
        return self.raw.get("result")

    @property
    def retries(self) -> int:
        """The number of failed attempts."""
        return self.raw["retries"]

    @property
    def review(self) -> bool:
        """Whether its result must be accepted before it is completed. Absent if `false`."""
        return self.raw.get("review", False)

    @property
    def reviewers(self) -> Reviewers | None:
        """The agents that may accept its result. Absent if any agent except the one that did the
        work may.
        """
        return optional(Reviewers, self.raw.get("reviewers"))

    @property
    def revision(self) -> int:
        """The revision of the last change."""
        return self.raw["revision"]

    @property
    def schema_version(self) -> Any:
        """The version of the schema of `definition`. Absent if not given."""
        return self.raw.get("schema_version")

    @property
    def started_at(self) -> datetime | None:
        """When it was first claimed. Absent before that."""
        return optional(moment, self.raw.get("started_at"))

    @property
    def status(self) -> TaskStatus:
        """The status."""
        return self.raw["status"]

    @property
    def submitted_by(self) -> str | None:
        """The agent whose result waits for review. Absent if no result waits."""
        return self.raw.get("submitted_by")

    @property
    def traceparent(self) -> str | None:
        """W3C trace context (`traceparent`), to be continued by the worker. Absent if not given.
        """
        return self.raw.get("traceparent")

    @property
    def type(self) -> str:
        """The task type."""
        return self.raw["type"]

    @property
    def updated_at(self) -> datetime:
        """When it was last changed."""
        return moment(self.raw["updated_at"])

    @property
    def waiting_for(self) -> list[str]:
        """The dependencies that are not completed yet. Absent if there are none."""
        return self.raw.get("waiting_for", [])

    @property
    def warnings(self) -> list[Warning]:
        """Warnings about the call that created it. Absent if there are none."""
        return [Warning(each) for each in self.raw.get("warnings", [])]


class TaskCompleted(Record):
    """A task was completed."""

    __slots__ = ()
    _required = frozenset({"task"})

    @property
    def next(self) -> Task | None:
        """The task claimed by `then_claim`. Absent if there was none, or `then_claim` was not
        given.
        """
        return optional(Task, self.raw.get("next"))

    @property
    def task(self) -> Task:
        """The completed task."""
        return Task(self.raw["task"])


class TaskHistoryResult(Record):
    """A page of events of a task, newest first."""

    __slots__ = ()
    _required = frozenset({"events"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def events(self) -> list[Transition]:
        """The results on this page."""
        return [Transition(each) for each in self.raw["events"]]

    @property
    def oldest(self) -> int:
        """Events up to this revision are no longer kept; 0 if all are kept."""
        return self.raw.get("oldest", 0)


class TaskTasks(Record):
    """A page of tasks, by id. It may have fewer results than requested, or none, and not be the
    last: only the last page has no cursor.
    """

    __slots__ = ()
    _required = frozenset({"tasks"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def tasks(self) -> list[Task]:
        """The results on this page."""
        return [Task(each) for each in self.raw["tasks"]]


class TimeInState(Record):
    """How long tasks stayed in each status."""

    __slots__ = ()
    _required = frozenset({"in_progress", "pending", "waiting_review"})

    @property
    def handed_off(self) -> Durations | None:
        """Until the receiver of a hand-off claimed them."""
        return optional(Durations, self.raw.get("handed_off"))

    @property
    def in_progress(self) -> Durations:
        """Until the attempt was completed, failed or released."""
        return Durations(self.raw["in_progress"])

    @property
    def pending(self) -> Durations:
        """Until they were claimed."""
        return Durations(self.raw["pending"])

    @property
    def waiting_review(self) -> Durations:
        """Until they were reviewed."""
        return Durations(self.raw["waiting_review"])


class Topic(Record):
    """A topic. Only recorded messages are counted."""

    __slots__ = ()
    _required = frozenset({"last_at", "last_by", "posts", "topic"})

    @property
    def last_at(self) -> datetime:
        """When the last message was published."""
        return moment(self.raw["last_at"])

    @property
    def last_by(self) -> str:
        """The agent that published it."""
        return self.raw["last_by"]

    @property
    def posts(self) -> int:
        """The number of messages."""
        return self.raw["posts"]

    @property
    def topic(self) -> str:
        """The name of the topic."""
        return self.raw["topic"]


class TopicTopics(Record):
    """A page of results, by name."""

    __slots__ = ()
    _required = frozenset({"topics"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def topics(self) -> list[Topic]:
        """The results on this page."""
        return [Topic(each) for each in self.raw["topics"]]


class TransferContext(Record):
    """A hand-off in a portable form."""

    __slots__ = ()
    _required = frozenset[str]()

    @property
    def handoff_id(self) -> str | None:
        """The hand-off that this was exported from. Absent in contexts of other systems."""
        return self.raw.get("handoff_id")

    @property
    def originating_agent(self) -> str | None:
        """The giver: an id or an address. Absent if unknown."""
        return self.raw.get("originating_agent")

    @property
    def originating_task_id(self) -> str | None:
        """The task at its origin. Absent if there is none."""
        return self.raw.get("originating_task_id")

    @property
    def output_keys(self) -> Any:
        """Names of what was produced. Absent if none were given."""
        return self.raw.get("output_keys")

    @property
    def reason(self) -> str | None:
        """The reason. Absent if none was given."""
        return self.raw.get("reason")

    @property
    def state(self) -> dict[str, Any]:
        """The flat object of context."""
        return self.raw.get("state", {})

    @property
    def traceparent(self) -> str | None:
        """W3C trace context (`traceparent`). Absent if none was given."""
        return self.raw.get("traceparent")


class Transition(Record):
    """An event of a task."""

    __slots__ = ()
    _required = frozenset({"agent", "fields", "revision", "time", "type"})

    @property
    def agent(self) -> str:
        """The agent that caused it."""
        return self.raw["agent"]

    @property
    def fields(self) -> Any:
        """The fields of the event."""
        return self.raw["fields"]

    @property
    def revision(self) -> int:
        """The revision."""
        return self.raw["revision"]

    @property
    def time(self) -> datetime:
        """The time."""
        return moment(self.raw["time"])

    @property
    def type(self) -> str:
        """The event type, such as `task.claimed`."""
        return self.raw["type"]


class Wait(Record):
    """A waiting call."""

    __slots__ = ()
    _required = frozenset({"agent", "id", "since", "until"})

    @property
    def agent(self) -> str:
        """The agent that waits."""
        return self.raw["agent"]

    @property
    def id(self) -> int:
        """The waiting call."""
        return self.raw["id"]

    @property
    def since(self) -> datetime:
        """When it started to wait."""
        return moment(self.raw["since"])

    @property
    def until(self) -> datetime:
        """When the wait times out."""
        return moment(self.raw["until"])


class Warning(Record):
    """A warning about a request that was accepted."""

    __slots__ = ()
    _required = frozenset({"code", "detail"})

    @property
    def code(self) -> str:
        """A stable code, such as `state.nested_value`."""
        return self.raw["code"]

    @property
    def detail(self) -> str:
        """A description in words."""
        return self.raw["detail"]


class Webhook(Record):
    """A webhook as it is stored and shown."""

    __slots__ = ()
    _required = frozenset({"retries", "timeout_ms", "url"})

    @property
    def retries(self) -> int:
        """How often a failed call is retried."""
        return self.raw["retries"]

    @property
    def signed(self) -> bool:
        """Whether calls are signed. Absent if `false`."""
        return self.raw.get("signed", False)

    @property
    def timeout_ms(self) -> int:
        """The timeout of one attempt in milliseconds."""
        return self.raw["timeout_ms"]

    @property
    def url(self) -> str:
        """The URL to post to."""
        return self.raw["url"]


class Why(Record):
    """Why a task has its status."""

    __slots__ = ()
    _required = frozenset({"facts", "sentence", "status", "task"})

    @property
    def facts(self) -> list[Fact]:
        """The reasons one by one."""
        return [Fact(each) for each in self.raw["facts"]]

    @property
    def sentence(self) -> str:
        """All reasons as one sentence."""
        return self.raw["sentence"]

    @property
    def status(self) -> TaskStatus:
        """The status."""
        return self.raw["status"]

    @property
    def task(self) -> str:
        """The task."""
        return self.raw["task"]


class Work(Record):
    """The next work of an agent."""

    __slots__ = ()
    _required = frozenset[str]()

    @property
    def handoff(self) -> Handoff | None:
        """A hand-off, as `handoff.receive` returns it."""
        return optional(Handoff, self.raw.get("handoff"))

    @property
    def message(self) -> Message | None:
        """A message, as `inbox.receive` returns it."""
        return optional(Message, self.raw.get("message"))

    @property
    def task(self) -> Task | None:
        """A task with the caller's lease, as `task.claim` returns it."""
        return optional(Task, self.raw.get("task"))


class WorkspaceWorkspace(Record):
    """The configuration and size of a workspace."""

    __slots__ = ()
    _required = frozenset({"agents", "entries", "namespaces", "retention"})

    @property
    def agents(self) -> int:
        """The number of known agents."""
        return self.raw["agents"]

    @property
    def entries(self) -> int:
        """The number of entries of shared state."""
        return self.raw["entries"]

    @property
    def namespaces(self) -> int:
        """The number of namespaces."""
        return self.raw["namespaces"]

    @property
    def origin(self) -> Origin | None:
        """Its origin. Absent if it started empty."""
        return optional(Origin, self.raw.get("origin"))

    @property
    def retention(self) -> Retention:
        """How much history it keeps."""
        return Retention(self.raw["retention"])


class WorkspaceWorkspaces(Record):
    """A page of workspaces, by name."""

    __slots__ = ()
    _required = frozenset({"workspaces"})

    @property
    def cursor(self) -> str | None:
        """The cursor of the next page. Absent on the last page."""
        return self.raw.get("cursor")

    @property
    def workspaces(self) -> list[ListedWorkspace]:
        """The results on this page."""
        return [ListedWorkspace(each) for each in self.raw["workspaces"]]


class Written(Record):
    """When, by whom and where something was written."""

    __slots__ = ()
    _required = frozenset({"by", "dots", "time"})

    @property
    def by(self) -> str:
        """The agent."""
        return self.raw["by"]

    @property
    def dots(self) -> list[Dot]:
        """The writes that produced it: several if it was combined from several."""
        return [Dot(each) for each in self.raw["dots"]]

    @property
    def time(self) -> datetime:
        """The time."""
        return moment(self.raw["time"])


__all__ = [
    "Agent",
    "AgentAgents",
    "AgentStatus",
    "Answered",
    "Approval",
    "Arrival",
    "Artifact",
    "ArtifactArtifacts",
    "Asked",
    "Backoff",
    "Barrier",
    "By",
    "Cause",
    "Change",
    "ChangeOfSubject",
    "Check",
    "Checkpoint",
    "CheckpointCheckpoints",
    "CheckpointCopied",
    "CheckpointHistoryResult",
    "CheckpointPruned",
    "CheckpointRule",
    "CheckpointRules",
    "CheckpointWritten",
    "Context",
    "ContextLeftOut",
    "ContextSection",
    "ContextWhy",
    "Contract",
    "ContractContracts",
    "ContractDeclarations",
    "ContractProblem",
    "ContractProblems",
    "ContractTerms",
    "CopyChanges",
    "Counts",
    "DeclaredContract",
    "Delivery",
    "Difference",
    "Differences",
    "Dot",
    "Durations",
    "Entry",
    "EntryChange",
    "EventEmitted",
    "EventOrder",
    "EventPage",
    "EventType",
    "Every",
    "Explanation",
    "Fact",
    "Failure",
    "Finding",
    "Forked",
    "Found",
    "Frames",
    "Given",
    "Handler",
    "Handoff",
    "HandoffAccepted",
    "HandoffHandoffs",
    "HandoffStatistics",
    "HandoffStatus",
    "HandoffVerdict",
    "Happened",
    "Hold",
    "Join",
    "JoinStatus",
    "KeyReader",
    "KeyRules",
    "Lease",
    "LeftOut",
    "Link",
    "ListedWorkspace",
    "Lock",
    "LockLocks",
    "LockStatus",
    "Manner",
    "Merge",
    "Message",
    "MessageAcked",
    "MessageHandlers",
    "MessageMessages",
    "MessageReceived",
    "MessageStatus",
    "Minimal",
    "Namespace",
    "NamespaceChange",
    "NamespaceNamespaces",
    "OnBreak",
    "OnLoop",
    "Origin",
    "OtherChanges",
    "Page",
    "Pair",
    "Part",
    "Passage",
    "PendingWrite",
    "Permit",
    "PermitWait",
    "Pipeline",
    "PipelinePipelines",
    "PipelineStatus",
    "PipelineSummary",
    "PresentKey",
    "Progress",
    "Published",
    "Reaction",
    "ReactionOn",
    "ReactionReactions",
    "ReactionTrouble",
    "Receipt",
    "Results",
    "Retention",
    "Reviewers",
    "Rule",
    "RuleOn",
    "RuleRules",
    "Rules",
    "SearchKind",
    "SecretRecord",
    "SecretSecrets",
    "Seen",
    "Semaphore",
    "SemaphoreSemaphores",
    "Sent",
    "Severity",
    "Source",
    "SpendAccount",
    "SpendAmounts",
    "SpendBudget",
    "SpendEntry",
    "SpendRecorded",
    "SpendRecords",
    "SpendTotal",
    "Stage",
    "StageMoved",
    "StageOutput",
    "StageStatus",
    "StateChanges",
    "StateMoved",
    "Statistics",
    "Step",
    "StepStatus",
    "Stream",
    "StreamFrame",
    "StreamStatus",
    "StreamStreams",
    "SyncChoice",
    "SyncConflict",
    "SyncOutcome",
    "SyncReport",
    "Taken",
    "Task",
    "TaskCompleted",
    "TaskHistoryResult",
    "TaskStatus",
    "TaskTasks",
    "TimeInState",
    "Topic",
    "TopicTopics",
    "TransferContext",
    "Transition",
    "Trouble",
    "ValueKind",
    "Verdict",
    "Wait",
    "Warning",
    "Webhook",
    "Why",
    "Won",
    "WonBy",
    "Work",
    "WorkKind",
    "WorkspaceWorkspace",
    "WorkspaceWorkspaces",
    "Written",
    "datetime",
    "moment",
    "optional",
]
