//! Batches: several calls that are sent together, each of which is executed independently.

use std::future::poll_fn;
use std::task::Poll;

use baton_core::{Answer, Command, Query, Rejection};

use crate::{Error, Pending, Workspace};

/// Calls that are sent together. One that is refused does not stop the next.
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before this is sent"]
pub struct CallBatch {
    workspace: Workspace,
    calls: Vec<Call>,
}

#[derive(Clone, Debug)]
enum Call {
    Command(Box<Command>),
    Query(Box<Query>),
}

impl CallBatch {
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self { workspace, calls: Vec::new() }
    }

    /// Adds a command.
    pub fn command(mut self, command: impl Into<Command>) -> Self {
        self.calls.push(Call::Command(Box::new(command.into())));
        self
    }

    /// Adds a query. It sees the effects of the commands before it.
    pub fn query(mut self, query: impl Into<Query>) -> Self {
        self.calls.push(Call::Query(Box::new(query.into())));
        self
    }

    /// Sends the calls in this order, without waiting between them, and returns the outcome of
    /// each. A server executes them in this order. Nothing is sent if one idempotency key was given
    /// for several commands: each needs its own, and a carrier to a server adds one to each.
    pub async fn send(self) -> Result<Vec<Result<Answer, Error>>, Error> {
        let Self { workspace, calls } = self;
        let commands = calls.iter().filter(|call| matches!(call, Call::Command(_))).count();
        if let Some(key) = workspace.caller.idempotency_key.as_ref().filter(|_| commands > 1) {
            return Err(Error::Rejected(Rejection::KeyReused { key: key.clone() }));
        }
        let calls = calls.into_iter().map(|call| -> Pending<'_, Answer> {
            match call {
                Call::Command(command) => Box::pin(workspace.execute(*command)),
                Call::Query(query) => Box::pin(workspace.ask(*query)),
            }
        });
        let mut started = Vec::with_capacity(calls.len());
        for mut call in calls {
            // A call is sent when it is polled for the first time.
            started.push(match poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await {
                Poll::Ready(outcome) => Started::Done(outcome),
                Poll::Pending => Started::UnderWay(call),
            });
        }
        let mut outcomes = Vec::with_capacity(started.len());
        for call in started {
            outcomes.push(match call {
                Started::Done(outcome) => outcome,
                Started::UnderWay(call) => call.await,
            });
        }
        Ok(outcomes)
    }
}

/// A call that was polled once.
enum Started<'a> {
    Done(Result<Answer, Error>),
    UnderWay(Pending<'a, Answer>),
}
