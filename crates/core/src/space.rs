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
#[derive(Default)]
struct Happened {
    events: Vec<Event>,
    weight: usize,
}

/// What to answer once the events of a command have happened.
enum Plan {
    Written { namespace: NamespaceName, key: Key, warnings: Vec<Warning> },
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
        let mut happened = Happened::default();
        let reply = match self.fulfil(wish, &stamp, &mut happened) {
            Ok(reply) => reply,
            Err(rejection) => {
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
            if let Err(rejection) = happened.add(vec![Event::Receipt(receipt.clone())]) {
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
            self.evolve(event, &batch.moment());
        }
        self.advance(batch.revision, batch.time);
    }

    fn advance(&mut self, revision: Revision, time: Timestamp) {
        self.revision = revision;
        self.time = self.time.max(time);
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
            let fresh = happened.events[first..].iter();
            let following: Vec<Command> =
                fresh.flat_map(|event| policy::follow(self, event)).collect();
            if following.is_empty() {
                return Ok(self.reply(plan));
            }
            for command in following {
                self.step(command, stamp, happened)?;
            }
            first = last;
        }
        Err(Rejection::PolicyRounds { max: limits::POLICY_ROUNDS_MAX })
    }

    fn step(
        &mut self,
        command: Command,
        stamp: &Stamp,
        happened: &mut Happened,
    ) -> Result<Plan, Rejection> {
        let (fresh, plan) = self.decide(command, stamp)?;
        let moment = Moment { revision: stamp.revision, time: stamp.now, agent: &stamp.agent };
        for event in &fresh {
            self.evolve(event, &moment);
        }
        happened.add(fresh)?;
        Ok(plan)
    }

    fn decide(&self, command: Command, stamp: &Stamp) -> Result<(Vec<Event>, Plan), Rejection> {
        match command {
            Command::State(command) => {
                let around = Neighbours { namespace: &self.namespace, agent: &self.agent };
                let decided = state::decide(&self.state, &around, command, stamp)?;
                let plan = match (decided.answer, decided.events.first()) {
                    (state::Answer::Written(warnings), Some(event)) => {
                        let (namespace, key) = event.place();
                        Plan::Written { namespace: namespace.clone(), key: key.clone(), warnings }
                    }
                    (state::Answer::Written(_), None) => {
                        Plan::Reply(Reply::State(state::Reply::Done))
                    }
                    (state::Answer::Reply(reply), _) => Plan::Reply(Reply::State(reply)),
                };
                Ok((decided.events.into_iter().map(Event::State).collect(), plan))
            }
            Command::Namespace(command) => {
                let name = command.name().clone();
                let decided = namespace::decide(&self.namespace, command)?;
                let plan = match decided.reply {
                    Some(reply) => Plan::Reply(Reply::Namespace(reply)),
                    None => Plan::Namespace(name),
                };
                Ok((decided.events.into_iter().map(Event::Namespace).collect(), plan))
            }
            Command::Agent(command) => {
                let decided = agent::decide(&self.agent, command, stamp)?;
                let done = Plan::Reply(Reply::Agent(agent::Reply::Done));
                let plan = decided.about.map_or(done, Plan::Agent);
                Ok((decided.events.into_iter().map(Event::Agent).collect(), plan))
            }
            Command::Workspace(command) => {
                let events = workspace::decide(&self.workspace, &command)?;
                Ok((events.into_iter().map(Event::Workspace).collect(), Plan::Workspace))
            }
        }
    }

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) {
        let undo = match event {
            Event::State(event) => Undo::State(self.state.evolve(event, moment)),
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

    fn reply(&self, plan: Plan) -> Reply {
        match plan {
            Plan::Written { namespace, key, warnings } => {
                let entry = self.state.entry(&namespace, &key).expect("it was just written");
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
    fn add(&mut self, fresh: Vec<Event>) -> Result<(), Rejection> {
        self.weight += fresh.iter().map(Event::weight).sum::<usize>();
        if self.events.is_empty() {
            self.events = fresh;
        } else {
            self.events.extend(fresh);
        }
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
