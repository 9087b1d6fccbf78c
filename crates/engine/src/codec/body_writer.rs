//! The body of a batch as MessagePack, encoded by hand for the most frequent events.
//!
//! Nearly every event sets a value, and a hand-off sets and deletes one for each of its keys. Serde
//! needs a dozen calls per field, several times the cost of deciding the event; here it is a dozen
//! copies in total.
//!
//! ```text
//!   {"agent": …, "events": [ {"state": {"set": {"namespace": …, "key": …, "value": …, …}}}, … ]}
//!                            └── by hand, and so is what was deleted; everything else by serde ┘
//! ```
//!
//! Invariant: the bytes are those that serde writes, for every batch in which no keys moved
//! together and no receipt names an event. The golden file of events and a comparison of arbitrary
//! ones verify it.

use std::ops::Range;

use baton_core::space::receipt::Receipt;
use baton_core::state::{self, Operation, Removal, Source};
use baton_core::{AgentId, Batch, Event, Timestamp};

use super::kept::{self, Kept};
use super::moved::{self, Move};
use super::{SCHEMA, SCHEMA_KEPT, SCHEMA_MOVED};

#[cfg(test)]
mod tests;

/// The space for an event besides its names and its value; with more, the buffer grows.
const FRAME_BYTES: usize = 128;

/// A value that was set.
pub(super) struct Written<'a> {
    /// The namespace.
    pub namespace: &'a str,
    /// The key.
    pub key: &'a str,
    /// The JSON text.
    pub value: &'a [u8],
    /// Its version.
    pub version: u64,
    /// How it was produced, if not by a set.
    pub how: Option<&'static str>,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// The session that it is bound to.
    pub bound_to: Option<&'a str>,
    /// The place before a transfer.
    pub source: Option<&'a Source>,
}

/// Appends `{agent, events}`, with `kept` or `moved` if it has such a record; returns its schema.
pub(super) fn body(output: &mut Vec<u8>, batch: &Batch) -> u16 {
    let Batch { agent, events, .. } = batch;
    let moved = moved::find(events);
    if !moved.is_empty() {
        with_moved(output, batch, moved);
        return SCHEMA_MOVED;
    }
    let Some(kept) = kept::find(batch) else {
        begin(output, agent, None);
        list(output, events.len());
        others(output, events);
        return SCHEMA;
    };
    let (before, after) = (&events[..kept.at], &events[kept.at + 1..]);
    begin(output, agent, Some(&kept));
    list(output, events.len() - 1);
    others(output, before);
    others(output, after);
    SCHEMA_KEPT
}

/// Appends `{agent, events, moved}`.
fn with_moved(output: &mut Vec<u8>, batch: &Batch, moved: Vec<Range<usize>>) {
    let Batch { agent, events, .. } = batch;
    output.push(0x83);
    agent_name(output, agent);
    output.extend_from_slice(b"\xa6events");
    list(output, events.len() - moved.iter().map(Range::len).sum::<usize>());
    let mut end = 0;
    for range in &moved {
        others(output, &events[end..range.start]);
        end = range.end;
    }
    others(output, &events[end..]);
    output.extend_from_slice(b"\xa5moved");
    list(output, moved.len());
    let mut recorded = 0;
    for range in moved {
        let at = range.start - recorded;
        recorded += range.len();
        together(output, at, &events[range]);
    }
}

/// Appends keys that moved together.
fn together(output: &mut Vec<u8>, at: usize, events: &[Event]) {
    let mut moves = moved::moves(events).peekable();
    let Some(Move { source, to, .. }) = moves.peek() else { return };
    output.extend_from_slice(b"\x85\xa2at");
    number(output, at as u64);
    output.extend_from_slice(b"\xa4from");
    text(output, source.namespace.as_str());
    output.extend_from_slice(b"\xa2to");
    text(output, to.as_str());
    output.extend_from_slice(b"\xa2by");
    text(output, source.agent.as_str());
    output.extend_from_slice(b"\xa4keys");
    list(output, events.len() / 2);
    for Move { source, key, value, version, .. } in moves {
        output.push(0x95);
        text(output, key.as_str());
        binary(output, value.as_bytes());
        number(output, version.0);
        number(output, source.version.0);
        number(output, source.revision.0);
    }
}

fn others(output: &mut Vec<u8>, events: &[Event]) {
    for event in events {
        match event {
            Event::State(event) => change(output, event),
            event => {
                rmp_serde::encode::write_named(output, event).expect("events can be encoded");
            }
        }
    }
}

/// Appends a batch with one event that sets a value, and perhaps the receipt of the request;
/// returns its schema.
pub(super) fn one_set(
    output: &mut Vec<u8>,
    agent: &AgentId,
    written: &Written<'_>,
    receipt: Option<&Receipt>,
) -> u16 {
    begin(output, agent, receipt.map(|receipt| Kept { at: 1, of: 0, receipt }).as_ref());
    output.push(0x91);
    set(output, written);
    if receipt.is_some() { SCHEMA_KEPT } else { SCHEMA }
}

/// Appends the beginning of `{agent, events}`, or of `{agent, kept, events}`.
fn begin(output: &mut Vec<u8>, agent: &AgentId, kept: Option<&Kept<'_>>) {
    output.push(if kept.is_some() { 0x83 } else { 0x82 });
    agent_name(output, agent);
    if let Some(Kept { at, of, receipt }) = kept {
        output.extend_from_slice(b"\xa4kept\x94");
        number(output, *at as u64);
        number(output, *of as u64);
        text(output, receipt.key.as_str());
        number(output, receipt.digest);
    }
    output.extend_from_slice(b"\xa6events");
}

