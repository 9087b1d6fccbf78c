//! Runs reactions inside the commit that caused them, each with a savepoint.
//!
//! ```text
//!   the request and its consequences │ ran │ its events │ ran │ its events │ failed │ …
//!                                    ▲     └── level 1 ─┴─────┴────────────┘
//!                                    savepoint: a run that is refused is rolled back to here
//! ```

use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::tables::Undo;
use super::{CommitBuilder, Decision, Space};
use crate::event::Event;
use crate::json::{Json, shortened};
use crate::limits;
use crate::names::{AgentId, ReactionName};
use crate::numbers::Token;
use crate::policy::a_reaction_follows_its_event;
use crate::reaction::{Event as Reacted, Limit, Rejection};
use crate::reaction::{Unfillable, fill, seen};
use crate::refusal::{fits, has_room};
use crate::rejection::Rejection as AnyRejection;
use crate::space::batch::Moment;
use crate::space::stamp::Stamp;
use crate::time::Timestamp;
use crate::wire::{Fault, command_of};

/// Comparisons of an event with a reaction that count as a unit of work.
const SCANS_PER_UNIT: usize = 64;
/// Bytes of an event that is read, or of a command that is filled in and read, that count as a unit
/// of work.
const BYTES_PER_UNIT: usize = 4 << 10;
/// How many runs may fail because the batch is full before it is full for all others. Each of them
/// does as much as a batch has room for, and all of it is undone.
const FULL_RUNS_MAX: usize = 4;

/// The state before a run, to roll back to.
struct Savepoint {
    undo_log: usize,
    events: usize,
    weight: usize,
    ended: usize,
    callers: usize,
    live_batches: usize,
    token: Token,
}

/// Why a run failed.
struct Failed {
    command: Option<usize>,
    code: String,
    detail: String,
    /// The refusal, if the batch has no room.
    full: Option<AnyRejection>,
}

impl From<AnyRejection> for Failed {
    fn from(rejection: AnyRejection) -> Self {
        let code = rejection.code().to_owned();
        let detail = shortened(&rejection.to_string());
        let is_full = matches!(rejection, AnyRejection::TooLarge { what: "events" | "bytes", .. });
        Self { command: None, code, detail, full: is_full.then_some(rejection) }
    }
}

impl From<Rejection> for Failed {
    fn from(rejection: Rejection) -> Self {
        AnyRejection::Reaction(rejection).into()
    }
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        let code = fault.code().to_owned();
        Self { command: None, code, detail: shortened(&fault.to_string()), full: None }
    }
}

/// A reaction that may run: its name, its part, its event and its depth.
struct Run<'a> {
    name: &'a ReactionName,
    part: usize,
    cause: usize,
    depth: usize,
    event: &'a Value,
    /// The work of its commands so far, in units of work.
    work: Cell<usize>,
}

/// How far the reactions to a commit have come.
pub(super) struct Reacting {
    depth: usize,
    /// The events of this depth that are left.
    level: Range<usize>,
    /// The first of them as conditions see it, once one was evaluated.
    event: Option<Value>,
    /// The reactions to it that are left.
    following: VecDeque<(ReactionName, usize)>,
    /// Up to which event the effects of a run go, and on whose behalf.
    author: (usize, AgentId),
    stopped: BTreeSet<ReactionName>,
    looks: usize,
    runs: usize,
    /// How many runs found the batch full, and how the last one was refused.
    full_runs: usize,
    full: Option<AnyRejection>,
    /// The work so far: see [`Space::begin_commit`].
    work: usize,
    /// Whether this is not the first part of the work, which others may wait for.
    is_continued: bool,
}

impl Reacting {
    /// The work so far.
    pub(super) fn work(&self) -> usize {
        self.work
    }

    /// The limit that stops a reaction from running, if any.
    fn limit(&self) -> Option<(Limit, usize)> {
        if self.depth == limits::REACTION_DEPTH_MAX {
            return Some((Limit::Depth, limits::REACTION_DEPTH_MAX));
        }
        let (runs, looks) = (self.runs, self.looks);
        let is_over = runs >= limits::REACTION_RUNS_MAX || looks > limits::REACTION_LOOKS_MAX;
        is_over.then_some((Limit::Runs, limits::REACTION_RUNS_MAX))
    }

