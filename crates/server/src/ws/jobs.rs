//! Slow answers of one connection: queries about the past, and waiting calls.
//!
//! The two are counted separately. Queries fill the connection until some are answered. Waiting
//! calls must not: what they wait for may be the next request of the same connection.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use baton::error::Error;
use baton_core::Answer;
use futures_util::Stream;
use futures_util::stream::FuturesUnordered;

type Job = Pin<Box<dyn Future<Output = Done> + Send>>;

/// The id of a request, and its answer.
pub(super) type Done = (u64, Result<Answer, Error>);

/// Pending answers. Most connections never have any.
#[derive(Default)]
pub(super) struct Jobs {
    questions: Option<Box<FuturesUnordered<Job>>>,
    waits: Option<Box<FuturesUnordered<Job>>>,
}

fn job(id: u64, answer: impl Future<Output = Result<Answer, Error>> + Send + 'static) -> Job {
    Box::pin(async move { (id, answer.await) })
}

impl Jobs {
    /// A query about the past.
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

    /// The number of queries.
    pub(super) fn questions(&self) -> usize {
        self.questions.as_ref().map_or(0, |jobs| jobs.len())
    }

    /// The number of waiting calls.
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
