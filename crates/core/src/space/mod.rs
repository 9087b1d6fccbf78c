//! A workspace in memory: its tables, and the one way to change them.

use crate::command::{Command, Request, Wish};
use crate::event::Event;
use crate::names::{AgentId, IdempotencyKey};
use crate::numbers::{Revision, Token, WaitId};
use crate::rejection::Rejection;
use crate::reply::{Answer, Reply};
use crate::space::batch::{Batch, Moment};
use crate::space::receipt::{Receipt, Receipts, digest};
use crate::space::stamp::Stamp;
use crate::time::Timestamp;
use crate::waiting::wait::{Keyed, KeyedWaits, Step};
use crate::{
    agent, artifact, barrier, checkpoint, handoff, join, limits, lock, message, namespace,
    pipeline, policy, reaction, rule, secret, semaphore, state, stream, task, topic, workspace,
};

pub mod authors;
pub mod batch;
pub mod receipt;
pub mod stamp;

mod asking;
mod bounds;
mod founding;
mod handing;
mod head;
mod naming;
mod pipelines;
mod plainly;
mod plan;
mod reacting;
mod tables;
mod talking;
#[cfg(test)]
mod tests;
mod timing;

pub use bounds::Bounds;
pub use head::Head;
pub use plainly::PlainSet;
use plan::Plan;
use tables::Undo;

/// One workspace: an ordered history, and what it adds up to.
#[derive(Default)]
pub struct Space {
    /// Shared state.
    pub state: state::Table,
    /// Namespaces.
    pub namespace: namespace::Table,
    /// Agents.
    pub agent: agent::Table,
    /// Messages.
    pub message: message::Table,
    /// Topics.
    pub topic: topic::Table,
    /// Streams.
    pub stream: stream::Table,
    /// Rules for hand-offs.
    pub rule: rule::Table,
    /// Reactions.
    pub reaction: reaction::Table,
    /// Locks.
    pub lock: lock::Table,
    /// Semaphores.
    pub semaphore: semaphore::Table,
    /// Barriers.
    pub barrier: barrier::Table,
    /// Tasks.
    pub task: task::Table,
    /// Joins.
    pub join: join::Table,
    /// Pipelines.
    pub pipeline: pipeline::Table,
    /// Checkpoints.
    pub checkpoint: checkpoint::Table,
    /// Artifacts.
    pub artifact: artifact::Table,
    /// Secrets.
    pub secret: secret::Table,
    /// Hand-offs.
    pub handoff: handoff::Table,
    /// The workspace about itself.
    pub workspace: workspace::Table,
    receipts: Receipts,
    keyed_waits: KeyedWaits,
    revision: Revision,
    time: Timestamp,
    /// The last one given.
    token: Token,
    journal: Vec<Undo>,
    /// How much may be there, if there is a bound to it.
    bounds: Option<Bounds>,
}

/// What a commit did.
#[derive(Debug)]
pub struct Committed {
    /// What to tell the caller, once it is durable.
    pub outcome: Outcome,
    /// What happened; none if nothing changed.
    pub batch: Option<Batch>,
    /// Calls that had waited until now, and what to tell them, once it is durable.
    pub ended: Vec<Ended>,
    /// What is told to those who watch and not written down: after what happened before it, and
    /// under the revision of that. None of them is empty.
    pub live: Vec<Batch>,
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is answered.
    Answered(Answer),
    /// It waits: a later commit ends that.
    Waits(WaitId),
}

/// A call that waits no longer.
#[derive(Debug)]
pub struct Ended {
    /// Which.
    pub wait: WaitId,
    /// Whether it has what it waited for.
    pub is_granted: bool,
    /// What to tell the caller.
    pub reply: Result<Reply, Rejection>,
}

/// The events of a commit that is being decided.
struct Happened {
    events: Vec<Event>,
    weight: usize,
    /// Whether more may be decided after the command at hand, and refused with all before it.
    goes_on: bool,
    /// Whether something happened that nobody can take back.
    is_final: bool,
    ended: Vec<Ended>,
    /// What is told and not written down.
    live: Vec<Event>,
    /// Such, from commands that are done with.
    told: Vec<Batch>,
}

