//! The encoders and decoders of all protocols, and the loop and the processes around them.

pub(crate) mod baton;
mod driver;
mod etcd;
mod floor;
mod http;
mod latencies;
mod postgres;
mod processes;
mod redis;
mod requests;
pub(crate) mod websocket;

use super::driver::{Answers, Element};

/// Takes everything from the front: the elements, the replies, and how much is left.
pub(crate) fn take_all(
    protocol: &mut impl Answers,
    bytes: &[u8],
) -> Result<(Vec<Element>, Vec<u8>, usize), String> {
    let (mut taken, mut replies, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(next) = protocol.take(&bytes[at..], &mut replies)? {
        at += next.bytes;
        taken.push(next);
    }
    Ok((taken, replies, bytes.len() - at))
}

/// An element must be taken when its last byte has arrived, and not before.
fn assert_needs_every_byte<A: Answers>(protocol: impl Fn() -> A, element: &[u8], is_answer: bool) {
    for end in 0..element.len() {
        let taken = protocol().take(&element[..end], &mut Vec::new());
        assert_eq!(taken, Ok(None), "{end} of {} bytes", element.len());
    }
    let followed = [element, b"x"].concat();
    let taken = protocol().take(&followed, &mut Vec::new());
    assert_eq!(taken, Ok(Some(Element { bytes: element.len(), is_answer })));
}
