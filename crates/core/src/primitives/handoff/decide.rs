//! The rules of hand-offs, one function per command.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::endings::{ending, follow};
use super::execute_all::execute_all;
use super::passing::passed;
use super::refusals::Rejection;
use super::table::{Table, Waiter};
use super::vocabulary::{Command, Event, Query, Reply, Signal};
use crate::event::Event as AnyEvent;
use crate::handoff::offer_checks::{self, Passed};
use crate::handoff::transfer;
use crate::handoff::{Accept, Chosen, Complete, Handoff, List, Offer, Receiver, Selected, Status};
use crate::json::Json;
use crate::limits;
use crate::names::{AgentId, HandoffId, TaskId};
use crate::numbers::{Token, WaitId};
use crate::page::{self, Selection};
use crate::primitive::{self, Rules};
use crate::refusal::{fits, has_room, json_fits, text_fits, within};
use crate::rule::{Judgement, Proposal, Receiver as Known};
use crate::space::stamp::Stamp;
use crate::space::{CommitEffort, Happening, ReplyPlan, RulesTooCostly, Space, SpaceView};
use crate::state;
use crate::task::Record;
use crate::task::Task;
use crate::time::Timestamp;
use crate::waiting::wait::Left;

/// The other tables, as far as hand-offs read them.
pub trait View {
    /// A task.
    fn task(&self, task: &TaskId) -> Option<&Record>;
    /// A task as callers see it.
    fn shown(&self, task: &TaskId) -> Option<Task>;
    /// The facts about an agent that rules can use.
    fn agent(&self, agent: &AgentId) -> Option<Known<'_>>;
    /// Whether an agent with a session has this capability.
    fn has_capable(&self, capability: &str) -> bool;
    /// These keys and the keys that match these patterns, with their entries, each once.
    fn chosen(&self, keys: &[Selected]) -> Result<Vec<Chosen>, Rejection>;
    /// The tasks that an agent holds, with the tokens of their leases.
    fn held_by(&self, agent: &AgentId) -> Vec<(TaskId, Token)>;
    /// Whether there are any rules.
    fn has_rules(&self) -> bool;
    /// Whether there are rules that may read the task.
    fn has_expressions(&self) -> bool;
    /// Counts what is read for the rules, unless that is too much.
    fn reads_for_rules(&self, bytes: usize) -> Result<(), RulesTooCostly>;
    /// Evaluates the rules, unless that takes too much.
    fn judge(&self, proposal: &Proposal<'_>) -> Result<Judgement, RulesTooCostly>;
    /// The events that move or copy keys of one agent's own namespace to that of another.
    fn transfer(&self, transfer: state::Transfer, stamp: &Stamp)
    -> Result<Moved, state::Rejection>;
}

/// The changes of shared state that come with a hand-off: the receiver gets a namespace if it had
/// none, and the entries move.
pub type Moved = Vec<AnyEvent>;

/// The outcome of a command. Its events include the changes of shared state that come with it.
pub(crate) type Decided = primitive::Decided<AnyEvent>;

/// One event, and the hand-off as it is after it.
pub(super) fn decided(handoff: HandoffId, event: Event) -> Decided {
    decided_with(handoff, event, Moved::new())
}

/// The same, with the changes of shared state that come with it.
pub(super) fn decided_with(handoff: HandoffId, event: Event, moved: Moved) -> Decided {
    let plan = ReplyPlan::after(move |space| Reply::Handoff(found(&space.handoff, &handoff)));
    Decided::new(with(event, moved), plan)
}

/// An event of a hand-off, followed by changes of shared state.
fn with(event: Event, moved: Moved) -> Vec<AnyEvent> {
    [event.into()].into_iter().chain(moved).collect()
}

/// The received hand-off, if any, as it is after the events.
fn received(id: Option<HandoffId>) -> ReplyPlan {
    ReplyPlan::after(|space| Reply::Received(id.map(|id| found(&space.handoff, &id))))
}

/// The accepted hand-off with its task, as they are after the events, and the values that were
/// handed over.
fn accepted(id: HandoffId, values: BTreeMap<String, Json>) -> ReplyPlan {
    ReplyPlan::after(move |space| {
        let handoff = found(&space.handoff, &id);
        let task = handoff.task.as_ref().and_then(|task| space.task.shown(task, Vec::new()));
        Reply::Accepted { handoff, task: task.map(Box::new), values }
    })
}

pub(super) fn found(table: &Table, id: &HandoffId) -> Arc<Handoff> {
    Arc::clone(table.get(id).expect("only known hand-offs are answered with"))
}

impl Rules for Table {
    type Command = Command;
    type Signal = Signal;
    type Query = Query;
    type Reply = Reply;
    type Rejection = Rejection;

