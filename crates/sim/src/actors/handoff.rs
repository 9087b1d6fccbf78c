//! An agent that hands over its work and accepts the work of others.
//!
//! It offers tasks that it holds, and some that it only believes it holds, with its own keys; it
//! answers hand-offs that it knows, for itself or not, once or twice, early or late. An approver
//! gives its approval, sometimes concurrently with others.

use std::collections::BTreeSet;

use baton_core::handoff::{
    Accept, ApprovalWanted, Complete, ExecuteAll, Handoff, Import, List, Offer, OnLoop, Receiver,
    Selected, Status, TransferContext,
};
use baton_core::handoff::{Command as HandoffCommand, Query as HandoffQuery, Rejection, Reply};
use baton_core::{
    AgentId, Command, HandoffId, Json, Key, KeyName, Mutation, NamespaceName, Query, Request,
    TaskId, Token, Version, agent, contract, wait,
};

use crate::actors::agent::Action;
use crate::actors::inputs::Inputs;

/// Hand-offs that an agent remembers.
const KNOWN_MAX: usize = 10;
/// Other agents that an agent remembers.
const PEERS_MAX: usize = 8;

/// The deadlines of its offers.
const DEADLINES_MS: [u64; 6] = [100, 5_000, 120_000, 600_000, 600_000, 600_000];

/// Capabilities of agents.
const CAPABILITIES: [&str; 2] = ["edit", "draw"];

/// A hand-off that an agent knows.
#[derive(Clone)]
struct KnownHandoff {
    id: HandoffId,
    digest: String,
    to: Receiver,
    from: AgentId,
}

/// The knowledge of an agent about hand-offs.
#[derive(Default)]
pub struct HandoffActor {
    known: Vec<KnownHandoff>,
    /// The hand-offs that it considers to have ended.
    over: Vec<KnownHandoff>,
    /// The hand-offs that it has accepted.
    taken: Vec<HandoffId>,
    peers: Vec<AgentId>,
    /// The hand-off that was delivered to it.
    received: Option<HandoffId>,
    /// The hand-offs that need an approval, as far as it knows.
    unapproved: Vec<KnownHandoff>,
    /// The giver of the last hand-off that it accepted.
    origin: Option<AgentId>,
    /// A hand-off as another system would send it.
    exported: Option<TransferContext>,
}

/// Some capabilities.
pub fn some_capabilities(inputs: &mut Inputs<'_>) -> BTreeSet<String> {
    let able = CAPABILITIES.iter().filter(|_| inputs.rng.once_in(2));
    able.map(|name| (*name).to_owned()).collect()
}

fn accept(handoff: HandoffId, overwrite: bool) -> HandoffCommand {
    HandoffCommand::Accept(Accept { handoff, lease_ms: None, overwrite })
}

/// Its immediate action about a required approval, if any.
fn about_approval(inputs: &mut Inputs<'_>, heard: &KnownHandoff) -> Option<Request> {
    let handoff = heard.id.clone();
    // Some do not wait until it is approved.
    if heard.to.agent() == Some(inputs.agent) && inputs.rng.once_in(2) {
        return Some(Command::from(accept(handoff, true)).into());
    }
    let (digest, reason) = (None, None);
    let approve = HandoffCommand::Approve { handoff, digest, reason };
    inputs.rng.once_in(3).then(|| Command::from(approve).into())
}

impl HandoffActor {
    /// A hand-off that it knows, ended or not.
    pub fn any(&self, inputs: &mut Inputs<'_>) -> Option<HandoffId> {
        let known = some(inputs, &self.known).or_else(|| some(inputs, &self.over));
        known.map(|known| known.id)
    }

