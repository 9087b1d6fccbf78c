//! Stories of a client and a scripted server that talk over a real socket. No story waits for the
//! clock: each step waits for the frame that makes it possible.
//!
//! | file | promises |
//! |---|---|
//! | `calls` | what is sent, and what is made of the answers |
//! | `reconnecting` | what becomes of calls when the connection breaks |
//! | `watching` | every event once and in order, over as many connections as it takes |
//! | `closing` | what was begun is finished, the rest ends |
//!
//! What depends on time is told in the desk's own tests, where time is paused.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed, and this says where")]

mod calls;
mod closing;
mod peer;
mod reconnecting;
mod watching;
