//! The send queue of one connection: its output, and its requests in flight.

use std::future::Future;
use std::io::{ErrorKind, IoSlice};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use baton::EngineWatch;
use baton_tls::try_send;
use tokio::net::TcpStream;

use super::Writers;
use crate::in_flight::InFlight;
use crate::shared::{Shared, WatchSlot};
use crate::ws::format::Format;
use crate::ws::outbox::Outbox;
use crate::ws::pushes::Pushes;

/// How much is sent at a time.
const SEND_BYTES: usize = 64 << 10;
/// The maximum size of output that is left to writers.
const QUEUED_BYTES_MAX: usize = 64 << 10;
/// Output that has become larger, by large events, is sent by its owner in parts, which give way to
/// other connections.
const FLUSHED_BYTES_MAX: usize = SEND_BYTES + QUEUED_BYTES_MAX;

/// The output of one connection, and its socket.
pub(crate) struct SendQueue {
    writers: Arc<Writers>,
    socket: Arc<TcpStream>,
    pending: Mutex<Pending>,
    /// Encodes answers and events; locked by the thread that flushes.
    encoder: Mutex<Encoder>,
    /// Woken when a watch has an event.
    push_waker: Waker,
    /// Requests that are not answered.
    unanswered: AtomicUsize,
    /// The owner must act: output could not be sent, or something was slow.
    needs_owner: AtomicBool,
}

struct Encoder {
    outbox: Outbox,
    pushes: Pushes,
}

/// The place of the queue.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum QueueState {
    #[default]
    Idle,
    /// Waiting for a group, ready, or being flushed.
    Queued,
    /// With its owner, which sends its output itself.
    Owned,
}

#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    in_flight: InFlight<u64>,
    /// A watch may have an event.
    has_pushes: bool,
    state: QueueState,
    /// The peer is gone.
    is_gone: bool,
    /// Wakes the owner.
    owner: Option<Waker>,
    /// The owner waits until it is idle.
    is_awaited: bool,
    /// The duration of a slow group, and how many requests waited for it.
    slow: Option<(Duration, usize)>,
}

impl Pending {
    /// Whether it is queued; the owner is woken when it is idle.
    fn wait_idle(&mut self, owner: &Waker) -> bool {
        self.is_awaited = self.state == QueueState::Queued;
        if self.is_awaited {
            self.owner = Some(owner.clone());
        }
        self.is_awaited
    }
}

/// Schedules a queue when a watch has an event. It holds a weak reference: the queue keeps the
/// watch, and the watch keeps this.
struct PushWaker(Weak<SendQueue>);

impl Wake for PushWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(queue) = self.0.upgrade() {
            queue.has_pushes();
        }
    }
}

/// Whether output was added to a queue.
pub(crate) enum Enqueued {
    /// It will be sent.
    Accepted,
    /// The owner must send it: few connections have output, the queue is full, or it needs its
    /// owner.
    Declined,
    /// The peer is gone.
    Gone,
}

/// Bytes that were not sent, and requests that were not answered.
type Unsent = (Vec<u8>, InFlight<u64>);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Appends one buffer to another; the buffer of an empty one is reused.
fn append(to: &mut Vec<u8>, from: &mut Vec<u8>) {
    if to.is_empty() {
        std::mem::swap(to, from);
    } else {
        to.append(from);
    }
}

impl SendQueue {
    /// Whether it waits for the groups of this engine.
    pub(crate) fn is_of(&self, shared: &Shared) -> bool {
        Arc::ptr_eq(&self.writers, &shared.writers)
    }

    pub(crate) fn new(shared: &Arc<Shared>, socket: &Arc<TcpStream>, number: u64) -> Arc<Self> {
        let outbox = Outbox::new(shared, Format::Json, number);
        Arc::new_cyclic(|queue| Self {
            writers: Arc::clone(&outbox.shared.writers),
            socket: Arc::clone(socket),
            pending: Mutex::default(),
            encoder: Mutex::new(Encoder { outbox, pushes: Pushes::default() }),
            push_waker: Waker::from(Arc::new(PushWaker(Weak::clone(queue)))),
            unanswered: AtomicUsize::new(0),
            needs_owner: AtomicBool::new(false),
        })
    }

