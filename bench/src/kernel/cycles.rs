//! The path of every request but plain sets, in process: a text is parsed, decided, encoded for the
//! log and answered as text. No socket, no disk and no thread are part of it, so that a change of a
//! tenth of a microsecond shows.
//!
//! | cycle | requests of one client |
//! |---|---|
//! | task | `task.create`, `task.claim`, `task.complete` |
//! | lock | `lock.acquire`, `lock.release` |
//! | request | `inbox.receive`, `message.request`, `message.reply` |
//! | hand-off | `handoff.execute` of a task and 20 keys |
//!
//! Sixteen clients take turns, and their requests form one group, as with sixteen connections. The
//! ratio is to a `state.set` of a new key with a TTL, which does not take the fast path either.

use std::sync::Arc;

use baton::Admission;
use baton::shard::Shard;
use baton::waiter::Waiter;
use baton_core::wire::{Call, Frame, write_answer};
use baton_core::{AgentId, Mutation, Request, WorkspaceName};
use baton_log::MemoryLog;
use serde_json::json;

use super::in_memory::InMemoryShard;
use crate::Outcome;
use crate::options::Options;
use crate::peers::baton::field;
use crate::report::{Comparison, Report, median, spread};
use crate::resources::{Stopwatch, count};
use crate::samples::value;

const CLIENTS: usize = 16;
/// Cycles of every client in one measurement.
const ROUNDS: usize = 250;
/// Hand-offs: each takes a task that was claimed before the measurement.
const HANDOFF_ROUNDS: usize = 50;
/// Keys that are handed over.
const KEYS: usize = 20;

