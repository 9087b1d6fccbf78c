//! Answers of one connection that take their time: questions about the past, and calls that wait.
//!
//! The two are counted apart. Questions fill the connection until some are answered. Calls that
//! wait must not: what they wait for may be the next request of the same connection.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use baton::error::Error;
use baton_core::Answer;
use futures_util::Stream;
use futures_util::stream::FuturesUnordered;

type Job = Pin<Box<dyn Future<Output = Done> + Send>>;

/// The number of a request, and what it is answered with.
pub(super) type Done = (u64, Result<Answer, Error>);

/// Answers that are on their way. Most connections never have any.
#[derive(Default)]
pub(super) struct Jobs {
    questions: Option<Box<FuturesUnordered<Job>>>,
    waits: Option<Box<FuturesUnordered<Job>>>,
}

fn job(id: u64, answer: impl Future<Output = Result<Answer, Error>> + Send + 'static) -> Job {
    Box::pin(async move { (id, answer.await) })
}

impl Jobs {
    /// A question about the past.
    pub(super) fn ask(
        &mut self,
        id: u64,
        answer: impl Future<Output = Result<Answer, Error>> + Send + 'static,
    ) {
        self.questions.get_or_insert_default().push(job(id, answer));
    }

    /// A waiting call.
    pub(super) fn wait(
        &mut self,
        id: u64,
        answer: impl Future<Output = Result<Answer, Error>> + Send + 'static,
    ) {
        self.waits.get_or_insert_default().push(job(id, answer));
    }

    /// How many questions there are.
    pub(super) fn questions(&self) -> usize {
        self.questions.as_ref().map_or(0, |jobs| jobs.len())
    }

    /// How many calls wait.
    pub(super) fn waits(&self) -> usize {
        self.waits.as_ref().map_or(0, |jobs| jobs.len())
    }

    /// The next answer, whichever it is.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done> {
        for jobs in [&mut self.questions, &mut self.waits].into_iter().flatten() {
            if let Poll::Ready(Some(done)) = Pin::new(&mut **jobs).poll_next(context) {
                return Poll::Ready(done);
            }
        }
        Poll::Pending
    }
}
