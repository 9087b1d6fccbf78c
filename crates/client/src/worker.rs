//! A worker: claims tasks, works on them, and says what came of it.
//!
//! ```text
//!            ┌──────────────── next, claimed in the same commit ◀──────────┐
//!            ▼                                                             │
//!   claim ──▶ handler ─────▶ a result ─▶ complete ─────────────────────────┘
//!     ▲         │ │ └──────▶ an error, a panic ─▶ fail
//!     │         │ └ a heartbeat in a third of the lease, beside it
//!     └─────────┴── the lease is lost: the handler is dropped, and nobody is told
//! ```
//!
//! 1. A handler runs only while its lease is kept: when that is lost, the handler is dropped at its
//!    next `await`, because another may be at work on the task already.
//! 2. Every task that was claimed is completed, failed or released, unless its lease is lost or the
//!    server cannot be reached for that long.
//! 3. When told to stop, nothing new is claimed, and what was begun is finished.
//! 4. That the server cannot be reached is no reason to end: the worker tries again.
//!
//! It works over every carrier, the embedded engine too. Handlers run as tasks of tokio, beside
//! the heartbeats: on a runtime of one thread a handler that does not `await` stops both.
//!
//! Deliberately absent: a session. Whoever wants to be seen registers, and gives signs of life.

use std::sync::Arc;
use std::time::Duration;

use baton_core::task::{Next, Task};
use baton_core::{Kind, Rejection, TaskType, Token};
use baton_handle::{Carrier, Failure, Workspace};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep;

use crate::renewal::{Lost, keep};

/// How long one claim waits before the next one does: shorter than most things between a client
/// and a server take to forget a silent connection.
const WAIT_MS: u64 = 30_000;
/// The pause after a claim that could not be made.
const PAUSE: Duration = Duration::from_secs(1);

/// A worker, before it is run.
#[derive(Clone, Debug)]
pub struct Worker<C> {
    workspace: Workspace<C>,
    next: Result<Next, Rejection>,
    concurrency: usize,
}

/// What a worker did, in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worked {
    /// Tasks that were completed.
    pub completed: u64,
    /// Tries that failed, and were told as such.
    pub failed: u64,
    /// Tasks whose lease was lost, or of which nobody could be told what came of them.
    pub lost: u64,
}

/// A try that came to nothing: what to tell about it, and whether trying again may help.
///
/// Every error becomes one by `?`, as its text.
#[derive(Clone, Debug)]
pub struct Setback {
    error: Value,
    is_final: bool,
}

impl Setback {
    /// A try that failed so, with whatever says how.
    pub fn new(error: impl Serialize) -> Self {
        let error = serde_json::to_value(error);
        let error = error.unwrap_or_else(|error| error.to_string().into());
        Self { error, is_final: false }
    }

    /// What to tell about it.
    pub(crate) fn into_error(self) -> Value {
        self.error
    }

    /// Trying again would not help.
    #[must_use]
    pub fn for_good(self) -> Self {
        Self { is_final: true, ..self }
    }
}

impl<E: std::error::Error> From<E> for Setback {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

/// A task that is worked on.
#[derive(Clone, Debug)]
pub struct Job<C> {
    workspace: Workspace<C>,
    task: Arc<Task>,
    token: Token,
}

impl<C: Carrier> Job<C> {
    /// The task as it was claimed.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The lease's token.
    pub fn token(&self) -> Token {
        self.token
    }

    /// The workspace under the lease: what is changed through it is refused once the lease is lost.
    pub fn workspace(&self) -> Workspace<C> {
        self.workspace.under(self.token)
    }

    /// Says how far the work is, from 0 to 1.
    pub async fn progress(&self, fraction: f64, note: Option<&str>) -> Result<Task, C::Error> {
        self.workspace.tasks().progress(self.id(), self.token, fraction, note).await
    }

    fn id(&self) -> &str {
        self.task.id.as_str()
    }
}

/// A workspace as a place to work in.
pub trait Workplace<C> {
    /// A worker, as whoever acts here, for tasks of these types; of every type if none is named.
    fn worker(&self, types: &[&str]) -> Worker<C>;
}

impl<C: Carrier> Workplace<C> for Workspace<C> {
    fn worker(&self, types: &[&str]) -> Worker<C> {
        types.iter().fold(Worker::new(self.clone()), |worker, name| worker.of_type(name))
    }
}

impl<C: Carrier> Worker<C> {
    /// A worker that takes whatever the acting agent may do, one task at a time.
    pub fn new(workspace: Workspace<C>) -> Self {
        Self { workspace, next: Ok(Next::default()), concurrency: 1 }
    }

