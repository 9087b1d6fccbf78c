//! The operations on checkpoints.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Save = "checkpoint.save" -> "checkpoint", Post "/checkpoints" Body, Work, names_token,
        side_effects(
            "The checkpoint becomes the head of its task. Retention rules may delete older \
             checkpoints in the same commit."
        ):
        "Save a checkpoint of a task or another unit of work",
        {"task": "thread-7", "state": {"step": 3}, "description": "the outline is finished",
            "label": "outline", "metadata": {"node": "plan"}};
    Command::Restore = "checkpoint.restore" -> "restored",
        Post "/checkpoints/{checkpoint}/restore" Body, Work, names_token,
        side_effects(
            "The checkpoint becomes the head of its task: the next `checkpoint.save` continues \
             from it."
        ):
        "Make a checkpoint the current one of its task and return it",
        {"checkpoint": "c-0000000003"};
    Command::Fork = "checkpoint.fork" -> "checkpoint", Post "/checkpoints/{checkpoint}/fork" Body,
        Work, names_token,
        side_effects("The new checkpoint becomes the head of the other task."):
        "Start the checkpoints of another task with a copy of this one",
        {"checkpoint": "c-0000000003", "task": "thread-8"};
    Command::Label = "checkpoint.label" -> "checkpoint",
        Post "/checkpoints/{checkpoint}/label" Body, Work,
        side_effects("A labelled checkpoint is not deleted by retention rules."):
        "Set or remove the label of a checkpoint",
        {"checkpoint": "c-0000000003", "label": "outline"};
    Command::Write = "checkpoint.write" -> "written", Post "/tasks/{task}/writes" Body, Work,
        names_token,
        side_effects(
            "An existing write is kept, unless `replace` is set. Writes are deleted with their \
             checkpoint."
        ):
        "Store pending writes after a checkpoint",
        {"task": "thread-7", "key": "1f0-7a", "writer": "search",
            "writes": [{"index": 0, "channel": "messages", "value": "gqRyb2xl",
                "content_type": "msgpack"}]};
    Command::Copy = "checkpoint.copy" -> "copied", Post "/tasks/{task}/copy" Body, Work,
        names_token,
        side_effects("The copy of the head becomes the head of the other task."):
        "Copy all checkpoints of a task to another one",
        {"task": "thread-7", "to": "thread-8"};
    Command::Prune = "checkpoint.prune" -> "pruned", Post "/tasks/{task}/prune" Body, SetUp:
        "Delete checkpoints of a task by number, age, metadata or key",
        {"task": "thread-7", "keep": 10, "older_than_ms": 3600000};
    Command::Retain = "checkpoint.retain" -> "rules", Post "/retention/checkpoints" Body, SetUp,
        side_effects(
            "Checkpoints beyond the number are deleted by the next save; older ones when their \
             age is reached."
        ):
        "Set a retention rule for checkpoints",
        {"task": "thread-*", "keep": 20, "max_age_ms": 604800000};
    Query::Latest = "checkpoint.latest" -> "latest", Get "/tasks/{task}/checkpoint" Query, Read,
        null_when("the task has no checkpoint"):
        "Get the current checkpoint of a task", {"task": "thread-7"};
    Query::Get = "checkpoint.get" -> "checkpoint", Get "/checkpoints/{checkpoint}" Query, Read:
        "Get a checkpoint with its state", {"checkpoint": "c-0000000003"};
    Query::List = "checkpoint.list" -> "checkpoints", Get "/checkpoints" Query, Read:
        "List checkpoints, newest first, without their states",
        {"task": "thread-7", "metadata": {"node": "plan"}, "limit": 10};
    Query::History = "checkpoint.history" -> "history", Get "/tasks/{task}/checkpoints" Query, Read:
        "Read checkpoints by key, with states and pending writes",
        {"task": "thread-7", "prefix": "1f0-", "limit": 1};
    Query::Retention = "checkpoint.retention" -> "rules", Get "/retention/checkpoints" Query, Read:
        "List the retention rules for checkpoints", {};
}
