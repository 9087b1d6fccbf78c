//! Batches: calls that are submitted in order, and answered together.

use baton_client::{BatchedCall, Caller};
use baton_core::{Answer, Mutation, Query, Request};

use super::Baton;
use crate::admission::{Admission, HeldAnswer};
use crate::error::Error;
use crate::waiter::Waiting;

/// A call whose turn in the batch is over.
enum Submitted {
    Known(Result<Answer, Error>),
    Held(HeldAnswer),
    Waits(Waiting),
}

impl Baton {
    /// Executes calls in this order, each independently.
    ///
    /// Every call is submitted before the next one, even if its workspace must be loaded for it, so
    /// that a query sees the effects of the commands before it. Only the wait until they are
    /// durable is shared.
    pub async fn batch(
        &self,
        caller: &Caller,
        calls: Vec<BatchedCall>,
    ) -> Vec<Result<Answer, baton_client::Error>> {
        let mut submitted = Vec::with_capacity(calls.len());
        for call in calls {
            submitted.push(match call {
                BatchedCall::Mutation(mutation) => self.submit_next(caller, mutation).await,
                BatchedCall::Query(query) => self.ask_next(caller, query).await,
            });
        }
        let mut outcomes = Vec::with_capacity(submitted.len());
        for call in submitted {
            let outcome = match call {
                Submitted::Known(outcome) => outcome,
                Submitted::Held(held) => self.open_when_durable(held).await,
                Submitted::Waits(waiting) => waiting.answer().await,
            };
            outcomes.push(outcome.map_err(Into::into));
        }
        outcomes
    }

    async fn submit_next(&self, caller: &Caller, mutation: Mutation) -> Submitted {
        let mut request = Request { mutation, idempotency_key: caller.idempotency_key.clone() };
        loop {
            match self.driver.submit(&caller.workspace, request, &caller.agent) {
                Ok(Admission::Answer(held)) => return Submitted::Held(held),
                Ok(Admission::Wait(waiting)) => return Submitted::Waits(waiting),
                Ok(Admission::Retry(back, after)) => {
                    request = back;
                    if let Err(error) = self.driver.wait_for_retry(&caller.workspace, after).await {
                        return Submitted::Known(Err(error));
                    }
                }
                Err(error) => return Submitted::Known(Err(error)),
            }
        }
    }

    /// A query that is not answered at once is answered before the next call is submitted.
    async fn ask_next(&self, caller: &Caller, query: Query) -> Submitted {
        let shard = &self.driver.shard;
        if shard.check_serving().is_ok()
            && let Admission::Answer(held) =
                shard.ask(&caller.workspace, &query, Some(caller.viewer()))
        {
            return Submitted::Held(held);
        }
        Submitted::Known(self.ask(caller, query).await)
    }

    /// Opens an answer once its group is durable.
    pub(super) async fn open_when_durable(&self, held: HeldAnswer) -> Result<Answer, Error> {
        let durable = self.driver.wait_durable(held.group()).await?;
        Ok(held.open(durable)?)
    }
}
