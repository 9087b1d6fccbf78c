//! Coordinated hand-offs: a task and twenty keys are handed back and forth between two agents of
//! every client.
//!
//! | side | one hand-off | a success |
//! |---|---|---|
//! | Baton | `handoff.execute`, which also checks rules and loops, and keeps history | completed |
//! | Postgres | one statement: state rows, task row, a history row for each, one commit | one row |
//!
//! A task of Baton may not be handed around in a loop, so each is handed over once: tasks are
//! created and claimed before the clock starts. Postgres hands the same task back and forth.

use std::collections::VecDeque;
use std::time::Duration;

use super::CLIENTS;
use super::cycle::{Cycles, NextStep, Script, refused};
use crate::Outcome;
use crate::peers::baton::{Json, command};
use crate::peers::driver::{self, Requests, TurnResult};
use crate::peers::processes::Server;
use crate::peers::{baton, postgres};

/// Keys that are handed over with the task.
const KEYS: usize = 20;
/// Bytes of each value.
const VALUE_BYTES: usize = 200;
/// Tasks that each agent holds before a round: no round hands over more.
const TASKS: usize = 900;

const TABLES: &str = "CREATE TABLE state (owner text, key text, value text NOT NULL, \
    version bigint NOT NULL DEFAULT 1, PRIMARY KEY (owner, key)); \
    CREATE TABLE task (id text PRIMARY KEY, holder text NOT NULL, status text NOT NULL); \
    CREATE TABLE state_history (id bigserial PRIMARY KEY, owner text, key text, value text, \
    at timestamptz NOT NULL DEFAULT now()); \
    CREATE TABLE handoff (id bigserial PRIMARY KEY, task text, giver text, receiver text, \
    reason text, at timestamptz NOT NULL DEFAULT now())";
const HAND_OFF: &str = "WITH t AS (UPDATE task SET holder = $2, status = 'handed_off' \
    WHERE id = $3 AND holder = $1 RETURNING id), \
    s AS (UPDATE state SET owner = $2, version = version + 1 WHERE owner = $1 \
    AND EXISTS (SELECT 1 FROM t) RETURNING key, value), \
    h AS (INSERT INTO state_history (owner, key, value) SELECT $2, key, value FROM s) \
    INSERT INTO handoff (task, giver, receiver, reason) SELECT id, $1, $2, 'done' FROM t";

fn value(client: usize, key: usize) -> String {
    format!("{:x<VALUE_BYTES$}", format!("client {client} key {key} "))
}

/// Prebuilt requests, in order.
struct Prepared(VecDeque<Vec<u8>>);