    fn with(mut self, change: impl FnOnce(&mut Next) -> Result<(), Rejection>) -> Self {
        self.next = self.next.and_then(|mut next| {
            change(&mut next)?;
            Ok(next)
        });
        self
    }

    /// Only tasks of this type, or of another that is named so.
    #[must_use]
    pub fn of_type(self, task_type: &str) -> Self {
        self.with(|next| {
            next.types.get_or_insert_default().insert(TaskType::parse(task_type)?);
            Ok(())
        })
    }

    /// Something that the worker can do, instead of what its agent registered with.
    #[must_use]
    pub fn capability(self, name: &str) -> Self {
        self.with(|next| {
            next.capabilities.get_or_insert_default().insert(name.to_owned());
            Ok(())
        })
    }

    /// How long a lease lasts unless it is renewed, and so how long it takes until others notice
    /// that this worker is gone.
    #[must_use]
    pub fn lease_ms(self, milliseconds: u64) -> Self {
        self.with(|next| {
            next.lease_ms = Some(milliseconds);
            Ok(())
        })
    }

    /// How many tasks are worked on at a time.
    #[must_use]
    pub fn concurrency(self, count: usize) -> Self {
        Self { concurrency: count.max(1), ..self }
    }

    /// Works until told to stop, and then until what was begun is finished. Dropping it lets go of
    /// everything at once; what was begun then goes back when its lease is over.
    ///
    /// It fails only if claiming makes no sense: a name is not valid, or it is not allowed.
    pub async fn run<F, R>(
        self,
        handler: impl Fn(Job<C>) -> F + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
    ) -> Result<Worked, C::Error>
    where
        F: Future<Output = Result<R, Setback>> + Send + 'static,
        R: Serialize + Send + 'static,
    {
        let (stop_sender, stop_receiver) = watch::channel(false);
        let handler = Arc::new(handler);
        let next = self.next?;
        let mut slots = JoinSet::new();
        for _ in 0..self.concurrency {
            let (workspace, next, stop) =
                (self.workspace.clone(), next.clone(), stop_receiver.clone());
            let slot = WorkerSlot { workspace, next, stop, worked: Worked::default() };
            slots.spawn(slot.work(Arc::clone(&handler)));
        }
        drop(stop_receiver);
        let mut stop = std::pin::pin!(stop);
        let mut worked = Worked::default();
        let mut failed = None;
        loop {
            tokio::select! {
                () = &mut stop, if !*stop_sender.borrow() => drop(stop_sender.send(true)),
                ended = slots.join_next() => match ended {
                    None => return failed.map_or(Ok(worked), Err),
                    Some(Ok((part, outcome))) => {
                        worked.completed += part.completed;
                        worked.failed += part.failed;
                        worked.lost += part.lost;
                        if let Err(error) = outcome {
                            failed.get_or_insert(error);
                            stop_sender.send_replace(true);
                        }
                    }
                    Some(Err(error)) => resume(error),
                },
            }
        }
    }
}

/// A place itself does not panic; if it did, that would be ours to tell.
fn resume(error: JoinError) {
    if let Ok(panic) = error.try_into_panic() {
        std::panic::resume_unwind(panic);
    }
}

/// One of the places at which a worker works.
struct WorkerSlot<C> {
    workspace: Workspace<C>,
    next: Next,
    stop: watch::Receiver<bool>,
    worked: Worked,
}

/// What came of a try.
enum AttemptOutcome<E> {
    /// The handler ended.
    Result(Result<Value, Setback>),
    /// The lease was lost before.
    Lost(Lost<E>),
}

impl<C: Carrier> WorkerSlot<C> {
    async fn work<F, R>(
        mut self,
        handler: Arc<impl Fn(Job<C>) -> F + Send + Sync + 'static>,
    ) -> (Worked, Result<(), C::Error>)
    where
        F: Future<Output = Result<R, Setback>> + Send + 'static,
        R: Serialize + Send + 'static,
    {
        let mut claimed = None;
        loop {
            let task = match claimed.take() {
                Some(task) => task,
                None => match self.claim().await {
                    Ok(Some(task)) => task,
                    Ok(None) => return (self.worked, Ok(())),
                    Err(error) => return (self.worked, Err(error)),
                },
            };
            let Some((token, lease)) = task
                .lease
                .as_ref()
                .map(|lease| (lease.token, Duration::from_millis(lease.lease_ms)))
            else {
                // The server gave a task without a lease; there is nothing to hold on to.
                self.worked.lost += 1;
                continue;
            };
            let job = Job { workspace: self.workspace.clone(), task: Arc::new(task), token };
            claimed = match attempt(&job, lease, handler(job.clone())).await {
                AttemptOutcome::Result(result) => self.tell(&job, result).await,
                AttemptOutcome::Lost(_) => {
                    self.worked.lost += 1;
                    None
                }
            };
        }
    }

