//! The two sub-protocols: the same documents as JSON text, or as MessagePack bytes.

use baton_core::wire::Fault;

use super::framing::{Opcode, write_with};
use super::messagepack;

/// How documents are written in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// As text.
    Json,
    /// As bytes.
    MessagePack,
}

impl Format {
    /// The first that is offered and known, and its name if one was offered at all.
    pub(super) fn choose(offered: &[&str]) -> Option<(Self, Option<&'static str>)> {
        let known = |name: &&str| match name.trim() {
            "baton.v1.json" => Some((Self::Json, Some("baton.v1.json"))),
            "baton.v1.msgpack" => Some((Self::MessagePack, Some("baton.v1.msgpack"))),
            _ => None,
        };
        if offered.is_empty() { Some((Self::Json, None)) } else { offered.iter().find_map(known) }
    }

    /// The JSON text of a message, if it is of this format; what has to be translated is put into
    /// the scratch.
    pub(super) fn read<'a>(
        self,
        is_text: bool,
        payload: &'a [u8],
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a str, Fault> {
        let text = match (self, is_text) {
            (Self::Json, true) => payload,
            (Self::MessagePack, false) => {
                scratch.clear();
                messagepack::to_json(payload, scratch)?;
                &*scratch
            }
            (Self::Json, false) => {
                let reason = "send text, or choose the sub-protocol `baton.v1.msgpack`".to_owned();
                return Err(Fault::Malformed { reason });
            }
            (Self::MessagePack, true) => {
                let reason = "send bytes, or choose the sub-protocol `baton.v1.json`".to_owned();
                return Err(Fault::Malformed { reason });
            }
        };
        Ok(str::from_utf8(text).expect("text was checked, and the translation writes text"))
    }

    /// Appends a document, which is written as JSON, as a frame.
    pub(super) fn write(self, out: &mut Vec<u8>, document: impl FnOnce(&mut Vec<u8>)) {
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
