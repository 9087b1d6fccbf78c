//! Redis: RESP over a socket, durable by `appendfsync always`.
//!
//! | operation | request | a success |
//! |---|---|---|
//! | set | `SET key value` | `+OK` |
//! | get | `GET key` | the value; not found is a refusal |
//! | compare-and-set | `EVALSHA` on a hash with a version | the new version; `-1` is a refusal |
//!
//! Snapshots and rewrites of the log are off, so that they affect no round.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::driver::{self, Answers, Element, Opened, Requests, TurnResult, decimal};
use super::processes::{self, Ending, Server};
use super::requests::{self, Prebuilt};
use super::{Kind, Load, Operation};
use crate::Outcome;
use crate::samples::{key, value};

/// More connections than any load has.
const CLIENTS_MAX: &str = "15000";
const COMPARE_AND_SET: &str = "\
    if (redis.call('HGET', KEYS[1], 'version') or '0') ~= ARGV[1] then return -1 end \
    redis.call('HSET', KEYS[1], 'version', ARGV[1] + 1, 'value', ARGV[2]) \
    return ARGV[1] + 1";

/// Starts a server that syncs before it answers, and waits until it is ready.
pub(crate) fn start(program: &Path, parent: &Path) -> Outcome<Server> {
    start_with(program, parent, "always")
}

/// Starts a server with this `appendfsync`: `always` or `everysec`.
pub(crate) fn start_with(program: &Path, parent: &Path, sync: &str) -> Outcome<Server> {
    let folder = processes::folder(parent, "redis")?;
    let [port] = processes::free_ports()?;
    let mut command = Command::new(program);
    command.arg("--dir").arg(folder.path()).args(["--bind", "127.0.0.1"]);
    command.args(["--port", &port.to_string(), "--save", "", "--maxclients", CLIENTS_MAX]);
    command.args(["--appendonly", "yes", "--appendfsync", sync]);
    command.args(["--auto-aof-rewrite-percentage", "0"]);
    let server = Server::start(Kind::Redis, folder, port, command, Ending::Kill)?;
    server.wait_until(|port| {
        driver::ask(&mut driver::connect(port)?, &array(&["PING"]), &mut Resp, 1)?;
        Ok(())
    })
}

/// Writes every key once.
pub(crate) fn fill(server: &Server, load: &Load) -> Outcome<()> {
    let opened = cycles(server, load.connections, set)?;
    driver::fill(opened, load.in_flight, requests::share(load.connections))
}

/// One round. Its number makes each round compare and set fresh keys.
pub(crate) fn turn(
    server: &Server,
    load: &Load,
    turn: Duration,
    number: usize,
) -> Outcome<TurnResult> {
    let (connections, in_flight, pid) = (load.connections, load.in_flight, server.pid());
    match load.operation {
        Operation::Set => driver::measure(cycles(server, connections, set)?, in_flight, turn, pid),
        Operation::Get => driver::measure(cycles(server, connections, get)?, in_flight, turn, pid),
        Operation::CompareAndSet => {
            let script = load_script(server, COMPARE_AND_SET)?;
            let opened = (0..connections).map(|connection| {
                let key = format!("compared/{number}/{connection}");
                let requests = CompareAndSet::new(&script, &key, &value(connection));
                Ok((driver::connect(server.port())?, requests, Resp))
            });
            driver::measure(opened.collect::<Outcome<Vec<_>>>()?, in_flight, turn, pid)
        }
    }
}

fn cycles(
    server: &Server,
    connections: usize,
    request: fn(usize) -> Vec<u8>,
) -> Outcome<Vec<Opened<requests::Cycle, Resp>>> {
    let prebuilt = Prebuilt::build(request);
    let open = |number| {
        let requests = prebuilt.of_connection(number, connections);
        Ok((driver::connect(server.port())?, requests, Resp))
    };
    (0..connections).map(open).collect()
}