    fn decide(
        space: &Space,
        command: Command,
        stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Rejection> {
        let view = SpaceView::new(space, happening.effort());
        Ok(happening.take(decide(&space.handoff, &view, command, stamp)?))
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        let table = &space.handoff;
        let waits = table.overdue_waits(stamp.now).map(|waiter| left(waiter, Left::Timeout));
        let open = table.due(stamp.now).map(|handoff| {
            let id = handoff.id.clone();
            if table.deadline_of(handoff) <= stamp.now {
                return Event::Expired { handoff: id, reason: "deadline".to_owned() };
            }
            if handoff.deliveries >= limits::DELIVERIES_MAX {
                return Event::Expired { handoff: id, reason: "not_answered".to_owned() };
            }
            Event::Undelivered { handoff: id }
        });
        waits.chain(open).take(limits::EXPIRIES_PER_BATCH_MAX).collect()
    }

    fn give_up(space: &Space, wait: WaitId) -> Vec<Event> {
        let waiter = space.handoff.waiter(wait);
        waiter.map(|waiter| left(waiter, Left::Gone)).into_iter().collect()
    }

    fn let_go(space: &Space, agent: &AgentId, _stamp: &Stamp) -> Vec<Event> {
        let table = &space.handoff;
        let undelivered = table.delivered_to(agent);
        let undelivered =
            undelivered.map(|handoff| Event::Undelivered { handoff: handoff.id.clone() });
        let failed = table.accepted_by(agent).map(|handoff| {
            let error = Json::of(&json!({ "reason": "agent_gone" })).expect("a name is JSON");
            Event::Failed { handoff: handoff.id.clone(), error }
        });
        let waits = table.waits_of(agent).map(|waiter| left(waiter, Left::SessionEnded));
        undelivered.chain(failed).chain(waits).collect()
    }

    fn handle(space: &Space, signal: Signal, stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
        let table = &space.handoff;
        Ok(match signal {
            Signal::Deliver { handoff } => {
                let effort = CommitEffort::default();
                deliver(table, &SpaceView::new(space, &effort), &handoff, stamp)
            }
            Signal::Pass(passing) => vec![passed(table, *passing, stamp)],
            Signal::Follow { task, what } => follow(table, &task, &what),
        })
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        let effort = CommitEffort::default();
        Some(self::query(&space.handoff, &SpaceView::new(space, &effort), query))
    }

    fn ending(space: &Space, event: &Event) -> Result<Reply, Rejection> {
        ending(&space.handoff, event)
    }
}

/// Decides a command against the current table.
pub(crate) fn decide(
    table: &Table,
    view: &impl View,
    command: Command,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    match command {
        Command::Offer(offer) => self::offer(table, view, *offer, stamp),
        Command::ImportContext(import) => offer(table, view, import.offer(), stamp),
        Command::Execute(offer) => transfer::execute(table, view, *offer, stamp),
        Command::ExecuteAll(command) => execute_all(table, view, *command, stamp),
        Command::Validate(offer) => validate(table, view, *offer, stamp),
        Command::Receive { wait_ms } => receive(table, view, wait_ms, stamp),
        Command::Accept(accept) => self::accept(table, view, accept, stamp),
        Command::Reject { handoff, reason } => reject(table, view, handoff, reason, stamp),
        Command::Complete(complete) => self::complete(table, *complete, stamp),
        Command::Cancel { handoff, reason } => cancel(table, handoff, reason, stamp),
        Command::Approve { handoff, digest, reason } => {
            approve(table, view, handoff, (digest, reason), stamp)
        }
    }
}

fn offer(
    table: &Table,
    view: &impl View,
    offer: Offer,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let prepared = offer_checks::prepare(table, view, offer, stamp)?;
    let Passed { mut handoff, chosen } = prepared.passed().map_err(|opposed| opposed.rejection)?;
    offer_checks::check_versions(&chosen)?;
    let id = handoff.id.clone();
    if handoff.status == Status::Failed {
        return Ok(decided(id, Event::Refused(Arc::new(handoff))));
    }
    offer_checks::check_room(table, &handoff)?;
    let giver = handoff.from.clone();
    handoff.step("offered", stamp.now, Some(&giver), None);
    Ok(decided(id, Event::Offered(Arc::new(handoff))))
}

/// Checks an offer without making it.
fn validate(
    table: &Table,
    view: &impl View,
    offer: Offer,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let prepared = offer_checks::prepare(table, view, offer, stamp)?;
    let Judgement { errors, warnings } = prepared.judgement();
    let verdict = Reply::Verdict { valid: errors.is_empty(), errors, warnings };
    Ok(Decided::reply(Vec::new(), verdict))
}

fn known<'a>(table: &'a Table, id: &HandoffId) -> Result<&'a Arc<Handoff>, Rejection> {
    table.get(id).ok_or_else(|| Rejection::NotFound { handoff: id.clone() })
}