impl Requests for Prepared {
    fn next(&mut self, out: &mut Vec<u8>) {
        match self.0.pop_front() {
            Some(request) => out.extend_from_slice(&request),
            // Refused, which ends the run: a round must not need more than was prepared for it.
            None => out.extend_from_slice(&command("nobody", r#""no.more.prepared""#)),
        }
    }
}

/// An execution has ended when it is answered, and must be completed.
struct Executed;

impl Script for Executed {
    fn hear(
        &mut self,
        element: &[u8],
        is_answer: bool,
        _: &mut Vec<u8>,
    ) -> Result<NextStep, String> {
        const DONE: &[u8] = br#""status":"completed""#;
        match is_answer {
            false => Ok(NextStep::GoesOn),
            true if element.windows(DONE.len()).any(|window| window == DONE) => Ok(NextStep::Over),
            true => Err(refused(element)),
        }
    }
}

/// One round of Baton's side.
pub(crate) fn ours(server: &Server, turn: Duration, number: usize) -> Outcome<TurnResult> {
    let open = |client: usize| {
        let mut stream = baton::connect(server.port())?;
        let agents = [0, 1].map(|side| format!("agent-{number}-{client}-{side}"));
        let kind = format!("type-{number}-{client}");
        let mut requests = Vec::new();
        for agent in &agents {
            requests.extend(command(agent, r#""agent.register","ttl_ms":3600000"#));
        }
        for key in 0..KEYS {
            let (namespace, value) = (format!("agent:{}", agents[0]), value(client, key));
            let set = format!(
                r#""state.set","namespace":"{namespace}","key":"key-{key}","value":"{value}""#
            );
            requests.extend(command(&agents[0], &set));
        }
        driver::ask(&mut stream, &requests, &mut Json, agents.len() + KEYS)?;
        let mut tokens = Vec::new();
        for (side, agent) in agents.iter().enumerate() {
            let create = format!(r#""task.create","type":"{kind}-{side}""#);
            driver::ask(&mut stream, &command(agent, &create).repeat(TASKS), &mut Json, TASKS)?;
            let claim = format!(r#""task.claim","types":["{kind}-{side}"],"lease_ms":3600000"#);
            let claims = command(agent, &claim).repeat(TASKS);
            tokens.push(claimed(&driver::ask(&mut stream, &claims, &mut Json, TASKS)?)?);
        }
        let executions = (0..TASKS).flat_map(|task| [(0, task), (1, task)]).map(|(side, task)| {
            let (giver, receiver) = (&agents[side], &agents[1 - side]);
            execute(giver, receiver, &tokens[side][task])
        });
        let requests = Prepared(executions.collect());
        Ok((stream, requests, Cycles { protocol: Json, script: Executed }))
    };
    let opened = (0..CLIENTS).map(open).collect::<Outcome<Vec<_>>>()?;
    driver::measure(opened, 1, turn, server.pid())
}

fn execute(giver: &str, receiver: &str, (task, token): &(String, String)) -> Vec<u8> {
    let keys = (0..KEYS).map(|key| format!(r#""agent:{giver}/key-{key}""#));
    let keys = keys.collect::<Vec<_>>().join(",");
    let (to, keys) = (format!(r#""to":"{receiver}""#), format!(r#""keys":[{keys}]"#));
    let what = format!(r#""task":{task},"token":{token},"reason":"done""#);
    command(giver, &format!(r#""handoff.execute",{to},{what},{keys}"#))
}

/// The ids and tokens of claimed tasks, as raw bytes.
fn claimed(answers: &[u8]) -> Outcome<Vec<(String, String)>> {
    let text = String::from_utf8_lossy(answers);
    let after = |text: &str, name: &str| -> Option<String> {
        let rest = &text[text.find(name)? + name.len()..];
        Some(rest[..rest.find([',', '}'])?].to_owned())
    };
    let claims = text.split(r#""result":{"#).skip(1);
    let found = claims.map(|claim| {
        let (id, token) = (after(claim, r#""id":"#), after(claim, r#""token":"#));
        id.zip(token).ok_or_else(|| refused(claim.as_bytes()).into())
    });
    found.collect()
}

/// Creates the tables of Postgres's side.
pub(crate) fn prepare(server: &Server) -> Outcome<()> {
    let mut stream = postgres::connect(server.port())?;
    driver::ask(&mut stream, &postgres::query(TABLES), &mut postgres::Messages, 1)?;
    for client in 0..CLIENTS {
        let task =
            format!("INSERT INTO task VALUES ('t-{client}', 'agent-{client}-0', 'in_progress');");
        let keys = (0..KEYS).map(|key| {
            let value = value(client, key);
            format!(
                "INSERT INTO state (owner, key, value) \
                 VALUES ('agent-{client}-0', 'key-{key}', '{value}');"
            )
        });
        let fill: String = std::iter::once(task).chain(keys).collect();
        driver::ask(&mut stream, &postgres::query(&fill), &mut postgres::Messages, 1)?;
    }
    Ok(())
}

/// A statement must have handed over exactly one task.
struct Row;

impl Script for Row {
    fn hear(
        &mut self,
        element: &[u8],
        is_answer: bool,
        _: &mut Vec<u8>,
    ) -> Result<NextStep, String> {
        match element.first() {
            Some(b'C') if !element.ends_with(b" 1\0") => Err(refused(element)),
            Some(_) if is_answer => Ok(NextStep::Over),
            Some(_) | None => Ok(NextStep::GoesOn),
        }
    }
}

/// Back and forth.
struct Alternating {
    calls: [Vec<u8>; 2],
    next: usize,
}

impl Requests for Alternating {
    fn next(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.calls[self.next]);
        self.next = 1 - self.next;
    }
}

/// One round of Postgres's side.
pub(crate) fn theirs(server: &Server, turn: Duration) -> Outcome<TurnResult> {
    let open = |client: usize| {
        let mut stream = postgres::connect(server.port())?;
        let agents = [0, 1].map(|side| format!("agent-{client}-{side}"));
        let task = format!("t-{client}");
        let prepare = postgres::prepare("handoff", HAND_OFF);
        driver::ask(&mut stream, &prepare, &mut postgres::Messages, 1)?;
        let call =
            |from: usize| postgres::call("handoff", &[&agents[from], &agents[1 - from], &task]);
        // A round ends with either holder: the next one starts with the first.
        let back = format!(
            "UPDATE task SET holder = '{0}' WHERE id = '{task}'; \
             UPDATE state SET owner = '{0}' WHERE owner = '{1}'",
            agents[0], agents[1]
        );
        driver::ask(&mut stream, &postgres::query(&back), &mut postgres::Messages, 1)?;
        let requests = Alternating { calls: [call(0), call(1)], next: 0 };
        Ok((stream, requests, Cycles { protocol: postgres::Messages, script: Row }))
    };
    let opened = (0..CLIENTS).map(open).collect::<Outcome<Vec<_>>>()?;
    driver::measure(opened, 1, turn, server.pid())
}
