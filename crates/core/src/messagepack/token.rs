//! The tokenizer: everything about MessagePack, none of it generic.
//!
//! The functions that a type's code calls are kept out of line, so that a type adds a call and not
//! a copy.

use super::{DEPTH_MAX, Error};

/// A token. Arrays and maps are their length; their elements follow as tokens.
pub(super) enum Token<'de> {
    Nil,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Single(f32),
    Double(f64),
    /// Not yet validated as UTF-8: skipped strings need not be.
    Text(&'de [u8]),
    Bytes(&'de [u8]),
    Array(u32),
    Map(u32),
}

/// The bytes that are still to be read.
pub(super) struct Reader<'de> {
    rest: &'de [u8],
    /// How many levels may still be entered.
    depth: u8,
    /// The first byte of the last token, for errors.
    marker: u8,
}

/// The string of a token.
#[inline(never)]
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|_| Error::NotUtf8)
}

impl<'de> Reader<'de> {
    pub(super) fn new(bytes: &'de [u8]) -> Self {
        Self { rest: bytes, depth: DEPTH_MAX, marker: 0 }
    }

    /// Asserts that the value has ended; nothing may follow.
    pub(super) fn finish(&self) -> Result<(), Error> {
        match self.rest.len() {
            0 => Ok(()),
            bytes => Err(Error::Trailing { bytes }),
        }
    }

    fn take(&mut self, length: u32) -> Result<&'de [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(length as usize).ok_or(Error::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Error::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// A length of one, two or four bytes.
    fn length(&mut self, width: u8) -> Result<u32, Error> {
        Ok(match width {
            0 => u8::from_be_bytes(self.chunk()?).into(),
            1 => u16::from_be_bytes(self.chunk()?).into(),
            _ => u32::from_be_bytes(self.chunk()?),
        })
    }

    /// A number of elements. Each takes at least a byte, so more elements than bytes are refused
    /// before memory is reserved for them.
    fn count(&self, count: u32) -> Result<u32, Error> {
        if count as usize > self.rest.len() { Err(Error::Truncated) } else { Ok(count) }
    }

    /// The error that the last token is something else.
    #[cold]
    fn unexpected<T>(&self, expected: &'static str) -> Result<T, Error> {
        Err(Error::Unexpected { expected, marker: self.marker })
    }