fn set(number: usize) -> Vec<u8> {
    array(&["SET", &key(number), &value(number)])
}

fn get(number: usize) -> Vec<u8> {
    array(&["GET", &key(number)])
}

/// Loads a script into the server. Returns its digest.
pub(crate) fn load_script(server: &Server, script: &str) -> Outcome<String> {
    let mut stream = driver::connect(server.port())?;
    let request = array(&["SCRIPT", "LOAD", script]);
    let answer = driver::ask(&mut stream, &request, &mut Resp, 1)?;
    let answer = String::from_utf8(answer)?;
    let name = answer.lines().nth(1).ok_or("the server names a script that it was given")?;
    Ok(name.to_owned())
}

/// Writes to one key and publishes to its subscribers.
pub(crate) fn set_and_publish(key: &str, channel: &str, value: &str) -> Vec<u8> {
    let mut request = array(&["SET", key, value]);
    request.extend(array(&["PUBLISH", channel, value]));
    request
}

/// A connection that is subscribed from now on.
pub(crate) fn subscribe(server: &Server, channel: &str) -> Outcome<TcpStream> {
    let mut stream = driver::connect(server.port())?;
    driver::ask(&mut stream, &array(&["SUBSCRIBE", channel]), &mut Resp, 1)?;
    Ok(stream)
}

/// A command and its arguments.
pub(crate) fn array(words: &[&str]) -> Vec<u8> {
    let head = format!("*{}\r\n", words.len());
    let words = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
    (head + &words.collect::<String>()).into_bytes()
}

/// Calls of the script on one key, each with the version of the previous one.
pub(crate) struct CompareAndSet {
    before: Vec<u8>,
    after: Vec<u8>,
    version: u64,
}

impl CompareAndSet {
    pub(crate) fn new(script: &str, key: &str, value: &str) -> Self {
        let before = format!(
            "*6\r\n$7\r\nEVALSHA\r\n${}\r\n{script}\r\n$1\r\n1\r\n${}\r\n{key}\r\n",
            script.len(),
            key.len()
        );
        let after = format!("\r\n${}\r\n{value}\r\n", value.len());
        Self { before: before.into_bytes(), after: after.into_bytes(), version: 0 }
    }
}

impl Requests for CompareAndSet {
    fn next(&mut self, out: &mut Vec<u8>) {
        let version = self.version.to_string();
        out.extend_from_slice(&self.before);
        out.extend_from_slice(format!("${}\r\n", version.len()).as_bytes());
        out.extend_from_slice(version.as_bytes());
        out.extend_from_slice(&self.after);
        self.version += 1;
    }
}

/// Answers in RESP. Errors, null and negative numbers are refusals in every load.
#[derive(Clone, Copy)]
pub(crate) struct Resp;

impl Answers for Resp {
    fn take(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Result<Option<Element>, String> {
        Ok(element_bytes(bytes)?.map(Element::answer))
    }
}

/// The length of the element at the front; none if it is incomplete.
fn element_bytes(bytes: &[u8]) -> Result<Option<usize>, String> {
    let Some(line_feed) = bytes.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
    let (line, head) = (bytes[..line_feed].trim_ascii_end(), line_feed + 1);
    let refused = || format!("refused: {}", String::from_utf8_lossy(line));
    match line.split_first().ok_or_else(refused)? {
        (b'+', _) => Ok(Some(head)),
        (b':', number) => decimal(number).map(|_| Some(head)).ok_or_else(refused),
        (b'$', number) => {
            let end = head + decimal(number).ok_or_else(refused)? + 2;
            Ok((bytes.len() >= end).then_some(end))
        }
        (b'*', number) => {
            let mut end = head;
            for _ in 0..decimal(number).ok_or_else(refused)? {
                let Some(element) = element_bytes(&bytes[end..])? else { return Ok(None) };
                end += element;
            }
            Ok(Some(end))
        }
        _ => Err(refused()),
    }
}
