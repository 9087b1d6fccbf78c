//! The operations that wait for a status.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Task = "task.wait" -> "task", Post "/tasks/{task}/wait" Body, Work, waits("wait_ms"),
        null_when("the status was not reached within `wait_ms`"):
        "Wait until a task has finished or has one of the given statuses",
        {"task": "t-7", "statuses": ["in_progress"], "wait_ms": 30000};
    Command::Next = "agent.next" -> "next", Post "/next" Body, Work, waits("wait_ms"),
        gives_back("task.release", &[("task", "/task/id"), ("token", "/task/lease/token"),
        ("reason", "the caller was gone when the task was claimed")]),
        side_effects(
            "As `handoff.receive`, `inbox.receive` or `task.claim`, according to what comes first. \
             If there is work of several kinds, a hand-off comes before a message, and a message \
             before a task."
        ),
        null_when("nothing came within `wait_ms`"):
        "Receive the next hand-off, message or task, whichever comes first",
        {"types": ["review"], "lease_ms": 60000, "wait_ms": 30000};
    Command::Handoff = "handoff.wait" -> "handoff", Post "/handoffs/{handoff}/wait" Body, Work,
        waits("wait_ms"),
        null_when("the status was not reached within `wait_ms`"):
        "Wait until a hand-off has ended or has one of the given statuses",
        {"handoff": "h-9", "statuses": ["accepted"], "wait_ms": 30000};
}
