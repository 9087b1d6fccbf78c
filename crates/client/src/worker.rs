//! A worker: claims tasks, runs a handler for each, and reports the results.
//!
//! ```text
//!            ┌──────────────── next, claimed in the same commit ◀──────────┐
//!            ▼                                                             │
//!   claim ──▶ handler ─────▶ a result ─▶ complete ─────────────────────────┘
//!     ▲         │ │ └──────▶ an error, a panic ─▶ fail
//!     │         │ ├ a heartbeat every third of the lease, or of the session, in parallel
//!     │         │ └ it offered the task to another agent: nothing is reported, the offer decides
//!     └─────────┴── the lease is lost: the handler is dropped, and nothing is reported
//! ```
//!
//! 1. A handler runs only while its lease is kept. When the lease is lost, the handler is dropped
//!    at its next `await`, because another agent may work on the task already.
//! 2. Every task that was claimed is completed, failed or handed over, unless its lease is lost or
//!    the server cannot be reached for that long.
//! 3. After the stop signal nothing new is claimed, and the tasks that were started are finished.
//! 4. If the server cannot be reached, the worker tries again.
//! 5. A worker with several handlers at a time claims tasks for all of them in its first call.
//! 6. A worker with handlers for hand-offs or messages waits for these and for tasks in one call.
//!    It does not claim the next task when it completes one: a hand-off or a message may be first.
//! 7. If the session of the agent ends while the worker waits, it claims again, without a session.
//!
//! A worker works with every carrier, including the embedded engine. Handlers run as tokio tasks
//! next to the heartbeats: on a runtime with one thread, a handler that does not `await` stops
//! both.
//!
//! Deliberately absent: a session. An agent that needs to be visible registers itself; the
//! heartbeats of its tasks then renew its session too, and are sent often enough for that.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use baton_core::handoff::Handoff;
use baton_core::limits::CLAIMED_MAX;
use baton_core::message::Message;
use baton_core::task::{Next, Task};
use baton_core::wait::{Work, WorkKind};
use baton_core::{Kind, Rejection, TaskType, Token};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::handles::{Claiming, Offering};
use crate::renewal::keep_held;
use crate::service::{REDELIVER_MS, answer};
use crate::slots::{Counts, Jobs, PAUSE, Setback, WAIT_MS, handle, run_slots};
use crate::{Error, Workspace};

/// The settings of a worker.
#[derive(Clone, Debug)]
pub struct Worker {
    workspace: Workspace,
    next: Result<Next, Rejection>,
    concurrency: usize,
    others: Others,
}

/// A handler of hand-offs or messages, of any type.
type Handler<T> = Arc<
    dyn Fn(Workspace, T) -> Pin<Box<dyn Future<Output = Result<Value, Setback>> + Send>>
        + Send
        + Sync,
>;

/// The handlers of what is not a task.
#[derive(Clone, Default)]
struct Others {
    handoff: Option<Handler<Arc<Handoff>>>,
    message: Option<Handler<Message>>,
}

impl fmt::Debug for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (handoff, message) = (self.handoff.is_some(), self.message.is_some());
        f.debug_struct("Others").field("handoff", &handoff).field("message", &message).finish()
    }
}

impl Others {
    fn is_empty(&self) -> bool {
        self.handoff.is_none() && self.message.is_none()
    }
}

/// The counts of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Worked {
    /// Tasks that were completed.
    pub completed: u64,
    /// Attempts that failed and were reported.
    pub failed: u64,
    /// Tasks that their handlers offered or handed to other agents.
    pub handed_over: u64,
    /// Tasks whose lease was lost, or whose result could not be reported.
    pub lost: u64,
    /// Hand-offs whose handler succeeded.
    #[serde(skip_serializing_if = "is_zero")]
    pub handoffs: u64,
    /// Messages that were acknowledged, and requests that were answered.
    #[serde(skip_serializing_if = "is_zero")]
    pub messages: u64,
}

