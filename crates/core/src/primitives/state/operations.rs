//! The operations on shared state.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Set = "state.set" -> "entry", Put "/state/{namespace}/{*key}" Whole("value"), Work,
        has_version,
        side_effects("Artifacts whose ids occur in the value are kept while the entry has it."):
        "Write an entry", {"namespace": "shared", "key": "plan", "value": {"step": 1}};
    Command::Patch = "state.patch" -> "entry", Patch "/state/{namespace}/{*key}" Patch, Work,
        has_version:
        "Patch an entry", {"namespace": "shared", "key": "plan", "merge": {"step": 2}};
    Command::Delete = "state.delete" -> "entry", Delete "/state/{namespace}/{*key}" Query, Work,
        has_version:
        "Delete an entry", {"namespace": "shared", "key": "plan", "expected_version": 2};
    Command::Transfer = "state.transfer" -> "moved", Post "/transfers" Body, Work,
        side_effects(
            "Moved entries are deleted from the source namespace in the same commit; with `copy` \
             they stay there."
        ):
        "Move or copy entries to another namespace",
        {"from_namespace": "agent:ada", "to_namespace": "agent:bob", "keys": ["notes"]};
    Query::Get = "state.get" -> "entry", Get "/state/{namespace}/{*key}" Query, Read, has_version:
        "Get an entry", {"namespace": "shared", "key": "plan"};
    Query::List = "state.list" -> "entries", Get "/state/{namespace}" Query, Read:
        "List the entries of a namespace",
        {"namespace": "shared", "pattern": "task:*", "limit": 10};
    Query::History = "state.history" -> "changes", Get "/history" Query, Read, is_about_the_past:
        "List changes to entries, newest first", {"namespace": "shared", "key": "plan"};
    Query::Snapshot = "state.snapshot" -> "entries", Get "/state" Query, Read:
        "List the entries of all namespaces at one revision", {"limit": 100};
    Query::Diff = "state.diff" -> "changes", Get "/diff" Query, Read, is_about_the_past:
        "List the entries that differ between two revisions", {"from": 0};
}
