//! Frames of a WebSocket as they are relayed: complete, and without decoding them.

use crate::ws::framing::{Opcode, write};

pub(super) const CLOSE: u8 = 0x8;
pub(super) const PING: u8 = 0x9;
pub(super) const PONG: u8 = 0xA;

/// The opcode of the frame of a server, where its payload begins, and where it ends; none if it is
/// not complete.
pub(super) fn frame_at(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    let [first, second, ..] = *bytes else { return None };
    let (length, start) = match second & 0x7F {
        126 => (u64::from(u16::from_be_bytes(*bytes.get(2..4)?.first_chunk()?)), 4),
        127 => (u64::from_be_bytes(*bytes.get(2..10)?.first_chunk()?), 10),
        short => (u64::from(short), 2),
    };
    let end = usize::try_from(length).ok()?.checked_add(start)?;
    (bytes.len() >= end).then_some((first & 0x0F, start, end))
}

/// Appends the frame of a client. Its mask is zero: the mask protects proxies on the way from
/// pages in a browser, and neither is here.
pub(super) fn write_masked(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    let start = out.len();
    write(out, opcode, &[]);
    let first = out[start];
    out.truncate(start);
    out.push(first);
    match u16::try_from(payload.len()) {
        Ok(short @ 0..=125) => out.push(0x80 | short.to_be_bytes()[1]),
        Ok(short) => {
            out.push(0xFE);
            out.extend_from_slice(&short.to_be_bytes());
        }
        Err(_) => {
            out.push(0xFF);
            out.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ws::framing::{Decoder, Message, write_with};

    #[test]
    fn relayed_messages_are_read_as_they_were_sent() {
        for length in [0_usize, 5, 125, 126, 65_535, 65_536] {
            let payload = vec![b'x'; length];
            let mut masked = Vec::new();
            write_masked(&mut masked, Opcode::Binary, &payload);
            let whole = masked.len();
            let mut decoder = Decoder::new(1 << 20);
            let decoded = decoder.next(&mut masked).unwrap();
            assert_eq!(decoded, (whole, Some(Message::Binary(&payload))), "{length}");
            let mut frame = Vec::new();
            write_with(&mut frame, Opcode::Text, |out| out.extend_from_slice(&payload));
            let (opcode, start, end) = frame_at(&frame).unwrap();
            assert_eq!((opcode, end, &frame[start..]), (1, frame.len(), &payload[..]), "{length}");
            assert_eq!(frame_at(&frame[..end - 1]), None, "{length}");
        }
    }
}