    /// Its next command, with a task that it holds and one that it does not.
    pub fn act(
        &mut self,
        inputs: &mut Inputs<'_>,
        held: Option<(TaskId, Token)>,
        stale: Option<(TaskId, Token)>,
    ) -> Action {
        if let Some(action) = self.first(inputs) {
            return action;
        }
        let known = self.some_known(inputs);
        let unapproved = some(inputs, &self.unapproved);
        if let Some(request) = unapproved.as_ref().and_then(|heard| about_approval(inputs, heard)) {
            return Action::Submit(request);
        }
        let taken = some(inputs, &self.taken);
        let reason = inputs.rng.once_in(3).then(|| "so".to_owned());
        let command = match (inputs.rng.below(32), held, stale, known) {
            (0..=6, Some(held), ..) | (7, _, Some(held), _) => {
                HandoffCommand::Offer(Box::new(self.offer(inputs, Some(held))))
            }
            (8, Some(held), ..) => {
                HandoffCommand::Validate(Box::new(self.offer(inputs, Some(held))))
            }
            (9 | 10, Some(held), ..) | (11, _, Some(held), _) => {
                let mut offer = self.offer(inputs, Some(held));
                offer.approval = offer.approval.filter(|_| inputs.rng.once_in(10));
                offer.to = Receiver::Agent(self.some_agent(inputs));
                HandoffCommand::Execute(Box::new(offer))
            }
            (0..=4, None, ..) | (12, ..) => {
                HandoffCommand::Offer(Box::new(self.offer(inputs, None)))
            }
            (13..=17, _, _, Some(known)) => HandoffCommand::Accept(Accept {
                handoff: known.id,
                lease_ms: *inputs.rng.pick(&[None, Some(150), Some(5_000), Some(90_000)]),
                overwrite: inputs.rng.once_in(2),
            }),
            (18, _, _, Some(known)) => HandoffCommand::Reject { handoff: known.id, reason },
            (19, _, _, Some(known)) => HandoffCommand::Cancel { handoff: known.id, reason },
            (20..=22, _, _, known) if unapproved.is_some() || known.is_some() => {
                let Some(known) = unapproved.or(known) else {
                    return Action::Ask(self.question(inputs));
                };
                let digests = [None, Some(known.digest), Some("0".repeat(32))];
                let digest = digests[inputs.rng.index(5).saturating_sub(2)].clone();
                HandoffCommand::Approve { handoff: known.id, digest, reason }
            }
            (23, _, _, known) => {
                let Some(handoff) = taken.or(known.map(|known| known.id)) else {
                    return Action::Ask(self.question(inputs));
                };
                let result = inputs.rng.once_in(2).then(|| json("7"));
                let changes = [("a".to_owned(), json("2"))].into();
                HandoffCommand::Complete(Box::new(Complete { handoff, result, changes }))
            }
            (24 | 25, ..) => return self.rarely(inputs),
            (26..=28, ..) => return Action::Ask(self.question(inputs)),
            _ => {
                // If all agents wait for long, none offers anything.
                let waits = [None, Some(1), Some(400), Some(400), Some(30_000)];
                let wait_ms = *inputs.rng.pick(&waits);
                if inputs.rng.once_in(4) {
                    let next = wait::Next { wait_ms, ..wait::Next::default() };
                    return Action::Submit(Command::from(wait::Command::Next(next)).into());
                }
                HandoffCommand::Receive { wait_ms }
            }
        };
        Action::Submit(alone_or_not(inputs, command))
    }

    /// Something that it does seldom.
    fn rarely(&mut self, inputs: &mut Inputs<'_>) -> Action {
        if inputs.rng.once_in(3) {
            let all = HandoffCommand::ExecuteAll(Box::new(self.everything(inputs)));
            return Action::Submit(Command::from(all).into());
        }
        let Some(context) = self.exported.take() else {
            return Action::Submit(keep_something(inputs));
        };
        let to = Receiver::Agent(self.some_agent(inputs));
        let deadline_ms = Some(*inputs.rng.pick(&DEADLINES_MS));
        let import = Import { context, to, deadline_ms, approval: None };
        Action::Submit(alone_or_not(inputs, HandoffCommand::ImportContext(Box::new(import))))
    }

