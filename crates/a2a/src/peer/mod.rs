//! Agents of other systems, as a client of the protocol sees them: cards, calls and their answers,
//! without any I/O.
//!
//! ```text
//!   card ──▶ Interface ──▶ Call (method, path, body) ─ ─ bytes ─ ─▶ answer ──▶ Reported
//!   Task, Handoff ──▶ Assignment (message with a stable id) ──┘
//! ```
//!
//! 1. A message has a stable `messageId` and its own context: a sender that does not know whether
//!    it arrived finds the task by its context, or sends it again.
//! 2. Everything that a peer sends is untrusted input: it is checked, and unusable input is an
//!    error with a reason.

mod answer;
mod assignment;
mod interface;
mod reported;

pub use answer::{PeerError, answer, update};
pub use assignment::{Assignment, reply};
pub use interface::{Binding, Call, Interface, card_url};
pub use reported::{Reported, State};
