//! The operations on namespaces.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Create = "namespace.create" -> "namespace", Post "/namespaces" Body, SetUp:
        "Create a namespace", {"name": "notes", "rules": {"append_only": true}};
    Command::Configure = "namespace.configure" -> "namespace",
        Put "/namespaces/{name}" Whole("rules"), SetUp,
        side_effects("Existing entries are not checked against the new rules."):
        "Replace the rules of a namespace", {"name": "notes", "rules": {"ttl_ms": 86400000}};
    Command::Delete = "namespace.delete" -> "namespace", Delete "/namespaces/{name}" Query, SetUp,
        side_effects("Deletes all its entries in the same commit."):
        "Delete a namespace with all its entries", {"name": "notes"};
    Query::List = "namespace.list" -> "namespaces", Get "/namespaces" Query, Read:
        "List namespaces", {};
    Query::Get = "namespace.get" -> "namespace", Get "/namespaces/{name}" Query, Read:
        "Get a namespace", {"name": "notes"};
}
