//! Searches. Every part of a query is a field, so that the auditor can find the matches without
//! knowing the language.

use baton_core::search::Search;
use baton_core::{Query, workspace};

use crate::actors::inputs::Inputs;
use crate::actors::task::task_type;

/// Keys, tasks or messages that have something in common.
pub fn question(inputs: &mut Inputs<'_>) -> Query {
    let query = match inputs.rng.below(6) {
        0 => format!("kind:key namespace:{}", inputs.some_namespace()),
        1 => {
            let pattern = *inputs.rng.pick(&["k*", "k1*", "task:*"]);
            format!("kind:key key:{pattern}")
        }
        2 => format!("kind:task type:{}", task_type(inputs)),
        3 => {
            let status = *inputs.rng.pick(&["pending", "in_progress", "completed", "failed"]);
            format!("kind:task status:{status}")
        }
        4 => format!("kind:message to:{}", inputs.agent),
        _ => {
            let status = *inputs.rng.pick(&["waiting", "delivered", "acked", "replied"]);
            format!("kind:message status:{status}")
        }
    };
    let limit = inputs.rng.once_in(2).then(|| inputs.rng.between(1, 4));
    workspace::Query::Search(Search { query, limit, cursor: None }).into()
}
