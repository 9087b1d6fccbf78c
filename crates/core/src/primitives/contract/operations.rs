//! The operations on contracts.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Declare = "contract.declare" -> "declaration", Put "/contracts/{name}" Body, Work,
        side_effects("Applies to later writes, deletions and changes of rules."):
        "Declare the keys that you depend on",
        {"name": "plans", "keys": [{"key": "shared/plan", "type": "object", "fields": ["steps"]}],
            "on_break": "refuse"};
    Command::Delete = "contract.delete" -> "declaration", Delete "/contracts/{name}" Query, Work:
        "Delete a declared contract", {"name": "plans"};
    Query::List = "contract.list" -> "declarations", Get "/contracts/declared" Query, Read:
        "List declared contracts", {"limit": 100};
    Query::Show = "contract.show" -> "contracts", Get "/contracts" Query, Read:
        "List which agents write and read which keys", {"pattern": "shared/**"};
    Query::Check = "contract.check" -> "problems", Post "/contracts/check" Body, Read:
        "Find broken keys that agents, rules or stages depend on",
        {"namespace": "shared", "schema": {"type": "object"}};
}
