//! The subject index: the revisions that changed a subject.
//!
//! ```text
//!   key    subject, escaped | 0x00 | first revision of the chunk, u64 big-endian
//!   value  the revisions after it, each as a varint difference to the one before
//! ```
//!
//! A subject may contain any character. Zero bytes in it are written as `01 01` and one bytes as
//! `01 02`, which keeps the order of subjects and reserves the zero byte as their end.

use std::iter::{FusedIterator, Peekable};
use std::ops::RangeInclusive;

use super::RunError;
use super::layout::CHUNK_REVISIONS_MAX;
use crate::sorted_table::layout::{Fields, put_varint};
use crate::sorted_table::{Entries, Entry, SortedTableError, SortedTableWriter};

/// Zero byte and revision.
const KEY_SUFFIX_BYTES: usize = 9;

/// The prefix of every key of this subject, and of no other: the subject and its end.
pub(super) fn prefix(subject: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(subject.len() + KEY_SUFFIX_BYTES);
    for byte in subject.bytes() {
        match byte {
            0 => key.extend_from_slice(&[1, 1]),
            1 => key.extend_from_slice(&[1, 2]),
            _ => key.push(byte),
        }
    }
    key.push(0);
    key
}

/// The key above all keys of this subject and of those before it, and below all keys of later ones.
pub(super) fn prefix_after(subject: &str) -> Vec<u8> {
    let mut key = prefix(subject);
    let end = key.last_mut().expect("a prefix ends in a zero byte");
    *end = 1;
    key
}

/// The key of the chunk that begins with this revision.
pub(super) fn key(subject: &str, revision: u64) -> Vec<u8> {
    let mut key = prefix(subject);
    key.extend_from_slice(&revision.to_be_bytes());
    key
}

/// Writes the chunks of one subject. The revisions ascend.
pub(super) fn write(
    index: &mut SortedTableWriter,
    subject: &str,
    revisions: &[u64],
) -> Result<(), SortedTableError> {
    let mut value = Vec::new();
    for chunk in revisions.chunks(CHUNK_REVISIONS_MAX) {
        value.clear();
        for pair in chunk.windows(2) {
            put_varint(&mut value, pair[1] - pair[0]);
        }
        index.push(&key(subject, chunk[0]), &value)?;
    }
    Ok(())
}

/// Splits a key into its prefix and the first revision.
pub(super) fn split(key: &[u8]) -> Option<(&[u8], u64)> {
    let (prefix, revision) = key.split_last_chunk::<8>()?;
    (prefix.last() == Some(&0)).then_some((prefix, u64::from_be_bytes(*revision)))
}

/// Undoes [`prefix`].
fn subject_of(prefix: &[u8]) -> Option<String> {
    let escaped = prefix.strip_suffix(&[0])?;
    let mut subject = Vec::with_capacity(escaped.len());
    let mut bytes = escaped.iter();
    while let Some(&byte) = bytes.next() {
        match (byte, if byte == 1 { bytes.next() } else { None }) {
            (1, Some(1)) => subject.push(0),
            (1, Some(2)) => subject.push(1),
            (0 | 1, _) => return None,
            (byte, _) => subject.push(byte),
        }
    }
    String::from_utf8(subject).ok()
}

/// Appends the revisions of a chunk. `None` unless all are ascending revisions of the run.
pub(super) fn decode(
    first: u64,
    value: &[u8],
    run: &RangeInclusive<u64>,
    revisions: &mut Vec<u64>,
) -> Option<()> {
    let mut floor = revisions.last().copied();
    let mut accept = |revision: u64| {
        let sound = run.contains(&revision) && floor.is_none_or(|floor| floor < revision);
        floor = Some(revision);
        sound.then(|| revisions.push(revision))
    };
    accept(first)?;
    let mut revision = first;
    let mut fields = Fields::new(value);
    while fields.remaining() > 0 {
        revision = revision.checked_add(fields.varint()?)?;
        accept(revision)?;
    }
    Some(())
}

/// The subjects of a run in order, each with its ascending revisions; see
/// [`Run::subjects`](super::Run::subjects). Ends after an error.
pub struct Subjects<'a> {
    /// `None` after an error.
    entries: Option<Peekable<Entries<'a>>>,
    run: RangeInclusive<u64>,
    /// The offset of the index, for errors.
    index_offset: u64,
}

impl<'a> Subjects<'a> {
    pub(super) fn new(entries: Entries<'a>, run: RangeInclusive<u64>, index_offset: u64) -> Self {
        Self { entries: Some(entries.peekable()), run, index_offset }
    }

    fn advance(&mut self) -> Result<Option<(String, Vec<u64>)>, RunError> {
        let damaged = || RunError::Corrupt { what: "subject index", offset: self.index_offset };
        let Some(entries) = &mut self.entries else { return Ok(None) };
        let Some(entry) = entries.next() else { return Ok(None) };
        let (key, value) = entry?;
        let (prefix, first) = split(&key).ok_or_else(damaged)?;
        let subject = subject_of(prefix).ok_or_else(damaged)?;
        let mut revisions = Vec::new();
        decode(first, &value, &self.run, &mut revisions).ok_or_else(damaged)?;
        // An error may hide more of this subject, so it is not returned: an incomplete list would
        // be wrong.
        let continues = |entry: &Result<Entry, SortedTableError>| match entry {
            Ok((key, _)) => split(key).is_some_and(|(other, _)| other == prefix),
            Err(_) => true,
        };
        while let Some(entry) = entries.next_if(continues) {
            let (key, value) = entry?;
            let (_, first) = split(&key).ok_or_else(damaged)?;
            decode(first, &value, &self.run, &mut revisions).ok_or_else(damaged)?;
        }
        Ok(Some((subject, revisions)))
    }
}

impl Iterator for Subjects<'_> {
    type Item = Result<(String, Vec<u64>), RunError>;

    fn next(&mut self) -> Option<Self::Item> {
        let subject = self.advance();
        if subject.is_err() {
            self.entries = None;
        }
        subject.transpose()
    }
}

impl FusedIterator for Subjects<'_> {}
