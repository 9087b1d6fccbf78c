//! One write to a thousand watchers, each on a connection of its own.
//!
//! ```text
//!   clock starts ── write ──▶ server ──▶ 1,000 sockets ──▶ last event read in full ── clock stops
//!                                   └──▶ the writer's answer, which may come before or after
//! ```
//!
//! The peer is Redis: `SET` and `PUBLISH` in one write, to as many subscribers. Both sides take
//! turns write by write. After the clock has stopped every watcher must have exactly the event of
//! this write, and the writer its answer; else the run fails.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use mio::{Events, Interest, Poll, Token};
use serde_json::{Value, json};

use super::driver::{self, Answers, READ_BYTES};
use super::processes::{Server, go_on_unless_interrupted};
use super::{Bench, Kind, baton, redis};
use crate::Outcome;
use crate::report::{Line, Report, Target, median};
use crate::samples::value;
use crate::timing::{Stopwatch, count, tree_cpu_seconds};

pub(crate) const NAME: &str = "1 write to 1,000 WebSocket watchers";
const WATCHERS: usize = 1_000;
/// Writes to each side in a turn.
const ROUNDS: usize = 40;
const ROUNDS_WARM_UP: usize = 5;
const KEY: &str = "bench/watched";
const MOST: f64 = 0.85;

/// Measures the time to the last watcher on both sides.
pub(crate) fn run(bench: &Bench<'_>, report: &mut Report) -> Outcome<()> {
    let Some(redis) = bench.start(Kind::Redis)? else { return Ok(()) };
    let (mut ours, mut theirs) = (Side::new(bench.start_ours()?)?, Side::new(redis)?);
    for round in 0..ROUNDS_WARM_UP {
        ours.round(round)?;
        theirs.round(round)?;
    }
    let (mut our_turns, mut their_turns) = (Vec::new(), Vec::new());
    for turn in 1..=bench.options.turns {
        let cpu_seconds = (ours.cpu_seconds(), theirs.cpu_seconds());
        let mut times_ms = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let number = turn * ROUNDS + round;
            times_ms.0.push(ours.round(number)?.as_secs_f64() * 1e3);
            times_ms.1.push(theirs.round(number)?.as_secs_f64() * 1e3);
        }
        our_turns.push(Turn::of(&times_ms.0, ours.cpu_seconds() - cpu_seconds.0));
        their_turns.push(Turn::of(&times_ms.1, theirs.cpu_seconds() - cpu_seconds.1));
    }
    let line = line(&our_turns, &their_turns);
    report.add(if bench.is_control() { line } else { line.target(Target::AtMost(MOST)) });
    Ok(())
}

fn line(ours: &[Turn], theirs: &[Turn]) -> Line {
    let pairs = ours.iter().zip(theirs);
    let ratios: Vec<f64> = pairs.map(|(ours, theirs)| ours.p50 / theirs.p50).collect();
    let (ours, theirs) = (Turn::middle(ours), Turn::middle(theirs));
    let name = format!("{NAME}, write to last, against Redis SET + PUBLISH");
    let facts = json!({ "ours": ours.json(), "theirs": theirs.json(), "ratios": ratios });
    Line { facts, ..Line::of_ratios(&name, &ratios, (ours.text(), theirs.text())) }
}

/// What a turn's writes came to on one side, in milliseconds.
#[derive(Clone, Copy)]
struct Turn {
    p50: f64,
    p99: f64,
    /// The server's, for one write.
    cpu: f64,
}

impl Turn {
    fn of(times_ms: &[f64], cpu_seconds: f64) -> Self {
        let mut sorted = times_ms.to_vec();
        sorted.sort_by(f64::total_cmp);
        Self {
            p50: median(times_ms),
            p99: sorted[sorted.len() * 99 / 100],
            cpu: cpu_seconds / count(times_ms.len() as u64) * 1e3,
        }
    }

    fn middle(turns: &[Self]) -> Self {
        let middle =
            |number: fn(&Self) -> f64| median(&turns.iter().map(number).collect::<Vec<f64>>());
        Self {
            p50: middle(|turn| turn.p50),
            p99: middle(|turn| turn.p99),
            cpu: middle(|turn| turn.cpu),
        }
    }

    fn text(&self) -> String {
        let Self { p50, p99, cpu } = self;
        format!("{p50:.2}/{p99:.2} ms, CPU {cpu:.2} ms")
    }

    fn json(&self) -> Value {
        json!({ "p50_ms": self.p50, "p99_ms": self.p99, "cpu_ms": self.cpu })
    }
}

/// How a server is talked to.
struct Speech {
    watch: fn(&Server, &str) -> Outcome<TcpStream>,
    event: fn() -> Box<dyn Answers>,
    connect: fn(u16) -> Outcome<TcpStream>,
    answer: fn() -> Box<dyn Answers>,
    /// To one write.
    answers: usize,
    write: fn(usize) -> Vec<u8>,
}

const BATON: Speech = Speech {
    watch: baton::watch,
    event: || Box::new(baton::Event),
    connect: baton::connect,
    answer: || Box::new(baton::Json),
    answers: 1,
    write: |round| baton::set_value(round, KEY, &value(round)),
};

