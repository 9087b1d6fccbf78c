//! The peers: the server against Redis, Postgres and etcd, over their own protocols, and against
//! the [`floor`], a server of the same bytes that does nothing with them.
//!
//! ```text
//!   round 1  Baton ── Redis ── etcd ── Postgres      each for the same time after a warm-up,
//!   round 2  Redis ── etcd ── Postgres ── Baton      driven by the same loop; the ratio is taken
//!   round 3  etcd ── Postgres ── Baton ── Redis      per round, the median is reported
//! ```
//!
//! 1. All are durable: an acknowledged write survives a power cut. Redis has `appendfsync always`,
//!    Postgres `synchronous_commit=on`, etcd is always durable.
//! 2. All have the same load: 10,000 keys, values of 200 bytes of JSON, as many connections with as
//!    many requests in flight, from one thread that sends prebuilt bytes: see [`driver`].
//! 3. Only successes count. One refusal, one lost event or one stuck connection fails the run.
//! 4. Every load has fresh servers in fresh folders with every key written once, so that its result
//!    does not depend on other loads. Servers that a load does not need do not run.
//! 5. Processor time is that of the server, with all its threads and children, in the measured
//!    time.
//!
//! Without Baton a second Redis takes its place: the deviation from 1 is then the noise of the
//! machine.
//!
//! [`crate::work`] and [`crate::talk`] use the same protocols, loop and processes.
//!
//! Deliberately absent: TLS, authentication, replication, and values larger than a message.

pub(crate) mod baton;
pub(crate) mod driver;
pub(crate) mod etcd;
pub(crate) mod fanout;
pub(crate) mod floor;
pub(crate) mod http;
pub(crate) mod http2;
mod idle;
pub(crate) mod latencies;
pub(crate) mod nats;
pub(crate) mod postgres;
pub(crate) mod processes;
pub(crate) mod programs;
pub(crate) mod redis;
pub(crate) mod requests;
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

/// Servers that can be left out.
pub(crate) const SERVERS: [&str; 5] = ["baton", "redis", "postgres", "etcd", "floor"];

/// The server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Baton,
    Redis,
    Postgres,
    Etcd,
    Nats,
    /// The time that remains besides the kernel's.
    Floor,
}

impl Kind {
    /// Its name for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Baton => "Baton",
            Self::Redis => "Redis",
            Self::Postgres => "PostgreSQL",
            Self::Etcd => "etcd",
            Self::Nats => "NATS",
            Self::Floor => "the floor",
        }
    }

    /// Its name on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Baton => "baton",
            Self::Redis => "redis",
            Self::Postgres => "postgres",
            Self::Etcd => "etcd",
            Self::Nats => "nats",
            Self::Floor => "floor",
        }
    }
}

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Set,
    Get,
    CompareAndSet,
}

/// The protocol of Baton. The peers have one each.
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
    /// The peers, and the minimum ratio.
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

/// Runs loads that start servers. Results are written even if a later load fails.
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

/// Servers that the selected loads need, so that nothing is installed for the others.
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

/// The context of every load.
pub(crate) struct Bench<'a> {
    pub(crate) options: &'a Options,
    pub(crate) programs: Programs,
    /// The maximum number of open files of this process.
    pub(crate) files: u64,
}

impl Bench<'_> {
    /// Prints a note if targets are meaningless.
    pub(crate) fn tell_if_control(&self, report: &mut Report) {
        if self.is_control() {
            let text = "without Baton a peer replaces it: ratios show the machine's noise";
            report.leave_out(text.to_owned());
        }
    }

    /// Whether another server takes the place of Baton, so that targets are meaningless.
    pub(crate) fn is_control(&self) -> bool {
        self.programs.baton.is_none()
    }

    /// A fresh Baton server.
    pub(crate) fn start_ours(&self) -> Outcome<Server> {
        let kind = if self.is_control() { Kind::Redis } else { Kind::Baton };
        self.start(kind)?.ok_or_else(|| "there is neither Baton nor Redis to measure".into())
    }

    /// A fresh server; none if it is left out.
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
            // It needs an answer of Baton.
            Kind::Floor => None,
        };
        server.transpose()
    }

    /// The floor of a load, which answers as this server of ours does; none if it is left out.
    fn start_floor(&self, ours: &Server, load: &Load) -> Outcome<Option<Server>> {
        if self.is_control() || !self.options.includes(Kind::Floor.word()) {
            return Ok(None);
        }
        let answer = ours.blame(baton::sample(ours, load))?;
        floor::start(self.options.folder.as_path(), &answer).map(Some)
    }
}
