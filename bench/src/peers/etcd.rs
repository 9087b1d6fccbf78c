//! etcd: `Put` over gRPC, one member, durable as it always is.
//!
//! A call is prebuilt except for its stream id, which is unique within a connection.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::driver::{self, Opened, Requests, TurnResult};
use super::http2::{self, Calls};
use super::processes::{self, Ending, Server};
use super::requests::{self, Cycle, Prebuilt};
use super::{Kind, Load, Operation};
use crate::Outcome;
use crate::samples::{key, value};

const PUT: &str = "/etcdserverpb.KV/Put";
/// More than any run writes: the default is two gigabytes, with every version of every key.
const QUOTA_BYTES: &str = "8589934592";

/// Starts a server and waits until it has elected itself leader.
pub(crate) fn start(program: &Path, parent: &Path) -> Outcome<Server> {
    let folder = processes::folder(parent, "etcd")?;
    let [port, peer_port] = processes::free_ports()?;
    let (clients, peers) =
        (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{peer_port}"));
    let mut command = Command::new(program);
    command.arg("--data-dir").arg(folder.path().join("data"));
    command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
    command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
    command.args(["--initial-cluster", &format!("default={peers}")]);
    command.args(["--quota-backend-bytes", QUOTA_BYTES]);
    command.args(["--logger", "zap", "--log-level", "error"]);
    let server = Server::start(Kind::Etcd, folder, port, command, Ending::Kill)?;
    server.wait_until(|port| connect(port).map(|_| ()))
}

/// Writes every key once.
pub(crate) fn fill(server: &Server, load: &Load) -> Outcome<()> {
    let (opened, each) = (puts(server, load)?, requests::share(load.connections));
    driver::fill(opened, load.in_flight, each)
}

/// One round.
pub(crate) fn turn(server: &Server, load: &Load, turn: Duration) -> Outcome<TurnResult> {
    match load.operation {
        Operation::Set => driver::measure(puts(server, load)?, load.in_flight, turn, server.pid()),
        operation => Err(format!("no load asks etcd for {operation:?}").into()),
    }
}

fn puts(server: &Server, load: &Load) -> Outcome<Vec<Opened<Puts, Calls>>> {
    let prebuilt = Prebuilt::build(|number| {
        let mut out = Vec::new();
        http2::call(0, &http2::later_headers(0, 1), &put(&key(number), &value(number)), &mut out);
        out
    });
    let open = |number| {
        let (stream, calls) = connect(server.port())?;
        let cycle = prebuilt.of_connection(number, load.connections);
        Ok((stream, Puts { cycle, stream: FIRST_STREAM }, calls))
    };
    (0..load.connections).map(open).collect()
}

/// Clients' streams have odd numbers.
pub(crate) const FIRST_STREAM: u32 = 1;

/// A connection whose first call was answered, so that later ones can use its header table.
fn connect(port: u16) -> Outcome<(TcpStream, Calls)> {
    open(port, PUT, &put(&key(0), &value(0)))
}

/// A connection with this first call.
pub(crate) fn open(port: u16, path: &str, message: &[u8]) -> Outcome<(TcpStream, Calls)> {
    let mut stream = driver::connect(port)?;
    let mut calls = Calls::default();
    let mut request = http2::opening();
    let headers = http2::first_headers(&format!("127.0.0.1:{port}"), path);
    http2::call(FIRST_STREAM, &headers, message, &mut request);
    driver::ask(&mut stream, &request, &mut calls, 1)?;
    Ok((stream, calls))
}

/// `PutRequest { key = 1, value = 2 }`.
pub(crate) fn put(key: &str, value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    push_text(&mut out, 1, key);
    push_text(&mut out, 2, value);
    out
}

/// A string field of a message.
pub(crate) fn push_text(out: &mut Vec<u8>, field: u8, text: &str) {
    out.push(field << 3 | 2);
    push_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// A numeric field of a message.
pub(crate) fn push_number(out: &mut Vec<u8>, field: u8, number: u64) {
    out.push(field << 3);
    push_varint(out, number);
}

/// A varint: seven bits per byte, lowest first; all but the last byte have their highest bit set.
fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(0x80 | u8::try_from(number & 0x7f).expect("seven bits fit"));
        number >>= 7;
    }
    out.push(u8::try_from(number).expect("seven bits fit"));
}

/// Prebuilt calls, each with its own stream.
pub(crate) struct Puts {
    cycle: Cycle,
    stream: u32,
}

impl Requests for Puts {
    fn next(&mut self, out: &mut Vec<u8>) {
        let begin = out.len();
        self.cycle.next(out);
        self.stream += 2;
        http2::patch_stream(&mut out[begin..], self.stream);
    }
}
