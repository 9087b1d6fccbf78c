//! A client of HTTP/2 with gRPC, as far as a few kinds of calls need it.
//!
//! ```text
//!   opening   preface ── SETTINGS ── WINDOW_UPDATE (two gigabytes: never again)
//!   a call    HEADERS (stream) ── DATA (0, length, message; the stream ends)
//!   answer    HEADERS ── DATA (0, length, message) ── HEADERS (the stream ends)
//! ```
//!
//! 1. The first call of a connection adds the four texts that all calls share to the header table
//!    of the server, the first call of another kind its path; from then on the headers of a call
//!    are six bytes. So the server gets what a good client sends, at no cost.
//! 2. A refused gRPC call that returns one message has headers and no data, so an answer with data
//!    is a success and the trailers need not be decoded.
//! 3. SETTINGS and PING of the server are acknowledged.

use super::driver::{Answers, Element};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_BYTES: usize = 9;
/// The header of a gRPC message: not compressed, and its length.
const MESSAGE_HEAD_BYTES: usize = 5;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 0x1;
const ACK: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

/// The maximum window, less the initial one of every connection.
const WINDOW_MORE: u32 = (1 << 31) - 1 - 65_535;

/// The first message of both sides.
pub(crate) fn opening() -> Vec<u8> {
    let mut out = PREFACE.to_vec();
    frame(SETTINGS, 0, 0, &[], &mut out);
    frame(WINDOW_UPDATE, 0, 0, &WINDOW_MORE.to_be_bytes(), &mut out);
    out
}

/// Headers of the first call: four literals that the table of the server keeps.
pub(crate) fn first_headers(authority: &str, path: &str) -> Vec<u8> {
    // `:method POST` and `:scheme http` are in the static table.
    let mut block = vec![0x83, 0x86];
    // Names by their number in it: `:path` 4, `:authority` 1, `content-type` 31; `te` is new.
    for (name, value) in [(0x44, path), (0x41, authority), (0x5f, "application/grpc")] {
        block.push(name);
        push_text(&mut block, value);
    }
    block.push(0x40);
    push_text(&mut block, "te");
    push_text(&mut block, "trailers");
    block
}

/// Headers of a later call to one of the paths in the table, in the order in which they were added.
/// The last one has number 62, 0xbe with the bit for an indexed field.
pub(crate) const fn later_headers(path: u8, paths: u8) -> [u8; 6] {
    const LAST: u8 = 0xbe;
    let te = LAST + paths - 1;
    let path = if path == 0 { te + 3 } else { LAST + paths - 1 - path };
    [0x83, 0x86, path, te + 2, te + 1, te]
}

/// Headers of the first call to another path, which is added to the table.
pub(crate) fn new_path_headers(path: &str, paths_before: u8) -> Vec<u8> {
    // The path is in the table when the fields after it are read.
    let [method, scheme, _, authority, content_type, te] =
        later_headers(paths_before, paths_before + 1);
    let mut block = vec![method, scheme, 0x44];
    push_text(&mut block, path);
    block.extend_from_slice(&[authority, content_type, te]);
    block
}

fn push_text(block: &mut Vec<u8>, text: &str) {
    let length = u8::try_from(text.len()).ok().filter(|length| *length < 127);
    block.push(length.expect("texts in headers are short"));
    block.extend_from_slice(text.as_bytes());
}

/// A call: its headers, and a message that ends the stream.
pub(crate) fn call(stream: u32, headers: &[u8], message: &[u8], out: &mut Vec<u8>) {
    frame(HEADERS, END_HEADERS, stream, headers, out);
    let length = u32::try_from(message.len()).expect("messages of a load are short");
    let mut data = vec![0];
    data.extend_from_slice(&length.to_be_bytes());
    data.extend_from_slice(message);
    frame(DATA, END_STREAM, stream, &data, out);
}

/// Sets the stream id of both frames of a prebuilt call.
pub(crate) fn patch_stream(call: &mut [u8], stream: u32) {
    let second = HEAD_BYTES + payload_bytes(call);
    for at in [0, second] {
        call[at + 5..at + HEAD_BYTES].copy_from_slice(&stream.to_be_bytes());
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(payload.len()).expect("frames of a load are short").to_be_bytes();
    out.extend_from_slice(&[length[1], length[2], length[3], kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

fn payload_bytes(head: &[u8]) -> usize {
    usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2])
}

/// Answers to calls.
#[derive(Default)]
pub(crate) struct Calls {
    /// Streams whose message was received and whose end was not.
    messages: usize,
}

impl Answers for Calls {
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String> {
        let Some(head) = bytes.first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        let end = HEAD_BYTES + payload_bytes(head);
        let Some(payload) = bytes.get(HEAD_BYTES..end) else { return Ok(None) };
        let (kind, flags) = (head[3], head[4]);
        match kind {
            DATA => self.messages += usize::from(payload.len() > MESSAGE_HEAD_BYTES),
            HEADERS if flags & END_STREAM != 0 => {
                let left = self.messages.checked_sub(1);
                self.messages = left.ok_or_else(|| refusal(payload))?;
                return Ok(Some(Element::answer(end)));
            }
            SETTINGS if flags & ACK == 0 => frame(SETTINGS, ACK, 0, &[], replies),
            PING if flags & ACK == 0 => frame(PING, ACK, 0, payload, replies),
            RST_STREAM | GOAWAY => return Err(refusal(payload)),
            CONTINUATION => return Err("headers in several frames are not understood".to_owned()),
            // Windows are large enough, and the standard requires unknown frames to be ignored.
            _ => {}
        }
        Ok(Some(Element::other(end)))
    }
}

fn refusal(payload: &[u8]) -> String {
    format!("refused: {}", payload.escape_ascii())
}
