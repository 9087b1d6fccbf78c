//! The operations on namespaces.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Create = "namespace.create" -> "namespace", Post "/namespaces" Body, SetUp:
        "Create a namespace", {"name": "notes", "rules": {"append_only": true}};
    Command::Configure = "namespace.configure" -> "namespace",
        Put "/namespaces/{name}" Whole("rules"), SetUp:
        "Replace the rules of a namespace", {"name": "notes", "rules": {"ttl_ms": 86400000}};
    Command::Delete = "namespace.delete" -> "namespace", Delete "/namespaces/{name}" Query, SetUp:
        "Remove a namespace with all its entries", {"name": "notes"};
    Query::List = "namespace.list" -> "namespaces", Get "/namespaces" Query, Read:
        "List namespaces", {};
    Query::Get = "namespace.get" -> "namespace", Get "/namespaces/{name}" Query, Read:
        "Read a namespace", {"name": "notes"};
}
