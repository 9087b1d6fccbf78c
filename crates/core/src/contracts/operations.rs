//! The operations on contracts.

use std::convert::Infallible as Command;

use super::Query;
use crate::wire::operations;

operations! {
    Query::Show = "contract.show" -> "contracts", Get "/contracts" Query, Read:
        "List which agents write and read which keys", {"pattern": "shared/**"};
    Query::Check = "contract.check" -> "problems", Post "/contracts/check" Body, Read:
        "Find keys that others depend on and that are broken",
        {"namespace": "shared", "schema": {"type": "object"}};
}
