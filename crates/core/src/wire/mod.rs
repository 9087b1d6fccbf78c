//! The wire format: `{"command": "state.set", "namespace": …}`.
//!
//! One flat object has the name of an operation and its fields. The types of the commands are
//! deserialized from it: this module knows their names, not their fields, so that all interfaces
//! are alike. Everything else about an operation is declared with its primitive, as one row of
//! [`OPERATIONS`].
//!
//! ```text
//!   {"id": 7, "workspace": "w", "agent": "ada", "command": "state.set", "key": "plan", …}
//!     └────────── Frame ──────────────────────┘    └ OPERATIONS ┘     └ state::Set ┘
//!
//!   text ──Frame::parse──▶ Frame ──call──▶ Call ──▶ the engine ──▶ Answer ──write_answer──▶ text
//!     └ each value is scanned once, and keeps its bytes
//! ```
//!
//! Invariants:
//!
//! 1. Commands that only the engine or a policy sends have no name here, so clients cannot send
//!    them.
//! 2. An unknown field is refused by its name, and so is a duplicate one.
//! 3. A value is validated once and never re-encoded on its way in or out.
//! 4. Paths and queries are interpreted by the same [`Fields`] as frames, so that they cannot
//!    differ.
//!
//! Deliberately absent: protocols. Sockets, headers and status codes are in the server.

mod answer;
mod call;
mod fast_call;
mod fast_frame;
mod fault;
mod fields;
mod frame;
mod hint;
mod json_writer;
pub mod notice;
mod operations;
mod problem;
mod spoken;
#[cfg(test)]
mod tests;

pub use answer::{write_answer, write_number, write_reply, write_text};
pub use call::{Call, Watch};
pub use fast_frame::{FastCall, FastFrame};
pub use fault::Fault;
pub use fields::Fields;
pub(crate) use frame::command_of;
pub use frame::{Frame, elements};
pub use hint::hint_in_terms_of;
pub use operations::{
    Effect, GivesBack, Method, OPERATIONS, Operation, OtherReply, Rest, operation,
};
pub use problem::Problem;
pub use spoken::{Spoken, reply};

pub(crate) use operations::{Wanted, operations};
