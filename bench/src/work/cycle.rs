//! Operations of several requests, each of which is made of the answer to the one before.
//!
//! ```text
//!   Opening ──create──▶            the driver sends it, and starts the clock
//!           ◀──answer── ┐
//!           ──claim───▶ │ Script: hears every element, writes what follows
//!           ◀──answer── │
//!           ──complete▶ ┘
//!           ◀──answer──            the operation is over: counted, timed, and begun again
//! ```
//!
//! To the driver the whole cycle is one request and one answer, so its rate and its times are those
//! of cycles. What a script writes goes out in the same write as the answers of one read.

use crate::peers::driver::{Answers, Element, Requests};

/// What a cycle begins with: always the same bytes.
pub(crate) struct FirstRequest(pub(crate) Vec<u8>);

impl Requests for FirstRequest {
    fn next(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

/// What follows an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// More of the same cycle.
    GoesOn,
    /// The cycle is over, with success.
    Over,
}

/// The rest of a cycle, after its opening.
pub(crate) trait Script {
    /// Hears one element of the protocol, and writes the request that follows if it completes an
    /// answer. An answer that is not the one wanted is an error.
    fn hear(
        &mut self,
        element: &[u8],
        is_answer: bool,
        out: &mut Vec<u8>,
    ) -> Result<NextStep, String>;
}

/// A protocol whose answers are whole cycles.
pub(crate) struct Cycles<P, S> {
    pub(crate) protocol: P,
    pub(crate) script: S,
}

impl<P: Answers, S: Script> Answers for Cycles<P, S> {
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String> {
        let Some(taken) = self.protocol.take(bytes, replies)? else { return Ok(None) };
        let then = self.script.hear(&bytes[..taken.bytes], taken.is_answer, replies)?;
        Ok(Some(Element { is_answer: then == NextStep::Over, ..taken }))
    }
}

/// An answer that is none of those wanted.
pub(crate) fn refused(element: &[u8]) -> String {
    format!("refused: {}", element.escape_ascii())
}
