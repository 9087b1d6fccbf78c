//! The scripted agents: the next action of each kind, given its answers.
//!
//! An agent knows only its answers. It has at most a few requests in flight, and it does not know
//! of faults: a lost server is an answer that does not arrive.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::state::merge::Patch;
use baton_core::state::{self, Delete, PatchEntry, Set, Transfer};
use baton_core::{
    AgentId, Answer, Command, IdempotencyKey, Json, Key, Mutation, NamespaceName, Precondition,
    Query, Rejection, Reply, Request, Revision, Token, Version, WorkspaceName, agent, namespace,
    workspace,
};

use crate::actors::artifact::store;
use crate::actors::barrier::act_at_barrier;
use crate::actors::contract::contract;
use crate::actors::inputs::Inputs;
use crate::actors::lock::LockActor;
use crate::actors::message::MessageActor;
use crate::actors::query::question;
use crate::actors::reaction::ReactionActor;
use crate::actors::rule::rule;
use crate::actors::semaphore::SemaphoreActor;
use crate::actors::task::TaskActor;
use crate::plan::{Kind, Plan};
use crate::rng::Rng;

/// An action of an agent.
#[derive(Clone, Debug)]
pub enum Action {
    /// Send a command.
    Submit(Request),
    /// Send a query.
    Ask(Query),
}

/// The maximum number of requests of one agent in flight.
const WAITING_MAX: usize = 4;

/// One scripted agent.
pub struct Agent {
    /// The id of the agent.
    pub id: AgentId,
    /// The behaviour of the agent.
    pub kind: Kind,
    /// The workspace of the agent.
    pub home: WorkspaceName,
    /// The number of its requests in flight.
    pub waiting: usize,
    /// The newest revision that it knows.
    pub revision: u64,
    known: BTreeMap<(NamespaceName, Key), u64>,
    token: Option<Token>,
    old_tokens: Vec<Token>,
    sent: Vec<Request>,
    counter: u64,
    silent: u64,
    /// A namespace that it knows to be missing.
    missing: Option<NamespaceName>,
    lock_actor: LockActor,
    semaphore_actor: SemaphoreActor,
    task_actor: TaskActor,
    reaction_actor: ReactionActor,
    message_actor: MessageActor,
}

impl Agent {
    /// An agent without any knowledge.
    pub fn new(number: usize, kind: Kind, home: WorkspaceName) -> Self {
        Self {
            id: AgentId::parse(&format!("a{number}")).expect("a good name"),
            kind,
            home,
            waiting: 0,
            revision: 0,
            known: BTreeMap::new(),
            token: None,
            old_tokens: Vec::new(),
            sent: Vec::new(),
            counter: 0,
            silent: 0,
            missing: None,
            lock_actor: LockActor::default(),
            semaphore_actor: SemaphoreActor::default(),
            task_actor: TaskActor::default(),
            reaction_actor: ReactionActor::default(),
            message_actor: MessageActor::default(),
        }
    }

    /// Its next action, if any. Any query may be about the past.
    pub fn act(&mut self, rng: &mut Rng, plan: &Plan) -> Option<Action> {
        match self.choose(rng, plan)? {
            Action::Ask(query) if !matches!(query, Query::State(_)) && rng.once_in(4) => {
                let at = Revision(rng.below(self.revision + 3));
                Some(Action::Ask(query.clone().at(at.into()).unwrap_or(query)))
            }
            action => Some(action),
        }
    }

