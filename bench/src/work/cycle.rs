//! Operations of several requests, each of which depends on the answer to the previous one.
//!
//! ```text
//!   Opening ──create──▶            the driver sends it, and starts the clock
//!           ◀──answer── ┐
//!           ──claim───▶ │ Script: receives every element, writes the next request
//!           ◀──answer── │
//!           ──complete▶ ┘
//!           ◀──answer──            the operation has ended: counted, timed, and started again
//! ```
//!
//! For the driver the whole cycle is one request and one answer, so its rate and latencies are
//! those of cycles. The requests of a script are sent in the same write as the answers of one read.

use crate::peers::driver::{Answers, Element, Requests};

/// The first request of a cycle: always the same bytes.
pub(crate) struct FirstRequest(pub(crate) Vec<u8>);

impl Requests for FirstRequest {
    fn next(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

/// The step after an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// More requests of the same cycle.
    GoesOn,
    /// The cycle has ended, with success.
    Over,
}

/// The rest of a cycle, after its first request.
pub(crate) trait Script {
    /// Receives one element of the protocol, and writes the next request if it completes an answer.
    /// An unexpected answer is an error.
    fn hear(
        &mut self,
        element: &[u8],
        is_answer: bool,
        out: &mut Vec<u8>,
    ) -> Result<NextStep, String>;
}

/// A protocol whose answers are complete cycles.
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

/// The error of an unexpected answer.
pub(crate) fn refused(element: &[u8]) -> String {
    format!("refused: {}", element.escape_ascii())
}
