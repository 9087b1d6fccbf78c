//! The operations on the workspace.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Configure = "workspace.configure" -> "workspace", Patch "" Body, SetUp:
        "Set up the workspace", {"history_count": 1000000};
    Query::Get = "workspace.get" -> "workspace", Get "" Query, Read:
        "Read the workspace", {};
    Query::List = "workspace.list" -> "workspaces", Get "/workspaces" Query, Read,
        is_about_the_past:
        "List the workspaces that there are", {"limit": 10};
    Query::Fork = "workspace.fork" -> "forked", Post "/fork" Body, Administer, is_about_the_past:
        "Make another workspace that begins as this one was", {"to": "research-what-if", "at": 42};
    Query::Diff = "workspace.diff" -> "differences", Get "/differences" Query, Read,
        is_about_the_past:
        "What happened to everything between two moments",
        {"from": "2026-01-31T12:00:00Z", "pattern": "tasks/**"};
    Query::Search = "workspace.search" -> "found", Get "/search" Query, Read, is_about_the_past,
        alias("q", "query"):
        "Find tasks, messages, keys and events by text and fields",
        {"query": "status:failed type:build \"out of memory\""};
    Query::Why = "workspace.why" -> "why", Get "/why" Query, Read, is_about_the_past:
        "What led to an entry, a task or a hand-off", {"subject": "state/shared/plan"};
}