    /// Its urgent action, if any.
    fn first(&mut self, inputs: &mut Inputs<'_>) -> Option<Action> {
        if let Some(handoff) = self.received.take().filter(|_| !inputs.rng.once_in(3)) {
            let overwrite = inputs.rng.once_in(2);
            return Some(Action::Submit(alone_or_not(inputs, accept(handoff, overwrite))));
        }
        if self.peers.is_empty() && inputs.rng.once_in(6) {
            return Some(Action::Ask(all_agents()));
        }
        // A key that never exists cannot be moved.
        if inputs.rng.once_in(8) {
            return Some(Action::Submit(keep_something(inputs)));
        }
        // An offer that is not accepted soon has ended.
        match self.newest_own(inputs) {
            Some(handoff) if inputs.rng.once_in(3) => {
                let overwrite = !inputs.rng.once_in(4);
                Some(Action::Submit(alone_or_not(inputs, accept(handoff, overwrite))))
            }
            None if inputs.rng.once_in(4) => {
                let (to, status) = (Some(inputs.agent.clone()), Some(Status::Offered));
                let list = List { to, status, ..List::default() };
                Some(Action::Ask(HandoffQuery::List(list).into()))
            }
            Some(_) | None => None,
        }
    }

    /// The last known hand-off that is for it alone.
    fn newest_own(&self, inputs: &Inputs<'_>) -> Option<HandoffId> {
        let own = |heard: &&KnownHandoff| heard.to.agent() == Some(inputs.agent);
        self.known.iter().rev().find(own).map(|heard| heard.id.clone())
    }

    /// One of the known hand-offs, preferably one that it can answer.
    fn some_known(&self, inputs: &mut Inputs<'_>) -> Option<KnownHandoff> {
        let able = |heard: &&KnownHandoff| match &heard.to {
            Receiver::Agent(agent) => agent == inputs.agent,
            Receiver::Capability(_) => heard.from != *inputs.agent,
        };
        let own: Vec<KnownHandoff> = self.known.iter().filter(able).cloned().collect();
        let newest = own.last().cloned().filter(|_| inputs.rng.once_in(2));
        let known = newest.or_else(|| some(inputs, &own)).filter(|_| !inputs.rng.once_in(4));
        let over = some(inputs, &self.over).filter(|_| inputs.rng.once_in(8));
        over.or(known).or_else(|| some(inputs, &self.known))
    }

    fn some_agent(&self, inputs: &mut Inputs<'_>) -> AgentId {
        let peer = some(inputs, &self.peers).filter(|_| !inputs.rng.once_in(6));
        peer.unwrap_or_else(|| {
            let name = format!("a{}", inputs.rng.below(16));
            AgentId::parse(&name).expect("a good name")
        })
    }

