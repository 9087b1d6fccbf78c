//! Reactions: a few scripts by name, and the effects that each must have.
//!
//! | name | on | must |
//! |---|---|---|
//! | `copy` | a key of `shared` is set | record it in `shared/copy`, with its author |
//! | `ping`, `pong` | each other | continue up to the maximum depth, and no further |
//! | `half` | a key of `shared` is deleted | fail in its second command, without effects |
//! | `tell` | `ping` | call a webhook |
//! | `record-completed-tasks` | a task is completed | record it |
//!
//! 1. Every reaction that must run does, in order of the events and then of the names; no other.
//! 2. It runs as the agent that added it, and its effects are those of its script.
//! 3. A failed reaction has no effects.
//! 4. A chain ends at the limit, which is reported once for each reaction.
//! 5. Of one reaction at most one call is in flight, and no call is attempted too often.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::contract::Event as Contracted;
use baton_core::primitive::Event as _;
use baton_core::reaction::{Command, Event, Rejection, Reply};
use baton_core::state::Event as StateEvent;
use baton_core::task::Event as TaskEvent;
use baton_core::user_event;
use baton_core::{AgentId, Batch, Event as AnyEvent, Key, NamespaceName, ReactionName};
use serde_json::{Value, json};

use crate::actors::reaction::{RETRIES, UNKNOWN};
use crate::auditor::explain::BatchReader;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, Ledger, demand};
use crate::coverage::Coverage;

/// The maximum depth of a chain of reactions.
const DEPTH_MAX: usize = 8;

/// A reaction as it was.
#[derive(Clone, Debug, PartialEq)]
struct ReactionModel {
    by: AgentId,
    enabled: bool,
}

/// A pending call.
#[derive(Debug)]
struct PendingCall {
    reaction: ReactionName,
    attempts: u64,
    is_flying: bool,
}

/// All reactions at every revision, and the current calls.
#[derive(Default)]
pub struct Reactions {
    known: BTreeMap<ReactionName, Timeline<Option<ReactionModel>>>,
    calls: BTreeMap<u64, PendingCall>,
    last_call: u64,
}

impl Reactions {
    fn now(&self, name: &ReactionName) -> Option<&ReactionModel> {
        self.known.get(name)?.now()?.as_ref()
    }

    fn at(&self, name: &ReactionName, revision: u64) -> Option<&ReactionModel> {
        self.known.get(name)?.at(revision)?.as_ref()
    }

    fn set(&mut self, name: &ReactionName, revision: u64, known: Option<ReactionModel>) {
        self.known.entry(name.clone()).or_default().set(revision, known);
    }
}

/// The agent that each event of a batch is attributed to.
pub(crate) fn acting(batch: &Batch) -> Vec<&AgentId> {
    let mut acting = vec![&batch.agent; batch.events.len()];
    for (index, event) in batch.events.iter().enumerate() {
        if let AnyEvent::Reaction(Event::Ran { by, events, .. }) = event {
            acting.iter_mut().skip(index + 1).take(*events).for_each(|agent| *agent = by);
        }
    }
    acting
}

/// Whether the engine may have caused it.
pub(crate) fn is_by_engine(event: &Event) -> bool {
    is_run(event) || matches!(event, Event::CallFailed { .. } | Event::CallDead { .. })
}

fn is_run(event: &Event) -> bool {
    matches!(event, Event::Ran { .. } | Event::Failed { .. } | Event::Stopped { .. })
}

/// The index at which the effects of reactions start.
pub(crate) fn reactions_begin(batch: &Batch) -> usize {
    let run = |event: &AnyEvent| matches!(event, AnyEvent::Reaction(event) if is_run(event));
    batch.events.iter().position(run).unwrap_or(batch.events.len())
}

