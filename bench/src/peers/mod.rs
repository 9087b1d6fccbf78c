//! The peers: the server against Redis, Postgres and etcd, over their own protocols.
//!
//! ```text
//!   turn 1   Baton ── Redis ── etcd ── Postgres      each for the same time after a warm-up,
//!   turn 2   Redis ── etcd ── Postgres ── Baton      driven by the same loop; the ratio is taken
//!   turn 3   etcd ── Postgres ── Baton ── Redis      turn by turn, the median is reported
//! ```
//!
//! 1. All are durable: an acknowledged write survives a power cut. Redis has `appendfsync always`,
//!    Postgres `synchronous_commit=on`, etcd knows nothing else.
//! 2. All get the same: 10,000 keys, values of 200 bytes of JSON, as many connections with as many
//!    requests in flight, from one thread that sends prebuilt bytes: see [`driver`].
//! 3. Only successes count. One refusal, one lost event or one stuck connection fails the run.
//! 4. Every load has fresh servers in fresh folders with every key written once, so a load alone
//!    says what it says among others. Servers that a load does not need do not run.
//! 5. Processor time is the server's, all its threads and children, in the measured time.
//!
//! Without Baton a second Redis stands in for it: what then differs from 1 is the machine's noise.
//!
//! The protocols, the loop and the processes are those of [`crate::work`] and [`crate::talk`] too.
//!
//! Deliberately absent: TLS, authentication, replication, and values larger than a message.

pub(crate) mod baton;
pub(crate) mod driver;
pub(crate) mod etcd;
pub(crate) mod fanout;
mod http;
pub(crate) mod http2;
mod idle;
pub(crate) mod latencies;
pub(crate) mod nats;
pub(crate) mod postgres;
pub(crate) mod processes;
pub(crate) mod programs;
pub(crate) mod redis;
mod requests;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod throughput;
mod watchers;
pub(crate) mod websocket;

use processes::Server;
use programs::Programs;

use crate::Outcome;
use crate::options::Options;
use crate::report::{Report, say};

/// Names by which servers are left out.
pub(crate) const SERVERS: [&str; 4] = ["baton", "redis", "postgres", "etcd"];

/// The server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Baton,
    Redis,
    Postgres,
    Etcd,
    Nats,
}

impl Kind {
    /// For people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Baton => "Baton",
            Self::Redis => "Redis",
            Self::Postgres => "PostgreSQL",
            Self::Etcd => "etcd",
            Self::Nats => "NATS",
        }
    }

    /// For the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Baton => "baton",
            Self::Redis => "redis",
            Self::Postgres => "postgres",
            Self::Etcd => "etcd",
            Self::Nats => "nats",
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Set,
    Get,
    CompareAndSet,
}

/// How Baton is asked. The peers have one door each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    WebSocket,
    Http,
}

/// A load of requests and answers.
pub(crate) struct Load {
    name: &'static str,
    operation: Operation,
    connections: usize,
    in_flight: usize,
    transport: Transport,
    /// Whom it is run against, and the least ratio that is wanted.
    against: &'static [(Kind, f64)],
}

const LOADS: [Load; 7] = [
    Load {
        name: "set, 64 x 1, WebSocket",
        operation: Operation::Set,
        connections: 64,
        in_flight: 1,
        transport: Transport::WebSocket,
        against: &[(Kind::Redis, 1.2), (Kind::Etcd, 5.0), (Kind::Postgres, 3.0)],
    },
    Load {
        name: "set, 64 x 16, WebSocket",
        operation: Operation::Set,
        connections: 64,
        in_flight: 16,
        transport: Transport::WebSocket,
        against: &[(Kind::Redis, 1.5)],
    },
    Load {
        name: "set, 1 x 1, WebSocket",
        operation: Operation::Set,
        connections: 1,
        in_flight: 1,
        transport: Transport::WebSocket,
        against: &[(Kind::Redis, 1.3)],
    },
    Load {
        name: "set, 64 x 1, HTTP keep-alive",
        operation: Operation::Set,
        connections: 64,
        in_flight: 1,
        transport: Transport::Http,
        against: &[(Kind::Redis, 0.8)],
    },
    Load {
        name: "get, 64 x 1, WebSocket",
        operation: Operation::Get,
        connections: 64,
        in_flight: 1,
        transport: Transport::WebSocket,
        against: &[(Kind::Redis, 0.95)],
    },
    Load {
        name: "get, 64 x 16, WebSocket",
        operation: Operation::Get,
        connections: 64,
        in_flight: 16,
        transport: Transport::WebSocket,
        against: &[(Kind::Redis, 1.1)],
    },
    Load {
        name: "compare-and-set, 64 x 1, WebSocket",
        operation: Operation::CompareAndSet,
        connections: 64,
        in_flight: 1,
        transport: Transport::WebSocket,
        against: &[(Kind::Redis, 1.7)],
    },
];