    fn offer(&self, inputs: &mut Inputs<'_>, held: Option<(TaskId, Token)>) -> Offer {
        let to = if inputs.rng.once_in(3) {
            Receiver::Capability((*inputs.rng.pick(&CAPABILITIES)).to_owned())
        } else {
            Receiver::Agent(self.some_agent(inputs))
        };
        // Some immediately return what they have received.
        let back = self.origin.clone().filter(|_| held.is_some() && inputs.rng.once_in(3));
        let mut offer = Offer::to(back.map_or(to, Receiver::Agent));
        if let Some((task, token)) = held {
            (offer.task, offer.token) = (Some(task), Some(token));
        }
        offer.deadline_ms = Some(*inputs.rng.pick(&DEADLINES_MS));
        offer.on_loop = *inputs.rng.pick(&[None, Some(OnLoop::Review), Some(OnLoop::Refuse)]);
        if inputs.rng.once_in(3) {
            return offer;
        }
        // An agent without progress hands work around in a loop.
        let notes = format!(r#"{{"n":{}}}"#, inputs.counter);
        offer.notes = (!inputs.rng.once_in(4)).then(|| json(&notes));
        if inputs.rng.once_in(3) {
            offer.state = [("plan".to_owned(), json("1")), ("k1".to_owned(), json("[]"))].into();
        }
        let mut keys: Vec<Selected> = Vec::new();
        for _ in 0..inputs.rng.below(4) {
            let own = !inputs.rng.once_in(4);
            let namespace =
                if own { NamespaceName::of_agent(inputs.agent) } else { NamespaceName::shared() };
            let version = inputs.rng.once_in(16).then(|| Version(inputs.rng.below(3)));
            let pattern = *inputs.rng.pick(&["own*", "**", "own1*", "k*"]);
            let key = match own {
                _ if version.is_none() && inputs.rng.once_in(4) => {
                    Key::parse(pattern).expect("a good key")
                }
                true => own_key(inputs),
                false => inputs.key(),
            };
            let name = KeyName::parse(&format!("{namespace}/{key}")).expect("both are names");
            let selected = Selected { name, version };
            let again = keys.iter().any(|there| there.name == selected.name);
            if !again || inputs.rng.once_in(8) {
                keys.push(selected);
            }
        }
        (offer.keys, offer.copy) = (keys, inputs.rng.once_in(3));
        offer.redeliver_ms = *inputs.rng.pick(&[None, Some(100), Some(1_000), Some(20_000)]);
        if inputs.rng.once_in(3) {
            let mut by = BTreeSet::new();
            if inputs.rng.once_in(3) {
                by.extend([self.some_agent(inputs), self.some_agent(inputs)]);
            }
            let expires_ms = *inputs.rng.pick(&[None, Some(1), Some(500), Some(10_000)]);
            offer.approval = Some(ApprovalWanted { by, expires_ms });
        }
        offer
    }

    fn everything(&self, inputs: &mut Inputs<'_>) -> ExecuteAll {
        let notes = format!(r#"{{"n":{}}}"#, inputs.counter);
        ExecuteAll {
            to: self.some_agent(inputs),
            reason: inputs.rng.once_in(2).then(|| "so".to_owned()),
            notes: (!inputs.rng.once_in(4)).then(|| json(&notes)),
            deadline_ms: Some(*inputs.rng.pick(&DEADLINES_MS)),
            copy: inputs.rng.once_in(3),
            overwrite: !inputs.rng.once_in(3),
        }
    }

    fn question(&self, inputs: &mut Inputs<'_>) -> Query {
        let known = some(inputs, &self.known);
        match (inputs.rng.below(10), known) {
            (0, Some(KnownHandoff { id: handoff, .. })) => HandoffQuery::Get { handoff }.into(),
            (1, Some(KnownHandoff { id: handoff, .. })) => HandoffQuery::Export { handoff }.into(),
            (2, _) => HandoffQuery::Stats {}.into(),
            (3, _) => {
                let task = format!("job-{}", inputs.rng.below(40));
                HandoffQuery::History { task: TaskId::parse(&task).expect("a good name") }.into()
            }
            (4, known) => {
                let list = List {
                    from: inputs.rng.once_in(2).then(|| self.some_agent(inputs)),
                    limit: inputs.rng.once_in(2).then_some(2),
                    cursor: known.map(|known| known.id).filter(|_| inputs.rng.once_in(2)),
                    ..List::default()
                };
                HandoffQuery::List(list).into()
            }
            (5, _) => all_agents(),
            (6, _) if inputs.rng.once_in(2) => depending(inputs),
            (6, _) => {
                let to = Some(inputs.agent.clone());
                HandoffQuery::List(List { to, ..List::default() }).into()
            }
            _ => {
                let open = [Status::Offered, Status::Approved, Status::Delivered, Status::Accepted];
                let status = Some(*inputs.rng.pick(&open));
                HandoffQuery::List(List { status, ..List::default() }).into()
            }
        }
    }

    /// Learns about hand-offs from a reply.
    pub fn learn(&mut self, id: &AgentId, reply: &Reply) {
        match reply {
            Reply::Handoff(handoff) => self.hear(id, handoff),
            Reply::Received(Some(handoff)) => {
                self.hear(id, handoff);
                self.received = Some(handoff.id.clone());
            }
            Reply::Accepted { handoff, .. } => {
                self.hear(id, handoff);
                self.origin = Some(handoff.from.clone());
                self.taken.push(handoff.id.clone());
                if self.taken.len() > PEERS_MAX {
                    self.taken.remove(0);
                }
            }
            Reply::Context(context) => self.exported = Some((**context).clone()),
            Reply::Handoffs { handoffs, .. } => {
                for handoff in handoffs {
                    self.hear(id, handoff);
                }
            }
            _ => {}
        }
    }

    /// Learns from a rejection about a hand-off.
    pub fn learn_refused(&mut self, rejection: &Rejection) {
        match rejection {
            // An approval may expire, and be given again.
            Rejection::WrongStatus { handoff, .. }
            | Rejection::NotReceiver { handoff, .. }
            | Rejection::NotAllowed { handoff, .. } => {
                self.unapproved.retain(|there| there.id != *handoff);
                self.set_aside(handoff);
            }
            _ => {}
        }
    }

    fn set_aside(&mut self, handoff: &HandoffId) {
        let Some(index) = self.known.iter().position(|there| there.id == *handoff) else { return };
        self.over.push(self.known.remove(index));
        if self.over.len() > PEERS_MAX {
            self.over.remove(0);
        }
    }

    /// Learns about other agents, for an agent that knows none: most would never answer.
    pub fn learn_peers<'a>(&mut self, id: &AgentId, others: impl Iterator<Item = &'a AgentId>) {
        if self.peers.is_empty() {
            others.for_each(|other| self.learn_peer(id, other));
        }
    }

    /// Learns about another agent.
    pub fn learn_peer(&mut self, id: &AgentId, other: &AgentId) {
        if other != id && !self.peers.contains(other) {
            self.peers.push(other.clone());
        }
        if self.peers.len() > PEERS_MAX {
            self.peers.remove(0);
        }
    }

    fn hear(&mut self, id: &AgentId, handoff: &Handoff) {
        self.learn_peer(id, &handoff.from);
        if let Some(receiver) = &handoff.receiver {
            self.learn_peer(id, receiver);
        }
        let is_open =
            matches!(handoff.status, Status::Offered | Status::Approved | Status::Delivered);
        if !is_open {
            self.set_aside(&handoff.id);
            return;
        }
        let mut all = self.known.iter().chain(&self.over);
        if all.any(|there| there.id == handoff.id) {
            return;
        }
        let heard = KnownHandoff {
            id: handoff.id.clone(),
            digest: handoff.digest.clone(),
            to: handoff.to.clone(),
            from: handoff.from.clone(),
        };
        if handoff.approval.is_some() && handoff.from != *id {
            self.unapproved.push(heard.clone());
        }
        if self.unapproved.len() > 3 {
            self.unapproved.remove(0);
        }
        self.known.push(heard);
        if self.known.len() > KNOWN_MAX {
            self.known.remove(0);
        }
    }
}

/// Contracts and their problems.
fn depending(inputs: &mut Inputs<'_>) -> Query {
    if inputs.rng.once_in(3) {
        return contract::Query::Check { namespace: None, schema: None }.into();
    }
    let limit = *inputs.rng.pick(&[None, Some(1), Some(1_000)]);
    contract::Query::Show { pattern: None, limit, cursor: None }.into()
}

fn all_agents() -> Query {
    agent::Query::List { capability: None, status: None, limit: None, cursor: None }.into()
}

/// One of its own keys that it may give away later.
fn keep_something(inputs: &mut Inputs<'_>) -> Request {
    let (namespace, key) = (NamespaceName::of_agent(inputs.agent), own_key(inputs));
    Command::from(inputs.set(namespace, key, |_| {})).into()
}

/// One of a few, so that the handed-over keys often exist.
fn own_key(inputs: &mut Inputs<'_>) -> Key {
    Key::parse(&format!("own{}", inputs.rng.below(3))).expect("a good key")
}

/// Sometimes it is part of a larger transaction, some of which cannot succeed.
fn alone_or_not(inputs: &mut Inputs<'_>, command: HandoffCommand) -> Request {
    let waits = matches!(command, HandoffCommand::Receive { wait_ms: Some(_) });
    if waits || !inputs.rng.once_in(12) {
        return Command::from(command).into();
    }
    let nowhere = inputs.rng.once_in(2);
    let namespace = if nowhere { Inputs::namespace("nowhere") } else { NamespaceName::shared() };
    let key = inputs.key();
    let more = Command::from(inputs.set(namespace, key, |_| {}));
    let commands = vec![command.into(), more];
    let optional = if inputs.rng.once_in(2) { vec![0] } else { Vec::new() };
    let mutation = Mutation::Transaction { require: Vec::new(), commands, optional };
    Request { mutation, idempotency_key: None }
}

fn json(text: &str) -> Json {
    Json::parse(text.to_owned()).expect("good JSON")
}

fn some<T: Clone>(inputs: &mut Inputs<'_>, choices: &[T]) -> Option<T> {
    (!choices.is_empty()).then(|| inputs.rng.pick(choices).clone())
}