/// What a command came to.
enum Done {
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

    /// Decides a request and applies what follows from it: all of it, or nothing.
    pub fn commit(
        &mut self,
        request: Request,
        agent: &AgentId,
        now: Timestamp,
    ) -> Result<Committed, Rejection> {
        let Request { mut wish, idempotency_key } = request;
        let keyed = idempotency_key.map(|key| (key, digest(&mut wish)));
        if let Some((key, digest)) = &keyed
            && let Some(outcome) = self.repeated(agent, key, *digest)?
        {
            return Ok(Committed { outcome, batch: None, ended: Vec::new(), live: Vec::new() });
        }
        let mut stamp = Stamp {
            // A clock that was set back must not make time run backwards in the log.
            now: now.max(self.time),
            agent: agent.clone(),
            revision: self.revision.next(),
            key: keyed.as_ref().map(|(key, _)| key.clone()),
            next_token: Token::default(),
        };
        let stored = self.stored_before(&wish);
        let is_together = matches!(wish, Wish::Transaction { .. });
        let goes_on = keyed.is_some() || stored.is_some() || is_together;
        let mut happened = Happened { goes_on, ..Happened::new() };
        let last_token = self.token;
        let done = match self.fulfil(wish, &mut stamp, &mut happened) {
            Ok(done) => done,
            Err(rejection) => {
                assert!(!happened.is_final, "what cannot be taken back is not refused");
                self.take_back(last_token);
                return Err(rejection);
            }
        };
        let revision = if happened.events.is_empty() { self.revision } else { stamp.revision };
        let outcome = match done {
            Done::Replied(reply) => Outcome::Answered(Answer { revision, reply }),
            Done::Waits(wait) => Outcome::Waits(wait),
        };
        if happened.events.is_empty() {
            happened.tell(&stamp, revision);
            let live = happened.told;
            return Ok(Committed { outcome, batch: None, ended: Vec::new(), live });
        }
        #[cfg(feature = "planted")]
        let keyed = keyed.filter(|_| !crate::planted::is("space.receipt_not_kept"));
        let kept = self.keep_answers(keyed, &outcome, &stamp, &mut happened);
        if let Err(rejection) = kept.and_then(|()| self.check_bounds(stored)) {
            self.take_back(last_token);
            return Err(rejection);
        }
        happened.tell(&stamp, revision);
        // From here on nothing is refused: a reaction that cannot run fails alone.
        if !self.reaction.is_idle() {
            self.react(&mut stamp, &mut happened);
        }
        let moment = Moment { revision: stamp.revision, time: stamp.now, agent: &stamp.agent };
        happened.events.iter().for_each(|event| self.remember(event, &moment));
        let Stamp { now: time, agent, revision, .. } = stamp;
        self.advance(revision, time);
        let Happened { events, ended, told: live, .. } = happened;
        let batch = Some(Batch { revision, time, agent, events });
        Ok(Committed { outcome, batch, ended, live })
    }

    /// What became of a request, if it was made before.
    fn repeated(
        &self,
        agent: &AgentId,
        key: &IdempotencyKey,
        digest: u64,
    ) -> Result<Option<Outcome>, Rejection> {
        let (before, outcome) = if let Some(receipt) = self.receipts.find(agent, key) {
            (receipt.digest, Outcome::Answered(receipt.answer()))
        } else if let Some(keyed) = self.keyed_waits.find(agent, key) {
            (keyed.digest, Outcome::Waits(keyed.wait))
        } else {
            return Ok(None);
        };
        if before == digest {
            return self.completed(outcome).map(Some);
        }
        Err(Rejection::KeyReused { key: key.clone() })
    }

