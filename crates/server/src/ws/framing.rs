//! Frames of the WebSocket protocol, RFC 6455, without I/O.
//!
//! ```text
//!   byte 0         byte 1        0, 2 or 8 bytes   4 bytes   the rest
//!   fin rsv opcode mask length   longer length     mask      payload
//! ```
//!
//! The framing is our own because libraries keep a large buffer for every connection and zero it
//! before every read. Here a payload is unmasked in place and returned borrowed.
//!
//! Invariants:
//!
//! 1. No input makes it panic, or store more than the largest message.
//! 2. A protocol violation ends the connection with the matching close code.
//!
//! Deliberately absent: extensions. Compressing small frames costs more than it saves.

#[cfg(test)]
mod tests;

/// The opcode of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// Continuation of a message.
    Continuation,
    /// A text message.
    Text,
    /// A binary message.
    Binary,
    /// A close.
    Close,
    /// A ping.
    Ping,
    /// A pong.
    Pong,
}

impl Opcode {
    fn of(bits: u8) -> Option<Self> {
        Some(match bits {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xA => Self::Pong,
            _ => return None,
        })
    }

    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xA,
        }
    }

    fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// Why a connection must end: the code of the close frame, and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolError {
    /// The close code of RFC 6455, section 7.4.1.
    pub code: u16,
    /// The reason.
    pub reason: &'static str,
}

impl ProtocolError {
    /// The peer violated the protocol.
    pub const fn protocol(reason: &'static str) -> Self {
        Self { code: 1002, reason }
    }

    /// Text that is not UTF-8.
    pub const fn not_text() -> Self {
        Self { code: 1007, reason: "the message is not UTF-8" }
    }

    /// A message beyond the limit.
    pub const fn too_large() -> Self {
        Self { code: 1009, reason: "the message is too large" }
    }

    /// Whether it is a message beyond the limit.
    pub const fn is_too_large(&self) -> bool {
        self.code == 1009
    }
}

/// The head of one frame.
struct Head {
    is_last: bool,
    opcode: Opcode,
    mask: [u8; 4],
    start: usize,
    bytes: usize,
}

/// Reads the head at the beginning of these bytes; none if there are too few.
fn head(bytes: &[u8], bytes_max: usize) -> Result<Option<Head>, ProtocolError> {
    let [first, second, ..] = *bytes else { return Ok(None) };
    if first & 0x70 != 0 {
        return Err(ProtocolError::protocol("a reserved bit is set"));
    }
    let Some(opcode) = Opcode::of(first & 0x0F) else {
        return Err(ProtocolError::protocol("the opcode is not known"));
    };
    if second & 0x80 == 0 {
        return Err(ProtocolError::protocol("a client must mask its frames"));
    }
    let is_last = first & 0x80 != 0;
    let short = second & 0x7F;
    if opcode.is_control() && (!is_last || short > 125) {
        return Err(ProtocolError::protocol("a control frame is short and whole"));
    }
    let (length, at) = match short {
        126 => match bytes.get(2..4) {
            Some(&[a, b]) => (u64::from(u16::from_be_bytes([a, b])), 4),
            _ => return Ok(None),
        },
        127 => match bytes.get(2..10).and_then(<[u8]>::first_chunk) {
            Some(wide) => (u64::from_be_bytes(*wide), 10),
            None => return Ok(None),
        },
        short => (u64::from(short), 2),
    };
    if (at == 4 && length < 126) || (at == 10 && length <= 0xFFFF) {
        return Err(ProtocolError::protocol("the length takes more bytes than it needs"));
    }
    let length = usize::try_from(length).map_err(|_| ProtocolError::too_large())?;
    if length > bytes_max {
        return Err(ProtocolError::too_large());
    }
    let Some(mask) = bytes.get(at..at + 4).and_then(<[u8]>::first_chunk) else { return Ok(None) };
    Ok(Some(Head { is_last, opcode, mask: *mask, start: at + 4, bytes: length }))
}

/// Removes the mask, eight bytes at a time.
fn unmask(payload: &mut [u8], mask: [u8; 4]) {
    if mask == [0; 4] {
        return;
    }
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = payload.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}

