//! Baton: JSON over a WebSocket, and HTTP.
//!
//! | operation | request | a success |
//! |---|---|---|
//! | set | `state.set`, or `PUT` of the resource | an answer with a revision, or status 2xx |
//! | get | `state.get` | an answer with a revision; not found is a refusal |
//! | compare-and-set | `state.set` with `expected_version` | an answer with a revision |
//!
//! The id of a request is the number of its key, so a connection never has the same id in flight
//! twice. Every request names its agent, as those of agents do.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::driver::{self, Answers, Element, Opened, Requests, TurnResult};
use super::http::Http;
use super::processes::{self, Ending, Server};
use super::requests::{self, Cycle, Prebuilt};
use super::websocket::{self, Opcode};
use super::{Kind, Load, Operation, Transport};
use crate::Outcome;
use crate::samples::{key, value};

const HEAD: &str = r#""workspace":"bench","agent":"ada","command""#;
const PATH: &str = "/v1/ws";
pub(crate) const PROTOCOL: &str = "baton.v1.json";

/// Starts a server and waits until it answers.
pub(crate) fn start(program: &Path, parent: &Path) -> Outcome<Server> {
    start_with(program, parent, |_, _| Ok(()))
}

/// Starts a server on its own disk with more arguments, which may name files in its folder.
pub(crate) fn start_with(
    program: &Path,
    parent: &Path,
    arguments: impl FnOnce(&mut Command, &Path) -> Outcome<()>,
) -> Outcome<Server> {
    let on_disk = |command: &mut Command, folder: &Path| {
        command.arg("--data").arg(folder.join("data"));
        arguments(command, folder)
    };
    start_ready(program, parent, "/healthz", on_disk)
}

/// Starts a server with these arguments, and waits until it answers at a path.
pub(crate) fn start_ready(
    program: &Path,
    parent: &Path,
    path: &str,
    arguments: impl FnOnce(&mut Command, &Path) -> Outcome<()>,
) -> Outcome<Server> {
    let folder = processes::folder(parent, "baton")?;
    let [port] = processes::free_ports()?;
    let mut command = Command::new(program);
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}")]);
    arguments(&mut command, folder.path())?;
    let server = Server::start(Kind::Baton, folder, port, command, Ending::Kill)?;
    server.wait_until(|port| ask_http(port, "GET", path, "").map(drop))
}

/// The body of the answer to a request over its own connection. Any status but 200 is an error.
pub(crate) fn ask_http(port: u16, method: &str, path: &str, body: &str) -> Outcome<String> {
    let mut stream = driver::connect(port)?;
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200 ") => Ok(body.to_owned()),
        Some(_) | None => Err(format!("`{method} {path}` was answered: {answer}").into()),
    }
}

/// Writes every key once.
pub(crate) fn fill(server: &Server, load: &Load) -> Outcome<()> {
    let (opened, each) = (cycles(server, load, set)?, requests::share(load.connections));
    driver::fill(opened, load.in_flight, each)
}

/// The bytes with which the server answers a request of this load.
pub(crate) fn sample(server: &Server, load: &Load) -> Outcome<Vec<u8>> {
    let port = server.port();
    match load.transport {
        Transport::Http => driver::ask(&mut driver::connect(port)?, &put(0, port), &mut Http, 1),
        Transport::WebSocket => {
            let is_get = load.operation == Operation::Get;
            let request = if is_get { get(0) } else { set(0) };
            driver::ask(&mut connect(port)?, &request, &mut Json, 1)
        }
    }
}

