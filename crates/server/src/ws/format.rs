//! The two sub-protocols: the same documents as JSON text, or as MessagePack bytes.

use baton_core::wire::Fault;

use super::framing::{Opcode, write_with};
use super::messagepack;

/// The encoding of documents in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// As text.
    Json,
    /// As bytes.
    MessagePack,
}

impl Format {
    /// The first known format that was offered, and its name if any was offered.
    pub(crate) fn choose(offered: &[&str]) -> Option<(Self, Option<&'static str>)> {
        let known = |name: &&str| match name.trim() {
            "baton.v1.json" => Some((Self::Json, Some("baton.v1.json"))),
            "baton.v1.msgpack" => Some((Self::MessagePack, Some("baton.v1.msgpack"))),
            _ => None,
        };
        if offered.is_empty() { Some((Self::Json, None)) } else { offered.iter().find_map(known) }
    }

    /// The JSON of a text message, if that is this format.
    pub(crate) fn read_text(self, text: &str) -> Result<&str, Fault> {
        match self {
            Self::Json => Ok(text),
            Self::MessagePack => {
                let reason = "send bytes, or choose the sub-protocol `baton.v1.json`".to_owned();
                Err(Fault::Malformed { reason })
            }
        }
    }

    /// The JSON of a binary message, if that is this format.
    pub(crate) fn read_bytes(self, bytes: &[u8]) -> Result<String, Fault> {
        match self {
            Self::MessagePack => {
                let mut text = Vec::new();
                messagepack::to_json(bytes, &mut text)?;
                Ok(String::from_utf8(text).expect("the translation writes text"))
            }
            Self::Json => {
                let reason = "send text, or choose the sub-protocol `baton.v1.msgpack`".to_owned();
                Err(Fault::Malformed { reason })
            }
        }
    }

    /// Appends a document, given as JSON, as a frame.
    pub(crate) fn write(self, out: &mut Vec<u8>, document: impl FnOnce(&mut Vec<u8>)) {
        match self {
            Self::Json => write_with(out, Opcode::Text, document),
            Self::MessagePack => {
                let mut text = Vec::new();
                document(&mut text);
                write_with(out, Opcode::Binary, |out| messagepack::from_json(&text, out));
            }
        }
    }
}
