//! A workspace in memory: its tables, and the one way to change them.

use serde::{Deserialize, Serialize};

use crate::batch::{Batch, Moment};
use crate::command::{Command, Query, Request, Wish};
use crate::entries::Entries;
use crate::entry::Warning;
use crate::event::Event;
use crate::names::{AgentId, Key, NamespaceName};
use crate::numbers::Revision;
use crate::receipt::{Kept, Receipt, Receipts, digest};
use crate::rejection::Rejection;
use crate::reply::{Answer, Reply};
use crate::rules::Rules;
use crate::stamp::Stamp;
use crate::state::{Ending, Surroundings};
use crate::time::Timestamp;
use crate::transaction::Precondition;
use crate::{agent, limits, namespace, policy, state, workspace};

#[cfg(test)]
mod tests;

/// One workspace: an ordered history, and what it adds up to.
#[derive(Default)]
pub struct Space {
    /// Shared state.
    pub state: state::Table,
    /// Namespaces.
    pub namespace: namespace::Table,
    /// Agents.
    pub agent: agent::Table,
    /// The workspace about itself.
    pub workspace: workspace::Table,
    receipts: Receipts,
    revision: Revision,
    time: Timestamp,
    journal: Vec<Undo>,
}

/// What a commit did.
#[derive(Debug)]
pub struct Committed {
    /// What to tell the caller, once it is durable.
    pub answer: Answer,
    /// What happened; none if nothing changed.
    pub batch: Option<Batch>,
}

enum Undo {
    State(state::Undo),
    Namespace(namespace::Undo),
    Agent(agent::Undo),
    Workspace(workspace::Undo),
}

/// The events of a commit that is being decided.
struct Happened {
    events: Vec<Event>,
    weight: usize,
    /// Whether more may be decided after the command at hand, and refused with all before it.
    goes_on: bool,
    /// Whether something happened that nobody can take back.
    is_final: bool,
}

/// What to answer once the events of a command have happened.
enum Plan {
    /// The entry that this event is about.
    Written {
        event: usize,
        warnings: Vec<Warning>,
    },
    Namespace(NamespaceName),
    Agent(AgentId),
    Workspace,
    Reply(Reply),
}

/// What shared state may know of the other tables.
struct Neighbours<'a> {
    namespace: &'a namespace::Table,
    agent: &'a agent::Table,
}

