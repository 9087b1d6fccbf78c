//! NATS: its text protocol over a socket, durable in `JetStream` by `sync_interval: always`.
//!
//! | operation | request | a success |
//! |---|---|---|
//! | publish | `PUB subject` | none: subscribers get a `MSG` |
//! | request | `PUB subject inbox` | a `MSG` to the inbox |
//! | durable publish | the same, on a subject of a stream | a `MSG` with the stream's sequence |

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use super::Kind;
use super::driver::{self, Answers, Element, decimal};
use super::processes::{self, Ending, Server};
use crate::Outcome;

const CONNECT: &str = "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nPING\r\n";

/// Starts a server with a durable store, and waits until it answers.
pub(crate) fn start(program: &Path, parent: &Path) -> Outcome<Server> {
    let folder = processes::folder(parent, "nats")?;
    let [port] = processes::free_ports()?;
    let settings = folder.path().join("nats.conf");
    let store = folder.path().join("store");
    let store = store.display();
    let durable = format!("store_dir: \"{store}\", sync_interval: always");
    fs::write(&settings, format!("listen: 127.0.0.1:{port}\njetstream {{ {durable} }}\n"))?;
    let mut command = Command::new(program);
    command.arg("--config").arg(settings);
    let server = Server::start(Kind::Nats, folder, port, command, Ending::Kill)?;
    server.wait_until(|port| connect(port).map(drop))
}

/// A connection after the greeting.
pub(crate) fn connect(port: u16) -> Outcome<TcpStream> {
    let mut stream = driver::connect(port)?;
    // The greeting is one line, and nothing follows before it is answered.
    let mut byte = [0];
    while byte != *b"\n" {
        stream.read_exact(&mut byte)?;
    }
    driver::ask(&mut stream, CONNECT.as_bytes(), &mut Pong, 1)?;
    Ok(stream)
}

/// Subscribes a connection to a subject.
pub(crate) fn subscribe(stream: &mut TcpStream, subject: &str) -> Outcome<()> {
    let request = format!("SUB {subject} 1\r\nPING\r\n");
    driver::ask(stream, request.as_bytes(), &mut Pong, 1)?;
    Ok(())
}

/// A message on a subject, with a reply subject if one is given.
pub(crate) fn publish(subject: &str, answer_to: &str, payload: &str) -> Vec<u8> {
    let bytes = payload.len();
    let blank = if answer_to.is_empty() { "" } else { " " };
    format!("PUB {subject}{blank}{answer_to} {bytes}\r\n{payload}\r\n").into_bytes()
}

/// The reply subject of a message.
pub(crate) fn answer_to(message: &[u8]) -> Option<&str> {
    let head = message.split(|byte| *byte == b'\r').next()?;
    let words: Vec<&str> = std::str::from_utf8(head).ok()?.split(' ').collect();
    match words.as_slice() {
        ["MSG", _, _, answer_to, _] => Some(answer_to),
        _ => None,
    }
}

/// Messages, each of which counts as an answer.
#[derive(Clone, Copy)]
pub(crate) struct Messages;

impl Answers for Messages {
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String> {
        take(bytes, replies, |line| line.starts_with(b"MSG "))
    }
}

/// Answers to `PING`.
struct Pong;

impl Answers for Pong {
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String> {
        take(bytes, replies, |line| line == b"PONG")
    }
}

fn take(
    bytes: &[u8],
    replies: &mut Vec<u8>,
    is_answer: impl Fn(&[u8]) -> bool,
) -> Result<Option<Element>, String> {
    let Some(line_feed) = bytes.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
    let (line, mut end) = (bytes[..line_feed].trim_ascii_end(), line_feed + 1);
    let refused = || format!("refused: {}", String::from_utf8_lossy(line));
    if line.starts_with(b"-ERR") {
        return Err(refused());
    }
    if line.starts_with(b"MSG ") {
        let length = line.rsplit(|byte| *byte == b' ').next().and_then(decimal);
        end += length.ok_or_else(refused)? + 2;
        if bytes.len() < end {
            return Ok(None);
        }
        // A stream refuses in the text of its answer.
        if bytes[line_feed..end].starts_with(b"\n{\"error\"") {
            return Err(format!("refused: {}", String::from_utf8_lossy(&bytes[..end])));
        }
    }
    if line == b"PING" {
        replies.extend_from_slice(b"PONG\r\n");
    }
    Ok(Some(Element { bytes: end, is_answer: is_answer(line) }))
}
