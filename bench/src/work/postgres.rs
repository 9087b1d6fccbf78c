//! Postgres's side: a table with `SKIP LOCKED` as a queue, and advisory locks.
//!
//! | cycle | statements, each a commit | a success |
//! |---|---|---|
//! | task | insert, update of the oldest free row, delete | one row each |
//! | contended lock | `pg_advisory_lock`, `pg_advisory_unlock` | true |
//!
//! The table has what a queue needs and an index that finds the oldest free row of a type. A row is
//! deleted when it is done, which is the least work for the server. Advisory locks are in memory
//! only and have neither a time limit nor a token.

use std::net::TcpStream;
use std::time::Duration;

use super::CLIENTS;
use super::contention::Contender;
use super::cycle::{Cycles, FirstRequest, NextStep, Script, refused};
use crate::Outcome;
use crate::peers::driver::{self, TurnResult};
use crate::peers::postgres::{Messages, call, connect, prepare, query};
use crate::peers::processes::Server;
use crate::samples::value;

const TABLE: &str = "CREATE TABLE task (id bigserial PRIMARY KEY, type text NOT NULL, \
    definition jsonb NOT NULL, holder text, claimed_at timestamptz); \
    CREATE INDEX ON task (type, id) WHERE holder IS NULL";
const CREATE: &str = "INSERT INTO task (type, definition) VALUES ($1, $2)";
const CLAIM: &str = "UPDATE task SET holder = $2, claimed_at = now() WHERE id = (SELECT id \
    FROM task WHERE type = $1 AND holder IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) \
    RETURNING id, definition";
const COMPLETE: &str = "DELETE FROM task WHERE id = $1::text::bigint";
/// A queue is nearly empty at any time, so the planner estimates that a sequential scan is cheaper
/// than an index; it never is, because deleted rows are read too.
const BY_INDEX: &str = "SET enable_seqscan = off";
const LOCK: &str = "SELECT pg_advisory_lock(1)";
const UNLOCK: &str = "SELECT pg_advisory_unlock(1)";
/// A row with one column, which is true.
const TRUE: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x01t";
/// The bytes before the first column of a row: the type, the length, the number of columns and its
/// length.
const COLUMN_AT: usize = 1 + 4 + 2 + 4;

/// Creates the table for task cycles.
pub(crate) fn prepare_tasks(server: &Server) -> Outcome<()> {
    driver::ask(&mut connect(server.port())?, &query(TABLE), &mut Messages, 1)?;
    Ok(())
}

/// One round of task cycles. Every worker has its own type, so that none takes the row of another.
pub(crate) fn tasks(server: &Server, turn: Duration) -> Outcome<TurnResult> {
    let open = |worker: usize| {
        let mut stream = connect(server.port())?;
        driver::ask(&mut stream, &query(BY_INDEX), &mut Messages, 1)?;
        for (name, statement) in [("create", CREATE), ("claim", CLAIM), ("complete", COMPLETE)] {
            driver::ask(&mut stream, &prepare(name, statement), &mut Messages, 1)?;
        }
        let kind = format!("type-{worker}");
        let opening = FirstRequest(call("create", &[&kind, &value(worker)]));
        let script = Row::new(&kind, &format!("agent-{worker}"));
        Ok((stream, opening, Cycles { protocol: Messages, script }))
    };
    let opened = (0..CLIENTS).map(open).collect::<Outcome<Vec<_>>>()?;
    driver::measure(opened, 1, turn, server.pid())
}

/// Claims the inserted row, and deletes it.
pub(crate) struct Row {
    claim: Vec<u8>,
    /// The id of the claimed row.
    id: Option<String>,
    step: Step,
}

#[derive(Clone, Copy)]
enum Step {
    Inserted,
    Claimed,
    Deleted,
}

impl Row {
    pub(crate) fn new(kind: &str, holder: &str) -> Self {
        Self { claim: call("claim", &[kind, holder]), id: None, step: Step::Inserted }
    }

    fn answered(&mut self, out: &mut Vec<u8>) -> Result<NextStep, String> {
        let next = match self.step {
            Step::Inserted => {
                out.extend_from_slice(&self.claim);
                Step::Claimed
            }
            Step::Claimed => {
                let id = self.id.take().ok_or("refused: no row was claimed")?;
                out.extend_from_slice(&call("complete", &[&id]));
                Step::Deleted
            }
            Step::Deleted => {
                self.step = Step::Inserted;
                return Ok(NextStep::Over);
            }
        };
        self.step = next;
        Ok(NextStep::GoesOn)
    }
}

impl Script for Row {
    fn hear(
        &mut self,
        element: &[u8],
        is_answer: bool,
        out: &mut Vec<u8>,
    ) -> Result<NextStep, String> {
        match element.first() {
            // However many rows were found, a statement must have changed exactly one.
            Some(b'C') if !element.ends_with(b" 1\0") => Err(refused(element)),
            Some(b'D') => {
                self.id = first_column(element);
                Ok(NextStep::GoesOn)
            }
            Some(_) if is_answer => self.answered(out),
            Some(_) | None => Ok(NextStep::GoesOn),
        }
    }
}

fn first_column(row: &[u8]) -> Option<String> {
    let length = row.get(COLUMN_AT - 4..COLUMN_AT)?.try_into().ok()?;
    let end = COLUMN_AT + usize::try_from(u32::from_be_bytes(length)).ok()?;
    String::from_utf8(row.get(COLUMN_AT..end)?.to_vec()).ok()
}

/// A client that waits for an advisory lock.
struct Waiting(TcpStream);

/// A client of the contended lock.
pub(crate) fn contender(server: &Server) -> Outcome<Box<dyn Contender>> {
    let mut stream = connect(server.port())?;
    for (name, statement) in [("lock", LOCK), ("unlock", UNLOCK)] {
        driver::ask(&mut stream, &prepare(name, statement), &mut Messages, 1)?;
    }
    Ok(Box::new(Waiting(stream)))
}

impl Contender for Waiting {
    fn acquire(&mut self) -> Outcome<()> {
        driver::ask(&mut self.0, &call("lock", &[]), &mut Messages, 1)?;
        Ok(())
    }

    fn release(&mut self) -> Outcome<()> {
        let answer = driver::ask(&mut self.0, &call("unlock", &[]), &mut Messages, 1)?;
        let is_released = answer.windows(TRUE.len()).any(|window| window == TRUE);
        if is_released { Ok(()) } else { Err(refused(&answer).into()) }
    }
}
