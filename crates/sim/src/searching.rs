//! What an agent looks for. Every part of it is a field, so that the auditor can tell what fits
//! without knowing the language.

use baton_core::search::Search;
use baton_core::{Query, workspace};

use crate::things::Things;
use crate::working::task_type;

/// Keys, tasks or messages that have something in common.
pub fn question(things: &mut Things<'_>) -> Query {
    let query = match things.chance.below(6) {
        0 => format!("kind:key namespace:{}", things.some_namespace()),
        1 => {
            let pattern = *things.chance.pick(&["k*", "k1*", "task:*"]);
            format!("kind:key key:{pattern}")
        }
        2 => format!("kind:task type:{}", task_type(things)),
        3 => {
            let status = *things.chance.pick(&["pending", "in_progress", "completed", "failed"]);
            format!("kind:task status:{status}")
        }
        4 => format!("kind:message to:{}", things.agent),
        _ => {
            let status = *things.chance.pick(&["waiting", "delivered", "acked", "replied"]);
            format!("kind:message status:{status}")
        }
    };
    let limit = things.chance.once_in(2).then(|| things.chance.between(1, 4));
    workspace::Query::Search(Search { query, limit, cursor: None }).into()
}
