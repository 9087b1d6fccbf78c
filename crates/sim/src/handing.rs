//! What an agent does that hands on what it works on, and takes what others hand on.
//!
//! It offers tasks that it holds, and some that it only believes to hold, with keys of its own; it
//! answers what it has heard of, be it for it or not, once or twice, early or late. Whoever is
//! asked for an approval gives it, some of them at the same time.

use std::collections::BTreeSet;

use baton_core::handoff::{
    Accept, ApprovalWanted, Complete, Handoff, List, Offer, OnLoop, Receiver, Selected, Status,
};
use baton_core::handoff::{Command as HandoffCommand, Query as HandoffQuery, Rejection, Reply};
use baton_core::{
    AgentId, Command, HandoffId, Json, Key, KeyName, Mutation, NamespaceName, Query, Request,
    TaskId, Token, Version, agent, contracts,
};

use crate::agents::Action;
use crate::things::Things;

/// Hand-offs that an agent remembers.
const KNOWN_MAX: usize = 10;
/// Others that an agent remembers.
const PEERS_MAX: usize = 8;

/// How long others have to accept.
const DEADLINES_MS: [u64; 6] = [100, 5_000, 120_000, 600_000, 600_000, 600_000];

/// What an agent can do.
const CAPABILITIES: [&str; 2] = ["edit", "draw"];

/// A hand-off that an agent has heard of.
#[derive(Clone)]
struct Heard {
    id: HandoffId,
    digest: String,
    to: Receiver,
    from: AgentId,
}

/// What an agent knows of hand-offs.
#[derive(Default)]
pub struct Handing {
    known: Vec<Heard>,
    /// What can be answered no more, as far as it knows.
    over: Vec<Heard>,
    /// What it has taken.
    taken: Vec<HandoffId>,
    peers: Vec<AgentId>,
    /// What it has got to look at.
    received: Option<HandoffId>,
    /// What it has heard of that wants an approval.
    unapproved: Vec<Heard>,
    /// From whom it has taken something last.
    origin: Option<AgentId>,
}

/// Some of what agents can do.
pub fn some_capabilities(things: &mut Things<'_>) -> BTreeSet<String> {
    let able = CAPABILITIES.iter().filter(|_| things.chance.once_in(2));
    able.map(|name| (*name).to_owned()).collect()
}

fn accept(handoff: HandoffId, overwrite: bool) -> HandoffCommand {
    HandoffCommand::Accept(Accept { handoff, lease_ms: None, overwrite })
}

/// What it does at once about something that wants an approval, if anything.
fn about_approval(things: &mut Things<'_>, heard: &Heard) -> Option<Request> {
    let handoff = heard.id.clone();
    // Some do not wait until it is approved.
    if heard.to.agent() == Some(things.agent) && things.chance.once_in(2) {
        return Some(Command::from(accept(handoff, true)).into());
    }
    let (digest, reason) = (None, None);
    let approve = HandoffCommand::Approve { handoff, digest, reason };
    things.chance.once_in(3).then(|| Command::from(approve).into())
}