    fn choose(&mut self, rng: &mut Rng, plan: &Plan) -> Option<Action> {
        if self.silent > 0 {
            self.silent -= 1;
            return None;
        }
        if self.waiting >= WAITING_MAX {
            return None;
        }
        self.counter += 1;
        let id = self.id.clone();
        let inputs = &mut Inputs { rng, plan, agent: &id, counter: self.counter };
        if let Some(name) = self.missing.take().filter(|_| inputs.rng.once_in(3)) {
            let rules = inputs.rules_of(&name);
            let command = Command::from(namespace::Command::Create { name, rules });
            return Some(Action::Submit(command.into()));
        }
        let command = match self.kind {
            Kind::Diligent => return Some(self.diligent(inputs)),
            Kind::Slow => return Some(self.slow(inputs)),
            Kind::Crashing => self.crashing(inputs)?,
            Kind::Duplicating => return Some(self.duplicating(inputs)),
            Kind::Zombie => self.zombie(inputs),
            Kind::Mover if inputs.rng.once_in(12) => contract(inputs),
            Kind::Mover => Self::mover(inputs),
            Kind::Transactor => return Some(Action::Submit(self.transactor(inputs))),
            Kind::Locker
            | Kind::Sharer
            | Kind::Worker
            | Kind::Meeter
            | Kind::Giver
            | Kind::Talker => {
                return Some(self.holder(inputs));
            }
            Kind::Reader => return Some(Action::Ask(question(inputs, self.revision))),
            Kind::Historian if inputs.rng.once_in(3) => store(inputs),
            Kind::Historian if inputs.rng.once_in(3) => rule(inputs),
            Kind::Historian if inputs.rng.once_in(3) => contract(inputs),
            Kind::Historian if inputs.rng.once_in(2) => self.reaction_actor.act(inputs),
            Kind::Historian => {
                let choice = inputs.rng.below(4);
                let (count, age) = (*inputs.rng.pick(&[1, 5, 20, 100, 10_000]), 3_600_000);
                workspace::Command::Configure {
                    history_count: (choice != 0).then_some(count),
                    history_age_ms: (choice == 0).then_some(age),
                }
                .into()
            }
        };
        Some(Action::Submit(command.into()))
    }

    /// Makes the pending webhook calls.
    pub fn call(&mut self, rng: &mut Rng) -> Action {
        Action::Submit(self.reaction_actor.call(rng).into())
    }

    /// Learns from an answer.
    pub fn learn(&mut self, action: &Action, answer: &Result<Answer, Rejection>) {
        self.lock_actor.learn(&self.id, answer);
        self.semaphore_actor.learn(&self.id, answer);
        self.task_actor.learn(&self.id, answer);
        self.reaction_actor.learn(answer);
        self.message_actor.learn(&self.id, answer);
        if let Ok(answer) = answer {
            self.revision = self.revision.max(answer.revision.0);
            self.learn_reply(&answer.reply);
        }
        if let (Action::Ask(Query::State(state::Query::Get(get))), Err(_)) = (action, answer) {
            self.know(&get.namespace, &get.key, 0);
        }
        if let Err(Rejection::State(state::Rejection::VersionConflict {
            namespace,
            key,
            entry,
            ..
        })) = answer
        {
            let version = entry.as_ref().map_or(0, |entry| entry.version().0);
            self.know(namespace, key, version);
        }
        if let Err(Rejection::State(state::Rejection::UnknownNamespace { namespace })) = answer {
            self.missing = Some(namespace.clone());
        }
        if let Err(Rejection::Agent(_)) = answer {
            self.old_tokens.extend(self.token.take());
        }
    }

    fn learn_reply(&mut self, reply: &Reply) {
        match reply {
            Reply::State(state::Reply::Entry(entry)) => {
                if let Ok(key) = Key::parse(entry.key()) {
                    self.know(&entry.namespace().clone(), &key, entry.version().0);
                }
            }
            Reply::Agent(agent::Reply::Agent(agent)) if agent.id == self.id => {
                let before = self.token.replace(agent.token);
                self.old_tokens.extend(before.filter(|before| *before != agent.token));
            }
            Reply::Transaction(replies) => {
                for reply in replies {
                    self.learn_reply(reply);
                }
            }
            _ => {}
        }
    }

    fn know(&mut self, namespace: &NamespaceName, key: &Key, version: u64) {
        self.known.insert((namespace.clone(), key.clone()), version);
    }

    fn diligent(&mut self, inputs: &mut Inputs<'_>) -> Action {
        let (namespace, key) = inputs.entry_key();
        let known = self.known.remove(&(namespace.clone(), key.clone()));
        let Some(version) = known else {
            return Action::Ask(state::Query::Get(state::Get { namespace, key, at: None }).into());
        };
        let expected = Some(Version(version));
        let command = match inputs.rng.below(8) {
            0 if version > 0 => state::Command::Delete(Delete {
                namespace,
                key,
                expected_version: expected,
                expected_revision: None,
            }),
            1 => inputs.set(namespace, key, |set| set.if_absent = true),
            _ => inputs.set(namespace, key, |set| set.expected_version = expected),
        };
        Action::Submit(Command::from(command).into())
    }

