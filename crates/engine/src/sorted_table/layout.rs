//! The parts that immutable files share: header, integers, and a bounds-checked reader.
//!
//! No code here trusts its input. A reader that runs out of bytes returns `None`, and the caller,
//! which knows what was being read and where, turns that into an error.

/// The size of the header that opens every immutable file.
pub(crate) const HEADER_BYTES: usize = 16;

/// Why a header was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderFlaw {
    /// Not a header, or not of this kind of file.
    Damaged,
    /// A valid header of a newer format.
    Newer { found: u16 },
}

/// `magic 8 | format version u16 | kind u8 | zero u8 | crc32 u32`, in all versions.
pub(crate) fn header(magic: [u8; 8], version: u16, kind: u8) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&magic);
    bytes[8..10].copy_from_slice(&version.to_le_bytes());
    bytes[10] = kind;
    let crc = crc32fast::hash(&bytes[..12]);
    bytes[12..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// The kind in the header. The checksum is compared before the version, so that a flipped bit is
/// not mistaken for a newer format.
pub(crate) fn check_header(
    bytes: &[u8; HEADER_BYTES],
    magic: [u8; 8],
    supported: u16,
) -> Result<u8, HeaderFlaw> {
    let version = u16::from_le_bytes([bytes[8], bytes[9]]);
    let kind = bytes[10];
    if *bytes != header(magic, version, kind) || version == 0 {
        return Err(HeaderFlaw::Damaged);
    }
    if version > supported {
        return Err(HeaderFlaw::Newer { found: version });
    }
    Ok(kind)
}

/// Appends LEB128: seven bits per byte, lowest first.
pub(crate) fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

/// How many bytes [`put_varint`] appends.
pub(crate) fn varint_bytes(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Takes fields from the front of a slice.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// How many bytes are left.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for (index, &byte) in self.rest.iter().enumerate() {
            let bits = u64::from(byte & 0x7f);
            let shift = 7 * u32::try_from(index).ok()?;
            // The tenth byte has room for a single bit, an eleventh for none.
            if shift > 63 || (bits << shift) >> shift != bits {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                self.rest = &self.rest[index + 1..];
                return Some(value);
            }
        }
        None
    }

    /// A varint that counts bytes.
    pub(crate) fn length(&mut self) -> Option<usize> {
        self.varint().and_then(|value| usize::try_from(value).ok())
    }
}