    /// A kept answer, with the states of checkpoints that were left out of it. What a handler
    /// failed with was kept as an answer, since the request had its effect.
    fn completed(&self, mut outcome: Outcome) -> Result<Outcome, Rejection> {
        if let Outcome::Answered(answer) = &mut outcome {
            if let Reply::Message(message::Reply::Failed(failed)) = &answer.reply {
                return Err(message::Rejection::HandlerFailed(failed.clone()).into());
            }
            for restored in answer.reply.restored() {
                restored.state = Some(self.checkpoint.state(&restored.id)?);
            }
        }
        Ok(outcome)
    }

    /// Notes what must be repeated if this request is, or one whose wait it has ended.
    fn keep_answers(
        &self,
        keyed: Option<(IdempotencyKey, u64)>,
        outcome: &Outcome,
        stamp: &Stamp,
        happened: &mut Happened,
    ) -> Result<(), Rejection> {
        self.keep_awaited(0, stamp, happened)?;
        let first = happened.events.len();
        if let Some((key, digest)) = keyed {
            let agent = stamp.agent.clone();
            happened.events.push(match outcome {
                Outcome::Answered(answer) => {
                    Event::Receipt(Receipt::of(key, digest, &answer.without_states()))
                }
                Outcome::Waits(wait) => Event::Awaited(Keyed { wait: *wait, agent, key, digest }),
            });
        }
        happened.weigh(first)
    }

    /// Notes what must be repeated to those whose wait has ended, from this one on.
    fn keep_awaited(
        &self,
        from: usize,
        stamp: &Stamp,
        happened: &mut Happened,
    ) -> Result<(), Rejection> {
        let first = happened.events.len();
        // Only effects are kept: whoever waited for nothing may wait again.
        for Ended { wait, reply, .. } in happened.ended[from..].iter().filter(|it| it.is_granted) {
            #[cfg(feature = "planted")]
            if crate::planted::is("space.awaited_receipt_not_kept") {
                continue;
            }
            // A wait that began in this very commit is not remembered yet.
            let begun = happened.events.iter().find_map(|event| event.begun(*wait));
            let kept = match reply {
                Ok(reply) => Some(reply.clone()),
                Err(rejection) => rejection.kept(),
            };
            if let (Some(keyed), Some(reply)) = (self.keyed_waits.get(*wait).or(begun), kept) {
                let answer = Answer { revision: stamp.revision, reply };
                happened.events.push(Event::Receipt(Receipt::awaited(keyed, &answer)));
            }
        }
        happened.weigh(first)
    }

    /// Applies what an event means for requests that are repeated. Happens last, when nothing can
    /// be refused any more: there is nothing to take back.
    fn remember(&mut self, event: &Event, moment: &Moment<'_>) {
        match event {
            Event::Receipt(receipt) => self.receipts.evolve(receipt, moment),
            Event::Awaited(keyed) => self.keyed_waits.begin(keyed),
            Event::State(_)
            | Event::Namespace(_)
            | Event::Agent(_)
            | Event::Message(_)
            | Event::Topic(_)
            | Event::Stream(_)
            | Event::Rule(_)
            | Event::Bus(_)
            | Event::Reaction(_)
            | Event::Lock(_)
            | Event::Semaphore(_)
            | Event::Barrier(_)
            | Event::Join(_)
            | Event::Checkpoint(_)
            | Event::Artifact(_)
            | Event::Secret(_)
            | Event::Handoff(_)
            | Event::Task(_)
            | Event::Pipeline(_)
            | Event::Workspace(_) => {
                if let Some(wait) = event.wait().and_then(Step::ended) {
                    self.keyed_waits.end(wait);
                }
            }
        }
    }