fn wrong_status(handoff: &Handoff, what: &'static str) -> Rejection {
    Rejection::WrongStatus {
        handoff: handoff.id.clone(),
        status: handoff.status,
        what,
        receiver: handoff.receiver.clone(),
    }
}

/// Whether a hand-off may be received by an agent.
fn is_for(view: &impl View, handoff: &Handoff, agent: &AgentId) -> bool {
    match &handoff.to {
        Receiver::Agent(to) => to == agent,
        // A task that the agent gave away is for others.
        Receiver::Capability(_) if handoff.from == *agent => false,
        Receiver::Capability(name) => view
            .agent(agent)
            .is_some_and(|known| known.is_active && known.capabilities.contains(name)),
    }
}

fn receive(
    table: &Table,
    view: &impl View,
    wait_ms: Option<u64>,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let wait_ms = within("wait_ms", wait_ms, 0, (0, limits::WAIT_MS_MAX))?;
    let receiver = stamp.agent.clone();
    let busy = table.delivered_to(&receiver).count() + table.waits_of(&receiver).count();
    let what = "hand-offs that the agent has not answered or waits for";
    has_room([(what, busy, limits::HANDOFFS_PER_AGENT_MAX)])?;
    let known = view.agent(&receiver).filter(|known| known.is_active);
    let capabilities = known.into_iter().flat_map(|known| known.capabilities);
    if let Some(handoff) = table.next_for(&receiver, capabilities, stamp.now, 1).pop() {
        let id = handoff.id.clone();
        let event = delivered(handoff, receiver, None, stamp.now);
        return Ok(Decided::new(vec![event.into()], received(Some(id))));
    }
    if wait_ms == 0 {
        return Ok(Decided::new(Vec::new(), received(None)));
    }
    has_room([("calls that wait for hand-offs", table.waits().len(), limits::WAITS_MAX)])?;
    let (wait, until) = (stamp.wait(), stamp.now.after(wait_ms));
    let queued = Event::Queued { wait, receiver, until };
    Ok(Decided::waits(queued.into()))
}

fn delivered(handoff: &Handoff, receiver: AgentId, wait: Option<WaitId>, now: Timestamp) -> Event {
    let until = now.after(handoff.redeliver_ms);
    Event::Delivered { handoff: handoff.id.clone(), receiver, until, wait }
}

/// Delivers a hand-off to the first matching call in the wait queue.
fn deliver(table: &Table, view: &impl View, id: &HandoffId, stamp: &Stamp) -> Vec<Event> {
    let ready = table.get(id).filter(|handoff| {
        handoff.status.is_open() && handoff.delivery.is_none() && handoff.is_approved(stamp.now)
    });
    let Some(handoff) = ready else { return Vec::new() };
    let suits = |waiter: &&Waiter| is_for(view, handoff, &waiter.wait.agent);
    let first = match &handoff.to {
        Receiver::Agent(agent) => table.waits_of(agent).next(),
        Receiver::Capability(_) => table.waits().find(suits),
    };
    let event = first.map(|waiter| {
        delivered(handoff, waiter.wait.agent.clone(), Some(waiter.wait.id), stamp.now)
    });
    event.into_iter().collect()
}