fn agent_name(output: &mut Vec<u8>, agent: &AgentId) {
    output.extend_from_slice(b"\xa5agent");
    text(output, agent.as_str());
}

fn list(output: &mut Vec<u8>, count: usize) {
    match length(count) {
        count @ 0..16 => output.push(0x90 | low_byte(count)),
        count @ 16..0x1_0000 => sized::<2>(output, 0xdc, count),
        count => sized::<4>(output, 0xdd, count),
    }
}

fn change(output: &mut Vec<u8>, event: &state::Event) {
    match event {
        state::Event::Set {
            namespace,
            key,
            value,
            version,
            operation,
            expires_at,
            bound_to,
            source,
        } => {
            let how = match operation {
                Operation::Set => None,
                Operation::Patched => Some("patched"),
                Operation::Transferred => Some("transferred"),
                Operation::Copied => Some("copied"),
                Operation::Synced => Some("synced"),
            };
            let written = Written {
                namespace: namespace.as_str(),
                key: key.as_str(),
                value: value.as_bytes(),
                version: version.0,
                how,
                expires_at: *expires_at,
                bound_to: bound_to.as_ref().map(AgentId::as_str),
                source: source.as_ref(),
            };
            set(output, &written);
        }
        state::Event::Deleted { namespace, key, version, removal } => {
            output.extend_from_slice(b"\x81\xa5state\x81\xa7deleted\x84\xa9namespace");
            text(output, namespace.as_str());
            output.extend_from_slice(b"\xa3key");
            text(output, key.as_str());
            output.extend_from_slice(b"\xa7version");
            number(output, version.0);
            output.extend_from_slice(b"\xa7removal");
            text(
                output,
                match removal {
                    Removal::Deleted => "deleted",
                    Removal::Expired => "expired",
                    Removal::LetGo => "let_go",
                    Removal::TransferredAway => "transferred_away",
                    Removal::Synced => "synced",
                },
            );
        }
    }
}

fn set(output: &mut Vec<u8>, written: &Written<'_>) {
    let Written { namespace, key, value, version, how, expires_at, bound_to, source } = *written;
    let more = [how.is_some(), expires_at.is_some(), bound_to.is_some(), source.is_some()];
    output.reserve(FRAME_BYTES + namespace.len() + key.len() + value.len());
    // Constant parts are copied in one piece: headers of maps, then names with their headers.
    let fields = 4 + more.into_iter().map(u8::from).sum::<u8>();
    output.extend_from_slice(b"\x81\xa5state\x81\xa3set");
    output.push(0x80 | fields);
    output.extend_from_slice(b"\xa9namespace");
    text(output, namespace);
    output.extend_from_slice(b"\xa3key");
    text(output, key);
    output.extend_from_slice(b"\xa5value");
    binary(output, value);
    output.extend_from_slice(b"\xa7version");
    number(output, version);
    if let Some(how) = how {
        text(output, "operation");
        text(output, how);
    }
    if let Some(moment) = expires_at {
        text(output, "expires_at");
        number(output, moment.0);
    }
    if let Some(agent) = bound_to {
        text(output, "bound_to");
        text(output, agent);
    }
    if let Some(Source { namespace, version, revision, agent }) = source {
        output.extend_from_slice(b"\xa6source\x84\xa9namespace");
        text(output, namespace.as_str());
        output.extend_from_slice(b"\xa7version");
        number(output, version.0);
        output.extend_from_slice(b"\xa8revision");
        number(output, revision.0);
        output.extend_from_slice(b"\xa5agent");
        text(output, agent.as_str());
    }
}

#[inline]
fn text(output: &mut Vec<u8>, text: &str) {
    match length(text.len()) {
        bytes @ 0..32 => output.push(0xa0 | low_byte(bytes)),
        bytes @ 32..0x100 => output.extend_from_slice(&[0xd9, low_byte(bytes)]),
        bytes @ 0x100..0x1_0000 => sized::<2>(output, 0xda, bytes),
        bytes => sized::<4>(output, 0xdb, bytes),
    }
    output.extend_from_slice(text.as_bytes());
}

fn binary(output: &mut Vec<u8>, binary: &[u8]) {
    match length(binary.len()) {
        bytes @ 0..0x100 => output.extend_from_slice(&[0xc4, low_byte(bytes)]),
        bytes @ 0x100..0x1_0000 => sized::<2>(output, 0xc5, bytes),
        bytes => sized::<4>(output, 0xc6, bytes),
    }
    output.extend_from_slice(binary);
}

fn number(output: &mut Vec<u8>, number: u64) {
    match u32::try_from(number) {
        Ok(number @ 0..0x80) => output.push(low_byte(number)),
        Ok(number @ 0x80..0x100) => output.extend_from_slice(&[0xcc, low_byte(number)]),
        Ok(number @ 0x100..0x1_0000) => sized::<2>(output, 0xcd, number),
        Ok(number) => sized::<4>(output, 0xce, number),
        Err(_) => {
            output.push(0xcf);
            output.extend_from_slice(&number.to_be_bytes());
        }
    }
}

fn length(count: usize) -> u32 {
    u32::try_from(count).expect("the rules limit names, values and batches")
}

fn low_byte(number: u32) -> u8 {
    number.to_le_bytes()[0]
}

/// A marker, and the last bytes of a number.
fn sized<const BYTES: usize>(output: &mut Vec<u8>, marker: u8, number: u32) {
    output.push(marker);
    output.extend_from_slice(&number.to_be_bytes()[4 - BYTES..]);
}
