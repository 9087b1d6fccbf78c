//! The operations on checkpoints.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Save = "checkpoint.save" -> "checkpoint", Post "/checkpoints" Body, Work, names_token:
        "Save the state of a task, or of another thread of work",
        {"task": "thread-7", "state": {"step": 3}, "description": "the outline stands",
            "label": "outline", "metadata": {"node": "plan"}};
    Command::Restore = "checkpoint.restore" -> "restored",
        Post "/checkpoints/{checkpoint}/restore" Body, Work, names_token:
        "Go back to a checkpoint", {"checkpoint": "c-0000000003"};
    Command::Fork = "checkpoint.fork" -> "checkpoint", Post "/checkpoints/{checkpoint}/fork" Body,
        Work, names_token:
        "Begin another task with the content of a checkpoint",
        {"checkpoint": "c-0000000003", "task": "thread-8"};
    Command::Label = "checkpoint.label" -> "checkpoint",
        Post "/checkpoints/{checkpoint}/label" Body, Work:
        "Call a checkpoint by a name, which keeps it",
        {"checkpoint": "c-0000000003", "label": "outline"};
    Command::Prune = "checkpoint.prune" -> "pruned", Post "/tasks/{task}/prune" Body, SetUp:
        "Remove checkpoints of a task", {"task": "thread-7", "keep": 10, "older_than_ms": 3600000};
    Command::Retain = "checkpoint.retain" -> "rules", Post "/retention/checkpoints" Body, SetUp:
        "Say how many checkpoints are kept, and for how long",
        {"task": "thread-*", "keep": 20, "max_age_ms": 604800000};
    Query::Latest = "checkpoint.latest" -> "latest", Get "/tasks/{task}/checkpoint" Query, Read:
        "Read the checkpoint that a task goes on from", {"task": "thread-7"};
    Query::Get = "checkpoint.get" -> "checkpoint", Get "/checkpoints/{checkpoint}" Query, Read:
        "Read a checkpoint with its state", {"checkpoint": "c-0000000003"};
    Query::List = "checkpoint.list" -> "checkpoints", Get "/checkpoints" Query, Read:
        "List checkpoints, newest first, without their states",
        {"task": "thread-7", "metadata": {"node": "plan"}, "limit": 10};
    Query::Retention = "checkpoint.retention" -> "rules", Get "/retention/checkpoints" Query, Read:
        "How many checkpoints are kept, and for how long", {};
}
