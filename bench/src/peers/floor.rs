//! The floor: a server of the same bytes without any logic, which shows what the kernel leaves.
//!
//! ```text
//!   ready sockets ──▶ count the requests ──▶ what they write, one append and sync ──▶ answers
//!                     by their lengths       to the log that Baton uses                the same
//!                                                                                      bytes each
//! ```
//!
//! 1. A request is recognised by its length only: it is not unmasked, not parsed, and checked for
//!    nothing. One that is longer than a value writes, and its bytes are the record.
//! 2. Every answer is the one that Baton has given to such a request before the first round.
//! 3. One thread does all of it. All requests that a round of `epoll` finds are one group, durable
//!    before its answers are sent.
//!
//! It is this program in another process, so that its processor time is measured like that of the
//! others.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Command;

use baton_log::{FileLog, Options};
use mio::{Events, Interest, Poll, Token};

use super::driver::{self, READ_BYTES, decimal};
use super::processes::{self, Ending, Server};
use super::{Kind, baton, websocket};
use crate::Outcome;
use crate::kernel::segment_file::Recycled;
use crate::options::Part;
use crate::samples::VALUE_BYTES;

/// The name of the process, as a part of this program.
pub(crate) const PART: &str = "floor";
const ANSWER: &str = "answer";
const LOG: &str = "data";
const EVENTS: usize = 1024;
const LISTENER: Token = Token(usize::MAX);
const HEAD_END: &[u8] = b"\r\n\r\n";
const LENGTH: &str = "Content-Length: ";

/// Starts a server that answers every request with these bytes.
pub(crate) fn start(parent: &Path, answer: &[u8]) -> Outcome<Server> {
    let folder = processes::folder(parent, PART)?;
    fs::write(folder.path().join(ANSWER), answer)?;
    let [port] = processes::free_ports()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["part", PART]).arg(folder.path()).arg(port.to_string());
    let server = Server::start(Kind::Floor, folder, port, command, Ending::Kill)?;
    server.wait_until(|port| driver::connect(port).map(drop))
}

/// Serves until it is killed.
pub(crate) fn be(part: &Part) -> Outcome<()> {
    let port = u16::try_from(part.number)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    serve(listener, &part.folder.join(LOG), &fs::read(part.folder.join(ANSWER))?)
}

/// Serves the connections of a listener.
pub(crate) fn serve(listener: TcpListener, folder: &Path, answer: &[u8]) -> Outcome<()> {
    let log = FileLog::open(Options::new(folder))?;
    let mut written = Recycled::new(&log);
    listener.set_nonblocking(true)?;
    let mut listener = mio::net::TcpListener::from_std(listener);
    let mut poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let (mut events, mut buffer) = (Events::with_capacity(EVENTS), vec![0; READ_BYTES]);
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let (mut group, mut ready) = (Vec::new(), Vec::new());
    loop {
        match poll.poll(&mut events, None) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            outcome => outcome?,
        }
        for event in &events {
            if event.token() == LISTENER {
                accept(&listener, &poll, &mut connections)?;
                continue;
            }
            let Some(Some(connection)) = connections.get_mut(event.token().0) else { continue };
            match connection.receive(&mut buffer, answer, &mut group) {
                Ok(()) => ready.push(event.token().0),
                Err(_) => connections[event.token().0] = None,
            }
        }
        if !group.is_empty() {
            written.append(&group)?;
            group.clear();
        }
        for number in ready.drain(..) {
            let flushed = connections[number].as_mut().map(Connection::flush);
            if flushed.is_some_and(|outcome| outcome.is_err()) {
                connections[number] = None;
            }
        }
    }
}

fn accept(
    listener: &mio::net::TcpListener,
    poll: &Poll,
    connections: &mut Vec<Option<Connection>>,
) -> io::Result<()> {
    loop {
        let mut stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        stream.set_nodelay(true)?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut stream, Token(connections.len()), interest)?;
        connections.push(Some(Connection { stream, unread: Vec::new(), unsent: Vec::new() }));
    }
}

struct Connection {
    stream: mio::net::TcpStream,
    /// The beginning of an incomplete request.
    unread: Vec<u8>,
    unsent: Vec<u8>,
}

impl Connection {
    /// Reads what is available, and prepares the answers.
    fn receive(&mut self, buffer: &mut [u8], answer: &[u8], group: &mut Vec<u8>) -> Outcome<()> {
        while let Some(count) = driver::read(&mut self.stream, buffer)? {
            let has_rest = !self.unread.is_empty();
            if has_rest {
                self.unread.extend_from_slice(&buffer[..count]);
            }
            let bytes = if has_rest { &self.unread[..] } else { &buffer[..count] };
            let mut at = 0;
            while let Some(request) = Request::at_front(&bytes[at..])? {
                match request {
                    Request::Upgrade(_) => self.unsent.extend_from_slice(upgraded().as_bytes()),
                    Request::Call(_) => self.unsent.extend_from_slice(answer),
                }
                let end = at + request.bytes();
                if matches!(request, Request::Call(length) if length > VALUE_BYTES) {
                    group.extend_from_slice(&bytes[at..end]);
                }
                at = end;
            }
            if has_rest {
                self.unread.drain(..at);
            } else {
                self.unread.extend_from_slice(&buffer[at..count]);
            }
            if count < buffer.len() {
                break;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut at = 0;
        while at < self.unsent.len() {
            match self.stream.write(&self.unsent[at..]) {
                Ok(count) => at += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.unsent.drain(..at);
        Ok(())
    }
}

fn upgraded() -> String {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: {}\r\n\r\n",
        websocket::ACCEPT,
        baton::PROTOCOL
    )
}

/// A request and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// To a WebSocket.
    Upgrade(usize),
    /// A frame, or a request over HTTP.
    Call(usize),
}

impl Request {
    fn bytes(self) -> usize {
        match self {
            Self::Upgrade(bytes) | Self::Call(bytes) => bytes,
        }
    }

    /// The request at the front; none if it is incomplete.
    pub(crate) fn at_front(bytes: &[u8]) -> Result<Option<Self>, String> {
        match bytes.first() {
            None => Ok(None),
            Some(0x81) => Ok(frame_bytes(bytes).map(Self::Call)),
            Some(b'G' | b'P') => http_request(bytes),
            Some(other) => Err(format!("a request that begins with {other:#04x} is unknown")),
        }
        .map(|found| found.filter(|request| request.bytes() <= bytes.len()))
    }
}

/// The length of a masked frame, if its head is complete.
fn frame_bytes(bytes: &[u8]) -> Option<usize> {
    const MASK_BYTES: usize = 4;
    let (head, length) = match bytes.get(1)? & 0x7f {
        126 => (4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
        127 => (10, usize::try_from(u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?)).ok()?),
        length => (2, usize::from(length)),
    };
    length.checked_add(head + MASK_BYTES)
}

fn http_request(bytes: &[u8]) -> Result<Option<Request>, String> {
    let Some(head) = bytes.windows(HEAD_END.len()).position(|window| window == HEAD_END) else {
        return Ok(None);
    };
    let text = str::from_utf8(&bytes[..head]).map_err(|error| error.to_string())?;
    let end = head + HEAD_END.len();
    if text.contains("Upgrade: websocket") {
        return Ok(Some(Request::Upgrade(end)));
    }
    let length = text.lines().find_map(|line| line.strip_prefix(LENGTH));
    let length = length.map_or(Some(0), |length| decimal(length.as_bytes()));
    let length = length.ok_or_else(|| format!("a length that is none: {text}"))?;
    Ok(Some(Request::Call(end + length)))
}
