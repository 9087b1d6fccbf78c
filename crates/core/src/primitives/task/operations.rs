//! The operations on tasks.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Create = "task.create" -> "task", Post "/tasks" Body, Work,
        side_effects(
            "A waiting `task.claim` that matches gets the task in the same commit. If no active \
             agent is able to claim it, the reply has a warning."
        ):
        "Create a task",
        {"type": "review", "description": "review the change", "definition": {"change": 7},
            "priority": 5, "capabilities": ["rust"], "max_retries": 2, "deadline_ms": 3600000};
    Command::Claim = "task.claim" -> "claimed", Post "/claims" Body, Work, waits("wait_ms"),
        gives_back("task.release", &[("task", "/id"), ("token", "/lease/token"),
        ("reason", "the caller was gone when the task was claimed")]),
        other_reply(&["limit"], "a `limit` above 1", "claimed_tasks"),
        side_effects(
            "The lease ends when `lease_ms` elapses without a heartbeat, or with the session of \
             the holder. Either counts as a failed attempt, and the task becomes available again."
        ),
        null_when("no task was available within `wait_ms`"):
        "Claim the next task, optionally waiting for one",
        {"types": ["review"], "lease_ms": 60000, "wait_ms": 1000};
    Command::Heartbeat = "task.heartbeat" -> "task", Post "/tasks/{task}/heartbeat" Body, Work,
        names_token:
        "Renew the lease of a task", {"task": "t-7", "token": 42};
    Command::Progress = "task.progress" -> "task", Post "/tasks/{task}/progress" Body, Work,
        names_token:
        "Report progress and renew the lease",
        {"task": "t-7", "token": 42, "fraction": 0.5, "note": "halfway"};
    Command::Update = "task.update" -> "task", Post "/tasks/{task}/update" Body, Work, names_token:
        "Update fields of a claimed task",
        {"task": "t-7", "token": 42, "fields": {"metadata": {"model": "m1"}}};
    Command::Release = "task.release" -> "task", Post "/tasks/{task}/release" Body, Work,
        names_token,
        side_effects("The task becomes available again. The hand-off through which the holder got \
            the task fails."):
        "Release a task so that another agent can claim it", {"task": "t-7", "token": 42};
    Command::Complete = "task.complete" -> "completed", Post "/tasks/{task}/complete" Body, Work,
        names_token,
        side_effects(
            "Completes the hand-off through which the holder got the task. Dependent tasks become \
             ready, joins settle and the stage of a pipeline is completed in the same commit."
        ):
        "Complete a task", {"task": "t-7", "token": 42, "result": {"verdict": "good"}};
    Command::Fail = "task.fail" -> "task", Post "/tasks/{task}/fail" Body, Work, names_token,
        side_effects(
            "The task is retried after its backoff, up to `max_retries` times; after that, \
             `on_exhausted` applies. The hand-off through which the holder got the task fails."
        ):
        "Fail an attempt at a task",
        {"task": "t-7", "token": 42, "error": {"code": "model_overloaded"}};
    Command::Cancel = "task.cancel" -> "task", Post "/tasks/{task}/cancel" Body, Work,
        side_effects(
            "Cancels its subtasks, and the tasks that depend on it. Its hand-off ends, and the \
             stage of a pipeline fails."
        ):
        "Cancel a task and its subtasks", {"task": "t-7", "reason": "no longer wanted"};
    Command::Review = "task.review" -> "task", Post "/tasks/{task}/review" Body, Work,
        side_effects(
            "As `task.complete` or `task.fail`, according to the verdict; `retry` returns the task \
             to its queue for another attempt, with the note as its `reason`."
        ):
        "Decide on a task that waits for review",
        {"task": "t-7", "verdict": "retry", "note": "the model is back"};
    Command::Retry = "task.retry" -> "task", Post "/tasks/{task}/retry" Body, Work,
        side_effects(
            "Tasks that were cancelled because of the failed one are restored with it, unless \
             another task prevents them from running. The count of failed attempts starts at 0 \
             again. A waiting `task.claim` that matches gets the task in the same commit."
        ):
        "Retry a failed task under its own id",
        {"task": "t-7", "reason": "the model is back"};
    Query::Get = "task.get" -> "task", Get "/tasks/{task}" Query, Read:
        "Get a task", {"task": "t-7"};
    Query::List = "task.list" -> "tasks", Get "/tasks" Query, Read, narrows_by_agent:
        "List tasks", {"status": "pending", "type": "review", "limit": 10};
    Query::Stats = "task.stats" -> "stats", Get "/stats/tasks" Query, Read:
        "Get task counts, durations and failure reasons", {"type": "review"};
    Query::Why = "task.why" -> "why", Get "/tasks/{task}/why" Query, Read:
        "Explain why a task is not running", {"task": "t-7"};
    Query::History = "task.history" -> "history", Get "/tasks/{task}/history" Query, Read,
        is_about_the_past:
        "List the events of a task, newest first", {"task": "t-7"};
}
