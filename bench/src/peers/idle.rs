//! Ten thousand idle connections: the memory of each in the server.
//!
//! ```text
//!   one connection, one request ── memory ── open all ── memory ── one request on each ── memory
//!                                    └───────── difference ───────┘                         │
//!                                    └──────────────────────── difference ──────────────────┘
//! ```
//!
//! The larger of the two differences is reported, for the process of the server alone: socket
//! buffers belong to the kernel and are the same for all servers. Every connection must get its
//! answer.

use std::net::TcpStream;

use serde_json::{Value, json};

use super::driver::{self, Answers};
use super::processes::{Server, go_on_unless_interrupted};
use super::{Bench, Kind, baton, redis};
use crate::Outcome;
use crate::report::{Comparison, Report, Target};
use crate::resources::count;
use crate::samples::{key, value};

pub(crate) const NAME: &str = "10,000 idle WebSocket connections";
const CONNECTIONS: usize = 10_000;
/// Files that this process and a server need for other purposes.
const FILES_SPARE: u64 = 300;
const MOST_KIB: f64 = 8.0;

/// Measures the memory of an idle connection, for Baton and for Redis.
pub(crate) fn run(bench: &Bench<'_>, report: &mut Report) -> Outcome<()> {
    let allowed = usize::try_from(bench.files.saturating_sub(FILES_SPARE)).unwrap_or(usize::MAX);
    let connections = CONNECTIONS.min(allowed);
    if connections < CONNECTIONS {
        let files = bench.files;
        report.leave_out(format!("{connections} idle connections: {files} files may be open"));
    }
    let ours = Idle::measure(&bench.start_ours()?, connections)?;
    let theirs = match bench.start(Kind::Redis)? {
        Some(redis) => Some(Idle::measure(&redis, connections)?),
        None => None,
    };
    let peer =
        theirs.as_ref().map_or("no Redis".to_owned(), |redis| format!("Redis {}", redis.text()));
    let line = Comparison {
        note: format!("KB for each of {connections}, every one was answered"),
        facts: json!({
            "connections": connections,
            "ours": ours.json(),
            "theirs": theirs.map(|redis| redis.json()),
        }),
        ..Comparison::of_ratios(NAME, &[ours.kib()], (ours.text(), peer))
    };
    report.add(if bench.is_control() { line } else { line.target(Target::AtMost(MOST_KIB)) });
    Ok(())
}

/// The memory of one connection.
struct Idle {
    opened_kib: f64,
    used_kib: f64,
}

impl Idle {
    fn measure(server: &Server, connections: usize) -> Outcome<Self> {
        server.blame(Self::try_measure(server, connections))
    }

    fn try_measure(server: &Server, connections: usize) -> Outcome<Self> {
        let mut first = open(server)?;
        write_one(server, &mut first)?;
        read_one(server, &mut first)?;
        let before = server.resident_bytes()?;
        let each_kib =
            |now: u64| count(now.saturating_sub(before)) / count(connections as u64) / 1024.0;
        let mut streams = Vec::with_capacity(connections);
        for _ in 0..connections {
            go_on_unless_interrupted()?;
            streams.push(open(server)?);
        }
        let opened_kib = each_kib(server.resident_bytes()?);
        for stream in &mut streams {
            go_on_unless_interrupted()?;
            read_one(server, stream)?;
        }
        Ok(Self { opened_kib, used_kib: each_kib(server.resident_bytes()?) })
    }

    fn kib(&self) -> f64 {
        self.opened_kib.max(self.used_kib)
    }

    fn text(&self) -> String {
        format!("opened {:.2}, used once {:.2}", self.opened_kib, self.used_kib)
    }

    fn json(&self) -> Value {
        json!({ "opened_kib": self.opened_kib, "used_kib": self.used_kib })
    }
}

fn open(server: &Server) -> Outcome<TcpStream> {
    match server.kind() {
        Kind::Baton => baton::connect(server.port()),
        _ => driver::connect(server.port()),
    }
}

fn write_one(server: &Server, stream: &mut TcpStream) -> Outcome<()> {
    let (key, value) = (key(0), value(0));
    match server.kind() {
        Kind::Baton => ask(stream, &baton::set_value(1, &key, &value), baton::Json),
        _ => ask(stream, &redis::array(&["SET", &key, &value]), redis::Resp),
    }
}

fn read_one(server: &Server, stream: &mut TcpStream) -> Outcome<()> {
    match server.kind() {
        Kind::Baton => ask(stream, &baton::get(0), baton::Json),
        _ => ask(stream, &redis::array(&["GET", &key(0)]), redis::Resp),
    }
}

fn ask(stream: &mut TcpStream, request: &[u8], mut protocol: impl Answers) -> Outcome<()> {
    driver::ask(stream, request, &mut protocol, 1).map(|_| ())
}
