//! Tests of a client and a server over a real socket; the server is mostly a scripted one. No test
//! waits for the clock: each step waits for the frame that makes it possible.
//!
//! | file | tests |
//! |---|---|
//! | `calls` | what is sent, and how answers are interpreted |
//! | `cluster` | the owner of a workspace is connected to, and followed |
//! | `reconnects` | calls when the connection breaks |
//! | `watches` | every event once and in order, over any number of connections |
//! | `shutdown` | calls in progress are finished, the rest ends |
//! | `secure` | everything uses TLS, and nothing is sent to an untrusted server |
//! | `sessions` | who works keeps its session, and continues when it ends |
//! | `workers` | every task once, nothing after the lease is lost |
//! | `model` | a model gets its context, and its completion becomes the result |
//! | `server` | the real server: same results as the embedded engine, with a flaky connection |
//!
//! Tests that depend on time are in the multiplexer, where time is paused.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed, and this says where")]

mod calls;
mod cluster;
mod model;
mod peer;
mod reconnects;
mod secure;
mod server;
mod service;
mod sessions;
mod shutdown;
mod watches;
mod workers;
