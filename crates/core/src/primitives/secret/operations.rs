//! The operations on secrets.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Delete = "secret.delete" -> "secret", Delete "/secrets/{secret}" Query, Work:
        "Remove a secret for good", {"secret": "secret:5d1c0ad72f0b4f1e9be2a3c7d6e8f901"};
    Query::Get = "secret.get" -> "secret", Get "/secrets/{secret}" Query, Read:
        "What is known of a secret", {"secret": "secret:5d1c0ad72f0b4f1e9be2a3c7d6e8f901"};
    Query::List = "secret.list" -> "secrets", Get "/secrets" Query, Read:
        "List secrets, without their values", {"limit": 10};
}
