//! The only rule of user events.

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Command, Emit, Event, Query, RESERVED, Reply, Signal};
use crate::limits;
use crate::primitive::Rules;
use crate::refusal::json_fits;
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};

impl Rules for Table {
    type Command = Command;
    type Signal = Signal;
    type Query = Query;
    type Reply = Reply;
    type Rejection = Rejection;

    fn decide(
        _space: &Space,
        command: Command,
        _stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Rejection> {
        let Command::Emit(emit) = command;
        let (event, reply) = self::emit(emit)?;
        happening.add(event);
        Ok(ReplyPlan::Reply(reply.into()))
    }

    fn query(_space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        match query {
            Query::History(_) => None,
        }
    }
}

/// The event and the reply.
fn emit(emit: Emit) -> Result<(Event, Reply), Rejection> {
    let Emit { kind, payload } = emit;
    let word = kind.as_str().split('.').next().unwrap_or_default();
    if RESERVED.contains(&word) {
        let word = word.to_owned();
        return Err(Rejection::ReservedType { kind, word });
    }
    json_fits("payload", payload.as_ref(), limits::EVENT_BYTES_MAX)?;
    let subject = format!("events/{kind}");
    let event = Event::Emitted { kind: kind.clone(), payload };
    Ok((event, Reply::Emitted { kind, subject }))
}
