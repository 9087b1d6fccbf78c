//! One key with its value, in one shared allocation.
//!
//! | bytes | little endian | |
//! |---|---|---|
//! | 0..8 | `u64` | revision of the workspace that wrote it |
//! | 8..10 | `u16` | length of the key |
//! | 10..16 | `u48` | time of the write, in milliseconds |
//! | 16..20 | `u32` | version of the key |
//! | 20..24 | `u32` | number of the author |
//! | 24.. | | the key, then the value up to the end |
//!
//! The header is this small because of allocator size classes: with the two reference counts, a
//! 10-byte key and a 200-byte value take 250 bytes, and the next class after 256 is 320.

use std::fmt;
use std::iter;
use std::sync::Arc;

pub(crate) const ENTRY_HEAD_BYTES: usize = 24;
const TIME_BITS: u32 = 48;

/// The metadata of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteHead {
    /// Revision of the workspace that wrote the entry.
    pub revision: u64,
    /// When it was written. Below 2^48, which is the year 10889.
    pub time_ms: u64,
    /// How many times the key has been written, including this time.
    pub version: u32,
    /// The author, as a number assigned by the space.
    pub author: u32,
}

/// One key with its value, immutable. A clone shares the bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry(Arc<[u8]>);

impl Entry {
    /// Packs an entry. The rules limit keys to far below the 65,535 bytes that fit.
    pub fn new(head: WriteHead, key: &str, value: &[u8]) -> Entry {
        let key_bytes = u16::try_from(key.len()).expect("the rules limit keys to less than 64 KiB");
        assert!(head.time_ms >> TIME_BITS == 0, "time {} does not fit 48 bits", head.time_ms);
        // Zeroing first costs a few nanoseconds; it is the only way to fill a shared slice in place
        // that is neither unsafe nor a second allocation.
        let bytes_total = ENTRY_HEAD_BYTES + key.len() + value.len();
        let mut packed: Arc<[u8]> = iter::repeat_n(0, bytes_total).collect();
        let bytes = Arc::get_mut(&mut packed).expect("it is not shared yet");
        bytes[0..8].copy_from_slice(&head.revision.to_le_bytes());
        let time_and_key_bytes = head.time_ms << 16 | u64::from(key_bytes);
        bytes[8..16].copy_from_slice(&time_and_key_bytes.to_le_bytes());
        bytes[16..20].copy_from_slice(&head.version.to_le_bytes());
        bytes[20..24].copy_from_slice(&head.author.to_le_bytes());
        let (key_part, value_part) = bytes[ENTRY_HEAD_BYTES..].split_at_mut(key.len());
        key_part.copy_from_slice(key.as_bytes());
        value_part.copy_from_slice(value);
        Entry(packed)
    }

    /// Validates a packed entry, as returned by [`Entry::as_bytes`].
    pub fn from_bytes(packed: &[u8]) -> Option<Entry> {
        let key_bytes = usize::from(u16::from_le_bytes([*packed.get(8)?, *packed.get(9)?]));
        let key = packed.get(ENTRY_HEAD_BYTES..)?.get(..key_bytes)?;
        str::from_utf8(key).ok()?;
        Some(Entry(packed.into()))
    }

    /// The packed form, for snapshots.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The key.
    pub fn key(&self) -> &str {
        str::from_utf8(self.key_bytes()).expect("both constructors took a key in UTF-8")
    }

    /// The key as bytes, which sort like the text.
    #[inline]
    pub fn key_bytes(&self) -> &[u8] {
        &self.0[ENTRY_HEAD_BYTES..self.value_start()]
    }

    /// The value.
    pub fn value(&self) -> &[u8] {
        &self.0[self.value_start()..]
    }

    /// Revision of the workspace that wrote it.
    pub fn revision(&self) -> u64 {
        u64::from_le_bytes(self.field(0))
    }

    /// When it was written.
    pub fn time_ms(&self) -> u64 {
        u64::from_le_bytes(self.field(8)) >> 16
    }

    /// How many times the key had been written.
    pub fn version(&self) -> u32 {
        u32::from_le_bytes(self.field(16))
    }

    /// The number of the author.
    pub fn author(&self) -> u32 {
        u32::from_le_bytes(self.field(20))
    }

    #[inline]
    fn value_start(&self) -> usize {
        ENTRY_HEAD_BYTES + usize::from(u16::from_le_bytes(self.field(8)))
    }

    #[inline]
    fn field<const BYTES: usize>(&self, at: usize) -> [u8; BYTES] {
        *self.0[at..].first_chunk().expect("both constructors made a whole head")
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Entry")
            .field("key", &self.key())
            .field("revision", &self.revision())
            .field("time_ms", &self.time_ms())
            .field("version", &self.version())
            .field("author", &self.author())
            .field("value", &String::from_utf8_lossy(self.value()))
            .finish()
    }
}
