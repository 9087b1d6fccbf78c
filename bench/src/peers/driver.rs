//! The driver: the same minimal loop for every protocol, so that servers are compared and not
//! clients.
//!
//! ```text
//!   prebuilt requests ──▶ ┌───────────────────────────────┐ ──▶ C sockets, each with
//!                         │ one thread, one epoll loop:   │     D requests in flight
//!   complete answers ◀─── │ read once, take the answers,  │ ◀──
//!   counted and timed     │ write as many requests again  │
//!                         └───────────────────────────────┘
//! ```
//!
//! 1. Closed loop: a connection sends a request only after an answer, in one `write` for all
//!    answers of one `read`.
//! 2. A refusal, an unexpected answer, a closed connection or five seconds of silence fail the run.
//!    Only successes are counted.
//! 3. A round ends when everything in flight is answered, so that rounds do not affect each other.
//! 4. Answers are matched to requests in the order sent. If a server answers out of order, this
//!    swaps times between neighbours of one connection; their sum is unchanged.
//!
//! Deliberately absent: client libraries, whose own work would be a large part of the measurement.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::ops::Add;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mio::{Events, Interest, Poll, Token};

use super::latencies::Latencies;
use super::processes;
use crate::Outcome;
use crate::resources::{Measured, Stopwatch, Usage, count, thread_cpu_seconds, tree_usage};

/// Silence after which a server counts as stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// The size of a read. A shorter result means that the socket is empty, which saves a second read.
pub(crate) const READ_BYTES: usize = 256 << 10;
const EVENTS: usize = 1024;

/// The source of the requests of a connection.
pub(crate) trait Requests {
    /// Appends the next request.
    fn next(&mut self, out: &mut Vec<u8>);

    /// Whether it sends requests; one that does not serves the others, and is not counted.
    fn asks(&self) -> bool {
        true
    }
}

/// Parses the bytes of a server, as far as necessary to count successes.
pub(crate) trait Answers {
    /// Takes one element of the protocol from the front, or none if it is incomplete. The bytes
    /// that have to be sent for it are appended to `replies`: those that the protocol itself
    /// requires, and the next request of an operation with several. A refusal is an error.
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String>;
}

impl Answers for Box<dyn Answers> {
    fn take(&mut self, bytes: &[u8], replies: &mut Vec<u8>) -> Result<Option<Element>, String> {
        (**self).take(bytes, replies)
    }
}

/// One element of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) bytes: usize,
    /// Whether it completes the answer to a request.
    pub(crate) is_answer: bool,
}

impl Element {
    pub(crate) fn answer(bytes: usize) -> Self {
        Self { bytes, is_answer: true }
    }

    pub(crate) fn other(bytes: usize) -> Self {
        Self { bytes, is_answer: false }
    }
}

/// An unsigned number.
pub(crate) fn decimal(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_usize, |number, digit| match digit {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add(usize::from(digit - b'0')),
        _ => None,
    })
}

/// The result of a round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnResult {
    /// The processor time is that of the server, `callers` is that of the driver.
    pub(crate) measured: Measured,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

/// A connection that is ready for requests, with both directions of its protocol.
pub(crate) type Opened<R, A> = (TcpStream, R, A);

/// Connects to a server on this machine, with deadlines for everything before the loop.
pub(crate) fn connect(port: u16) -> Outcome<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Sends bytes and waits for this many answers, before the loop. Returns what was received.
pub(crate) fn ask(
    stream: &mut TcpStream,
    request: &[u8],
    answers: &mut impl Answers,
    expected: usize,
) -> Outcome<Vec<u8>> {
    stream.write_all(request)?;
    let (mut came, mut at, mut answered) = (Vec::new(), 0, 0);
    let mut buffer = [0; 4096];
    while answered < expected || at < came.len() {
        let mut replies = Vec::new();
        if let Some(taken) = answers.take(&came[at..], &mut replies)? {
            at += taken.bytes;
            answered += usize::from(taken.is_answer);
            stream.write_all(&replies)?;
            continue;
        }
        match stream.read(&mut buffer)? {
            0 => return Err("the server closed a connection".into()),
            read => came.extend_from_slice(&buffer[..read]),
        }
    }
    if answered == expected {
        Ok(came)
    } else {
        Err(format!("{answered} answers came instead of {expected}").into())
    }
}

