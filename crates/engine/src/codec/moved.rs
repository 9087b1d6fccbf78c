//! Keys that moved from one namespace to another, recorded together.
//!
//! A key that moves is two events: it is set in its new namespace, with its source, and deleted in
//! the old one. Both name the key, and every key of a hand-off repeats both namespaces and the
//! author. In the log they are one record, with each value once:
//!
//! ```text
//!   {"agent": …, "events": […], "moved": [
//!     {"at": 1, "from": …, "to": …, "by": …, "keys": [[key, value, version, version before,
//!                                                      revision before], …]}, …]}
//! ```
//!
//! `at` is the number of other events before them. Reading restores the events, so no reader of
//! batches knows of the record; a frame with such a record has its own schema, so that a program
//! that does not know it refuses the frame instead of missing the keys.

use std::ops::Range;

use baton_core::state::{self, Operation, Removal, Source};
use baton_core::{AgentId, Event, Json, Key, NamespaceName, Revision, Version};
use serde::Deserialize;

#[cfg(test)]
mod tests;

/// Fewer are not worth a record.
const KEYS_MIN: usize = 2;

/// One key that moved.
pub(super) struct Move<'a> {
    /// The place before, and its entry there.
    pub source: &'a Source,
    /// The namespace after the move.
    pub to: &'a NamespaceName,
    /// The key.
    pub key: &'a Key,
    /// Its value.
    pub value: &'a Json,
    /// The version that it has there.
    pub version: Version,
}

impl<'a> Move<'a> {
    /// The move that two consecutive events describe, if they describe one and nothing else.
    fn of(events: &'a [Event]) -> Option<Self> {
        let [Event::State(arrived), Event::State(left), ..] = events else { return None };
        let state::Event::Set {
            namespace: to,
            key,
            value,
            version,
            operation: Operation::Transferred,
            expires_at: None,
            bound_to: None,
            source: Some(source),
        } = arrived
        else {
            return None;
        };
        let state::Event::Deleted { namespace, key: gone, version: last, removal } = left else {
            return None;
        };
        let is_same = *namespace == source.namespace && gone == key && *last == source.version;
        (is_same && *removal == Removal::TransferredAway).then_some(Self {
            source,
            to,
            key,
            value,
            version: *version,
        })
    }

    /// Whether both go the same way, and have the same author.
    fn is_like(&self, other: &Self) -> bool {
        self.to == other.to
            && self.source.namespace == other.source.namespace
            && self.source.agent == other.source.agent
    }
}

/// The keys that moved in these events, if they describe nothing else.
pub(super) fn moves(events: &[Event]) -> impl Iterator<Item = Move<'_>> {
    events.chunks_exact(2).filter_map(Move::of)
}

/// The parts of a batch that are recorded together, in order; nearly always none.
pub(super) fn find(events: &[Event]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    while start + 2 * KEYS_MIN <= events.len() {
        let Some(first) = Move::of(&events[start..]) else {
            start += 1;
            continue;
        };
        let like = |events: &&[Event]| Move::of(events).is_some_and(|it| it.is_like(&first));
        let count = events[start..].chunks_exact(2).take_while(like).count();
        let end = start + 2 * count;
        if count >= KEYS_MIN {
            found.push(start..end);
        }
        start = end;
    }
    found
}

/// The same as it is read.
#[derive(Deserialize)]
pub(super) struct Moved {
    at: usize,
    from: NamespaceName,
    to: NamespaceName,
    by: AgentId,
    keys: Vec<MovedKey>,
}

/// Key, value, version, version before and revision before.
#[derive(Deserialize)]
struct MovedKey(Key, Json, Version, Version, Revision);

/// All events in order. None if the record does not fit to the others.
pub(super) fn restore(others: Vec<Event>, moved: Vec<Moved>) -> Option<Vec<Event>> {
    if moved.is_empty() {
        return Some(others);
    }
    let keys: usize = moved.iter().map(|moved| moved.keys.len()).sum();
    let mut events = Vec::with_capacity(others.len() + 2 * keys);
    let mut others = others.into_iter();
    let mut taken = 0;
    for Moved { at, from, to, by, keys } in moved {
        let before = at.checked_sub(taken).filter(|count| *count <= others.len())?;
        events.extend(others.by_ref().take(before));
        taken = at;
        for MovedKey(key, value, version, last, revision) in keys {
            let source =
                Source { namespace: from.clone(), version: last, revision, agent: by.clone() };
            events.push(Event::State(state::Event::Set {
                namespace: to.clone(),
                key: key.clone(),
                value,
                version,
                operation: Operation::Transferred,
                expires_at: None,
                bound_to: None,
                source: Some(source),
            }));
            events.push(Event::State(state::Event::Deleted {
                namespace: from.clone(),
                key,
                version: last,
                removal: Removal::TransferredAway,
            }));
        }
    }
    events.extend(others);
    Some(events)
}