/// One round. Its number makes each round compare and set fresh keys.
pub(crate) fn turn(
    server: &Server,
    load: &Load,
    turn: Duration,
    number: usize,
) -> Outcome<TurnResult> {
    let (in_flight, pid) = (load.in_flight, server.pid());
    match (load.transport, load.operation) {
        (Transport::WebSocket, Operation::Set) => {
            driver::measure(cycles(server, load, set)?, in_flight, turn, pid)
        }
        (Transport::WebSocket, Operation::Get) => {
            driver::measure(cycles(server, load, get)?, in_flight, turn, pid)
        }
        (Transport::WebSocket, Operation::CompareAndSet) => {
            let opened = (0..load.connections).map(|connection| {
                let key = format!("compared/{number}/{connection}");
                let requests = CompareAndSet::new(&key, &value(connection));
                Ok((connect(server.port())?, requests, Json))
            });
            driver::measure(opened.collect::<Outcome<Vec<_>>>()?, in_flight, turn, pid)
        }
        (Transport::Http, Operation::Set) => {
            let port = server.port();
            let prebuilt = Prebuilt::build(|number| put(number, port));
            let opened = (0..load.connections).map(|connection| {
                let requests = prebuilt.of_connection(connection, load.connections);
                Ok((driver::connect(port)?, requests, Http))
            });
            driver::measure(opened.collect::<Outcome<Vec<_>>>()?, in_flight, turn, pid)
        }
        (Transport::Http, operation) => Err(format!("no load asks {operation:?} over HTTP").into()),
    }
}

fn cycles(
    server: &Server,
    load: &Load,
    request: fn(usize) -> Vec<u8>,
) -> Outcome<Vec<Opened<Cycle, Json>>> {
    let prebuilt = Prebuilt::build(request);
    let open = |number| {
        let requests = prebuilt.of_connection(number, load.connections);
        Ok((connect(server.port())?, requests, Json))
    };
    (0..load.connections).map(open).collect()
}

/// A WebSocket to the server.
pub(crate) fn connect(port: u16) -> Outcome<TcpStream> {
    connect_with(port, None)
}

/// A WebSocket to the server, with a token.
pub(crate) fn connect_as(port: u16, token: Option<&str>) -> Outcome<TcpStream> {
    let bearer = token.map(|token| format!("Bearer {token}"));
    connect_with(port, bearer.as_deref().map(|bearer| ("Authorization", bearer)))
}

/// A WebSocket to the server, which will be used for a workspace.
pub(crate) fn connect_for(port: u16, workspace: &str) -> Outcome<TcpStream> {
    connect_with(port, Some(("Baton-Workspace", workspace)))
}

fn connect_with(port: u16, header: Option<(&str, &str)>) -> Outcome<TcpStream> {
    let mut stream = driver::connect(port)?;
    websocket::upgrade(&mut stream, port, PATH, PROTOCOL, header)?;
    Ok(stream)
}

