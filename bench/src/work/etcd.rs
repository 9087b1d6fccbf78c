//! etcd's side: its own lock service, with a lease that outlasts the round.
//!
//! ```text
//!   before the round  LeaseGrant ── Lock ── Unlock     adds all three paths to the header table
//!   a cycle           Lock(name, lease) ── Unlock(key)
//! ```
//!
//! The key of a lock is its name and its lease, which is checked before the round; so both calls
//! are prebuilt except for their streams. Keeping the lease alive is omitted, in favour of the
//! server.

use std::time::Duration;

use super::CLIENTS;
use super::cycle::{Cycles, NextStep, Script};
use crate::Outcome;
use crate::peers::driver::{self, Opened, Requests, TurnResult};
use crate::peers::etcd::{FIRST_STREAM, open, push_number, push_text};
use crate::peers::http2::{self, Calls};
use crate::peers::processes::Server;

const GRANT: &str = "/etcdserverpb.Lease/LeaseGrant";
const LOCK: &str = "/v3lockpb.Lock/Lock";
const UNLOCK: &str = "/v3lockpb.Lock/Unlock";
/// The paths that a connection calls, in the order in which they are added to its header table.
const PATHS: u8 = 3;
/// Longer than any round.
const LEASE_SECONDS: u64 = 3_600;
/// Streams of a client have odd ids; the three calls before the round have the first ones.
const LOCK_STREAM: u32 = FIRST_STREAM + 6;
const UNLOCK_STREAM: u32 = LOCK_STREAM + 2;
const CYCLE_STREAMS: u32 = 4;

/// One round of lock cycles. Its number gives each round its own leases.
pub(crate) fn locks(server: &Server, turn: Duration, number: usize) -> Outcome<TurnResult> {
    let open = |client| client_of(server.port(), client, number * CLIENTS + client + 1);
    let opened = (0..CLIENTS).map(open).collect::<Outcome<Vec<_>>>()?;
    driver::measure(opened, 1, turn, server.pid())
}

/// A client with its own lease and lock, which it has acquired once already.
fn client_of(
    port: u16,
    client: usize,
    lease: usize,
) -> Outcome<Opened<Stepped, Cycles<Calls, Unlock>>> {
    let (name, lease) = (format!("lock-{client}"), lease as u64);
    let key = format!("{name}/{lease:x}");
    let (lock_message, unlock_message) = (lock(&name, lease), unlock(&key));
    let (mut stream, mut protocol) = open(port, GRANT, &grant(lease))?;
    let mut request = Vec::new();
    http2::call(FIRST_STREAM + 2, &http2::new_path_headers(LOCK, 1), &lock_message, &mut request);
    let answer = driver::ask(&mut stream, &request, &mut protocol, 1)?;
    if !answer.windows(key.len()).any(|window| window == key.as_bytes()) {
        return Err(format!("the key of the lock is not `{key}`").into());
    }
    request.clear();
    let headers = http2::new_path_headers(UNLOCK, 2);
    http2::call(FIRST_STREAM + 4, &headers, &unlock_message, &mut request);
    driver::ask(&mut stream, &request, &mut protocol, 1)?;
    let opening = Stepped::new(1, &lock_message, LOCK_STREAM);
    let unlock = Stepped::new(2, &unlock_message, UNLOCK_STREAM);
    let script = Unlock { unlock, is_held: false };
    Ok((stream, opening, Cycles { protocol, script }))
}

/// `LeaseGrantRequest { TTL = 1, ID = 2 }`.
fn grant(lease: u64) -> Vec<u8> {
    let mut out = Vec::new();
    push_number(&mut out, 1, LEASE_SECONDS);
    push_number(&mut out, 2, lease);
    out
}

/// `LockRequest { name = 1, lease = 2 }`.
fn lock(name: &str, lease: u64) -> Vec<u8> {
    let mut out = Vec::new();
    push_text(&mut out, 1, name);
    push_number(&mut out, 2, lease);
    out
}

/// `UnlockRequest { key = 1 }`.
fn unlock(key: &str) -> Vec<u8> {
    let mut out = Vec::new();
    push_text(&mut out, 1, key);
    out
}

/// One of the two calls of a cycle, each time with a new stream.
pub(crate) struct Stepped {
    call: Vec<u8>,
    stream: u32,
}

impl Stepped {
    pub(crate) fn new(path: u8, message: &[u8], stream: u32) -> Self {
        let mut call = Vec::new();
        http2::call(stream, &http2::later_headers(path, PATHS), message, &mut call);
        Self { call, stream }
    }
}

impl Requests for Stepped {
    fn next(&mut self, out: &mut Vec<u8>) {
        http2::patch_stream(&mut self.call, self.stream);
        out.extend_from_slice(&self.call);
        self.stream += CYCLE_STREAMS;
    }
}

/// Unlocks what was locked.
pub(crate) struct Unlock {
    pub(crate) unlock: Stepped,
    pub(crate) is_held: bool,
}

impl Script for Unlock {
    fn hear(&mut self, _: &[u8], is_answer: bool, out: &mut Vec<u8>) -> Result<NextStep, String> {
        if !is_answer {
            return Ok(NextStep::GoesOn);
        }
        if !self.is_held {
            self.unlock.next(out);
        }
        self.is_held = !self.is_held;
        Ok(if self.is_held { NextStep::GoesOn } else { NextStep::Over })
    }
}