fn accept(
    table: &Table,
    view: &impl View,
    command: Accept,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let Accept { handoff: id, lease_ms, overwrite } = command;
    let handoff = known(table, &id)?;
    let caller = &stamp.agent;
    if !is_for(view, handoff, caller) {
        let (to, caller) = (handoff.to.clone(), caller.clone());
        return Err(Rejection::NotReceiver { handoff: id, to, caller });
    }
    if !handoff.status.is_open() || table.deadline_of(handoff) <= stamp.now {
        return Err(wrong_status(handoff, "accepted"));
    }
    let range = (limits::LEASE_MS_MIN, limits::LEASE_MS_MAX);
    within("lease_ms", lease_ms, range.0, range)?;
    let chosen = view.chosen(&handoff.keys)?;
    offer_checks::check_versions(&chosen)?;
    check_approval(view, handoff, &chosen, stamp.now)?;
    if handoff.task.is_none() {
        let (count, max) = (table.accepted_by(caller).count(), limits::HANDOFFS_PER_AGENT_MAX);
        has_room([("accepted hand-offs of the agent", count, max)])?;
    }
    let moved = transfer::transfer(view, handoff, &chosen, caller, overwrite, stamp)?;
    let receipt = transfer::receipt(handoff, &chosen);
    let values = transfer::values(&chosen);
    let receiver = caller.clone();
    let event = Event::Accepted { handoff: id.clone(), receiver, receipt, lease_ms };
    Ok(Decided::new(with(event, moved), accepted(id, values)))
}

/// An approval expires, and is valid only for what was proposed when it was given.
fn check_approval(
    view: &impl View,
    handoff: &Handoff,
    chosen: &[Chosen],
    now: Timestamp,
) -> Result<(), Rejection> {
    let Some(approval) = &handoff.approval else { return Ok(()) };
    #[cfg(feature = "planted")]
    if crate::planted::is("handoff.approval_skipped") {
        return Ok(());
    }
    let id = || handoff.id.clone();
    if approval.approved_by.is_none() {
        let reason = "it has not been approved yet".to_owned();
        return Err(Rejection::NotApproved { handoff: id(), reason });
    }
    if !handoff.is_approved(now) {
        let reason = "the approval held only for a while".to_owned();
        return Err(Rejection::NotApproved { handoff: id(), reason });
    }
    match changed_content(view, handoff, chosen) {
        None => Ok(()),
        Some((digest, _)) => {
            Err(Rejection::DigestMismatch { handoff: id(), digest, given: handoff.digest.clone() })
        }
    }
}

fn reject(
    table: &Table,
    view: &impl View,
    id: HandoffId,
    reason: Option<String>,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    text_fits("reason", reason.as_ref(), limits::NOTE_BYTES_MAX)?;
    let handoff = known(table, &id)?;
    let by = stamp.agent.clone();
    if !is_for(view, handoff, &by) && !may_approve(handoff, &by) {
        let (to, caller) = (handoff.to.clone(), by);
        return Err(Rejection::NotReceiver { handoff: id, to, caller });
    }
    if !handoff.status.is_open() {
        return Err(wrong_status(handoff, "rejected"));
    }
    Ok(decided(id.clone(), Event::Rejected { handoff: id, by, reason }))
}

fn complete(table: &Table, command: Complete, stamp: &Stamp) -> Result<Decided, Rejection> {
    let Complete { handoff: id, result, changes } = command;
    let handoff = known(table, &id)?;
    json_fits("result", result.as_ref(), limits::VALUE_BYTES_MAX)?;
    let changed = changes.iter().map(|(name, value)| name.len() + value.as_bytes().len()).sum();
    fits("changes", changed, limits::HANDOFF_CONTEXT_BYTES_MAX)?;
    if handoff.receiver.as_ref().is_some_and(|receiver| *receiver != stamp.agent) {
        let (to, caller) = (handoff.to.clone(), stamp.agent.clone());
        return Err(Rejection::NotReceiver { handoff: id, to, caller });
    }
    if handoff.status != Status::Accepted {
        return Err(wrong_status(handoff, "completed"));
    }
    Ok(decided(id.clone(), Event::Completed { handoff: id, result, changes }))
}

fn cancel(
    table: &Table,
    id: HandoffId,
    reason: Option<String>,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    text_fits("reason", reason.as_ref(), limits::NOTE_BYTES_MAX)?;
    let handoff = known(table, &id)?;
    if handoff.from != stamp.agent {
        let (caller, what) = (stamp.agent.clone(), "withdraw");
        return Err(Rejection::NotAllowed { handoff: id, caller, what });
    }
    if !handoff.status.is_open() {
        return Err(wrong_status(handoff, "withdrawn"));
    }
    Ok(decided(id.clone(), Event::Cancelled { handoff: id, reason }))
}