/// Lets every connection send this many requests, and waits until all are answered.
pub(crate) fn fill<R: Requests, A: Answers>(
    opened: Vec<Opened<R, A>>,
    in_flight: usize,
    requests_each: usize,
) -> Outcome<()> {
    let mut driver = Driver::new(opened, in_flight, requests_each)?;
    driver.finish()
}

/// Drives a server for the warm-up and the measured time.
pub(crate) fn measure<R: Requests, A: Answers>(
    opened: Vec<Opened<R, A>>,
    in_flight: usize,
    turn: Duration,
    pid: u32,
) -> Outcome<TurnResult> {
    measure_several(opened, in_flight, turn, (&[pid], None)).map(|(served, _)| served)
}

/// Drives several servers, which together are one side. The resources that a process of theirs used
/// in the measured time are returned separately.
pub(crate) fn measure_several<R: Requests, A: Answers>(
    opened: Vec<Opened<R, A>>,
    in_flight: usize,
    turn: Duration,
    (servers, used_by_them): (&[u32], Option<u32>),
) -> Outcome<(TurnResult, Usage)> {
    let servers_usage =
        || servers.iter().map(|pid| tree_usage(*pid)).fold(Usage::default(), Add::add);
    let other_usage = || used_by_them.map(tree_usage).unwrap_or_default();
    let mut driver = Driver::new(opened, in_flight, usize::MAX)?;
    let warm_up = turn * 3 / 10;
    while driver.clock.elapsed() < warm_up {
        driver.round()?;
    }
    driver.latencies.clear();
    let (usage, other, driver_cpu_seconds) = (servers_usage(), other_usage(), thread_cpu_seconds());
    let began = driver.clock.elapsed();
    let mut operations = 0;
    while driver.clock.elapsed() < began + turn {
        operations += driver.round()?;
    }
    let ended = driver.clock.elapsed();
    let served = TurnResult {
        measured: Measured {
            operations: count(operations),
            seconds: ended.saturating_sub(began).as_secs_f64(),
            usage: servers_usage() - usage,
            caller_cpu_seconds: thread_cpu_seconds() - driver_cpu_seconds,
        },
        p50_us: driver.latencies.quantile_us(0.5),
        p99_us: driver.latencies.quantile_us(0.99),
    };
    let other = other_usage() - other;
    driver.stop();
    driver.finish()?;
    Ok((served, other))
}

/// Drives a server until it is stopped; returns the answered requests per second.
pub(crate) fn flood<R: Requests, A: Answers>(
    opened: Vec<Opened<R, A>>,
    in_flight: usize,
    is_over: &AtomicBool,
) -> Outcome<f64> {
    let mut driver = Driver::new(opened, in_flight, usize::MAX)?;
    let mut operations = 0;
    while !is_over.load(Ordering::Relaxed) {
        operations += driver.round()?;
    }
    let seconds = driver.clock.elapsed().as_secs_f64();
    driver.stop();
    driver.finish()?;
    Ok(count(operations) / seconds)
}

struct Driver<R, A> {
    poll: Poll,
    events: Events,
    connections: Vec<Connection<R, A>>,
    buffer: Vec<u8>,
    clock: Stopwatch,
    latencies: Latencies,
}

impl<R: Requests, A: Answers> Driver<R, A> {
    /// Takes over the connections and sends their first requests.
    fn new(opened: Vec<Opened<R, A>>, in_flight: usize, requests_each: usize) -> Outcome<Self> {
        let poll = Poll::new()?;
        let clock = Stopwatch::start();
        let mut connections = Vec::with_capacity(opened.len());
        for (number, (stream, requests, answers)) in opened.into_iter().enumerate() {
            stream.set_nonblocking(true)?;
            let mut stream = mio::net::TcpStream::from_std(stream);
            // Linux reports a socket as writable again only after a write had to stop, so
            // registering for both costs nothing.
            let interest = Interest::READABLE | Interest::WRITABLE;
            poll.registry().register(&mut stream, Token(number), interest)?;
            connections.push(Connection {
                stream,
                requests,
                answers,
                unread: Vec::new(),
                unsent: Vec::new(),
                sent_at: VecDeque::with_capacity(in_flight),
                requests_left: requests_each,
            });
        }
        for connection in connections.iter_mut().filter(|connection| connection.requests.asks()) {
            connection.send(in_flight, clock.elapsed())?;
        }
        let events = Events::with_capacity(EVENTS);
        let (buffer, latencies) = (vec![0; READ_BYTES], Latencies::new());
        Ok(Self { poll, events, connections, buffer, clock, latencies })
    }

