//! Baton's side: commands as JSON over a WebSocket, each worker and client its own agent.
//!
//! | cycle | requests | a success |
//! |---|---|---|
//! | task | `task.create`, `task.claim` by type, `task.complete` | task with a lease; a revision |
//! | lock | `lock.acquire`, `lock.release` | a token; a revision |
//!
//! Ids and tokens are found by the names before them and sent back as raw bytes: the driver shares
//! the machine with the server, and a parser would be a large part of its work.

use std::net::TcpStream;
use std::time::Duration;

use super::contention::Contender;
use super::cycle::{Cycles, FirstRequest, NextStep, Script, refused};
use super::{CLIENTS, TTL_MS};
use crate::Outcome;
use crate::peers::baton::{Json, command, connect, field};
use crate::peers::driver::{self, TurnResult};
use crate::peers::processes::Server;
use crate::samples::value;

/// Longer than any wait in a round, and shorter than the timeout of the driver.
const WAIT_MS: u32 = 4_000;

/// One round of task cycles. Every worker has its own type, so that none takes the task of another.
pub(crate) fn tasks(server: &Server, turn: Duration) -> Outcome<TurnResult> {
    let open = |worker: usize| {
        let create =
            format!(r#""task.create","type":"type-{worker}","definition":{}"#, value(worker));
        let opening = FirstRequest(frame(worker, &create));
        let cycles = Cycles { protocol: Json, script: Task::new(worker) };
        Ok((connect(server.port())?, opening, cycles))
    };
    let opened = (0..CLIENTS).map(open).collect::<Outcome<Vec<_>>>()?;
    driver::measure(opened, 1, turn, server.pid())
}

/// One round of lock cycles. Every client has its own lock.
pub(crate) fn locks(server: &Server, turn: Duration) -> Outcome<TurnResult> {
    let open = |client: usize| {
        let name = format!("lock-{client}");
        let acquire = format!(r#""lock.acquire","name":"{name}","ttl_ms":{TTL_MS}"#);
        let opening = FirstRequest(frame(client, &acquire));
        let cycles = Cycles { protocol: Json, script: Lock::new(client, &name) };
        Ok((connect(server.port())?, opening, cycles))
    };
    let opened = (0..CLIENTS).map(open).collect::<Outcome<Vec<_>>>()?;
    driver::measure(opened, 1, turn, server.pid())
}

/// A command of the agent with this number.
fn frame(agent: usize, text: &str) -> Vec<u8> {
    command(&format!("agent-{agent}"), text)
}

/// Claims the created task, and completes it.
pub(crate) struct Task {
    agent: usize,
    claim: Vec<u8>,
    step: Step,
}

enum Step {
    Created,
    Claimed,
    Completed,
}

impl Task {
    pub(crate) fn new(worker: usize) -> Self {
        let claim = format!(r#""task.claim","types":["type-{worker}"]"#);
        Self { agent: worker, claim: frame(worker, &claim), step: Step::Created }
    }
}

impl Script for Task {
    fn hear(
        &mut self,
        element: &[u8],
        is_answer: bool,
        out: &mut Vec<u8>,
    ) -> Result<NextStep, String> {
        if !is_answer {
            return Ok(NextStep::GoesOn);
        }
        let next = match self.step {
            Step::Created => {
                out.extend_from_slice(&self.claim);
                Step::Claimed
            }
            Step::Claimed => {
                let id = field(element, &[r#""result":{"#, r#""id":"#]);
                let token = field(element, &[r#""lease":{"#, r#""token":"#]);
                let (Some(id), Some(token)) = (id, token) else { return Err(refused(element)) };
                let complete = format!(r#""task.complete","task":{id},"token":{token}"#);
                out.extend_from_slice(&frame(self.agent, &complete));
                Step::Completed
            }
            Step::Completed => {
                self.step = Step::Created;
                return Ok(NextStep::Over);
            }
        };
        self.step = next;
        Ok(NextStep::GoesOn)
    }
}

/// Releases the acquired lock.
pub(crate) struct Lock {
    agent: usize,
    name: String,
    is_held: bool,
}

impl Lock {
    pub(crate) fn new(client: usize, name: &str) -> Self {
        Self { agent: client, name: name.to_owned(), is_held: false }
    }

    fn release(&self, token: &str) -> Vec<u8> {
        let name = &self.name;
        frame(self.agent, &format!(r#""lock.release","name":"{name}","token":{token}"#))
    }
}

/// The token of an acquired lock.
fn token(answer: &[u8]) -> Result<&str, String> {
    field(answer, &[r#""result":{"#, r#""token":"#]).ok_or_else(|| refused(answer))
}

impl Script for Lock {
    fn hear(
        &mut self,
        element: &[u8],
        is_answer: bool,
        out: &mut Vec<u8>,
    ) -> Result<NextStep, String> {
        if !is_answer {
            return Ok(NextStep::GoesOn);
        }
        if !self.is_held {
            out.extend_from_slice(&self.release(token(element)?));
        }
        self.is_held = !self.is_held;
        Ok(if self.is_held { NextStep::GoesOn } else { NextStep::Over })
    }
}

/// A client that waits for a lock by `wait_ms`.
pub(crate) struct Waiting {
    stream: TcpStream,
    acquire: Vec<u8>,
    lock: Lock,
    token: String,
}

/// A client of the contended lock.
pub(crate) fn contender(server: &Server, client: usize) -> Outcome<Box<dyn Contender>> {
    let lock = Lock::new(client, "contended");
    let name = &lock.name;
    let acquire =
        format!(r#""lock.acquire","name":"{name}","ttl_ms":{TTL_MS},"wait_ms":{WAIT_MS}"#);
    let (stream, acquire) = (connect(server.port())?, frame(client, &acquire));
    Ok(Box::new(Waiting { stream, acquire, lock, token: String::new() }))
}

impl Contender for Waiting {
    fn acquire(&mut self) -> Outcome<()> {
        let answer = driver::ask(&mut self.stream, &self.acquire, &mut Json, 1)?;
        token(&answer)?.clone_into(&mut self.token);
        Ok(())
    }

    fn release(&mut self) -> Outcome<()> {
        let release = self.lock.release(&self.token);
        driver::ask(&mut self.stream, &release, &mut Json, 1)?;
        Ok(())
    }
}
