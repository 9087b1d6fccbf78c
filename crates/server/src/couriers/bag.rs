//! The bag of one connection: what it has to say, and what it has handed in.

use std::future::Future;
use std::io::{ErrorKind, IoSlice};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use baton::Watch;
use baton_tls::try_send;
use tokio::net::TcpStream;

use super::Couriers;
use crate::shared::{Shared, Watching};
use crate::turn::Turn;
use crate::ws::format::Format;
use crate::ws::outbox::Outbox;
use crate::ws::pushes::Pushes;

/// How much is sent at a time.
const SEND_BYTES: usize = 64 << 10;
/// How much of what is ready is left to others to send.
const PACKED_BYTES_MAX: usize = 64 << 10;

/// What one connection has to say, and the socket that it goes to.
pub(crate) struct Bag {
    couriers: Arc<Couriers>,
    socket: Arc<TcpStream>,
    load: Mutex<Load>,
    /// What is being said: only by who empties it, one at a time.
    voice: Mutex<Voice>,
    /// Told of what watches bring.
    teller: Waker,
    /// What was handed in and is not answered.
    unanswered: AtomicUsize,
    /// It needs its owner: it came home with something in it, or has something to tell.
    is_returned: AtomicBool,
}

struct Voice {
    outbox: Outbox,
    pushes: Pushes,
}

/// Where a bag is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Home,
    /// With those who wait, in the line, or with one who empties it.
    Out,
    /// With its owner, who says by itself what there is to say.
    Owner,
}

#[derive(Default)]
struct Load {
    bytes: Vec<u8>,
    turn: Turn<u64>,
    /// A watch may have brought something.
    has_pushes: bool,
    place: Place,
    /// The peer is gone.
    is_gone: bool,
    /// Wakes the owner.
    owner: Option<Waker>,
    /// The owner waits for it to come home.
    is_awaited: bool,
    /// How long a group has taken, if that was long, and how much has waited for it.
    slow: Option<(Duration, usize)>,
}

impl Load {
    /// Whether it is out; the owner is woken when it is not any more.
    fn await_home(&mut self, owner: &Waker) -> bool {
        self.is_awaited = self.place == Place::Out;
        if self.is_awaited {
            self.owner = Some(owner.clone());
        }
        self.is_awaited
    }
}

/// Puts a bag into the line when a watch has brought something. It does not keep the bag: that
/// keeps the watch, and the watch keeps this.
struct Teller(Weak<Bag>);

impl Wake for Teller {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(bag) = self.0.upgrade() {
            bag.has_pushes();
        }
    }
}

/// What became of what was to go into a bag.
pub(crate) enum Packed {
    /// It will be said.
    Yes,
    /// The owner must say it: few have something to say, the bag is too full, or has come back.
    No,
    /// There is nobody to say it to.
    Gone,
}

/// Bytes that were not sent, and requests that were not answered.
type Unsaid = (Vec<u8>, Turn<u64>);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts what is in one behind what is in the other; the buffer of an empty one is not thrown away.
fn append(to: &mut Vec<u8>, from: &mut Vec<u8>) {
    if to.is_empty() {
        std::mem::swap(to, from);
    } else {
        to.append(from);
    }
}

impl Bag {
    pub(crate) fn new(shared: &Arc<Shared>, socket: &Arc<TcpStream>, number: u64) -> Arc<Self> {
        let outbox = Outbox::new(shared, Format::Json, number);
        Arc::new_cyclic(|bag| Self {
            couriers: Arc::clone(&outbox.shared.couriers),
            socket: Arc::clone(socket),
            load: Mutex::default(),
            voice: Mutex::new(Voice { outbox, pushes: Pushes::default() }),
            teller: Waker::from(Arc::new(Teller(Weak::clone(bag)))),
            unanswered: AtomicUsize::new(0),
            is_returned: AtomicBool::new(false),
        })
    }

    /// From now on answers are written in this format.
    pub(crate) fn speaks(&self, format: Format) {
        locked(&self.voice).outbox.format = format;
    }

    /// Says whom to wake when it needs its owner.
    pub(crate) fn belongs_to(&self, owner: &Waker) {
        locked(&self.load).owner = Some(owner.clone());
    }

    /// Takes it all, unless it is for the owner to say it.
    pub(crate) fn pack(self: &Arc<Self>, bytes: &mut Vec<u8>, turn: &mut Turn<u64>) -> Packed {
        let group = turn.last_group();
        let mut load = locked(&self.load);
        if let Some(refused) = self.refused(&load, bytes.len(), group) {
            return refused;
        }
        self.unanswered.fetch_add(turn.len(), Ordering::Relaxed);
        append(&mut load.bytes, bytes);
        load.turn.append(turn);
        self.go_out(load, group);
        Packed::Yes
    }

