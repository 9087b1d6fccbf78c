//! How much a workspace may hold, where somebody has said so.
//!
//! ```text
//!   decide ─▶ evolve ─▶ is there more than before, and more than there may be? ──no──▶ done
//!                                        └──yes──▶ everything is taken back, and refused
//! ```
//!
//! | counted as | what |
//! |---|---|
//! | entries | keys of shared state |
//! | bytes | entries, artifacts, secrets, frames of streams, checkpoints |
//! | | messages, tasks and hand-offs that are not over |
//!
//! Invariants:
//!
//! 1. It is asked of the whole of a commit, so that a transaction that makes room for itself fits,
//!    and nothing is half done. A reaction is asked by itself, and fails alone.
//! 2. What holds less than before, or as much, always fits: whoever has too much may put that
//!    right, and may change what is there.
//! 3. What the engine does by itself is never refused: time does not stand still for want of room.
//! 4. It is no part of the history: replaying asks nobody, and a space without bounds costs a
//!    look at one field.
//!
//! Deliberately absent: bounds on tasks, locks and the like, which have their own in
//! [`limits`](crate::limits).

use super::Space;
use crate::command::{Command, Mutation};
use crate::rejection::Rejection;
use crate::{
    agent, artifact, barrier, checkpoint, handoff, join, lock, message, pipeline, reaction, secret,
    semaphore, state, stream, task,
};

#[cfg(test)]
mod tests;

/// How much a workspace may hold; as much as it likes of what is not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StorageQuota {
    /// Most keys of shared state.
    pub entries_max: Option<u64>,
    /// Most bytes of all that is kept.
    pub bytes_max: Option<u64>,
}

/// How much a workspace holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    entries: u64,
    bytes: u64,
}

impl Space {
    /// Says how much it may hold from now on. What it holds already stays.
    pub fn set_quota(&mut self, quota: Option<StorageQuota>) {
        self.quota = quota.filter(|quota| *quota != StorageQuota::default());
    }

    /// How much there is before a mutation, if a quota limits what may be there after it.
    #[inline]
    pub(super) fn stored_before(&self, mutation: &Mutation) -> Option<Stored> {
        self.quota.is_some_and(|_| !is_from_the_engine(mutation)).then(|| self.stored())
    }

    /// How much there is, if there is a bound to that.
    pub(super) fn bounded(&self) -> Option<Stored> {
        self.quota.map(|_| self.stored())
    }

    fn stored(&self) -> Stored {
        let entries: usize = self.state.namespaces().map(|(_, entries)| entries.len()).sum();
        let bytes = self.state.bytes()
            + self.stream.bytes()
            + self.checkpoint.bytes()
            + self.message.store().open().bytes
            + self.task.unfinished_bytes()
            + self.handoff.unfinished().1;
        let bytes = bytes as u64 + self.artifact.bytes() + self.secret.bytes();
        Stored { entries: entries as u64, bytes }
    }

    /// Whether what is there now may be, after this much was.
    #[inline]
    pub(super) fn check_quota(&self, before: Option<Stored>) -> Result<(), Rejection> {
        let (Some(before), Some(quota)) = (before, self.quota) else { return Ok(()) };
        let now = self.stored();
        if let Some(max) = quota.entries_max.filter(|max| now.entries > *max)
            && now.entries > before.entries
        {
            return Err(Rejection::TooManyEntries { given: now.entries, max });
        }
        if let Some(max) = quota.bytes_max.filter(|max| now.bytes > *max)
            && now.bytes > before.bytes
        {
            return Err(Rejection::TooManyBytes { given: now.bytes, max });
        }
        Ok(())
    }
}

/// Whether it is what the engine sends to itself. Whoever calls cannot: it has no name on the wire.
fn is_from_the_engine(mutation: &Mutation) -> bool {
    match mutation {
        Mutation::Command(command) => is_internal(command),
        Mutation::Fenced { .. } => false,
        Mutation::Transaction { commands, .. } => commands.iter().all(is_internal),
    }
}

fn is_internal(command: &Command) -> bool {
    matches!(
        command,
        Command::State(state::Command::Expire)
            | Command::Agent(agent::Command::Expire)
            | Command::Message(message::Command::Expire | message::Command::GiveUp { .. })
            | Command::Stream(stream::Command::Expire | stream::Command::GiveUp { .. })
            | Command::Reaction(reaction::Command::Expire)
            | Command::Lock(lock::Command::Expire | lock::Command::GiveUp { .. })
            | Command::Semaphore(semaphore::Command::Expire | semaphore::Command::GiveUp { .. })
            | Command::Barrier(barrier::Command::Expire | barrier::Command::GiveUp { .. })
            | Command::Task(task::Command::Expire | task::Command::GiveUp { .. })
            | Command::Join(join::Command::Expire | join::Command::GiveUp { .. })
            | Command::Pipeline(pipeline::Command::Expire)
            | Command::Checkpoint(checkpoint::Command::Expire)
            | Command::Artifact(artifact::Command::Expire)
            | Command::Secret(secret::Command::Expire)
            | Command::Handoff(handoff::Command::Expire | handoff::Command::GiveUp { .. })
    )
}
