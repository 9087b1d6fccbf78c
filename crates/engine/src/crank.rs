//! Who turns the crank of an embedded engine: its callers, and a few threads behind them.
//!
//! ```text
//!   caller ── submit ── yields once, so that others join the group ──┐
//!                                                                    ▼
//!                 small group, quick disk: the caller writes it itself, no thread is woken
//!                 otherwise: the sync thread writes it, one wake-up out and one back a group
//! ```
//!
//! The threads: `baton-sync` writes large groups and lets time cause what is due; `baton-keep`
//! archives, snapshots and evicts; two `baton-load` put workspaces into memory.
//!
//! Whoever has submitted something must not forget it: a group that was gathered is written even
//! if every caller that waits for it is dropped. So a waiting caller that goes away wakes the
//! sync thread.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use baton_core::{AgentId, Answer, FastSet, Rejection, Request, WorkspaceName};
use baton_log::Log;

use crate::call::{Call, Waiting};
use crate::clock::Clock;
use crate::error::Error;
use crate::machine::{Absent, Held, Taken};
use crate::options::Options;
use crate::shard::{Flushed, Shard};
use crate::ticket::Ticket;

/// How long waiting callers are left to a herald that does not come.
const HERALD_PATIENCE: Duration = Duration::from_micros(300);
/// How long the sync thread sleeps when nothing has a deadline.
const SLEEP_MAX: Duration = Duration::from_hours(1);
/// Threads that load workspaces.
const LOADERS: usize = 2;
/// Weight of the newest write in the moving average of how long writes take: one eighth.
const AVERAGE_SHIFT: u32 = 3;

type AnyLog = Arc<dyn Log>;
/// Tells one caller when its errand is done.
type Done = Arc<Ticket<Result<(), Error>>>;

/// A shard with the threads that serve it.
pub(crate) struct Crank {
    pub(crate) shard: Shard<AnyLog>,
    sync: Bell,
    keep: Bell,
    loads: Loads,
    write_nanoseconds: AtomicU64,
    /// How many are writing, or about to find that they need not. Each of them looks afterwards
    /// for what was gathered meanwhile, so nobody else has to.
    writing: AtomicUsize,
}

/// Somebody writes. Ends even by a panic: others would wait for it for ever.
struct Writing<'a>(&'a AtomicUsize);

