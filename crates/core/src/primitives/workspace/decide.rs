//! The rules of the workspace itself.

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Command, Event, Query, Reply, Retention, Signal};
use crate::primitive::Rules;
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};
use crate::sync;

impl Rules for Table {
    type Command = Command;
    type Signal = Signal;
    type Query = Query;
    type Reply = Reply;
    type Rejection = Rejection;

    fn decide(
        space: &Space,
        command: Command,
        _stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Rejection> {
        if let Command::Sync(sync) = &command {
            let (events, report) = sync::decide(space, sync)?;
            happening.extend(events);
            return Ok(ReplyPlan::Reply(Reply::Synced(report).into()));
        }
        happening.extend(decide(&space.workspace, &command)?);
        Ok(ReplyPlan::after(|space| about(&space.workspace, space.counts())))
    }

    fn handle(_space: &Space, signal: Signal, _stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
        let Signal::Found { origin } = signal;
        Ok(vec![Event::Founded { origin }])
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        match query {
            Query::Get => Some(Ok(about(&space.workspace, space.counts()))),
            Query::List { .. }
            | Query::Fork { .. }
            | Query::Delete { .. }
            | Query::Diff(_)
            | Query::Changes(_)
            | Query::Search(_)
            | Query::Why { .. } => None,
        }
    }
}

/// Decides a command against the current table.
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
        Command::Sync(_) => unreachable!("it concerns other tables, too"),
    }
}

/// The current state of the workspace; the counts come from the other tables.
pub fn about(table: &Table, counts: [u64; 3]) -> Reply {
    let [entries, namespaces, agents] = counts;
    let (retention, origin) = (table.retention(), table.origin().cloned());
    Reply::Workspace { retention, entries, namespaces, agents, origin }
}
