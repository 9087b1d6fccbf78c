//! The operations on hand-offs.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Offer = "handoff.offer" -> "handoff", Post "/handoffs" Body, Work, names_token,
        side_effects(
            "Until the hand-off ends the giver keeps the task, and its lease does not expire. The \
             hand-off is delivered to a waiting `handoff.receive`. An offer that a rule or the \
             loop check rejects is not recorded; `/metrics` counts it."
        ):
        "Offer work to an agent, which may accept or reject it",
        {"to": "bob", "task": "t-7", "token": 12, "reason": "the sources are in",
            "work_completed": ["read"], "remaining_work": ["write"], "state": {"tone": "dry"},
            "keys": ["agent:ada/plan"]};
    Command::ImportContext = "handoff.import_context" -> "handoff", Post "/imports" Body, Work,
        side_effects(
            "As `handoff.offer`. The originating task, agent and hand-off become `notes`: they \
             have no meaning in this workspace."
        ):
        "Offer work from another system, given as a portable context",
        {"to": "bob", "context": {"originating_task_id": "t-7",
            "originating_agent": "https://agents.example/ada", "state": {"tone": "dry"},
            "output_keys": ["outline"], "reason": "the sources are in"}};
    Command::Execute = "handoff.execute" -> "handoff", Post "/executions" Body, Work, names_token,
        side_effects(
            "Moves the keys of the giver's namespace and assigns the task to the receiver, which \
             has to claim it; the giver's token becomes stale. A failed check records a failed \
             hand-off, and nothing is moved."
        ):
        "Hand over a task and state at once, without acceptance",
        {"to": "bob", "task": "t-7", "token": 12, "reason": "the sources are in",
            "work_completed": ["read"], "remaining_work": ["write"], "state": {"tone": "dry"},
            "keys": ["agent:ada/plan"]};
    Command::ExecuteAll = "handoff.execute_all" -> "handoffs", Post "/executions/all" Body, Work,
        side_effects(
            "Moves the keys of the caller's namespace and assigns its tasks to the receiver, which \
             has to claim them; the caller's tokens become stale. Locks, permits, mail and \
             sessions are not handed over. If one of the hand-offs is refused, nothing is moved."
        ):
        "Hand over all tasks and keys of the caller at once, without acceptance",
        {"to": "bob", "reason": "the shift ends"};
    Command::Validate = "handoff.validate" -> "verdict", Post "/validations" Body, Work,
        names_token,
        side_effects("None; nothing is recorded."):
        "Check an offer against the rules without making it",
        {"to": "bob", "task": "t-7", "token": 12, "reason": "the sources are in",
            "work_completed": ["read"], "remaining_work": ["write"], "state": {"tone": "dry"},
            "keys": ["agent:ada/plan"]};
    Command::Receive = "handoff.receive" -> "received", Post "/receptions" Body, Work,
        waits("wait_ms"),
        side_effects(
            "Marks the hand-off as delivered. Without an answer within `redeliver_ms` it is \
             delivered again; after several deliveries it expires."
        ),
        null_when("no hand-off was available within `wait_ms`"):
        "Receive the next hand-off, optionally waiting for one", {"wait_ms": 30000};
    Command::Accept = "handoff.accept" -> "accepted", Post "/handoffs/{handoff}/accept" Body, Work,
        side_effects(
            "Moves the task, with a new lease and token, and the keys of the giver's namespace in \
             one commit. The giver's token becomes stale."
        ):
        "Accept a hand-off", {"handoff": "h-9", "lease_ms": 300000};
    Command::Reject = "handoff.reject" -> "handoff", Post "/handoffs/{handoff}/reject" Body, Work,
        side_effects("The giver keeps the task, with a renewed lease."):
        "Reject a hand-off", {"handoff": "h-9", "reason": "not now"};
    Command::Complete = "handoff.complete" -> "handoff", Post "/handoffs/{handoff}/complete" Body,
        Work,
        side_effects("Completes the task of the hand-off as well."):
        "Complete an accepted hand-off", {"handoff": "h-9", "result": {"words": 900}};
    Command::Cancel = "handoff.cancel" -> "handoff", Post "/handoffs/{handoff}/cancel" Body, Work,
        side_effects("The giver keeps the task, with a renewed lease."):
        "Cancel a hand-off", {"handoff": "h-9", "reason": "not now"};
    Command::Approve = "handoff.approve" -> "handoff", Post "/handoffs/{handoff}/approve" Body,
        Work,
        side_effects("The hand-off can be delivered and accepted."):
        "Approve a hand-off", {"handoff": "h-9", "reason": "go ahead"};
    Query::Get = "handoff.get" -> "handoff", Get "/handoffs/{handoff}" Query, Read:
        "Get a hand-off", {"handoff": "h-9"};
    Query::List = "handoff.list" -> "handoffs", Get "/handoffs" Query, Read:
        "List hand-offs", {"to": "bob", "status": "offered", "limit": 10};
    Query::History = "handoff.history" -> "handoffs", Get "/tasks/{task}/handoffs" Query, Read:
        "List the hand-offs of a task, oldest first", {"task": "t-7"};
    Query::Export = "handoff.export" -> "context", Get "/handoffs/{handoff}/context" Query, Read:
        "Export a hand-off as a portable context", {"handoff": "h-9"};
    Query::Stats = "handoff.stats" -> "stats", Get "/stats/handoffs" Query, Read:
        "Get hand-off statistics", {};
}
