//! Fan-out: something is written, and all listeners must receive it.
//!
//! ```text
//!   clock starts ── writes ──▶ server ──▶ N sockets ──▶ last event received ── clock stops
//!                                    └──▶ the answers to the writer, at any time
//! ```
//!
//! After the clock has stopped, every listener must have exactly the events of this round, and the
//! writer its answers; otherwise the run fails.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use mio::{Events, Interest, Poll, Token};

use super::driver::{self, Answers, READ_BYTES};
use super::processes::{Server, go_on_unless_interrupted};
use crate::Outcome;
use crate::resources::{Stopwatch, tree_usage};

/// The protocol of a server, and the content of a round.
pub(crate) struct FanoutProtocol {
    /// The number of listeners.
    pub(crate) listeners: usize,
    /// The messages that each of them gets in a round.
    pub(crate) events: usize,
    pub(crate) listen: fn(&Server) -> Outcome<TcpStream>,
    pub(crate) event: fn() -> Box<dyn Answers>,
    pub(crate) connect: fn(u16) -> Outcome<TcpStream>,
    pub(crate) answer: fn() -> Box<dyn Answers>,
    /// The expected answers to the writes of a round.
    pub(crate) answers: usize,
    /// The writes of a round.
    pub(crate) write: fn(usize) -> Vec<u8>,
    /// The text that every listener must have received at the end of a round.
    pub(crate) last: fn(usize) -> String,
}

/// A server, its listeners and its writer.
pub(crate) struct FanoutServer {
    server: Server,
    poll: Poll,
    events: Events,
    buffer: Vec<u8>,
    listeners: Vec<Listener>,
    writer: Listener,
    fanout: FanoutProtocol,
}

impl FanoutServer {
    /// Connects all of them.
    pub(crate) fn new(server: Server, fanout: FanoutProtocol) -> Outcome<Self> {
        let poll = Poll::new()?;
        let mut listeners = Vec::with_capacity(fanout.listeners);
        for number in 0..fanout.listeners {
            go_on_unless_interrupted()?;
            let stream = server.blame((fanout.listen)(&server))?;
            listeners.push(Listener::new(stream, (fanout.event)(), fanout.events, &poll, number)?);
        }
        let stream = server.blame((fanout.connect)(server.port()))?;
        let answer = (fanout.answer)();
        let writer = Listener::new(stream, answer, fanout.answers, &poll, fanout.listeners)?;
        let (events, buffer) = (Events::with_capacity(fanout.listeners + 1), vec![0; READ_BYTES]);
        Ok(Self { server, poll, events, buffer, listeners, writer, fanout })
    }

    /// Processor time of the server so far.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        tree_usage(self.server.pid()).cpu_seconds()
    }

    /// One round: the time until the last listener had everything.
    pub(crate) fn round(&mut self, number: usize) -> Outcome<Duration> {
        let outcome = self.try_round(number);
        self.server.blame(outcome)
    }

    /// One write, until every listener and the writer have received what they should.
    fn try_round(&mut self, number: usize) -> Outcome<Duration> {
        self.listeners.iter_mut().for_each(Listener::clear);
        self.writer.clear();
        let request = (self.fanout.write)(number);
        let clock = Stopwatch::start();
        let (mut waiting, mut last) = (self.listeners.len(), None);
        self.writer.stream.write_all(&request)?;
        while waiting > 0 || !self.writer.is_served() {
            let outcome = driver::wait(&mut self.poll, &mut self.events);
            outcome.map_err(|error| format!("{error}, {waiting} listeners without the event"))?;
            for event in &self.events {
                match self.listeners.get_mut(event.token().0) {
                    Some(listener) => {
                        let was_served = listener.is_served();
                        listener.hear(&mut self.buffer, event.is_read_closed())?;
                        waiting -= usize::from(listener.is_served() && !was_served);
                    }
                    None => self.writer.hear(&mut self.buffer, event.is_read_closed())?,
                }
            }
            if waiting == 0 && last.is_none() {
                last = Some(clock.elapsed());
            }
        }
        let written = (self.fanout.last)(number);
        match self.listeners.iter().position(|listener| !listener.has(written.as_bytes())) {
            Some(listener) => {
                Err(format!("listener {listener} has another event than {number}").into())
            }
            None => Ok(last.ok_or("all listeners were served")?),
        }
    }
}

/// A connection that receives a known number of messages in each round.
struct Listener {
    stream: mio::net::TcpStream,
    protocol: Box<dyn Answers>,
    expected: usize,
    received: Vec<u8>,
    /// How many of the received bytes were parsed.
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
        // Unparsed bytes belong to this round and would be one message too many.
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
            return Err("a message that was not written".into());
        }
        Ok(())
    }
}
