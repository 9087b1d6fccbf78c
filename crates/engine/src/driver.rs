//! Drives an embedded engine, from its callers and a few threads.
//!
//! ```text
//!   caller ── submit ── yields once, so that others join the group ──┐
//!                                                                    ▼
//!                 small group, fast disk: the caller writes it, no thread is woken
//!                 otherwise: the sync thread writes it, one wake-up out and one back a group
//! ```
//!
//! The threads: `baton-sync` writes large groups and executes actions that are due; `baton-keep`
//! archives, snapshots and evicts; two `baton-load` load workspaces; `baton-pulse` notices pauses;
//! those of [`workers`] do long work.
//!
//! An open group is written even if every caller that waits for it is dropped: dropping a waiting
//! caller wakes the sync thread.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use baton_core::{AgentId, FastSet, Request, WorkspaceName};
use baton_log::Log;

use crate::admission::{Admission, HeldAnswer, RetryAfter};
use crate::clock::Clock;
use crate::error::Error;
use crate::machine::{Job, Queued};
use crate::oneshot::Oneshot;
use crate::options::Options;
use crate::pulse::{self, Pulse};
use crate::shard::{Flushed, Shard};
use crate::waiter::{Waiter, Waiting};

mod workers;

use workers::{READERS, Read, SLICE_WORK_MAX, WORKERS, WorkQueue};

/// How long deferred wake-ups wait for the first woken caller before the sync thread sends them.
const DEFERRED_WAKE_DELAY: Duration = Duration::from_micros(300);
/// How long the sync thread sleeps when nothing has a deadline.
const SLEEP_MAX: Duration = Duration::from_hours(1);
/// Threads that load workspaces.
const LOADERS: usize = 2;
/// Weight of the newest write in the moving average of how long writes take: one eighth.
const AVERAGE_SHIFT: u32 = 3;

type AnyLog = Arc<dyn Log>;
/// Notifies one caller when its job is done.
type Completion = Arc<Oneshot<Result<(), Error>>>;

/// A shard with the threads that serve it.
pub(crate) struct Driver {
    pub(crate) shard: Shard<AnyLog>,
    sync: Wakeup,
    compaction: Wakeup,
    beats: Wakeup,
    pulse: Pulse,
    loads: LoadQueue,
    work: WorkQueue<Job>,
    reads: WorkQueue<Read>,
    write_nanoseconds: AtomicU64,
    /// The number of threads that write or are about to. Each of them checks afterwards whether
    /// more was submitted in the meantime, so no other thread has to.
    writing: AtomicUsize,
}

/// Marks a thread as writing until this is dropped, even by a panic: others would wait for it
/// forever.
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
struct Wakeup {
    notified: AtomicBool,
    state: Mutex<WakeupState>,
    changed: Condvar,
}

#[derive(Default)]
struct WakeupState {
    notified: bool,
    stop: bool,
}

impl Wakeup {
    fn lock(&self) -> MutexGuard<'_, WakeupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self) {
        if !self.notified.swap(true, Ordering::SeqCst) {
            self.lock().notified = true;
            self.changed.notify_one();
        }
    }

    fn stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    /// Waits until it is notified or the time has passed; false when the thread must stop.
    fn wait(&self, longest: Duration) -> bool {
        let mut state = self.lock();
        if !state.notified && !state.stop {
            let waited = self.changed.wait_timeout(state, longest);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.notified = false;
        self.notified.store(false, Ordering::SeqCst);
        !state.stop
    }
}

