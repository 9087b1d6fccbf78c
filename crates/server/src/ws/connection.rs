//! One WebSocket: reads all that is there, hands it in, waits once, writes once.
//!
//! ```text
//!          ┌────────────────────── wait: readable, pushes, jobs, time ◀──┐
//!          ▼                                                             │
//!   receive ──▶ take in: decode, hand in ──▶ settle ──▶ answers ──▶ flush┘
//!                  │ stalled: load, full group, watch       ▲
//!                  └────────────────────────────────────────┘
//! ```
//!
//! Invariants:
//!
//! 1. Requests are handed in in the order they came, so writes of one connection keep their order.
//! 2. An idle connection holds no buffer: bytes are received into one that all share, and only an
//!    unfinished message is kept.
//! 3. A peer that does not read stops being read from; one that takes nothing for long is left.

use std::cell::RefCell;
use std::future::Future;
use std::io::ErrorKind;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use baton::Error;
use baton_core::wire::{Call, Fault, Frame, Problem, Watch as Wanted};
use baton_core::{AgentId, Answer, IdempotencyKey, Query, Request, Wish, WorkspaceName};
use baton_handle::{Caller, Carrier};
use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::FuturesUnordered;
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep, timeout};

use super::format::Format;
use super::framing::{Broken, Decoder, Message, Opcode, write, write_close};
use super::outbox::Outbox;
use super::pushes::{Push, Pushes};
use crate::refusal::Refusal;
use crate::shared::{Receiving, Shared};
use crate::turn::{Looked, Stalled, Turn};

/// How much is received at a time, by all connections of a thread.
const RECEIVE_BYTES: usize = 64 << 10;
/// Events pushed between two looks at the socket.
const PUSHES_MAX: usize = 256;

thread_local! {
    static RECEIVED: RefCell<Vec<u8>> = RefCell::new(vec![0; RECEIVE_BYTES]);
}

/// An answer that takes its time.
type Job = Pin<Box<dyn Future<Output = (u64, Result<Answer, Error>)> + Send>>;

