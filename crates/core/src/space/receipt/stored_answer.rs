//! An answer as it is stored.
//!
//! Most requests with a key write one entry, and their answer is that entry. It is shared with the
//! table, so that its value is neither encoded nor stored a second time. An entry never changes: if
//! it is overwritten or deleted, the receipt still has it. Every other answer is stored as bytes,
//! and so is each of them in a snapshot, where it must not depend on the table.
//!
//! An answer has the same size in both forms, since a workspace that is loaded from a snapshot must
//! forget the same receipts as the one that wrote it.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::messagepack;
use crate::reply::{Answer, Reply};
use crate::state::{self, Entry};

/// The space for an encoded answer; a larger one makes it grow.
const USUAL_BYTES: usize = 512;
/// What is written around the parts of an entry: the names of its fields, the headers of their
/// maps, and the checksum.
const ENTRY_FRAME_BYTES: usize = 114;
/// The same around the time at which an entry expires.
const EXPIRY_FRAME_BYTES: usize = 11;
/// The field of an entry that is bound to a session.
const EPHEMERAL_BYTES: usize = 11;

/// An answer as it is stored.
#[derive(Clone, Debug)]
pub enum StoredAnswer {
    /// The bytes of any answer, shared between the event and the receipt.
    Encoded(Arc<[u8]>),
    /// The entry that the request wrote, without warnings.
    Written(Arc<Entry>),
}

impl StoredAnswer {
    /// Stores an answer.
    pub fn of(answer: &Answer) -> Self {
        if let Reply::State(state::Reply::Entry(entry)) = &answer.reply
            && entry.revision() == answer.revision
            && entry.warnings().is_empty()
        {
            return Self::Written(Arc::new(entry.clone()));
        }
        Self::Encoded(encoded(answer).into())
    }

    /// The answer.
    pub fn answer(&self) -> Answer {
        match self {
            Self::Encoded(bytes) => {
                messagepack::from_slice(bytes).expect("what was kept was encoded by us")
            }
            Self::Written(entry) => Answer {
                revision: entry.revision(),
                reply: state::Reply::Entry(Entry::clone(entry)).into(),
            },
        }
    }

    /// Its size in bytes: the length of its encoded form.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Encoded(bytes) => bytes.len(),
            Self::Written(entry) => entry_bytes(entry),
        }
    }

    fn to_bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Encoded(bytes) => Cow::Borrowed(bytes),
            Self::Written(_) => Cow::Owned(encoded(&self.answer())),
        }
    }
}

fn encoded(answer: &Answer) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    rmp_serde::encode::write_named(&mut bytes, answer).expect("answers can be encoded");
    bytes
}

/// The length of the encoded answer that has this entry, without encoding it.
fn entry_bytes(entry: &Entry) -> usize {
    let texts = [entry.namespace().as_str(), entry.key(), entry.updated_by().as_str()];
    let revision = entry.revision().0;
    let numbers = [revision, revision, entry.version().0, entry.updated_at().0];
    let value = entry.value().len();
    let expiry = entry.expires_at().map_or(0, |moment| EXPIRY_FRAME_BYTES + number_bytes(moment.0));
    let binding = if entry.is_ephemeral() { EPHEMERAL_BYTES } else { 0 };
    let texts: usize = texts.into_iter().map(|text| sized(text.len(), 32)).sum();
    let numbers: usize = numbers.into_iter().map(number_bytes).sum();
    ENTRY_FRAME_BYTES + texts + numbers + sized(value, 0) + expiry + binding
}

/// The length of a number in MessagePack.
fn number_bytes(number: u64) -> usize {
    match number {
        0..0x80 => 1,
        0x80..0x100 => 2,
        0x100..0x1_0000 => 3,
        0x1_0000..0x1_0000_0000 => 5,
        _ => 9,
    }
}

/// The length of a text or of bytes in MessagePack. Below this length, they need one byte more.
fn sized(length: usize, short: usize) -> usize {
    let head = match length {
        _ if length < short => 1,
        0..0x100 => 2,
        0x100..0x1_0000 => 3,
        _ => 5,
    };
    head + length
}

impl PartialEq for StoredAnswer {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Written(one), Self::Written(other)) => one == other,
            (one, other) => one.to_bytes() == other.to_bytes(),
        }
    }
}

impl Eq for StoredAnswer {}

impl Serialize for StoredAnswer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_bytes::serialize(&*self.to_bytes(), serializer)
    }
}

impl<'de> Deserialize<'de> for StoredAnswer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = serde_bytes::deserialize::<Vec<u8>, D>(deserializer)?;
        Ok(Self::Encoded(bytes.into()))
    }
}