    /// An event of the commit as conditions and placeholders see it.
    fn seen(&self, stamp: &Stamp, commit: &CommitBuilder) -> Value {
        let index = self.level.start;
        let author = if index <= self.author.0 { &self.author.1 } else { &stamp.agent };
        seen(&commit.events[index], (stamp.revision, index), stamp.now, author)
    }

    /// Goes on with the next event; false if there is none.
    fn advance(&mut self, commit: &CommitBuilder) -> bool {
        if let Event::Reaction(Reacted::Ran { by, events, .. }) = &commit.events[self.level.start] {
            self.author = (self.level.start + events, by.clone());
        }
        self.event = None;
        self.level.start += 1;
        if self.level.is_empty() {
            self.depth += 1;
            self.level = self.level.end..commit.events.len();
        }
        self.depth <= limits::REACTION_DEPTH_MAX && !self.level.is_empty()
    }
}

impl Space {
    /// The reactions to everything that a commit has caused so far.
    pub(super) fn begin_reacting(&self, stamp: &Stamp, commit: &CommitBuilder) -> Reacting {
        let mut reacting = Reacting {
            depth: 0,
            level: 0..commit.events.len(),
            event: None,
            following: VecDeque::new(),
            author: (0, stamp.agent.clone()),
            stopped: BTreeSet::new(),
            looks: 0,
            runs: 0,
            full_runs: 0,
            full: None,
            work: 0,
            is_continued: false,
        };
        self.look_at_event(&mut reacting, commit);
        reacting
    }

    /// Runs the reactions to the events, and to the effects of reactions, until there are no more
    /// or a limit is reached; it cannot fail. Returns whether that is done: if it takes more than
    /// this much work, it stops early, and is continued later. At first, it stops before it would.
    pub(super) fn react(
        &mut self,
        reacting: &mut Reacting,
        work_max: usize,
        stamp: &mut Stamp,
        commit: &mut CommitBuilder,
    ) -> bool {
        // The current run may be rolled back, even if the events before it are final.
        commit.needs_undo = true;
        let work_max = reacting.work.saturating_add(work_max);
        let is_continued = std::mem::replace(&mut reacting.is_continued, true);
        loop {
            while let Some((name, part)) = reacting.following.pop_front() {
                // A run is never interrupted, so one that may take too long is not begun here.
                let next = self.work_of_run(&name, part, reacting, commit);
                if !is_continued && next > 0 && reacting.work.saturating_add(next) > work_max {
                    reacting.following.push_front((name, part));
                    return false;
                }
                self.follow_up(&name, part, reacting, stamp, commit);
                if reacting.work >= work_max {
                    return false;
                }
            }
            // If all of them are stopped, none of them runs again, whatever follows.
            let is_over = reacting.stopped.len() == self.reaction.enabled();
            if is_over || !reacting.advance(commit) {
                return true;
            }
            self.look_at_event(reacting, commit);
            if reacting.work >= work_max {
                return false;
            }
        }
    }

    /// About how much work a reaction to the current event is beside its events: each of its
    /// commands may contain the whole event.
    fn work_of_run(
        &self,
        name: &ReactionName,
        part: usize,
        reacting: &Reacting,
        commit: &CommitBuilder,
    ) -> usize {
        let units = commit.events[reacting.level.start].weight() / BYTES_PER_UNIT;
        let commands = || self.reaction.get(name).map_or(0, |it| it.parts[part].commands.len());
        if units == 0 { 0 } else { units.saturating_mul(1 + commands()) }
    }

    /// Finds the reactions to the current event.
    fn look_at_event(&self, reacting: &mut Reacting, commit: &CommitBuilder) {
        reacting.work += 1 + self.reaction.enabled() / SCANS_PER_UNIT;
        let is_stopped = |name: &ReactionName| reacting.stopped.contains(name);
        let event = &commit.events[reacting.level.start];
        reacting.following = a_reaction_follows_its_event(self, event, is_stopped).into();
    }

