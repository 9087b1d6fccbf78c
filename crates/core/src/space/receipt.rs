//! Receipts: the first answer to a request, stored so that repeating it has no second effect.
//!
//! A receipt is written in the same batch as the effects, so after a crash either both exist or
//! neither. Only effects are stored: a refusal changed nothing and is decided again.
//!
//! Receipts are kept for [`RECEIPT_AGE_MS_MAX`](crate::limits::RECEIPT_AGE_MS_MAX), at most the
//! newest [`RECEIPTS_MAX`](crate::limits::RECEIPTS_MAX) of a workspace with a total size of
//! [`RECEIPTS_BYTES_MAX`](crate::limits::RECEIPTS_BYTES_MAX). Keys belong to the agent that used
//! them.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::command::{Command, Mutation};
use crate::limits;
use crate::names::{AgentId, BlobPlace, IdempotencyKey, SecretId};
use crate::numbers::Version;
use crate::reply::Answer;
use crate::space::batch::Moment;
use crate::space::{FastSet, Space};
use crate::state::Entry;
use crate::storage::Numbers;
use crate::time::Timestamp;
use crate::waiting::wait::Keyed;
use crate::{artifact, secret};

mod stored_answer;
#[cfg(test)]
mod tests;

pub use stored_answer::StoredAnswer;

/// The receipt of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The idempotency key.
    pub key: IdempotencyKey,
    /// Digest of the request, to refuse the same key for a different one.
    pub digest: u64,
    /// The answer.
    pub answer: StoredAnswer,
    /// The caller, if its waiting call was answered by the commit of another agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

/// The record of a receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The caller.
    pub agent: AgentId,
    /// When it was stored.
    pub time: Timestamp,
    /// The receipt.
    pub receipt: Receipt,
}

/// All receipts of a workspace.
#[derive(Default)]
pub struct Receipts {
    /// Oldest first.
    kept: VecDeque<Kept>,
    /// How many were before the oldest.
    forgotten: usize,
    /// The number of each among all that ever were, by agent and key.
    by_key: Numbers,
    bytes: usize,
}

impl Receipt {
    /// Stores an answer.
    pub fn of(key: IdempotencyKey, digest: u64, answer: &Answer) -> Self {
        Self { key, digest, answer: StoredAnswer::of(answer), agent: None }
    }

    /// Stores the answer to a plain write: its entry.
    pub fn written(key: IdempotencyKey, digest: u64, entry: Entry) -> Self {
        Self { key, digest, answer: StoredAnswer::Written(Arc::new(entry)), agent: None }
    }

    /// Stores the answer to a waiting call.
    pub fn awaited(keyed: &Keyed, answer: &Answer) -> Self {
        let receipt = Self::of(keyed.key.clone(), keyed.digest, answer);
        Self { agent: Some(keyed.agent.clone()), ..receipt }
    }

    /// The stored answer.
    pub fn answer(&self) -> Answer {
        self.answer.answer()
    }
}

/// FNV-1a over the encoded request. It protects against mistakes, not against malice: a caller that
/// can choose a key need not use one.
pub fn digest(mutation: &mut Mutation) -> u64 {
    mutation.untraced(|mutation| match unplaced(mutation) {
        Some(unplaced) => Fnv::of(&unplaced),
        None => Fnv::of(mutation),
    })
}

/// The same for a plain set, without building its command.
pub(crate) fn digest_of_set(set: &FastSet<'_>) -> u64 {
    let FastSet { namespace, key, value, expected_version, .. } = *set;
    let value = serde_bytes::Bytes::new(value.as_bytes());
    let set = BorrowedSet { namespace, key, value, expected_version };
    Fnv::of(&BorrowedMutation::Command(BorrowedCommand::State(BorrowedChange::Set(set))))
}

