//! The operations on context for a model.

use std::convert::Infallible as Command;

use super::Query;
use crate::wire::operations;

operations! {
    Query::Build = "context.build" -> "context", Get "/agents/{agent}/context" Query, Read,
        names_agent:
        "Build the context of an agent as one text for a model",
        {"agent": "ada", "token_budget": 4000};
}
