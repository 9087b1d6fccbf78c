//! The loop that workers and services share: take a job, run its handler, report the result.
//!
//! ```text
//!   slot 1 ─▶ next job ─▶ handler ─▶ report ─┐      `concurrency` of them, until the stop signal;
//!        ▲                                   │      then each finishes the job it has
//!        └───────────────────────────────────┘
//! ```

use std::time::Duration;

use baton_core::Kind;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep;

use crate::Error;

/// How long one call waits for a job: shorter than the time after which most proxies close a
/// connection without traffic.
pub(crate) const WAIT_MS: u64 = 30_000;
/// The pause after a call that failed.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// A failed attempt: its error, and whether a retry may help.
///
/// `?` converts every error to one, as its text.
#[derive(Clone, Debug)]
pub struct Setback {
    error: Value,
    is_final: bool,
}

impl Setback {
    /// A failed attempt with its error.
    pub fn new(error: impl Serialize) -> Self {
        let error = serde_json::to_value(error);
        let error = error.unwrap_or_else(|error| error.to_string().into());
        Self { error, is_final: false }
    }

    /// The attempt is not repeated.
    #[must_use]
    pub fn for_good(self) -> Self {
        Self { is_final: true, ..self }
    }

    /// The error.
    pub(crate) fn into_error(self) -> Value {
        self.error
    }

    /// Whether a retry would not help.
    pub(crate) fn is_final(&self) -> bool {
        self.is_final
    }
}

impl<E: std::error::Error> From<E> for Setback {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

/// How many jobs ended in which way.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) done: u64,
    pub(crate) failed: u64,
    pub(crate) handed_over: u64,
    pub(crate) lost: u64,
    pub(crate) handoffs: u64,
    pub(crate) messages: u64,
}

/// Where jobs come from, and what is done with them.
pub(crate) trait Jobs: Clone + Send + Sync + 'static {
    /// A job.
    type Job: Send + 'static;

    /// Waits for the next job; none if there was none for a while.
    fn next(&self) -> impl Future<Output = Result<Option<Self::Job>, Error>> + Send;

    /// The jobs that are there when the slots start, at most one for each.
    fn first(&self, slots: usize) -> impl Future<Output = Vec<Self::Job>> + Send {
        let _ = slots;
        async { Vec::new() }
    }

    /// Does a job and reports the result. Returns the next job, if there is one already.
    fn run(
        &self,
        job: Self::Job,
        stop: &watch::Receiver<bool>,
        counts: &mut Counts,
    ) -> impl Future<Output = Option<Self::Job>> + Send;
}

/// Runs slots until `stop`, and then until the jobs that were started are finished. If the next job
/// cannot be taken because the call is refused, all slots stop, and that is the error. Dropping
/// this drops the handlers that run.
pub(crate) async fn run_slots(
    jobs: &impl Jobs,
    concurrency: usize,
    stop: impl Future<Output = ()>,
    counts: &mut Counts,
) -> Result<(), Error> {
    let (stop_sender, stop_receiver) = watch::channel(false);
    let mut stop = std::pin::pin!(stop);
    let first = tokio::select! {
        biased;
        () = &mut stop => {
            stop_sender.send_replace(true);
            Vec::new()
        }
        first = jobs.first(concurrency) => first,
    };
    let (mut slots, mut first) = (JoinSet::new(), first.into_iter());
    for _ in 0..concurrency {
        slots.spawn(slot(jobs.clone(), first.next(), stop_receiver.clone()));
    }
    drop(stop_receiver);
    let mut outcome = Ok(());
    loop {
        tokio::select! {
            () = &mut stop, if !*stop_sender.borrow() => drop(stop_sender.send(true)),
            ended = slots.join_next() => match ended {
                None => return outcome,
                Some(Ok((part, ended))) => {
                    counts.done += part.done;
                    counts.failed += part.failed;
                    counts.handed_over += part.handed_over;
                    counts.lost += part.lost;
                    counts.handoffs += part.handoffs;
                    counts.messages += part.messages;
                    if ended.is_err() {
                        stop_sender.send_replace(true);
                        outcome = outcome.and(ended);
                    }
                }
                // Handlers run in their own tasks, so a panic here is a bug in this crate.
                Some(Err(error)) => if let Ok(panic) = error.try_into_panic() {
                    std::panic::resume_unwind(panic);
                },
            },
        }
    }
}

async fn slot<J: Jobs>(
    jobs: J,
    mut job: Option<J::Job>,
    mut stop: watch::Receiver<bool>,
) -> (Counts, Result<(), Error>) {
    let mut counts = Counts::default();
    loop {
        if job.is_none() {
            job = match next(&jobs, &mut stop).await {
                Ok(Some(job)) => Some(job),
                Ok(None) => return (counts, Ok(())),
                Err(error) => return (counts, Err(error)),
            };
        }
        if let Some(taken) = job {
            job = jobs.run(taken, &stop, &mut counts).await;
        }
    }
}

/// The next job; none after the stop signal.
async fn next<J: Jobs>(
    jobs: &J,
    stop: &mut watch::Receiver<bool>,
) -> Result<Option<J::Job>, Error> {
    loop {
        if *stop.borrow() {
            return Ok(None);
        }
        tokio::select! {
            taken = jobs.next() => match taken {
                Ok(Some(job)) => return Ok(Some(job)),
                Ok(None) => {}
                Err(error) if is_final(error.kind()) => return Err(error),
                Err(_) => sleep(PAUSE).await,
            },
            () = stopped(stop) => return Ok(None),
        }
    }
}

/// Waits for the stop signal.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // If the sender is gone, nothing can send the signal any more: that counts as one.
    let _ = stop.wait_for(|is_stopped| *is_stopped).await;
}

/// Whether the same call would be refused again.
pub(crate) fn is_final(kind: Kind) -> bool {
    match kind {
        Kind::Invalid | Kind::Denied | Kind::NotFound | Kind::Conflict | Kind::Stale => true,
        Kind::TooLarge | Kind::Exhausted | Kind::Unavailable => false,
    }
}

/// Runs a handler in its own task, and returns a panic as a setback. Dropping this drops the
/// handler.
pub(crate) async fn handle<R: Serialize + Send + 'static>(
    handler: impl Future<Output = Result<R, Setback>> + Send + 'static,
) -> Result<Value, Setback> {
    let mut handlers = JoinSet::new();
    handlers.spawn(handler);
    match handlers.join_next().await {
        Some(Ok(result)) => Ok(serde_json::to_value(result?)?),
        Some(Err(error)) => Err(panicked(error)),
        None => Err(Setback::new("the handler is gone")),
    }
}

fn panicked(error: JoinError) -> Setback {
    let message = match error.try_into_panic() {
        Ok(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            text.or_else(|| panic.downcast_ref::<String>().cloned())
        }
        Err(_) => None,
    };
    Setback::new(json!({"code": "panic", "detail": message}))
}
