//! The fast path: setting and reading one entry.
//!
//! ```text
//!   request ──▶ does the fast path apply? ──yes──▶ one look-up, one entry, the next revision
//!                             │
//!                             └──no───▶ the general path: command, decision, events, policies
//! ```
//!
//! The request is borrowed from the buffer in which it was received: no command, event or undo is
//! built. The fast path applies if the request is a plain last-write-wins set, and nothing else in
//! the space can affect it: no rule of its namespace, no contract, no reaction, no artifact, no
//! heartbeat that is due, no storage quota that is nearly reached, and the entry neither expires
//! nor is bound to a session.
//!
//! Invariants:
//!
//! 1. The space and the answers do not depend on the path; the tests compare the two.
//! 2. Nothing is refused here: everything unusual is left to the general path, untouched, which
//!    also reports errors.

use super::Space;
use crate::artifact::mentions;
use crate::command::{Command, Mutation, Request};
use crate::limits;
use crate::names::{AgentId, IdempotencyKey, Key, NamespaceName};
use crate::numbers::Version;
use crate::reply::Answer;
use crate::space::batch::Moment;
use crate::space::receipt::{Receipt, digest_of_set};
use crate::state;
use crate::state::Entry;
use crate::storage::ENTRY_HEAD_BYTES;
use crate::time::Timestamp;

#[cfg(test)]
mod tests;

#[cfg(feature = "planted")]
const IGNORES_VERSION: &str = "plainly.ignores_version";

/// A plain set: this value under this key, unconditionally or if the version matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastSet<'a> {
    /// The namespace.
    pub namespace: &'a str,
    /// The key; not yet validated.
    pub key: &'a str,
    /// The value: the text of a [`Json`](crate::Json).
    pub value: &'a str,
    /// The expected version; 0 if the entry must not exist.
    pub expected_version: Option<Version>,
    /// The idempotency key; not yet validated.
    pub idempotency_key: Option<&'a str>,
    /// Whether the minimal form of the reply was requested.
    pub is_minimal: bool,
}

/// The effect of a set on the fast path.
#[derive(Debug)]
pub struct FastWrite {
    /// The written entry.
    pub entry: Entry,
    /// The receipt that was stored with it, if the request has an idempotency key.
    pub receipt: Option<Receipt>,
    is_minimal: bool,
}

impl FastWrite {
    /// The answer.
    pub fn into_answer(self) -> Answer {
        let answer = answer(self.entry);
        if self.is_minimal { answer.into_minimal() } else { answer }
    }
}

fn answer(entry: Entry) -> Answer {
    Answer { revision: entry.revision(), reply: state::Reply::Entry(entry).into() }
}

impl<'a> FastSet<'a> {
    /// The set of a request, if it is a plain one.
    pub fn of(request: &'a Request) -> Option<Self> {
        let mutation = request.mutation.executed();
        let Mutation::Command(Command::State(state::Command::Set(set))) = mutation else {
            return None;
        };
        let state::Set { namespace, key, value, expected_version, .. } = set;
        set.is_plain().then(|| Self {
            namespace: namespace.as_str(),
            key: key.as_str(),
            value: value.as_str(),
            expected_version: *expected_version,
            idempotency_key: request.idempotency_key.as_ref().map(IdempotencyKey::as_str),
            is_minimal: matches!(request.mutation, Mutation::Minimal(_)),
        })
    }
}

impl Space {
    /// Sets an entry if the fast path applies, and returns it; if not, nothing has happened.
    pub fn fast_set(
        &mut self,
        set: &FastSet<'_>,
        agent: &AgentId,
        now: Timestamp,
    ) -> Option<FastWrite> {
        #[cfg(feature = "planted")]
        if crate::planted::any() && !crate::planted::is(IGNORES_VERSION) {
            // The other bugs are planted in the general path.
            return None;
        }
        let is_quiet = self.reaction.is_idle() && self.artifact.is_idle();
        let is_quiet = is_quiet && self.contract.is_empty() && self.has_space_for(set);
        let is_quiet = is_quiet && self.agent.heartbeat_due(agent, now.max(self.time)).is_none();
        let fits = set.value.len() <= limits::VALUE_BYTES_MAX;
        if !is_quiet
            || !fits
            || mentions(set.value).next().is_some()
            || Key::check(set.key).is_err()
        {
            return None;
        }
        let namespace = self.namespace.get_by(set.namespace)?;
        if !namespace.rules.is_plain() {
            return None;
        }
        let keyed = match set.idempotency_key {
            Some(key) => Some((self.unused_key(agent, key)?, digest_of_set(set))),
            None => None,
        };
        let revision = self.revision.next();
        // A clock that was set back must not make time run backwards in the log.
        let moment = Moment { revision, time: now.max(self.time), agent };
        let entry = self.state.fast_set(&namespace.name, set, &moment)?;
        let mut write = FastWrite { entry, receipt: None, is_minimal: set.is_minimal };
        if let Some((key, digest)) = keyed {
            let receipt = Receipt::written(key, digest, write.entry.clone());
            self.receipts.evolve(&receipt, &moment);
            write.receipt = Some(receipt);
        }
        self.advance(revision, moment.time);
        Some(write)
    }

    /// An idempotency key that the agent has not used yet.
    fn unused_key(&self, agent: &AgentId, key: &str) -> Option<IdempotencyKey> {
        let key = IdempotencyKey::parse(key).ok()?;
        let is_used = self.receipts.find(agent, &key).is_some()
            || self.keyed_waits.find(agent, &key).is_some();
        (!is_used).then_some(key)
    }

    /// Whether the storage quota surely allows one more entry like this.
    fn has_space_for(&self, set: &FastSet<'_>) -> bool {
        let bytes = ENTRY_HEAD_BYTES + set.key.len() + set.value.len();
        self.quota.is_none_or(|quota| quota.allows(self.stored().with_entry(bytes)))
    }

    /// An entry, if it exists.
    pub fn fast_get(&self, namespace: &str, key: &str) -> Option<Entry> {
        self.state.fast_get(namespace, key)
    }
}

impl state::Table {
    /// Sets an entry that neither expires nor is bound to a session.
    fn fast_set(
        &mut self,
        namespace: &NamespaceName,
        set: &FastSet<'_>,
        moment: &Moment<'_>,
    ) -> Option<Entry> {
        let before = self.fast_version(namespace, set.key)?;
        let is_other = set.expected_version.is_some_and(|it| it.0 != u64::from(before));
        #[cfg(feature = "planted")]
        let is_other = is_other && !crate::planted::is(IGNORES_VERSION);
        if is_other {
            return None;
        }
        Some(self.fast_put(namespace, set.key, set.value, before.checked_add(1)?, moment))
    }
}
