//! The Model Context Protocol: what a call of a tool costs beside the same command over HTTP, and
//! what an idle session costs.
//!
//! ```text
//!   calls      write an entry by `baton_write_state` ── by `PUT` of the resource ── and again …
//!   sessions   one session ── memory ── open all ── memory, for each of them
//! ```
//!
//! Calls are of revision 2026-07-28, which has no sessions. Sessions are those of clients of
//! 2025-11-25: opened, initialised, and not used.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use serde_json::{Value, json};

use crate::Outcome;
use crate::options::Options;
use crate::peers::driver::{self, Answers, Element, decimal};
use crate::peers::http::Http;
use crate::peers::processes::{Server, go_on_unless_interrupted};
use crate::peers::requests::Prebuilt;
use crate::peers::{baton, programs};
use crate::report::{Comparison, Report, Target, say};
use crate::resources::{Measured, count};
use crate::samples::{key, value};

const CALLS: &str = "a call of a tool beside the same command over HTTP";
const SESSIONS: &str = "idle sessions";
/// The least ratio of the rates.
const LEAST: f64 = 0.5;
/// Connections with one request in flight each.
const CONNECTIONS: usize = 16;
/// Sessions; the server has at most 1,024.
const COUNT: usize = 1_000;

/// Measures both.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    let program = programs::baton(options.baton.as_deref())?;
    let mut report = Report::default();
    if options.wants(CALLS) {
        calls(options, &program, &mut report)?;
    }
    if options.wants(SESSIONS) {
        sessions(options, &program, &mut report)?;
    }
    say(&report.summary());
    if let Some(path) = &options.json {
        report.write_json(path)?;
    }
    Ok(())
}

fn calls(options: &Options, program: &Path, report: &mut Report) -> Outcome<()> {
    let server = baton::start(program, &options.folder)?;
    let port = server.port();
    let called = Prebuilt::build(|number| call(number, port));
    let put = Prebuilt::build(|number| baton::put(number, port));
    let mut turns = Vec::new();
    for number in 0..options.turns {
        let ours = || measure(options, &server, &called, || Called);
        let plain = || measure(options, &server, &put, || Http);
        let turn = if number % 2 == 0 {
            let first = ours()?;
            (first, plain()?)
        } else {
            let first = plain()?;
            (ours()?, first)
        };
        turns.push(turn);
    }
    report.add(Comparison::of_turns(CALLS, &turns).target(Target::AtLeast(LEAST)));
    Ok(())
}

fn measure<A: Answers>(
    options: &Options,
    server: &Server,
    requests: &Prebuilt,
    answers: impl Fn() -> A,
) -> Outcome<Measured> {
    let opened = (0..CONNECTIONS).map(|connection| {
        let requests = requests.of_connection(connection, CONNECTIONS);
        Ok((driver::connect(server.port())?, requests, answers()))
    });
    let opened = opened.collect::<Outcome<Vec<_>>>()?;
    let turn = driver::measure(opened, 1, options.turn, server.pid());
    Ok(server.blame(turn)?.measured)
}

fn post(port: u16, headers: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    format!(
        "POST /mcp/bench HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nBaton-Agent: ada\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         {headers}Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Writes the key of this number by a tool.
fn call(number: usize, port: u16) -> Vec<u8> {
    let value: Value = serde_json::from_str(&value(number)).unwrap_or_default();
    let arguments = json!({"ref": format!("shared/{}", key(number)), "value": value});
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "baton_write_state", "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params});
    let headers = "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
                   Mcp-Name: baton_write_state\r\n";
    post(port, headers, &body)
}

/// Answers to calls of tools.
struct Called;

impl Answers for Called {
    fn take(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Result<Option<Element>, String> {
        let Some(length) = whole(bytes) else { return Ok(None) };
        let answer = &bytes[..length];
        if !answer.starts_with(b"HTTP/1.1 2") || position(answer, br#""isError":true"#).is_some() {
            return Err(format!("refused: {}", String::from_utf8_lossy(answer)));
        }
        Ok(Some(Element::answer(length)))
    }
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// The value of a header.
fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let (found, value) = line.split_at_checked(name.len())?;
        found.eq_ignore_ascii_case(name.as_bytes()).then(|| value.trim_ascii())
    })
}

/// The length of the answer at the front, which has a length or is a stream; none if it is
/// incomplete.
fn whole(bytes: &[u8]) -> Option<usize> {
    const LAST: &[u8] = b"\r\n0\r\n\r\n";
    let head = position(bytes, b"\r\n\r\n")? + 4;
    let end = match header(&bytes[..head], "content-length:").and_then(decimal) {
        Some(length) => head + length,
        None if header(&bytes[..head], "transfer-encoding:").is_none() => head,
        None => head + position(&bytes[head..], LAST)? + LAST.len(),
    };
    (end <= bytes.len()).then_some(end)
}

fn sessions(options: &Options, program: &Path, report: &mut Report) -> Outcome<()> {
    let server = baton::start(program, &options.folder)?;
    let memory = server.blame(each_session(&server))?;
    let text = format!("{memory:.2} KB each");
    let line = Comparison {
        note: format!("KB for each of {COUNT}"),
        facts: json!({"sessions": COUNT, "kib": memory}),
        ..Comparison::of_ratios(SESSIONS, &[memory], (text, "no peer".to_owned()))
    };
    report.add(line);
    Ok(())
}

fn each_session(server: &Server) -> Outcome<f64> {
    let mut stream = driver::connect(server.port())?;
    open(&mut stream, server.port())?;
    let before = server.resident_bytes()?;
    for _ in 0..COUNT {
        go_on_unless_interrupted()?;
        open(&mut stream, server.port())?;
    }
    let grown = server.resident_bytes()?.saturating_sub(before);
    Ok(count(grown) / count(COUNT as u64) / 1024.0)
}

/// Opens a session and leaves it.
fn open(stream: &mut TcpStream, port: u16) -> Outcome<()> {
    let client = json!({"name": "bench", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let answer = ask(stream, &post(port, "", &body))?;
    let session = header(&answer, "mcp-session-id:").ok_or("there is no session")?;
    let session = String::from_utf8(session.to_vec())?;
    let headers = format!("Mcp-Session-Id: {session}\r\nMcp-Protocol-Version: 2025-11-25\r\n");
    let body = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    ask(stream, &post(port, &headers, &body)).map(drop)
}

fn ask(stream: &mut TcpStream, request: &[u8]) -> Outcome<Vec<u8>> {
    stream.write_all(request)?;
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while whole(&answer).is_none() {
        let length = stream.read(&mut piece)?;
        if length == 0 {
            return Err("the server closed the connection".into());
        }
        answer.extend_from_slice(&piece[..length]);
    }
    if !answer.starts_with(b"HTTP/1.1 2") {
        return Err(format!("refused: {}", String::from_utf8_lossy(&answer)).into());
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_a_length_or_are_streams() {
        let whole_of = |text: &str| whole(text.as_bytes());
        let sized = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(whole_of(sized), Some(sized.len()));
        assert_eq!(whole_of(&sized[..sized.len() - 1]), None);
        let stream = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
        assert_eq!(whole_of(stream), Some(stream.len()));
        assert_eq!(whole_of(&stream[..stream.len() - 3]), None);
        let empty = "HTTP/1.1 202 Accepted\r\n\r\n";
        assert_eq!(whole_of(empty), Some(empty.len()));
    }

    #[test]
    fn a_refused_call_is_an_error() {
        let refused = "HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n{\"isError\":true}";
        assert!(Called.take(refused.as_bytes(), &mut Vec::new()).is_err());
    }
}
