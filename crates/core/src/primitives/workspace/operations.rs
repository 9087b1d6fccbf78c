//! The operations on the workspace.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Configure = "workspace.configure" -> "workspace", Patch "" Body, SetUp,
        side_effects("History beyond the new bounds is removed in the background."):
        "Configure a workspace", {"history_count": 1000000};
    Command::Sync = "workspace.sync" -> "synced", Post "/sync" Body, SetUp,
        side_effects("Changes entries and namespaces in one commit, with the event \
            `workspace.synced`."):
        "Apply the changes of another copy of a workspace", {
            "theirs": {
                "workspace": "research", "copy": "research.1769850000000", "revision": 57,
                "time": "2026-01-31T12:03:20.000Z", "since": 43,
                "seen": [{"copy": "research", "revision": 42, "time": "2026-01-31T09:00:00.000Z"}],
                "namespaces": [{"name": "shared", "rules": {}}],
                "entries": [{
                    "namespace": "shared", "key": "plan", "value": "ship", "was": "draft",
                    "written": {
                        "time": "2026-01-31T11:46:40.000Z", "by": "ada",
                        "dots": [{"copy": "research.1769850000000", "revision": 51}]
                    }
                }]
            },
            "ours": {
                "workspace": "research", "copy": "research", "revision": 60,
                "time": "2026-01-31T12:20:00.000Z", "since": 42,
                "namespaces": [{"name": "shared", "rules": {}}]
            }
        };
    Query::Get = "workspace.get" -> "workspace", Get "" Query, Read:
        "Get a workspace", {};
    Query::List = "workspace.list" -> "workspaces", Get "/workspaces" Query, Read,
        is_about_the_past:
        "List workspaces", {"limit": 10};
    Query::Fork = "workspace.fork" -> "forked", Post "/fork" Body, Administer, is_about_the_past,
        side_effects("Creates the workspace. Later changes of either do not affect the other."):
        "Fork a workspace from its state at a revision or time",
        {"to": "research-what-if", "at": 42};
    Query::Delete = "workspace.delete" -> "deleted", Delete "" Query, Administer, is_about_the_past,
        side_effects("Waiting calls are rejected and watches end. A new workspace of this name \
            starts empty, and its revisions continue after the last one."):
        "Delete a workspace with its history", {"revision": 42};
    Query::Diff = "workspace.diff" -> "differences", Get "/differences" Query, Read,
        is_about_the_past:
        "List what changed between two revisions or times",
        {"from": "2026-01-31T12:00:00Z", "pattern": "tasks/**"};
    Query::Changes = "workspace.changes" -> "changes", Post "/changes" Body, Read,
        is_about_the_past:
        "List the changes of a copy that another copy does not include yet",
        {"with": {"copy": "research", "seen": []}, "limit": 100};
    Query::Search = "workspace.search" -> "found", Get "/search" Query, Read, is_about_the_past,
        alias("q", "query"):
        "Search tasks, messages, keys and events",
        {"query": "status:failed type:build \"out of memory\""};
    Query::Why = "workspace.why" -> "why", Get "/why" Query, Read, is_about_the_past:
        "Explain what led to an entry, a task or a hand-off", {"subject": "state/shared/plan"};
}
