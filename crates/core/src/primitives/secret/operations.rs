//! The operations on secrets.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Delete = "secret.delete" -> "secret", Delete "/secrets/{secret}" Query, Work,
        side_effects("References to the secret in other records stay, and no longer resolve."):
        "Delete a secret permanently", {"secret": "secret:5d1c0ad72f0b4f1e9be2a3c7d6e8f901"};
    Query::Get = "secret.get" -> "secret", Get "/secrets/{secret}" Query, Read:
        "Get the metadata of a secret", {"secret": "secret:5d1c0ad72f0b4f1e9be2a3c7d6e8f901"};
    Query::List = "secret.list" -> "secrets", Get "/secrets" Query, Read:
        "List secrets, without their values", {"limit": 10};
}
