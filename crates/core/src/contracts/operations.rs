//! The operations on contracts.

use std::convert::Infallible as Command;

use super::Query;
use crate::wire::operations;

operations! {
    Query::Show = "contract.show" -> "contracts", Get "/contracts" Query, Read:
        "Who writes and who reads which keys", {"pattern": "shared/**"};
    Query::Check = "contract.check" -> "problems", Post "/contracts/check" Body, Read:
        "What somebody depends on and is gone, renamed or of another kind, or would be",
        {"namespace": "shared", "schema": {"type": "object"}};
}
