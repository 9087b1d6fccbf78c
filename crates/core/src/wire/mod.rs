//! The vocabulary as programs write it down: `{"command": "state.set", "namespace": …}`.
//!
//! One flat object names what is wanted and brings its fields. The commands' own types are read
//! from it: this module knows their names, not their fields, so that every door says the same. What
//! else is known of an operation is declared beside its primitive, as one row of [`OPERATIONS`].
//!
//! ```text
//!   {"id": 7, "workspace": "w", "agent": "ada", "command": "state.set", "key": "plan", …}
//!     └────────── Frame ──────────────────────┘    └ OPERATIONS ┘     └ state::Set ┘
//!
//!   text ──Frame::parse──▶ Frame ──call──▶ Call ──▶ the engine ──▶ Answer ──write_answer──▶ text
//!     └ each value is scanned once, and stays the bytes that came
//! ```
//!
//! Invariants:
//!
//! 1. What the engine or a policy sends by itself has no name here, so nobody else can send it.
//! 2. A field that nobody knows is refused by its name; so is one that stands there twice.
//! 3. A value is checked once and never re-encoded on its way in or out.
//! 4. What a program may ask by path and query instead of by a frame is read by the same
//!    [`Fields`], so the two cannot differ.
//!
//! Deliberately absent: bytes of any protocol. Sockets, headers and status codes are the doors'.

mod answer;
mod call;
mod fast_call;
mod fast_frame;
mod fault;
mod fields;
mod frame;
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
pub use operations::{Effect, GivesBack, Method, OPERATIONS, Operation, Rest, operation};
pub use problem::Problem;
pub use spoken::{Spoken, reply};

pub(crate) use answer::own_fields;
pub(crate) use operations::{Wanted, operations};
