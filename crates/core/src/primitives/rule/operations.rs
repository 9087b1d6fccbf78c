//! The operations on hand-off rules.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Add = "rule.add" -> "rule", Put "/rules/{name}" Body, SetUp,
        side_effects("Applies to later hand-offs."):
        "Add or replace a rule",
        {"name": "green", "on": {"task_type": "code:*"},
            "check": {"expression": "state.tests.failed == 0"}, "message": "run the tests first"};
    Command::Remove = "rule.remove" -> "rule", Delete "/rules/{name}" Query, SetUp:
        "Remove a rule", {"name": "green"};
    Query::List = "rule.list" -> "rules", Get "/rules" Query, Read:
        "List rules", {"limit": 100};
}
