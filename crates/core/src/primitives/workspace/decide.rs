//! The rules of the workspace about itself.

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Command, Event, Reply, Retention};

/// Decides a command against the table as it is.
pub fn decide(table: &Table, command: &Command) -> Result<Vec<Event>, Rejection> {
    match command {
        Command::Configure { history_count, history_age_ms } => {
            let before = table.retention();
            let retention = Retention {
                history_count: history_count.unwrap_or(before.history_count),
                history_age_ms: history_age_ms.unwrap_or(before.history_age_ms),
            };
            let bounds = [
                ("history_count", retention.history_count),
                ("history_age_ms", retention.history_age_ms),
            ];
            if let Some((field, given)) = bounds.into_iter().find(|(_, given)| *given == 0) {
                return Err(Rejection::NothingKept { field, given });
            }
            if retention == before {
                return Ok(Vec::new());
            }
            Ok(vec![Event::Configured { retention }])
        }
        Command::Found { origin } => Ok(vec![Event::Founded { origin: origin.clone() }]),
    }
}

/// How the workspace is; the counts come from the other tables.
pub fn about(table: &Table, counts: [u64; 3]) -> Reply {
    let [entries, namespaces, agents] = counts;
    let (retention, origin) = (table.retention(), table.origin().cloned());
    Reply::Workspace { retention, entries, namespaces, agents, origin }
}