impl Ledger {
    /// Applies a durable event about a reaction.
    pub(crate) fn add_reaction(
        &mut self,
        batch: &Batch,
        event: &Event,
        coverage: &mut Coverage,
    ) -> Audit {
        let (name, revision) = (event.reaction(), batch.revision.0);
        let there = self.reactions.now(name).cloned();
        match event {
            Event::Added { enabled, replaced, .. } => {
                demand!(
                    *replaced == there.is_some(),
                    "reaction `{name}` is reported as replaced, or not"
                );
                let known = ReactionModel { by: batch.agent.clone(), enabled: *enabled };
                self.reactions.set(name, revision, Some(known));
                self.reactions.calls.retain(|_, call| call.reaction != *name);
            }
            Event::Removed { .. } => {
                demand!(there.is_some(), "reaction `{name}` went, but was not there");
                self.reactions.set(name, revision, None);
                self.reactions.calls.retain(|_, call| call.reaction != *name);
            }
            Event::Enabled { .. } | Event::Disabled { .. } => {
                let enabled = matches!(event, Event::Enabled { .. });
                let by = there.map_or(batch.agent.clone(), |known| known.by);
                let built_in = name.as_str().starts_with("record-") && enabled;
                let by = if built_in { batch.agent.clone() } else { by };
                self.reactions.set(name, revision, Some(ReactionModel { by, enabled }));
            }
            Event::Sealed { .. } => demand!(false, "no secret was given"),
            Event::Ran { .. } => coverage.met("reaction: ran"),
            Event::Failed { .. } => coverage.met("reaction: failed alone"),
            Event::Stopped { .. } => coverage.met("reaction: stopped"),
            Event::Called { .. }
            | Event::CallBegun { .. }
            | Event::CallDone { .. }
            | Event::CallFailed { .. }
            | Event::CallDead { .. } => self.add_call(event, coverage)?,
        }
        Ok(())
    }

    fn add_call(&mut self, event: &Event, coverage: &mut Coverage) -> Audit {
        let Reactions { calls, last_call, .. } = &mut self.reactions;
        let flying = |calls: &BTreeMap<u64, PendingCall>, number: &u64, attempt: &u64| {
            calls.get(number).is_some_and(|call| call.is_flying && call.attempts == *attempt)
        };
        match event {
            Event::Called { reaction, call, .. } => {
                demand!(*call == *last_call + 1, "call {call} follows {last_call}");
                *last_call = *call;
                let reaction = reaction.clone();
                calls.insert(*call, PendingCall { reaction, attempts: 0, is_flying: false });
            }
            Event::CallBegun { reaction, call, attempt, .. } => {
                let busy = calls.values().any(|it| it.is_flying && it.reaction == *reaction);
                demand!(!busy, "two calls of `{reaction}` are in flight");
                let Some(call) = calls.get_mut(call) else {
                    return Err(Breach(format!("call {call} is not there")));
                };
                demand!(*attempt == call.attempts + 1, "attempt {attempt} is out of order");
                demand!(*attempt <= RETRIES + 1, "`{reaction}` is tried {attempt} times");
                (call.attempts, call.is_flying) = (*attempt, true);
                coverage.met("reaction: call started");
            }
            Event::CallFailed { call, attempt, .. } => {
                demand!(flying(calls, call, attempt), "call {call} was not in flight");
                demand!(*attempt <= RETRIES, "call {call} is to be tried too often");
                calls.entry(*call).and_modify(|call| call.is_flying = false);
            }
            Event::CallDone { call, attempt, .. } => {
                demand!(flying(calls, call, attempt), "call {call} was not in flight");
                coverage.met("reaction: call done");
                calls.remove(call);
            }
            Event::CallDead { call, .. } => {
                demand!(calls.remove(call).is_some(), "call {call} is not there");
                coverage.met("reaction: call dead");
            }
            other => demand!(false, "{other:?} is not about a call"),
        }
        Ok(())
    }

    /// Checks the effects of reactions in a batch.
    pub(crate) fn check_reactions(&self, batch: &Batch) -> Audit {
        let first = reactions_begin(batch);
        let (mut level, mut next) = (0..first, first);
        let mut stopped = BTreeSet::new();
        for depth in 0..=DEPTH_MAX {
            for cause in level.clone() {
                for (name, known) in &self.reactions.known {
                    let Some(known) = known.now().and_then(Option::as_ref) else { continue };
                    if !known.enabled || !triggers(name.as_str(), &batch.events[cause]) {
                        continue;
                    }
                    if depth == DEPTH_MAX {
                        if stopped.insert(name) {
                            check_stopped(batch, next, name, cause)?;
                            next += 1;
                        }
                        continue;
                    }
                    next += check_run(batch, next, (name, known), (cause, depth))?;
                }
            }
            level = level.end..next;
        }
        demand!(next == batch.events.len(), "a reaction has run that had no reason to");
        let half = (NamespaceName::shared(), Key::parse("half").expect("a good key"));
        let half = self.entries.get(&half).and_then(Timeline::now).and_then(Option::as_ref);
        demand!(half.is_none(), "a reaction that failed has left something");
        Ok(())
    }