    /// Takes a copy of it all, unless it is for the owner to say it. The owner is who asks.
    pub(crate) fn pack_copy(self: &Arc<Self>, slices: &[IoSlice<'_>], owner: &Waker) -> Packed {
        let length = slices.iter().map(|slice| slice.len()).sum();
        let mut load = locked(&self.load);
        if let Some(refused) = self.refused(&load, length, 0) {
            return refused;
        }
        if !load.owner.as_ref().is_some_and(|known| known.will_wake(owner)) {
            load.owner = Some(owner.clone());
        }
        load.bytes.reserve(length);
        for slice in slices {
            load.bytes.extend_from_slice(slice);
        }
        self.go_out(load, 0);
        Packed::Yes
    }

    /// Why nothing more is taken, if so.
    fn refused(&self, load: &Load, length: usize, group: u64) -> Option<Packed> {
        if load.is_gone {
            return Some(Packed::Gone);
        }
        let is_full = load.bytes.len() + length > PACKED_BYTES_MAX;
        let is_for_owner = match load.place {
            Place::Home => group == 0 && !self.couriers.says(),
            Place::Out => false,
            Place::Owner => true,
        };
        (is_full || is_for_owner).then_some(Packed::No)
    }

    /// It goes out, unless it is out already or with its owner.
    fn go_out(self: &Arc<Self>, mut load: MutexGuard<'_, Load>, group: u64) {
        if load.place == Place::Home {
            load.place = Place::Out;
            drop(load);
            self.couriers.take(Arc::clone(self), group);
        }
    }

    /// A watch may have brought something.
    fn has_pushes(self: &Arc<Self>) {
        let mut load = locked(&self.load);
        load.has_pushes = true;
        self.go_out(load, 0);
    }

    /// A watch begins, of which the bytes tell before anything that it brings.
    pub(crate) fn watch(
        self: &Arc<Self>,
        bytes: &mut Vec<u8>,
        (id, watch, place): (u64, Watch, Watching),
    ) {
        // Nobody is in the middle of saying something else.
        let mut voice = locked(&self.voice);
        voice.pushes.add(id, watch, place);
        let mut load = locked(&self.load);
        append(&mut load.bytes, bytes);
        load.has_pushes = true;
        self.go_out(load, 0);
    }

    /// Asks something about its watches, or ends one.
    pub(crate) fn watches<T>(&self, ask: impl FnOnce(&mut Pushes) -> T) -> T {
        ask(&mut locked(&self.voice).pushes)
    }

    /// How many watches there are; the owner is woken when it has been out again.
    pub(crate) fn watches_left(&self, owner: &Waker) -> usize {
        // Asked first, so that one who empties it meanwhile finds that it is awaited.
        let mut load = locked(&self.load);
        load.is_awaited = true;
        load.owner = Some(owner.clone());
        drop(load);
        self.watches(|pushes| pushes.len())
    }

    /// How much in it was handed in and is not answered.
    pub(crate) fn unanswered(&self) -> usize {
        self.unanswered.load(Ordering::Relaxed)
    }

    /// Whether it needs its owner.
    pub(crate) fn is_returned(&self) -> bool {
        self.is_returned.load(Ordering::Relaxed)
    }

    /// The owner is woken when it comes home, if it is out.
    pub(crate) fn await_home(&self, owner: &Waker) -> bool {
        locked(&self.load).await_home(owner)
    }

    /// Waits until it is not out, and takes out what was not said; nothing if the peer is gone. It
    /// is with its owner then, until that gives it back.
    pub(crate) fn unpacked(&self) -> impl Future<Output = Option<Unsaid>> {
        std::future::poll_fn(|context| self.poll_unpacked(context))
    }

    /// The same, for those who wait by hand.
    pub(crate) fn poll_unpacked(&self, context: &mut Context<'_>) -> Poll<Option<Unsaid>> {
        let mut load = locked(&self.load);
        if load.await_home(context.waker()) {
            return Poll::Pending;
        }
        load.place = Place::Owner;
        self.is_returned.store(false, Ordering::Relaxed);
        self.unanswered.store(0, Ordering::Relaxed);
        let (bytes, turn) = (std::mem::take(&mut load.bytes), std::mem::take(&mut load.turn));
        Poll::Ready((!load.is_gone).then_some((bytes, turn)))
    }

    /// The owner has said what there was to say.
    pub(crate) fn give_back(self: &Arc<Self>) {
        let mut load = locked(&self.load);
        load.place = Place::Home;
        if load.has_pushes {
            self.go_out(load, 0);
        }
    }

    /// A group has taken long that it waited for.
    pub(super) fn was_slow(&self, took: Duration) {
        locked(&self.load).slow = Some((took, self.unanswered()));
        self.is_returned.store(true, Ordering::Relaxed);
    }

    /// How long a group has taken, and how much in it has waited for that, if that was long and
    /// nobody has asked.
    pub(crate) fn slow(&self) -> Option<(Duration, usize)> {
        locked(&self.load).slow.take()
    }

    /// Says what can be said. An assertion that fails on the way ends this connection, and not what
    /// all of them share.
    pub(super) fn carry(self: Arc<Self>) {
        if catch_unwind(AssertUnwindSafe(|| self.empty())).is_err() {
            let mut load = locked(&self.load);
            (load.is_gone, load.is_awaited) = (true, true);
            self.is_returned.store(true, Ordering::Relaxed);
            leave_at(Place::Owner, load);
        }
    }

    /// Says what can be said, and what is put in meanwhile. Then it is at home, unless something in
    /// it still waits, or there is more than a share of what watches bring.
    fn empty(self: &Arc<Self>) {
        let mut voice = locked(&self.voice);
        let Voice { outbox, pushes } = &mut *voice;
        let mut turn = Turn::default();
        loop {
            let mut load = locked(&self.load);
            append(&mut outbox.bytes, &mut load.bytes);
            turn.append(&mut load.turn);
            let has_pushes = std::mem::take(&mut load.has_pushes);
            if outbox.bytes.is_empty() && turn.is_empty() && !has_pushes {
                // Kept for the next time, as it has grown.
                load.turn = turn;
                outbox.let_go();
                return leave_at(Place::Home, load);
            }
            drop(load);
            self.answer(outbox, &mut turn);
            let has_more = has_pushes && self.push(outbox, pushes);
            if outbox.bytes.is_empty() {
                if turn.is_empty() {
                    continue;
                }
                return self.wait_on(turn);
            }
            match try_send(&self.socket, &outbox.bytes) {
                Ok(count) if count == outbox.bytes.len() => outbox.bytes.clear(),
                Ok(count) => drop(outbox.bytes.drain(..count)),
                Err(error) => {
                    let is_gone = error.kind() != ErrorKind::WouldBlock;
                    return self.come_back(outbox, turn, has_more, is_gone);
                }
            }
            if has_more {
                return self.line_up_again(outbox, turn);
            }
        }
    }

    /// Answers what is durable.
    fn answer(&self, outbox: &mut Outbox, turn: &mut Turn<u64>) {
        let mut count = 0;
        while outbox.bytes.len() < SEND_BYTES
            && let Some((id, outcome)) = turn.known(&outbox.shared.baton)
        {
            outbox.answer(id, &outcome);
            count += 1;
        }
        self.unanswered.fetch_sub(count, Ordering::Relaxed);
    }

    /// Tells what watches have brought, up to a share of it; whether there is more.
    fn push(&self, outbox: &mut Outbox, pushes: &mut Pushes) -> bool {
        let mut context = Context::from_waker(&self.teller);
        while outbox.bytes.len() < SEND_BYTES {
            match pushes.poll(&mut context) {
                Poll::Ready(push) => outbox.push(push),
                Poll::Pending => return false,
            }
        }
        true
    }

    /// What was handed in later is not durable yet.
    fn wait_on(self: &Arc<Self>, mut turn: Turn<u64>) {
        let mut load = locked(&self.load);
        turn.append(&mut load.turn);
        let group = turn.last_group();
        load.turn = turn;
        drop(load);
        self.couriers.take(Arc::clone(self), group);
    }

    /// There is more, and others have their turn first.
    fn line_up_again(self: &Arc<Self>, outbox: &mut Outbox, mut turn: Turn<u64>) {
        let mut load = locked(&self.load);
        append(&mut outbox.bytes, &mut load.bytes);
        std::mem::swap(&mut load.bytes, &mut outbox.bytes);
        turn.append(&mut load.turn);
        (load.turn, load.has_pushes) = (turn, true);
        drop(load);
        self.couriers.take(Arc::clone(self), 0);
    }

    /// The peer takes nothing, or is gone.
    fn come_back(&self, outbox: &mut Outbox, mut turn: Turn<u64>, has_pushes: bool, is_gone: bool) {
        let mut load = locked(&self.load);
        let mut bytes = std::mem::take(&mut outbox.bytes);
        append(&mut bytes, &mut load.bytes);
        turn.append(&mut load.turn);
        (load.bytes, load.turn) = (bytes, turn);
        load.has_pushes |= has_pushes;
        load.is_gone = is_gone;
        load.is_awaited = true;
        self.is_returned.store(true, Ordering::Relaxed);
        leave_at(Place::Owner, load);
    }
}

/// It is here now, and its owner is told if it waits for that.
fn leave_at(place: Place, mut load: MutexGuard<'_, Load>) {
    load.place = place;
    let is_awaited = std::mem::take(&mut load.is_awaited) || load.slow.is_some();
    let owner = if is_awaited { load.owner.clone() } else { None };
    drop(load);
    if let Some(owner) = owner {
        owner.wake();
    }
}
