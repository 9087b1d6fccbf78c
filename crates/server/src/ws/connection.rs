//! One WebSocket: reads what has arrived, submits it, and leaves the rest to the writers.
//!
//! ```text
//!          ┌──────────────── wait: readable, jobs, time, the queue ◀┐
//!          ▼                                                        │
//!   receive ──▶ take in: decode, submit ───▶ flush: into the queue ─┘
//!                  │                           │ with TLS, or the peer accepts nothing
//!                  │ retry: load, full         ▼
//!                  └─────────────────────▶ drain: wait, answer, send
//! ```
//!
//! Invariants:
//!
//! 1. Requests are submitted in the order of arrival, so writes of one connection keep their order.
//! 2. An idle connection has no buffer: bytes are received into a shared one, and only an
//!    incomplete message is kept.
//! 3. Nothing is read from a peer that does not read; a peer that accepts nothing for long is
//!    disconnected, and so is one that takes too long over a message.
//! 4. Every submitted request is answered before the connection ends, if the peer still reads.
//! 5. However much a peer sends or receives, others are served after a bounded part of it; and
//!    however many peers a workspace has, other workspaces are served too.

use std::cell::RefCell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use baton::{Caller, RetryAfter};
use baton_core::wire::{Fault, Problem, Watch as Wanted};
use baton_core::{AgentId, Entry, Query, Request, Revision, WorkspaceName};
use baton_tls::Stream;
use bytes::Bytes;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, sleep};

use self::parts::PartCosts;
use super::format::Format;
use super::framing::{Decoder, ProtocolError};
use super::jobs::{Jobs, RequestAnswer};
use super::outbox::{Outbox, snapshot_frame};
use super::pushes::Pushes;
use crate::access::Authority;
use crate::cluster::{OtherShards, RelayEnded};
use crate::fairness::Budget;
use crate::in_flight::InFlight;
use crate::large_answer::{are_large, encode_apart};
use crate::refusal::Refusal;
use crate::shared::{InboundBytes, Shared, WatchSlot};
use crate::writers::SendQueue;

mod elsewhere;
mod intake;
mod output;
mod parts;
#[cfg(test)]
mod tests;

/// How much is received at a time, by all connections of a thread.
const RECEIVE_BYTES: usize = 64 << 10;
/// Events that are pushed before the socket is read again.
const PUSHES_MAX: usize = 256;

thread_local! {
    static RECEIVED: RefCell<Vec<u8>> = RefCell::new(vec![0; RECEIVE_BYTES]);
}

