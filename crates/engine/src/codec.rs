//! Batches as bytes, as in a record of the log and in a run of history.
//!
//! A frame is self-contained, so that one batch can be read and verified without the record around
//! it, and so that opening a log need not decode batches that it only has to locate.
//!
//! | bytes | field | |
//! |---|---|---|
//! | 4 | length of what follows the checksum | little endian, as all numbers |
//! | 4 | CRC-32 of what follows | |
//! | 1 | codec | 1 = MessagePack with named fields |
//! | 2 | schema version | raised when old programs could misread |
//! | 8 | revision | |
//! | 8 | time | milliseconds since 1970 |
//! | 8 | deadline | the next deadline in the workspace; 0 if there is none |
//! | 1 | length of the workspace's name | |
//! | n | workspace | |
//! | rest | `{agent, events}` | with `moved` in schema 2, with `kept` in schema 3 |
//!
//! New fields of events come with defaults and old ones never change their meaning, so the schema
//! version stays until something is added that an old program must not ignore. A frame has the
//! oldest schema that describes it: only keys that moved together need schema 2, and only a receipt
//! that names the event with its answer needs schema 3. A frame that is newer than the program is
//! rejected.

use baton_core::space::receipt::Receipt;
use baton_core::{AgentId, Batch, Entry, Event, Revision, Timestamp, WorkspaceName, messagepack};
use serde::Deserialize;
use thiserror::Error;

mod body_reader;
mod body_writer;
mod kept;
mod moved;

use body_reader::Events;
use body_writer::Written;
use moved::Moved;

/// MessagePack with named fields.
const CODEC: u8 = 1;
/// The schema of snapshots, and of frames with events only.
pub const SCHEMA: u16 = 1;
/// The schema of frames with keys that moved together.
const SCHEMA_MOVED: u16 = 2;
/// The schema of frames with a receipt that names an event; the newest that this program
/// understands.
const SCHEMA_KEPT: u16 = 3;
/// Length and checksum.
const PREFIX: usize = 8;
/// The header before the workspace's name.
const FIXED: usize = 28;

/// Why bytes are not a batch.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CodecError {
    /// The bytes are damaged.
    #[error("a batch is damaged: {what}")]
    Corrupt {
        /// The parts that do not match.
        what: String,
    },
    /// A newer program wrote them.
    #[error(
        "a batch has codec {codec} and schema {schema}, \
         this program knows {CODEC} and {SCHEMA_KEPT}"
    )]
    Newer {
        /// The codec found.
        codec: u8,
        /// The schema found.
        schema: u16,
    },
}

#[derive(Deserialize)]
struct BodyIn {
    agent: AgentId,
    events: Vec<Event>,
    #[serde(default)]
    moved: Vec<Moved>,
    #[serde(default)]
    kept: Option<kept::Record>,
}

/// The location and the header of a frame, without its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline<'a> {
    /// The workspace's name.
    pub workspace: &'a str,
    /// The batch's revision.
    pub revision: Revision,
    /// The batch's time.
    pub time: Timestamp,
    /// The next deadline in the workspace after this batch.
    pub deadline: Option<Timestamp>,
    /// Bytes of the whole frame.
    pub bytes: usize,
}

/// Appends a batch to a group. The deadline tells a program that opens the log when it must load
/// the workspace even without a request.
pub fn encode(
    group: &mut Vec<u8>,
    workspace: &WorkspaceName,
    batch: &Batch,
    deadline: Option<Timestamp>,
) {
    frame(group, workspace, (batch.revision, batch.time), deadline, |group| {
        body_writer::body(group, batch)
    });
}

/// Appends a batch that sets an entry without an expiry, and has the receipt of the request if it
/// has a key: its answer is the entry.
pub fn encode_set(
    group: &mut Vec<u8>,
    workspace: &WorkspaceName,
    (entry, receipt): (&Entry, Option<&Receipt>),
    deadline: Option<Timestamp>,
) {
    let written = Written {
        namespace: entry.namespace().as_str(),
        key: entry.key(),
        value: entry.value(),
        version: entry.version().0,
        how: None,
        expires_at: None,
        bound_to: None,
        source: None,
    };
    frame(group, workspace, (entry.revision(), entry.updated_at()), deadline, |group| {
        body_writer::one_set(group, entry.updated_by(), &written, receipt)
    });
}