impl<'a> Writing<'a> {
    fn begin(writing: &'a AtomicUsize) -> Self {
        writing.fetch_add(1, Ordering::SeqCst);
        Self(writing)
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Wakes a thread.
#[derive(Default)]
struct Bell {
    rung: AtomicBool,
    state: Mutex<BellState>,
    changed: Condvar,
}

#[derive(Default)]
struct BellState {
    rung: bool,
    stop: bool,
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, BellState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) {
        if !self.rung.swap(true, Ordering::SeqCst) {
            self.lock().rung = true;
            self.changed.notify_one();
        }
    }

    fn stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    /// Waits until it rings or the time is over; false when the thread shall stop.
    fn wait(&self, longest: Duration) -> bool {
        let mut state = self.lock();
        if !state.rung && !state.stop {
            let waited = self.changed.wait_timeout(state, longest);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.rung = false;
        self.rung.store(false, Ordering::SeqCst);
        !state.stop
    }
}

/// Workspaces that shall be loaded.
#[derive(Default)]
struct Loads {
    state: Mutex<LoadState>,
    changed: Condvar,
}

#[derive(Default)]
struct LoadState {
    wanted: VecDeque<(Errand, Option<Done>)>,
    stop: bool,
}

/// What shall be done off the callers' threads.
enum Errand {
    /// Put a workspace into memory.
    Load(WorkspaceName),
    /// Archive its tail, because somebody asks about the past.
    Archive(WorkspaceName),
}

/// What became of a request.
pub enum Submitted {
    /// It was decided.
    Held(Held<Result<Answer, Rejection>>),
    /// It waits for what others do.
    Waits(Waiting),
    /// The workspace must be loaded first.
    Absent(Request),
    /// The group is full; wait for it.
    Crowded(Request, u64),
}

impl Crank {
    /// Opens a shard on a log and starts its threads.
    pub(crate) fn start(
        log: AnyLog,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Result<(Arc<Self>, Threads), Error> {
        let shard = Shard::open(log, clock, options)?;
        shard.look_at_disk();
        let crank = Arc::new(Self {
            shard,
            sync: Bell::default(),
            keep: Bell::default(),
            loads: Loads::default(),
            write_nanoseconds: AtomicU64::new(0),
            writing: AtomicUsize::new(0),
        });
        let mut jobs = vec![
            spawn("baton-sync", &crank, Self::sync_loop)?,
            spawn("baton-keep", &crank, Self::keep_loop)?,
        ];
        for _ in 0..LOADERS {
            jobs.push(spawn("baton-load", &crank, Self::load_loop)?);
        }
        let threads = Threads { crank: Arc::clone(&crank), jobs: Mutex::new(jobs) };
        Ok((crank, threads))
    }

    fn sync_loop(&self) {
        loop {
            self.write_all();
            for workspace in self.shard.expire() {
                self.want(Errand::Load(workspace), None);
            }
            if self.shard.machine().gathered().0 > 0 {
                continue;
            }
            let asleep = if self.shard.settled().has_heralds() {
                HERALD_PATIENCE
            } else {
                self.until_deadline()
            };
            let goes_on = self.sync.wait(asleep);
            self.shard.settled().pass_on();
            if !goes_on {
                self.write_all();
                return;
            }
        }
    }

    fn until_deadline(&self) -> Duration {
        let now = self.shard.clock.now();
        let deadline = self.shard.machine().set_alarm(now);
        deadline.map_or(SLEEP_MAX, |moment| {
            Duration::from_millis(moment.since(now)).clamp(Duration::from_millis(1), SLEEP_MAX)
        })
    }

    fn is_writing(&self) -> bool {
        self.writing.load(Ordering::SeqCst) > 0
    }

    /// Writes what was gathered. The caller looks afterwards whether more was gathered, since
    /// others leave that to whoever writes.
    fn write(&self) -> Flushed {
        let flushed = {
            let _until_it_is_done = Writing::begin(&self.writing);
            self.shard.flush()
        };
        if let Flushed::Durable { took, .. } = flushed {
            self.shard.tracks.synced(took);
            let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            let average = self.write_nanoseconds.load(Ordering::Relaxed);
            let average = average - (average >> AVERAGE_SHIFT) + (took >> AVERAGE_SHIFT);
            self.write_nanoseconds.store(average, Ordering::Relaxed);
        }
        flushed
    }

    /// Writes whatever was gathered, until nothing is left.
    fn write_all(&self) {
        while self.write() != Flushed::Nothing {}
    }

    fn keep_loop(&self) {
        // What cannot be done now, for want of space perhaps, is tried again next time.
        let sweep = || self.shard.sweep(|| self.keep.lock().stop);
        while self.keep.wait(self.shard.options.keep_every) {
            self.shard.look_at_disk();
            // On a thread that ends: archiving needs tens of megabytes for a moment, and allocators
            // keep what a thread has freed until it ends or needs it again.
            std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().name("baton-sweep".to_owned());
                if thread.spawn_scoped(scope, sweep).is_err() {
                    sweep();
                }
            });
        }
    }

    fn load_loop(&self) {
        loop {
            let mut state = self.loads.state.lock().unwrap_or_else(PoisonError::into_inner);
            let (errand, ticket) = loop {
                if state.stop {
                    let waiting = std::mem::take(&mut state.wanted);
                    let tickets = waiting.into_iter().filter_map(|(_, ticket)| ticket);
                    tickets.for_each(|ticket| ticket.settle(Err(Error::Closed)));
                    return;
                }
                match state.wanted.pop_front() {
                    Some(wanted) => break wanted,
                    None => {
                        let waited = self.loads.changed.wait(state);
                        state = waited.unwrap_or_else(PoisonError::into_inner);
                    }
                }
            };
            drop(state);
            // Whoever waits must be answered even if an assertion fails on what was stored.
            let outcome = catch_unwind(AssertUnwindSafe(|| match errand {
                Errand::Load(workspace) => self.shard.load(&workspace),
                Errand::Archive(workspace) => self.shard.archive(&workspace),
            }));
            let broken = |_| Err(Error::Corrupt { what: "an assertion failed on it".to_owned() });
            let outcome = outcome.unwrap_or_else(broken);
            // A loaded workspace's deadline may be the next.
            self.sync.ring();
            if let Some(ticket) = ticket {
                ticket.settle(outcome);
            }
        }
    }

    fn want(&self, errand: Errand, ticket: Option<Done>) {
        let mut state = self.loads.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.wanted.push_back((errand, ticket));
        drop(state);
        self.loads.changed.notify_one();
    }

    /// Waits until a workspace is in memory.
    pub(crate) async fn loaded(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        self.run(Errand::Load(workspace.clone())).await
    }

    /// Waits until questions about a workspace's past can be answered from an index.
    pub(crate) async fn archived(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        let limit = self.shard.options.tail_batches_asked_max;
        let is_long = |shard: &Shard<AnyLog>| {
            let mut machine = shard.machine();
            machine.resident(workspace).is_some_and(|there| there.history.tail.len() > limit)
        };
        while is_long(&self.shard) {
            self.run(Errand::Archive(workspace.clone())).await?;
        }
        Ok(())
    }

    async fn run(&self, errand: Errand) -> Result<(), Error> {
        if let Some(stopped) = self.shard.settled().stopped() {
            return Err(stopped);
        }
        let ticket = Ticket::new();
        self.want(errand, Some(Arc::clone(&ticket)));
        ticket.answer().await
    }

    /// Waits until a group is durable; an error if it was lost.
    pub(crate) fn durable(&self, group: u64) -> Durable<'_> {
        Durable { crank: self, group, stage: Stage::Fresh }
    }