    /// Sets the format of answers.
    pub(crate) fn set_format(&self, format: Format) {
        locked(&self.encoder).outbox.format = format;
    }

    /// Sets the task to wake when the owner is needed.
    pub(crate) fn set_owner(&self, owner: &Waker) {
        locked(&self.pending).owner = Some(owner.clone());
    }

    /// Takes output and requests, unless the owner must send them.
    pub(crate) fn enqueue(
        self: &Arc<Self>,
        bytes: &mut Vec<u8>,
        in_flight: &mut InFlight<u64>,
    ) -> Enqueued {
        let group = in_flight.last_group();
        let mut pending = locked(&self.pending);
        if let Some(refused) = self.refused(&pending, bytes.len(), group) {
            return refused;
        }
        self.unanswered.fetch_add(in_flight.len(), Ordering::Relaxed);
        append(&mut pending.bytes, bytes);
        pending.in_flight.append(in_flight);
        self.schedule(pending, group);
        Enqueued::Accepted
    }

    /// Copies output into the queue, unless the caller, which becomes the owner, must send it.
    pub(crate) fn enqueue_copy(
        self: &Arc<Self>,
        slices: &[IoSlice<'_>],
        owner: &Waker,
    ) -> Enqueued {
        let length = slices.iter().map(|slice| slice.len()).sum();
        let mut pending = locked(&self.pending);
        if let Some(refused) = self.refused(&pending, length, 0) {
            return refused;
        }
        if !pending.owner.as_ref().is_some_and(|known| known.will_wake(owner)) {
            pending.owner = Some(owner.clone());
        }
        pending.bytes.reserve(length);
        for slice in slices {
            pending.bytes.extend_from_slice(slice);
        }
        self.schedule(pending, 0);
        Enqueued::Accepted
    }

    /// Why it cannot be queued, if so.
    fn refused(&self, pending: &Pending, length: usize, group: u64) -> Option<Enqueued> {
        if pending.is_gone {
            return Some(Enqueued::Gone);
        }
        let is_full = pending.bytes.len() + length > QUEUED_BYTES_MAX;
        let is_owners = match pending.state {
            QueueState::Idle => group == 0 && !self.writers.should_offload(),
            QueueState::Queued => false,
            QueueState::Owned => true,
        };
        (is_full || is_owners).then_some(Enqueued::Declined)
    }

    /// Schedules it, unless it is queued already or with its owner.
    fn schedule(self: &Arc<Self>, mut pending: MutexGuard<'_, Pending>, group: u64) {
        if pending.state == QueueState::Idle {
            pending.state = QueueState::Queued;
            drop(pending);
            self.writers.schedule(Arc::clone(self), group);
        }
    }

    /// A watch may have an event.
    fn has_pushes(self: &Arc<Self>) {
        let mut pending = locked(&self.pending);
        pending.has_pushes = true;
        self.schedule(pending, 0);
    }

    /// Adds a watch. The bytes, which announce it, are sent before its events.
    pub(crate) fn watch(
        self: &Arc<Self>,
        bytes: &mut Vec<u8>,
        (id, watch, slot): (u64, EngineWatch, WatchSlot),
    ) {
        // No thread is flushing while this is locked.
        let mut encoder = locked(&self.encoder);
        encoder.pushes.add(id, watch, slot);
        let mut pending = locked(&self.pending);
        append(&mut pending.bytes, bytes);
        pending.has_pushes = true;
        self.schedule(pending, 0);
    }

    /// Runs a function on its watches, for example to end one.
    pub(crate) fn watches<T>(&self, ask: impl FnOnce(&mut Pushes) -> T) -> T {
        ask(&mut locked(&self.encoder).pushes)
    }

    /// The number of watches; the owner is woken when it has been flushed again.
    pub(crate) fn watches_left(&self, owner: &Waker) -> usize {
        // First, so that a thread that flushes it in the meantime wakes the owner.
        let mut pending = locked(&self.pending);
        pending.is_awaited = true;
        pending.owner = Some(owner.clone());
        drop(pending);
        self.watches(|pushes| pushes.len())
    }

    /// How many of its requests are not answered.
    pub(crate) fn unanswered(&self) -> usize {
        self.unanswered.load(Ordering::Relaxed)
    }

    /// Whether it needs its owner.
    pub(crate) fn needs_owner(&self) -> bool {
        self.needs_owner.load(Ordering::Relaxed)
    }

    /// Whether it is queued; then the owner is woken when it is idle.
    pub(crate) fn wait_idle(&self, owner: &Waker) -> bool {
        locked(&self.pending).wait_idle(owner)
    }

    /// Waits until it is not queued, and takes out what was not sent; nothing if the peer has gone.
    /// The owner keeps it until it is released.
    pub(crate) fn take_unsent(&self) -> impl Future<Output = Option<Unsent>> {
        std::future::poll_fn(|context| self.poll_take_unsent(context))
    }

    /// The same, to be polled.
    pub(crate) fn poll_take_unsent(&self, context: &mut Context<'_>) -> Poll<Option<Unsent>> {
        let mut pending = locked(&self.pending);
        if pending.wait_idle(context.waker()) {
            return Poll::Pending;
        }
        pending.state = QueueState::Owned;
        self.needs_owner.store(false, Ordering::Relaxed);
        self.unanswered.store(0, Ordering::Relaxed);
        let (bytes, in_flight) =
            (std::mem::take(&mut pending.bytes), std::mem::take(&mut pending.in_flight));
        Poll::Ready((!pending.is_gone).then_some((bytes, in_flight)))
    }

    /// The owner has sent everything.
    pub(crate) fn release(self: &Arc<Self>) {
        let mut pending = locked(&self.pending);
        pending.state = QueueState::Idle;
        if pending.has_pushes {
            self.schedule(pending, 0);
        }
    }

    /// Records a slow group that it waited for.
    pub(super) fn was_slow(&self, took: Duration) {
        locked(&self.pending).slow = Some((took, self.unanswered()));
        self.needs_owner.store(true, Ordering::Relaxed);
    }

    /// How long a slow group has taken, and how many requests waited for it, if not reported yet.
    pub(crate) fn slow(&self) -> Option<(Duration, usize)> {
        locked(&self.pending).slow.take()
    }

    /// Sends what can be sent. A failed assertion on the way ends this connection, and not the
    /// thread.
    pub(super) fn flush(self: Arc<Self>) {
        if catch_unwind(AssertUnwindSafe(|| self.drain())).is_err() {
            let mut pending = locked(&self.pending);
            (pending.is_gone, pending.is_awaited) = (true, true);
            self.needs_owner.store(true, Ordering::Relaxed);
            set_state(QueueState::Owned, pending);
        }
    }

    /// Sends as much as possible, including what is queued in the meantime. Then it is idle, unless
    /// a request in it still waits for a group, or watches have more events than are sent at a
    /// time.
    fn drain(self: &Arc<Self>) {
        let mut encoder = locked(&self.encoder);
        let Encoder { outbox, pushes } = &mut *encoder;
        let mut in_flight = InFlight::default();
        loop {
            let mut pending = locked(&self.pending);
            append(&mut outbox.bytes, &mut pending.bytes);
            in_flight.append(&mut pending.in_flight);
            let has_pushes = std::mem::take(&mut pending.has_pushes);
            if outbox.bytes.is_empty() && in_flight.is_empty() && !has_pushes {
                // Kept for the next time, because it has grown.
                pending.in_flight = in_flight;
                outbox.recycle();
                return set_state(QueueState::Idle, pending);
            }
            drop(pending);
            self.answer(outbox, &mut in_flight);
            let has_more = has_pushes && self.push(outbox, pushes);
            if outbox.bytes.is_empty() {
                if in_flight.is_empty() {
                    continue;
                }
                if in_flight.has_large(&outbox.shared.baton) {
                    return self.return_to_owner(outbox, in_flight, has_more, false);
                }
                return self.await_durable(in_flight);
            }
            if outbox.bytes.len() > FLUSHED_BYTES_MAX {
                return self.return_to_owner(outbox, in_flight, has_more, false);
            }
            match try_send(&self.socket, &outbox.bytes) {
                Ok(count) if count == outbox.bytes.len() => outbox.bytes.clear(),
                Ok(count) => drop(outbox.bytes.drain(..count)),
                Err(error) => {
                    let is_gone = error.kind() != ErrorKind::WouldBlock;
                    return self.return_to_owner(outbox, in_flight, has_more, is_gone);
                }
            }
            if has_more {
                return self.reschedule(outbox, in_flight);
            }
        }
    }

    /// Answers the requests that are durable, up to one whose answer takes long to encode.
    fn answer(&self, outbox: &mut Outbox, in_flight: &mut InFlight<u64>) {
        let mut count = 0;
        while outbox.bytes.len() < SEND_BYTES
            && !in_flight.has_large(&outbox.shared.baton)
            && let Some((id, outcome)) = in_flight.known(&outbox.shared.baton)
        {
            outbox.answer(id, &outcome);
            count += 1;
        }
        self.unanswered.fetch_sub(count, Ordering::Relaxed);
    }

    /// Encodes events of watches, up to a limit; returns whether there may be more.
    fn push(&self, outbox: &mut Outbox, pushes: &mut Pushes) -> bool {
        let mut context = Context::from_waker(&self.push_waker);
        while outbox.bytes.len() < SEND_BYTES {
            match pushes.poll(&mut context) {
                Poll::Ready(push) => outbox.push(push),
                Poll::Pending => return false,
            }
        }
        true
    }

    /// Waits for requests that were submitted later and are not durable yet.
    fn await_durable(self: &Arc<Self>, mut in_flight: InFlight<u64>) {
        let mut pending = locked(&self.pending);
        in_flight.append(&mut pending.in_flight);
        let group = in_flight.last_group();
        pending.in_flight = in_flight;
        drop(pending);
        self.writers.schedule(Arc::clone(self), group);
    }

    /// Schedules it again after other queues, because there is more.
    fn reschedule(self: &Arc<Self>, outbox: &mut Outbox, mut in_flight: InFlight<u64>) {
        let mut pending = locked(&self.pending);
        append(&mut outbox.bytes, &mut pending.bytes);
        std::mem::swap(&mut pending.bytes, &mut outbox.bytes);
        in_flight.append(&mut pending.in_flight);
        (pending.in_flight, pending.has_pushes) = (in_flight, true);
        drop(pending);
        self.writers.schedule(Arc::clone(self), 0);
    }

    /// Returns it to its owner, because the peer accepts nothing or is gone, or because what comes
    /// next is large.
    fn return_to_owner(
        &self,
        outbox: &mut Outbox,
        mut in_flight: InFlight<u64>,
        has_pushes: bool,
        is_gone: bool,
    ) {
        let mut pending = locked(&self.pending);
        let mut bytes = std::mem::take(&mut outbox.bytes);
        append(&mut bytes, &mut pending.bytes);
        in_flight.append(&mut pending.in_flight);
        (pending.bytes, pending.in_flight) = (bytes, in_flight);
        pending.has_pushes |= has_pushes;
        pending.is_gone = is_gone;
        pending.is_awaited = true;
        self.needs_owner.store(true, Ordering::Relaxed);
        set_state(QueueState::Owned, pending);
    }
}

/// Sets the state, and wakes the owner if it waits for that.
fn set_state(state: QueueState, mut pending: MutexGuard<'_, Pending>) {
    pending.state = state;
    let is_awaited = std::mem::take(&mut pending.is_awaited) || pending.slow.is_some();
    let owner = if is_awaited { pending.owner.clone() } else { None };
    drop(pending);
    if let Some(owner) = owner {
        owner.wake();
    }
}
