//! The traits that every primitive implements, one for each of its files. The sums over all
//! primitives forward to these; a default means that most primitives need nothing else.
//!
//! | trait | in | implemented for |
//! |---|---|---|
//! | [`Command`], [`Event`] | `vocabulary.rs` | the enums of the same name |
//! | `Rules` | `decide.rs` | the table |
//! | [`Table`] | `table.rs` | the table |

use crate::names::{AgentId, HandoffId, MessageId, TaskId, Traceparent};
use crate::numbers::{Token, WaitId};
use crate::reply::Reply;
use crate::space::batch::Moment;
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space};
use crate::time::Timestamp;
use crate::waiting::wait::Step;

/// A command of one primitive.
pub trait Command {
    /// How long it may wait, if it can wait.
    fn wait_ms(&self) -> Option<u64> {
        None
    }

    /// Whether it carries a token, if that is optional. If it is not, its operation defines whether
    /// there is one.
    fn has_optional_token(&self) -> Option<bool> {
        None
    }

    /// The token of the caller's lease, hold or permit, if it names one.
    fn token(&self) -> Option<Token> {
        None
    }

    /// Its trace context, if it can carry one.
    fn traceparent(&mut self) -> Option<&mut Option<Traceparent>> {
        None
    }

    /// The agent that it names as its actor or beneficiary.
    fn named_agent(&self) -> Option<&AgentId> {
        None
    }
}

/// A signal to one primitive.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal<S> {
    /// From the engine: `Table::next_deadline` has passed.
    Expire,
    /// From the engine: the caller of a waiting call has gone.
    GiveUp(WaitId),
    /// From a policy: the session of an agent has ended.
    LetGo(AgentId),
    /// One that only this primitive knows.
    Own(S),
}

/// An event of one primitive.
pub trait Event {
    /// The event's type, as watchers and history know it: `state.set`, `agent.lost`.
    fn kind(&self) -> &str;

    /// The parts whose concatenation is the subject, so that it can be hashed without a copy.
    fn subject_parts(&self) -> [&str; 4];

    /// Bytes of what is neither bounded by the frame of an event nor part of the subject.
    fn load(&self) -> usize;

    /// Its effect on a waiting call.
    fn wait(&self) -> Option<Step> {
        None
    }

    /// The token that it grants.
    fn token(&self) -> Option<Token> {
        None
    }

    /// Whether its field `token` is live once it is applied, so that notices leave it out.
    fn has_live_token(&self) -> bool {
        self.token().is_some()
    }

    /// Whether watches receive it.
    fn is_public(&self) -> bool {
        true
    }

    /// Whether it is only about a waiting call: watches receive it if they ask for that.
    fn is_about_waiting(&self) -> bool {
        false
    }

    /// Whether only watches receive it, so that it is in no log.
    fn is_live(&self) -> bool {
        false
    }
}

/// The outcome of a command: its events, none if it changes nothing, and the reply.
pub(crate) struct Decided<E> {
    pub(crate) events: Vec<E>,
    pub(crate) plan: ReplyPlan,
}

impl<E> Decided<E> {
    /// The events, and which reply to build once they are applied.
    pub(crate) fn new(events: Vec<E>, plan: ReplyPlan) -> Self {
        Self { events, plan }
    }

    /// The events, and this reply.
    pub(crate) fn reply(events: Vec<E>, reply: impl Into<Reply>) -> Self {
        Self { events, plan: ReplyPlan::Reply(reply.into()) }
    }

    /// The event of a call that waits: it is answered later.
    pub(crate) fn waits(event: E) -> Self {
        Self { events: vec![event], plan: ReplyPlan::Waits }
    }
}

/// The rules of one primitive.
pub(crate) trait Rules: Table {
    /// Its commands.
    type Command;
    /// The signals that only it knows.
    type Signal;
    /// Its queries.
    type Query;
    /// Its replies.
    type Reply;
    /// Its reasons to refuse.
    type Rejection;

    /// Decides a command against the current space. If it is refused, the events that it has added
    /// must be discarded.
    fn decide(
        space: &Space,
        command: Self::Command,
        stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Self::Rejection>;

    /// Handles `Signal::Expire`: the timed transitions that are due.
    fn expire(_space: &Space, _stamp: &Stamp) -> Vec<Self::Event> {
        Vec::new()
    }

    /// Handles `Signal::GiveUp`: the call waits no longer.
    fn give_up(_space: &Space, _wait: WaitId) -> Vec<Self::Event> {
        Vec::new()
    }

    /// Handles `Signal::LetGo`: releases everything that is bound to the session of the agent.
    fn let_go(_space: &Space, _agent: &AgentId, _stamp: &Stamp) -> Vec<Self::Event> {
        Vec::new()
    }

    /// Handles a signal that only this primitive knows.
    fn handle(
        _space: &Space,
        _signal: Self::Signal,
        _stamp: &Stamp,
    ) -> Result<Vec<Self::Event>, Self::Rejection> {
        unreachable!("this primitive has no signals of its own")
    }

    /// Answers a query about the present; none if it is about the past.
    fn query(space: &Space, query: &Self::Query) -> Option<Result<Self::Reply, Self::Rejection>>;

    /// The answer to the waiting call that this event ends.
    fn ending(_space: &Space, _event: &Self::Event) -> Result<Self::Reply, Self::Rejection> {
        unreachable!("no call waits for this primitive")
    }
}

/// The facts of one primitive.
pub trait Table: Default {
    /// Its events.
    type Event: Event;
    /// How to undo one change.
    type Undo;
    /// All its data, for a snapshot.
    type Facts;

    /// Applies an event. Total: every event that the rules can produce applies.
    fn evolve(&mut self, event: &Self::Event, moment: &Moment<'_>) -> Self::Undo;

    /// Undoes one change. Changes must be undone in reverse order.
    fn undo(&mut self, undo: Self::Undo);

    /// Makes a change final, so that its undo data can be dropped.
    fn discard_undo(&mut self, undo: Self::Undo) {
        drop(undo);
    }

    /// All its data, for a snapshot.
    fn facts(&self) -> Self::Facts;

    /// Assembles the contents of a snapshot.
    fn restore(facts: Self::Facts) -> Self;

    /// Asserts the invariants that the primitive's `mod.rs` lists.
    fn check(&self);

    /// When the engine should next send the signal for timed transitions.
    fn next_deadline(&self) -> Option<Timestamp> {
        None
    }

    /// The server resumed serving the workspace at this time.
    fn wake(&mut self, _moment: Timestamp) {}

    /// Removes what has ended and exceeds a limit; returns the records that could reference
    /// artifacts.
    fn trim(&mut self) -> Vec<Forgotten> {
        Vec::new()
    }

    /// All waiting calls.
    fn wait_ids(&self) -> impl Iterator<Item = WaitId> {
        std::iter::empty()
    }

    /// The agent whose call waits in it under this number.
    fn caller(&self, _wait: WaitId) -> Option<&AgentId> {
        None
    }

    /// Whether this call waits in it.
    fn is_waiting(&self, wait: WaitId) -> bool {
        self.caller(wait).is_some()
    }

    /// Whether a call of this agent waits in it.
    fn has_caller(&self, _agent: &AgentId) -> bool {
        false
    }

    /// The agent that holds something with this token.
    fn holder_of(&self, _token: Token) -> Option<&AgentId> {
        None
    }
}

/// A record that was forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forgotten {
    /// A task.
    Task(TaskId),
    /// A hand-off.
    Handoff(HandoffId),
    /// A message.
    Message(MessageId),
}