fn frame(
    group: &mut Vec<u8>,
    workspace: &WorkspaceName,
    (revision, time): (Revision, Timestamp),
    deadline: Option<Timestamp>,
    body: impl FnOnce(&mut Vec<u8>) -> u16,
) {
    let start = group.len();
    let name = workspace.as_str().as_bytes();
    let mut fixed = [0; PREFIX + FIXED];
    fixed[8] = CODEC;
    fixed[11..19].copy_from_slice(&revision.0.to_le_bytes());
    fixed[19..27].copy_from_slice(&time.0.to_le_bytes());
    fixed[27..35].copy_from_slice(&deadline_number(deadline).to_le_bytes());
    fixed[35] = u8::try_from(name.len()).expect("names are shorter than 256 bytes");
    group.extend_from_slice(&fixed);
    group.extend_from_slice(name);
    let schema = body(group);
    group[start + 9..start + 11].copy_from_slice(&schema.to_le_bytes());
    let length = u32::try_from(group.len() - start - PREFIX).expect("batches are limited");
    let checksum = crc32fast::hash(&group[start + PREFIX..]);
    group[start..start + 4].copy_from_slice(&length.to_le_bytes());
    group[start + 4..start + 8].copy_from_slice(&checksum.to_le_bytes());
}

/// A deadline as it is stored: 0 is none. What is due at once, at time 0, is stored as due since
/// time 1.
pub fn deadline_number(deadline: Option<Timestamp>) -> u64 {
    deadline.map_or(0, |moment| moment.0.max(1))
}

/// The deadline that was stored.
pub fn deadline_of(number: u64) -> Option<Timestamp> {
    Some(Timestamp(number)).filter(|moment| moment.0 > 0)
}

/// How many bytes the frame that starts here takes; needs its first eight.
pub fn frame_bytes(prefix: [u8; PREFIX]) -> usize {
    let [a, b, c, d, ..] = prefix;
    PREFIX + u32::from_le_bytes([a, b, c, d]) as usize
}

/// The parts of the frame at the beginning of these bytes, checksum verified.
fn open(bytes: &[u8]) -> Result<(Outline<'_>, u16, &[u8]), CodecError> {
    let corrupt = |what: &str| CodecError::Corrupt { what: what.to_owned() };
    let prefix = bytes.first_chunk().ok_or_else(|| corrupt("it ends within its length"))?;
    let length = frame_bytes(*prefix);
    let frame = bytes.get(PREFIX..length).ok_or_else(|| corrupt("it is cut off"))?;
    let checksum = u32::from_le_bytes([prefix[4], prefix[5], prefix[6], prefix[7]]);
    if crc32fast::hash(frame) != checksum {
        return Err(corrupt("its checksum does not fit"));
    }
    let fixed: &[u8; FIXED] = frame.first_chunk().ok_or_else(|| corrupt("it is too short"))?;
    let (codec, schema) = (fixed[0], u16::from_le_bytes([fixed[1], fixed[2]]));
    if codec != CODEC || schema > SCHEMA_KEPT {
        return Err(CodecError::Newer { codec, schema });
    }
    let number = |from: usize| {
        let bytes = fixed[from..from + 8].try_into().expect("eight bytes are eight bytes");
        u64::from_le_bytes(bytes)
    };
    let name_end = FIXED + usize::from(fixed[FIXED - 1]);
    let name = frame.get(FIXED..name_end).ok_or_else(|| corrupt("its name is cut off"))?;
    let workspace = std::str::from_utf8(name).map_err(|_| corrupt("its name is not text"))?;
    let (revision, time) = (Revision(number(3)), Timestamp(number(11)));
    let deadline = deadline_of(number(19));
    let outline = Outline { workspace, revision, time, deadline, bytes: length };
    Ok((outline, schema, &frame[name_end..]))
}