impl Surroundings for Neighbours<'_> {
    fn rules(&self, namespace: &NamespaceName) -> Option<&Rules> {
        self.namespace.get(namespace).map(|namespace| &namespace.rules)
    }

    fn has_session(&self, agent: &AgentId) -> bool {
        self.agent.is_active(agent)
    }
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
        let Request { wish, idempotency_key } = request;
        let keyed = idempotency_key.map(|key| (key, digest(&wish)));
        if let Some((key, digest)) = &keyed
            && let Some(receipt) = self.receipts.find(agent, key)
        {
            if receipt.digest != *digest {
                return Err(Rejection::KeyReused { key: key.clone() });
            }
            return Ok(Committed { answer: receipt.answer(), batch: None });
        }
        let stamp = Stamp {
            // A clock that was set back must not make time run backwards in the log.
            now: now.max(self.time),
            agent: agent.clone(),
            revision: self.revision.next(),
        };
        let goes_on = keyed.is_some() || matches!(wish, Wish::Transaction { .. });
        // Nearly every commit is one event, gone as soon as it is encoded.
        let events = Vec::with_capacity(1);
        let mut happened = Happened { events, weight: 0, goes_on, is_final: false };
        let reply = match self.fulfil(wish, &stamp, &mut happened) {
            Ok(reply) => reply,
            Err(rejection) => {
                assert!(!happened.is_final, "what cannot be taken back is not refused");
                self.take_back();
                return Err(rejection);
            }
        };
        if happened.events.is_empty() {
            return Ok(Committed {
                answer: Answer { revision: self.revision, reply },
                batch: None,
            });
        }
        let answer = Answer { revision: stamp.revision, reply };
        let Stamp { now: time, agent, revision } = stamp;
        #[cfg(feature = "planted")]
        let keyed = keyed.filter(|_| !crate::planted::is("space.receipt_not_kept"));
        if let Some((key, digest)) = keyed {
            let receipt = Receipt::of(key, digest, &answer);
            happened.events.push(Event::Receipt(receipt.clone()));
            if let Err(rejection) = happened.weigh(happened.events.len() - 1) {
                self.take_back();
                return Err(rejection);
            }
            self.receipts.evolve(&receipt, &Moment { revision, time, agent: &agent });
        }
        self.advance(revision, time);
        let events = happened.events;
        Ok(Committed { answer, batch: Some(Batch { revision, time, agent, events }) })
    }

    /// Applies what was decided before. The batch must be the next one.
    pub fn replay(&mut self, batch: &Batch) {
        assert_eq!(batch.revision, self.revision.next(), "batches are replayed in order");
        for event in &batch.events {
            #[cfg(feature = "planted")]
            if crate::planted::is("space.replay_skips") && batch.revision.0.is_multiple_of(13) {
                continue;
            }
            self.evolve(event, &batch.moment(), false);
        }
        self.advance(batch.revision, batch.time);
    }

    fn advance(&mut self, revision: Revision, time: Timestamp) {
        self.revision = revision;
        self.time = self.time.max(time);
        if self.journal.is_empty() {
            return;
        }
        for undo in self.journal.drain(..) {
            match undo {
                Undo::State(undo) => self.state.settle(undo),
                Undo::Namespace(_) | Undo::Agent(_) | Undo::Workspace(_) => {}
            }
        }
    }

    fn take_back(&mut self) {
        #[cfg(feature = "planted")]
        if crate::planted::is("space.forget_undo") {
            self.journal.clear();
        }
        while let Some(undo) = self.journal.pop() {
            match undo {
                Undo::State(undo) => self.state.undo(undo),
                Undo::Namespace(undo) => self.namespace.undo(undo),
                Undo::Agent(undo) => self.agent.undo(undo),
                Undo::Workspace(undo) => self.workspace.undo(&undo),
            }
        }
    }

    fn fulfil(
        &mut self,
        wish: Wish,
        stamp: &Stamp,
        happened: &mut Happened,
    ) -> Result<Reply, Rejection> {
        let (require, commands) = match wish {
            Wish::Command(command) => return self.run(command, stamp, happened),
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
            self.run(command, stamp, happened).map_err(|cause| {
                let cause_code = cause.code();
                Rejection::InTransaction { index, cause_code, cause: Box::new(cause) }
            })
        });
        Ok(Reply::Transaction(replies.collect::<Result<_, _>>()?))
    }

    /// Decides one command, and then what follows from it, round after round.
    fn run(
        &mut self,
        command: Command,
        stamp: &Stamp,
        happened: &mut Happened,
    ) -> Result<Reply, Rejection> {
        let mut first = happened.events.len();
        let plan = self.step(command, stamp, happened)?;
        for _ in 0..limits::POLICY_ROUNDS_MAX {
            let last = happened.events.len();
            let fresh = &happened.events[first..];
            if !fresh.iter().any(policy::may_follow) {
                return Ok(self.reply(plan, &happened.events));
            }
            let following: Vec<Command> =
                fresh.iter().flat_map(|event| policy::follow(self, event)).collect();
            if following.is_empty() {
                return Ok(self.reply(plan, &happened.events));
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
        stamp: &Stamp,
        happened: &mut Happened,
    ) -> Result<Plan, Rejection> {
        let first = happened.events.len();
        let plan = self.decide(command, stamp, &mut happened.events)?;
        happened.weigh(first)?;
        let moment = Moment { revision: stamp.revision, time: stamp.now, agent: &stamp.agent };
        let fresh = &happened.events[first..];
        // Whatever follows is decided after this, and may be refused.
        happened.goes_on |= fresh.iter().any(policy::may_follow);
        happened.is_final |= !happened.goes_on;
        for event in fresh {
            self.evolve(event, &moment, happened.goes_on);
        }
        Ok(plan)
    }

    #[inline]
    fn decide(
        &self,
        command: Command,
        stamp: &Stamp,
        events: &mut Vec<Event>,
    ) -> Result<Plan, Rejection> {
        match command {
            Command::State(command) => {
                let around = Neighbours { namespace: &self.namespace, agent: &self.agent };
                let first = events.len();
                let happen = &mut |event| events.push(Event::State(event));
                match state::decide(&self.state, &around, command, stamp, happen)? {
                    state::Answer::Written(warnings) => {
                        Ok(Plan::Written { event: first, warnings })
                    }
                    state::Answer::Reply(reply) => Ok(Plan::Reply(Reply::State(reply))),
                }
            }
            Command::Namespace(command) => {
                let name = command.name().clone();
                let decided = namespace::decide(&self.namespace, command)?;
                events.extend(decided.events.into_iter().map(Event::Namespace));
                Ok(match decided.reply {
                    Some(reply) => Plan::Reply(Reply::Namespace(reply)),
                    None => Plan::Namespace(name),
                })
            }
            Command::Agent(command) => {
                let decided = agent::decide(&self.agent, command, stamp)?;
                events.extend(decided.events.into_iter().map(Event::Agent));
                let done = Plan::Reply(Reply::Agent(agent::Reply::Done));
                Ok(decided.about.map_or(done, Plan::Agent))
            }
            Command::Workspace(command) => {
                let decided = workspace::decide(&self.workspace, &command)?;
                events.extend(decided.into_iter().map(Event::Workspace));
                Ok(Plan::Workspace)
            }
        }
    }

    /// Applies a fact, and notes how to take it back: always if that may be necessary, else only if
    /// there is something to settle.
    #[inline]
    fn evolve(&mut self, event: &Event, moment: &Moment<'_>, goes_on: bool) {
        let undo = match event {
            Event::State(event) => {
                let before = self.state.evolve(event, moment);
                if !goes_on {
                    return;
                }
                Undo::State(before.undo(event))
            }
            Event::Namespace(event) => {
                if let namespace::Event::Deleted { name } = event {
                    let gone = self.state.forget(name, moment.revision);
                    self.journal.extend(gone.map(Undo::State));
                }
                Undo::Namespace(self.namespace.evolve(event, moment))
            }
            Event::Agent(event) => Undo::Agent(self.agent.evolve(event, moment)),
            Event::Workspace(event) => Undo::Workspace(self.workspace.evolve(event)),
            // Written last, when nothing can be refused any more: there is nothing to take back.
            Event::Receipt(receipt) => return self.receipts.evolve(receipt, moment),
        };
        self.journal.push(undo);
    }

    #[inline]
    fn reply(&self, plan: Plan, events: &[Event]) -> Reply {
        match plan {
            Plan::Written { event, warnings } => {
                let Event::State(event) = &events[event] else {
                    panic!("a write makes an event of shared state");
                };
                let (namespace, key) = event.place();
                let entry = self.state.entry(namespace, key).expect("it was just written");
                Reply::State(state::Reply::Entry(entry.warned(warnings)))
            }
            Plan::Namespace(name) => {
                let namespace = self.namespace.get(&name).expect("it was just written");
                Reply::Namespace(namespace::Reply::Namespace(namespace.clone()))
            }
            Plan::Agent(agent) => {
                let agent = self.agent.get(&agent).expect("only known agents are answered with");
                Reply::Agent(agent::Reply::Agent(agent.clone()))
            }
            Plan::Workspace => self.about_itself(&workspace::Query::Get),
            Plan::Reply(reply) => reply,
        }
    }

    fn check_precondition(
        &self,
        index: usize,
        precondition: Precondition,
    ) -> Result<(), Rejection> {
        let mut entry = None;
        let holds = match &precondition {
            Precondition::Entry { namespace, key, version, exists, value } => {
                entry = self.state.entry(namespace, key);
                let found = entry.as_ref();
                let present = found.map_or(0, |entry| entry.version().0);
                version.is_none_or(|version| version.0 == present)
                    && exists.is_none_or(|exists| exists == found.is_some())
                    && value.as_ref().is_none_or(|value| {
                        found.is_some_and(|entry| entry.json().same_value(value))
                    })
            }
            Precondition::Namespace { name, exists } => {
                self.namespace.get(name).is_some() == *exists
            }
            Precondition::Agent { agent, active } => self.agent.is_active(agent) == *active,
            Precondition::Revision(revision) => *revision == self.revision,
        };
        if holds {
            return Ok(());
        }
        Err(Rejection::PreconditionFailed {
            index,
            precondition: Box::new(precondition),
            entry: entry.map(Box::new),
            revision: self.revision,
        })
    }

    /// Answers a question about the present; none if it is about the past.
    pub fn query(&self, query: &Query) -> Option<Result<Reply, Rejection>> {
        match query {
            Query::State(query) => {
                let around = Neighbours { namespace: &self.namespace, agent: &self.agent };
                let reply = state::query(&self.state, &around, query, self.revision)?;
                Some(reply.map(Reply::State).map_err(Rejection::State))
            }
            Query::Namespace(query) => {
                let reply = namespace::query(&self.namespace, query);
                Some(reply.map(Reply::Namespace).map_err(Rejection::Namespace))
            }
            Query::Agent(query) => {
                let reply = agent::query(&self.agent, query);
                Some(reply.map(Reply::Agent).map_err(Rejection::Agent))
            }
            Query::Workspace(query) => Some(Ok(self.about_itself(query))),
        }
    }

    fn about_itself(&self, query: &workspace::Query) -> Reply {
        let entries = self.state.namespaces().map(|(_, entries)| entries.len()).sum();
        let counts = [entries, self.namespace.len(), self.agent.len()];
        let counts = counts.map(|count: usize| count as u64);
        Reply::Workspace(workspace::query(&self.workspace, query, counts))
    }

    /// The commands that time has caused by this moment.
    pub fn due(&self, now: Timestamp) -> Vec<Command> {
        let mut commands = Vec::new();
        if self.state.next_deadline().is_some_and(|moment| moment <= now) {
            commands.push(state::Command::Expire.into());
        }
        if self.agent.next_deadline().is_some_and(|moment| moment <= now) {
            commands.push(agent::Command::Expire.into());
        }
        commands
    }

    /// When time next causes a command.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.state.next_deadline().into_iter().chain(self.agent.next_deadline()).min()
    }

    /// The workspace is served again from this moment on.
    pub fn wake(&mut self, moment: Timestamp) {
        self.agent.wake(moment.max(self.time));
    }

    /// Asserts what must always be true.
    pub fn check(&self) {
        assert!(self.journal.is_empty(), "nothing is left to take back between commits");
        self.state.check(self.revision);
        self.namespace.check();
        self.agent.check();
        self.workspace.check();
        for (namespace, _) in self.state.namespaces() {
            assert!(self.namespace.get(namespace).is_some(), "entries live in a namespace");
        }
        for (_, _, ending) in self.state.endings() {
            let bound_to = ending.bound_to.as_ref();
            let alive = bound_to.is_none_or(|agent| self.agent.is_active(agent));
            assert!(alive, "what is bound to a session ends with it");
        }
    }

    /// Everything but the entries, as it is now.
    pub fn head(&self) -> Head {
        let endings = self.state.endings();
        Head {
            revision: self.revision,
            time: self.time,
            last_removal: self.state.last_removal(),
            authors: self.state.authors().names().to_vec(),
            endings: endings
                .map(|(namespace, key, ending)| (namespace.clone(), key.clone(), ending.clone()))
                .collect(),
            namespaces: self.namespace.after(None).cloned().collect(),
            agents: self.agent.after(None).cloned().collect(),
            retention: self.workspace.retention(),
            receipts: self.receipts.all().cloned().collect(),
        }
    }

    /// Puts a space together from what a snapshot holds.
    pub fn restore(head: Head, entries: Vec<(NamespaceName, Entries)>) -> Self {
        let authors = head.authors.into_iter().collect();
        Self {
            state: state::Table::restore(authors, entries, head.endings, head.last_removal),
            namespace: namespace::Table::restore(head.namespaces),
            agent: agent::Table::restore(head.agents),
            workspace: workspace::Table::restore(head.retention),
            receipts: Receipts::restore(head.receipts),
            revision: head.revision,
            time: head.time,
            journal: Vec::new(),
        }
    }
}

impl Happened {
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

/// Everything of a space but the entries: small, and therefore copied at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The revision of the last change.
    pub revision: Revision,
    /// When it was decided.
    pub time: Timestamp,
    /// The revision of the last removal of an entry.
    pub last_removal: Revision,
    /// Authors of entries, by number.
    pub authors: Vec<AgentId>,
    /// When and with whom entries go.
    pub endings: Vec<(NamespaceName, Key, Ending)>,
    /// Namespaces.
    pub namespaces: Vec<namespace::Namespace>,
    /// Agents.
    pub agents: Vec<agent::Agent>,
    /// How much of the past is kept.
    pub retention: workspace::Retention,
    /// Kept answers, oldest first.
    pub receipts: Vec<Kept>,
}