    /// Commands that change nothing, and reports about unknown calls, leave no trace.
    pub(crate) fn reaction_no_effect(&self, command: &Command, at: u64) -> Audit {
        let (name, wanted) = match command {
            Command::Enable { name } => (name, true),
            Command::Disable { name } => (name, false),
            // There was no pending call, or the report was late.
            Command::Take { .. } | Command::Settle { .. } => return Ok(()),
            Command::Add(_) | Command::Remove { .. } => {
                return Err(Breach(format!("{command:?} was accepted, but nothing happened")));
            }
        };
        let enabled = self.reactions.at(name, at).is_some_and(|known| known.enabled);
        demand!(enabled == wanted, "`{name}` is enabled: {enabled}, and nothing happened");
        Ok(())
    }

    /// Checks that the answer to a change is the resulting reaction.
    pub(crate) fn reaction_reply(&self, command: &Command, reply: &Reply, revision: u64) -> Audit {
        let (name, revision) = match command {
            Command::Add(add) => (&add.name, revision),
            Command::Enable { name } | Command::Disable { name } => (name, revision),
            Command::Remove { name } => (name, revision - 1),
            Command::Take { .. } | Command::Settle { .. } => return Ok(()),
        };
        let Reply::Reaction(shown) = reply else {
            return Err(Breach(format!("{command:?} was answered with {reply:?}")));
        };
        demand!(shown.name == *name, "another reaction is shown");
        let Some(known) = self.reactions.at(name, revision) else {
            // A built-in reaction that was never enabled is not known here.
            demand!(!shown.enabled && shown.built_in, "`{name}` is not there");
            return Ok(());
        };
        let same = (shown.enabled, &shown.added_by) == (known.enabled, &known.by);
        demand!(same, "`{name}` is shown as {shown:?}, but it is {known:?}");
        Ok(())
    }

    /// Checks a refused change of reactions.
    pub(crate) fn refused_reaction(&self, rejection: &Rejection, at: u64) -> Audit {
        match rejection {
            Rejection::NotFound { name } => {
                let known = self.reactions.known.get(name).and_then(|known| known.at(at));
                demand!(known.and_then(Option::as_ref).is_none(), "reaction `{name}` was there");
            }
            Rejection::BadCommand { reason, .. } => {
                demand!(reason.contains(UNKNOWN), "the command was a good one: {reason}");
            }
            other => demand!(false, "no request can cause `{}`", other.code()),
        }
        Ok(())
    }
}

/// Whether a script runs on an event.
fn triggers(name: &str, event: &AnyEvent) -> bool {
    let is_key = |key: &Key| key.as_str().starts_with('k') && !key.as_str().contains(['/', ':']);
    match (name, event) {
        ("copy", AnyEvent::State(event @ StateEvent::Set { .. })) => {
            let (namespace, key) = event.entry_key();
            *namespace == NamespaceName::shared()
                && is_key(key)
                && AnyEvent::State(event.clone()).kind() == "state.set"
        }
        ("half", AnyEvent::State(event @ StateEvent::Deleted { .. })) => {
            let (namespace, key) = event.entry_key();
            *namespace == NamespaceName::shared()
                && is_key(key)
                && AnyEvent::State(event.clone()).kind() == "state.deleted"
        }
        ("ping" | "tell", AnyEvent::UserEvent(event)) => event.kind() == "ping",
        ("pong", AnyEvent::UserEvent(event)) => event.kind() == "pong",
        ("record-completed-tasks", AnyEvent::Task(TaskEvent::Completed { .. })) => true,
        _ => false,
    }
}

fn check_stopped(batch: &Batch, next: usize, name: &ReactionName, cause: usize) -> Audit {
    match batch.events.get(next) {
        Some(AnyEvent::Reaction(Event::Stopped { reaction, cause: recorded, .. })) => {
            demand!(
                reaction == name && *recorded == cause,
                "`{name}` was to be stopped on {cause}"
            );
            Ok(())
        }
        other => Err(Breach(format!("`{name}` was to be stopped on {cause}, not {other:?}"))),
    }
}

