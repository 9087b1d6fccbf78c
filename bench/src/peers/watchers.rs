//! One write to a thousand watchers, each on its own connection.
//!
//! The peer is Redis: `SET` and `PUBLISH` in one write, to as many subscribers. Both sides
//! alternate with every write: see [`fanout`](super::fanout).

use serde_json::{Value, json};

use super::fanout::{FanoutProtocol, FanoutServer};
use super::processes::Server;
use super::{Bench, Kind, baton, driver, redis};
use crate::Outcome;
use crate::report::{Comparison, Report, Target, median};
use crate::resources::count;
use crate::samples::{mark, value};

pub(crate) const NAME: &str = "1 write to 1,000 WebSocket watchers";
const WATCHERS: usize = 1_000;
/// Writes to each side in a round.
const ROUNDS: usize = 40;
const ROUNDS_WARM_UP: usize = 5;
const KEY: &str = "bench/watched";
const MOST: f64 = 0.85;

/// Measures the time to the last watcher on both sides.
pub(crate) fn run(bench: &Bench<'_>, report: &mut Report) -> Outcome<()> {
    let Some(redis) = bench.start(Kind::Redis)? else { return Ok(()) };
    let (mut ours, mut theirs) = (side(bench.start_ours()?)?, side(redis)?);
    for round in 0..ROUNDS_WARM_UP {
        ours.round(round)?;
        theirs.round(round)?;
    }
    let (mut our_turns, mut their_turns) = (Vec::new(), Vec::new());
    for turn in 1..=bench.options.turns {
        let cpu_seconds = (ours.cpu_seconds(), theirs.cpu_seconds());
        let mut times_ms = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let number = turn * ROUNDS + round;
            times_ms.0.push(ours.round(number)?.as_secs_f64() * 1e3);
            times_ms.1.push(theirs.round(number)?.as_secs_f64() * 1e3);
        }
        our_turns.push(FanoutTimes::of(&times_ms.0, ours.cpu_seconds() - cpu_seconds.0));
        their_turns.push(FanoutTimes::of(&times_ms.1, theirs.cpu_seconds() - cpu_seconds.1));
    }
    let line = line(&our_turns, &their_turns);
    report.add(if bench.is_control() { line } else { line.target(Target::AtMost(MOST)) });
    Ok(())
}

fn line(ours: &[FanoutTimes], theirs: &[FanoutTimes]) -> Comparison {
    let pairs = ours.iter().zip(theirs);
    let ratios: Vec<f64> = pairs.map(|(ours, theirs)| ours.p50 / theirs.p50).collect();
    let (ours, theirs) = (FanoutTimes::middle(ours), FanoutTimes::middle(theirs));
    let name = format!("{NAME}, write to last, against Redis SET + PUBLISH");
    let facts = json!({ "ours": ours.json(), "theirs": theirs.json(), "ratios": ratios });
    Comparison { facts, ..Comparison::of_ratios(&name, &ratios, (ours.text(), theirs.text())) }
}

/// The result of a round on one side, in milliseconds.
#[derive(Clone, Copy)]
struct FanoutTimes {
    p50: f64,
    p99: f64,
    /// Processor time of the server per write.
    cpu: f64,
}

impl FanoutTimes {
    fn of(times_ms: &[f64], cpu_seconds: f64) -> Self {
        let mut sorted = times_ms.to_vec();
        sorted.sort_by(f64::total_cmp);
        Self {
            p50: median(times_ms),
            p99: sorted[sorted.len() * 99 / 100],
            cpu: cpu_seconds / count(times_ms.len() as u64) * 1e3,
        }
    }

    fn middle(turns: &[Self]) -> Self {
        let middle =
            |number: fn(&Self) -> f64| median(&turns.iter().map(number).collect::<Vec<f64>>());
        Self {
            p50: middle(|turn| turn.p50),
            p99: middle(|turn| turn.p99),
            cpu: middle(|turn| turn.cpu),
        }
    }

    fn text(&self) -> String {
        let Self { p50, p99, cpu } = self;
        format!("{p50:.2}/{p99:.2} ms, CPU {cpu:.2} ms")
    }

    fn json(&self) -> Value {
        json!({ "p50_ms": self.p50, "p99_ms": self.p99, "cpu_ms": self.cpu })
    }
}

fn side(server: Server) -> Outcome<FanoutServer> {
    let fanout = if server.kind() == Kind::Redis { REDIS } else { BATON };
    FanoutServer::new(server, fanout)
}

const BATON: FanoutProtocol = FanoutProtocol {
    listeners: WATCHERS,
    events: 1,
    listen: |server| baton::watch(server, &format!("state/shared/{KEY}")),
    event: || Box::new(baton::Event),
    connect: baton::connect,
    answer: || Box::new(baton::Json),
    answers: 1,
    write: |round| baton::set_value(round, KEY, &value(round)),
    last: mark,
};

const REDIS: FanoutProtocol = FanoutProtocol {
    listeners: WATCHERS,
    events: 1,
    listen: |server| redis::subscribe(server, KEY),
    event: || Box::new(redis::Resp),
    connect: driver::connect,
    answer: || Box::new(redis::Resp),
    answers: 2,
    write: |round| redis::set_and_publish(KEY, KEY, &value(round)),
    last: mark,
};