/// Whether an agent may approve a hand-off.
fn may_approve(handoff: &Handoff, agent: &AgentId) -> bool {
    handoff.approval.as_ref().is_some_and(|approval| {
        if approval.by.is_empty() {
            return *agent != handoff.from && handoff.to.agent() != Some(agent);
        }
        approval.by.contains(agent)
    })
}

fn approve(
    table: &Table,
    view: &impl View,
    id: HandoffId,
    (given, reason): (Option<String>, Option<String>),
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    text_fits("reason", reason.as_ref(), limits::NOTE_BYTES_MAX)?;
    let handoff = known(table, &id)?;
    let by = stamp.agent.clone();
    let Some(approval) = handoff.approval.as_ref().filter(|_| handoff.status.is_open()) else {
        return Err(wrong_status(handoff, "approved"));
    };
    if !may_approve(handoff, &by) {
        return Err(Rejection::NotAllowed { handoff: id, caller: by, what: "approve" });
    }
    let changed = changed_content(view, handoff, &view.chosen(&handoff.keys)?);
    let is_settled = handoff.is_approved(stamp.now) && changed.is_none();
    if let Some(by) = approval.approved_by.clone().filter(|_| is_settled) {
        return Err(Rejection::AlreadyApproved { handoff: id, by });
    }
    let (digest, content) = match changed {
        Some((digest, content)) => (digest, Some(content)),
        None => (handoff.digest.clone(), None),
    };
    if let Some(given) = given.filter(|given| *given != digest) {
        return Err(Rejection::DigestMismatch { handoff: id, digest, given });
    }
    let until = approval.expires_ms.map(|expires_ms| stamp.now.after(expires_ms));
    Ok(decided(id.clone(), Event::Approved { handoff: id, by, digest, until, reason, content }))
}

/// The digests of what is proposed now, if it is not what was offered or last approved.
fn changed_content(
    view: &impl View,
    handoff: &Handoff,
    chosen: &[Chosen],
) -> Option<(String, String)> {
    let record = handoff.task.as_ref().and_then(|task| view.task(task));
    let content = offer_checks::content_of(handoff, chosen, record);
    if content == handoff.content {
        return None;
    }
    let digest = super::fingerprint(&Handoff { content: content.clone(), ..handoff.clone() });
    Some((digest, content))
}

fn left(waiter: &Waiter, left: Left) -> Event {
    Event::GaveUp { wait: waiter.wait.id, receiver: waiter.wait.agent.clone(), left }
}

/// Answers a query about the present.
pub fn query(table: &Table, view: &impl View, query: &Query) -> Result<Reply, Rejection> {
    match query {
        Query::Get { handoff } => Ok(Reply::Handoff(Arc::clone(known(table, handoff)?))),
        Query::List(query) => list(table, view, query),
        Query::History { task } => {
            let handoffs = table.of_task(task).take(limits::PAGE_MAX);
            let handoffs = handoffs.map(|handoff| Handoff::clone(handoff)).collect();
            Ok(Reply::Handoffs { handoffs, cursor: None })
        }
        Query::Export { handoff } => {
            Ok(Reply::Context(Box::new(known(table, handoff)?.as_ref().into())))
        }
        Query::Stats {} => Ok(Reply::Stats(Box::new(table.statistics()))),
    }
}

fn list(table: &Table, view: &impl View, query: &List) -> Result<Reply, Rejection> {
    let limit = page::limit(query.limit)?;
    let List { to, from, task, status, .. } = query;
    let wanted = |handoff: &Handoff| {
        let is_to = |agent: &AgentId| match &handoff.receiver {
            Some(receiver) => receiver == agent,
            None => is_for(view, handoff, agent),
        };
        to.as_ref().is_none_or(is_to)
            && from.as_ref().is_none_or(|from| handoff.from == *from)
            && task.as_ref().is_none_or(|task| handoff.task.as_ref() == Some(task))
            && status.is_none_or(|status| handoff.status == status)
    };
    let selection = Selection { candidates: table.after(query), is_wanted: wanted, limit };
    let (handoffs, cursor) =
        selection.first(|handoff| (handoff.clone(), 0), |handoff| handoff.id.clone());
    Ok(Reply::Handoffs { handoffs, cursor })
}
