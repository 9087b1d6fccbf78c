//! `contentEncoding` and `contentMediaType`, where they are assertions.

use serde_json::Value;

use crate::message::Reason;

/// The only media type that is checked.
pub(crate) const JSON: &str = "application/json";

/// An encoding of bytes as text (RFC 4648). Others are comments.
#[derive(Clone, Copy)]
pub(crate) enum Encoding {
    Base64,
    Base64Url,
    Base32,
    Base32Hex,
    Base16,
}

impl Encoding {
    pub(crate) fn of(name: &str) -> Option<Encoding> {
        [
            Encoding::Base64,
            Encoding::Base64Url,
            Encoding::Base32,
            Encoding::Base32Hex,
            Encoding::Base16,
        ]
        .into_iter()
        .find(|encoding| encoding.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Encoding::Base64 => "base64",
            Encoding::Base64Url => "base64url",
            Encoding::Base32 => "base32",
            Encoding::Base32Hex => "base32hex",
            Encoding::Base16 => "base16",
        }
    }

    /// The value of a character.
    fn digit(self, byte: u8) -> Option<u32> {
        let digit = match (self, byte) {
            (Encoding::Base64 | Encoding::Base64Url | Encoding::Base32, b'A'..=b'Z') => byte - b'A',
            (Encoding::Base64 | Encoding::Base64Url, b'a'..=b'z') => byte - b'a' + 26,
            (Encoding::Base64 | Encoding::Base64Url, b'0'..=b'9') => byte - b'0' + 52,
            (Encoding::Base64, b'+') | (Encoding::Base64Url, b'-') => 62,
            (Encoding::Base64, b'/') | (Encoding::Base64Url, b'_') => 63,
            (Encoding::Base32, b'2'..=b'7') => byte - b'2' + 26,
            (Encoding::Base32Hex | Encoding::Base16, b'0'..=b'9') => byte - b'0',
            (Encoding::Base32Hex, b'A'..=b'V') | (Encoding::Base16, b'A'..=b'F') => {
                byte - b'A' + 10
            }
            (Encoding::Base16, b'a'..=b'f') => byte - b'a' + 10,
            _ => return None,
        };
        Some(u32::from(digit))
    }

    /// The bytes that a text encodes, if it is padded and has no unused bits.
    pub(crate) fn decode(self, text: &str) -> Option<Vec<u8>> {
        let (bits, group, paddings): (u32, usize, &[usize]) = match self {
            Encoding::Base64 | Encoding::Base64Url => (6, 4, &[0, 1, 2]),
            Encoding::Base32 | Encoding::Base32Hex => (5, 8, &[0, 1, 3, 4, 6]),
            Encoding::Base16 => (4, 2, &[0]),
        };
        let digits = text.trim_end_matches('=');
        if !text.len().is_multiple_of(group) || !paddings.contains(&(text.len() - digits.len())) {
            return None;
        }
        let mut bytes = Vec::with_capacity(digits.len());
        let (mut buffer, mut filled) = (0_u32, 0);
        for byte in digits.bytes() {
            buffer = buffer << bits | self.digit(byte)?;
            filled += bits;
            if filled >= 8 {
                filled -= 8;
                bytes.push(u8::try_from(buffer >> filled & 0xff).ok()?);
                buffer &= (1 << filled) - 1;
            }
        }
        (buffer == 0).then_some(bytes)
    }
}

/// Why a text, decoded if it has an encoding, is not JSON.
pub(crate) fn failed<'a>(encoding: Option<Encoding>, text: &str) -> Option<Reason<'a>> {
    let decoded = match encoding {
        None => text.as_bytes().to_vec(),
        Some(encoding) => match encoding.decode(text) {
            None => return Some(Reason::ContentEncoding(encoding.name())),
            Some(bytes) => bytes,
        },
    };
    serde_json::from_slice::<Value>(&decoded).is_err().then_some(Reason::ContentJson)
}