/// The mutation of a plain set, encoded like [`Mutation`].
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum BorrowedMutation<'a> {
    Command(BorrowedCommand<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum BorrowedCommand<'a> {
    State(BorrowedChange<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum BorrowedChange<'a> {
    Set(BorrowedSet<'a>),
}

#[derive(Serialize)]
struct BorrowedSet<'a> {
    namespace: &'a str,
    key: &'a str,
    value: &'a serde_bytes::Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_version: Option<Version>,
}

/// The digest of what is written to it.
struct Fnv(u64);

impl Fnv {
    fn of(mutation: &impl Serialize) -> u64 {
        let mut digest = Self(0xcbf2_9ce4_8422_2325);
        rmp_serde::encode::write_named(&mut digest, mutation).expect("mutations can be encoded");
        digest.0
    }
}

impl io::Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        self.0 = bytes.iter().fold(self.0, step);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The same upload wherever its bytes are: a repetition has stored them anew.
fn unplaced(mutation: &Mutation) -> Option<Mutation> {
    let command = match mutation {
        Mutation::Command(command) => command,
        Mutation::Fenced { command, .. } => &**command,
        Mutation::Transaction { .. } | Mutation::Minimal(_) => return None,
    };
    let command: Command = match command {
        Command::Artifact(artifact::Command::Put(put)) => {
            let put = artifact::Put { place: nowhere(), ..(**put).clone() };
            artifact::Command::Put(Box::new(put)).into()
        }
        Command::Secret(secret::Command::Put(put)) => {
            let put = secret::Put { secret: SecretId::at(&nowhere()), ..put.clone() };
            secret::Command::Put(put).into()
        }
        _ => return None,
    };
    Some(match mutation {
        Mutation::Fenced { token, .. } => {
            Mutation::Fenced { token: *token, command: Box::new(command) }
        }
        Mutation::Command(_) | Mutation::Transaction { .. } | Mutation::Minimal(_) => {
            Mutation::Command(command)
        }
    })
}

/// The place of an upload in a digest.
fn nowhere() -> BlobPlace {
    BlobPlace::of_number(0)
}

/// The key that a receipt is found by.
fn name_of(kept: &Kept) -> (&str, &str) {
    (kept.agent.as_str(), kept.receipt.key.as_str())
}

impl Receipts {
    /// The receipt of a request, if it was made before.
    pub fn find(&self, agent: &AgentId, key: &IdempotencyKey) -> Option<&Receipt> {
        if self.kept.is_empty() {
            return None;
        }
        let (name, at) = ((agent.as_str(), key.as_str()), |number: usize| number - self.forgotten);
        let number = self.by_key.find(name, |number| name_of(&self.kept[at(number)]) == name)?;
        Some(&self.kept[at(number)].receipt)
    }

    /// Adds a receipt, and forgets those that are too old or too many.
    pub fn evolve(&mut self, receipt: &Receipt, moment: &Moment<'_>) {
        let agent = receipt.agent.as_ref().unwrap_or(moment.agent).clone();
        let kept = Kept { agent, time: moment.time, receipt: receipt.clone() };
        self.keep(kept);
        self.forget(moment.time);
    }

    fn keep(&mut self, kept: Kept) {
        let Self { kept: others, forgotten, by_key, .. } = self;
        let number = *forgotten + others.len();
        let is_new =
            by_key.insert(&name_of(&kept), number, |number| name_of(&others[number - *forgotten]));
        assert!(is_new, "a kept answer is repeated, not replaced");
        self.bytes += kept.receipt.answer.bytes();
        self.kept.push_back(kept);
    }

    fn forget(&mut self, now: Timestamp) {
        while let Some(oldest) = self.kept.front() {
            let age = now.since(oldest.time);
            let fits = self.kept.len() <= limits::RECEIPTS_MAX
                && (self.bytes <= limits::RECEIPTS_BYTES_MAX || self.kept.len() == 1);
            if fits && age <= limits::RECEIPT_AGE_MS_MAX {
                break;
            }
            self.by_key.remove(name_of(oldest), self.forgotten);
            let gone = self.kept.pop_front().expect("it was just looked at");
            self.forgotten += 1;
            self.bytes -= gone.receipt.answer.bytes();
        }
    }

    /// All of them, oldest first, for a snapshot.
    pub fn all(&self) -> impl Iterator<Item = &Kept> {
        self.kept.iter()
    }

    /// Assembles the contents of a snapshot.
    pub fn restore(kept: Vec<Kept>) -> Self {
        let mut receipts = Self::default();
        for kept in kept {
            receipts.keep(kept);
        }
        receipts
    }
}

impl Space {
    /// The stored answer to a request, with the digest of the request.
    pub(super) fn stored_answer(
        &self,
        agent: &AgentId,
        key: &IdempotencyKey,
    ) -> Option<(u64, Answer)> {
        let receipt = self.receipts.find(agent, key)?;
        #[cfg(feature = "planted")]
        if crate::planted::is("space.receipt_follows_its_entry")
            && let StoredAnswer::Written(entry) = &receipt.answer
            && let Some(now) = self.fast_get(entry.namespace().as_str(), entry.key())
        {
            let reply = crate::state::Reply::Entry(now).into();
            return Some((receipt.digest, Answer { revision: entry.revision(), reply }));
        }
        Some((receipt.digest, receipt.answer()))
    }
}