/// A complete message.
#[derive(Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A text message.
    Text(&'a str),
    /// A binary message.
    Binary(&'a [u8]),
    /// A ping with this payload.
    Ping(&'a [u8]),
    /// A pong.
    Pong,
    /// A close, with its code if there was one.
    Close(Option<u16>),
}

/// Assembles messages.
#[derive(Debug)]
pub struct Decoder {
    bytes_max: usize,
    begun: Option<(Opcode, Vec<u8>)>,
    whole: Vec<u8>,
}

impl Decoder {
    /// Accepts messages of up to this many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, begun: None, whole: Vec::new() }
    }

    /// Whether a message is incomplete.
    pub fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Bytes of an incomplete message.
    pub fn begun_bytes(&self) -> usize {
        self.begun.as_ref().map_or(0, |(_, bytes)| bytes.len())
    }

    /// The next complete message at the beginning of these bytes, and how many bytes were used.
    /// Bytes may be used without a message: a fragment was stored.
    pub fn next<'a>(
        &'a mut self,
        bytes: &'a mut [u8],
    ) -> Result<(usize, Option<Message<'a>>), ProtocolError> {
        // An assembled message is finished: no idle connection keeps its bytes.
        self.whole = Vec::new();
        let Some(head) = head(bytes, self.bytes_max)? else { return Ok((0, None)) };
        let end = head.start + head.bytes;
        let Some(payload) = bytes.get_mut(head.start..end) else { return Ok((0, None)) };
        unmask(payload, head.mask);
        let payload = &*payload;
        let message = match (head.opcode, self.begun.take()) {
            (Opcode::Ping, begun) => {
                self.begun = begun;
                Some(Message::Ping(payload))
            }
            (Opcode::Pong, begun) => {
                self.begun = begun;
                Some(Message::Pong)
            }
            (Opcode::Close, _) => Some(Message::Close(close_code(payload)?)),
            (Opcode::Text | Opcode::Binary, Some(_)) => {
                return Err(ProtocolError::protocol("a message begins within another"));
            }
            (Opcode::Text | Opcode::Binary, None) if head.is_last => {
                Some(data(head.opcode == Opcode::Text, payload)?)
            }
            (Opcode::Text | Opcode::Binary, None) => {
                self.begun = Some((head.opcode, payload.to_vec()));
                None
            }
            (Opcode::Continuation, None) => {
                return Err(ProtocolError::protocol("a continuation frame without a first frame"));
            }
            (Opcode::Continuation, Some((opcode, mut begun))) => {
                if begun.len() + payload.len() > self.bytes_max {
                    return Err(ProtocolError::too_large());
                }
                begun.extend_from_slice(payload);
                if head.is_last {
                    self.whole = begun;
                    Some(data(opcode == Opcode::Text, &self.whole)?)
                } else {
                    self.begun = Some((opcode, begun));
                    None
                }
            }
        };
        Ok((end, message))
    }
}

fn data(is_text: bool, payload: &[u8]) -> Result<Message<'_>, ProtocolError> {
    if !is_text {
        return Ok(Message::Binary(payload));
    }
    str::from_utf8(payload).map(Message::Text).map_err(|_| ProtocolError::not_text())
}

fn close_code(payload: &[u8]) -> Result<Option<u16>, ProtocolError> {
    match *payload {
        [] => Ok(None),
        [_] => Err(ProtocolError::protocol("the close code is cut off")),
        [a, b, ref reason @ ..] => {
            let code = u16::from_be_bytes([a, b]);
            let is_known = matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
            if !is_known {
                return Err(ProtocolError::protocol("the close code means nothing"));
            }
            str::from_utf8(reason).map(|_| Some(code)).map_err(|_| ProtocolError::not_text())
        }
    }
}

/// Capacity for the head of a frame of medium size, like most answers.
const ROOM: usize = 4;

/// Appends a server frame, unfragmented and unmasked, whose payload is written in place: one copy
/// less for every answer.
pub fn write_with(out: &mut Vec<u8>, opcode: Opcode, payload: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; ROOM]);
    payload(out);
    let length = out.len() - start - ROOM;
    let first = 0x80 | opcode.bits();
    match u16::try_from(length) {
        Ok(short @ 0..=125) => {
            out[start + ROOM - 2..start + ROOM].copy_from_slice(&[first, short.to_be_bytes()[1]]);
            out.drain(start..start + ROOM - 2);
        }
        Ok(short) => {
            let [a, b] = short.to_be_bytes();
            out[start..start + ROOM].copy_from_slice(&[first, 126, a, b]);
        }
        Err(_) => {
            let mut head = [first, 127, 0, 0, 0, 0, 0, 0, 0, 0];
            head[2..].copy_from_slice(&(length as u64).to_be_bytes());
            out.splice(start..start + ROOM, head);
        }
    }
}

/// Appends a frame with this payload.
pub fn write(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    write_with(out, opcode, |out| out.extend_from_slice(payload));
}

/// Appends a close frame.
pub fn write_close(out: &mut Vec<u8>, code: u16, reason: &str) {
    let mut payload = code.to_be_bytes().to_vec();
    payload.extend_from_slice(reason.as_bytes());
    payload.truncate(125);
    write(out, Opcode::Close, &payload);
}