/// The header of the frame at the beginning of these bytes.
pub fn outline(bytes: &[u8]) -> Result<Outline<'_>, CodecError> {
    open(bytes).map(|(outline, ..)| outline)
}

/// The batch in the frame at the beginning of these bytes.
pub fn decode(bytes: &[u8]) -> Result<Batch, CodecError> {
    let (outline, _, body) = open(bytes)?;
    let corrupt = |what: String| CodecError::Corrupt { what };
    let BodyIn { agent, events, moved, kept } =
        messagepack::from_slice(body).map_err(|error| corrupt(error.to_string()))?;
    let events = moved::restore(events, moved)
        .ok_or_else(|| corrupt("its moved keys have no place".to_owned()))?;
    let mut batch = Batch { revision: outline.revision, time: outline.time, agent, events };
    if let Some(kept) = kept {
        kept::restore(&mut batch, kept)
            .ok_or_else(|| corrupt("its receipt has no place, or no answer".to_owned()))?;
    }
    Ok(batch)
}

fn decode_event(bytes: &[u8]) -> Result<Event, CodecError> {
    messagepack::from_slice(bytes)
        .map_err(|error: messagepack::Error| CodecError::Corrupt { what: error.to_string() })
}

/// Returns the subjects of the events in the frame at the beginning of these bytes, in order, and
/// the header of the frame. Many times faster than decoding, since values are skipped.
pub fn subjects(bytes: &[u8], mut tell: impl FnMut(&[&str])) -> Result<Outline<'_>, CodecError> {
    let (outline, schema, body) = open(bytes)?;
    if let Some((namespace, key)) = body_reader::only_set_key(body) {
        tell(&["state/", namespace, "/", key]);
        return Ok(outline);
    }
    let found = if schema == SCHEMA_MOVED { None } else { body_reader::events(body) };
    let Some(Events { bytes: events, kept }) = found else {
        decode(bytes)?.events.iter().for_each(|event| tell(&event.subject_parts()));
        return Ok(outline);
    };
    let (at, receipt) = kept.unwrap_or((usize::MAX, ""));
    let receipt = ["receipts/", receipt];
    for (index, event) in events.iter().enumerate() {
        if index == at {
            tell(&receipt);
        }
        match body_reader::subject(event) {
            Some(parts) => tell(&parts),
            None => tell(&decode_event(event)?.subject_parts()),
        }
    }
    if events.len() == at {
        tell(&receipt);
    }
    Ok(outline)
}

/// The frames of a record, with their offsets.
pub fn outlines(record: &[u8]) -> impl Iterator<Item = Result<(u32, Outline<'_>), CodecError>> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let rest = record.get(offset..).filter(|rest| !rest.is_empty())?;
        let outline = outline(rest);
        let at = u32::try_from(offset).expect("records are smaller than 4 GiB");
        offset = outline.as_ref().map_or(record.len(), |outline| offset + outline.bytes);
        Some(outline.map(|outline| (at, outline)))
    })
}

#[cfg(test)]
mod tests {
    use baton_core::storage::WriteHead;
    use baton_core::{Json, Key, NamespaceName, Version, state, workspace};

    use super::*;

    fn example() -> (WorkspaceName, Batch) {
        let retention = workspace::Retention::default();
        let events = vec![
            Event::Workspace(workspace::Event::Configured { retention }),
            Event::Namespace(baton_core::namespace::Event::Deleted {
                name: NamespaceName::parse("notes").unwrap(),
            }),
        ];
        let batch =
            Batch { revision: Revision(7), time: Timestamp(9), agent: AgentId::engine(), events };
        (WorkspaceName::parse("research").unwrap(), batch)
    }

