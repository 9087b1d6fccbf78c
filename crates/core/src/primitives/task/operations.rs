//! The operations on tasks.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Create = "task.create" -> "task", Post "/tasks" Body, Work:
        "Want something done",
        {"type": "review", "description": "review the change", "definition": {"change": 7},
            "priority": 5, "capabilities": ["rust"], "max_retries": 2, "deadline_ms": 3600000};
    Command::Claim = "task.claim" -> "claimed", Post "/claims" Body, Work, waits("wait_ms"),
        gives_back("task.release", &[("task", "/id"), ("token", "/lease/token"),
        ("reason", "whoever claimed it had given up")]):
        "Take the next task, or wait for one",
        {"types": ["review"], "lease_ms": 60000, "wait_ms": 1000};
    Command::Heartbeat = "task.heartbeat" -> "task", Post "/tasks/{task}/heartbeat" Body, Work,
        names_token:
        "Say that the work goes on", {"task": "t-7", "token": 42};
    Command::Progress = "task.progress" -> "task", Post "/tasks/{task}/progress" Body, Work,
        names_token:
        "Say how far the work is", {"task": "t-7", "token": 42, "fraction": 0.5, "note": "halfway"};
    Command::Update = "task.update" -> "task", Post "/tasks/{task}/update" Body, Work, names_token:
        "Change some fields of a task",
        {"task": "t-7", "token": 42, "fields": {"metadata": {"model": "m1"}}};
    Command::Release = "task.release" -> "task", Post "/tasks/{task}/release" Body, Work,
        names_token:
        "Let a task go, for others to take", {"task": "t-7", "token": 42};
    Command::Complete = "task.complete" -> "completed", Post "/tasks/{task}/complete" Body, Work,
        names_token:
        "Say that a task is done", {"task": "t-7", "token": 42, "result": {"verdict": "good"}};
    Command::Fail = "task.fail" -> "task", Post "/tasks/{task}/fail" Body, Work, names_token:
        "Say that a try has failed",
        {"task": "t-7", "token": 42, "error": {"code": "model_overloaded"}};
    Command::Cancel = "task.cancel" -> "task", Post "/tasks/{task}/cancel" Body, Work:
        "Cancel a task and everything below it", {"task": "t-7", "reason": "no longer wanted"};
    Command::Review = "task.review" -> "task", Post "/tasks/{task}/review" Body, Work:
        "Decide about a task that waits for a person",
        {"task": "t-7", "verdict": "retry", "note": "the model is back"};
    Query::Get = "task.get" -> "task", Get "/tasks/{task}" Query, Read:
        "Read a task", {"task": "t-7"};
    Query::List = "task.list" -> "tasks", Get "/tasks" Query, Read, narrows_by_agent:
        "List tasks", {"status": "pending", "type": "review", "limit": 10};
    Query::Stats = "task.stats" -> "stats", Get "/stats/tasks" Query, Read:
        "How many tasks there are, how long they took, why they failed", {"type": "review"};
    Query::Why = "task.why" -> "why", Get "/tasks/{task}/why" Query, Read:
        "Why a task is not running", {"task": "t-7"};
    Query::History = "task.history" -> "history", Get "/tasks/{task}/history" Query, Read,
        is_about_the_past:
        "What happened to a task, newest first", {"task": "t-7"};
}
