//! An agent that acquires locks: it remembers the tokens it was granted, and stale ones.

use baton_core::lock::{self, Acquire, Command as LockCommand};
use baton_core::{
    AgentId, Answer, Command, LockName, Mutation, Precondition, Rejection, Reply, Request, Token,
};

use crate::actors::agent::Action;
use crate::actors::inputs::Inputs;

/// Old tokens that an agent remembers.
const STALE_MAX: usize = 8;

/// A lock and a token.
type Hold = (LockName, Token);

/// The holds that an agent believes it has.
#[derive(Default)]
pub struct LockActor {
    held: Vec<Hold>,
    /// The holds that it no longer has, or never had.
    stale: Vec<Hold>,
    /// The holds of other agents that it has seen.
    seen: Vec<Hold>,
}

impl LockActor {
    /// The next command.
    pub fn act(&mut self, inputs: &mut Inputs<'_>) -> Action {
        let held = some(inputs, &self.held);
        // Another agent's token is tried in the same ways as a stale one.
        let seen = self.seen.pop().filter(|_| inputs.rng.once_in(2));
        let stale = seen.or_else(|| some(inputs, &self.stale));
        let command: Command = match (inputs.rng.below(16), held, stale) {
            (0..=2, Some((name, token)), _) => {
                self.forget(&name, token);
                LockCommand::Release { name, token }.into()
            }
            (3, _, Some((name, token))) => LockCommand::Release { name, token }.into(),
            (4, Some((name, token)), _) | (5, _, Some((name, token))) => {
                let ttl_ms = inputs.rng.once_in(3).then(|| inputs.rng.between(100, 60_000));
                LockCommand::Renew { name, token, ttl_ms }.into()
            }
            (6 | 7, Some((_, token)), _) | (8 | 9, _, Some((_, token))) => {
                return Action::Submit(fenced(inputs, token));
            }
            (10, Some((name, token)), _) => {
                let acquire = Self::acquire(inputs);
                self.forget(&name, token);
                let release = LockCommand::Release { name, token }.into();
                let commands = vec![release, LockCommand::Acquire(acquire).into()];
                let optional = if inputs.rng.once_in(2) { vec![1] } else { Vec::new() };
                let mutation = Mutation::Transaction { require: Vec::new(), commands, optional };
                return Action::Submit(Request { mutation, idempotency_key: None });
            }
            (11, ..) => {
                return Action::Ask(match inputs.rng.below(2) {
                    0 => lock::Query::Get { name: name(inputs) }.into(),
                    _ => lock::Query::List { limit: None, cursor: None }.into(),
                });
            }
            _ => LockCommand::Acquire(Self::acquire(inputs)).into(),
        };
        Action::Submit(command.into())
    }

    fn acquire(inputs: &mut Inputs<'_>) -> Acquire {
        let name = name(inputs);
        let ttl_ms = *inputs.rng.pick(&[Some(150), Some(3_000), Some(40_000), None]);
        let wait_ms = *inputs.rng.pick(&[None, Some(400), Some(30_000), Some(600_000)]);
        Acquire { name, ttl_ms, wait_ms }
    }

    /// Learns from an answer.
    pub fn learn(&mut self, id: &AgentId, answer: &Result<Answer, Rejection>) {
        match answer {
            Ok(answer) => self.learn_reply(id, &answer.reply),
            Err(Rejection::Lock(lock::Rejection::StaleToken { name, given, .. })) => {
                self.forget(name, *given);
            }
            Err(_) => {}
        }
    }

    fn learn_reply(&mut self, id: &AgentId, reply: &Reply) {
        match reply {
            Reply::Lock(lock::Reply::Hold(Some(hold))) if hold.holder == *id => {
                let hold = (hold.name.clone(), hold.token);
                if !self.held.contains(&hold) && !self.stale.contains(&hold) {
                    self.held.push(hold);
                }
            }
            Reply::Lock(lock::Reply::Lock(lock)) => self.see(id, lock),
            Reply::Lock(lock::Reply::Locks { locks, .. }) => {
                for lock in locks {
                    self.see(id, lock);
                }
            }
            Reply::Transaction(replies) => {
                for reply in replies {
                    self.learn_reply(id, reply);
                }
            }
            _ => {}
        }
    }

    fn see(&mut self, id: &AgentId, lock: &lock::Lock) {
        let is_seen = |hold: &&lock::Hold| hold.holder != *id && !hold.token.is_hidden();
        let other = lock.hold.as_ref().filter(is_seen);
        self.seen.extend(other.map(|hold| (hold.name.clone(), hold.token)));
        self.seen.drain(..self.seen.len().saturating_sub(STALE_MAX));
    }

    fn forget(&mut self, name: &LockName, token: Token) {
        let hold = (name.clone(), token);
        self.held.retain(|there| *there != hold);
        if !self.stale.contains(&hold) {
            self.stale.push(hold);
        }
        if self.stale.len() > STALE_MAX {
            self.stale.remove(0);
        }
    }
}

/// One of a few, so that agents compete.
fn name(inputs: &mut Inputs<'_>) -> LockName {
    let number = inputs.rng.below(3);
    LockName::parse(&format!("deploy-{number}")).expect("a good name")
}

fn some(inputs: &mut Inputs<'_>, holds: &[Hold]) -> Option<Hold> {
    (!holds.is_empty()).then(|| inputs.rng.pick(holds).clone())
}

/// A write that is only allowed with a token.
pub fn fenced(inputs: &mut Inputs<'_>, token: Token) -> Request {
    let (namespace, key) = inputs.entry_key();
    let command: Command = inputs.set(namespace, key, |_| {}).into();
    let mutation = if inputs.rng.once_in(3) {
        let (require, commands) = (vec![Precondition::Token(token)], vec![command]);
        Mutation::Transaction { require, commands, optional: Vec::new() }
    } else {
        Mutation::Fenced { token, command: Box::new(command) }
    };
    Request { mutation, idempotency_key: None }
}