    /// Runs a reaction to the current event, or notes that a limit stops it.
    fn follow_up(
        &mut self,
        name: &ReactionName,
        part: usize,
        reacting: &mut Reacting,
        stamp: &mut Stamp,
        commit: &mut CommitBuilder,
    ) {
        let before = commit.events.len();
        reacting.looks += 1;
        let (cause, depth) = (reacting.level.start, reacting.depth);
        if let Some((limit, max)) = reacting.limit() {
            if reacting.stopped.insert(name.clone()) {
                let reaction = name.clone();
                let stopped = Reacted::Stopped { reaction, cause, limit, max };
                self.note(stopped, stamp, commit);
            }
        } else {
            let event = reacting.event.take().unwrap_or_else(|| reacting.seen(stamp, commit));
            reacting.work += commit.events[cause].weight() / BYTES_PER_UNIT;
            let run = Run { name, part, cause, depth, event: &event, work: Cell::new(0) };
            reacting.runs += usize::from(self.attempt(&run, reacting, stamp, commit));
            reacting.work += run.work.get();
            reacting.event = Some(event);
        }
        reacting.work += 1 + commit.events.len() - before;
    }

    /// Runs one reaction atomically; returns whether its condition held.
    fn attempt(
        &mut self,
        run: &Run<'_>,
        reacting: &mut Reacting,
        stamp: &mut Stamp,
        commit: &mut CommitBuilder,
    ) -> bool {
        let Some(record) = self.reaction.get(run.name) else { return false };
        let held = record.parts[run.part].on.holds(run.event).map_err(|cause| {
            let (offset, reason) = (cause.offset, cause.reason);
            Failed::from(Rejection::NoAnswer { name: run.name.clone(), offset, reason })
        });
        let author = record.added_by.clone();
        #[cfg(feature = "planted")]
        let author = if crate::planted::is("reaction.runs_as_who_caused_it") {
            stamp.agent.clone()
        } else {
            author
        };
        let savepoint = self.savepoint(commit);
        let done = match held {
            Ok(false) => return false,
            Ok(true) => match &reacting.full {
                Some(full) if reacting.full_runs >= FULL_RUNS_MAX => Err(full.clone().into()),
                _ => self.carry_out(run, &author, stamp, commit),
            },
            Err(failed) => Err(failed),
        };
        if let Err(Failed { command, code, detail, full }) = done {
            // Undone steps took as long as those that remain.
            reacting.work += commit.events.len() - savepoint.events;
            if full.is_some() {
                reacting.full_runs += 1;
                reacting.full = full;
            }
            self.roll_back_to(&savepoint, commit);
            let (reaction, cause) = (run.name.clone(), run.cause);
            let event = Reacted::Failed { reaction, cause, command, code, detail };
            self.note(event, stamp, commit);
        }
        true
    }

    fn carry_out(
        &mut self,
        run: &Run<'_>,
        author: &AgentId,
        stamp: &mut Stamp,
        commit: &mut CommitBuilder,
    ) -> Result<(), Failed> {
        let (first, ended) = (commit.events.len(), commit.ended.len());
        let stored = self.bounded();
        let ran = |events| Reacted::Ran {
            reaction: run.name.clone(),
            by: author.clone(),
            cause: run.cause,
            depth: run.depth,
            events,
        };
        self.happen(ran(0), stamp, commit)?;
        let causer = std::mem::replace(&mut stamp.agent, author.clone());
        let done = self.carry_out_commands(run, stamp, commit);
        let done = done.and_then(|()| self.call_webhook(run, stamp, commit));
        let done = done.and_then(|()| Ok(self.keep_receipts_of_waits(ended, stamp, commit)?));
        let done = done.and_then(|()| Ok(self.check_quota(stored)?));
        commit.seal_live(stamp, stamp.revision);
        stamp.agent = causer;
        done?;
        let count = commit.events.len() - first - 1;
        commit.events[first] = Event::Reaction(ran(count));
        Ok(())
    }

    fn carry_out_commands(
        &mut self,
        run: &Run<'_>,
        stamp: &mut Stamp,
        commit: &mut CommitBuilder,
    ) -> Result<(), Failed> {
        let record = self.reaction.get(run.name).expect("no reaction changes reactions");
        let part = Arc::clone(&record.parts[run.part]);
        for (index, command) in part.commands.iter().enumerate() {
            let done = self.carry_out_one(run, command, stamp, commit);
            done.map_err(|failed| Failed { command: Some(index), ..failed })?;
        }
        Ok(())
    }