/// A connection that receives the events of one subject from now on.
pub(crate) fn watch(server: &Server, subject: &str) -> Outcome<TcpStream> {
    let mut stream = connect(server.port())?;
    let request = format!(r#"{{"id":1,{HEAD}:"watch","pattern":"{subject}"}}"#);
    driver::ask(&mut stream, &frame(&request), &mut Json, 1)?;
    Ok(stream)
}

/// Writes the key of this number in a workspace.
pub(crate) fn set_in(workspace: &str, number: usize) -> Vec<u8> {
    let (key, value) = (key(number), value(number));
    frame(&format!(
        r#"{{"id":{number},"workspace":"{workspace}","agent":"ada","command":"state.set",{}}}"#,
        format_args!(r#""namespace":"shared","key":"{key}","value":{value}"#)
    ))
}

/// A request with this id that writes a value to a key.
pub(crate) fn set_value(id: usize, key: &str, value: &str) -> Vec<u8> {
    frame(&format!(
        r#"{{"id":{id},{HEAD}:"state.set","namespace":"shared","key":"{key}","value":{value}}}"#
    ))
}

/// Writes the key of this number.
pub(crate) fn set(number: usize) -> Vec<u8> {
    set_value(number, &key(number), &value(number))
}

/// Reads the key of this number.
pub(crate) fn get(number: usize) -> Vec<u8> {
    let key = key(number);
    frame(&format!(r#"{{"id":{number},{HEAD}:"state.get","namespace":"shared","key":"{key}"}}"#))
}

/// Writes the key of this number over HTTP.
pub(crate) fn put(number: usize, port: u16) -> Vec<u8> {
    let (key, value) = (key(number), value(number));
    let length = value.len();
    format!(
        "PUT /v1/bench/state/shared/{key} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\
         Baton-Agent: ada\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n\
         {value}"
    )
    .into_bytes()
}

/// A command of an agent, by its name and fields, for a connection with one request in flight: one
/// id is enough.
pub(crate) fn command(agent: &str, text: &str) -> Vec<u8> {
    frame(&format!(r#"{{"id":1,"workspace":"bench","agent":"{agent}","command":{text}}}"#))
}

/// The value that follows these texts, one after the other: a number, or a quoted string.
pub(crate) fn field<'a>(answer: &'a [u8], names: &[&str]) -> Option<&'a str> {
    let mut rest = answer;
    for name in names {
        let at = rest.windows(name.len()).position(|window| window == name.as_bytes())?;
        rest = &rest[at + name.len()..];
    }
    let end = rest.iter().position(|byte| matches!(byte, b',' | b'}'))?;
    std::str::from_utf8(&rest[..end]).ok()
}

fn frame(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    websocket::text(text.as_bytes(), &mut out);
    out
}

/// Writes to one key, each with the version of the previous one.
pub(crate) struct CompareAndSet {
    before: Vec<u8>,
    after: Vec<u8>,
    version: u64,
    payload: Vec<u8>,
}

impl CompareAndSet {
    pub(crate) fn new(key: &str, value: &str) -> Self {
        let before = format!(
            r#",{HEAD}:"state.set","namespace":"shared","key":"{key}","expected_version":"#
        );
        let after = format!(r#","value":{value}}}"#);
        let (before, after) = (before.into_bytes(), after.into_bytes());
        Self { before, after, version: 0, payload: Vec::new() }
    }
}

impl Requests for CompareAndSet {
    fn next(&mut self, out: &mut Vec<u8>) {
        let version = self.version.to_string();
        self.payload.clear();
        self.payload.extend_from_slice(br#"{"id":"#);
        self.payload.extend_from_slice(version.as_bytes());
        self.payload.extend_from_slice(&self.before);
        self.payload.extend_from_slice(version.as_bytes());
        self.payload.extend_from_slice(&self.after);
        websocket::text(&self.payload, out);
        self.version += 1;
    }
}

/// Answers in JSON over a WebSocket.
#[derive(Clone, Copy)]
pub(crate) struct Json;

impl Answers for Json {
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String> {
        take_text(bytes, replies, is_success)
    }
}

/// Events of watches over a WebSocket, each of which counts as an answer.
#[derive(Clone, Copy)]
pub(crate) struct Event;

impl Answers for Event {
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String> {
        take_text(bytes, replies, is_event)
    }
}

pub(crate) fn take_text(
    bytes: &[u8],
    replies: &mut Vec<u8>,
    is_expected: fn(&[u8]) -> bool,
) -> Result<Option<Element>, String> {
    let Some(frame) = websocket::parse(bytes)? else { return Ok(None) };
    match frame.opcode {
        Opcode::Text if is_expected(frame.payload) => Ok(Some(Element::answer(frame.bytes))),
        Opcode::Text => Err(format!("refused: {}", String::from_utf8_lossy(frame.payload))),
        Opcode::Ping => {
            websocket::pong(frame.payload, replies);
            Ok(Some(Element::other(frame.bytes)))
        }
        Opcode::Pong => Ok(Some(Element::other(frame.bytes))),
    }
}

/// Whether an answer has a revision and no error. Answers with the usual order of members are
/// recognised by their first bytes, others are parsed.
fn is_success(payload: &[u8]) -> bool {
    let after_id = payload.strip_prefix(br#"{"id":"#).map(after_digits);
    after_id.is_some_and(|rest| rest.starts_with(br#","revision":"#))
        || member(payload, "error").is_none() && member(payload, "revision").is_some()
}

fn is_event(payload: &[u8]) -> bool {
    let after_watch = payload.strip_prefix(br#"{"watch":"#).map(after_digits);
    after_watch.is_some_and(|rest| rest.starts_with(br#","event":"#))
        || member(payload, "event").is_some()
}

fn after_digits(bytes: &[u8]) -> &[u8] {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    &bytes[digits..]
}

fn member(payload: &[u8], name: &str) -> Option<Value> {
    let mut answer: Value = serde_json::from_slice(payload).ok()?;
    answer.get_mut(name).map(Value::take)
}
