//! Digests of proposals.
//!
//! An approval is bound to a digest, so that no other proposal with the same digest may be found:
//! SHA-256.

use sha2::{Digest, Sha256};

use super::{Chosen, Handoff};
use crate::json::Json;
use crate::state::Entry;

/// Hashes each part with its length, so that no two lists of parts give the same input.
struct Parts(Sha256);

impl Parts {
    fn new(purpose: &str) -> Self {
        let mut parts = Self(Sha256::new());
        parts.add(purpose.as_bytes());
        parts
    }

    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    fn maybe(&mut self, part: Option<&[u8]>) {
        self.0.update([u8::from(part.is_some())]);
        self.add(part.unwrap_or_default());
    }

    fn hex(self) -> String {
        // 128 bits are still out of reach of an attacker, and can be read aloud.
        let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
        let bytes = self.0.finalize();
        bytes.iter().take(16).flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
    }
}

/// The digest of the content: the context, the versions of the keys, and the progress of the task.
pub fn content(handoff: &Handoff, chosen: &[Chosen], progress: &[Option<&Json>]) -> String {
    let mut parts = Parts::new("content");
    let context = [
        &handoff.work_completed,
        &handoff.remaining_work,
        &handoff.notes,
        &handoff.output_keys,
        &handoff.artifacts,
    ];
    for json in context {
        parts.maybe(json.as_ref().map(Json::as_bytes));
    }
    parts.maybe(handoff.reason.as_ref().map(String::as_bytes));
    for (name, value) in &handoff.state {
        parts.add(name.as_bytes());
        parts.add(value.as_bytes());
    }
    for Chosen { selected, entry } in chosen {
        parts.add(selected.name.as_str().as_bytes());
        let version = entry.as_ref().map(Entry::version);
        parts.maybe(
            version.map(|version| version.0.to_le_bytes()).as_ref().map(<[u8; 8]>::as_slice),
        );
    }
    if handoff.copy {
        parts.add(b"copy");
    }
    for json in progress {
        parts.maybe(json.map(Json::as_bytes));
    }
    parts.hex()
}

/// The digest of the proposal: the content, the giver, the receiver, the task and the deadline.
pub fn fingerprint(handoff: &Handoff) -> String {
    let mut parts = Parts::new("proposal");
    parts.add(handoff.id.as_str().as_bytes());
    parts.add(handoff.from.as_str().as_bytes());
    parts.add(handoff.to.to_string().as_bytes());
    parts.maybe(handoff.task.as_ref().map(|task| task.as_str().as_bytes()));
    parts.add(&handoff.deadline.0.to_le_bytes());
    parts.add(handoff.content.as_bytes());
    parts.hex()
}
