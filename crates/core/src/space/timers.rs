//! Timed transitions of a space, and its waiting calls.

use super::Space;
use crate::command::Command;
use crate::numbers::WaitId;
use crate::primitive::Table;
use crate::primitives;
use crate::time::Timestamp;
use crate::{
    agent, artifact, barrier, checkpoint, handoff, join, lock, message, pipeline, reaction, secret,
    semaphore, state, stream, task, wait,
};

macro_rules! timers {
    ($($(#[$doc:meta])* $module:ident: $variant:ident = $wire:literal $(, $facts:ident)?;)*) => {
        impl Space {
            /// The next timed transition.
            pub fn next_deadline(&self) -> Option<Timestamp> {
                [$(self.$module.next_deadline()),*].into_iter().flatten().min()
            }

            /// A server has been running since this time.
            pub fn served_since(&mut self, moment: Timestamp) {
                $(self.$module.wake(moment);)*
            }

            /// All waiting calls.
            pub fn waits(&self) -> impl Iterator<Item = WaitId> {
                std::iter::empty()$(.chain(self.$module.wait_ids()))*
            }
        }
    };
}
primitives!(timers);

impl Space {
    /// The commands that are due.
    pub fn due(&self, now: Timestamp) -> Vec<Command> {
        let causes: [(Option<Timestamp>, Command); 16] = [
            (self.state.next_deadline(), state::Command::Expire.into()),
            (self.agent.next_deadline(), agent::Command::Expire.into()),
            (self.message.next_deadline(), message::Command::Expire.into()),
            (self.stream.next_deadline(), stream::Command::Expire.into()),
            (self.reaction.next_deadline(), reaction::Command::Expire.into()),
            (self.lock.next_deadline(), lock::Command::Expire.into()),
            (self.semaphore.next_deadline(), semaphore::Command::Expire.into()),
            (self.barrier.next_deadline(), barrier::Command::Expire.into()),
            (self.task.next_deadline(), task::Command::Expire.into()),
            (self.join.next_deadline(), join::Command::Expire.into()),
            (self.pipeline.next_deadline(), pipeline::Command::Expire.into()),
            (self.checkpoint.next_deadline(), checkpoint::Command::Expire.into()),
            (self.artifact.next_deadline(), artifact::Command::Expire.into()),
            (self.secret.next_deadline(), secret::Command::Expire.into()),
            (self.handoff.next_deadline(), handoff::Command::Expire.into()),
            (self.wait.next_deadline(), wait::Command::Expire.into()),
        ];
        let due = causes.into_iter().filter(|(moment, _)| moment.is_some_and(|it| it <= now));
        due.map(|(_, command)| command).collect()
    }

    /// The server resumed serving the workspace at this time: no session or lease expires for
    /// heartbeats that could not arrive.
    pub fn wake(&mut self, moment: Timestamp) {
        self.served_since(moment.max(self.time));
    }

    /// The command that ends a waiting call whose caller is gone; none if it no longer waits.
    pub fn give_up(&self, wait: WaitId) -> Option<Command> {
        if self.message.is_waiting(wait) {
            return Some(message::Command::GiveUp { wait }.into());
        }
        if self.stream.is_waiting(wait) {
            return Some(stream::Command::GiveUp { wait }.into());
        }
        if self.lock.is_waiting(wait) {
            return Some(lock::Command::GiveUp { wait }.into());
        }
        if self.semaphore.is_waiting(wait) {
            return Some(semaphore::Command::GiveUp { wait }.into());
        }
        if self.barrier.is_waiting(wait) {
            return Some(barrier::Command::GiveUp { wait }.into());
        }
        if self.join.is_waiting(wait) {
            return Some(join::Command::GiveUp { wait }.into());
        }
        if self.wait.is_waiting(wait) {
            return Some(wait::Command::GiveUp { wait }.into());
        }
        if self.handoff.is_waiting(wait) {
            return Some(handoff::Command::GiveUp { wait }.into());
        }
        self.task.is_waiting(wait).then(|| task::Command::GiveUp { wait }.into())
    }
}