/// Why a connection ends.
enum End {
    /// The peer is gone, or accepts nothing.
    Gone,
    /// With a close frame.
    Close(u16, &'static str),
}

impl From<ProtocolError> for End {
    fn from(error: ProtocolError) -> Self {
        Self::Close(error.code, error.reason)
    }
}

/// Why intake had to stop.
enum Stop {
    /// This request must be submitted again after a wait.
    RetryRequest {
        workspace: WorkspaceName,
        agent: AgentId,
        request: Request,
        id: u64,
        after: RetryAfter,
    },
    /// This query must be submitted again after a wait.
    RetryQuery { caller: Caller, query: Query, id: u64, after: RetryAfter },
    /// A watch starts.
    Watch { caller: Caller, wanted: Wanted, id: u64 },
    /// The maximum number of unanswered requests is reached.
    Full,
    /// The workspace has used its budget: other workspaces are served first.
    Spent(WorkspaceName),
}

/// The events that a connection waits for.
enum Woken {
    Received(Result<Option<Stop>, End>),
    Pushed,
    Done(u64, RequestAnswer),
    Time,
    Closing,
    Expelled,
    Returned,
    Relayed(Result<Vec<u8>, RelayEnded>),
}

struct Connection {
    shared: Arc<Shared>,
    stream: Stream,
    /// The send queue, through which writers answer. None with TLS.
    queue: Option<Arc<SendQueue>>,
    decoder: Decoder,
    receiving: InboundBytes,
    /// Received bytes that are not decoded yet.
    inbox: Vec<u8>,
    outbox: Outbox,
    in_flight: InFlight<u64>,
    /// The watches, if there is no queue.
    pushes: Pushes,
    jobs: Jobs,
    /// The last used names, which are usually the next ones too.
    workspace: Option<WorkspaceName>,
    agent: AgentId,
    /// The agent of requests that name none.
    anonymous: AgentId,
    /// The permissions of the peer.
    authority: Authority,
    /// The connections to other shards, if there are any.
    others: Option<Box<OtherShards>>,
    /// Since when a message is incomplete.
    unfinished_since: Option<Instant>,
    /// Events were pushed last: the socket is read before more are pushed.
    has_pushed: bool,
    /// Its budget in the current round of the workspace.
    budget: Budget,
    /// It has waited for its turn.
    has_waited: bool,
    /// What it has paid for a message that is not complete.
    part_costs: PartCosts,
    /// Its budget is used up, and there may be more to do.
    has_more: bool,
    /// How many timers in a row have fired without a sign of life.
    silent: u32,
    alarm: Pin<Box<Sleep>>,
}

/// The other end of a connection.
pub(super) struct ConnectedClient {
    pub(super) number: u64,
    pub(super) authority: Authority,
    pub(super) format: Format,
    pub(super) others: Option<Box<OtherShards>>,
}

/// Serves a connection to its end.
pub(super) async fn serve(
    shared: Arc<Shared>,
    ConnectedClient { number, authority, format, others }: ConnectedClient,
    (stream, queue): (Stream, Option<Arc<SendQueue>>),
    received: Bytes,
) {
    if let Some(queue) = &queue {
        queue.set_format(format);
    }
    let _counted = WebSocketCount::new(&shared);
    let anonymous = authority.acting_agent();
    let mut connection = Connection {
        decoder: Decoder::new(shared.settings.message_bytes_max),
        receiving: InboundBytes::new(&shared, authority.sharers(None)),
        inbox: received.to_vec(),
        outbox: Outbox::new(&shared, format, number),
        in_flight: InFlight::default(),
        pushes: Pushes::default(),
        jobs: Jobs::default(),
        workspace: None,
        agent: anonymous.clone(),
        anonymous,
        authority,
        others,
        unfinished_since: None,
        has_pushed: false,
        budget: Budget::ALL,
        has_waited: false,
        part_costs: PartCosts::default(),
        has_more: false,
        silent: 0,
        alarm: Box::pin(sleep(shared.settings.ping_every)),
        queue,
        shared: Arc::clone(&shared),
        stream,
    };
    // It is a part of the buffer of the handshake, and would keep all of it in memory.
    drop(received);
    let end = connection.run().await;
    // A caller that is gone must be granted nothing more.
    connection.jobs = Jobs::default();
    if let End::Close(code, reason) = end {
        // Boxed, since it would make every idle connection larger otherwise.
        Box::pin(connection.close(code, reason)).await;
    }
}

/// Counts a connection for as long as this exists.
struct WebSocketCount(Arc<Shared>);

impl WebSocketCount {
    fn new(shared: &Arc<Shared>) -> Self {
        let _ = shared.metrics.websockets.enter(usize::MAX);
        Self(Arc::clone(shared))
    }
}

impl Drop for WebSocketCount {
    fn drop(&mut self) {
        self.0.metrics.websockets.leave();
    }
}

impl Connection {
    async fn run(&mut self) -> End {
        let shared = Arc::clone(&self.shared);
        let mut closed = pin!(shared.closing.raised());
        let authority = self.authority.clone();
        let mut expelled = pin!(authority.ended());
        self.own_queue().await;
        let mut ended = self.after_receiving(None).await.err();
        while ended.is_none() {
            let woken = std::future::poll_fn(|context| {
                if closed.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Woken::Closing);
                }
                if expelled.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Woken::Expelled);
                }
                self.poll_woken(context)
            });
            ended = match woken.await {
                Woken::Received(Ok(stop)) => self.after_receiving(stop).await.err(),
                Woken::Received(Err(end)) => Some(end),
                Woken::Pushed => self.flush().await.err(),
                Woken::Done(id, outcome) => {
                    self.answer(id, outcome);
                    // There may be requests that waited for capacity.
                    self.after_receiving(None).await.err()
                }
                Woken::Time => self.check_liveness().await.err(),
                Woken::Returned => self.check_queue().await.err(),
                Woken::Relayed(output) => self.add_relayed(output).await.err(),
                Woken::Closing => Some(self.close_gracefully().await),
                Woken::Expelled => Some(End::Close(1008, "the token is not valid any more")),
            };
            if std::mem::take(&mut self.has_more) {
                yield_now().await;
            }
        }
        ended.unwrap_or(End::Gone)
    }

    /// Registers this task for output that could not be sent.
    async fn own_queue(&mut self) {
        if let Some(queue) = self.queue.clone() {
            let label = |context: &mut Context<'_>| {
                queue.set_owner(context.waker());
                Poll::Ready(())
            };
            std::future::poll_fn(label).await;
        }
    }

    fn poll_woken(&mut self, context: &mut Context<'_>) -> Poll<Woken> {
        if self.queue_needs_owner() {
            return Poll::Ready(Woken::Returned);
        }
        if let Poll::Ready((id, outcome)) = self.jobs.poll(context) {
            return Poll::Ready(Woken::Done(id, outcome));
        }
        if let Poll::Ready(output) = self.poll_relayed(context) {
            return Poll::Ready(Woken::Relayed(output));
        }
        if std::mem::take(&mut self.has_pushed)
            && let Poll::Ready(received) = self.poll_received(context)
        {
            return Poll::Ready(Woken::Received(received));
        }
        if self.collect_pushes(context) {
            self.has_pushed = true;
            return Poll::Ready(Woken::Pushed);
        }
        if let Poll::Ready(received) = self.poll_received(context) {
            return Poll::Ready(Woken::Received(received));
        }
        self.alarm.as_mut().poll(context).map(|()| Woken::Time)
    }

    /// Receives and processes what has arrived.
    fn poll_received(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Stop>, End>> {
        if self.is_full() {
            // It is woken by the end of a query, or by the queue.
            let is_out = self.queue.as_ref().is_some_and(|queue| queue.wait_idle(context.waker()));
            if is_out || self.is_full() {
                return Poll::Pending;
            }
        }
        RECEIVED.with_borrow_mut(|buffer| {
            // Not `try_read`, which would need another call to learn that nothing is left.
            let mut room = ReadBuf::new(buffer);
            let count = match Pin::new(&mut self.stream).poll_read(context, &mut room) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(_)) => return Poll::Ready(Err(End::Gone)),
                Poll::Ready(Ok(())) => room.filled().len(),
            };
            Poll::Ready(self.received(buffer, count))
        })
    }

    /// Puts events into the outbox, up to a limit; returns whether there were any.
    fn collect_pushes(&mut self, context: &mut Context<'_>) -> bool {
        let bytes_max = self.shared.settings.unsent_bytes_max;
        let mut count = 0;
        while count < PUSHES_MAX && self.outbox.bytes.len() < bytes_max {
            match self.pushes.poll(context) {
                Poll::Ready(push) => self.outbox.push(push),
                Poll::Pending => return count > 0,
            }
            count += 1;
        }
        self.has_more = true;
        true
    }

    fn received(&mut self, buffer: &mut [u8], count: usize) -> Result<Option<Stop>, End> {
        if count == 0 {
            return Err(End::Gone);
        }
        self.silent = 0;
        self.has_more = count == buffer.len();
        self.part_costs.received(count);
        if !self.inbox.is_empty() {
            self.inbox.extend_from_slice(&buffer[..count]);
            return self.take_in_rest();
        }
        let (used, stop) = self.take_in(&mut buffer[..count])?;
        self.inbox.extend_from_slice(&buffer[used..count]);
        self.count_unless(stop)
    }

    fn count_received(&mut self) -> Result<(), End> {
        if self.receiving.hold(self.inbox.len() + self.decoder.begun_bytes()) {
            return Ok(());
        }
        Err(End::Close(1013, "too many bytes are being received, try again later"))
    }

    fn take_in_rest(&mut self) -> Result<Option<Stop>, End> {
        let mut inbox = std::mem::take(&mut self.inbox);
        let (used, stop) = self.take_in(&mut inbox)?;
        if used == 0 {
            self.inbox = inbox;
        } else if used < inbox.len() {
            // In a buffer of the right size: the previous one may have had a large message.
            self.inbox = inbox[used..].to_vec();
        }
        self.count_unless(stop)
    }

    /// A deferred request stays counted: it is still in memory, though no longer in the inbox.
    fn count_unless(&mut self, stop: Option<Stop>) -> Result<Option<Stop>, End> {
        if matches!(stop, None | Some(Stop::Spent(_))) {
            self.count_received()?;
        }
        Ok(stop)
    }

    /// Processes messages until there are no complete ones or something must happen first; returns
    /// how many bytes were used.
    fn take_in(&mut self, bytes: &mut [u8]) -> Result<(usize, Option<Stop>), End> {
        let mut used = 0;
        let is_its_turn = self.has_waited;
        self.begin_budget();
        // Taken out so that a message may be borrowed from it while the rest is changed.
        let mut decoder = std::mem::replace(&mut self.decoder, Decoder::new(0));
        let outcome = loop {
            if self.is_full() {
                break Ok(Some(Stop::Full));
            }
            let is_spent = self.budget.is_spent() && used < bytes.len();
            if let Some(workspace) = self.workspace.as_ref().filter(|_| is_spent) {
                break Ok(Some(Stop::Spent(workspace.clone())));
            }
            match decoder.next(&mut bytes[used..]) {
                Ok((0, _)) if used == 0 => break Ok(self.pay_part(is_its_turn)),
                Ok((0, _)) => break Ok(None),
                Ok((count, message)) => {
                    used += count;
                    if message.is_some() {
                        self.unfinished_since = None;
                    }
                    match message.map_or(Ok(None), |message| self.take(&message)) {
                        Ok(None) => {}
                        stop => break stop,
                    }
                }
                Err(error) => {
                    if error.is_too_large() {
                        self.outbox.refuse_size(self.shared.settings.message_bytes_max);
                    }
                    break Err(error.into());
                }
            }
        };
        self.decoder = decoder;
        self.end_budget();
        outcome.map(|stop| (used, stop))
    }

    fn begin_budget(&mut self) {
        let has_waited = std::mem::take(&mut self.has_waited);
        self.budget = match &self.workspace {
            Some(workspace) => self.shared.fairness.budget(workspace, has_waited),
            None => Budget::ALL,
        };
    }

    fn end_budget(&mut self) {
        if let Some(workspace) = &self.workspace {
            self.shared.fairness.charge(workspace, self.budget);
        }
    }

    fn is_full(&self) -> bool {
        let settings = &self.shared.settings;
        let unanswered = self.queue.as_ref().map_or(0, |queue| queue.unanswered());
        self.in_flight.len() + unanswered + self.jobs.questions() >= settings.in_flight_max
            || self.outbox.bytes.len() >= settings.unsent_bytes_max
    }

    /// Continues until everything received is submitted and answered.
    async fn after_receiving(&mut self, mut stop: Option<Stop>) -> Result<(), End> {
        loop {
            if let Some(reason) = stop.take() {
                // Earlier requests must not wait for what this one waits for.
                self.drain().await?;
                stop = self.resolve(reason).await;
            } else if self.inbox.is_empty() || self.is_full() {
                // If it is still full, jobs are the reason: it continues when one of them is done.
                break;
            } else {
                stop = self.take_in_rest()?;
                if stop.is_none() {
                    break;
                }
            }
        }
        self.count_received()?;
        self.watch_message_deadline();
        self.pass_on().await?;
        self.flush().await
    }

    /// The rest of a partially received message must arrive in time.
    fn watch_message_deadline(&mut self) {
        let waits_for_peer =
            (!self.inbox.is_empty() && !self.is_full()) || self.decoder.has_begun();
        if waits_for_peer && self.unfinished_since.is_none() {
            let now = Instant::now();
            self.unfinished_since = Some(now);
            let deadline = now + self.shared.settings.body_deadline;
            if deadline < self.alarm.deadline() {
                self.alarm.as_mut().reset(deadline);
            }
        } else if !waits_for_peer {
            self.unfinished_since = None;
        }
    }

    /// Does what must happen first; it may have to be repeated.
    async fn resolve(&mut self, stop: Stop) -> Option<Stop> {
        let baton = self.shared.baton.clone();
        let (id, outcome) = match stop {
            Stop::Full => return None,
            Stop::Spent(workspace) => {
                self.shared.fairness.wait_turn(&workspace).await;
                self.has_waited = true;
                return None;
            }
            Stop::RetryRequest { workspace, agent, request, id, after } => {
                let outcome = match baton.wait_for_retry(&workspace, after).await {
                    Ok(()) => self.submit(&workspace, &agent, request, id),
                    Err(error) => Err(Problem::from(&error)),
                };
                (id, outcome)
            }
            Stop::RetryQuery { caller, query, id, after } => {
                let outcome = match baton.wait_for_retry(&caller.workspace, after).await {
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
        if self.watches(|pushes| pushes.has(id)) {
            let fault = Fault::field("id", "a watch of this number is open");
            return Err(Problem::from(&fault));
        }
        let settings = &self.shared.settings;
        let max = settings.watches_per_connection_max;
        if self.watches(|pushes| pushes.len()) >= max {
            return Err(Refusal::TooManyWatches { whose: "on this connection", max }.into());
        }
        let slot = WatchSlot::enter(&self.shared, &self.authority, &caller.workspace);
        let slot = slot.map_err(Problem::from)?;
        let has_snapshot = wanted.snapshot;
        let watch = self.shared.baton.watch(caller, wanted).await;
        let mut watch = watch.map_err(|error| Problem::from(&error))?;
        // A snapshot precedes its events, which start after it.
        let (present, from) = match (has_snapshot, watch.resume_from()) {
            (true, at) => (at, at.next()),
            (false, from) => (watch.begun_at(), from),
        };
        self.outbox.begun(id, present, from);
        if let Some((revision, entries)) = watch.take_snapshot() {
            // Boxed, since it would make every idle connection larger otherwise.
            Box::pin(self.add_snapshot(id, revision, entries)).await;
        }
        match &self.queue {
            Some(queue) => queue.watch(&mut self.outbox.bytes, (id, watch, slot)),
            None => self.pushes.add(id, watch, slot),
        }
        Ok(None)
    }

    /// Adds the snapshot of a watch to the output. Others are served while a large one is encoded,
    /// and between its parts.
    async fn add_snapshot(&mut self, id: u64, revision: Revision, entries: Vec<Entry>) {
        let (format, is_large) = (self.outbox.format, are_large(&entries));
        let encode = move || snapshot_frame(format, id, revision, &entries);
        if !is_large {
            return self.outbox.add_snapshot(encode());
        }
        let frame = encode_apart(&self.shared.encoders, encode).await;
        self.outbox.add_snapshot(frame);
        // Whether the peer has gone is noticed by whatever is sent next.
        let _ = self.drain().await;
    }
}