    /// The next task; none when told to stop.
    async fn claim(&mut self) -> Result<Option<Task>, C::Error> {
        loop {
            if *self.stop.borrow() {
                return Ok(None);
            }
            let mut stop = self.stop.clone();
            let claim = claim_of(&self.workspace, &self.next);
            tokio::select! {
                claimed = claim => match claimed {
                    Ok(Some(task)) => return Ok(Some(task)),
                    Ok(None) => {}
                    Err(error) if is_hopeless(error.kind()) => return Err(error),
                    Err(_) => sleep(PAUSE).await,
                },
                () = stopped(&mut stop) => return Ok(None),
            }
        }
    }

    /// Says what came of a task; the next one, if there is one at once.
    async fn tell(&mut self, job: &Job<C>, result: Result<Value, Setback>) -> Option<Task> {
        let tasks = self.workspace.tasks();
        let setback = match result {
            Ok(result) => {
                let mut completing = tasks.complete(job.id(), job.token).result(result);
                if !*self.stop.borrow() {
                    completing = completing.then_claim(self.next.clone());
                }
                match completing.await {
                    Ok(done) => {
                        self.worked.completed += 1;
                        return done.next;
                    }
                    // What came of it cannot be taken, which no further try would change.
                    Err(error) if matches!(error.kind(), Kind::Invalid | Kind::TooLarge) => {
                        let (code, detail) = (error.code(), error.to_string());
                        Setback::new(json!({"code": code, "detail": detail})).for_good()
                    }
                    Err(_) => {
                        self.worked.lost += 1;
                        return None;
                    }
                }
            }
            Err(setback) => setback,
        };
        let mut failing = tasks.fail(job.id(), job.token, setback.error);
        if setback.is_final {
            failing = failing.for_good();
        }
        match failing.await {
            Ok(_) => self.worked.failed += 1,
            Err(_) => self.worked.lost += 1,
        }
        None
    }
}

async fn claim_of<C: Carrier>(
    workspace: &Workspace<C>,
    next: &Next,
) -> Result<Option<Task>, C::Error> {
    let mut claiming = workspace.tasks().claim().wait_ms(WAIT_MS);
    for task_type in next.types.iter().flatten() {
        claiming = claiming.of_type(task_type.as_str());
    }
    for name in next.capabilities.iter().flatten() {
        claiming = claiming.capability(name);
    }
    if let Some(lease_ms) = next.lease_ms {
        claiming = claiming.lease_ms(lease_ms);
    }
    claiming.await
}

/// Waits until it is time to stop.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Nobody is left who could say so: that is a reason, too.
    let _ = stop.wait_for(|stop_receiver| *stop_receiver).await;
}

/// Whether claiming again would be refused again.
pub(crate) fn is_hopeless(kind: Kind) -> bool {
    match kind {
        Kind::Invalid | Kind::Denied | Kind::NotFound | Kind::Conflict | Kind::Stale => true,
        Kind::TooLarge | Kind::Exhausted | Kind::Unavailable => false,
    }
}

/// Runs a handler for as long as the lease is kept.
async fn attempt<C: Carrier, R: Serialize + Send + 'static>(
    job: &Job<C>,
    lease: Duration,
    handler: impl Future<Output = Result<R, Setback>> + Send + 'static,
) -> AttemptOutcome<C::Error> {
    let tasks = job.workspace.tasks();
    let mut handlers = JoinSet::new();
    handlers.spawn(handler);
    let beat = || async { tasks.heartbeat(job.id(), job.token).await.map(drop) };
    // A set that is dropped ends what is in it.
    tokio::select! {
        ended = handlers.join_next() => AttemptOutcome::Result(match ended {
            Some(Ok(Ok(result))) => serde_json::to_value(result).map_err(Setback::from),
            Some(Ok(Err(setback))) => Err(setback),
            Some(Err(error)) => Err(panicked(error)),
            None => Err(Setback::new("the handler is gone")),
        }),
        lost = keep(lease, beat) => AttemptOutcome::Lost(lost),
    }
}

pub(crate) fn panicked(error: JoinError) -> Setback {
    let message = match error.try_into_panic() {
        Ok(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            text.or_else(|| panic.downcast_ref::<String>().cloned())
        }
        Err(_) => None,
    };
    Setback::new(json!({"code": "panic", "detail": message}))
}
