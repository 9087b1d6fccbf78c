//! The properties that must hold for every input, from the fuzzer or from a test with a seed.
//!
//! | target        | property                                                                    |
//! |---------------|-----------------------------------------------------------------------------|
//! | `frames`      | no bytes panic; however they are split, the same messages come out          |
//! | `messagepack` | no bytes panic; what is accepted is JSON, and round trips are exact         |
//! | `stored`      | no bytes panic; what is read is what rmp-serde reads, and survives encoding |
//! | `wire`        | no text panics; a refusal has a code, and what is parsed can be encoded     |

use baton_core::messagepack::from_slice;
use baton_core::wire::{Frame, Problem};
use baton_core::{Event, state};
use baton_server::ws::framing::Decoder;
use baton_server::ws::messagepack;
use serde::de::DeserializeOwned;

/// Small, so that limits are reached often.
const MESSAGE_BYTES_MAX: usize = 4_096;
/// Too few for the depth at which rmp-serde refuses what is skipped here, or runs out of stack.
const COMPARED_BYTES_MAX: usize = 512;

/// Everything that a decoder returns for these bytes, in pieces of this size.
fn parsed(bytes: &[u8], piece: usize) -> Vec<String> {
    let mut decoder = Decoder::new(MESSAGE_BYTES_MAX);
    let (mut parsed, mut inbox) = (Vec::new(), Vec::new());
    for part in bytes.chunks(piece.max(1)) {
        inbox.extend_from_slice(part);
        loop {
            match decoder.next(&mut inbox) {
                Ok((0, message)) => {
                    assert_eq!(message, None, "a message takes bytes");
                    break;
                }
                Ok((used, message)) => {
                    parsed.extend(message.map(|message| format!("{message:?}")));
                    inbox.drain(..used);
                }
                Err(error) => {
                    assert!(matches!(error.code, 1002 | 1007 | 1009), "{error:?}");
                    parsed.push(format!("{error:?}"));
                    return parsed;
                }
            }
            assert!(decoder.begun_bytes() <= MESSAGE_BYTES_MAX, "a message is bounded");
        }
        assert!(inbox.len() <= MESSAGE_BYTES_MAX + 14 + piece, "a frame is bounded");
    }
    parsed
}

/// Frames of a WebSocket. The first byte determines how the rest is split.
pub(crate) fn frames(input: &[u8]) {
    let Some((split, bytes)) = input.split_first() else { return };
    let whole = parsed(bytes, bytes.len());
    assert_eq!(parsed(bytes, usize::from(*split)), whole, "how it is split makes no difference");
}

/// A document in MessagePack.
pub(crate) fn messagepack(input: &[u8]) {
    let mut text = Vec::new();
    if messagepack::to_json(input, &mut text).is_err() {
        return;
    }
    let value: serde_json::Value = serde_json::from_slice(&text).expect("what is accepted is JSON");
    let (mut packed, mut again) = (Vec::new(), Vec::new());
    messagepack::from_json(&text, &mut packed);
    messagepack::to_json(&packed, &mut again).expect("what was written can be read");
    let again: serde_json::Value = serde_json::from_slice(&again).expect("and is JSON");
    assert_eq!(again, value, "there and back it is the same value");
}

/// The content of the log: events. Types of shared state, and arbitrary values, are also read by
/// rmp-serde; compiling that for all types would take long.
pub(crate) fn stored(input: &[u8]) {
    if let Ok(event) = from_slice::<Event>(input) {
        let packed = rmp_serde::to_vec_named(&event).expect("events can be encoded");
        let again: Event = from_slice(&packed).expect("what was written can be read");
        // As bytes, since a float may be a NaN, which does not equal itself.
        let again = rmp_serde::to_vec_named(&again).expect("and encoded again");
        assert_eq!(again, packed, "there and back it is the same event");
    }
    if input.len() <= COMPARED_BYTES_MAX {
        compared::<state::Event>(input);
        compared::<serde_json::Value>(input);
    }
}

/// Both give the same result, or this program refuses it.
fn compared<T: DeserializeOwned + PartialEq + std::fmt::Debug>(input: &[u8]) {
    if let Ok(read) = from_slice::<T>(input) {
        assert_eq!(
            read,
            rmp_serde::from_slice::<T>(input).expect("what is read here is read there")
        );
    }
}

/// A request as text.
pub(crate) fn wire(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let outcome = Frame::parse(text).and_then(Frame::call);
    if let Err(fault) = outcome {
        let problem = Problem::from(&fault);
        assert!(!problem.code.is_empty() && !problem.detail.is_empty());
        let parsed = serde_json::to_string(&problem).expect("problems can be encoded");
        assert_eq!(Problem::parse(&parsed).as_ref(), Ok(&problem), "{parsed}");
    }
    if let Ok(frame) = Frame::parse(text) {
        let _ = frame.transaction();
    }
}
