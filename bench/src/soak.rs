//! Soak: ten thousand connections and a thousand requests per second, for as long as it takes to
//! see whether memory grows.
//!
//! ```text
//!   open all ── every 10 ms the next ten connections send, alternately writes and reads ── close
//!                     └── the server's memory, fifty times in total
//! ```
//!
//! Every connection is used every ten seconds and writes its own key, so the amount of stored data
//! is constant. The first quarter is warm-up; the ratio is the median of the last quarter against
//! that of the second. A refused, lost or wrong answer fails the run, and so does a server that
//! cannot keep up.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::Outcome;
use crate::options::Options;
use crate::peers::latencies::Latencies;
use crate::peers::processes::{Server, allow_many_files, go_on_unless_interrupted};
use crate::peers::programs::Programs;
use crate::peers::{Bench, Kind, baton, driver, report_all};
use crate::report::{Comparison, Report, Target, median, spread};
use crate::resources::{Stopwatch, count, pause};
use crate::samples::{key, value};

/// Servers that can be left out: there is only one.
pub(crate) const SERVERS: [&str; 1] = ["baton"];
/// The default duration.
pub(crate) const SECONDS: u64 = 600;
const NAME: &str = "memory after 10,000 connections at 1,000 requests a second";
const CONNECTIONS: usize = 10_000;
/// Connections that send at a time.
const AT_ONCE: usize = 10;
const EVERY: Duration = Duration::from_millis(10);
const SAMPLES: u32 = 50;
const MOST: f64 = 1.05;

/// Starts a server, and runs the load.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    report_all(options, "soak.json", |report| soak(options, report))
}

fn soak(options: &Options, report: &mut Report) -> Outcome<()> {
    let files = allow_many_files();
    let programs = Programs::provide(options, &[Kind::Baton], report)?;
    let bench = Bench { options, programs, files };
    let server = bench.start(Kind::Baton)?.ok_or("there is no Baton to wear in")?;
    let worn = server.blame(SoakResult::of(&server, options.turn))?;
    report.add(worn.line());
    Ok(())
}

/// The measurements.
struct SoakResult {
    memory: Vec<f64>,
    latencies: Latencies,
    seconds: f64,
}

impl SoakResult {
    fn of(server: &Server, whole: Duration) -> Outcome<Self> {
        let mut streams = Vec::with_capacity(CONNECTIONS);
        for _ in 0..CONNECTIONS {
            go_on_unless_interrupted()?;
            streams.push(baton::connect(server.port())?);
        }
        let mut worn = Self { memory: Vec::new(), latencies: Latencies::new(), seconds: 0.0 };
        let clock = Stopwatch::start();
        let mut due = Duration::ZERO;
        for round in 0_usize.. {
            go_on_unless_interrupted()?;
            let passes = round * AT_ONCE / CONNECTIONS;
            let first = round * AT_ONCE % CONNECTIONS;
            worn.ask(&mut streams[first..first + AT_ONCE], first, passes)?;
            due += EVERY;
            if clock.elapsed() >= whole / SAMPLES * u32::try_from(worn.memory.len())? {
                worn.memory.push(count(server.resident_bytes()?) / 1024.0 / 1024.0);
            }
            if due >= whole {
                break;
            }
            pause(due.saturating_sub(clock.elapsed()));
        }
        worn.seconds = clock.elapsed().as_secs_f64();
        Ok(worn)
    }

    /// Lets some connections send at once, and waits for all of them.
    fn ask(&mut self, streams: &mut [TcpStream], first: usize, pass: usize) -> Outcome<()> {
        let clock = Stopwatch::start();
        for (number, stream) in (first..).zip(&mut *streams) {
            // Only a key that was written before can be read.
            let request = if pass.is_multiple_of(2) {
                baton::set_value(number, &key(number), &value(number + pass))
            } else {
                baton::get(number)
            };
            stream.write_all(&request)?;
        }
        for stream in streams {
            driver::ask(stream, &[], &mut baton::Json, 1)?;
            self.latencies.add(clock.elapsed());
        }
        Ok(())
    }

    fn line(&self) -> Comparison {
        let quarter = self.memory.len() / 4;
        let settled = median(&self.memory[quarter..2 * quarter]);
        let last = &self.memory[self.memory.len() - quarter..];
        let (least, greatest) = spread(last);
        let rate = self.latencies.total() / self.seconds;
        let (p50, p99) = (self.latencies.quantile_us(0.5), self.latencies.quantile_us(0.99));
        let note = format!("{rate:.0} answers/s for {:.0} s, {p50:.0}/{p99:.0} µs", self.seconds);
        Comparison {
            name: NAME.to_owned(),
            ratio: median(last) / settled,
            spread: (least / settled, greatest / settled),
            sides: (format!("{:.1} MiB", median(last)), format!("{settled:.1} MiB")),
            note,
            target: Some(Target::AtMost(MOST)),
            facts: json!({ "mib": self.memory, "answers_per_second": rate, "p99_us": p99 }),
        }
    }
}
