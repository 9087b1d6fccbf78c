//! Stories of a client and a server that talk over a real socket; the server is mostly a scripted
//! one. No story waits for the
//! clock: each step waits for the frame that makes it possible.
//!
//! | file | promises |
//! |---|---|
//! | `calls` | what is sent, and what is made of the answers |
//! | `reconnects` | what becomes of calls when the connection breaks |
//! | `watches` | every event once and in order, over as many connections as it takes |
//! | `shutdown` | what was begun is finished, the rest ends |
//! | `secure` | all of it goes over TLS, and nothing to a stranger |
//! | `workers` | every task once, nothing after the lease is lost |
//! | `model` | a model is told what it should know, and what it says becomes the result |
//! | `server` | the real one: says what the embedded engine says, on a line that keeps breaking |
//!
//! What depends on time is told in the multiplexer's own tests, where time is paused.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed, and this says where")]

mod calls;
mod model;
mod peer;
mod reconnects;
mod secure;
mod server;
mod service;
mod shutdown;
mod watches;
mod workers;