/// A worker without a handler for something does not report it.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A task that a worker has claimed.
#[derive(Clone, Debug)]
pub struct Job {
    workspace: Workspace,
    task: Arc<Task>,
    token: Token,
    is_handed_over: Arc<AtomicBool>,
}

impl Job {
    /// The task as it was claimed.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The token of the lease.
    pub fn token(&self) -> Token {
        self.token
    }

    /// The workspace under the lease: changes through it are refused once the lease is lost.
    pub fn workspace(&self) -> Workspace {
        self.workspace.under(self.token)
    }

    /// Reports progress, from 0 to 1.
    pub async fn progress(&self, fraction: f64, note: Option<&str>) -> Result<Task, Error> {
        self.workspace.tasks().progress(self.id(), self.token, fraction, note).await
    }

    /// Offers the task to another agent. The worker then neither completes nor fails it: whether
    /// it changes hands is decided by the answer to the offer.
    pub async fn offer(&self, offer: Offering) -> Result<Handoff, Error> {
        let handoff = offer.task(self.id(), self.token).await?;
        self.handed_over();
        Ok(handoff)
    }

    /// Tells the worker that the task was offered or handed to another agent by other means, so
    /// that it neither completes nor fails it.
    pub fn handed_over(&self) {
        self.is_handed_over.store(true, Ordering::Relaxed);
    }

    fn is_handed_over(&self) -> bool {
        self.is_handed_over.load(Ordering::Relaxed)
    }

    fn id(&self) -> &str {
        self.task.id.as_str()
    }
}

/// Workers for a workspace.
pub trait Workplace {
    /// A worker of the acting agent, for tasks of these types; of every type if there are none.
    fn worker(&self, types: &[&str]) -> Worker;
}

impl Workplace for Workspace {
    fn worker(&self, types: &[&str]) -> Worker {
        types.iter().fold(Worker::new(self.clone()), |worker, name| worker.of_type(name))
    }
}

