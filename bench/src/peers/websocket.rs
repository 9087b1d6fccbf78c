//! A client of WebSocket: the upgrade, masked frames out, unmasked frames in.
//!
//! ```text
//!   out   81 | 80+length (126: two bytes follow) | mask, 4 bytes | payload ⊕ mask
//!   in    81 |    length (126: two, 127: eight)  | payload
//! ```
//!
//! The mask is a constant but not zero: prebuilt bytes need no work here, and the server still has
//! to unmask them.
//!
//! Deliberately absent: fragments and extensions, which are neither requested nor sent.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::Outcome;

const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
/// The example of RFC 6455: a constant key and the matching response.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
pub(crate) const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
/// The bit beside the length.
const MASKED: u8 = 0x80;
const HEAD_BYTES_MAX: usize = 8 << 10;

/// The opcode of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    Text,
    Ping,
    Pong,
}

/// A frame from the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) opcode: Opcode,
    pub(crate) payload: &'a [u8],
    /// The size with its header.
    pub(crate) bytes: usize,
}

/// Turns a connection into a WebSocket, with one more header or none.
pub(crate) fn upgrade(
    stream: &mut TcpStream,
    port: u16,
    path: &str,
    protocol: &str,
    header: Option<(&str, &str)>,
) -> Outcome<()> {
    let header = header.map_or_else(String::new, |(name, value)| format!("{name}: {value}\r\n"));
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n\
         Sec-WebSocket-Protocol: {protocol}\r\n{header}\r\n"
    );
    stream.write_all(request.as_bytes())?;
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.ends_with(b"\r\n\r\n") {
        let read = stream.read(&mut buffer)?;
        if read == 0 || head.len() > HEAD_BYTES_MAX {
            break;
        }
        head.extend_from_slice(&buffer[..read]);
    }
    let head = String::from_utf8_lossy(&head);
    // The server sends nothing before the first request, so nothing can follow the head.
    let is_upgraded = head.starts_with("HTTP/1.1 101 ")
        && head.contains(ACCEPT)
        && head.contains(protocol)
        && head.ends_with("\r\n\r\n");
    if !is_upgraded {
        return Err(format!("the upgrade to a WebSocket was refused: {}", head.trim_end()).into());
    }
    Ok(())
}

/// Writes a text frame.
pub(crate) fn text(payload: &[u8], out: &mut Vec<u8>) {
    frame(0x1, payload, out);
}

/// Writes a pong.
pub(crate) fn pong(payload: &[u8], out: &mut Vec<u8>) {
    frame(0xA, payload, out);
}

fn frame(opcode: u8, payload: &[u8], out: &mut Vec<u8>) {
    out.push(0x80 | opcode);
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length), _) if length < 126 => out.push(MASKED | length),
        (_, Ok(length)) => {
            out.push(MASKED | 0x7e);
            out.extend_from_slice(&length.to_be_bytes());
        }
        _ => {
            out.push(MASKED | 0x7f);
            out.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&MASK);
    let begin = out.len();
    out.extend_from_slice(payload);
    for bytes in out[begin..].chunks_mut(MASK.len()) {
        bytes.iter_mut().zip(MASK).for_each(|(byte, mask)| *byte ^= mask);
    }
}

/// The frame at the front; none if it is incomplete. A close is an error.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Frame<'_>>, String> {
    let &[first, second, ..] = bytes else { return Ok(None) };
    if second & MASKED != 0 {
        return Err("a server must not mask its frames".to_owned());
    }
    let (head, length) = match second {
        126 => match bytes.get(2..4) {
            Some(length) => (4, u64::from(length[0]) << 8 | u64::from(length[1])),
            None => return Ok(None),
        },
        127 => match bytes.get(2..10).and_then(|length| length.try_into().ok()) {
            Some(length) => (10, u64::from_be_bytes(length)),
            None => return Ok(None),
        },
        length => (2, u64::from(length)),
    };
    let end = usize::try_from(length).ok().and_then(|length| length.checked_add(head));
    let end = end.ok_or_else(|| format!("a frame of {length} bytes is none"))?;
    let Some(payload) = bytes.get(head..end) else { return Ok(None) };
    let opcode = match first {
        0x81 => Opcode::Text,
        0x89 => Opcode::Ping,
        0x8A => Opcode::Pong,
        0x88 => return Err(closing(payload)),
        other => return Err(format!("a frame that begins with {other:#04x} is not understood")),
    };
    Ok(Some(Frame { opcode, payload, bytes: end }))
}

fn closing(payload: &[u8]) -> String {
    match payload {
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            format!("the server closed with {code} {}", String::from_utf8_lossy(reason))
        }
        _ => "the server closed without a reason".to_owned(),
    }
}