    /// Applies what was decided before. The batch must be the next one.
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
        self.settle();
        let tasks = self.task.trim();
        let messages = self.message.trim();
        self.topic.trim();
        self.join.trim();
        self.pipeline.trim();
        let handoffs = self.handoff.trim();
        self.let_go_of_artifacts(tasks, handoffs, messages);
    }

    fn fulfil(
        &mut self,
        wish: Wish,
        stamp: &mut Stamp,
        happened: &mut Happened,
    ) -> Result<Done, Rejection> {
        let (require, commands) = match wish {
            Wish::Command(command) => return self.run(command, stamp, happened),
            Wish::Fenced { token, command } => {
                let is_live = self.is_live(token);
                #[cfg(feature = "planted")]
                let is_live = is_live || crate::planted::is("space.stale_fence_holds");
                if !is_live {
                    return Err(Rejection::StaleToken { given: token });
                }
                return self.run(*command, stamp, happened);
            }
            Wish::Transaction { require, commands } => (require, commands),
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
            self.check_precondition(index, precondition)?;
        }
        let replies = commands.into_iter().enumerate().map(|(index, command)| {
            let refused = |cause: Rejection| {
                let cause_code = cause.code();
                Rejection::InTransaction { index, cause_code, cause: Box::new(cause) }
            };
            match self.run(command, stamp, happened).map_err(refused)? {
                Done::Replied(reply) => Ok(reply),
                Done::Waits(_) => Err(refused(Rejection::CannotWait {})),
            }
        });
        Ok(Done::Replied(Reply::Transaction(replies.collect::<Result<_, _>>()?)))
    }

    /// Decides one command, and then what follows from it, round after round.
    fn run(
        &mut self,
        command: Command,
        stamp: &mut Stamp,
        happened: &mut Happened,
    ) -> Result<Done, Rejection> {
        self.check_named(&command)?;
        let mut first = happened.events.len();
        let plan = self.step(command, stamp, happened)?;
        for _ in 0..limits::POLICY_ROUNDS_MAX {
            let last = happened.events.len();
            let fresh = &happened.events[first..];
            let following: Vec<Command> =
                fresh.iter().flat_map(|event| policy::follow(self, event)).collect();
            if following.is_empty() {
                return Ok(match plan {
                    Plan::Waits => Done::Waits(stamp.wait()),
                    plan => Done::Replied(self.reply(plan, &happened.events)),
                });
            }
            for command in following {
                self.step(command, stamp, happened)?;
            }
            first = last;
        }
        Err(Rejection::PolicyRounds { max: limits::POLICY_ROUNDS_MAX })
    }

    #[inline]
    fn step(
        &mut self,
        command: Command,
        stamp: &mut Stamp,
        happened: &mut Happened,
    ) -> Result<Plan, Rejection> {
        let first = happened.events.len();
        stamp.next_token = Token(stamp.revision.0).max(self.token.next());
        let plan = self.decide(command, stamp, happened)?;
        happened.weigh(first)?;
        let moment = Moment { revision: stamp.revision, time: stamp.now, agent: &stamp.agent };
        let fresh = &happened.events[first..];
        // Whatever follows is decided after this, and may be refused.
        happened.goes_on |= fresh.iter().any(|event| policy::may_follow(self, event));
        happened.is_final |= !happened.goes_on;
        for event in fresh {
            self.evolve(event, &moment, happened.goes_on);
            if let Some(wait) = event.wait().and_then(Step::ended) {
                let is_granted = event.wait() == Some(Step::Granted(wait));
                happened.ended.push(Ended { wait, is_granted, reply: self.ending(event) });
            }
        }
        Ok(plan)
    }
}

impl Happened {
    fn new() -> Self {
        Self {
            // Nearly every commit is one event, gone as soon as it is encoded.
            events: Vec::with_capacity(1),
            weight: 0,
            goes_on: false,
            is_final: false,
            ended: Vec::new(),
            live: Vec::new(),
            told: Vec::new(),
        }
    }

    /// What whoever acts wants told to those who watch, without being written down.
    fn tell(&mut self, stamp: &Stamp, revision: Revision) {
        if !self.live.is_empty() {
            let events = std::mem::take(&mut self.live);
            let (time, agent) = (stamp.now, stamp.agent.clone());
            self.told.push(Batch { revision, time, agent, events });
        }
    }

    /// Counts the events from this one on, and refuses what a log could not take.
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
