//! The operations that wait for a status.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Task = "task.wait" -> "task", Post "/tasks/{task}/wait" Body, Work, waits("wait_ms"),
        null_when("the status was not reached within `wait_ms`"):
        "Wait until a task has finished or has one of the given statuses",
        {"task": "t-7", "statuses": ["in_progress"], "wait_ms": 30000};
    Command::Handoff = "handoff.wait" -> "handoff", Post "/handoffs/{handoff}/wait" Body, Work,
        waits("wait_ms"),
        null_when("the status was not reached within `wait_ms`"):
        "Wait until a hand-off has ended or has one of the given statuses",
        {"handoff": "h-9", "statuses": ["accepted"], "wait_ms": 30000};
}
