//! A run of bytes that is stored once.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A run of bytes. It is written as a text if it is one, which is how all of them were written
/// before states could be bytes; otherwise as bytes, and as `{"base64": "..."}` where only JSON can
/// be written.
#[derive(Clone, PartialEq, Eq)]
pub struct Chunk(pub Arc<[u8]>);

const BASE64: &str = "base64";

impl From<&[u8]> for Chunk {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<&str> for Chunk {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().into())
    }
}

impl fmt::Debug for Chunk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), formatter)
    }
}

/// Bytes as Base64, in the standard alphabet with padding.
pub fn encoded(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of a text in Base64, if it is that.
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

impl Serialize for Chunk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) if serializer.is_human_readable() => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(BASE64, &encoded(&self.0))?;
                map.end()
            }
            Err(_) => serializer.serialize_bytes(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Chunk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Chunk;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string or bytes")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Chunk, E> {
        Ok(text.into())
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Chunk, E> {
        Ok(bytes.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Chunk, A::Error> {
        let Some((name, text)) = map.next_entry::<String, String>()? else {
            return Err(A::Error::custom("`base64` is missing"));
        };
        let bytes = decoded(&text).filter(|_| name == BASE64);
        let bytes = bytes.ok_or_else(|| A::Error::custom("the bytes are not valid Base64"))?;
        Ok(bytes.as_slice().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messagepack;

    #[test]
    fn bytes_survive_both_formats_and_texts_are_written_as_before() {
        for bytes in [&b"text"[..], b"", "\u{e9}".as_bytes(), &[0xff, 0x00, 0xc3], &[0xc3]] {
            let chunk = Chunk::from(bytes);
            let packed = rmp_serde::to_vec_named(&chunk).unwrap();
            assert_eq!(messagepack::from_slice::<Chunk>(&packed).unwrap(), chunk);
            let json = serde_json::to_string(&chunk).unwrap();
            assert_eq!(serde_json::from_str::<Chunk>(&json).unwrap(), chunk);
        }
        let packed = rmp_serde::to_vec_named(&Chunk::from("text")).unwrap();
        assert_eq!(packed, rmp_serde::to_vec_named("text").unwrap());
        assert_eq!(
            serde_json::to_string(&Chunk::from(&[0xff][..])).unwrap(),
            r#"{"base64":"/w=="}"#
        );
        assert!(serde_json::from_str::<Chunk>(r#"{"base64":"!"}"#).is_err());
    }
}
