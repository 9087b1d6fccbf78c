//! Fairness: the latency of a quiet tenant while another one does what costs the server most.
//!
//! ```text
//!   round 1   quiet alone ── quiet beside the noise of another workspace
//!   round 2   the same, the other way around …
//! ```
//!
//! The quiet tenant has one connection with one request in flight, and sets entries over a
//! WebSocket. Its p99 beside the noisy tenant may be twice as long as alone: the ratio is taken per
//! round, and the median is reported, for each kind of noise.
//!
//! The noisy tenant has its own thread here. On a machine with two cores that thread also takes
//! processor time from the server; a server alone on its machine does better than this. So two
//! numbers of the serving thread are printed too: for how long it was held by one connection at a
//! time, which is the server's part, and for how long it was ready to run and got no processor,
//! which is the machine's.

mod noise;
mod serving_thread;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use self::noise::Noise;
use self::serving_thread::ServingThread;
use crate::Outcome;
use crate::options::Options;
use crate::peers::driver::{self, Opened, Requests, TurnResult};
use crate::peers::processes::Server;
use crate::peers::programs;
use crate::peers::{baton, websocket};
use crate::report::{Comparison, Report, Target, median, rate, say};
use crate::samples::{key, value};

/// The maximum ratio of the p99 latencies.
const MOST: f64 = 2.0;
/// Keys of the quiet tenant.
const KEYS: usize = 256;

/// One set after the other.
struct Sets {
    requests: Vec<Vec<u8>>,
    next: usize,
}

impl Sets {
    fn new() -> Self {
        let request = |number: usize| {
            let (id, key, value) = (number + 1, key(number), value(number));
            let head = format!(r#"{{"id":{id},"workspace":"quiet","agent":"ada""#);
            let what = r#""command":"state.set","namespace":"shared""#;
            let text = format!(r#"{head},{what},"key":"{key}","value":{value}}}"#);
            let mut frame = Vec::new();
            websocket::text(text.as_bytes(), &mut frame);
            frame
        };
        Self { requests: (0..KEYS).map(request).collect(), next: 0 }
    }
}

impl Requests for Sets {
    fn next(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.requests[self.next]);
        self.next = (self.next + 1) % self.requests.len();
    }
}

/// Measures both ways, in rounds, for each kind of noise.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    let program = programs::baton(options.baton.as_deref())?;
    let mut report = Report::default();
    for noise in noise::ALL.iter().filter(|noise| options.wants(noise.name)) {
        compare(options, &program, noise, &mut report)?;
    }
    say(&report.summary());
    if let Some(path) = &options.json {
        report.write_json(path)?;
    }
    Ok(())
}

fn compare(options: &Options, program: &Path, noise: &Noise, report: &mut Report) -> Outcome<()> {
    let mut turns = Vec::new();
    for number in 0..options.turns {
        // Fresh for every round, so that the noisy tenant's data does not affect the other's
        // latency.
        let alone_first = number % 2 == 0;
        let first = turn(options, program, (!alone_first).then_some(noise))?;
        let second = turn(options, program, alone_first.then_some(noise))?;
        turns.push(if alone_first { (first, second) } else { (second, first) });
    }
    let of = |number: fn(&(Quiet, Quiet)) -> f64| turns.iter().map(number).collect::<Vec<_>>();
    let noisy_rate = median(&of(|turn| turn.1.noisy_rate));
    let serving: Vec<_> = turns.iter().map(|turn| turn.1.serving.clone()).collect();
    let serving = ServingThread::sum(&serving);
    for (name, ratios, sides, target) in [
        (
            "p99",
            of(|turn| turn.1.p99_us / turn.0.p99_us),
            (median(&of(|turn| turn.1.p99_us)), median(&of(|turn| turn.0.p99_us))),
            Some(Target::AtMost(MOST)),
        ),
        (
            "p50",
            of(|turn| turn.1.p50_us / turn.0.p50_us),
            (median(&of(|turn| turn.1.p50_us)), median(&of(|turn| turn.0.p50_us))),
            None,
        ),
    ] {
        let said = (format!("{:.0} µs beside it", sides.0), format!("{:.0} µs alone", sides.1));
        let facts = json!({
            "ratios": ratios, "beside_us": sides.0, "alone_us": sides.1,
            "noisy_per_second": noisy_rate, "serving_thread": serving.json()
        });
        let note = format!("while the noisy one does {}{}", rate(noisy_rate), serving.text());
        let name = format!("{name} of a quiet tenant beside {}", noise.name);
        let line =
            Comparison { note, target, facts, ..Comparison::of_ratios(&name, &ratios, said) };
        report.add(line);
    }
    Ok(())
}

/// The latency of the quiet tenant, the throughput of the noisy one, and what the serving thread
/// did meanwhile.
struct Quiet {
    p50_us: f64,
    p99_us: f64,
    noisy_rate: f64,
    serving: ServingThread,
}

fn turn(options: &Options, program: &Path, noise: Option<&Noise>) -> Outcome<Quiet> {
    let server = baton::start(program, &options.folder)?;
    let Some(noise) = noise else {
        let TurnResult { p50_us, p99_us, .. } = measure_quiet(options, &server)?;
        return Ok(Quiet { p50_us, p99_us, noisy_rate: 0.0, serving: ServingThread::default() });
    };
    let port = server.port();
    noise.prepare(port)?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flooding =
            scope.spawn(|| noise.flood(port, &is_over).map_err(|error| error.to_string()));
        let before = ServingThread::now(&server);
        let measured = measure_quiet(options, &server);
        let serving = ServingThread::now(&server);
        is_over.store(true, Ordering::SeqCst);
        let noisy_rate = flooding.join().map_err(|_| "the noisy tenant panicked")??;
        let TurnResult { p50_us, p99_us, .. } = measured?;
        Ok(Quiet { p50_us, p99_us, noisy_rate, serving: serving?.since(&before?) })
    })
}

fn measure_quiet(options: &Options, server: &Server) -> Outcome<TurnResult> {
    let opened: Opened<Sets, baton::Json> =
        (baton::connect(server.port())?, Sets::new(), baton::Json);
    driver::measure(vec![opened], 1, options.turn, server.pid())
}
