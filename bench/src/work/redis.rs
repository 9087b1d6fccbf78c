//! Redis's side, durable by `appendfsync always`: streams as queues, keys as locks.
//!
//! | cycle | requests | a success |
//! |---|---|---|
//! | task | `XADD`, `XREADGROUP` of one, `XACK` and `XDEL` in one write | an entry, then 1 and 1 |
//! | lock | `SET` with `NX PX`, a script that deletes the key if it has the value | `+OK`, then 1 |
//!
//! Every worker has its own stream and group, so that none takes the entry of another.

use std::time::Duration;

use super::cycle::{Cycles, FirstRequest, NextStep, Script, refused};
use super::{CLIENTS, TTL_MS};
use crate::Outcome;
use crate::peers::driver::{self, TurnResult};
use crate::peers::processes::Server;
use crate::peers::redis::{Resp, array, load_script};
use crate::samples::value;

const GROUP: &str = "workers";
const RELEASE: &str = "\
    if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
/// The line of the entry's id in the answer to `XREADGROUP`: after the name of the stream, its
/// length and the four lengths of what contains it, each a line.
const ID_LINE: usize = 7;
const ONE: &[u8] = b":1\r\n";

/// One round of task cycles. Its number gives each round its own groups.
pub(crate) fn tasks(server: &Server, turn: Duration, number: usize) -> Outcome<TurnResult> {
    let open = |worker: usize| {
        let stream = format!("work/{number}/{worker}");
        let mut connection = driver::connect(server.port())?;
        let group = array(&["XGROUP", "CREATE", &stream, GROUP, "$", "MKSTREAM"]);
        driver::ask(&mut connection, &group, &mut Resp, 1)?;
        let opening = FirstRequest(array(&["XADD", &stream, "*", "definition", &value(worker)]));
        let script = Entry::new(&stream, &format!("agent-{worker}"));
        Ok((connection, opening, Cycles { protocol: Resp, script }))
    };
    let opened = (0..CLIENTS).map(open).collect::<Outcome<Vec<_>>>()?;
    driver::measure(opened, 1, turn, server.pid())
}

/// One round of lock cycles. Every client has its own lock.
pub(crate) fn locks(server: &Server, turn: Duration) -> Outcome<TurnResult> {
    let script = load_script(server, RELEASE)?;
    let open = |client: usize| {
        let (key, secret) = (format!("lock-{client}"), format!("secret-of-agent-{client}"));
        let opening = FirstRequest(array(&["SET", &key, &secret, "NX", "PX", &TTL_MS.to_string()]));
        let release = array(&["EVALSHA", &script, "1", &key, &secret]);
        let script = Lock { release, is_held: false };
        let cycles = Cycles { protocol: Resp, script };
        Ok((driver::connect(server.port())?, opening, cycles))
    };
    let opened = (0..CLIENTS).map(open).collect::<Outcome<Vec<_>>>()?;
    driver::measure(opened, 1, turn, server.pid())
}

/// Reads the added entry, then acknowledges and deletes it.
pub(crate) struct Entry {
    stream: String,
    read: Vec<u8>,
    step: Step,
}

enum Step {
    Added,
    Read,
    Acknowledged,
    Deleted,
}

impl Entry {
    pub(crate) fn new(stream: &str, consumer: &str) -> Self {
        let words = ["XREADGROUP", "GROUP", GROUP, consumer, "COUNT", "1", "STREAMS", stream, ">"];
        Self { stream: stream.to_owned(), read: array(&words), step: Step::Added }
    }
}

impl Script for Entry {
    fn hear(&mut self, element: &[u8], _: bool, out: &mut Vec<u8>) -> Result<NextStep, String> {
        let next = match self.step {
            Step::Added => {
                out.extend_from_slice(&self.read);
                Step::Read
            }
            Step::Read => {
                let line = element.split(|byte| *byte == b'\n').nth(ID_LINE);
                let id = line.and_then(|line| std::str::from_utf8(line).ok());
                let id = id.ok_or_else(|| refused(element))?.trim_end();
                out.extend_from_slice(&array(&["XACK", &self.stream, GROUP, id]));
                out.extend_from_slice(&array(&["XDEL", &self.stream, id]));
                Step::Acknowledged
            }
            Step::Acknowledged | Step::Deleted if element != ONE => return Err(refused(element)),
            Step::Acknowledged => Step::Deleted,
            Step::Deleted => {
                self.step = Step::Added;
                return Ok(NextStep::Over);
            }
        };
        self.step = next;
        Ok(NextStep::GoesOn)
    }
}

/// Releases the acquired lock.
pub(crate) struct Lock {
    pub(crate) release: Vec<u8>,
    pub(crate) is_held: bool,
}

impl Script for Lock {
    fn hear(&mut self, element: &[u8], _: bool, out: &mut Vec<u8>) -> Result<NextStep, String> {
        // Null, the answer if the lock is held, is refused before.
        if !self.is_held {
            out.extend_from_slice(&self.release);
            self.is_held = true;
            return Ok(NextStep::GoesOn);
        }
        self.is_held = false;
        if element == ONE { Ok(NextStep::Over) } else { Err(refused(element)) }
    }
}
