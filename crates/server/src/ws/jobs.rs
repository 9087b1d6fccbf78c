//! Slow answers of one connection: queries about the past, large answers, and waiting calls.
//!
//! The two are counted separately. Queries fill the connection until some are answered. Waiting
//! calls must not: the event that they wait for may be the next request of the same connection.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use baton::error::Error;
use baton_core::Answer;
use futures_util::Stream;
use futures_util::stream::FuturesUnordered;

use super::format::Format;
use super::outbox::frame;
use crate::large_answer::{encode_apart, is_large};
use crate::shared::Shared;

type Job = Pin<Box<dyn Future<Output = Done> + Send>>;

/// The id of a request, and its answer.
pub(super) type Done = (u64, RequestAnswer);

/// The answer to a request.
pub(super) enum RequestAnswer {
    /// It has to be encoded.
    Answer(Result<Answer, Error>),
    /// It was large, and is encoded as a frame.
    Frame(Vec<u8>),
}

/// How the answers of a connection are encoded.
pub(super) type Encoding = (Arc<Shared>, Format);

/// Pending answers. Most connections never have any.
#[derive(Default)]
pub(super) struct Jobs {
    questions: Option<Box<FuturesUnordered<Job>>>,
    waits: Option<Box<FuturesUnordered<Job>>>,
}

fn job(
    id: u64,
    (shared, format): Encoding,
    answer: impl Future<Output = Result<Answer, Error>> + Send + 'static,
) -> Job {
    Box::pin(async move {
        let outcome = match answer.await {
            Ok(answer) if is_large(&answer) => {
                let encode = move || frame(format, id, &answer);
                RequestAnswer::Frame(encode_apart(&shared.encoders, encode).await)
            }
            outcome => RequestAnswer::Answer(outcome),
        };
        (id, outcome)
    })
}

impl Jobs {
    /// A query about the past, or one with a large answer.
    pub(super) fn ask(
        &mut self,
        id: u64,
        encoding: Encoding,
        answer: impl Future<Output = Result<Answer, Error>> + Send + 'static,
    ) {
        self.questions.get_or_insert_default().push(job(id, encoding, answer));
    }

    /// A waiting call.
    pub(super) fn wait(
        &mut self,
        id: u64,
        encoding: Encoding,
        answer: impl Future<Output = Result<Answer, Error>> + Send + 'static,
    ) {
        self.waits.get_or_insert_default().push(job(id, encoding, answer));
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
