//! The cost of a new key when there are a million, against when there are ten thousand.
//!
//! Measured twice: in the machine, where nothing is written and only deciding, encoding and the
//! indexes of the table count, and end to end. Commands are prepared before the clock starts.

use baton_core::{AgentId, Command, NamespaceName, Request};
use serde_json::json;
use tempfile::TempDir;

use super::in_memory::InMemoryShard;
use super::load;
use crate::Outcome;
use crate::options::Options;
use crate::report::{Comparison, Report, Target, median, spread};
use crate::resources::{Stopwatch, count, cpu_seconds};

const FEW: usize = 10_000;
/// New keys in one measurement: few enough that ten thousand stay ten thousand.
const WINDOW: usize = 2_000;
/// Measurements per size; the median is reported.
const WINDOWS: usize = 15;
/// New keys in one end-to-end measurement, of which there is only one per size in a round.
const WINDOW_DURABLE: usize = 20_000;

/// In the machine.
pub(crate) fn machine(options: &Options, report: &mut Report) -> Outcome<()> {
    let mut few = Vec::new();
    for _ in 0..WINDOWS {
        let mut shard = GrowingSpace::new()?;
        shard.fill(FEW)?;
        few.push(shard.insert_us()?);
    }
    let mut shard = GrowingSpace::new()?;
    shard.fill(options.keys)?;
    let many = (0..WINDOWS).map(|_| shard.insert_us()).collect::<Outcome<Vec<f64>>>()?;
    let name = "insert at 1 M against 10 k, machine";
    report.add(line(name, &many, &few, "no I/O".to_owned()));
    Ok(())
}

/// End to end: durable, with as many callers as for filling.
pub(crate) fn end_to_end(options: &Options, report: &mut Report) -> Outcome<()> {
    let (mut many, mut few) = (Vec::new(), Vec::new());
    let (mut many_cpu, mut few_cpu) = (Vec::new(), Vec::new());
    for _ in 0..options.turns.min(3) {
        for (keys, wall, cpu) in
            [(FEW, &mut few, &mut few_cpu), (options.keys, &mut many, &mut many_cpu)]
        {
            let (wall_us, cpu_us) = insert_durably(options, keys)?;
            wall.push(wall_us);
            cpu.push(cpu_us);
        }
    }
    let note = format!("CPU {:.2} against {:.2} µs each", median(&many_cpu), median(&few_cpu));
    report.add(line("insert at 1 M against 10 k, end to end", &many, &few, note));
    Ok(())
}

fn line(name: &str, many: &[f64], few: &[f64], note: String) -> Comparison {
    let (many_us, few_us) = (median(many), median(few));
    let (least, greatest) = spread(many);
    Comparison {
        name: name.to_owned(),
        ratio: many_us / few_us,
        spread: (least / few_us, greatest / few_us),
        sides: (format!("{many_us:.2} µs"), format!("{few_us:.2} µs")),
        note,
        target: Some(Target::AtMost(2.0)),
        facts: json!({ "many_us": many, "few_us": few }),
    }
}

/// An engine in memory that is filled with keys.
struct GrowingSpace {
    shard: InMemoryShard,
    agent: AgentId,
    keys: usize,
}

impl GrowingSpace {
    fn new() -> Outcome<Self> {
        Ok(Self { shard: InMemoryShard::new()?, agent: AgentId::parse(load::AGENT)?, keys: 0 })
    }

    fn fill(&mut self, keys: usize) -> Outcome<()> {
        while self.keys < keys {
            let requests = self.requests(FEW.min(keys - self.keys))?;
            self.submit(requests)?;
            self.shard.forget_log()?;
        }
        Ok(())
    }

    /// Microseconds per new key.
    fn insert_us(&mut self) -> Outcome<f64> {
        let requests = self.requests(WINDOW)?;
        let watch = Stopwatch::start();
        self.submit(requests)?;
        Ok(watch.elapsed().as_secs_f64() * 1e6 / count(WINDOW as u64))
    }

    fn requests(&mut self, number: usize) -> Outcome<Vec<Request>> {
        let numbers = self.keys..self.keys + number;
        self.keys += number;
        let namespace = NamespaceName::shared();
        let request = |number| {
            let command = load::set(&namespace, &load::key(number), &load::value(number))?;
            Ok(Request::from(Command::from(command)))
        };
        numbers.map(request).collect()
    }

    fn submit(&self, requests: Vec<Request>) -> Outcome<()> {
        self.shard.submit(requests, &self.agent, |answer| {
            answer?;
            Ok(())
        })
    }
}

/// Microseconds, and microseconds of processor time, per new key.
fn insert_durably(options: &Options, keys: usize) -> Outcome<(f64, f64)> {
    let folder = TempDir::with_prefix_in("baton-bench-", &options.folder)?;
    load::runtime()?.block_on(async {
        let baton = baton::open(folder.path()).await?;
        let workspace = load::workspace(&baton)?;
        load::fill(&workspace, 0..keys).await?;
        // Background work left by the million keys is not a cost of the next key.
        baton.compact(&workspace).await?;
        let (watch, cpu) = (Stopwatch::start(), cpu_seconds());
        load::fill(&workspace, keys..keys + WINDOW_DURABLE).await?;
        let each = 1e6 / count(WINDOW_DURABLE as u64);
        let took = (watch.elapsed().as_secs_f64() * each, (cpu_seconds() - cpu) * each);
        baton.close().await;
        Ok(took)
    })
}
