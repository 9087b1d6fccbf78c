//! The operations on hand-offs.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Offer = "handoff.offer" -> "handoff", Post "/handoffs" Body, Work, names_token:
        "Offer work to an agent, or to whoever can do it",
        {"to": "bob", "task": "t-7", "token": 12, "reason": "the sources are in",
            "work_completed": ["read"], "remaining_work": ["write"], "state": {"tone": "dry"},
            "keys": ["agent:ada/plan"]};
    Command::Execute = "handoff.execute" -> "handoff", Post "/executions" Body, Work, names_token:
        "Hand over state and task together, without asking",
        {"to": "bob", "task": "t-7", "token": 12, "reason": "the sources are in",
            "work_completed": ["read"], "remaining_work": ["write"], "state": {"tone": "dry"},
            "keys": ["agent:ada/plan"]};
    Command::Validate = "handoff.validate" -> "verdict", Post "/validations" Body, Work,
        names_token:
        "Ask the rules about an offer without making it",
        {"to": "bob", "task": "t-7", "token": 12, "reason": "the sources are in",
            "work_completed": ["read"], "remaining_work": ["write"], "state": {"tone": "dry"},
            "keys": ["agent:ada/plan"]};
    Command::Receive = "handoff.receive" -> "received", Post "/receptions" Body, Work,
        waits("wait_ms"):
        "Get the next hand-off, or wait for one", {"wait_ms": 30000};
    Command::Accept = "handoff.accept" -> "accepted", Post "/handoffs/{handoff}/accept" Body, Work:
        "Take what is offered", {"handoff": "h-9", "lease_ms": 300000};
    Command::Reject = "handoff.reject" -> "handoff", Post "/handoffs/{handoff}/reject" Body, Work:
        "Say no to a hand-off", {"handoff": "h-9", "reason": "not now"};
    Command::Complete = "handoff.complete" -> "handoff", Post "/handoffs/{handoff}/complete" Body,
        Work:
        "Say that what was handed over is done", {"handoff": "h-9", "result": {"words": 900}};
    Command::Cancel = "handoff.cancel" -> "handoff", Post "/handoffs/{handoff}/cancel" Body, Work:
        "Withdraw a hand-off", {"handoff": "h-9", "reason": "not now"};
    Command::Approve = "handoff.approve" -> "handoff", Post "/handoffs/{handoff}/approve" Body,
        Work:
        "Let a hand-off pass", {"handoff": "h-9", "reason": "go ahead"};
    Query::Get = "handoff.get" -> "handoff", Get "/handoffs/{handoff}" Query, Read:
        "Read a hand-off", {"handoff": "h-9"};
    Query::List = "handoff.list" -> "handoffs", Get "/handoffs" Query, Read:
        "List hand-offs", {"to": "bob", "status": "offered", "limit": 10};
    Query::History = "handoff.history" -> "handoffs", Get "/tasks/{task}/handoffs" Query, Read:
        "How a task went from hand to hand", {"task": "t-7"};
    Query::Export = "handoff.export" -> "context", Get "/handoffs/{handoff}/context" Query, Read:
        "A hand-off as other systems write it", {"handoff": "h-9"};
    Query::Stats = "handoff.stats" -> "stats", Get "/stats/handoffs" Query, Read:
        "Count hand-offs: how they ended, how long they took", {};
}