/// Checks one run or failure of a reaction. Returns how many events it has.
fn check_run(
    batch: &Batch,
    next: usize,
    (name, known): (&ReactionName, &ReactionModel),
    (cause, depth): (usize, usize),
) -> Audit<usize> {
    match batch.events.get(next) {
        Some(AnyEvent::Reaction(Event::Ran { reaction, by, cause: on, depth: deep, events })) => {
            let same = (reaction, *on, *deep) == (name, cause, depth);
            demand!(same, "`{name}` was to run on {cause}, not `{reaction}` on {on}");
            demand!(*by == known.by, "`{name}` ran as `{by}`, but `{}` added it", known.by);
            let done = batch.events.get(next + 1..next + 1 + events);
            let done = done.ok_or_else(|| Breach("a run has lost its events".to_owned()))?;
            check_done(name.as_str(), batch, cause, done)?;
            Ok(1 + events)
        }
        Some(AnyEvent::Reaction(Event::Failed { reaction, cause: on, code, .. })) => {
            demand!(reaction == name && *on == cause, "`{name}` was to run on {cause}");
            let may = match name.as_str() {
                "ping" | "pong" => false,
                "tell" => code == "reaction.too_many",
                _ => code.starts_with("state.") || code == "contract.broken",
            };
            demand!(may, "`{name}` has failed with `{code}`");
            Ok(1)
        }
        other => Err(Breach(format!("`{name}` was to run on {cause}, not {other:?}"))),
    }
}

/// Checks that the effects of a script are those that it defines.
fn check_done(name: &str, batch: &Batch, cause: usize, done: &[AnyEvent]) -> Audit {
    // Contracts that a write breaks are recorded after it; the ledger checks that.
    let is_broken =
        |event: &AnyEvent| matches!(event, AnyEvent::Contract(Contracted::Broken { .. }));
    let [done, others @ ..] = done else {
        return Err(Breach(format!("`{name}` did nothing")));
    };
    demand!(others.iter().all(is_broken), "`{name}` did {others:?} besides");
    let written = |key: &str| match done {
        AnyEvent::State(event @ StateEvent::Set { value, .. }) => {
            let (namespace, written) = event.entry_key();
            let same = *namespace == NamespaceName::shared() && written.as_str() == key;
            same.then(|| value.to_value())
        }
        _ => None,
    };
    let by = acting(batch)[cause].as_str();
    let fits = match (name, &batch.events[cause]) {
        ("ping", _) => matches!(done, AnyEvent::UserEvent(event) if event.kind() == "pong"),
        ("pong", _) => matches!(done, AnyEvent::UserEvent(event) if event.kind() == "ping"),
        ("tell", _) => matches!(done, AnyEvent::Reaction(Event::Called { .. })),
        ("copy", AnyEvent::State(event)) => {
            let about = format!("shared/{}", event.entry_key().1);
            let due = json!({"of": about, "by": by, "text": format!("r{}", batch.revision)});
            written("copy") == Some(due)
        }
        ("record-completed-tasks", AnyEvent::Task(TaskEvent::Completed { task, .. })) => {
            let value = written(&format!("completed_tasks/{task}"));
            let same = |value: Value| value["task"] == *task.as_str() && value["by"] == *by;
            value.is_some_and(same)
        }
        _ => false,
    };
    demand!(fits, "`{name}` did {done:?}");
    Ok(())
}

impl BatchReader<'_> {
    /// One event is emitted.
    pub(crate) fn bus(&mut self, command: &user_event::Command) -> Audit {
        let user_event::Command::Emit(emit) = command;
        match self.take()? {
            AnyEvent::UserEvent(user_event::Event::Emitted { kind, payload }) => {
                let same = (kind, payload) == (&emit.kind, &emit.payload);
                demand!(same, "another event was emitted");
                Ok(())
            }
            other => Err(Breach(format!("`{}` was due, not {}", emit.kind, other.kind()))),
        }
    }

    /// One command about a reaction, one event; calls may be several, or none.
    pub(crate) fn reaction(&mut self, command: &Command) -> Audit {
        if let Command::Take { .. } | Command::Settle { .. } = command {
            let is_call = |event: &AnyEvent| match event {
                AnyEvent::Reaction(event) => event.kind().starts_with("reaction.call_"),
                _ => false,
            };
            while self.peek().is_some_and(is_call) {
                self.skip();
            }
            return Ok(());
        }
        let (name, kind) = match command {
            Command::Add(add) => (&add.name, "reaction.added"),
            Command::Remove { name } => (name, "reaction.removed"),
            Command::Enable { name } => (name, "reaction.enabled"),
            Command::Disable { name } => (name, "reaction.disabled"),
            Command::Take { .. } | Command::Settle { .. } => return Ok(()),
        };
        match self.take()? {
            AnyEvent::Reaction(event) => {
                let same = event.reaction() == name && event.kind() == kind;
                demand!(same, "{kind} of `{name}` was due, not {event:?}");
                Ok(())
            }
            other => Err(Breach(format!("a reaction was due, not {}", other.kind()))),
        }
    }
}
