//! Messages of one WebSocket for other shards, and the answers.

use std::task::{Context, Poll};

use super::{Connection, End};
use crate::cluster::RelayEnded;
use crate::ws::framing::Opcode;

/// A message as it was received.
#[derive(Clone, Copy)]
pub(super) struct RawMessage<'a> {
    pub(super) opcode: Opcode,
    pub(super) payload: &'a [u8],
}

impl From<RelayEnded> for End {
    fn from(_: RelayEnded) -> Self {
        Self::Close(1001, "the owner of a workspace has changed")
    }
}

impl Connection {
    /// Whether another engine has the workspace. The workspace in use was checked before.
    pub(super) fn is_elsewhere(&mut self, workspace: &str) -> bool {
        let Some(others) = &mut self.others else { return false };
        let is_in_use = self.workspace.as_ref().is_some_and(|known| known.as_str() == workspace);
        !is_in_use && others.have(workspace)
    }

    /// Whether the watch of this number can be in another shard: it is not here.
    pub(super) fn is_watched_elsewhere(&mut self, watch: u64) -> bool {
        let are_used = self.others.as_ref().is_some_and(|others| others.are_used());
        are_used && !self.watches(|pushes| pushes.has(watch))
    }

    /// Has a message passed on, with all others that have been received.
    pub(super) fn pass_later(&mut self, message: RawMessage<'_>) {
        if let Some(others) = &mut self.others {
            others.add(message.opcode, message.payload);
        }
    }

    /// Passes on what is for other shards.
    pub(super) async fn pass_on(&mut self) -> Result<(), End> {
        while let Some(others) = &mut self.others
            && let Some(mut output) = others.pass().await?
        {
            self.outbox.bytes.append(&mut output);
            if self.outbox.bytes.len() >= self.shared.settings.unsent_bytes_max {
                self.drain().await?;
            }
        }
        Ok(())
    }

    /// The next output of other shards.
    pub(super) fn poll_relayed(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Vec<u8>, RelayEnded>> {
        match &mut self.others {
            Some(others) => others.poll_output(context),
            None => Poll::Pending,
        }
    }

    pub(super) async fn add_relayed(
        &mut self,
        output: Result<Vec<u8>, RelayEnded>,
    ) -> Result<(), End> {
        self.outbox.bytes.append(&mut output?);
        self.flush().await
    }
}