impl Worker {
    /// A worker for every task that the acting agent may claim, one at a time.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace, next: Ok(Next::default()), concurrency: 1, others: Others::default() }
    }

    fn with(mut self, change: impl FnOnce(&mut Next) -> Result<(), Rejection>) -> Self {
        self.next = self.next.and_then(|mut next| {
            change(&mut next)?;
            Ok(next)
        });
        self
    }

    /// Only tasks of this type; repeatable.
    #[must_use]
    pub fn of_type(self, task_type: &str) -> Self {
        self.with(|next| {
            next.types.get_or_insert_default().insert(TaskType::parse(task_type)?);
            Ok(())
        })
    }

    /// Sets a capability of the worker, instead of those its agent registered with; repeatable.
    #[must_use]
    pub fn capability(self, name: &str) -> Self {
        self.with(|next| {
            next.capabilities.get_or_insert_default().insert(name.to_owned());
            Ok(())
        })
    }

    /// Sets how long a lease lasts unless it is renewed, and so how soon another agent can claim
    /// the tasks of a worker that has crashed.
    #[must_use]
    pub fn lease_ms(self, milliseconds: u64) -> Self {
        self.with(|next| {
            next.lease_ms = Some(milliseconds);
            Ok(())
        })
    }

    /// Sets how many tasks are worked on at the same time.
    #[must_use]
    pub fn concurrency(self, count: usize) -> Self {
        Self { concurrency: count.max(1), ..self }
    }

    /// Also handles hand-offs that are offered to the agent. The handler accepts or rejects them;
    /// one that it does not answer is delivered again.
    #[must_use]
    pub fn on_handoff<F>(
        mut self,
        handler: impl Fn(Workspace, Arc<Handoff>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), Setback>> + Send + 'static,
    {
        self.others.handoff =
            Some(Arc::new(move |workspace, handoff| Box::pin(handle(handler(workspace, handoff)))));
        self
    }

    /// Also handles messages to the agent. A message is acknowledged if its handler succeeds, and
    /// delivered again if not; a request is answered with the result of the handler or its error.
    #[must_use]
    pub fn on_message<F, R>(
        mut self,
        handler: impl Fn(Workspace, Message) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<R, Setback>> + Send + 'static,
        R: Serialize + Send + 'static,
    {
        self.others.message =
            Some(Arc::new(move |workspace, message| Box::pin(handle(handler(workspace, message)))));
        self
    }

    /// Works until `stop`, and then until the tasks that were started are finished. Dropping this
    /// drops the handlers; their tasks become available again when the leases are over.
    ///
    /// It fails only if claiming is refused: a name is not valid, or it is not permitted.
    pub async fn run<F, R>(
        self,
        handler: impl Fn(Job) -> F + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
    ) -> Result<Worked, Error>
    where
        F: Future<Output = Result<R, Setback>> + Send + 'static,
        R: Serialize + Send + 'static,
    {
        let Self { workspace, next, concurrency, others } = self;
        let tasks = Claims { workspace, next: next?, handler: Arc::new(handler), others };
        let mut counts = Counts::default();
        run_slots(&tasks, concurrency, stop, &mut counts).await?;
        let Counts { done, failed, handed_over, lost, handoffs, messages } = counts;
        Ok(Worked { completed: done, failed, handed_over, lost, handoffs, messages })
    }
}

/// Whether a call was refused because the session of the agent ended while the call waited.
fn is_session_ended(error: &Error) -> bool {
    error.code().ends_with(".session_ended")
}

/// Tasks as the jobs of a slot.
struct Claims<H> {
    workspace: Workspace,
    next: Next,
    handler: Arc<H>,
    others: Others,
}

impl<H> Clone for Claims<H> {
    fn clone(&self) -> Self {
        let (workspace, next) = (self.workspace.clone(), self.next.clone());
        let (handler, others) = (Arc::clone(&self.handler), self.others.clone());
        Self { workspace, next, handler, others }
    }
}

impl<H, F, R> Jobs for Claims<H>
where
    H: Fn(Job) -> F + Send + Sync + 'static,
    F: Future<Output = Result<R, Setback>> + Send + 'static,
    R: Serialize + Send + 'static,
{
    type Job = Work;

    async fn next(&self) -> Result<Option<Work>, Error> {
        let next = if self.others.is_empty() {
            let task = self.claiming().wait_ms(WAIT_MS).await;
            task.map(|task| task.map(|task| Work::Task(Box::new(task))))
        } else {
            self.next_of_any_kind().await
        };
        match next {
            // Only the call that waited is refused: an agent without a session may claim too.
            Err(error) if is_session_ended(&error) => {
                sleep(PAUSE).await;
                Ok(None)
            }
            next => next,
        }
    }

    /// One call for all slots. If it fails, each slot asks for itself.
    async fn first(&self, slots: usize) -> Vec<Work> {
        if slots < 2 || !self.others.is_empty() {
            return Vec::new();
        }
        // Even a call that does not wait has to release what it claims after it was dropped.
        let several = self.claiming().wait_ms(0).several(slots.min(CLAIMED_MAX) as u64).await;
        several.unwrap_or_default().into_iter().map(|task| Work::Task(Box::new(task))).collect()
    }

    async fn run(
        &self,
        work: Work,
        stop: &watch::Receiver<bool>,
        counts: &mut Counts,
    ) -> Option<Work> {
        match work {
            Work::Task(task) => {
                let next = self.work(*task, stop, counts).await;
                return next.map(|task| Work::Task(Box::new(task)));
            }
            Work::Handoff(handoff) => {
                let handler = self.others.handoff.as_ref()?;
                match handler(self.workspace.clone(), handoff).await {
                    Ok(_) => counts.handoffs += 1,
                    Err(_) => counts.failed += 1,
                }
            }
            Work::Message(message) => {
                let handler = self.others.message.as_ref()?;
                let result = handler(self.workspace.clone(), (*message).clone()).await;
                let is_done = result.is_ok();
                match answer(&self.workspace, &message, result).await {
                    Err(_) => counts.lost += 1,
                    Ok(()) if is_done => counts.messages += 1,
                    Ok(()) => counts.failed += 1,
                }
            }
        }
        None
    }
}

impl<H, F, R> Claims<H>
where
    H: Fn(Job) -> F + Send + Sync + 'static,
    F: Future<Output = Result<R, Setback>> + Send + 'static,
    R: Serialize + Send + 'static,
{
    async fn work(
        &self,
        task: Task,
        stop: &watch::Receiver<bool>,
        counts: &mut Counts,
    ) -> Option<Task> {
        let Some(lease) = &task.lease else {
            // Without a lease there is nothing to renew and no token to report with.
            counts.lost += 1;
            return None;
        };
        let (token, lease) = (lease.token, Duration::from_millis(lease.lease_ms));
        let job = Job {
            workspace: self.workspace.clone(),
            task: Arc::new(task),
            token,
            is_handed_over: Arc::default(),
        };
        let tasks = self.workspace.tasks();
        let beat = || tasks.beat(&job.task.id, token);
        tokio::select! {
            result = handle((self.handler)(job.clone())) => {
                if !job.is_handed_over() {
                    return self.report(&job, result, stop, counts).await;
                }
                counts.handed_over += 1;
            }
            _ = keep_held(&self.workspace, lease, beat) => {
                let is_lost = !job.is_handed_over();
                counts.lost += u64::from(is_lost);
                counts.handed_over += u64::from(!is_lost);
            }
        }
        None
    }
}

impl<H> Claims<H> {
    fn claiming(&self) -> Claiming {
        let mut claiming = self.workspace.tasks().claim();
        for task_type in self.next.types.iter().flatten() {
            claiming = claiming.of_type(task_type.as_str());
        }
        for name in self.next.capabilities.iter().flatten() {
            claiming = claiming.capability(name);
        }
        if let Some(lease_ms) = self.next.lease_ms {
            claiming = claiming.lease_ms(lease_ms);
        }
        claiming
    }

    async fn next_of_any_kind(&self) -> Result<Option<Work>, Error> {
        let mut next = self.workspace.agents().next().wait_ms(WAIT_MS).of_kind(WorkKind::Task);
        if self.others.handoff.is_some() {
            next = next.of_kind(WorkKind::Handoff);
        }
        if self.others.message.is_some() {
            next = next.of_kind(WorkKind::Message).redeliver_ms(REDELIVER_MS);
        }
        for task_type in self.next.types.iter().flatten() {
            next = next.of_type(task_type.as_str());
        }
        for name in self.next.capabilities.iter().flatten() {
            next = next.capability(name);
        }
        if let Some(lease_ms) = self.next.lease_ms {
            next = next.lease_ms(lease_ms);
        }
        next.await
    }

    /// Reports the result of a task. Returns the next task, if there is one already.
    async fn report(
        &self,
        job: &Job,
        result: Result<Value, Setback>,
        stop: &watch::Receiver<bool>,
        counts: &mut Counts,
    ) -> Option<Task> {
        let tasks = self.workspace.tasks();
        let setback = match result {
            Ok(result) => {
                let mut completing = tasks.complete(job.id(), job.token).result(result);
                if !*stop.borrow() && self.others.is_empty() {
                    completing = completing.then_claim(self.next.clone());
                }
                match completing.next().await {
                    Ok(next) => {
                        counts.done += 1;
                        return next;
                    }
                    // The result is refused, and a retry would not change that.
                    Err(error) if matches!(error.kind(), Kind::Invalid | Kind::TooLarge) => {
                        let (code, detail) = (error.code(), error.to_string());
                        Setback::new(json!({"code": code, "detail": detail})).for_good()
                    }
                    Err(_) => {
                        counts.lost += 1;
                        return None;
                    }
                }
            }
            Err(setback) => setback,
        };
        let is_final = setback.is_final();
        let failing = tasks.fail(job.id(), job.token, setback.into_error());
        match if is_final { failing.for_good() } else { failing }.await {
            Ok(_) => counts.failed += 1,
            Err(_) => counts.lost += 1,
        }
        None
    }
}
