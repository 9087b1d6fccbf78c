//! The receipt of a request that wrote an entry, without the entry.
//!
//! The answer to most requests with an idempotency key is the entry that they wrote, which is also
//! an event of the same batch. In the log the receipt names that event instead of repeating its
//! value:
//!
//! ```text
//!   {"agent": …, "kept": [at, of, key, digest], "events": [ …, {"state": {"set": …}}, … ]}
//! ```
//!
//! `at` is the index of the receipt among all events, `of` that of the event. Reading restores the
//! receipt with its answer, so no reader of batches knows of the record; a frame with such a record
//! has its own schema, so that a program that does not know it refuses the frame instead of
//! executing a repeated request again.

use std::sync::Arc;

use baton_core::space::batch::Moment;
use baton_core::space::receipt::{Receipt, StoredAnswer};
use baton_core::storage::{Entry as Packed, WriteHead};
use baton_core::{Batch, Entry, Event, IdempotencyKey, state};
use serde::Deserialize;

#[cfg(test)]
mod tests;

/// A receipt whose answer is the entry that an event of its batch wrote.
pub(super) struct Kept<'a> {
    /// The index of the receipt.
    pub at: usize,
    /// The index of the event.
    pub of: usize,
    /// The receipt.
    pub receipt: &'a Receipt,
}

/// The receipt of a batch whose answer need not be written.
pub(super) fn find(batch: &Batch) -> Option<Kept<'_>> {
    let mut events = batch.events.iter().enumerate();
    let (at, receipt, entry) = events.find_map(|(at, event)| match event {
        Event::Receipt(receipt) if receipt.agent.is_none() => match &receipt.answer {
            StoredAnswer::Written(entry) => Some((at, receipt, entry)),
            StoredAnswer::Encoded(_) => None,
        },
        _ => None,
    })?;
    let of = batch.events[..at].iter().rposition(|event| is_of(event, entry))?;
    let moment = Moment { agent: batch.author(of), ..batch.moment() };
    // What is read must be what was kept, whatever the rules were that built the answer.
    is_written(entry, &batch.events[of], &moment).then_some(Kept { at, of, receipt })
}

/// Whether an event set the key of this entry.
fn is_of(event: &Event, entry: &Entry) -> bool {
    matches!(event, Event::State(state::Event::Set { namespace, key, .. })
        if namespace == entry.namespace() && key.as_str() == entry.key())
}

/// Whether it is the entry that this event about its key wrote.
fn is_written(entry: &Entry, event: &Event, moment: &Moment<'_>) -> bool {
    let Event::State(state::Event::Set { value, version, expires_at, bound_to, .. }) = event else {
        return false;
    };
    entry.value() == value.as_bytes()
        && entry.version() == *version
        && (entry.expires_at(), entry.is_ephemeral()) == (*expires_at, bound_to.is_some())
        && (entry.revision(), entry.updated_at()) == (moment.revision, moment.time)
        && entry.updated_by() == moment.agent
}

/// The entry that an event wrote.
fn entry_of(event: &Event, moment: &Moment<'_>) -> Option<Entry> {
    let Event::State(event) = event else { return None };
    let state::Event::Set { namespace, key, value, version, expires_at, bound_to, .. } = event
    else {
        return None;
    };
    let version = u32::try_from(version.0).ok()?;
    let (revision, time_ms) = (moment.revision.0, moment.time.0);
    let head = WriteHead { revision, time_ms, version, author: 0 };
    let packed = Packed::new(head, key.as_str(), value.as_bytes());
    let entry = Entry::new(packed, namespace.clone(), moment.agent.clone());
    Some(entry.ending(*expires_at, bound_to.is_some()))
}

/// The record as it is read.
#[derive(Deserialize)]
pub(super) struct Record(usize, usize, IdempotencyKey, u64);

/// Puts the receipt into its place. None if there is no such place, or no such event.
pub(super) fn restore(batch: &mut Batch, record: Record) -> Option<()> {
    let Record(at, of, key, digest) = record;
    if at > batch.events.len() || of >= at {
        return None;
    }
    let moment = Moment { agent: batch.author(of), ..batch.moment() };
    let entry = entry_of(&batch.events[of], &moment)?;
    let answer = StoredAnswer::Written(Arc::new(entry));
    let receipt = Receipt { key, digest, answer, agent: None };
    batch.events.insert(at, Event::Receipt(receipt));
    Some(())
}