    #[test]
    fn a_record_gives_back_its_batches() {
        let (name, batch) = example();
        let mut record = Vec::new();
        encode(&mut record, &name, &batch, Some(Timestamp(99)));
        let second = u32::try_from(record.len()).unwrap();
        encode(&mut record, &name, &batch, Some(Timestamp(99)));
        encode(&mut record, &name, &batch, Some(Timestamp(0)));
        encode(&mut record, &name, &batch, None);
        let found: Vec<_> = outlines(&record).map(Result::unwrap).collect();
        assert_eq!(found.len(), 4);
        assert_eq!(found[2].1.deadline, Some(Timestamp(1)), "it is due at once");
        assert_eq!(found[3].1.deadline, None);
        assert_eq!(found[1].0, second);
        assert_eq!(found[1].1.workspace, "research");
        assert_eq!(found[1].1.revision, Revision(7));
        assert_eq!(found[1].1.deadline, Some(Timestamp(99)));
        assert_eq!(decode(&record[second as usize..]), Ok(batch));
    }

    #[test]
    fn an_entry_is_written_as_the_batch_that_set_it() {
        let (name, batch) = example();
        let (namespace, key) = (NamespaceName::shared(), Key::parse("plan").unwrap());
        let value = Json::parse(r#"{"a":[1]}"#).unwrap();
        let head =
            WriteHead { revision: batch.revision.0, time_ms: batch.time.0, version: 3, author: 0 };
        let packed = baton_core::storage::Entry::new(head, key.as_str(), value.as_bytes());
        let entry = Entry::new(packed, namespace, batch.agent.clone());
        let batch = Batch::of_set(&entry);
        let (mut general, mut short) = (Vec::new(), Vec::new());
        encode(&mut general, &name, &batch, Some(Timestamp(99)));
        encode_set(&mut short, &name, (&entry, None), Some(Timestamp(99)));
        assert_eq!(general, short);
    }

    #[test]
    fn subjects_are_those_of_the_decoded_batch() {
        let (name, mixed) = example();
        let (namespace, key) = (NamespaceName::shared(), Key::parse("plan").unwrap());
        let (value, version) = (Json::parse("[1]").unwrap(), Version(3));
        let set = |source| {
            Event::State(state::Event::Set {
                namespace: namespace.clone(),
                key: key.clone(),
                value: value.clone(),
                version,
                operation: state::Operation::Transferred,
                expires_at: Some(Timestamp(5)),
                bound_to: Some(AgentId::engine()),
                source,
            })
        };
        let source = state::Source {
            namespace: NamespaceName::parse("notes").unwrap(),
            version,
            revision: Revision(2),
            agent: AgentId::engine(),
        };
        let (removal, key) = (state::Removal::Expired, Key::parse("gone").unwrap());
        let namespace = namespace.clone();
        let deleted = Event::State(state::Event::Deleted { namespace, key, version, removal });
        let one = |event: &Event| Batch { events: vec![event.clone()], ..mixed.clone() };
        let plain = vec![set(None), deleted, set(Some(source))];
        let mut batches: Vec<Batch> = plain.iter().chain(&mixed.events).map(one).collect();
        let both = [mixed.events.clone(), plain.clone()].concat();
        let several = [plain, both].map(|events| Batch { events, ..mixed.clone() });
        batches.extend(several);
        for batch in batches {
            let mut record = Vec::new();
            encode(&mut record, &name, &batch, None);
            let mut found = Vec::new();
            let outline = subjects(&record, |parts| found.push(parts.concat())).unwrap();
            assert_eq!((outline.revision, outline.bytes), (batch.revision, record.len()));
            let expected: Vec<_> = batch.events.iter().map(Event::subject).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let (name, batch) = example();
        let mut record = Vec::new();
        encode(&mut record, &name, &batch, Some(Timestamp(99)));
        for end in 0..record.len() {
            assert!(decode(&record[..end]).is_err(), "cut at {end}");
        }
        for bit in 0..record.len() * 8 {
            let mut damaged = record.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&damaged).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_newer_schema_is_refused_not_guessed() {
        let (name, batch) = example();
        let mut record = Vec::new();
        encode(&mut record, &name, &batch, Some(Timestamp(99)));
        record[PREFIX + 1] = 200;
        let checksum = crc32fast::hash(&record[PREFIX..]);
        record[4..8].copy_from_slice(&checksum.to_le_bytes());
        assert_eq!(decode(&record), Err(CodecError::Newer { codec: 1, schema: 200 }));
    }
}