    /// The next token.
    #[inline(never)]
    pub(super) fn token(&mut self) -> Result<Token<'de>, Error> {
        let [marker] = self.chunk()?;
        self.marker = marker;
        Ok(match marker {
            0x00..=0x7f => Token::Unsigned(marker.into()),
            0x80..=0x8f => Token::Map(self.count((marker & 0x0f).into())?),
            0x90..=0x9f => Token::Array(self.count((marker & 0x0f).into())?),
            0xa0..=0xbf => Token::Text(self.take((marker & 0x1f).into())?),
            0xc0 => Token::Nil,
            0xc2 => Token::Bool(false),
            0xc3 => Token::Bool(true),
            0xc4..=0xc6 => {
                let length = self.length(marker - 0xc4)?;
                Token::Bytes(self.take(length)?)
            }
            0xca => Token::Single(f32::from_be_bytes(self.chunk()?)),
            0xcb => Token::Double(f64::from_be_bytes(self.chunk()?)),
            0xcc => Token::Unsigned(u8::from_be_bytes(self.chunk()?).into()),
            0xcd => Token::Unsigned(u16::from_be_bytes(self.chunk()?).into()),
            0xce => Token::Unsigned(u32::from_be_bytes(self.chunk()?).into()),
            0xcf => Token::Unsigned(u64::from_be_bytes(self.chunk()?)),
            0xd0 => Token::Signed(i8::from_be_bytes(self.chunk()?).into()),
            0xd1 => Token::Signed(i16::from_be_bytes(self.chunk()?).into()),
            0xd2 => Token::Signed(i32::from_be_bytes(self.chunk()?).into()),
            0xd3 => Token::Signed(i64::from_be_bytes(self.chunk()?)),
            0xd9..=0xdb => {
                let length = self.length(marker - 0xd9)?;
                Token::Text(self.take(length)?)
            }
            0xdc..=0xdd => {
                let length = self.length(marker - 0xdb)?;
                Token::Array(self.count(length)?)
            }
            0xde..=0xdf => {
                let length = self.length(marker - 0xdd)?;
                Token::Map(self.count(length)?)
            }
            0xe0..=0xff => Token::Signed(marker.cast_signed().into()),
            0xc1 | 0xc7..=0xc9 | 0xd4..=0xd8 => return self.unexpected("no ext type"),
        })
    }

    #[inline(never)]
    pub(super) fn boolean(&mut self) -> Result<bool, Error> {
        match self.token()? {
            Token::Bool(value) => Ok(value),
            _ => self.unexpected("a boolean"),
        }
    }

    #[inline(never)]
    pub(super) fn unsigned(&mut self) -> Result<u64, Error> {
        match self.token()? {
            Token::Unsigned(value) => Ok(value),
            Token::Signed(value) => value.try_into().map_err(|_| Error::OutOfRange),
            _ => self.unexpected("an integer"),
        }
    }

    #[inline(never)]
    pub(super) fn signed(&mut self) -> Result<i64, Error> {
        match self.token()? {
            Token::Unsigned(value) => value.try_into().map_err(|_| Error::OutOfRange),
            Token::Signed(value) => Ok(value),
            _ => self.unexpected("an integer"),
        }
    }

    #[inline(never)]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "an integer is read as the nearest float"
    )]
    pub(super) fn single(&mut self) -> Result<f32, Error> {
        match self.token()? {
            Token::Unsigned(value) => Ok(value as f32),
            Token::Signed(value) => Ok(value as f32),
            Token::Single(value) => Ok(value),
            Token::Double(value) => Ok(value as f32),
            _ => self.unexpected("a number"),
        }
    }

    #[inline(never)]
    #[expect(clippy::cast_precision_loss, reason = "an integer is read as the nearest float")]
    pub(super) fn double(&mut self) -> Result<f64, Error> {
        match self.token()? {
            Token::Unsigned(value) => Ok(value as f64),
            Token::Signed(value) => Ok(value as f64),
            Token::Single(value) => Ok(value.into()),
            Token::Double(value) => Ok(value),
            _ => self.unexpected("a number"),
        }
    }

    #[inline(never)]
    pub(super) fn text(&mut self) -> Result<&'de str, Error> {
        match self.token()? {
            Token::Text(text) => utf8(text),
            _ => self.unexpected("a string"),
        }
    }

    #[inline(never)]
    pub(super) fn bytes(&mut self) -> Result<&'de [u8], Error> {
        match self.token()? {
            Token::Text(bytes) | Token::Bytes(bytes) => Ok(bytes),
            _ => self.unexpected("bytes"),
        }
    }

    #[inline(never)]
    pub(super) fn nil(&mut self) -> Result<(), Error> {
        match self.token()? {
            Token::Nil => Ok(()),
            _ => self.unexpected("nil"),
        }
    }

    /// Unit structs are written as empty arrays, of the short kind.
    #[inline(never)]
    pub(super) fn unit_struct(&mut self) -> Result<(), Error> {
        match self.token()? {
            Token::Nil => Ok(()),
            Token::Array(0) if self.marker == 0x90 => Ok(()),
            _ => self.unexpected("a unit struct"),
        }
    }

    /// Whether nil is next, which is then read.
    #[inline(never)]
    pub(super) fn is_nil(&mut self) -> Result<bool, Error> {
        match self.rest {
            [0xc0, rest @ ..] => {
                self.rest = rest;
                Ok(true)
            }
            [] => Err(Error::Truncated),
            _ => Ok(false),
        }
    }

    /// Begins an array.
    #[inline(never)]
    pub(super) fn array(&mut self) -> Result<u32, Error> {
        match self.token()? {
            Token::Array(count) => self.enter().map(|()| count),
            _ => self.unexpected("an array"),
        }
    }

    /// Begins a map.
    #[inline(never)]
    pub(super) fn map(&mut self) -> Result<u32, Error> {
        match self.token()? {
            Token::Map(count) => self.enter().map(|()| count),
            _ => self.unexpected("a map"),
        }
    }

    /// Begins a struct: the number of its values, and their names if these are not written.
    #[inline(never)]
    pub(super) fn structure(
        &mut self,
        fields: &'static [&'static str],
    ) -> Result<(u32, &'static [&'static str]), Error> {
        match self.token()? {
            Token::Map(count) => self.enter().map(|()| (count, [].as_slice())),
            Token::Array(count) if count as usize == fields.len() => {
                self.enter().map(|()| (count, fields))
            }
            _ => self.unexpected("a map, or an array with a value for each field"),
        }
    }

    /// Begins an enum: the variant's name, and whether its content follows.
    #[inline(never)]
    pub(super) fn variant(&mut self) -> Result<(&'de str, bool), Error> {
        match self.token()? {
            Token::Text(name) => Ok((utf8(name)?, false)),
            Token::Map(1) => {
                self.enter()?;
                Ok((self.text()?, true))
            }
            _ => self.unexpected("the name of a variant, or a map with it as the only key"),
        }
    }

    /// Enters a level.
    pub(super) fn enter(&mut self) -> Result<(), Error> {
        self.depth = self.depth.checked_sub(1).ok_or(Error::TooDeep)?;
        Ok(())
    }

    /// Leaves a level, from an array or map of which this many elements were not read.
    #[inline(never)]
    pub(super) fn leave(&mut self, excess: u32) -> Result<(), Error> {
        self.depth += 1;
        if excess == 0 { Ok(()) } else { Err(Error::Excess { excess }) }
    }

    /// Skips a value of any depth, without recursion and without validating strings.
    #[inline(never)]
    pub(super) fn skip(&mut self) -> Result<(), Error> {
        let mut left = 1_u64;
        while left > 0 {
            left -= 1;
            match self.token()? {
                Token::Array(count) => left = left.saturating_add(count.into()),
                Token::Map(count) => left = left.saturating_add(2 * u64::from(count)),
                _ => {}
            }
        }
        Ok(())
    }
}