/// Workspaces to load.
#[derive(Default)]
struct LoadQueue {
    state: Mutex<LoadQueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct LoadQueueState {
    queue: VecDeque<(LoadJob, Option<Completion>)>,
    stop: bool,
}

/// Work that is done off the callers' threads.
enum LoadJob {
    /// Load a workspace.
    Load(WorkspaceName),
    /// The same if it exists.
    Find(WorkspaceName),
    /// Archive its tail, because of a query about the past.
    Archive(WorkspaceName),
}

impl Driver {
    /// Opens a shard on a log and starts its threads.
    pub(crate) fn start(
        log: AnyLog,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Result<(Arc<Self>, Threads), Error> {
        let shard = Shard::open(log, clock, options)?;
        shard.refresh_disk_space();
        let driver = Arc::new(Self {
            shard,
            sync: Wakeup::default(),
            compaction: Wakeup::default(),
            beats: Wakeup::default(),
            pulse: Pulse::default(),
            loads: LoadQueue::default(),
            work: WorkQueue::default(),
            reads: WorkQueue::default(),
            write_nanoseconds: AtomicU64::new(0),
            writing: AtomicUsize::new(0),
        });
        let mut jobs = vec![
            spawn("baton-sync", &driver, Self::sync_loop)?,
            spawn("baton-keep", &driver, Self::compaction_loop)?,
        ];
        if driver.shard.clock.goes_on_in_pauses() {
            jobs.push(spawn("baton-pulse", &driver, Self::pulse_loop)?);
        }
        for _ in 0..LOADERS {
            jobs.push(spawn("baton-load", &driver, Self::load_loop)?);
        }
        let workers = (0..WORKERS).map(|_| spawn("baton-work", &driver, Self::work_loop));
        let readers = (0..READERS).map(|_| spawn("baton-read", &driver, Self::read_loop));
        let workers = Mutex::new(workers.chain(readers).collect::<Result<_, _>>()?);
        driver.shard.machine().limit_slices(SLICE_WORK_MAX);
        let threads = Threads { driver: Arc::clone(&driver), jobs: Mutex::new(jobs), workers };
        Ok((driver, threads))
    }

    fn sync_loop(&self) {
        loop {
            self.write_all();
            // Read before the pulse: a pause after this moment makes nothing due by it.
            let now = self.shard.clock.now();
            if self.shard.clock.goes_on_in_pauses() && self.pulse.take_pause() {
                self.shard.resume();
            }
            for workspace in self.shard.expire_by(now) {
                self.enqueue(LoadJob::Load(workspace), None);
            }
            let jobs = self.shard.machine().take_jobs();
            self.offload(jobs);
            if self.shard.machine().open_group_size().0 > 0 {
                continue;
            }
            let asleep = if self.shard.watermark().has_deferred_wakes() {
                DEFERRED_WAKE_DELAY
            } else {
                self.until_deadline()
            };
            let keeps_running = self.sync.wait(asleep);
            self.shard.watermark().wake_deferred();
            if !keeps_running {
                self.write_all();
                return;
            }
        }
    }

    fn pulse_loop(&self) {
        while self.beats.wait(pulse::INTERVAL) {
            // While a call holds the machine, no other call is served.
            drop(self.shard.machine());
            self.pulse.beat();
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

    /// Writes the open group. The caller checks afterwards whether more was submitted, since other
    /// threads rely on the writer for that.
    fn write(&self) -> Flushed {
        let flushed = {
            let _until_it_is_done = Writing::begin(&self.writing);
            self.shard.flush()
        };
        if let Flushed::Durable { took, .. } = flushed {
            self.shard.metrics.record_sync(took);
            let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            let average = self.write_nanoseconds.load(Ordering::Relaxed);
            let average = average - (average >> AVERAGE_SHIFT) + (took >> AVERAGE_SHIFT);
            self.write_nanoseconds.store(average, Ordering::Relaxed);
        }
        flushed
    }

    /// Writes groups until nothing is left.
    fn write_all(&self) {
        while self.write() != Flushed::Nothing {}
    }

    fn compaction_loop(&self) {
        // A job that fails, for example because the disk is full, is retried next time.
        let compact = || self.shard.compact_all(|| self.compaction.lock().stop);
        while self.compaction.wait(self.shard.options.compaction_interval) {
            self.shard.refresh_disk_space();
            // On a thread that ends: archiving needs tens of megabytes for a moment, and allocators
            // keep what a thread has freed until it ends or needs it again.
            std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().name("baton-sweep".to_owned());
                if thread.spawn_scoped(scope, compact).is_err() {
                    compact();
                }
            });
        }
    }

    fn load_loop(&self) {
        loop {
            let mut state = self.loads.state.lock().unwrap_or_else(PoisonError::into_inner);
            let (job, oneshot) = loop {
                if state.stop {
                    let waiting = std::mem::take(&mut state.queue);
                    let oneshots = waiting.into_iter().filter_map(|(_, oneshot)| oneshot);
                    oneshots.for_each(|oneshot| oneshot.complete(Err(Error::Closed)));
                    return;
                }
                match state.queue.pop_front() {
                    Some(next) => break next,
                    None => {
                        let waited = self.loads.changed.wait(state);
                        state = waited.unwrap_or_else(PoisonError::into_inner);
                    }
                }
            };
            drop(state);
            // Waiting callers must be answered even if an assertion fails on stored data.
            let outcome = catch_unwind(AssertUnwindSafe(|| match job {
                LoadJob::Load(workspace) => self.shard.load(&workspace),
                LoadJob::Find(workspace) => self.shard.find(&workspace),
                LoadJob::Archive(workspace) => self.shard.archive(&workspace),
            }));
            let broken = |_| Err(Error::Corrupt { what: "an assertion failed on it".to_owned() });
            let outcome = outcome.unwrap_or_else(broken);
            // The deadline of a loaded workspace may be the next one.
            self.sync.notify();
            if let Some(oneshot) = oneshot {
                oneshot.complete(outcome);
            }
        }
    }

    fn enqueue(&self, job: LoadJob, oneshot: Option<Completion>) {
        let mut state = self.loads.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.stop {
            // The threads that load are gone, or about to go: nothing takes it from the queue.
            drop(state);
            if let Some(oneshot) = oneshot {
                oneshot.complete(Err(Error::Closed));
            }
            return;
        }
        state.queue.push_back((job, oneshot));
        drop(state);
        self.loads.changed.notify_one();
    }

    /// Waits until a workspace is in memory.
    pub(crate) async fn ensure_loaded(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        self.wait_settled(workspace).await;
        self.run(LoadJob::Load(workspace.clone())).await
    }

    /// Waits until queries about the history of a workspace can be answered from an index.
    pub(crate) async fn ensure_archived(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        let limit = self.shard.options.tail_batches_asked_max;
        let is_long = |shard: &Shard<AnyLog>| {
            let mut machine = shard.machine();
            machine.resident(workspace).is_some_and(|there| there.history.tail.len() > limit)
        };
        while is_long(&self.shard) {
            self.run(LoadJob::Archive(workspace.clone())).await?;
        }
        Ok(())
    }

    async fn run(&self, job: LoadJob) -> Result<(), Error> {
        self.shard.check_serving()?;
        let oneshot = Oneshot::new();
        self.enqueue(job, Some(Arc::clone(&oneshot)));
        oneshot.answer().await
    }

    /// Waits until a group is durable; an error if it was lost.
    pub(crate) fn wait_durable(&self, group: u64) -> WaitDurable<'_> {
        WaitDurable { driver: self, group, state: WaitState::Fresh }
    }

