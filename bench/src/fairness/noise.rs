//! The load of the noisy tenant: requests that cost the server most, within its limits.
//!
//! Each kind first prepares its workspace, then repeats one request on every connection. Refusals
//! count as answers: a server that refuses costly work has to decide to, and that takes time too.

use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::Outcome;
use crate::peers::driver::{self, Answers, Element, Requests};
use crate::peers::{baton, websocket};
use crate::resources::{Stopwatch, count};
use crate::samples::{key, value};

/// The workspace of the noisy tenant.
const WORKSPACE: &str = "noisy";
/// The length of a large value, which is just below the limit of 1 MiB.
const LARGE_BYTES: usize = (1 << 20) - 1024;
/// Entries of a workspace that is forked or exported.
const ENTRIES: usize = 100_000;
/// Commands in a transaction that prepares entries.
const STEP: usize = 500;

/// A kind of noise.
pub(crate) struct Noise {
    pub(crate) name: &'static str,
    connections: usize,
    in_flight: usize,
    /// The commands that are executed before the measurement.
    prepare: fn() -> Vec<Value>,
    repeated: Repeated,
}

/// The request that is repeated during the measurement.
enum Repeated {
    /// The command with this number, of a connection. Numbers start again after the given count.
    Command(fn(usize, usize) -> Value, usize),
    Export,
}

pub(crate) const ALL: [Noise; 8] = [
    Noise {
        name: "sets",
        connections: 64,
        in_flight: 16,
        prepare: Vec::new,
        repeated: Repeated::Command(set, 256),
    },
    Noise {
        name: "values of 1 MiB",
        connections: 16,
        in_flight: 1,
        prepare: Vec::new,
        repeated: Repeated::Command(|connection, number| large(connection * 2 + number), 2),
    },
    Noise {
        name: "lists of 8 MiB",
        connections: 16,
        in_flight: 1,
        prepare: || (0..8).map(large).collect(),
        repeated: Repeated::Command(
            |_, _| json!({"command": "state.list", "namespace": "shared", "limit": 8}),
            1,
        ),
    },
    Noise {
        name: "values for a costly pattern",
        connections: 16,
        in_flight: 4,
        prepare: costly_pattern,
        repeated: Repeated::Command(matched, 1),
    },
    Noise {
        name: "contract checks of 16 MiB",
        connections: 16,
        in_flight: 1,
        prepare: contracts,
        repeated: Repeated::Command(
            |_, _| {
                let schema = json!({"type": "string"});
                json!({"command": "contract.check", "namespace": "shared", "schema": schema})
            },
            1,
        ),
    },
    Noise {
        name: "writes with 256 reactions",
        connections: 16,
        in_flight: 4,
        prepare: reactions,
        repeated: Repeated::Command(set, 256),
    },
    Noise {
        name: "forks of 100,000 entries",
        connections: 1,
        in_flight: 1,
        prepare: entries,
        repeated: Repeated::Command(
            |_, number| json!({"command": "workspace.fork", "to": format!("fork-{number}")}),
            1000,
        ),
    },
    Noise {
        name: "exports of 100,000 entries",
        connections: 2,
        in_flight: 1,
        prepare: entries,
        repeated: Repeated::Export,
    },
];

fn set(connection: usize, number: usize) -> Value {
    let number = connection * 256 + number;
    let value: Value = serde_json::from_str(&value(number)).expect("samples are JSON");
    json!({"command": "state.set", "namespace": "shared", "key": key(number), "value": value})
}

fn large(number: usize) -> Value {
    let (key, value) = (format!("large-{number}"), "x".repeat(LARGE_BYTES));
    json!({"command": "state.set", "namespace": "shared", "key": key, "value": value})
}

/// A pattern for which a matcher that backtracks takes exponential time, and others large tables.
fn costly_pattern() -> Vec<Value> {
    let schema = json!({"type": "string", "pattern": "^(x+x+)+(x?){40}y$"});
    vec![json!({"command": "namespace.create", "name": "checked", "rules": {"schema": schema}})]
}

fn matched(connection: usize, _: usize) -> Value {
    let (key, value) = (format!("k{connection}"), "x".repeat(256 << 10));
    json!({"command": "state.set", "namespace": "checked", "key": key, "value": value})
}

