//! A workspace in memory: its tables, and the one way to change them.

use crate::command::{Mutation, Request};
use crate::event::Event;
use crate::names::{AgentId, IdempotencyKey};
use crate::numbers::{Revision, Token, WaitId};
use crate::primitive::{Decided, Forgotten};
use crate::rejection::Rejection;
use crate::reply::{Answer, Reply};
use crate::signal::Signal;
use crate::space::batch::{Batch, Moment};
use crate::space::receipt::{Receipt, Receipts, digest};
use crate::space::stamp::Stamp;
use crate::time::Timestamp;
use crate::waiting::wait::{Keyed, KeyedWaits, Step};
use crate::{limits, message, primitives};

pub mod authors;
pub mod batch;
pub mod receipt;
pub mod stamp;

mod artifact_refs;
mod contracts;
mod deletion;
mod effect;
mod effort;
mod fast_set;
mod fork_seed;
mod handoffs;
mod head;
mod holders;
mod live_calls;
mod messaging;
mod pipelines;
mod queries;
mod quota;
mod reactions;
mod relief;
mod reply_plan;
mod signs_of_life;
mod steps;
mod suspension;
mod tables;
#[cfg(test)]
mod tests;
mod timers;
mod weight;

use effect::Intent;
pub(crate) use effort::CommitEffort;
pub use effort::RulesTooCostly;
pub use fast_set::FastSet;
pub(crate) use handoffs::SpaceView;
pub use head::Head;
pub use live_calls::{LiveCall, LiveDelivery, LiveEffects};
pub use quota::StorageQuota;
pub(crate) use reply_plan::ReplyPlan;
pub use suspension::{CommitProgress, Suspended};
use tables::Undo;
pub(crate) use tables::{TablesView, TasksView};