impl Handing {
    /// What it does next, with a task that it holds and one that it does not.
    pub fn act(
        &mut self,
        things: &mut Things<'_>,
        held: Option<(TaskId, Token)>,
        stale: Option<(TaskId, Token)>,
    ) -> Action {
        if let Some(action) = self.first(things) {
            return action;
        }
        let known = self.some_known(things);
        let unapproved = some(things, &self.unapproved);
        if let Some(request) = unapproved.as_ref().and_then(|heard| about_approval(things, heard)) {
            return Action::Submit(request);
        }
        let taken = some(things, &self.taken);
        let reason = things.chance.once_in(3).then(|| "so".to_owned());
        let command = match (things.chance.below(32), held, stale, known) {
            (0..=6, Some(held), ..) | (7, _, Some(held), _) => {
                HandoffCommand::Offer(Box::new(self.offer(things, Some(held))))
            }
            (8, Some(held), ..) => {
                HandoffCommand::Validate(Box::new(self.offer(things, Some(held))))
            }
            (9 | 10, Some(held), ..) | (11, _, Some(held), _) => {
                let mut offer = self.offer(things, Some(held));
                offer.approval = offer.approval.filter(|_| things.chance.once_in(10));
                offer.to = Receiver::Agent(self.somebody(things));
                HandoffCommand::Execute(Box::new(offer))
            }
            (0..=4, None, ..) | (12, ..) => {
                HandoffCommand::Offer(Box::new(self.offer(things, None)))
            }
            (13..=17, _, _, Some(known)) => HandoffCommand::Accept(Accept {
                handoff: known.id,
                lease_ms: *things.chance.pick(&[None, Some(150), Some(5_000), Some(90_000)]),
                overwrite: things.chance.once_in(2),
            }),
            (18, _, _, Some(known)) => HandoffCommand::Reject { handoff: known.id, reason },
            (19, _, _, Some(known)) => HandoffCommand::Cancel { handoff: known.id, reason },
            (20..=22, _, _, known) if unapproved.is_some() || known.is_some() => {
                let Some(known) = unapproved.or(known) else {
                    return Action::Ask(self.question(things));
                };
                let digests = [None, Some(known.digest), Some("0".repeat(32))];
                let digest = digests[things.chance.index(5).saturating_sub(2)].clone();
                HandoffCommand::Approve { handoff: known.id, digest, reason }
            }
            (23, _, _, known) => {
                let Some(handoff) = taken.or(known.map(|known| known.id)) else {
                    return Action::Ask(self.question(things));
                };
                let result = things.chance.once_in(2).then(|| json("7"));
                let changes = [("a".to_owned(), json("2"))].into();
                HandoffCommand::Complete(Box::new(Complete { handoff, result, changes }))
            }
            (24 | 25, ..) => return Action::Submit(keep_something(things)),
            (26..=28, ..) => return Action::Ask(self.question(things)),
            // Where all wait for long nobody offers anything.
            _ => HandoffCommand::Receive {
                wait_ms: *things.chance.pick(&[None, Some(1), Some(400), Some(400), Some(30_000)]),
            },
        };
        Action::Submit(alone_or_not(things, command))
    }

    /// What it sees to before anything else, if there is something.
    fn first(&mut self, things: &mut Things<'_>) -> Option<Action> {
        if let Some(handoff) = self.received.take().filter(|_| !things.chance.once_in(3)) {
            let overwrite = things.chance.once_in(2);
            return Some(Action::Submit(alone_or_not(things, accept(handoff, overwrite))));
        }
        if self.peers.is_empty() && things.chance.once_in(6) {
            return Some(Action::Ask(everybody()));
        }
        // What is never there cannot move.
        if things.chance.once_in(8) {
            return Some(Action::Submit(keep_something(things)));
        }
        // An offer that nobody takes soon is over.
        match self.newest_own(things) {
            Some(handoff) if things.chance.once_in(3) => {
                let overwrite = !things.chance.once_in(4);
                Some(Action::Submit(alone_or_not(things, accept(handoff, overwrite))))
            }
            None if things.chance.once_in(4) => {
                let (to, status) = (Some(things.agent.clone()), Some(Status::Offered));
                let list = List { to, status, ..List::default() };
                Some(Action::Ask(HandoffQuery::List(list).into()))
            }
            Some(_) | None => None,
        }
    }

    /// The last of those that it has heard of and that are for it alone.
    fn newest_own(&self, things: &Things<'_>) -> Option<HandoffId> {
        let own = |heard: &&Heard| heard.to.agent() == Some(things.agent);
        self.known.iter().rev().find(own).map(|heard| heard.id.clone())
    }