fn contracts() -> Vec<Value> {
    let declare = |number: usize| {
        let keys = json!([{"key": "shared/large-*", "type": "string"}]);
        json!({"command": "contract.declare", "name": format!("c{number}"), "keys": keys})
    };
    (0..16).map(large).chain((0..16).map(declare)).collect()
}

fn reactions() -> Vec<Value> {
    let commands: Vec<Value> = (0..16)
        .map(|number| {
            json!({
                "command": "state.set", "namespace": "shared",
                "key": format!("seen-{number}"), "value": "{{key}}"
            })
        })
        .collect();
    let add = |number: usize| {
        let on = json!({"type": "state.set", "where": "event.key.startsWith(\"bench/\")"});
        json!({"command": "reaction.add", "name": format!("r{number}"), "on": on, "do": commands})
    };
    (0..256).map(add).collect()
}

fn entries() -> Vec<Value> {
    let step = |first: usize| {
        let commands: Vec<Value> = (first..first + STEP).map(|number| set(0, number)).collect();
        json!({"command": "transaction", "commands": commands})
    };
    (0..ENTRIES).step_by(STEP).map(step).collect()
}

impl Noise {
    /// Fills the workspace.
    pub(crate) fn prepare(&self, port: u16) -> Outcome<()> {
        let mut stream = baton::connect(port)?;
        for command in (self.prepare)() {
            driver::ask(&mut stream, &frame(1, command), &mut baton::Json, 1)?;
        }
        Ok(())
    }

    /// Repeats the requests until the measurement is over; returns their number per second.
    pub(crate) fn flood(&self, port: u16, is_over: &AtomicBool) -> Outcome<f64> {
        let (command, cycle) = match self.repeated {
            Repeated::Command(command, cycle) => (command, cycle),
            Repeated::Export => return self.flood_exports(port, is_over),
        };
        let open = |connection| {
            let frames = (0..cycle).map(|number| frame(number + 1, command(connection, number)));
            Ok((baton::connect(port)?, Cycle { frames: frames.collect(), next: 0 }, Any))
        };
        let opened = (0..self.connections).map(open).collect::<Outcome<Vec<_>>>()?;
        driver::flood(opened, self.in_flight, is_over)
    }

    fn flood_exports(&self, port: u16, is_over: &AtomicBool) -> Outcome<f64> {
        let clock = Stopwatch::start();
        let request = format!(
            "GET /v1/{WORKSPACE}/export HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\
             Connection: close\r\n\r\n"
        );
        let repeat = || -> Result<u64, String> {
            let (mut exports, mut buffer) = (0, Vec::new());
            while !is_over.load(Ordering::Relaxed) {
                let mut stream = driver::connect(port).map_err(|error| error.to_string())?;
                stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
                buffer.clear();
                stream.read_to_end(&mut buffer).map_err(|error| error.to_string())?;
                if !buffer.starts_with(b"HTTP/1.1 200") && !buffer.starts_with(b"HTTP/1.1 429") {
                    return Err(String::from_utf8_lossy(&buffer[..buffer.len().min(300)]).into());
                }
                exports += 1;
            }
            Ok(exports)
        };
        let exports = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.connections).map(|_| scope.spawn(repeat)).collect();
            let joined = threads.into_iter().map(|thread| {
                thread.join().map_err(|_| "an exporting thread panicked".to_owned()).flatten()
            });
            joined.sum::<Result<u64, String>>()
        })?;
        Ok(count(exports) / clock.elapsed().as_secs_f64())
    }
}

fn frame(id: usize, mut command: Value) -> Vec<u8> {
    let fields = command.as_object_mut().expect("commands are objects");
    fields.extend([
        ("id".to_owned(), json!(id)),
        ("workspace".to_owned(), json!(WORKSPACE)),
        ("agent".to_owned(), json!("ada")),
    ]);
    let mut frame = Vec::new();
    websocket::text(command.to_string().as_bytes(), &mut frame);
    frame
}

/// The same requests again and again.
struct Cycle {
    frames: Vec<Vec<u8>>,
    next: usize,
}

impl Requests for Cycle {
    fn next(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.frames[self.next]);
        self.next = (self.next + 1) % self.frames.len();
    }
}

/// Every answer counts, refusals too.
struct Any;

impl Answers for Any {
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String> {
        baton::take_text(bytes, replies, |_| true)
    }
}
