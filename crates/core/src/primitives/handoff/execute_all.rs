//! Hands over everything that an agent holds, in one commit.

use std::sync::Arc;

use super::decide::found;
use super::offer_checks::{self, Passed};
use super::{ExecuteAll, Handoff, Offer, Receiver, Selected, fingerprint, transfer};
use crate::event::Event as AnyEvent;
use crate::handoff::{Decided, Event, Moved, Rejection, Reply, Table, View};
use crate::limits;
use crate::names::{HandoffId, NamespaceName};
use crate::refusal::has_room;
use crate::space::ReplyPlan;
use crate::space::stamp::Stamp;

/// One hand-off for the keys in the giver's namespace, if there are any, and one for each task that
/// it holds. Nothing happens if one of them is refused.
pub(super) fn execute_all(
    table: &Table,
    view: &impl View,
    command: ExecuteAll,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let ExecuteAll { to, reason, notes, deadline_ms, copy, overwrite } = command;
    let tasks = view.held_by(&stamp.agent);
    // All of them must fit, unlike in a queue with room for one more.
    let others = tasks.len().saturating_sub(1);
    has_room([("tasks that one call hands over", others, limits::HANDOFF_TASKS_MAX)])?;
    let receiver = Receiver::Agent(to.clone());
    let offer = Offer { notes, reason, copy, deadline_ms, ..Offer::to(receiver) };
    let own = Selected::all_of(&NamespaceName::of_agent(&stamp.agent));
    let keys = Offer { keys: vec![own], ..offer.clone() };
    let passed = |offer: Offer| {
        let prepared = offer_checks::prepare(table, view, offer, stamp)?;
        prepared.passed().map_err(|opposed| opposed.rejection)
    };
    let Passed { handoff, chosen } = passed(keys)?;
    let mut moved = Moved::new();
    let mut handoffs: Vec<Handoff> = Vec::with_capacity(1 + tasks.len());
    if !chosen.is_empty() {
        moved = transfer::transfer(view, &handoff, &chosen, &to, overwrite, stamp)?;
        handoffs.push(handoff);
        transfer::executed(&mut handoffs[0], &chosen, to.clone(), stamp);
    }
    for (task, token) in tasks {
        let offer = Offer { task: Some(task), token: Some(token), ..offer.clone() };
        let Passed { mut handoff, chosen } = passed(offer)?;
        transfer::executed(&mut handoff, &chosen, to.clone(), stamp);
        handoffs.push(handoff);
    }
    for (handoff, id) in handoffs.iter_mut().zip(table.fresh_ids(stamp.revision)) {
        handoff.id = id;
        handoff.digest = fingerprint(handoff);
    }
    let ids: Vec<HandoffId> = handoffs.iter().map(|handoff| handoff.id.clone()).collect();
    let executed = handoffs.into_iter().map(|handoff| Event::Executed(Arc::new(handoff)));
    let events = executed.map(AnyEvent::from).chain(moved).collect();
    let plan = ReplyPlan::after(move |space| {
        let handoffs = ids.iter().map(|id| Handoff::clone(&found(&space.handoff, id))).collect();
        Reply::Handoffs { handoffs, cursor: None }
    });
    Ok(Decided::new(events, plan))
}
