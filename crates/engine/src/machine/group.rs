//! Groups: the content of one record of the log.

use std::sync::Arc;

use baton_core::space::receipt::Receipt;
use baton_core::{Batch, Entry, Timestamp, WorkspaceName};

use crate::codec;
use crate::history::subject_hash;
use crate::waiter::{WaitResult, Waiter};

/// A group of batches: the content of one record of the log.
#[derive(Default)]
pub(super) struct Group {
    pub(super) number: u64,
    pub(super) bytes: Vec<u8>,
    /// The workspaces of the batches, in order of appearance.
    pub(super) workspaces: Vec<WorkspaceName>,
    pub(super) batches: Vec<Grouped>,
    pub(super) hashes: Vec<u32>,
    pub(super) watched: Vec<(WorkspaceName, Arc<Batch>)>,
    /// Waiting calls that end when it is durable, and their results.
    pub(super) ended: Vec<(Arc<Waiter>, WaitResult)>,
}

pub(super) struct Grouped {
    /// Its index among the workspaces of the group.
    pub(super) workspace: u32,
    pub(super) offset: u32,
    pub(super) bytes: u32,
    pub(super) hashes: u32,
}

/// A batch as it is written.
pub(super) struct Encoded {
    bytes: Vec<u8>,
    hashes: Vec<u32>,
}

impl Encoded {
    pub(super) fn of(
        workspace: &WorkspaceName,
        batch: &Batch,
        deadline: Option<Timestamp>,
    ) -> Self {
        let mut bytes = Vec::new();
        codec::encode(&mut bytes, workspace, batch, deadline);
        Self { bytes, hashes: hashes(batch).collect() }
    }
}

/// The hashes of the subjects of a batch.
fn hashes(batch: &Batch) -> impl Iterator<Item = u32> {
    batch.events.iter().map(|event| subject_hash(&event.subject_parts()))
}

impl Group {
    /// The index of a workspace that has no batch in this group yet.
    pub(super) fn join(&mut self, workspace: &WorkspaceName) -> u32 {
        self.workspaces.push(workspace.clone());
        u32::try_from(self.workspaces.len() - 1).expect("groups are limited")
    }

    pub(super) fn add(
        &mut self,
        workspace: u32,
        batch: &Batch,
        deadline: Option<Timestamp>,
    ) -> u32 {
        let offset = self.bytes.len();
        let name = &self.workspaces[workspace as usize];
        codec::encode(&mut self.bytes, name, batch, deadline);
        self.hashes.extend(hashes(batch));
        self.added(workspace, offset, batch.events.len())
    }

    /// Adds a batch that was encoded before.
    pub(super) fn add_encoded(&mut self, workspace: u32, encoded: Encoded) -> u32 {
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(&encoded.bytes);
        let events = encoded.hashes.len();
        self.hashes.extend(encoded.hashes);
        self.added(workspace, offset, events)
    }

    /// Adds a batch that sets an entry, and has the receipt of the request if it has a key.
    pub(super) fn add_set(
        &mut self,
        workspace: u32,
        (entry, receipt): (&Entry, Option<&Receipt>),
        deadline: Option<Timestamp>,
    ) -> u32 {
        let offset = self.bytes.len();
        let name = &self.workspaces[workspace as usize];
        codec::encode_set(&mut self.bytes, name, (entry, receipt), deadline);
        let parts = ["state/", entry.namespace().as_str(), "/", entry.key()];
        self.hashes.push(subject_hash(&parts));
        self.hashes
            .extend(receipt.map(|receipt| subject_hash(&["receipts/", receipt.key.as_str()])));
        self.added(workspace, offset, 1 + usize::from(receipt.is_some()))
    }

    fn added(&mut self, workspace: u32, offset: usize, events: usize) -> u32 {
        let offset = u32::try_from(offset).expect("groups are limited");
        let bytes = u32::try_from(self.bytes.len()).expect("groups are limited") - offset;
        let hashes = u32::try_from(events).expect("batches are limited");
        self.batches.push(Grouped { workspace, offset, bytes, hashes });
        bytes
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.workspaces.clear();
        self.batches.clear();
        self.hashes.clear();
        self.watched.clear();
    }
}