/// Runs the selected loads.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    let files = processes::allow_many_files();
    report_all(options, "peers.json", |report| run_loads(options, files, report))
}

/// Runs loads that start servers. What was measured is written even if a later load fails.
pub(crate) fn report_all(
    options: &Options,
    json_name: &str,
    run_loads: impl FnOnce(&mut Report) -> Outcome<()>,
) -> Outcome<()> {
    processes::watch_for_interrupts()?;
    let mut report = Report::default();
    let outcome = run_loads(&mut report);
    match &outcome {
        Ok(()) => say(&report.summary()),
        Err(error) => report.leave_out(format!("the run ended early: {error}")),
    }
    let path = match &options.json {
        Some(path) => path.clone(),
        None => programs::target_folder(&std::env::current_exe()?)?.join(json_name),
    };
    report.write_json(&path)?;
    outcome.map_err(|_| "not everything was measured".into())
}

fn run_loads(options: &Options, files: u64, report: &mut Report) -> Outcome<()> {
    let programs = Programs::provide(options, &wanted(options), report)?;
    let bench = Bench { options, programs, files };
    bench.tell_if_control(report);
    for load in LOADS.iter().filter(|load| options.wants(load.name)) {
        throughput::run(&bench, load, report)?;
    }
    if options.wants(watchers::NAME) {
        watchers::run(&bench, report)?;
    }
    if options.wants(idle::NAME) {
        idle::run(&bench, report)?;
    }
    Ok(())
}

/// Servers that the loads asked for need, so that nothing is installed for the others.
fn wanted(options: &Options) -> Vec<Kind> {
    let loads = LOADS.iter().filter(|load| options.wants(load.name));
    let mut kinds = vec![Kind::Baton, Kind::Redis];
    for (kind, _) in loads.flat_map(|load| load.against) {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    kinds
}

/// What every load has.
pub(crate) struct Bench<'a> {
    pub(crate) options: &'a Options,
    pub(crate) programs: Programs,
    /// As many as this process may have open.
    pub(crate) files: u64,
}

impl Bench<'_> {
    /// Says that no target means anything, where none does.
    pub(crate) fn tell_if_control(&self, report: &mut Report) {
        if self.is_control() {
            let text = "without Baton a peer stands in for it: ratios show the machine's noise";
            report.leave_out(text.to_owned());
        }
    }

    /// Whether another server stands in for Baton, so that no target means anything.
    pub(crate) fn is_control(&self) -> bool {
        self.programs.baton.is_none()
    }

    /// A fresh server of ours.
    pub(crate) fn start_ours(&self) -> Outcome<Server> {
        let kind = if self.is_control() { Kind::Redis } else { Kind::Baton };
        self.start(kind)?.ok_or_else(|| "there is neither Baton nor Redis to measure".into())
    }

    /// A fresh server; none if it does not take part.
    pub(crate) fn start(&self, kind: Kind) -> Outcome<Option<Server>> {
        let parent = self.options.folder.as_path();
        let programs = &self.programs;
        let server = match kind {
            Kind::Baton => programs.baton.as_ref().map(|program| baton::start(program, parent)),
            Kind::Redis => programs.redis.as_ref().map(|program| redis::start(program, parent)),
            Kind::Etcd => programs.etcd.as_ref().map(|program| etcd::start(program, parent)),
            Kind::Nats => programs.nats.as_ref().map(|program| nats::start(program, parent)),
            Kind::Postgres => {
                programs.postgres.as_ref().map(|program| postgres::start(program, parent))
            }
        };
        server.transpose()
    }
}
