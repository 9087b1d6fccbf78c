//! The fast path: setting and reading one plain entry.
//!
//! ```text
//!   a request ──▶ is it plain, here and now? ──yes──▶ one look-up, one entry, the next revision
//!                             │
//!                             └──no───▶ the general way: command, decision, events, policies
//! ```
//!
//! What is plain is borrowed from where it was received: no command is made of it, no event and no
//! undo. It is plain if nothing but last write wins is asked of it, and if nobody else in the space
//! has a say: no rule of its namespace, no reaction, no artifact, no entry that ends by itself, no
//! bound to how much there may be, no heartbeat of the agent that is due.
//!
//! Invariants:
//!
//! 1. A space is the same whichever way was taken, and so are the answers; the tests hold the two
//!    against each other.
//! 2. Nothing is refused here: whatever is unusual is left to the general way, untouched, which
//!    also finds the words for what is wrong.

use super::Space;
use crate::artifact::mentions;
use crate::command::{Command, Mutation, Request};
use crate::limits;
use crate::names::{AgentId, Key, NamespaceName};
use crate::numbers::Version;
use crate::space::batch::Moment;
use crate::state;
use crate::state::Entry;
use crate::time::Timestamp;

#[cfg(test)]
mod tests;

#[cfg(feature = "planted")]
const IGNORES_VERSION: &str = "plainly.ignores_version";

/// A set as nearly all are: this value under this key, whatever was there before, or this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastSet<'a> {
    /// In this namespace.
    pub namespace: &'a str,
    /// Under this key; not yet checked.
    pub key: &'a str,
    /// This value: the text of a [`Json`](crate::Json).
    pub value: &'a str,
    /// Only if this version is there; 0 if nothing is.
    pub expected_version: Option<Version>,
}

impl<'a> FastSet<'a> {
    /// What a request wants, if it is as plain as this.
    pub fn of(request: &'a Request) -> Option<Self> {
        let Request {
            mutation: Mutation::Command(Command::State(state::Command::Set(set))), ..
        } = request
        else {
            return None;
        };
        let state::Set { namespace, key, value, expected_version, .. } = set;
        let is_plain = request.idempotency_key.is_none() && set.is_plain();
        is_plain.then(|| Self {
            namespace: namespace.as_str(),
            key: key.as_str(),
            value: value.as_str(),
            expected_version: *expected_version,
        })
    }
}

impl Space {
    /// Sets an entry, if it is plain here and now, and tells it as it is then; if not, nothing has
    /// happened.
    pub fn fast_set(
        &mut self,
        set: &FastSet<'_>,
        agent: &AgentId,
        now: Timestamp,
    ) -> Option<Entry> {
        #[cfg(feature = "planted")]
        if crate::planted::any() && !crate::planted::is(IGNORES_VERSION) {
            // The other bugs are planted along the general way.
            return None;
        }
        let is_quiet = self.quota.is_none() && self.reaction.is_idle() && self.artifact.is_idle();
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
        let revision = self.revision.next();
        // A clock that was set back must not make time run backwards in the log.
        let moment = Moment { revision, time: now.max(self.time), agent };
        let entry = self.state.fast_set(&namespace.name, set, &moment)?;
        self.advance(revision, entry.updated_at());
        Some(entry)
    }

    /// An entry, if it is there and nothing about it is unusual.
    pub fn fast_get(&self, namespace: &str, key: &str) -> Option<Entry> {
        self.state.fast_get(namespace, key)
    }
}

impl state::Table {
    /// Puts an entry that does not end by itself into a table in which none does.
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
