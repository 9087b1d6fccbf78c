//! The table of reactions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::vocabulary::Event;
use crate::limits;
use crate::names::ReactionName;
use crate::primitive::{self, Table as _};
use crate::reaction::{Facts, Part, PendingCall, Reaction, Record, Trouble, built_in};
use crate::space::batch::Moment;
use crate::time::Timestamp;

/// All reactions of a workspace, and the pending webhook calls. Changes only by `Table::evolve` and
/// `Table::undo`.
pub struct Table {
    by_name: BTreeMap<ReactionName, Record>,
    /// The number of enabled reactions.
    enabled: usize,
    last_call: u64,
    calls: BTreeMap<u64, PendingCall>,
    calls_bytes: usize,
    deadlines: BTreeSet<(Timestamp, u64)>,
}

impl Default for Table {
    fn default() -> Self {
        Self::restore(Facts::default())
    }
}

/// How to undo one change: the previous records.
pub struct Undo {
    name: ReactionName,
    record: Option<Record>,
    last_call: u64,
    calls: Vec<(u64, Option<PendingCall>)>,
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Facts;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let name = event.reaction().clone();
        let record = self.by_name.get(&name).cloned();
        let (last_call, calls) = (self.last_call, self.evolve_calls(event, moment));
        let after = after_event(record.as_ref(), event, moment);
        self.put(&name, after);
        Undo { name, record, last_call, calls }
    }

    fn undo(&mut self, undo: Undo) {
        self.put(&undo.name, undo.record);
        self.last_call = undo.last_call;
        for (number, call) in undo.calls.into_iter().rev() {
            self.put_call(number, call);
        }
    }

    fn facts(&self) -> Facts {
        Facts {
            records: self.by_name.values().cloned().collect(),
            last_call: self.last_call,
            calls: self.calls.values().cloned().collect(),
        }
    }

    fn restore(facts: Facts) -> Self {
        let mut table = Self {
            by_name: BTreeMap::new(),
            enabled: 0,
            last_call: facts.last_call,
            calls: BTreeMap::new(),
            calls_bytes: 0,
            deadlines: BTreeSet::new(),
        };
        for record in built_in() {
            table.put(&record.name.clone(), Some(record));
        }
        for mut record in facts.records {
            #[cfg(feature = "planted")]
            if crate::planted::is("reaction.lost_in_a_snapshot") && !record.built_in {
                continue;
            }
            if let Some(own) = table.by_name.get(&record.name).filter(|own| own.built_in) {
                record.parts.clone_from(&own.parts);
            }
            table.put(&record.name.clone(), Some(record));
        }
        for call in facts.calls {
            table.put_call(call.number, Some(call));
        }
        table
    }

    fn check(&self) {
        assert!(self.len() <= limits::REACTIONS_MAX, "all reactions may be asked at once");
        assert_eq!(self.enabled, self.running().count(), "those that run are counted");
        assert_eq!(self.deadlines.len(), self.calls.len(), "every call ends some day");
        let mut flying = BTreeSet::new();
        for (number, call) in &self.calls {
            assert_eq!(*number, call.number);
            assert!(*number <= self.last_call, "numbers are not given twice");
            assert!(self.by_name.contains_key(&call.reaction), "a call is of a reaction");
            assert!(self.deadlines.contains(&(call.deadline(), *number)));
            let is_second = call.until.is_some() && !flying.insert(&call.reaction);
            assert!(!is_second, "at most one call of `{}` is being made", call.reaction);
        }
        let bytes = self.calls.values().map(|call| call.body.as_bytes().len()).sum::<usize>();
        assert_eq!(bytes, self.calls_bytes);
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first().map(|(moment, _)| *moment)
    }
}

impl Table {
    /// Applies an event to the webhook calls; returns their previous records.
    fn evolve_calls(
        &mut self,
        event: &Event,
        moment: &Moment<'_>,
    ) -> Vec<(u64, Option<PendingCall>)> {
        let change = |table: &mut Self, number: u64, change: &dyn Fn(&mut PendingCall)| {
            let after = table.calls.get(&number).cloned().map(|mut call| {
                change(&mut call);
                call
            });
            vec![(number, table.put_call(number, after))]
        };
        match event {
            Event::Called { reaction, call, body, give_up_at } => {
                self.last_call = self.last_call.max(*call);
                let after = PendingCall {
                    number: *call,
                    reaction: reaction.clone(),
                    body: body.clone(),
                    attempts: 0,
                    not_before: moment.time,
                    until: None,
                    give_up_at: *give_up_at,
                };
                vec![(*call, self.put_call(*call, Some(after)))]
            }
            Event::CallBegun { call, attempt, until, .. } => change(self, *call, &|call| {
                call.attempts = *attempt;
                call.until = Some(*until);
            }),
            Event::CallFailed { call, again_at, .. } => change(self, *call, &|call| {
                call.until = None;
                call.not_before = *again_at;
            }),
            Event::CallDone { call, .. } | Event::CallDead { call, .. } => {
                vec![(*call, self.put_call(*call, None))]
            }
            Event::Added { reaction, .. } | Event::Removed { reaction } => {
                let theirs = self.calls.values().filter(|call| call.reaction == *reaction);
                let theirs: Vec<_> = theirs.map(|call| call.number).collect();
                let gone = theirs.into_iter().map(|number| (number, self.put_call(number, None)));
                gone.collect()
            }
            Event::Sealed { .. }
            | Event::Enabled { .. }
            | Event::Disabled { .. }
            | Event::Ran { .. }
            | Event::Failed { .. }
            | Event::Stopped { .. } => Vec::new(),
        }
    }