/// Why a connection ends.
enum End {
    /// The peer is gone, or takes nothing.
    Gone,
    /// With a close frame.
    Close(u16, &'static str),
}

impl From<Broken> for End {
    fn from(broken: Broken) -> Self {
        Self::Close(broken.code, broken.reason)
    }
}

/// Why taking in had to stop.
enum Stop {
    /// Something must happen before this request can be handed in.
    Stalled { workspace: WorkspaceName, agent: AgentId, stalled: Stalled<(Request, u64)> },
    /// The workspace must be loaded before this question can be answered.
    Unloaded { caller: Caller, query: Query, id: u64 },
    /// A watch begins.
    Watch { caller: Caller, wanted: Wanted, id: u64 },
    /// There is as much unanswered as may be.
    Full,
}

/// What a connection waits for.
enum Woken {
    Readable,
    Pushes(Vec<Push>),
    Done(u64, Result<Answer, Error>),
    Time,
    Closing,
}

struct Connection {
    shared: Arc<Shared>,
    stream: TcpStream,
    decoder: Decoder,
    receiving: Receiving,
    /// What was received and not taken in.
    inbox: Vec<u8>,
    outbox: Outbox,
    turn: Turn<u64>,
    pushes: Pushes,
    // Most connections never ask about the past.
    jobs: Option<Box<FuturesUnordered<Job>>>,
    /// The last names that were used: nearly always the next ones too.
    workspace: Option<WorkspaceName>,
    agent: AgentId,
    anonymous: AgentId,
    /// How often in a row time has passed without a sign of life.
    silent: u32,
    alarm: Pin<Box<Sleep>>,
}

/// Serves a connection to its end.
pub(super) async fn serve(shared: Arc<Shared>, stream: TcpStream, received: Bytes, format: Format) {
    let _ = shared.metrics.websockets.enter(usize::MAX);
    let anonymous = AgentId::parse("anonymous").expect("it is a good name");
    let mut connection = Connection {
        decoder: Decoder::new(shared.settings.message_bytes_max),
        receiving: Receiving::new(Arc::clone(&shared)),
        inbox: received.to_vec(),
        outbox: Outbox { shared: Arc::clone(&shared), format, bytes: Vec::new() },
        turn: Turn::new(),
        pushes: Pushes::default(),
        jobs: None,
        workspace: None,
        agent: anonymous.clone(),
        anonymous,
        silent: 0,
        alarm: Box::pin(sleep(shared.settings.ping_every)),
        shared: Arc::clone(&shared),
        stream,
    };
    // It is a part of the buffer into which the handshake was read, and would keep all of it.
    drop(received);
    let end = connection.run().await;
    if let End::Close(code, reason) = end {
        write_close(&mut connection.outbox.bytes, code, reason);
        // Best effort: the peer may be gone.
        let _ = connection.flush().await;
    }
    shared.metrics.websockets.leave();
}

impl Connection {
    async fn run(&mut self) -> End {
        let shared = Arc::clone(&self.shared);
        let mut closed = pin!(shared.closed());
        let mut ended = self.after_receiving(None).await.err();
        while ended.is_none() {
            let woken = std::future::poll_fn(|context| {
                if closed.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Woken::Closing);
                }
                self.poll_woken(context)
            });
            ended = match woken.await {
                Woken::Readable => match self.receive() {
                    Ok(stop) => self.after_receiving(stop).await.err(),
                    Err(end) => Some(end),
                },
                Woken::Pushes(pushes) => {
                    for push in pushes {
                        self.outbox.push(push);
                    }
                    self.flush().await.err()
                }
                Woken::Done(id, outcome) => {
                    self.outbox.answer(id, &outcome);
                    self.flush().await.err()
                }
                Woken::Time => self.look_after().await.err(),
                Woken::Closing => Some(self.say_farewell().await),
            };
        }
        ended.unwrap_or(End::Gone)
    }

    fn poll_woken(&mut self, context: &mut Context<'_>) -> Poll<Woken> {
        if let Poll::Ready(first) = self.pushes.poll(context) {
            let mut pushes = vec![first];
            while pushes.len() < PUSHES_MAX
                && let Poll::Ready(next) = self.pushes.poll(context)
            {
                pushes.push(next);
            }
            return Poll::Ready(Woken::Pushes(pushes));
        }
        if let Some(jobs) = &mut self.jobs
            && let Poll::Ready(Some((id, outcome))) = Pin::new(&mut **jobs).poll_next(context)
        {
            return Poll::Ready(Woken::Done(id, outcome));
        }
        if self.alarm.as_mut().poll(context).is_ready() {
            return Poll::Ready(Woken::Time);
        }
        self.stream.poll_read_ready(context).map(|_| Woken::Readable)
    }

    /// Receives what is there and takes it in.
    fn receive(&mut self) -> Result<Option<Stop>, End> {
        RECEIVED.with_borrow_mut(|buffer| {
            let count = match self.stream.try_read(buffer) {
                Ok(0) => return Err(End::Gone),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(_) => return Err(End::Gone),
            };
            self.silent = 0;
            if !self.inbox.is_empty() {
                self.inbox.extend_from_slice(&buffer[..count]);
                return self.take_in_rest();
            }
            let (used, stop) = self.take_in(&mut buffer[..count])?;
            self.inbox.extend_from_slice(&buffer[used..count]);
            self.count_received()?;
            Ok(stop)
        })
    }

    fn count_received(&mut self) -> Result<(), End> {
        if self.receiving.hold(self.inbox.len() + self.decoder.begun_bytes()) {
            return Ok(());
        }
        Err(End::Close(1013, "too much is being received at once, try again later"))
    }

    fn take_in_rest(&mut self) -> Result<Option<Stop>, End> {
        let mut inbox = std::mem::take(&mut self.inbox);
        let (used, stop) = self.take_in(&mut inbox)?;
        if used < inbox.len() {
            inbox.drain(..used);
            self.inbox = inbox;
        }
        self.count_received()?;
        Ok(stop)
    }

    /// Takes in messages until there are no whole ones or something has to happen first; answers
    /// with how many bytes were used.
    fn take_in(&mut self, bytes: &mut [u8]) -> Result<(usize, Option<Stop>), End> {
        let mut used = 0;
        // Taken out so that a message may be borrowed from it while the rest is changed.
        let mut decoder = std::mem::replace(&mut self.decoder, Decoder::new(0));
        let outcome = loop {
            if self.is_full() {
                break Ok(Some(Stop::Full));
            }
            match decoder.next(&mut bytes[used..]) {
                Ok((0, _)) => break Ok(None),
                Ok((count, message)) => {
                    used += count;
                    match message.map_or(Ok(None), |message| self.take(&message)) {
                        Ok(None) => {}
                        stop => break stop,
                    }
                }
                Err(broken) => break Err(broken.into()),
            }
        };
        self.decoder = decoder;
        outcome.map(|stop| (used, stop))
    }

    fn is_full(&self) -> bool {
        let jobs = self.jobs.as_ref().map_or(0, |jobs| jobs.len());
        let settings = &self.shared.settings;
        self.turn.len() + jobs >= settings.in_flight_max
            || self.outbox.bytes.len() >= settings.unsent_bytes_max
    }

    fn take(&mut self, message: &Message<'_>) -> Result<Option<Stop>, End> {
        match message {
            Message::Data { is_text, payload } => {
                let mut scratch = Vec::new();
                match self.outbox.format.read(*is_text, payload, &mut scratch) {
                    Ok(text) => Ok(self.take_frame(text)),
                    Err(fault) => {
                        self.outbox.refuse(None, &Problem::from(&fault));
                        Ok(None)
                    }
                }
            }
            Message::Ping(payload) => {
                write(&mut self.outbox.bytes, Opcode::Pong, payload);
                Ok(None)
            }
            Message::Pong => Ok(None),
            Message::Close(code) => Err(End::Close(code.unwrap_or(1000), "")),
        }
    }

    fn take_frame(&mut self, text: &str) -> Option<Stop> {
        let frame = match Frame::parse(text) {
            Ok(frame) => frame,
            Err(fault) => {
                self.outbox.refuse(Frame::number(text), &Problem::from(&fault));
                return None;
            }
        };
        let Some(id) = frame.id else {
            self.outbox
                .refuse(None, &Problem::from(&Fault::MissingField { field: "id".to_owned() }));
            return None;
        };
        match self.hand_in(id, frame) {
            Ok(stop) => stop,
            Err(problem) => {
                self.outbox.refuse(Some(id), &problem);
                None
            }
        }
    }

    fn hand_in(&mut self, id: u64, mut frame: Frame<'_>) -> Result<Option<Stop>, Problem> {
        let key = frame.idempotency_key.take();
        self.remember_names(&frame)?;
        let call = frame.call().map_err(|fault| Problem::from(&fault))?;
        let wish = match call {
            Call::Command(command) => Wish::Command(command),
            Call::Transaction(wish) => wish,
            Call::Query(query) => return self.look_up(id, query),
            Call::Watch(wanted) => {
                let caller = self.caller()?;
                return Ok(Some(Stop::Watch { caller, wanted, id }));
            }
            Call::Unwatch { watch } => {
                if !self.pushes.end(watch) {
                    let fault = Fault::field("watch", "there is no watch of this number");
                    return Err(Problem::from(&fault));
                }
                self.outbox.nothing_to_tell(id);
                return Ok(None);
            }
            Call::Ping => {
                self.outbox.nothing_to_tell(id);
                return Ok(None);
            }
        };
        let idempotency_key = match key {
            Some(key) => Some(
                IdempotencyKey::parse(&key)
                    .map_err(|error| Problem::from(&Fault::field("idempotency_key", error)))?,
            ),
            None => None,
        };
        let workspace = named(self.workspace.as_ref())?;
        let request = Request { wish, idempotency_key };
        self.submit(&workspace.clone(), &self.agent.clone(), request, id)
    }

    fn submit(
        &mut self,
        workspace: &WorkspaceName,
        agent: &AgentId,
        request: Request,
        id: u64,
    ) -> Result<Option<Stop>, Problem> {
        match self.turn.hand_in(&self.shared.baton, workspace, agent, request, id) {
            Ok(None) => Ok(None),
            Ok(Some(stalled)) => {
                let (workspace, agent) = (workspace.clone(), agent.clone());
                Ok(Some(Stop::Stalled { workspace, agent, stalled }))
            }
            Err(error) => Err(Problem::from(&error)),
        }
    }

    fn look_up(&mut self, id: u64, query: Query) -> Result<Option<Stop>, Problem> {
        let workspace = named(self.workspace.as_ref())?;
        match self.turn.look_up(&self.shared.baton, workspace, &query, id) {
            Ok(Looked::Handed) => {
                // What is durable already needs no turn, unless others wait before it.
                while let Some((id, outcome)) = self.turn.ready() {
                    self.outbox.answer(id, &outcome);
                }
                Ok(None)
            }
            Ok(Looked::Past) => {
                let caller = self.caller()?;
                self.ask_aside(caller, query, id);
                Ok(None)
            }
            Ok(Looked::Absent) => {
                let caller = self.caller()?;
                Ok(Some(Stop::Unloaded { caller, query, id }))
            }
            Err(error) => Err(Problem::from(&error)),
        }
    }

    /// The past is read from files: on another thread, so that nobody here waits for them.
    fn ask_aside(&mut self, caller: Caller, query: Query, id: u64) {
        let baton = self.shared.baton.clone();
        let job = crate::turn::aside(baton, caller, query);
        let job: Job = Box::pin(async move { (id, job.await) });
        self.jobs.get_or_insert_default().push(job);
    }

    fn remember_names(&mut self, frame: &Frame<'_>) -> Result<(), Problem> {
        let bad = |field: &str, error| Problem::from(&Fault::field(field, error));
        match &frame.workspace {
            None => self.workspace = None,
            Some(name) if self.workspace.as_ref().is_some_and(|known| known.as_str() == name) => {}
            Some(name) => {
                self.workspace =
                    Some(WorkspaceName::parse(name).map_err(|error| bad("workspace", error))?);
            }
        }
        match &frame.agent {
            None => self.agent = self.anonymous.clone(),
            Some(name) if self.agent.as_str() == name => {}
            Some(name) => {
                self.agent = AgentId::parse(name).map_err(|error| bad("agent", error))?;
            }
        }
        Ok(())
    }

    fn caller(&self) -> Result<Caller, Problem> {
        let workspace = named(self.workspace.as_ref())?.clone();
        Ok(Caller { workspace, agent: self.agent.clone(), idempotency_key: None })
    }

    /// Goes on until all that was received is taken in and answered.
    async fn after_receiving(&mut self, mut stop: Option<Stop>) -> Result<(), End> {
        loop {
            if let Some(reason) = stop.take() {
                // Whoever came before does not wait for what this one waits for.
                self.settle().await?;
                stop = self.resolve(reason).await;
            } else if self.inbox.is_empty() {
                break;
            } else {
                stop = self.take_in_rest()?;
                if stop.is_none() {
                    break;
                }
            }
        }
        self.settle().await
    }

    /// Does what had to happen first; it may have to happen again.
    async fn resolve(&mut self, stop: Stop) -> Option<Stop> {
        let baton = self.shared.baton.clone();
        let (id, outcome) = match stop {
            Stop::Full => return None,
            Stop::Stalled { workspace, agent, stalled } => {
                let (request, id, waited) = match stalled {
                    Stalled::Absent((request, id)) => (request, id, baton.load(&workspace).await),
                    Stalled::Crowded((request, id), group) => {
                        (request, id, baton.settled(group).await.map(drop))
                    }
                };
                let outcome = match waited {
                    Ok(()) => self.submit(&workspace, &agent, request, id),
                    Err(error) => Err(Problem::from(&error)),
                };
                (id, outcome)
            }
            Stop::Unloaded { caller, query, id } => {
                let outcome = match baton.load(&caller.workspace).await {
                    Ok(()) => {
                        self.workspace = Some(caller.workspace);
                        self.agent = caller.agent;
                        self.look_up(id, query)
                    }
                    Err(error) => Err(Problem::from(&error)),
                };
                (id, outcome)
            }
            Stop::Watch { caller, wanted, id } => (id, self.watch(id, &caller, wanted).await),
        };
        outcome.unwrap_or_else(|problem| {
            self.outbox.refuse(Some(id), &problem);
            None
        })
    }

    async fn watch(
        &mut self,
        id: u64,
        caller: &Caller,
        wanted: Wanted,
    ) -> Result<Option<Stop>, Problem> {
        if self.pushes.has(id) {
            let fault = Fault::field("id", "a watch of this number is open");
            return Err(Problem::from(&fault));
        }
        let settings = &self.shared.settings;
        let too_many = |max, whose| Problem::from(Refusal::TooManyWatches { whose, max });
        if self.pushes.len() >= settings.watches_per_connection_max {
            return Err(too_many(settings.watches_per_connection_max, "on this connection"));
        }
        if !self.shared.metrics.watches.enter(settings.watches_max) {
            return Err(too_many(settings.watches_max, "on this server"));
        }
        let watch = match self.shared.baton.watch(caller, wanted).await {
            Ok(watch) => watch,
            Err(error) => {
                self.shared.metrics.watches.leave();
                return Err(Problem::from(&error));
            }
        };
        self.outbox.begun(id, watch.resume_from());
        self.pushes.add(id, watch, Arc::clone(&self.shared));
        Ok(None)
    }

    /// Waits for what was handed in, answers it and sends that.
    async fn settle(&mut self) -> Result<(), End> {
        if !self.turn.is_empty() {
            let shared = Arc::clone(&self.shared);
            let settled = self.turn.settle(&shared.baton).await;
            while let Some((id, outcome)) = self.turn.next(&shared.baton, &settled).await {
                self.outbox.answer(id, &outcome);
                if self.outbox.bytes.len() >= shared.settings.unsent_bytes_max {
                    self.flush().await?;
                }
            }
        }
        self.flush().await
    }

    /// Sends all there is to send.
    async fn flush(&mut self) -> Result<(), End> {
        let mut sent = 0;
        while sent < self.outbox.bytes.len() {
            match self.stream.try_write(&self.outbox.bytes[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let deadline = self.shared.settings.write_deadline;
                    match timeout(deadline, self.stream.writable()).await {
                        Ok(Ok(())) => {}
                        Ok(Err(_)) | Err(_) => return Err(End::Gone),
                    }
                }
                Err(_) => return Err(End::Gone),
            }
        }
        // An idle connection holds no buffer.
        self.outbox.bytes = Vec::new();
        Ok(())
    }

    /// Time has passed: asks for a sign of life, and leaves if there is none.
    async fn look_after(&mut self) -> Result<(), End> {
        self.alarm.set(sleep(self.shared.settings.ping_every));
        self.silent += 1;
        match self.silent {
            1 => Ok(()),
            2 => {
                write(&mut self.outbox.bytes, Opcode::Ping, b"");
                self.flush().await
            }
            _ => Err(End::Close(1001, "no sign of life")),
        }
    }

    /// The server ends: watchers learn where to resume, then the connection is closed.
    async fn say_farewell(&mut self) -> End {
        let watching = self.pushes.len() > 0;
        let farewell = self.shared.settings.farewell;
        if watching {
            // The engine ends every watch with the revision to resume from.
            let rest = async {
                while self.pushes.len() > 0 {
                    let push = std::future::poll_fn(|context| self.pushes.poll(context)).await;
                    self.outbox.push(push);
                }
            };
            let _ = timeout(farewell, rest).await;
        }
        End::Close(1001, "the server ends")
    }
}

fn named(workspace: Option<&WorkspaceName>) -> Result<&WorkspaceName, Problem> {
    workspace.ok_or_else(|| Problem::from(&Fault::MissingField { field: "workspace".to_owned() }))
}