    /// Of those that it has heard of, rather one that it can answer.
    fn some_known(&self, things: &mut Things<'_>) -> Option<Heard> {
        let able = |heard: &&Heard| match &heard.to {
            Receiver::Agent(agent) => agent == things.agent,
            Receiver::Capability(_) => heard.from != *things.agent,
        };
        let own: Vec<Heard> = self.known.iter().filter(able).cloned().collect();
        let newest = own.last().cloned().filter(|_| things.chance.once_in(2));
        let known = newest.or_else(|| some(things, &own)).filter(|_| !things.chance.once_in(4));
        let over = some(things, &self.over).filter(|_| things.chance.once_in(8));
        over.or(known).or_else(|| some(things, &self.known))
    }

    fn somebody(&self, things: &mut Things<'_>) -> AgentId {
        let peer = some(things, &self.peers).filter(|_| !things.chance.once_in(6));
        peer.unwrap_or_else(|| {
            let name = format!("a{}", things.chance.below(16));
            AgentId::parse(&name).expect("a good name")
        })
    }

    fn offer(&self, things: &mut Things<'_>, held: Option<(TaskId, Token)>) -> Offer {
        let to = if things.chance.once_in(3) {
            Receiver::Capability((*things.chance.pick(&CAPABILITIES)).to_owned())
        } else {
            Receiver::Agent(self.somebody(things))
        };
        // Some give back what they have just got.
        let back = self.origin.clone().filter(|_| held.is_some() && things.chance.once_in(3));
        let mut offer = Offer::to(back.map_or(to, Receiver::Agent));
        if let Some((task, token)) = held {
            (offer.task, offer.token) = (Some(task), Some(token));
        }
        offer.deadline_ms = Some(*things.chance.pick(&DEADLINES_MS));
        offer.on_loop = *things.chance.pick(&[None, Some(OnLoop::Review), Some(OnLoop::Refuse)]);
        if things.chance.once_in(3) {
            return offer;
        }
        // Whoever has nothing to tell hands things round in circles.
        let notes = format!(r#"{{"n":{}}}"#, things.counter);
        offer.notes = (!things.chance.once_in(4)).then(|| json(&notes));
        if things.chance.once_in(3) {
            offer.state = [("plan".to_owned(), json("1")), ("k1".to_owned(), json("[]"))].into();
        }
        let mut keys: Vec<Selected> = Vec::new();
        for _ in 0..things.chance.below(4) {
            let own = !things.chance.once_in(4);
            let namespace =
                if own { NamespaceName::of_agent(things.agent) } else { NamespaceName::shared() };
            let version = things.chance.once_in(16).then(|| Version(things.chance.below(3)));
            let key = if own { own_key(things) } else { things.key() };
            let name = KeyName::parse(&format!("{namespace}/{key}")).expect("both are names");
            let selected = Selected { name, version };
            let again = keys.iter().any(|there| there.name == selected.name);
            if !again || things.chance.once_in(8) {
                keys.push(selected);
            }
        }
        offer.keys = keys;
        offer.redeliver_ms = *things.chance.pick(&[None, Some(100), Some(1_000), Some(20_000)]);
        if things.chance.once_in(3) {
            let mut by = BTreeSet::new();
            if things.chance.once_in(3) {
                by.extend([self.somebody(things), self.somebody(things)]);
            }
            let expires_ms = *things.chance.pick(&[None, Some(1), Some(500), Some(10_000)]);
            offer.approval = Some(ApprovalWanted { by, expires_ms });
        }
        offer
    }

    fn question(&self, things: &mut Things<'_>) -> Query {
        let known = some(things, &self.known);
        match (things.chance.below(10), known) {
            (0, Some(Heard { id: handoff, .. })) => HandoffQuery::Get { handoff }.into(),
            (1, Some(Heard { id: handoff, .. })) => HandoffQuery::Export { handoff }.into(),
            (2, _) => HandoffQuery::Stats {}.into(),
            (3, _) => {
                let task = format!("job-{}", things.chance.below(40));
                HandoffQuery::History { task: TaskId::parse(&task).expect("a good name") }.into()
            }
            (4, known) => {
                let list = List {
                    from: things.chance.once_in(2).then(|| self.somebody(things)),
                    limit: things.chance.once_in(2).then_some(2),
                    cursor: known.map(|known| known.id).filter(|_| things.chance.once_in(2)),
                    ..List::default()
                };
                HandoffQuery::List(list).into()
            }
            (5, _) => everybody(),
            (6, _) if things.chance.once_in(2) => depending(things),
            (6, _) => {
                let to = Some(things.agent.clone());
                HandoffQuery::List(List { to, ..List::default() }).into()
            }
            _ => {
                let open = [Status::Offered, Status::Approved, Status::Delivered, Status::Accepted];
                let status = Some(*things.chance.pick(&open));
                HandoffQuery::List(List { status, ..List::default() }).into()
            }
        }
    }

    /// It is told about hand-offs.
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
            Reply::Handoffs { handoffs, .. } => {
                for handoff in handoffs {
                    self.hear(id, handoff);
                }
            }
            _ => {}
        }
    }

    /// It is refused something about a hand-off.
    pub fn learn_refused(&mut self, rejection: &Rejection) {
        match rejection {
            // What is approved already may lapse, and be approved again.
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

    /// It hears of everybody, which is of use to one who knows nobody: most of them would never
    /// answer.
    pub fn meet_some<'a>(&mut self, id: &AgentId, others: impl Iterator<Item = &'a AgentId>) {
        if self.peers.is_empty() {
            others.for_each(|other| self.meet(id, other));
        }
    }

    /// It hears of somebody.
    pub fn meet(&mut self, id: &AgentId, other: &AgentId) {
        if other != id && !self.peers.contains(other) {
            self.peers.push(other.clone());
        }
        if self.peers.len() > PEERS_MAX {
            self.peers.remove(0);
        }
    }

    fn hear(&mut self, id: &AgentId, handoff: &Handoff) {
        self.meet(id, &handoff.from);
        if let Some(receiver) = &handoff.receiver {
            self.meet(id, receiver);
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
        let heard = Heard {
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

/// Who depends on which keys, and what is wrong with those.
fn depending(things: &mut Things<'_>) -> Query {
    if things.chance.once_in(3) {
        return contracts::Query::Check { namespace: None, schema: None }.into();
    }
    let limit = *things.chance.pick(&[None, Some(1), Some(1_000)]);
    contracts::Query::Show { pattern: None, limit, cursor: None }.into()
}

fn everybody() -> Query {
    agent::Query::List { capability: None, status: None, limit: None, cursor: None }.into()
}

/// A key of its own that it may give away later.
fn keep_something(things: &mut Things<'_>) -> Request {
    let (namespace, key) = (NamespaceName::of_agent(things.agent), own_key(things));
    Command::from(things.set(namespace, key, |_| {})).into()
}

/// One of few, so that what is given is there.
fn own_key(things: &mut Things<'_>) -> Key {
    Key::parse(&format!("own{}", things.chance.below(3))).expect("a good key")
}

/// Once in a while it is a part of more, some of which cannot be.
fn alone_or_not(things: &mut Things<'_>, command: HandoffCommand) -> Request {
    let waits = matches!(command, HandoffCommand::Receive { wait_ms: Some(_) });
    if waits || !things.chance.once_in(12) {
        return Command::from(command).into();
    }
    let nowhere = things.chance.once_in(2);
    let namespace = if nowhere { Things::namespace("nowhere") } else { NamespaceName::shared() };
    let key = things.key();
    let more = Command::from(things.set(namespace, key, |_| {}));
    let commands = vec![command.into(), more];
    Request {
        mutation: Mutation::Transaction { require: Vec::new(), commands },
        idempotency_key: None,
    }
}

fn json(text: &str) -> Json {
    Json::parse(text.to_owned()).expect("good JSON")
}

fn some<T: Clone>(things: &mut Things<'_>, choices: &[T]) -> Option<T> {
    (!choices.is_empty()).then(|| things.chance.pick(choices).clone())
}