const REDIS: Speech = Speech {
    watch: redis::subscribe,
    event: || Box::new(redis::Resp),
    connect: driver::connect,
    answer: || Box::new(redis::Resp),
    answers: 2,
    write: |round| redis::set_and_publish(KEY, KEY, &value(round)),
};

/// A server, its watchers and who writes to it.
struct Side {
    server: Server,
    poll: Poll,
    events: Events,
    buffer: Vec<u8>,
    watchers: Vec<Listener>,
    writer: Listener,
    /// The write of a round.
    request: fn(usize) -> Vec<u8>,
}

impl Side {
    fn new(server: Server) -> Outcome<Self> {
        let speech = if server.kind() == Kind::Redis { REDIS } else { BATON };
        let poll = Poll::new()?;
        let mut watchers = Vec::with_capacity(WATCHERS);
        for number in 0..WATCHERS {
            go_on_unless_interrupted()?;
            let stream = server.blame((speech.watch)(&server, KEY))?;
            watchers.push(Listener::new(stream, (speech.event)(), 1, &poll, number)?);
        }
        let stream = server.blame((speech.connect)(server.port()))?;
        let answer = (speech.answer)();
        let writer = Listener::new(stream, answer, speech.answers, &poll, WATCHERS)?;
        let request = speech.write;
        let (events, buffer) = (Events::with_capacity(WATCHERS + 1), vec![0; READ_BYTES]);
        Ok(Self { server, poll, events, buffer, watchers, writer, request })
    }

    fn cpu_seconds(&self) -> f64 {
        tree_cpu_seconds(self.server.pid())
    }

    fn round(&mut self, number: usize) -> Outcome<Duration> {
        let outcome = self.try_round(number);
        self.server.blame(outcome)
    }

    /// One write, until every watcher and the writer have what they should have.
    fn try_round(&mut self, number: usize) -> Outcome<Duration> {
        self.watchers.iter_mut().for_each(Listener::clear);
        self.writer.clear();
        let request = (self.request)(number);
        let clock = Stopwatch::start();
        let (mut waiting, mut last) = (self.watchers.len(), None);
        self.writer.stream.write_all(&request)?;
        while waiting > 0 || !self.writer.is_served() {
            let outcome = driver::wait(&mut self.poll, &mut self.events);
            outcome.map_err(|error| format!("{error}, {waiting} watchers without the event"))?;
            for event in &self.events {
                match self.watchers.get_mut(event.token().0) {
                    Some(watcher) => {
                        let was_served = watcher.is_served();
                        watcher.hear(&mut self.buffer, event.is_read_closed())?;
                        waiting -= usize::from(watcher.is_served() && !was_served);
                    }
                    None => self.writer.hear(&mut self.buffer, event.is_read_closed())?,
                }
            }
            if waiting == 0 && last.is_none() {
                last = Some(clock.elapsed());
            }
        }
        let written = format!(r#""task":"t-{number:08}""#);
        match self.watchers.iter().position(|watcher| !watcher.has(written.as_bytes())) {
            Some(watcher) => {
                Err(format!("watcher {watcher} has another event than {number}").into())
            }
            None => Ok(last.ok_or("all watchers were served")?),
        }
    }
}

/// A connection that gets a known number of messages in each round.
struct Listener {
    stream: mio::net::TcpStream,
    protocol: Box<dyn Answers>,
    expected: usize,
    received: Vec<u8>,
    /// Of the bytes received, those that were understood.
    taken_bytes: usize,
    messages: usize,
}

impl Listener {
    fn new(
        stream: TcpStream,
        protocol: Box<dyn Answers>,
        expected: usize,
        poll: &Poll,
        number: usize,
    ) -> Outcome<Self> {
        stream.set_nonblocking(true)?;
        let mut stream = mio::net::TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(number), Interest::READABLE)?;
        let received = Vec::new();
        Ok(Self { stream, protocol, expected, received, taken_bytes: 0, messages: 0 })
    }

    fn clear(&mut self) {
        // What is not yet understood belongs to this round and would be one message too many.
        self.received.drain(..self.taken_bytes);
        self.taken_bytes = 0;
        self.messages = 0;
    }

    fn is_served(&self) -> bool {
        self.messages == self.expected
    }

    fn has(&self, text: &[u8]) -> bool {
        self.received.windows(text.len()).any(|window| window == text)
    }

    fn hear(&mut self, buffer: &mut [u8], is_closed: bool) -> Outcome<()> {
        while let Some(read) = driver::read(&mut self.stream, buffer)? {
            self.received.extend_from_slice(&buffer[..read]);
            if read < buffer.len() && !is_closed {
                break;
            }
        }
        let mut replies = Vec::new();
        while let Some(taken) =
            self.protocol.take(&self.received[self.taken_bytes..], &mut replies)?
        {
            self.taken_bytes += taken.bytes;
            self.messages += usize::from(taken.is_answer);
        }
        if !replies.is_empty() {
            self.stream.write_all(&replies)?;
        }
        if self.messages > self.expected {
            return Err("a message that nobody wrote".into());
        }
        Ok(())
    }
}
