//! Runs seeds of the simulator.
//!
//! ```text
//!   baton-sim --seeds 2000 [--start N] [--steps N]     many seeds, on two threads
//!   baton-sim --seed N -v                              one seed, with its trace
//!   baton-sim --servers 3 --seeds 2000                 several servers that share one log
//!   baton-sim --servers 3 --shards 4 --seeds 2000      several shards, placed among them
//! ```
#![expect(clippy::print_stdout, reason = "this is a program, and its output is its purpose")]

use std::process::ExitCode;
use std::sync::Mutex;

use baton_sim::coverage::{Coverage, SOMETIMES, SOMETIMES_SHARDS, SOMETIMES_SHARED};
use baton_sim::{FleetSize, Outcome, simulate, simulate_servers};

/// One in this many seeds is run twice, and must give the same result.
const TWICE_EVERY: u64 = 50;
/// From this many seeds on, every rare event must have occurred.
const COVERAGE_FROM: u64 = 1_000;
/// More shards than servers in memory ever need.
const SHARDS_MAX: u64 = 64;
/// The maximum number of reported failures.
const SHOWN_MAX: usize = 20;

struct Arguments {
    start: u64,
    seeds: u64,
    steps: Option<u64>,
    /// The number of servers that share one log; none if there is one on a disk.
    servers: Option<u64>,
    /// How many shards it has.
    shards: u64,
    verbose: bool,
}

impl Arguments {
    fn simulate(&self, seed: u64, listener: Option<fn(&str)>) -> Outcome {
        let servers = self.servers.and_then(|servers| usize::try_from(servers).ok());
        match (servers, u32::try_from(self.shards)) {
            (Some(servers), Ok(shards)) => {
                simulate_servers(seed, FleetSize { servers, shards }, self.steps, listener)
            }
            _ => simulate(seed, self.steps, listener),
        }
    }

    /// The rare events that occur in some seeds.
    fn sometimes(&self) -> Vec<&'static str> {
        match (self.servers, self.shards) {
            (None, _) => SOMETIMES.to_vec(),
            (Some(_), 1) => SOMETIMES_SHARED.to_vec(),
            (Some(_), _) => [&SOMETIMES_SHARED[..], &SOMETIMES_SHARDS].concat(),
        }
    }

    /// The options that select the simulation.
    fn selection(&self) -> String {
        let shards = format!("--shards {} ", self.shards);
        let shards = if self.shards == 1 { "" } else { &shards };
        self.servers.map_or(String::new(), |servers| format!("--servers {servers} {shards}"))
    }
}

#[derive(Default)]
struct Total {
    seeds: u64,
    steps: u64,
    faults: u64,
    failures: Vec<(u64, String)>,
    coverage: Coverage,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            println!("{error}");
            println!(
                "usage: baton-sim [--servers N [--shards N]] [--seeds N] [--start N] [--steps N] \
                 [--seed N] [-v]"
            );
            return ExitCode::from(2);
        }
    };
    // A panic is reported with its seed; the usual message would only interleave with others.
    if !arguments.verbose {
        std::panic::set_hook(Box::new(|_| {}));
    }
    let total = run(&arguments);
    report(&arguments, &total)
}

fn parse(arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let (start, seeds) = (1, 200);
    let mut parsed =
        Arguments { start, seeds, steps: None, servers: None, shards: 1, verbose: false };
    let mut arguments = arguments;
    while let Some(name) = arguments.next() {
        let mut number = || {
            let value = arguments.next().unwrap_or_default();
            value.parse().map_err(|_| format!("`{name}` needs a number, not `{value}`"))
        };
        match name.as_str() {
            "--start" => parsed.start = number()?,
            "--seeds" => parsed.seeds = number()?,
            "--steps" => parsed.steps = Some(number()?),
            "--servers" => parsed.servers = Some(number()?).filter(|servers| *servers > 0),
            "--shards" => parsed.shards = number()?.clamp(1, SHARDS_MAX),
            "--seed" => (parsed.start, parsed.seeds) = (number()?, 1),
            "-v" => parsed.verbose = true,
            other => return Err(format!("`{other}` means nothing here")),
        }
    }
    Ok(parsed)
}

/// Two threads, one for the even seeds and one for the odd ones.
fn run(arguments: &Arguments) -> Total {
    let total = Mutex::new(Total::default());
    std::thread::scope(|scope| {
        for first in 0..2 {
            let total = &total;
            scope.spawn(move || {
                for offset in (first..arguments.seeds).step_by(2) {
                    let outcome = one(arguments, arguments.start + offset);
                    total.lock().expect("nothing panics with the lock").add(arguments, outcome);
                }
            });
        }
    });
    total.into_inner().expect("nothing panics with the lock")
}

fn one(arguments: &Arguments, seed: u64) -> Outcome {
    let listener = arguments.verbose.then_some(tell as fn(&str));
    let mut outcome = arguments.simulate(seed, listener);
    if seed.is_multiple_of(TWICE_EVERY) && outcome.breach.is_none() {
        let again = arguments.simulate(seed, None);
        if again.digest != outcome.digest {
            outcome.breach = Some("a second run of the seed came out differently".to_owned());
        }
    }
    outcome
}

fn tell(line: &str) {
    println!("{line}");
}

impl Total {
    fn add(&mut self, arguments: &Arguments, outcome: Outcome) {
        self.seeds += 1;
        self.steps += outcome.steps;
        self.faults += outcome.faults;
        self.coverage.add(&outcome.coverage);
        if let Some(breach) = outcome.breach {
            let seed = outcome.seed;
            if self.failures.len() < SHOWN_MAX {
                println!("seed {seed}: {breach}");
                let selection = arguments.selection();
                println!(
                    "  replay with: cargo run --release -p baton-sim -- {selection}--seed {seed} -v"
                );
            }
            self.failures.push((seed, breach));
        }
    }
}

fn report(arguments: &Arguments, total: &Total) -> ExitCode {
    let mut missing = Vec::new();
    if arguments.seeds > 1 {
        let sometimes = arguments.sometimes();
        for event in &sometimes {
            println!("{:>9}  {event}", total.coverage.count(event));
        }
        missing = total.coverage.missing(&sometimes);
    }
    let failures = total.failures.len();
    println!(
        "{} seeds, {} steps, {} faults, {failures} failures",
        total.seeds, total.steps, total.faults
    );
    if arguments.seeds >= COVERAGE_FROM && !missing.is_empty() {
        println!("never met: {missing:?}");
        return ExitCode::FAILURE;
    }
    if failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
