//! The operations on artifacts.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Delete = "artifact.delete" -> "artifact", Delete "/artifacts/{artifact}" Query, Work:
        "Delete an artifact that nothing references",
        {"artifact": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"};
    Query::Get = "artifact.get" -> "artifact", Get "/artifacts/{artifact}/about" Query, Read:
        "Get the metadata of an artifact and its references",
        {"artifact": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"};
    Query::List = "artifact.list" -> "artifacts", Get "/artifacts" Query, Read:
        "List artifacts", {"free": true, "limit": 10};
}
