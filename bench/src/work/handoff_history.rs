//! The cost of an offer and its acceptance after a million hand-offs, against before any.
//!
//! Measured in the machine, where nothing is written and only deciding, encoding and the indexes of
//! the table count.

use baton_core::AgentId;
use serde_json::json;

use super::claims::{check, request};
use crate::Outcome;
use crate::kernel::in_memory::InMemoryShard;
use crate::options::Options;
use crate::report::{Comparison, Report, Target, median, spread};
use crate::resources::{Stopwatch, count};

pub(crate) const NAME: &str = "offer + accept after 1 M finished hand-offs";
/// Hand-offs in one measurement.
const WINDOW: usize = 50;
/// Measurements per size; the median is reported.
const WINDOWS: usize = 41;
/// Hand-offs that are made at once.
const PORTION: usize = 1_000;
const MOST: f64 = 1.2;

/// Measures both in rounds.
pub(crate) fn run(options: &Options, report: &mut Report) -> Outcome<()> {
    let (mut few, mut many) = (Past::new(0)?, Past::new(options.keys)?);
    let (mut few_us, mut many_us) = (Vec::new(), Vec::new());
    for _ in 0..WINDOWS {
        few_us.push(few.offer_and_accept_us()?);
        many_us.push(many.offer_and_accept_us()?);
    }
    let (few_median, many_median) = (median(&few_us), median(&many_us));
    let (least, greatest) = spread(&many_us);
    report.add(Comparison {
        name: format!("{NAME}, against none, machine"),
        ratio: many_median / few_median,
        spread: (least / few_median, greatest / few_median),
        sides: (format!("{many_median:.2} µs"), format!("{few_median:.2} µs")),
        note: "no I/O".to_owned(),
        target: Some(Target::AtMost(MOST)),
        facts: json!({ "handoffs": options.keys, "many_us": many_us, "few_us": few_us }),
    });
    Ok(())
}

/// An engine with finished hand-offs.
struct Past {
    shard: InMemoryShard,
    giver: AgentId,
    receiver: AgentId,
    /// The last revision.
    revision: u64,
}

impl Past {
    fn new(handoffs: usize) -> Outcome<Self> {
        let (giver, receiver) = (AgentId::parse("ada")?, AgentId::parse("bob")?);
        let mut past = Self { shard: InMemoryShard::new()?, giver, receiver, revision: 0 };
        let mut made = 0;
        while made < handoffs {
            let portion = PORTION.min(handoffs - made);
            for _ in 0..portion.div_ceil(WINDOW) {
                past.round()?;
            }
            made += portion;
            past.shard.forget_log()?;
        }
        Ok(past)
    }

    /// Microseconds per hand-off.
    fn offer_and_accept_us(&mut self) -> Outcome<f64> {
        let us = self.round()?;
        self.shard.forget_log()?;
        Ok(us)
    }

    /// Offers, accepts and completes some; microseconds for the offer and the acceptance of each.
    fn round(&mut self) -> Outcome<f64> {
        let offer = r#""handoff.offer","to":"bob","reason":"done","state":{"tone":"dry"}"#;
        let first = self.revision + 1;
        let ids = move |verb: &'static str| {
            (0..WINDOW as u64).map(move |number| {
                request(&format!(r#""handoff.{verb}","handoff":"h-{:010}""#, first + number))
            })
        };
        let offers = (0..WINDOW).map(|_| request(offer)).collect::<Outcome<Vec<_>>>()?;
        let accepts = ids("accept").collect::<Outcome<Vec<_>>>()?;
        let completes = ids("complete").collect::<Outcome<Vec<_>>>()?;
        let clock = Stopwatch::start();
        let offered = self.submit(offers, &self.giver)?;
        let accepted = self.submit(accepts, &self.receiver)?;
        let us = clock.elapsed().as_secs_f64() * 1e6 / count(WINDOW as u64);
        check(&offered, r#""status":"offered""#)?;
        check(&accepted, r#""status":"accepted""#)?;
        check(&self.submit(completes, &self.receiver)?, r#""status":"completed""#)?;
        self.revision += 3 * WINDOW as u64;
        Ok(us)
    }

    fn submit(
        &self,
        requests: Vec<baton_core::Request>,
        agent: &AgentId,
    ) -> Outcome<Vec<baton_core::Answer>> {
        let mut answers = Vec::with_capacity(requests.len());
        self.shard.submit(requests, agent, |answer| {
            answers.push(answer?);
            Ok(())
        })?;
        Ok(answers)
    }
}