    /// Decides a request, if the group has room and the workspace is in memory.
    pub(crate) fn submit(
        self: &Arc<Self>,
        workspace: &WorkspaceName,
        request: Request,
        agent: &AgentId,
    ) -> Result<Admission<Waiting, Request>, Error> {
        self.shard.check_serving()?;
        self.shard.check_disk_space_for(&request.mutation)?;
        let now = self.shard.clock.now();
        let mut machine = self.shard.machine();
        if machine.open_group_size().1 >= self.shard.options.group_bytes_max {
            return Ok(Admission::Retry(request, RetryAfter::Durable(machine.open_group())));
        }
        let admission = machine.submit(workspace, request, agent, now);
        if let Admission::Wait(Queued { is_urgent: false, .. }) = &admission {
            machine.defer_write(now);
        }
        let (needs_wakeup, live_wakers) = (machine.needs_wakeup(), machine.take_live_wakers());
        let jobs = machine.take_jobs();
        drop(machine);
        live_wakers.wake();
        self.offload(jobs);
        if needs_wakeup {
            self.sync.notify();
        }
        Ok(admission.map_wait(|Queued { waiter, group, is_urgent }| {
            let awaited = if is_urgent { group } else { 0 };
            Waiting::new(Arc::clone(self), waiter, awaited)
        }))
    }

    /// Waits until a call that was not accepted can be submitted again.
    pub(crate) async fn wait_for_retry(
        &self,
        workspace: &WorkspaceName,
        after: RetryAfter,
    ) -> Result<(), Error> {
        match after {
            RetryAfter::Load => self.ensure_loaded(workspace).await,
            RetryAfter::Find => self.run(LoadJob::Find(workspace.clone())).await,
            RetryAfter::Settled => {
                self.wait_settled(workspace).await;
                Ok(())
            }
            RetryAfter::Durable(group) => self.wait_durable(group).await.map(drop),
        }
    }

    /// Sets an entry by the fast path, if it applies: see [`Machine::fast_set`].
    ///
    /// [`Machine::fast_set`]: crate::machine::Machine::fast_set
    pub(crate) fn fast_set(
        &self,
        workspace: &WorkspaceName,
        set: &FastSet<'_>,
        agent: &AgentId,
    ) -> Option<HeldAnswer> {
        self.shard.check_serving().ok()?;
        self.shard.check_disk_space().ok()?;
        let now = self.shard.clock.now();
        let mut machine = self.shard.machine();
        if machine.open_group_size().1 >= self.shard.options.group_bytes_max {
            return None;
        }
        machine.fast_set(workspace, set, agent, now)
    }

    /// The caller of a waiting call is gone.
    pub(crate) fn give_up(&self, waiter: &Arc<Waiter>) {
        self.shard.machine().give_up(waiter, self.shard.clock.now());
        // The resulting commit has to be written, although no caller waits for it.
        self.sync.notify();
    }

