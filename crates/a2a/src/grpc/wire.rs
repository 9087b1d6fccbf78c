//! The bytes of Protocol Buffers: fields with numbers.

use crate::error::{Error, ErrorKind};

/// The content of a field as it is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content<'a> {
    Integer(u64),
    Fixed64([u8; 8]),
    Bytes(&'a [u8]),
    Fixed32([u8; 4]),
}

/// Reads the fields of a message.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

pub(super) fn malformed(what: &str) -> Error {
    Error::new(ErrorKind::Parse, format!("the message cannot be read: {what}"))
}

impl<'a> Reader<'a> {
    fn integer(&mut self) -> Result<u64, Error> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or_else(|| malformed("it is cut off"))?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(malformed("a number has more than 64 bits"))
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (chunk, rest) =
            self.0.split_first_chunk::<N>().ok_or_else(|| malformed("it is cut off"))?;
        self.0 = rest;
        Ok(*chunk)
    }

    /// The next field with its number; none at the end.
    pub(super) fn field(&mut self) -> Result<Option<(u32, Content<'a>)>, Error> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.integer()?;
        let number = u32::try_from(tag >> 3).map_err(|_| malformed("a field has no number"))?;
        let content = match tag & 7 {
            0 => Content::Integer(self.integer()?),
            1 => Content::Fixed64(self.chunk()?),
            2 => {
                let length = usize::try_from(self.integer()?).unwrap_or(usize::MAX);
                let split = self.0.split_at_checked(length);
                let (bytes, rest) = split.ok_or_else(|| malformed("it is cut off"))?;
                self.0 = rest;
                Content::Bytes(bytes)
            }
            5 => Content::Fixed32(self.chunk()?),
            _ => return Err(malformed("a field is of an unknown type")),
        };
        Ok(Some((number, content)))
    }
}

/// Writes the fields of a message.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            // The lowest seven bits, and that more follow.
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn tag(&mut self, number: u32, wire_type: u64) {
        self.varint(u64::from(number) << 3 | wire_type);
    }

    pub(super) fn integer(&mut self, number: u32, value: u64) {
        self.tag(number, 0);
        self.varint(value);
    }

    pub(super) fn double(&mut self, number: u32, value: f64) {
        self.tag(number, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.tag(number, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn text(&mut self, number: u32, text: &str) {
        self.bytes(number, text.as_bytes());
    }
}