/// A cycle and its measurement, in microseconds for each cycle.
type Cycle = (&'static str, fn(&mut Clients) -> Outcome<f64>);

const CYCLES: [Cycle; 4] = [
    ("task cycle", Clients::tasks),
    ("lock pair", Clients::locks),
    ("request and reply", Clients::requests),
    ("hand-off of 20 keys", Clients::handoffs),
];

pub(super) const NAME: &str = "cycles, in process";

/// Measures all of them, in rounds.
pub(super) fn run(options: &Options, report: &mut Report) -> Outcome<()> {
    for (name, cycle) in CYCLES {
        let (mut clients, mut beside) = (Clients::new()?, Clients::new()?);
        let (mut ours, mut sets) = (Vec::new(), Vec::new());
        for turn in 0..=options.turns {
            let (us, set_us) = (cycle(&mut clients)?, beside.sets()?);
            // The first one warms up.
            if turn > 0 {
                ours.push(us);
                sets.push(set_us);
            }
        }
        let (us, set_us) = (median(&ours), median(&sets));
        let (least, greatest) = spread(&ours);
        report.add(Comparison {
            name: format!("{name}, in process, against a set with a TTL"),
            ratio: us / set_us,
            spread: (least / set_us, greatest / set_us),
            sides: (format!("{us:.2} µs, least {least:.2}"), format!("{set_us:.2} µs")),
            note: "no I/O".to_owned(),
            target: None,
            facts: json!({ "us": ours, "set_us": sets }),
        });
    }
    Ok(())
}

/// A shard and its clients.
struct Clients {
    memory: InMemoryShard,
    /// Two agents of every client.
    agents: Vec<[AgentId; 2]>,
    /// Encoded answers, and where each of them ends.
    out: Vec<u8>,
    ends: Vec<usize>,
    /// How many measurements there were.
    turn: usize,
}

/// A request that was submitted.
enum Submitted {
    Held(baton::HeldAnswer),
    Waits(Arc<Waiter>),
}

impl Clients {
    fn new() -> Outcome<Self> {
        let agents = (0..CLIENTS).map(|client| {
            let agent = |side: usize| AgentId::parse(&format!("agent-{client}-{side}"));
            Ok([agent(0)?, agent(1)?])
        });
        let agents = agents.collect::<Outcome<_>>()?;
        Ok(Self {
            memory: InMemoryShard::new()?,
            agents,
            out: Vec::new(),
            ends: Vec::new(),
            turn: 0,
        })
    }

    fn shard(&self) -> (&Shard<MemoryLog>, &WorkspaceName) {
        self.memory.parts()
    }

    /// Parses and submits a request of every client.
    fn submit(&self, side: usize, texts: &[String]) -> Outcome<Vec<Submitted>> {
        let (shard, workspace) = self.shard();
        let mut submitted = Vec::with_capacity(texts.len());
        for (agents, text) in self.agents.iter().zip(texts) {
            let mutation = match Frame::parse(text)?.call()? {
                Call::Command(command) => Mutation::Command(command),
                Call::Transaction(mutation) => mutation,
                other => return Err(format!("`{other:?}` is not a command").into()),
            };
            let request = Request { mutation, idempotency_key: None };
            submitted.push(match shard.submit(workspace, request, &agents[side]) {
                Admission::Answer(held) => Submitted::Held(held),
                Admission::Wait(queued) => Submitted::Waits(queued.waiter),
                Admission::Retry(..) => return Err("the workspace is in memory".into()),
            });
        }
        Ok(submitted)
    }

    /// Makes what was submitted durable and encodes the answers, one after the other. Returns those
    /// that wait.
    fn answer(&mut self, submitted: Vec<Submitted>) -> Outcome<Vec<Arc<Waiter>>> {
        let durable = self.memory.flush()?;
        let mut waiting = Vec::new();
        self.out.clear();
        self.ends.clear();
        for submitted in submitted {
            let answer = match submitted {
                Submitted::Held(held) => held.open(durable)?,
                Submitted::Waits(waiter) => match waiter.result() {
                    Some(result) => result??,
                    None => {
                        waiting.push(waiter);
                        continue;
                    }
                },
            };
            write_answer(&mut self.out, &answer);
            self.ends.push(self.out.len());
        }
        Ok(waiting)
    }

    /// One request of every client, at once: microseconds, and the answers.
    fn ask(&mut self, side: usize, texts: &[String]) -> Outcome<(f64, Vec<String>)> {
        let clock = Stopwatch::start();
        let submitted = self.submit(side, texts)?;
        self.answer(submitted)?;
        let us = clock.elapsed().as_secs_f64() * 1e6;
        let begins = std::iter::once(&0).chain(&self.ends);
        let answers = begins.zip(&self.ends).map(|(begin, end)| &self.out[*begin..*end]);
        let answers = answers.map(|answer| String::from_utf8_lossy(answer).into_owned());
        Ok((us, answers.collect()))
    }

    /// The same requests of all clients, whose answers are not needed.
    fn ask_for(&mut self, side: usize, text: impl Fn(usize) -> String) -> Outcome<f64> {
        Ok(self.ask(side, &texts(side, text))?.0)
    }

    fn sets(&mut self) -> Outcome<f64> {
        self.turn += 1;
        let (turn, mut us) = (self.turn, 0.0);
        for round in 0..ROUNDS {
            us += self.ask_for(0, |client| {
                let value = value(client);
                let key = format!(r#""key":"k-{turn}-{round}-{client}""#);
                format!(r#""state.set","namespace":"shared",{key},"value":{value},"ttl_ms":600000"#)
            })?;
        }
        self.done(us, ROUNDS)
    }

    fn tasks(&mut self) -> Outcome<f64> {
        let creates = texts(0, |client| {
            format!(r#""task.create","type":"type-{client}","definition":{}"#, value(client))
        });
        let claims = texts(0, |client| format!(r#""task.claim","types":["type-{client}"]"#));
        let mut us = 0.0;
        for _ in 0..ROUNDS {
            us += self.ask(0, &creates)?.0;
            let (claimed_us, answers) = self.ask(0, &claims)?;
            let completes = answers.iter().enumerate().map(|(client, answer)| {
                let (task, token) = held_task(answer)?;
                let complete = format!(r#""task.complete","task":{task},"token":{token}"#);
                Ok(frame((client, 0), &complete))
            });
            let completes = completes.collect::<Outcome<Vec<_>>>()?;
            us += claimed_us + self.ask(0, &completes)?.0;
        }
        self.done(us, ROUNDS)
    }

    fn locks(&mut self) -> Outcome<f64> {
        let acquires =
            texts(0, |client| format!(r#""lock.acquire","name":"lock-{client}","ttl_ms":30000"#));
        let mut us = 0.0;
        for _ in 0..ROUNDS {
            let (acquired_us, answers) = self.ask(0, &acquires)?;
            let releases = answers.iter().enumerate().map(|(client, answer)| {
                let token = found(answer, &[r#""token":"#])?;
                let name = format!("lock-{client}");
                let release = format!(r#""lock.release","name":"{name}","token":{token}"#);
                Ok(frame((client, 0), &release))
            });
            let releases = releases.collect::<Outcome<Vec<_>>>()?;
            us += acquired_us + self.ask(0, &releases)?.0;
        }
        self.done(us, ROUNDS)
    }

    fn requests(&mut self) -> Outcome<f64> {
        if self.turn == 0 {
            self.register()?;
        }
        self.turn += 1;
        let receives = texts(1, |_| r#""inbox.receive","limit":1,"wait_ms":60000"#.to_owned());
        let requests = texts(0, |client| {
            let (to, body) = (format!("agent-{client}-1"), value(client));
            format!(r#""message.request","to":"{to}","body":{body},"timeout_ms":60000"#)
        });
        let mut us = 0.0;
        for _ in 0..ROUNDS {
            let clock = Stopwatch::start();
            let submitted = self.submit(1, &receives)?;
            let receiving = self.answer(submitted)?;
            let submitted = self.submit(0, &requests)?;
            let requesting = self.answer(submitted)?;
            us += clock.elapsed().as_secs_f64() * 1e6;
            let mut replies = Vec::new();
            us += self.hear(receiving, |client, answer| {
                let (id, body) = (found(answer, &[r#""messages":["#, r#""id":"#])?, value(client));
                let reply = format!(r#""message.reply","request":{id},"body":{body}"#);
                replies.push(frame((client, 1), &reply));
                Ok(())
            })?;
            us += self.ask(1, &replies)?.0 + self.hear(requesting, |_, _| Ok(()))?;
        }
        self.done(us, ROUNDS)
    }

    /// Encodes the results of waiting calls; microseconds.
    fn hear(
        &mut self,
        waiting: Vec<Arc<Waiter>>,
        mut hear: impl FnMut(usize, &str) -> Outcome<()>,
    ) -> Outcome<f64> {
        let mut us = 0.0;
        if waiting.len() != CLIENTS {
            return Err("all of them wait".into());
        }
        for (client, waiter) in waiting.into_iter().enumerate() {
            let clock = Stopwatch::start();
            let answer = waiter.result().ok_or("it was answered")???;
            self.out.clear();
            write_answer(&mut self.out, &answer);
            us += clock.elapsed().as_secs_f64() * 1e6;
            hear(client, &String::from_utf8_lossy(&self.out))?;
        }
        Ok(us)
    }

    fn register(&mut self) -> Outcome<()> {
        for side in [0, 1] {
            self.ask_for(side, |_| r#""agent.register","ttl_ms":3600000"#.to_owned())?;
        }
        self.ask_for(1, |_| r#""handler.register","handler":"bench""#.to_owned())?;
        Ok(())
    }

    fn handoffs(&mut self) -> Outcome<f64> {
        if self.turn == 0 {
            self.register()?;
            for key in 0..KEYS {
                self.ask_for(0, |client| {
                    let to = format!(r#""namespace":"agent:agent-{client}-0","key":"key-{key}""#);
                    format!(r#""state.set",{to},"value":{}"#, value(client))
                })?;
            }
        }
        self.turn += 1;
        let (turn, mut us) = (self.turn, 0.0);
        for _ in 0..HANDOFF_ROUNDS {
            for side in [0, 1] {
                let kind = |client: usize| format!("type-{turn}-{client}");
                self.ask_for(side, |client| format!(r#""task.create","type":"{}""#, kind(client)))?;
                let claim = |client| format!(r#""task.claim","types":["{}"]"#, kind(client));
                let claims = texts(side, claim);
                let (_, answers) = self.ask(side, &claims)?;
                let executes = answers.iter().enumerate().map(|(client, answer)| {
                    Ok(frame((client, side), &execute(client, side, held_task(answer)?)))
                });
                let executes = executes.collect::<Outcome<Vec<_>>>()?;
                us += self.ask(side, &executes)?.0;
            }
        }
        self.done(us, 2 * HANDOFF_ROUNDS)
    }

    /// Microseconds for each cycle.
    fn done(&mut self, us: f64, rounds: usize) -> Outcome<f64> {
        self.memory.forget_log()?;
        Ok(us / count((rounds * CLIENTS) as u64))
    }
}

fn execute(client: usize, side: usize, (task, token): (&str, &str)) -> String {
    let keys = (0..KEYS).map(|key| format!(r#""agent:agent-{client}-{side}/key-{key}""#));
    let keys = keys.collect::<Vec<_>>().join(",");
    let to = format!(r#""to":"agent-{client}-{}""#, 1 - side);
    let what = format!(r#""task":{task},"token":{token},"reason":"done""#);
    format!(r#""handoff.execute",{to},{what},"keys":[{keys}]"#)
}

fn held_task(answer: &str) -> Outcome<(&str, &str)> {
    let token = found(answer, &[r#""lease":{"#, r#""token":"#])?;
    Ok((found(answer, &[r#""result":{"#, r#""id":"#])?, token))
}

fn found<'a>(answer: &'a str, names: &[&str]) -> Outcome<&'a str> {
    field(answer.as_bytes(), names).ok_or_else(|| format!("unexpected: {answer}").into())
}

fn frame((client, side): (usize, usize), fields: &str) -> String {
    let agent = format!("agent-{client}-{side}");
    format!(r#"{{"id":1,"workspace":"bench","agent":"{agent}","command":{fields}}}"#)
}

fn texts(side: usize, text: impl Fn(usize) -> String) -> Vec<String> {
    (0..CLIENTS).map(|client| frame((client, side), &text(client))).collect()
}