    /// Why nothing may be written now, if so: whichever way a write comes.
    fn takes_writes(&self) -> Result<(), Error> {
        match self.shard.settled().stopped() {
            Some(stopped) => Err(stopped),
            None => self.shard.has_room(),
        }
    }

    /// Decides a request, if there is room in the group and the workspace is in memory.
    pub(crate) fn submit(
        self: &Arc<Self>,
        workspace: &WorkspaceName,
        request: Request,
        agent: &AgentId,
    ) -> Result<Submitted, Error> {
        self.takes_writes()?;
        let now = self.shard.clock.now();
        let mut machine = self.shard.machine();
        if machine.gathered().1 >= self.shard.options.group_bytes_max {
            return Ok(Submitted::Crowded(request, machine.open_group()));
        }
        let submitted = machine.submit(workspace, request, agent, now);
        if let Ok(Taken::Waits { is_urgent: false, .. }) = &submitted {
            machine.leave(now);
        }
        let (oversleeps, told) = (machine.oversleeps(), machine.take_told());
        drop(machine);
        told.wake();
        if oversleeps {
            self.sync.ring();
        }
        Ok(match submitted {
            Ok(Taken::Decided(held)) => Submitted::Held(held),
            Ok(Taken::Waits { call, group, is_urgent }) => {
                let awaited = if is_urgent { group } else { 0 };
                Submitted::Waits(Waiting::new(Arc::clone(self), call, awaited))
            }
            Err(Absent(request)) => Submitted::Absent(request),
        })
    }

    /// Sets an entry at once, if that is plain: see [`Machine::fast_set`].
    ///
    /// [`Machine::fast_set`]: crate::machine::Machine::fast_set
    pub(crate) fn fast_set(
        &self,
        workspace: &WorkspaceName,
        set: &FastSet<'_>,
        agent: &AgentId,
    ) -> Option<Held<Result<Answer, Rejection>>> {
        self.takes_writes().ok()?;
        let now = self.shard.clock.now();
        let mut machine = self.shard.machine();
        if machine.gathered().1 >= self.shard.options.group_bytes_max {
            return None;
        }
        machine.fast_set(workspace, set, agent, now)
    }

    /// The caller of a waiting call is gone.
    pub(crate) fn give_up(&self, call: &Arc<Call>) {
        self.shard.machine().give_up(call, self.shard.clock.now());
        // What that leads to is written by somebody, though nobody waits for it.
        self.sync.ring();
    }

