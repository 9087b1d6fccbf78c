//! As deployed: sets with what a fleet turns on, against the same sets without.
//!
//! ```text
//!   round 1   bare ── tokens and quotas ── a watcher ── …      the same load of 64 x 16 sets;
//!   round 2   tokens and quotas ── a watcher ── … ── bare      ratios are taken by round
//! ```
//!
//! | load | what is different |
//! |---|---|
//! | tokens and quotas | a worker's token; quotas of operations, bytes and storage, not reached |
//! | a watcher | one connection that watches every entry, and takes the events |
//! | an entry that expires | one other entry of the namespace has a time to live |
//! | idempotency keys | every request has its own |
//! | shards | the folder is divided; every connection has a workspace: see `shards` |

mod shards;

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Outcome;
use crate::options::Options;
use crate::peers::driver::{self, Opened, Requests, TurnResult};
use crate::peers::processes::Server;
use crate::peers::requests::{Cycle, Prebuilt, share};
use crate::peers::throughput::{alternate, line};
use crate::peers::{baton, processes, programs, websocket};
use crate::report::{Report, Target, say};
use crate::samples::{key, value};

const CONNECTIONS: usize = 64;
const IN_FLIGHT: usize = 16;
/// Quotas that are never reached.
const QUOTAS: &str = "[quota]\noperations_per_s = 100000000\nbytes_per_s = 1000000000000\n\
    entries_max = 1000000\nstored_bytes_max = 100000000000\n\
    [quota.token]\noperations_per_s = 100000000\nbytes_per_s = 1000000000000\n";

/// The feature that is turned on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    Bare,
    TokensAndQuotas,
    Watcher,
    Expiry,
    Keys,
}

/// The settings, their names, and the least ratio to the bare sets.
const SETTINGS: [(Setting, &str, f64); 4] = [
    (Setting::TokensAndQuotas, "with tokens and quotas", 0.85),
    (Setting::Watcher, "with a watcher", 0.85),
    (Setting::Expiry, "beside an entry that expires", 0.85),
    (Setting::Keys, "with idempotency keys", 0.7),
];

/// Measures all settings in rounds.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    let program = programs::baton(options.baton.as_deref())?;
    processes::watch_for_interrupts()?;
    let selected = SETTINGS.iter().filter(|(_, name, _)| options.wants(name));
    let selected: Vec<_> = [(Setting::Bare, "bare", 1.0)].iter().chain(selected).copied().collect();
    let started = selected.iter().map(|(setting, ..)| Deployed::start(&program, options, *setting));
    let servers = started.collect::<Outcome<Vec<_>>>()?;
    let turns = alternate("as deployed", servers.len(), options.turns, |which, number| {
        let deployed = &servers[which];
        deployed.server.blame(deployed.turn(options, number))
    })?;
    let mut report = Report::default();
    for ((_, name, least), with) in selected.iter().zip(&turns).skip(1) {
        let name = format!("set, 64 x 16, {name}");
        report.add(line(&name, "bare", with, &turns[0]).target(Target::AtLeast(*least)));
    }
    shards::run(&program, options, &mut report)?;
    say(&report.summary());
    if let Some(path) = &options.json {
        report.write_json(path)?;
    }
    Ok(())
}

/// A server with a setting.
struct Deployed {
    setting: Setting,
    server: Server,
    token: Option<String>,
}

impl Deployed {
    fn start(program: &Path, options: &Options, setting: Setting) -> Outcome<Self> {
        let parent = options.folder.as_path();
        if setting != Setting::TokensAndQuotas {
            let deployed = Self { setting, server: baton::start(program, parent)?, token: None };
            deployed.fill()?;
            return Ok(deployed);
        }
        let server = baton::start_with(program, parent, |command, folder| {
            let settings = folder.join("settings.toml");
            fs::write(&settings, QUOTAS)?;
            command.arg("--tokens").arg("--config").arg(settings);
            Ok(())
        })?;
        let admin = first_token(&server.log())?;
        let token = worker_token(program, server.port(), &admin)?;
        let deployed = Self { setting, server, token: Some(token) };
        deployed.fill()?;
        Ok(deployed)
    }

    /// Writes every key once, and the entry that expires.
    fn fill(&self) -> Outcome<()> {
        driver::fill(self.sets()?, IN_FLIGHT, share(CONNECTIONS))?;
        if self.setting == Setting::Expiry {
            let mut stream = self.connect()?;
            let text =
                r#""state.set","namespace":"shared","key":"note","value":1,"ttl_ms":86400000"#;
            driver::ask(&mut stream, &baton::command("ada", text), &mut baton::Json, 1)?;
        }
        Ok(())
    }