    fn slow(&mut self, inputs: &mut Inputs<'_>) -> Action {
        // It seldom reads, and remembers for long what it read.
        if self.known.is_empty() || inputs.rng.once_in(8) {
            let (namespace, key) = inputs.entry_key();
            return Action::Ask(state::Query::Get(state::Get { namespace, key, at: None }).into());
        }
        let places: Vec<_> = self.known.iter().collect();
        let ((namespace, key), version) = *inputs.rng.pick(&places);
        let expected = Some(Version(*version));
        let (namespace, key) = (namespace.clone(), key.clone());
        let command = match inputs.rng.below(4) {
            0 => inputs.patch(namespace, key, expected),
            _ => inputs.set(namespace, key, |set| set.expected_version = expected),
        };
        Action::Submit(Command::from(command).into())
    }

    fn crashing(&mut self, inputs: &mut Inputs<'_>) -> Option<Command> {
        if inputs.rng.once_in(12) {
            // It stops here; after a restart it does not know its session.
            self.silent = inputs.rng.between(5, 40);
            self.token = None;
            return None;
        }
        let (id, token) = (self.id.clone(), self.token);
        if token.is_none() {
            return Some(inputs.register());
        }
        let (namespace, key) = inputs.entry_key();
        Some(match inputs.rng.below(8) {
            0 | 1 => agent::Command::Heartbeat { agent: id, token }.into(),
            2 => agent::Command::Leave { agent: id, token }.into(),
            3 => {
                let ttl = Some(inputs.rng.between(1, 20_000));
                inputs.set(namespace, key, |set| set.ttl_ms = ttl).into()
            }
            4 => inputs.register(),
            _ => inputs.set(namespace, key, |set| set.ephemeral = true).into(),
        })
    }

    fn duplicating(&mut self, inputs: &mut Inputs<'_>) -> Action {
        if !self.sent.is_empty() && inputs.rng.once_in(2) {
            let mut again = inputs.rng.pick(&self.sent).clone();
            if inputs.rng.once_in(6) {
                let (namespace, key) = inputs.entry_key();
                again.mutation = Mutation::Command(inputs.set(namespace, key, |_| {}).into());
            }
            return Action::Submit(again);
        }
        let (namespace, key) = inputs.entry_key();
        let command: Command = match inputs.rng.below(3) {
            0 => {
                let patch = Patch::Increment(json("1"));
                let expected_version = None;
                let namespace = Inputs::namespace("count");
                state::Command::Patch(PatchEntry {
                    namespace,
                    key,
                    patch,
                    expected_version,
                    expected_revision: None,
                })
                .into()
            }
            1 => state::Command::Delete(Delete {
                namespace,
                key,
                expected_version: None,
                expected_revision: None,
            })
            .into(),
            _ => inputs.set(namespace, key, |_| {}).into(),
        };
        let name = format!("{}-{}", self.id, self.counter);
        let idempotency_key = Some(IdempotencyKey::parse(&name).expect("a good key"));
        let request = Request { mutation: Mutation::Command(command), idempotency_key };
        self.sent.push(request.clone());
        if self.sent.len() > 6 {
            self.sent.remove(0);
        }
        Action::Submit(request)
    }

    /// Once in a while it registers, or repeats a request.
    fn holder(&mut self, inputs: &mut Inputs<'_>) -> Action {
        let token = self.token;
        match inputs.rng.below(20) {
            0 => return Action::Submit(inputs.register().into()),
            1 if token.is_some() => {
                let agent = self.id.clone();
                let beats = inputs.rng.once_in(2);
                let command = if beats {
                    agent::Command::Heartbeat { agent, token }
                } else {
                    agent::Command::Leave { agent, token }
                };
                return Action::Submit(Command::from(command).into());
            }
            2 if !self.sent.is_empty() => {
                return Action::Submit(inputs.rng.pick(&self.sent).clone());
            }
            _ => {}
        }
        let mut action = match self.kind {
            Kind::Sharer => self.semaphore_actor.act(inputs),
            Kind::Worker => self.task_actor.act(inputs),
            Kind::Giver => self.task_actor.give(inputs),
            Kind::Meeter => act_at_barrier(inputs),
            Kind::Talker => self.message_actor.act(inputs),
            _ => self.lock_actor.act(inputs),
        };
        if let Action::Submit(request) = &mut action
            && inputs.rng.once_in(4)
        {
            let name = format!("{}-{}", self.id, self.counter);
            request.idempotency_key = Some(IdempotencyKey::parse(&name).expect("a good key"));
            self.sent.push(request.clone());
            if self.sent.len() > 3 {
                self.sent.remove(0);
            }
        } else if let Action::Submit(request) = &mut action
            && inputs.rng.once_in(8)
        {
            request.mutation = request.mutation.clone().into_minimal();
        }
        action
    }