    /// Sees to the gathered group: writes it here if it is small and the disk quick, else wakes
    /// the sync thread. Whether others were answered by that who had waited longer.
    fn lead(&self) -> bool {
        let options = &self.shard.options;
        if self.sync.rung.load(Ordering::SeqCst) {
            return false;
        }
        let (batches, bytes) = {
            let machine = self.shard.machine();
            if machine.is_flying() {
                if !self.is_writing() {
                    // Somebody else writes it, for reasons of their own, and will not look.
                    self.sync.ring();
                }
                return false;
            }
            machine.gathered()
        };
        if batches == 0 {
            return false;
        }
        let average = Duration::from_nanos(self.write_nanoseconds.load(Ordering::Relaxed));
        let small = batches <= options.inline_batches_max && bytes <= options.inline_bytes_max;
        if !small || average > options.inline_write_max {
            self.sync.ring();
            return false;
        }
        let flushed = self.write();
        self.shard.settled().pass_on();
        if self.shard.machine().gathered().0 > 0 {
            // Not one of those who gathered it: a future may be held and not polled for long.
            self.sync.ring();
        }
        matches!(flushed, Flushed::Durable { ends_waits: true, .. })
    }
}

fn spawn(
    name: &str,
    crank: &Arc<Crank>,
    body: impl FnOnce(&Crank) + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    let crank = Arc::clone(crank);
    let job = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        if catch_unwind(AssertUnwindSafe(|| body(&crank))).is_err() {
            // Nobody may wait for a thread that is no more.
            crank.shard.settled().stop("an assertion failed; the log is intact");
            crank.shard.settled().close();
        }
    });
    job.map_err(|error| Error::Storage { what: format!("no thread could be started: {error}") })
}

/// The threads of an engine; they end when this is dropped.
pub(crate) struct Threads {
    crank: Arc<Crank>,
    jobs: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    /// Writes what was gathered, then ends the threads.
    pub(crate) fn stop(&self) {
        let crank = &self.crank;
        crank.keep.stop();
        crank.sync.stop();
        {
            let mut state = crank.loads.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.stop = true;
        }
        crank.loads.changed.notify_all();
        let jobs = std::mem::take(&mut *self.jobs.lock().unwrap_or_else(PoisonError::into_inner));
        for job in jobs {
            // A thread that panicked has already said so; the others must still be waited for.
            let _ = job.join();
        }
        crank.shard.settled().close();
        crank.shard.close_calls();
        crank.shard.close_watches();
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Waits for a group, and helps to write it.
pub(crate) struct Durable<'a> {
    crank: &'a Crank,
    group: u64,
    stage: Stage,
}

enum Stage {
    /// Not polled yet.
    Fresh,
    /// Others have had their chance to join the group.
    Waiting,
    /// The fate of the group is known.
    Done,
}

impl Future for Durable<'_> {
    type Output = Result<u64, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let settled = self.crank.shard.settled();
        let mut fate = settled.fate(self.group);
        if fate.is_none() {
            match self.stage {
                // Others join the group anyway while the one before it is being written.
                Stage::Fresh if self.crank.is_writing() => self.stage = Stage::Waiting,
                Stage::Fresh => {
                    self.stage = Stage::Waiting;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Stage::Waiting => {
                    if self.crank.lead() {
                        // A lock that was let go of is worth more to whoever gets it.
                        context.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    fate = settled.fate(self.group);
                }
                Stage::Done => panic!("a future was polled after it was done"),
            }
        }
        if fate.is_none() {
            fate = settled.fate_or_wait(self.group, context.waker());
        }
        if fate.is_none() && !self.crank.is_writing() {
            // A group that was in flight may have landed before we were on the list. If one still
            // is, whoever writes it will find what was gathered, and us.
            self.crank.lead();
            fate = settled.fate(self.group);
        }
        match fate {
            Some(fate) => {
                self.stage = Stage::Done;
                settled.pass_on();
                Poll::Ready(fate)
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for Durable<'_> {
    fn drop(&mut self) {
        match self.stage {
            Stage::Done => {}
            // What was submitted is written even if nobody waits for it any more, and whoever
            // counted on this one as a herald is woken all the same.
            Stage::Fresh | Stage::Waiting => {
                if self.group > 0 {
                    self.crank.sync.ring();
                    self.crank.shard.settled().pass_on();
                }
            }
        }
    }
}