    /// Serves the sockets that are ready. Returns the number of answers.
    fn round(&mut self) -> Outcome<u64> {
        wait(&mut self.poll, &mut self.events)?;
        let mut answered = 0;
        for event in &self.events {
            let connection = &mut self.connections[event.token().0];
            if event.is_writable() && !connection.unsent.is_empty() {
                connection.flush()?;
            }
            if event.is_readable() {
                let (clock, is_closed) = (&self.clock, event.is_read_closed());
                let latencies = &mut self.latencies;
                answered += connection.serve(&mut self.buffer, is_closed, clock, latencies)?;
            }
        }
        Ok(answered)
    }

    /// Stops sending.
    fn stop(&mut self) {
        for connection in &mut self.connections {
            connection.requests_left = 0;
        }
    }

    /// Waits for requests in flight and for unsent ones.
    fn finish(&mut self) -> Outcome<()> {
        while self.connections.iter().any(|connection| !connection.sent_at.is_empty()) {
            self.round()?;
        }
        Ok(())
    }
}

/// Waits until a socket is ready.
pub(crate) fn wait(poll: &mut Poll, events: &mut Events) -> Outcome<()> {
    match poll.poll(events, Some(PATIENCE)) {
        Err(error) if error.kind() == ErrorKind::Interrupted => {
            processes::go_on_unless_interrupted()
        }
        Err(error) => Err(error.into()),
        Ok(()) if events.is_empty() => {
            Err(format!("nothing came for {} s", PATIENCE.as_secs()).into())
        }
        Ok(()) => processes::go_on_unless_interrupted(),
    }
}

struct Connection<R, A> {
    stream: mio::net::TcpStream,
    requests: R,
    answers: A,
    /// The beginning of an incomplete answer.
    unread: Vec<u8>,
    /// The bytes that the socket did not accept.
    unsent: Vec<u8>,
    sent_at: VecDeque<Duration>,
    requests_left: usize,
}

impl<R: Requests, A: Answers> Connection<R, A> {
    /// Reads what is available. The end of a closed connection is read too, since no later event
    /// would report it.
    fn serve(
        &mut self,
        buffer: &mut [u8],
        is_closed: bool,
        clock: &Stopwatch,
        latencies: &mut Latencies,
    ) -> Outcome<u64> {
        let mut answered = 0;
        loop {
            let Some(read) = read(&mut self.stream, buffer)? else { return Ok(answered) };
            let now = clock.elapsed();
            let answers = self.take(&buffer[..read], now, latencies)?;
            answered += answers as u64;
            if answers > 0 || !self.unsent.is_empty() {
                self.send(answers, now)?;
            }
            if read < buffer.len() && !is_closed {
                return Ok(answered);
            }
        }
    }

    fn take(
        &mut self,
        read: &[u8],
        now: Duration,
        latencies: &mut Latencies,
    ) -> Result<usize, String> {
        let has_rest = !self.unread.is_empty();
        if has_rest {
            self.unread.extend_from_slice(read);
        }
        let bytes = if has_rest { &self.unread[..] } else { read };
        let (mut at, mut answers) = (0, 0);
        while at < bytes.len() {
            let Some(taken) = self.answers.take(&bytes[at..], &mut self.unsent)? else { break };
            at += taken.bytes;
            if taken.is_answer {
                let sent_at = self.sent_at.pop_front().ok_or("an answer without a request")?;
                latencies.add(now.saturating_sub(sent_at));
                answers += 1;
            }
        }
        if has_rest {
            self.unread.drain(..at);
        } else {
            self.unread.extend_from_slice(&read[at..]);
        }
        Ok(answers)
    }

    /// Sends as many requests as are left, at most this many.
    fn send(&mut self, requests: usize, now: Duration) -> Outcome<()> {
        let requests = requests.min(self.requests_left);
        self.requests_left -= requests;
        for _ in 0..requests {
            self.requests.next(&mut self.unsent);
            self.sent_at.push_back(now);
        }
        self.flush()
    }

    fn flush(&mut self) -> Outcome<()> {
        let mut at = 0;
        while at < self.unsent.len() {
            match self.stream.write(&self.unsent[at..]) {
                Ok(written) => at += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.unsent.drain(..at);
        Ok(())
    }
}

/// Reads what is available; none if there is nothing.
pub(crate) fn read(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match stream.read(buffer) {
            Ok(0) => {
                let text = "the server closed a connection";
                return Err(io::Error::new(ErrorKind::UnexpectedEof, text));
            }
            Ok(read) => return Ok(Some(read)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