    fn put(&mut self, name: &ReactionName, record: Option<Record>) {
        let runs = |record: Option<&Record>| usize::from(record.is_some_and(|it| it.enabled));
        self.enabled += runs(record.as_ref());
        let before = match record {
            Some(record) => self.by_name.insert(name.clone(), record),
            None => self.by_name.remove(name),
        };
        self.enabled -= runs(before.as_ref());
    }

    fn put_call(&mut self, number: u64, call: Option<PendingCall>) -> Option<PendingCall> {
        if let Some(call) = &call {
            self.calls_bytes += call.body.as_bytes().len();
            self.deadlines.insert((call.deadline(), number));
        }
        let deadline = call.as_ref().map(PendingCall::deadline);
        let before = match call {
            Some(call) => self.calls.insert(number, call),
            None => self.calls.remove(&number),
        };
        if let Some(before) = &before {
            self.calls_bytes -= before.body.as_bytes().len();
            if deadline != Some(before.deadline()) {
                self.deadlines.remove(&(before.deadline(), number));
            }
        }
        before
    }

    /// Whether no reaction is enabled, so that no event has to be matched.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.enabled == 0
    }

    /// The number of enabled reactions.
    #[inline]
    pub fn enabled(&self) -> usize {
        self.enabled
    }

    /// The enabled reactions, by name.
    pub fn running(&self) -> impl Iterator<Item = &Record> {
        self.by_name.values().filter(|record| record.enabled)
    }

    /// A reaction.
    pub fn get(&self, name: &ReactionName) -> Option<&Record> {
        self.by_name.get(name)
    }

    /// A reaction as callers see it.
    pub fn shown(&self, name: &ReactionName) -> Option<Reaction> {
        self.get(name).map(|record| record.shown(self.calls_of(name)))
    }

    /// The number of reactions, without built-in ones.
    pub fn len(&self) -> usize {
        self.by_name.values().filter(|record| !record.built_in).count()
    }

    /// Whether there are only built-in ones.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reactions by name, after this one.
    pub fn after(&self, cursor: Option<&ReactionName>) -> impl Iterator<Item = &Record> {
        let from = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_name.range::<ReactionName, _>((from, Bound::Unbounded)).map(|(_, there)| there)
    }

    /// The number of pending calls of a reaction.
    pub fn calls_of(&self, name: &ReactionName) -> u64 {
        self.calls.values().filter(|call| call.reaction == *name).count() as u64
    }

    /// A call.
    pub fn call(&self, number: u64) -> Option<&PendingCall> {
        self.calls.get(&number)
    }

    /// The number of pending calls, and their size in bytes.
    pub fn waiting(&self) -> (usize, usize) {
        (self.calls.len(), self.calls_bytes)
    }

    /// Whether calls are pending.
    #[inline]
    pub fn is_calling(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The number of the next call.
    pub fn next_call(&self) -> u64 {
        self.last_call + 1
    }

    /// The first call of each reaction that has none in flight.
    pub fn first_calls(&self) -> impl Iterator<Item = &PendingCall> {
        let mut seen: BTreeSet<&ReactionName> = BTreeSet::new();
        #[cfg(feature = "planted")]
        let two_at_once = crate::planted::is("reaction.two_calls_at_once");
        #[cfg(not(feature = "planted"))]
        let two_at_once = false;
        for call in self.calls.values().filter(|call| call.until.is_some() && !two_at_once) {
            seen.insert(&call.reaction);
        }
        let free = self.calls.values().filter(|call| call.until.is_none());
        free.filter(move |call| seen.insert(&call.reaction))
    }

    /// Calls with a due timed transition.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = &PendingCall> {
        let due = self.deadlines.iter().take_while(move |(moment, _)| *moment <= now);
        due.filter_map(|(_, number)| self.calls.get(number))
    }
}

fn trouble(code: &str, detail: &str, moment: &Moment<'_>) -> Trouble {
    Trouble {
        code: code.to_owned(),
        detail: detail.to_owned(),
        at: moment.time,
        revision: moment.revision,
    }
}

/// The record of a reaction after an event.
fn after_event(before: Option<&Record>, event: &Event, moment: &Moment<'_>) -> Option<Record> {
    if let Event::Added { reaction, on, commands, webhook, enabled, .. } = event {
        return Some(Record {
            name: reaction.clone(),
            parts: vec![Arc::new(Part { on: on.clone(), commands: commands.clone() })],
            webhook: webhook.clone(),
            secret: None,
            enabled: *enabled,
            built_in: false,
            added_at: moment.time,
            added_by: moment.agent.clone(),
            revision: moment.revision,
            runs: 0,
            failures: 0,
            trouble: None,
        });
    }
    let mut record = before?.clone();
    match event {
        Event::Removed { .. } => return None,
        Event::Sealed { secret, .. } => record.secret = Some(secret.clone()),
        Event::Enabled { .. } => {
            record.enabled = true;
            record.revision = moment.revision;
            // A built-in reaction acts for the agent that enabled it.
            if record.built_in {
                record.added_by = moment.agent.clone();
                record.added_at = moment.time;
            }
        }
        Event::Disabled { .. } => {
            record.enabled = false;
            record.revision = moment.revision;
        }
        Event::Ran { .. } => record.runs += 1,
        Event::Failed { code, detail, .. } => {
            record.failures += 1;
            record.trouble = Some(trouble(code, detail, moment));
        }
        Event::CallDead { detail, .. } => {
            record.failures += 1;
            record.trouble = Some(trouble("reaction.call_dead", detail, moment));
        }
        Event::Added { .. }
        | Event::Stopped { .. }
        | Event::Called { .. }
        | Event::CallBegun { .. }
        | Event::CallDone { .. }
        | Event::CallFailed { .. } => {}
    }
    Some(record)
}