macro_rules! space {
    ($($(#[$doc:meta])* $module:ident: $variant:ident = $wire:literal $(, $facts:ident)?;)*) => {
        /// One workspace: an ordered history, and the resulting state.
        #[derive(Default)]
        pub struct Space {
            $(
                $(#[$doc])*
                pub $module: crate::$module::Table,
            )*
            receipts: Receipts,
            keyed_waits: KeyedWaits,
            revision: Revision,
            time: Timestamp,
            /// The last granted token.
            token: Token,
            undo_log: Vec<Undo>,
            /// The storage quota, if any.
            quota: Option<StorageQuota>,
        }
    };
}
primitives!(space);

/// The result of a commit.
#[derive(Debug)]
pub struct Committed<O = CallOutcome> {
    /// The answer to the caller, once it is durable. Signals have none.
    pub outcome: O,
    /// The batch; none if nothing changed.
    pub batch: Option<Batch>,
    /// The waiting calls that it ended, with their answers, once it is durable.
    pub ended: Vec<Ended>,
    /// Events that are delivered to watches and not recorded: after the batch before them, and with
    /// its revision. None of them is empty.
    pub live: Vec<Batch>,
    /// The work of its reactions, in units of [`Space::begin_commit`].
    pub work: usize,
}

impl<O> Committed<O> {
    /// The same with another outcome.
    pub fn map<P>(self, outcome: impl FnOnce(O) -> P) -> Committed<P> {
        let Self { outcome: before, batch, ended, live, work } = self;
        Committed { outcome: outcome(before), batch, ended, live, work }
    }
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallOutcome {
    /// It was answered.
    Answered(Answer),
    /// It waits: a later commit ends the wait.
    Waits(WaitId),
}

/// A waiting call that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The wait.
    pub wait: WaitId,
    /// Whether it got what it waited for.
    pub is_granted: bool,
    /// The reply to the caller.
    pub reply: Result<Reply, Rejection>,
}

/// A commit that is being decided: its events and their effects.
struct CommitBuilder {
    /// The work that its reactions may take before it is suspended.
    work_max: usize,
    /// The remaining effort for its checks.
    effort: CommitEffort,
    events: Vec<Event>,
    weight: usize,
    /// Whether more commands may follow and be refused, so that undo data is needed.
    needs_undo: bool,
    /// Whether an event was applied that cannot be undone.
    is_final: bool,
    ended: Vec<Ended>,
    /// The agents whose waiting calls it ended.
    callers: Vec<AgentId>,
    /// Events that are delivered and not recorded.
    live: Vec<Event>,
    /// The same, from commands that are finished.
    live_batches: Vec<Batch>,
}

/// The collector of the events of a command.
pub(crate) struct Happening<'a> {
    events: &'a mut Vec<Event>,
    live: &'a mut Vec<Event>,
    effort: &'a CommitEffort,
}

/// The outcome of one command: a reply, or a call that waits.
enum Decision {
    Replied(Reply),
    Waits(WaitId),
}

impl Space {
    /// The revision of the last change.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// When the last change was decided.
    pub fn time(&self) -> Timestamp {
        self.time
    }

    /// Whether the end of a session may end what is below it.
    fn has_below(&self) -> bool {
        self.agent.has_supervised() || self.task.links().has_children()
    }

    fn signal_with(
        &mut self,
        signals: Vec<Signal>,
        now: Timestamp,
        (ends_below, work_max): (bool, usize),
    ) -> Result<CommitProgress<()>, Rejection> {
        let mut stamp = self.stamp(&AgentId::engine(), now, None, ends_below);
        let needs_undo = signals.len() > 1;
        let mut commit = CommitBuilder { work_max, needs_undo, ..CommitBuilder::new() };
        let last_token = self.token;
        let mut signals = signals.into_iter();
        let done = signals.try_for_each(|signal| {
            let first = commit.events.len();
            self.step(signal.into(), &mut stamp, &mut commit)?;
            self.follow(first, &mut stamp, &mut commit)
        });
        if let Err(rejection) = done {
            self.refuse(&commit, last_token);
            return Err(rejection);
        }
        self.conclude((), None, None, stamp, commit, last_token)
    }

    /// The inputs of the decision of a commit.
    fn stamp(
        &self,
        agent: &AgentId,
        now: Timestamp,
        key: Option<IdempotencyKey>,
        ends_below: bool,
    ) -> Stamp {
        Stamp {
            // A clock that was set back must not make time run backwards in the log.
            now: now.max(self.time),
            agent: agent.clone(),
            revision: self.revision.next(),
            key,
            ends_below,
            next_token: Token::default(),
        }
    }

    fn commit_with(
        &mut self,
        request: Request,
        agent: &AgentId,
        now: Timestamp,
        (ends_below, work_max): (bool, usize),
    ) -> Result<CommitProgress, Rejection> {
        let Request { mut mutation, idempotency_key } = request;
        let keyed = idempotency_key.map(|key| (key, digest(&mut mutation)));
        if let Some((key, digest)) = &keyed
            && let Some(outcome) = self.repeated(agent, key, *digest)?
        {
            let (ended, live) = (Vec::new(), Vec::new());
            return Ok(CommitProgress::Done(Committed {
                outcome,
                batch: None,
                ended,
                live,
                work: 0,
            }));
        }
        let key = keyed.as_ref().map(|(key, _)| key.clone());
        let mut stamp = self.stamp(agent, now, key, ends_below);
        let stored = self.bounded();
        let is_together = matches!(mutation, Mutation::Transaction { .. });
        let needs_undo = keyed.is_some() || stored.is_some() || is_together;
        let mut commit = CommitBuilder { work_max, needs_undo, ..CommitBuilder::new() };
        let last_token = self.token;
        let done = match self.execute(mutation, &mut stamp, &mut commit) {
            Ok(done) => done,
            Err(rejection) => {
                self.refuse(&commit, last_token);
                return Err(rejection);
            }
        };
        let revision = if commit.events.is_empty() { self.revision } else { stamp.revision };
        let outcome = match done {
            Decision::Replied(reply) => CallOutcome::Answered(Answer { revision, reply }),
            Decision::Waits(wait) => CallOutcome::Waits(wait),
        };
        #[cfg(feature = "planted")]
        let keyed = keyed.filter(|_| !crate::planted::is("space.receipt_not_kept"));
        let kept = keyed.map(|(key, digest)| kept(&outcome, key, digest, agent));
        self.conclude(outcome, kept, stored, stamp, commit, last_token)
    }

    fn refuse(&mut self, commit: &CommitBuilder, last_token: Token) {
        assert!(!commit.is_final, "what cannot be taken back is not refused");
        self.roll_back(last_token);
    }

    /// Makes a commit final, unless it is too large: stores what is kept of its answers, runs the
    /// reactions and moves on to the next revision.
    fn conclude<O>(
        &mut self,
        outcome: O,
        kept: Option<Event>,
        stored: Option<quota::Stored>,
        mut stamp: Stamp,
        mut commit: CommitBuilder,
        last_token: Token,
    ) -> Result<CommitProgress<O>, Rejection> {
        self.record_sign_of_life(&stamp, &mut commit);
        let revision = if commit.events.is_empty() { self.revision } else { stamp.revision };
        if commit.events.is_empty() {
            commit.seal_live(&stamp, revision);
            let live = commit.live_batches;
            let ended = Vec::new();
            return Ok(CommitProgress::Done(Committed {
                outcome,
                batch: None,
                ended,
                live,
                work: 0,
            }));
        }
        let kept = self.keep_answers(kept, &stamp, &mut commit);
        if let Err(rejection) = kept.and_then(|()| self.check_quota(stored)) {
            self.roll_back(last_token);
            return Err(rejection);
        }
        commit.seal_live(&stamp, revision);
        // From here on nothing is refused: a reaction that cannot run fails alone.
        let mut work = 0;
        if !self.reaction.is_idle() {
            let mut reacting = self.begin_reacting(&stamp, &commit);
            if !self.react(&mut reacting, commit.work_max, &mut stamp, &mut commit) {
                let suspended = Suspended { stamp, commit, outcome, reacting, is_done: false };
                return Ok(CommitProgress::Suspended(Box::new(suspended)));
            }
            work = reacting.work();
        }
        Ok(CommitProgress::Done(self.finish(stamp, commit, (outcome, work))))
    }

    /// No further event follows in this commit.
    fn finish<O>(
        &mut self,
        stamp: Stamp,
        commit: CommitBuilder,
        (outcome, work): (O, usize),
    ) -> Committed<O> {
        let moment = Moment { revision: stamp.revision, time: stamp.now, agent: &stamp.agent };
        commit.events.iter().for_each(|event| self.remember(event, &moment));
        let Stamp { now: time, agent, revision, .. } = stamp;
        self.advance(revision, time);
        let CommitBuilder { events, ended, callers, live_batches: live, .. } = commit;
        self.hear_callers(&callers);
        let batch = Some(Batch { revision, time, agent, events });
        Committed { outcome, batch, ended, live, work }
    }

    /// The result of a request, if it was made before.
    fn repeated(
        &self,
        agent: &AgentId,
        key: &IdempotencyKey,
        digest: u64,
    ) -> Result<Option<CallOutcome>, Rejection> {
        let (before, outcome) = if let Some(receipt) = self.receipts.find(agent, key) {
            (receipt.digest, CallOutcome::Answered(receipt.answer()))
        } else if let Some(keyed) = self.keyed_waits.find(agent, key) {
            (keyed.digest, CallOutcome::Waits(keyed.wait))
        } else {
            return Ok(None);
        };
        if before == digest {
            return self.completed(outcome).map(Some);
        }
        Err(Rejection::KeyReused { key: key.clone() })
    }

    /// A stored answer, with the states of checkpoints that are not stored with it. The failure of
    /// a handler was stored as an answer, since the request had its effect.
    fn completed(&self, mut outcome: CallOutcome) -> Result<CallOutcome, Rejection> {
        if let CallOutcome::Answered(answer) = &mut outcome {
            if let Reply::Message(message::Reply::Failed(failed)) = &answer.reply {
                return Err(message::Rejection::HandlerFailed(failed.clone()).into());
            }
            for restored in answer.reply.restored() {
                restored.state = Some(self.checkpoint.state(&restored.id)?);
            }
        }
        Ok(outcome)
    }

    /// Stores the answers to this request and to the waits that it ended, for repeated requests.
    fn keep_answers(
        &self,
        kept: Option<Event>,
        stamp: &Stamp,
        commit: &mut CommitBuilder,
    ) -> Result<(), Rejection> {
        self.keep_receipts_of_waits(0, stamp, commit)?;
        let first = commit.events.len();
        commit.events.extend(kept);
        commit.weigh(first)
    }

    /// Stores the answers to the waits that ended, from this one on.
    fn keep_receipts_of_waits(
        &self,
        from: usize,
        stamp: &Stamp,
        commit: &mut CommitBuilder,
    ) -> Result<(), Rejection> {
        let first = commit.events.len();
        // Only effects are stored: a call without a result may wait again.
        for Ended { wait, reply, .. } in commit.ended[from..].iter().filter(|it| it.is_granted) {
            #[cfg(feature = "planted")]
            if crate::planted::is("space.awaited_receipt_not_kept") {
                continue;
            }
            // A wait that started in this commit is not registered yet.
            let begun = commit.events.iter().find_map(|event| event.begun(*wait));
            let kept = match reply {
                Ok(reply) => Some(reply.clone()),
                Err(rejection) => rejection.kept(),
            };
            if let (Some(keyed), Some(reply)) = (self.keyed_waits.get(*wait).or(begun), kept) {
                let answer = Answer { revision: stamp.revision, reply };
                commit.events.push(Event::Receipt(Receipt::awaited(keyed, &answer)));
            }
        }
        commit.weigh(first)
    }

    /// Applies an event to receipts and keyed waits. Done last, when nothing can be refused any
    /// more, so that it needs no undo.
    fn remember(&mut self, event: &Event, moment: &Moment<'_>) {
        match event {
            Event::Receipt(receipt) => self.receipts.evolve(receipt, moment),
            Event::Awaited(keyed) => self.keyed_waits.begin(keyed),
            event => {
                if let Some(wait) = event.wait().and_then(Step::ended) {
                    self.keyed_waits.end(wait);
                }
            }
        }
    }

    /// Applies a batch that was decided before. It must be the next one.
    pub fn replay(&mut self, batch: &Batch) {
        assert_eq!(batch.revision, self.revision.next(), "batches are replayed in order");
        let moment = batch.moment();
        for (event, agent) in batch.events.iter().zip(batch.authors()) {
            let moment = Moment { agent, ..moment };
            #[cfg(feature = "planted")]
            if crate::planted::is("space.replay_skips") && batch.revision.0.is_multiple_of(13) {
                continue;
            }
            self.evolve(event, &moment, false);
        }
        batch.events.iter().for_each(|event| self.remember(event, &moment));
        self.advance(batch.revision, batch.time);
    }

    fn advance(&mut self, revision: Revision, time: Timestamp) {
        self.revision = revision;
        self.time = self.time.max(time);
        self.discard_undo();
        let forgotten = self.trim();
        for record in &forgotten {
            if let Forgotten::Task(task) = record {
                self.spend.forget(task);
            }
        }
        self.release_artifact_refs(forgotten);
    }

    fn execute(
        &mut self,
        mutation: Mutation,
        stamp: &mut Stamp,
        commit: &mut CommitBuilder,
    ) -> Result<Decision, Rejection> {
        let (require, commands, optional) = match mutation {
            Mutation::Command(command) => {
                self.check_own_token(&command, stamp)?;
                return self.run(command, stamp, commit);
            }
            Mutation::Fenced { token, command } => {
                self.check_fence(Some(token), &stamp.agent)?;
                self.check_own_token(&command, stamp)?;
                return self.run(*command, stamp, commit);
            }
            Mutation::Transaction { require, commands, optional } => (require, commands, optional),
            Mutation::Minimal(mutation) => return self.execute(*mutation, stamp, commit),
        };
        if commands.is_empty() {
            return Err(Rejection::EmptyTransaction {});
        }
        let counts = [
            ("commands", commands.len(), limits::TRANSACTION_COMMANDS_MAX),
            ("preconditions", require.len(), limits::TRANSACTION_REQUIREMENTS_MAX),
        ];
        if let Some((what, given, max)) = counts.into_iter().find(|(_, given, max)| given > max) {
            return Err(Rejection::TooLarge { what, given, max });
        }
        for (index, precondition) in require.into_iter().enumerate() {
            self.check_precondition(index, precondition, &stamp.agent)?;
        }
        let replies = commands.into_iter().enumerate().map(|(index, command)| {
            let refused = |cause: Rejection| {
                let cause_code = cause.code();
                Rejection::InTransaction { index, cause_code, cause: Box::new(cause) }
            };
            let effect = (!optional.contains(&index)).then(|| Intent::of(&command));
            self.check_own_token(&command, stamp).map_err(refused)?;
            match self.run(command, stamp, commit).map_err(refused)? {
                Decision::Replied(reply) => {
                    match effect.and_then(|effect| effect.missing(&reply)) {
                        Some(rejection) => Err(refused(rejection)),
                        None => Ok(reply),
                    }
                }
                Decision::Waits(_) => Err(refused(Rejection::CannotWait {})),
            }
        });
        Ok(Decision::Replied(Reply::Transaction(replies.collect::<Result<_, _>>()?)))
    }
}

impl<'a> Happening<'a> {
    /// The remaining effort for the checks of this commit.
    pub(crate) fn effort(&self) -> &'a CommitEffort {
        self.effort
    }

    /// Adds an event.
    #[inline]
    pub(crate) fn add(&mut self, event: impl Into<Event>) {
        self.events.push(event.into());
    }

    /// Adds several events.
    pub(crate) fn extend<E: Into<Event>>(&mut self, events: Vec<E>) {
        self.events.extend(events.into_iter().map(Into::into));
    }

    /// Adds the events of a command, of which watches receive some that are not recorded, and
    /// returns its reply.
    pub(crate) fn take<E: Into<Event>>(&mut self, decided: Decided<E>) -> ReplyPlan {
        for event in decided.events.into_iter().map(Into::into) {
            let list = if event.is_live() { &mut *self.live } else { &mut *self.events };
            list.push(event);
        }
        decided.plan
    }

    /// The number of events in this commit so far.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }
}

impl CommitBuilder {
    fn new() -> Self {
        Self {
            work_max: usize::MAX,
            effort: CommitEffort::default(),
            // Nearly every commit is one event, dropped as soon as it is encoded.
            events: Vec::with_capacity(1),
            weight: 0,
            needs_undo: false,
            is_final: false,
            ended: Vec::new(),
            callers: Vec::new(),
            live: Vec::new(),
            live_batches: Vec::new(),
        }
    }

    /// Collects the live events of a command into a batch.
    fn seal_live(&mut self, stamp: &Stamp, revision: Revision) {
        if !self.live.is_empty() {
            let events = std::mem::take(&mut self.live);
            let (time, agent) = (stamp.now, stamp.agent.clone());
            self.live_batches.push(Batch { revision, time, agent, events });
        }
    }

    /// Adds up the events from this one on, and refuses a batch that does not fit into the log.
    #[inline]
    fn weigh(&mut self, first: usize) -> Result<(), Rejection> {
        self.weight += self.events[first..].iter().map(Event::weight).sum::<usize>();
        let bounds = [
            ("events", self.events.len(), limits::BATCH_EVENTS_MAX),
            ("bytes", self.weight, limits::BATCH_BYTES_MAX),
        ];
        match bounds.into_iter().find(|(_, given, max)| given > max) {
            Some((what, given, max)) => Err(Rejection::TooLarge { what, given, max }),
            None => Ok(()),
        }
    }
}

/// The event that stores the outcome of a request, for repeated requests.
fn kept(outcome: &CallOutcome, key: IdempotencyKey, digest: u64, agent: &AgentId) -> Event {
    match outcome {
        CallOutcome::Answered(answer) => {
            Event::Receipt(Receipt::of(key, digest, &answer.without_states()))
        }
        CallOutcome::Waits(wait) => {
            Event::Awaited(Keyed { wait: *wait, agent: agent.clone(), key, digest })
        }
    }
}