    /// Handles the open group: writes it here if it is small and the disk is fast, else wakes the
    /// sync thread. Returns whether that answered callers that had waited longer.
    fn lead_commit(&self) -> bool {
        let options = &self.shard.options;
        if self.sync.notified.load(Ordering::SeqCst) {
            return false;
        }
        let (batches, bytes) = {
            let machine = self.shard.machine();
            if machine.has_group_in_flight() {
                if !self.is_writing() {
                    // Another thread writes it, for another reason, and will not check for more.
                    self.sync.notify();
                }
                return false;
            }
            machine.open_group_size()
        };
        if batches == 0 {
            return false;
        }
        let average = Duration::from_nanos(self.write_nanoseconds.load(Ordering::Relaxed));
        let small = batches <= options.inline_batches_max && bytes <= options.inline_bytes_max;
        if !small || average > options.inline_write_max {
            self.sync.notify();
            return false;
        }
        let flushed = self.write();
        self.shard.watermark().wake_deferred();
        if self.shard.machine().open_group_size().0 > 0 {
            // Written by the sync thread, not by a caller: a future may not be polled for a long
            // time.
            self.sync.notify();
        }
        matches!(flushed, Flushed::Durable { ends_waits: true, .. })
    }
}

fn spawn(
    name: &str,
    driver: &Arc<Driver>,
    body: impl FnOnce(&Driver) + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    let driver = Arc::clone(driver);
    let job = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        if catch_unwind(AssertUnwindSafe(|| body(&driver))).is_err() {
            // No caller may wait for a thread that has ended.
            driver.shard.watermark().stop("an assertion failed; the log is intact");
            driver.shard.watermark().close();
        }
    });
    job.map_err(|error| Error::Storage { what: format!("no thread could be started: {error}") })
}

/// The threads of an engine; they end when this is dropped.
pub(crate) struct Threads {
    driver: Arc<Driver>,
    jobs: Mutex<Vec<JoinHandle<()>>>,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    /// Writes the open group, then ends the threads.
    pub(crate) fn stop(&self) {
        let driver = &self.driver;
        // First, so that what they finish is still written.
        driver.stop_workers();
        let join = |jobs: &Mutex<Vec<JoinHandle<()>>>| {
            let jobs = std::mem::take(&mut *jobs.lock().unwrap_or_else(PoisonError::into_inner));
            // A thread that panicked has already reported it; the others must still be joined.
            for job in jobs {
                let _ = job.join();
            }
        };
        join(&self.workers);
        driver.compaction.stop();
        driver.beats.stop();
        driver.sync.stop();
        {
            let mut state = driver.loads.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.stop = true;
        }
        driver.loads.changed.notify_all();
        join(&self.jobs);
        driver.shard.watermark().close();
        driver.shard.close_waiters();
        driver.shard.close_watches();
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Waits for a group, and helps to write it.
pub(crate) struct WaitDurable<'a> {
    driver: &'a Driver,
    group: u64,
    state: WaitState,
}

enum WaitState {
    /// Not polled yet.
    Fresh,
    /// Other callers had a chance to join the group.
    Waiting,
    /// The outcome of the group is known.
    Done,
}

impl Future for WaitDurable<'_> {
    type Output = Result<u64, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let watermark = self.driver.shard.watermark();
        let mut status = watermark.group_status(self.group);
        if status.is_none() {
            match self.state {
                // Other callers join the group anyway while the previous one is being written.
                WaitState::Fresh if self.driver.is_writing() => self.state = WaitState::Waiting,
                WaitState::Fresh => {
                    self.state = WaitState::Waiting;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                WaitState::Waiting => {
                    if self.driver.lead_commit() {
                        // Answering the next holder of a released lock is more urgent.
                        context.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    status = watermark.group_status(self.group);
                }
                WaitState::Done => panic!("a future was polled after it was done"),
            }
        }
        if status.is_none() {
            status = watermark.group_status_or_wait(self.group, context.waker());
        }
        if status.is_none() && !self.driver.is_writing() {
            // A group that was in flight may have completed before this waker was registered. If
            // one is still in flight, its writer will find the open group and this waker.
            if self.driver.lead_commit() {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            status = watermark.group_status(self.group);
        }
        match status {
            Some(status) => {
                self.state = WaitState::Done;
                watermark.wake_deferred();
                Poll::Ready(status)
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for WaitDurable<'_> {
    fn drop(&mut self) {
        match self.state {
            WaitState::Done => {}
            // A submitted call is written even if its caller has gone, and callers that relied on
            // this one for their wake-up are still woken.
            WaitState::Fresh | WaitState::Waiting => {
                if self.group > 0 {
                    self.driver.sync.notify();
                    self.driver.shard.watermark().wake_deferred();
                }
            }
        }
    }
}
