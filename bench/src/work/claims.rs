//! The cost of a claim when a million tasks are pending, against when a thousand are, of a thousand
//! types in both cases.
//!
//! Measured in the machine, where nothing is written and only deciding, encoding and the indexes of
//! the table count: waiting for a disk would hide them. Requests are parsed before the clock
//! starts. Claimed tasks are replaced between two measurements, so that a thousand pending tasks
//! stay about a thousand; every measurement has its own agent, since the number of leases of an
//! agent is limited.

use baton_core::wire::{Call, Frame, write_answer};
use baton_core::{AgentId, Answer, Request};
use serde_json::json;

use super::cycle::refused;
use crate::Outcome;
use crate::kernel::in_memory::InMemoryShard;
use crate::options::Options;
use crate::report::{Comparison, Report, Target, median, spread};
use crate::resources::{Stopwatch, count};
use crate::samples::value;

pub(crate) const NAME: &str = "claim from 1 M pending tasks of 1,000 types";
const TYPES: usize = 1_000;
const FEW: usize = 1_000;
/// Claims in one measurement: few enough that a thousand stay about a thousand.
const WINDOW: usize = 200;
/// Measurements per size; the median is reported.
const WINDOWS: usize = 25;
/// Tasks that are created at once.
const PORTION: usize = 10_000;
/// Has no factor in common with the number of types, so that types are not claimed in order.
const STRIDE: usize = 617;
const MOST: f64 = 2.0;

/// Measures both sizes in rounds.
pub(crate) fn run(options: &Options, report: &mut Report) -> Outcome<()> {
    let (mut few, mut many) = (Pending::new(FEW)?, Pending::new(options.keys)?);
    let (mut few_us, mut many_us) = (Vec::new(), Vec::new());
    for window in 0..WINDOWS {
        few_us.push(few.claim_us(window)?);
        many_us.push(many.claim_us(window)?);
    }
    let (few_median, many_median) = (median(&few_us), median(&many_us));
    let (least, greatest) = spread(&many_us);
    report.add(Comparison {
        name: format!("{NAME}, against 1,000, machine"),
        ratio: many_median / few_median,
        spread: (least / few_median, greatest / few_median),
        sides: (format!("{many_median:.2} µs"), format!("{few_median:.2} µs")),
        note: "no I/O".to_owned(),
        target: Some(Target::AtMost(MOST)),
        facts: json!({ "tasks": options.keys, "many_us": many_us, "few_us": few_us }),
    });
    Ok(())
}

/// An engine with pending tasks.
struct Pending {
    shard: InMemoryShard,
    /// Tasks created so far; the type of each follows from its number.
    made: usize,
    /// Claims made so far.
    claimed: usize,
}

impl Pending {
    fn new(tasks: usize) -> Outcome<Self> {
        let mut pending = Self { shard: InMemoryShard::new()?, made: 0, claimed: 0 };
        while pending.made < tasks {
            let portion = PORTION.min(tasks - pending.made);
            pending.create(portion, |number| number % TYPES)?;
            pending.shard.forget_log()?;
        }
        Ok(pending)
    }

    /// Creates this many tasks, with types that follow from their numbers.
    fn create(&mut self, tasks: usize, kind: impl Fn(usize) -> usize) -> Outcome<()> {
        let definition = value(self.made);
        let request = |number| {
            let kind = kind(number);
            let fields = format!(r#""task.create","type":"type-{kind}","definition":{definition}"#);
            request(&fields)
        };
        let requests = (0..tasks).map(request).collect::<Outcome<Vec<_>>>()?;
        self.made += tasks;
        check(&self.submit(requests, "maker")?, r#""status":"pending""#)
    }

    /// Microseconds per claim.
    fn claim_us(&mut self, window: usize) -> Outcome<f64> {
        let begin = self.claimed;
        let kind = |number: usize| (begin + number) * STRIDE % TYPES;
        let claim = |number| request(&format!(r#""task.claim","types":["type-{}"]"#, kind(number)));
        let requests = (0..WINDOW).map(claim).collect::<Outcome<Vec<_>>>()?;
        self.claimed += WINDOW;
        let clock = Stopwatch::start();
        let answers = self.submit(requests, &format!("agent-{window}"))?;
        let us = clock.elapsed().as_secs_f64() * 1e6 / count(WINDOW as u64);
        check(&answers, r#""lease":{"#)?;
        self.create(WINDOW, kind)?;
        self.shard.forget_log()?;
        Ok(us)
    }

    fn submit(&self, requests: Vec<Request>, agent: &str) -> Outcome<Vec<Answer>> {
        let mut answers = Vec::with_capacity(requests.len());
        self.shard.submit(requests, &AgentId::parse(agent)?, |answer| {
            answers.push(answer?);
            Ok(())
        })?;
        Ok(answers)
    }
}

/// Every answer must have this text.
pub(crate) fn check(answers: &[Answer], wanted: &str) -> Outcome<()> {
    let mut text = Vec::new();
    for answer in answers {
        text.clear();
        write_answer(&mut text, answer);
        if !text.windows(wanted.len()).any(|window| window == wanted.as_bytes()) {
            return Err(refused(&text).into());
        }
    }
    Ok(())
}

/// A request parsed from its text, as the server does.
pub(crate) fn request(command: &str) -> Outcome<Request> {
    match Frame::parse(&format!(r#"{{"command":{command}}}"#))?.call()? {
        Call::Command(command) => Ok(Request::from(command)),
        other => Err(format!("`{other:?}` is not a command").into()),
    }
}
