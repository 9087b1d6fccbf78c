"""The arguments of the operations that are more than a plain value.

Made by `generate.py` from `spec/`; changes made here are overwritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from .types import HandoffStatus, Merge, SyncChoice, TaskStatus, ValueKind


class AddressCapability(TypedDict):
    """One of the listening agents with this capability."""

    capability: str
    """The capability."""


class AddressHandler(TypedDict):
    """One of the agents that are registered for this handler."""

    handler: str
    """The name of the handler."""


class AgentPrecondition(TypedDict):
    """An argument `AgentPrecondition`."""

    active: bool
    """Whether it must have a session."""

    agent: str
    """The agent."""


class ApprovalWanted(TypedDict, total=False):
    """The agents that must approve a hand-off, and how long an approval is valid."""

    by: Sequence[str]
    """The approvers. If omitted, any agent except the giver and the receiver."""

    expires_ms: int
    """How long an approval is valid, in milliseconds. If omitted, as long as the offer."""


class Backoff(TypedDict, total=False):
    """The delay before the next attempt: `initial_ms`, multiplied by `multiplier` after each
    failure, up to `max_ms`, and randomised by the fraction `jitter` in both directions.
    """

    initial_ms: int
    """The delay before the first retry in milliseconds."""

    jitter: float
    """The fraction of random variation, 0 to 1, so that tasks that failed together are not retried
    together.
    """

    max_ms: int
    """The maximum delay in milliseconds, before jitter."""

    multiplier: float
    """The factor by which each delay grows; at least 1."""


class _ContractTermsRequired(TypedDict):
    key: str
    """`namespace/key`, or a pattern of such names."""


class ContractTerms(_ContractTermsRequired, total=False):
    """The terms that a receiver expects of one key, or of all keys that match a pattern."""

    fields: Sequence[str]
    """Fields that the value contains: names, or JSON Pointers (RFC 6901) such as `/owner/name`.
    """

    optional: bool
    """Whether the entry may be deleted. If `false`, that breaks the contract."""

    schema: Any
    """A JSON Schema that the value satisfies. If omitted, any value does."""

    type: ValueKind
    """The JSON type of the value. If omitted, any."""


class _CopyChangesRequired(TypedDict):
    copy: str
    """The copy."""

    revision: int
    """The revision that this reflects."""

    since: int
    """The changes after this revision."""

    time: str | datetime
    """The time of that revision."""

    workspace: str
    """The name of the workspace."""


class CopyChanges(_CopyChangesRequired, total=False):
    """The changes of a copy that another copy does not include yet."""

    entries: Sequence[EntryChange]
    """The entries that changed, by namespace and key."""

    more: bool
    """Whether there are later changes."""

    namespaces: Sequence[NamespaceChange]
    """The namespaces that changed or that `entries` are in, by name."""

    others: Sequence[OtherChanges]
    """The other changes, which are not synchronized, by kind."""

    seen: Sequence[Seen]
    """The revisions of other copies that the copy includes at `revision`."""

    seen_before: Sequence[Seen]
    """The revisions of other copies that it included at `since`."""


class Dot(TypedDict):
    """A write: the copy and the revision that made it."""

    copy: str
    """The copy."""

    revision: int
    """Its revision."""


class _EntryChangeRequired(TypedDict):
    key: str
    """The key."""

    namespace: str
    """The namespace."""

    written: Written
    """Its last change."""


class EntryChange(_EntryChangeRequired, total=False):
    """An entry that changed."""

    expires_at: str | datetime
    """When it expires. Absent if it does not."""

    value: Any
    """Its value. Absent if it was deleted."""

    was: Any
    """Its value at `since`. Absent if there was none."""


class _EntryPreconditionRequired(TypedDict):
    key: str
    """The key."""

    namespace: str
    """The namespace."""


class EntryPrecondition(_EntryPreconditionRequired, total=False):
    """An argument `EntryPrecondition`."""

    exists: bool
    """Whether the entry must exist. If omitted, not checked."""

    value: Any
    """The entry must have this value. `null` means the value null, not that there is no entry: use
    `exists` for that. If omitted, not checked.
    """

    version: int
    """The entry must have this version; 0 means that it must not exist. If omitted, not checked.
    """


class HandoffPrecondition(TypedDict):
    """An argument `HandoffPrecondition`."""

    handoff: str
    """The hand-off."""

    status: HandoffStatus
    """The status that it must have."""


class KeyRules(TypedDict):
    """Rules for the keys that match a pattern."""

    pattern: str
    """The keys."""

    rules: Rules
    """The rules for these keys."""


class _KnownRequired(TypedDict):
    copy: str
    """The copy."""


class Known(_KnownRequired, total=False):
    """A copy, and what it includes of others."""

    seen: Sequence[Seen]
    """The revisions of other copies that it includes."""


class _LockPreconditionRequired(TypedDict):
    name: str
    """The name of the lock."""


class LockPrecondition(_LockPreconditionRequired, total=False):
    """An argument `LockPrecondition`."""

    held: bool
    """Whether an agent must hold it. If omitted, not checked."""

    holder: str
    """The agent that must hold it. If omitted, not checked."""


class _NamespaceChangeRequired(TypedDict):
    name: str
    """The name."""


class NamespaceChange(_NamespaceChangeRequired, total=False):
    """A namespace in a document."""

    rules: Rules
    """Its rules. Absent if there is no such namespace."""

    written: Written
    """Its last change. Absent if it has not changed."""


class NamespacePrecondition(TypedDict):
    """An argument `NamespacePrecondition`."""

    exists: bool
    """Whether it must exist."""

    name: str
    """The name of the namespace."""


class _NewWriteRequired(TypedDict):
    channel: str
    """The channel that is written to, as the caller names it."""

    index: int
    """Its index among the writes of the step."""

    value: Any
    """The value: any JSON; with `content_type`, a string with bytes in Base64."""


class NewWrite(_NewWriteRequired, total=False):
    """One write of a step."""

    content_type: str
    """The type of the bytes. If omitted, the value is JSON."""

    replace: bool
    """Replace a write with the same writer and index. If `false`, the existing write is kept.
    """


class Next(TypedDict, total=False):
    """Claims the next task in the same commit that completes one."""

    capabilities: Sequence[str]
    """The capabilities of the caller. If omitted, those of its session."""

    lease_ms: int
    """The lease in milliseconds, unless it is renewed."""

    types: Sequence[str]
    """Only tasks of these types. If omitted, any type."""


class OnExhaustedAgent(TypedDict):
    """This agent gets the same number of attempts; after that the task fails."""

    agent: str
    """Not described."""


class OtherChanges(TypedDict):
    """How much of one kind changed that is not synchronized."""

    count: int
    """How many changed."""

    kind: str
    """The kind, such as `tasks`; `ephemeral` for entries that are bound to a session."""


class PreconditionAgent(TypedDict):
    """About the session of an agent."""

    agent: AgentPrecondition
    """Not described."""


class PreconditionEntry(TypedDict):
    """About an entry."""

    entry: EntryPrecondition
    """Not described."""


class PreconditionHandoff(TypedDict):
    """About a hand-off, which must exist."""

    handoff: HandoffPrecondition
    """Not described."""


class PreconditionLock(TypedDict):
    """About a lock."""

    lock: LockPrecondition
    """Not described."""


class PreconditionNamespace(TypedDict):
    """About the existence of a namespace."""

    namespace: NamespacePrecondition
    """Not described."""


class PreconditionRevision(TypedDict):
    """The workspace must not have changed since this revision."""

    revision: int
    """Not described."""


class PreconditionTask(TypedDict):
    """About a task, which must exist."""

    task: TaskPrecondition
    """Not described."""


class PreconditionToken(TypedDict):
    """The lease, hold, permit or session of this token must be live."""

    token: int
    """Not described."""


class ReactionOn(TypedDict, total=False):
    """The events that a reaction runs on: everything that is given must match. `type` or `subject`
    is required.
    """

    subject: str
    """The subject, such as `state/shared/**`. If omitted, any subject."""

    type: str
    """The event type, such as `task.completed` or `deploy.*`. If omitted, any type."""

    where: str
    """A CEL expression about `event` that must be true. If omitted, none."""


class ReceiverCapability(TypedDict):
    """An argument `ReceiverCapability`."""

    capability: str
    """The capability."""


class Reviewers(TypedDict, total=False):
    """The agents that may accept a result: those that are named, and those that have a capability.
    If there are none, any agent may. The agent that did the work can never accept it.
    """

    agents: Sequence[str]
    """The agents that may accept it."""

    capability: str
    """Every agent with a session and this capability may accept it, too. Default: none."""


RuleOn = TypedDict(
    "RuleOn",
    {
        "from": str,
        "task_type": str,
        "to": str,
    },
    total=False,
)
"""When a rule applies: everything that is given must match."""


class Rules(TypedDict, total=False):
    """Rules for the values that are written to a namespace, or to keys that match a pattern."""

    append_only: bool
    """Existing keys only grow, by `append` and `union`; they cannot be overwritten or deleted.
    """

    flat: bool
    """Warn about values that contain objects or lists of objects."""

    keys: Sequence[KeyRules]
    """Rules for some keys. The first pattern that matches applies instead of the rules above.
    """

    merge: Merge
    """How `state.set` combines the new value with the existing one."""

    schema: Any
    """A JSON Schema that every new value must satisfy. Default: none."""

    schema_version: int
    """The version of the schema, for readers. It can only increase. Default: none."""

    ttl_ms: int
    """Time to live of entries without their own, in milliseconds. If omitted, entries do not
    expire.
    """

    value_bytes_max: int
    """The maximum size of a value in bytes. If omitted, the general limit."""


class Seen(TypedDict):
    """How far a copy includes the changes of another one."""

    copy: str
    """The other copy."""

    revision: int
    """Its last revision that is included."""

    time: str | datetime
    """The time of that revision, by which the other copy recognizes it."""


class _SelectedKeyRequired(TypedDict):
    key: str
    """Not described."""


class SelectedKey(_SelectedKeyRequired, total=False):
    """An argument `SelectedKey`."""

    version: int
    """The required version. If omitted, any version."""


class SpendBudget(TypedDict, total=False):
    """A limit for each unit. A unit without a limit is not limited."""

    calls: int
    """The maximum number of calls. If omitted, calls are not limited."""

    cost_micros: int
    """The maximum amount of money, in millionths of the currency. If omitted, money is not
    limited.
    """

    tokens: int
    """The maximum number of tokens. If omitted, tokens are not limited."""


class SpendPayerAgent(TypedDict):
    """An agent."""

    agent: str
    """Not described."""


class SpendPayerTask(TypedDict):
    """A task, with all its subtasks."""

    task: str
    """Not described."""


class _StageDesignRequired(TypedDict):
    name: str
    """The name, unique within the pipeline."""


class StageDesign(_StageDesignRequired, total=False):
    """The definition of a stage."""

    after: Sequence[str]
    """The stages that it follows; an empty list makes it a first stage. If omitted, the stage
    before it in the list.
    """

    agent: str
    """The only agent that may work on it. If omitted, any agent."""

    backoff: Backoff
    """Backoff between attempts at its task. If omitted, the default of `Backoff`."""

    capabilities: Sequence[str]
    """Capabilities that an agent needs to claim its task."""

    deadline_ms: int
    """Deadline of its task in milliseconds from when the stage is ready. If omitted, none."""

    description: str
    """Human-readable description. Default: none."""

    each: bool
    """Create one task per element of its input, which must be a list; the output is the list of
    results.
    """

    max_retries: int
    """How often its task is retried automatically; if omitted, the default of `task.create`.
    Without a task, how often the stage may be retried; if omitted, without a limit.
    """

    on_exhausted: OnExhausted
    """The action on its task after the last attempt."""

    priority: int
    """The priority of its task."""

    reads: Sequence[str]
    """Keys that it reads, for documentation and contracts."""

    review: bool
    """Whether its output must be accepted by another agent before the stage is completed: with
    `task.review` if it has a task, else with `pipeline.review_stage`.
    """

    reviewers: Reviewers
    """The agents that may accept its output. If given, it has `review`. If omitted, any agent
    except the one that did the work.
    """

    type: str
    """The type of its task. If omitted, the name of the stage."""

    writes: Sequence[str]
    """Keys that it writes, for documentation and contracts."""


class SyncDecision(TypedDict):
    """A decision of a conflict."""

    key: str
    """The key."""

    namespace: str
    """The namespace."""

    take: SyncChoice
    """The side whose value to use."""


class _TaskPreconditionRequired(TypedDict):
    task: str
    """The task."""


class TaskPrecondition(_TaskPreconditionRequired, total=False):
    """An argument `TaskPrecondition`."""

    holder: str
    """The agent that must hold its lease. If omitted, not checked."""

    status: TaskStatus
    """The status that it must have. If omitted, not checked."""


class TransferContext(TypedDict, total=False):
    """A hand-off in a portable form."""

    handoff_id: str
    """The hand-off that this was exported from. Absent in contexts of other systems."""

    originating_agent: str
    """The giver: an id or an address. Absent if unknown."""

    originating_task_id: str
    """The task at its origin. Absent if there is none."""

    output_keys: Any
    """Names of what was produced. Absent if none were given."""

    reason: str
    """The reason. Absent if none was given."""

    state: Mapping[str, Any]
    """The flat object of context."""

    traceparent: str
    """W3C trace context (`traceparent`). Absent if none was given."""


class WantedCheck(TypedDict, total=False):
    """The check of a rule, as it is given. Exactly one field must be given."""

    capability: str
    """A capability that the receiver must have. If omitted, another field is required."""

    expression: str
    """A CEL expression that must be true. If omitted, another field is required."""

    hops_max: int
    """How often the work may change hands. If omitted, another field is required."""

    receiver_alive: bool
    """`true`: the receiver must have a session. If omitted, another field is required."""

    required_keys: Sequence[str]
    """Names that the state must have. If omitted, another field is required."""

    schema: Any
    """A JSON Schema for the state as one object. If omitted, another field is required."""

    state_bytes_max: int
    """The maximum size of the state, names and values, in bytes. If omitted, another field is
    required.
    """


class _WantedWebhookRequired(TypedDict):
    url: str
    """The URL to post to; `http://` or `https://`."""


class WantedWebhook(_WantedWebhookRequired, total=False):
    """A webhook."""

    retries: int
    """How often a failed call is retried."""

    secret: str
    """The secret that signs the calls. It is never returned. If omitted, calls are not signed.
    """

    timeout_ms: int
    """The timeout of one attempt in milliseconds."""


class Written(TypedDict):
    """When, by whom and where something was written."""

    by: str
    """The agent."""

    dots: Sequence[Dot]
    """The writes that produced it: several if it was combined from several."""

    time: str | datetime
    """The time."""


Address = str | AddressHandler | AddressCapability
"""The address of a request: an agent id, `{"handler": name}` or `{"capability": name}`."""

OnExhausted = str | OnExhaustedAgent
"""The action on a task after its last attempt has failed."""

Precondition = (
    PreconditionEntry
    | PreconditionNamespace
    | PreconditionAgent
    | PreconditionTask
    | PreconditionLock
    | PreconditionHandoff
    | PreconditionToken
    | PreconditionRevision
)
"""A precondition of a transaction."""

Receiver = str | ReceiverCapability
"""The id of an agent, or a capability that the receiver must have."""

Selected = str | SelectedKey
"""A key as `namespace/key`, optionally with a required version. Without a version, a key with `*`
is a pattern for keys of that namespace.
"""

SpendPayer = SpendPayerTask | SpendPayerAgent | str
"""The accounts that spending is charged to, and that can have a budget."""

__all__ = [
    "Address",
    "AddressCapability",
    "AddressHandler",
    "AgentPrecondition",
    "ApprovalWanted",
    "Backoff",
    "ContractTerms",
    "CopyChanges",
    "Dot",
    "EntryChange",
    "EntryPrecondition",
    "HandoffPrecondition",
    "KeyRules",
    "Known",
    "LockPrecondition",
    "NamespaceChange",
    "NamespacePrecondition",
    "NewWrite",
    "Next",
    "OnExhausted",
    "OnExhaustedAgent",
    "OtherChanges",
    "Precondition",
    "PreconditionAgent",
    "PreconditionEntry",
    "PreconditionHandoff",
    "PreconditionLock",
    "PreconditionNamespace",
    "PreconditionRevision",
    "PreconditionTask",
    "PreconditionToken",
    "ReactionOn",
    "Receiver",
    "ReceiverCapability",
    "Reviewers",
    "RuleOn",
    "Rules",
    "Seen",
    "Selected",
    "SelectedKey",
    "SpendBudget",
    "SpendPayer",
    "SpendPayerAgent",
    "SpendPayerTask",
    "StageDesign",
    "SyncDecision",
    "TaskPrecondition",
    "TransferContext",
    "WantedCheck",
    "WantedWebhook",
    "Written",
]