    fn connect(&self) -> Outcome<TcpStream> {
        baton::connect_as(self.server.port(), self.token.as_deref())
    }

    fn sets(&self) -> Outcome<Vec<Opened<Cycle, baton::Json>>> {
        let prebuilt = Prebuilt::build(baton::set);
        let open = |number| {
            let requests = prebuilt.of_connection(number, CONNECTIONS);
            Ok((self.connect()?, requests, baton::Json))
        };
        (0..CONNECTIONS).map(open).collect()
    }

    fn turn(&self, options: &Options, number: usize) -> Outcome<TurnResult> {
        let (turn, pid) = (options.turn, self.server.pid());
        match self.setting {
            Setting::Bare | Setting::TokensAndQuotas | Setting::Expiry => {
                driver::measure(self.sets()?, IN_FLIGHT, turn, pid)
            }
            Setting::Keys => {
                let open = |connection| {
                    let requests = KeyedSets::new(number, connection);
                    Ok((self.connect()?, requests, baton::Json))
                };
                let opened = (0..CONNECTIONS).map(open).collect::<Outcome<Vec<_>>>()?;
                driver::measure(opened, IN_FLIGHT, turn, pid)
            }
            Setting::Watcher => self.watched_turn(options),
        }
    }

    /// A round while another thread takes the events.
    fn watched_turn(&self, options: &Options) -> Outcome<TurnResult> {
        let watcher = baton::watch(&self.server, "state/shared/**")?;
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| take_events(watcher, &is_over));
            let measured = self
                .sets()
                .and_then(|sets| driver::measure(sets, IN_FLIGHT, options.turn, self.server.pid()));
            is_over.store(true, Ordering::SeqCst);
            let taken = reading.join().map_err(|_| "the watcher panicked")??;
            if taken == 0 {
                return Err("the watcher received nothing".into());
            }
            measured
        })
    }
}

/// Reads events until the round is over; returns how many bytes came.
fn take_events(mut stream: TcpStream, is_over: &AtomicBool) -> Result<u64, String> {
    use std::io::Read;
    let (mut buffer, mut bytes) = (vec![0; driver::READ_BYTES], 0);
    stream
        .set_read_timeout(Some(std::time::Duration::from_millis(100)))
        .map_err(|error| error.to_string())?;
    while !is_over.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => return Err("the server ended the watch".to_owned()),
            Ok(read) => bytes += read as u64,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(bytes)
}

/// Sets of which each has a key of its own.
struct KeyedSets {
    round: usize,
    connection: usize,
    sent: usize,
    payload: Vec<u8>,
}

impl KeyedSets {
    fn new(round: usize, connection: usize) -> Self {
        Self { round, connection, sent: 0, payload: Vec::new() }
    }
}

impl Requests for KeyedSets {
    fn next(&mut self, out: &mut Vec<u8>) {
        use std::io::Write;
        let Self { round, connection, sent, payload } = self;
        let number = (*connection * share(CONNECTIONS) + *sent) % crate::peers::requests::KEYS;
        let (entry, json) = (key(number), value(number));
        payload.clear();
        write!(
            payload,
            r#"{{"id":{sent},"idempotency_key":"{round}-{connection}-{sent}","workspace":"bench","#
        )
        .and_then(|()| {
            write!(payload, r#""agent":"ada","command":"state.set","namespace":"shared","#)
        })
        .and_then(|()| write!(payload, r#""key":"{entry}","value":{json}}}"#))
        .expect("a vector takes every byte");
        websocket::text(payload, out);
        *sent += 1;
    }
}

/// The admin token that the first start printed.
fn first_token(log: &str) -> Outcome<String> {
    let start = log.find("baton_").ok_or("the server printed no token")?;
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    Ok(log[start..].chars().take_while(|letter| is_part(*letter)).collect())
}

/// A token of a worker for the workspace of the loads.
fn worker_token(program: &Path, port: u16, admin: &str) -> Outcome<String> {
    let output = Command::new(program)
        .args(["token", "create", "bench", "--role", "worker", "--in", "bench"])
        .args(["--field", "token", "--url", &format!("http://127.0.0.1:{port}")])
        .env("BATON_TOKEN", admin)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
