//! A one-shot channel: one answer, sent by one thread and awaited by one future.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::error::Error;
use crate::give_way::lower_priority;

/// One future answer.
pub(crate) struct Oneshot<T>(Mutex<State<T>>);

struct State<T> {
    answer: Option<T>,
    waker: Option<Waker>,
}

impl<T> Oneshot<T> {
    /// A channel without an answer yet.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { answer: None, waker: None })))
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the answer.
    pub(crate) fn complete(&self, answer: T) {
        let waker = {
            let mut state = self.lock();
            state.answer = Some(answer);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The answer, if it was given.
    pub(crate) fn take(&self) -> Option<T> {
        self.lock().answer.take()
    }

    /// Awaits the answer.
    pub(crate) async fn answer(&self) -> T {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&self, context: &Context<'_>) -> Poll<T> {
        let mut state = self.lock();
        match state.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Runs slow work on a new thread, so that no executor is blocked.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let oneshot = Oneshot::new();
    let given = Arc::clone(&oneshot);
    let name = "baton-aside".to_owned();
    let job = std::thread::Builder::new().name(name).spawn(move || {
        lower_priority();
        given.complete(work());
    });
    match job {
        Ok(_) => Ok(oneshot.answer().await),
        Err(error) => Err(Error::Storage { what: format!("no thread could be started: {error}") }),
    }
}