    fn zombie(&mut self, inputs: &mut Inputs<'_>) -> Command {
        let agent = self.id.clone();
        let token = self.old_tokens.last().copied().or(self.token);
        match inputs.rng.below(6) {
            0 | 1 => inputs.register(),
            2 => agent::Command::Leave { agent, token }.into(),
            3 => {
                let (namespace, key) = inputs.entry_key();
                inputs.set(namespace, key, |set| set.ephemeral = true).into()
            }
            _ => agent::Command::Heartbeat { agent, token }.into(),
        }
    }

    fn mover(inputs: &mut Inputs<'_>) -> Command {
        let name = inputs.some_namespace();
        match inputs.rng.below(10) {
            0..=2 => {
                let rules = inputs.rules_of(&name);
                namespace::Command::Create { name, rules }.into()
            }
            3 => {
                let rules = inputs.some_rules();
                namespace::Command::Configure { name, rules }.into()
            }
            4 | 5 => namespace::Command::Delete { name }.into(),
            6 => {
                let (namespace, key) = inputs.entry_key();
                inputs.set(namespace, key, |_| {}).into()
            }
            _ => {
                let to = inputs.some_namespace();
                let named = !inputs.rng.once_in(3);
                let keys = named.then(|| vec![inputs.key(), inputs.key()]);
                let pattern = inputs.rng.once_in(3).then(|| inputs.key_pattern());
                let overwrite = inputs.rng.once_in(2);
                state::Command::Transfer(Transfer {
                    from_namespace: name,
                    to_namespace: to,
                    keys,
                    pattern,
                    overwrite,
                    copy: inputs.rng.once_in(3),
                })
                .into()
            }
        }
    }

    fn transactor(&mut self, inputs: &mut Inputs<'_>) -> Request {
        let mut require = Vec::new();
        for _ in 0..inputs.rng.below(3) {
            let (namespace, key) = inputs.entry_key();
            let version = self.known.get(&(namespace.clone(), key.clone())).copied();
            let version = Some(Version(version.unwrap_or(0)));
            require.push(Precondition::Entry {
                namespace,
                key,
                version,
                exists: None,
                value: None,
            });
        }
        if inputs.rng.once_in(10) {
            require.push(Precondition::Revision(Revision(self.revision)));
        }
        let mut commands: Vec<Command> = Vec::new();
        for _ in 0..inputs.rng.between(1, 4) {
            let (namespace, key) = inputs.entry_key();
            commands.push(match inputs.rng.below(9) {
                0 => namespace::Command::Create {
                    name: inputs.some_namespace(),
                    rules: inputs.some_rules(),
                }
                .into(),
                1 => namespace::Command::Delete { name: inputs.some_namespace() }.into(),
                8 => rule(inputs),
                7 => store(inputs),
                2 => inputs.patch(namespace, key, None).into(),
                3 => state::Command::Delete(Delete {
                    namespace,
                    key,
                    expected_version: None,
                    expected_revision: None,
                })
                .into(),
                _ => inputs.set(namespace, key, |_| {}).into(),
            });
        }
        if inputs.rng.once_in(4) {
            // It cannot succeed, so none of the above may have an effect.
            let (namespace, key) = (Inputs::namespace("nowhere"), inputs.key());
            commands.push(inputs.set(namespace, key, |_| {}).into());
        }
        let name = format!("{}-{}", self.id, self.counter);
        let key = IdempotencyKey::parse(&name).expect("a good key");
        let idempotency_key = Some(key).filter(|_| inputs.rng.once_in(3));
        let mutation = Mutation::Transaction { require, commands, optional: Vec::new() };
        Request { mutation, idempotency_key }
    }
}

fn json(text: &str) -> Json {
    Json::parse(text).expect("good JSON")
}

/// A new session.
pub fn registration(
    agent: &AgentId,
    ttl_ms: u64,
    capabilities: BTreeSet<String>,
    parent: Option<AgentId>,
) -> Command {
    agent::Command::Register(agent::Register {
        agent: agent.clone(),
        capabilities,
        metadata: None,
        ttl_ms: Some(ttl_ms),
        parent,
    })
    .into()
}

/// A plain write.
pub fn write(namespace: NamespaceName, key: Key, value: Json) -> Set {
    Set::new(namespace, key, value)
}
