//! Scenario files: what Baton promises, as text that people read and every door is held to.
//!
//! ```text
//!                          ┌─▶ core: the rules alone
//!   spec/scenarios/*.txt   ├─▶ engine on a log in memory, opened anew before every step
//!     │                    ├─▶ engine on a log in files, opened anew before every step
//!     └ script ─▶ run ─────┼─▶ HTTP, one command a request, or a list of one
//!                          ├─▶ WebSocket, baton.v1.json
//!                          └─▶ WebSocket, baton.v1.msgpack
//! ```
//!
//! [`script`] reads a file into steps; [`run()`] says each of them on a [`Backend`] and compares
//! what comes with what was expected. The format is described in `spec/scenarios/README.md`.
//!
//! Invariants:
//!
//! 1. One text for all: a backend cannot ask for a scenario of its own, nor change what is
//!    expected.
//! 2. Time is the script's. A backend has a clock that stands still between steps, and everything
//!    that was due is done before the step is said.
//! 3. A failure says the file, the line, what was expected and what came.
//!
//! Deliberately absent: depending on how fast anything is. A call that waits does so until a later
//! step ends its wait.

pub mod backends;
pub mod matching;
pub mod run;
pub mod script;

pub use run::{Backend, run};
pub use script::Script;