    fn carry_out_one(
        &mut self,
        run: &Run<'_>,
        command: &Json,
        stamp: &mut Stamp,
        commit: &mut CommitBuilder,
    ) -> Result<(), Failed> {
        let mut command = command.to_value();
        fill(&mut command, Some(run.event)).map_err(|cause| match cause {
            Unfillable::Missing { field } => {
                Rejection::MissingField { name: run.name.clone(), field }
            }
            Unfillable::Unreadable { given } => {
                Rejection::MissingField { name: run.name.clone(), field: given }
            }
        })?;
        let text = command.to_string();
        run.work.set(run.work.get() + text.len() / BYTES_PER_UNIT);
        let command = command_of(&text)?;
        match self.run(command, stamp, commit)? {
            Decision::Replied(_) => Ok(()),
            Decision::Waits(_) => Err(AnyRejection::CannotWait {}.into()),
        }
    }

    fn call_webhook(
        &mut self,
        run: &Run<'_>,
        stamp: &mut Stamp,
        commit: &mut CommitBuilder,
    ) -> Result<(), Failed> {
        let record = self.reaction.get(run.name).expect("no reaction changes reactions");
        if record.webhook.is_none() {
            return Ok(());
        }
        let body = serde_json::json!({ "reaction": run.name, "event": run.event });
        let body = Json::of(&body).map_err(AnyRejection::from)?;
        let bytes = body.as_bytes().len();
        let (calls, waiting) = self.reaction.waiting();
        let room = fits("body", bytes, limits::WEBHOOK_BODY_BYTES_MAX).map_err(Rejection::from);
        room.and_then(|()| {
            let counts = [
                ("calls", calls, limits::WEBHOOK_CALLS_MAX),
                ("bytes of calls", waiting + bytes, limits::WEBHOOK_CALLS_BYTES_MAX),
            ];
            Ok(has_room(counts)?)
        })?;
        let give_up_at = Timestamp(stamp.now.0 + limits::WEBHOOK_GIVE_UP_MS);
        let (reaction, call) = (run.name.clone(), self.reaction.next_call());
        let event = Reacted::Called { reaction, call, body, give_up_at };
        Ok(self.happen(event, stamp, commit)?)
    }

    /// Applies an event of a reaction, unless it does not fit into the batch.
    fn happen(
        &mut self,
        event: Reacted,
        stamp: &Stamp,
        commit: &mut CommitBuilder,
    ) -> Result<(), AnyRejection> {
        let first = commit.events.len();
        commit.events.push(Event::Reaction(event));
        let weighed = commit.weigh(first);
        let moment = Moment { revision: stamp.revision, time: stamp.now, agent: &stamp.agent };
        self.evolve(&commit.events[first], &moment, true);
        weighed
    }

    /// Applies an event that must be recorded in any case. Such events are small and few, and a
    /// record of the log has room for twice the maximum size of a batch.
    fn note(&mut self, event: Reacted, stamp: &Stamp, commit: &mut CommitBuilder) {
        let _ = self.happen(event, stamp, commit);
    }

    fn savepoint(&self, commit: &CommitBuilder) -> Savepoint {
        Savepoint {
            undo_log: self.undo_log.len(),
            events: commit.events.len(),
            weight: commit.weight,
            ended: commit.ended.len(),
            callers: commit.callers.len(),
            live_batches: commit.live_batches.len(),
            token: self.token,
        }
    }

    fn roll_back_to(&mut self, savepoint: &Savepoint, commit: &mut CommitBuilder) {
        commit.events.truncate(savepoint.events);
        commit.ended.truncate(savepoint.ended);
        commit.callers.truncate(savepoint.callers);
        commit.live_batches.truncate(savepoint.live_batches);
        commit.weight = savepoint.weight;
        self.token = savepoint.token;
        #[cfg(feature = "planted")]
        if crate::planted::is("reaction.failed_run_remains") {
            return;
        }
        while self.undo_log.len() > savepoint.undo_log {
            let undo: Undo = self.undo_log.pop().expect("it is longer than it was");
            self.undo(undo);
        }
    }
}
