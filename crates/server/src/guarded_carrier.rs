//! Carries calls to the engine for the owner of a token: authorised, counted and scheduled.

use std::io::{Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use baton::error::Error;
use baton_client::{
    Caller, Carrier, Content, Item, Pending, PutOptions, SecretOptions, StoredArtifact, Watch,
    WatchStream,
};
use baton_core::history::At;
use baton_core::secret::Secret;
use baton_core::wire::{self, Call, Problem};
use baton_core::workspace::Forked;
use baton_core::{Answer, ArtifactId, Mutation, Query, Revision, SecretId};
use futures_util::Stream;

use crate::access::Authority;
use crate::in_flight;
use crate::refusal::Refusal;
use crate::server_log::{Level, Timed, operation_fields};
use crate::shared::{Shared, WatchSlot};

type ClientError = baton_client::Error;

/// The engine, as the owner of a token may use it.
pub(crate) struct GuardedCarrier {
    shared: Arc<Shared>,
    authority: Authority,
    connection: u64,
    /// The bytes of the request, until a command is charged for them.
    bytes: AtomicUsize,
}

impl std::fmt::Debug for GuardedCarrier {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "GuardedCarrier({:?})", self.shared.baton)
    }
}

fn refused(problem: Problem) -> ClientError {
    ClientError::Refused(Box::new(problem))
}

/// Operations that the protocols using it cannot express are not offered.
fn absent<'a, T: Send + 'a>() -> Pending<'a, T> {
    Box::pin(std::future::ready(Err(refused(Refusal::NotFound {}.into()))))
}

impl GuardedCarrier {
    pub(crate) fn new(
        shared: Arc<Shared>,
        authority: Authority,
        connection: u64,
        bytes: usize,
    ) -> Self {
        Self { shared, authority, connection, bytes: AtomicUsize::new(bytes) }
    }

    /// Checks a call, and waits for its turn.
    async fn enter(&self, caller: &Caller, call: &Call) -> Result<(), ClientError> {
        let Caller { workspace, agent, .. } = caller;
        let changes = matches!(call, Call::Command(_) | Call::Transaction(_));
        let bytes = if changes { self.bytes.swap(0, Ordering::Relaxed) } else { 0 };
        let permitted = self.authority.permits(workspace, agent, call, bytes);
        if let Err(problem) = permitted {
            self.shared.refused(self.connection, &problem.code);
            return Err(refused(problem));
        }
        let server_log = &self.shared.settings.server_log;
        if server_log.wants(Level::Debug) {
            let about = operation_fields(self.connection, workspace, agent, call.name());
            server_log.write(Level::Debug, "operation.asked", &about);
        }
        self.shared.fairness.enter(workspace, bytes).await;
        Ok(())
    }

    /// The outcome of a call, which is logged if it was slow or failed.
    fn outcome(
        &self,
        caller: &Caller,
        (timed, name): (Timed<'_>, &'static str),
        outcome: Result<Answer, Error>,
    ) -> Result<Answer, ClientError> {
        if timed.is_slow() {
            let Caller { workspace, agent, .. } = caller;
            timed.log_slow(&operation_fields(self.connection, workspace, agent, name));
        }
        outcome.map_err(|error| {
            let error = ClientError::from(error);
            self.shared.refused(self.connection, error.code());
            error
        })
    }
}

impl Carrier for GuardedCarrier {
    fn mutate<'a>(&'a self, caller: &'a Caller, mutation: Mutation) -> Pending<'a, Answer> {
        Box::pin(async move {
            let call = match mutation {
                Mutation::Command(command) => Call::Command(command),
                other => Call::Transaction(other),
            };
            self.enter(caller, &call).await?;
            let timed = (Timed::begin_call(&self.shared.settings, &call), call.name());
            let mutation = match call {
                Call::Command(command) => Mutation::Command(command),
                Call::Transaction(mutation) => mutation,
                _ => unreachable!("it was made above"),
            };
            self.outcome(caller, timed, self.shared.baton.mutate(caller, mutation).await)
        })
    }

    fn ask<'a>(&'a self, caller: &'a Caller, query: Query) -> Pending<'a, Answer> {
        Box::pin(async move {
            let call = Call::Query(query.clone());
            self.enter(caller, &call).await?;
            let timed = (Timed::begin_call(&self.shared.settings, &call), call.name());
            let (shared, sees_tokens) = (Arc::clone(&self.shared), self.authority.sees_tokens());
            let asking = Caller { sees_tokens, ..caller.clone() };
            let answer = in_flight::query_deferred(shared, asking, query).await;
            self.outcome(caller, timed, answer)
        })
    }

    fn watch<'a>(&'a self, caller: &'a Caller, request: wire::Watch) -> Pending<'a, Watch> {
        Box::pin(async move {
            self.enter(caller, &Call::Watch(request.clone())).await?;
            let slot = WatchSlot::enter(&self.shared, &self.authority, &caller.workspace);
            let slot = slot.map_err(|refusal| refused(refusal.into()))?;
            let watch = Carrier::watch(&self.shared.baton, caller, request).await?;
            let authority = self.authority.clone();
            let ended = Box::pin(async move { authority.ended().await });
            Ok(Watch::new(GuardedWatch { watch, ended, _slot: slot }))
        })
    }

    fn put<'a>(
        &'a self,
        _caller: &'a Caller,
        _options: PutOptions,
        _bytes: Box<dyn Read + Send>,
    ) -> Pending<'a, StoredArtifact> {
        absent()
    }

    fn read<'a>(
        &'a self,
        _caller: &'a Caller,
        _artifact: &'a ArtifactId,
        _offset: u64,
    ) -> Pending<'a, Box<dyn Content>> {
        absent()
    }

    fn put_secret<'a>(
        &'a self,
        _caller: &'a Caller,
        _options: SecretOptions,
        _value: Vec<u8>,
    ) -> Pending<'a, Secret> {
        absent()
    }

    fn reveal<'a>(&'a self, _caller: &'a Caller, _secret: &'a SecretId) -> Pending<'a, Vec<u8>> {
        absent()
    }

    fn export<'a>(
        &'a self,
        _caller: &'a Caller,
        _at: Option<At>,
        _to: Box<dyn Write + Send>,
    ) -> Pending<'a, ()> {
        absent()
    }

    fn import<'a>(
        &'a self,
        _caller: &'a Caller,
        _from: Box<dyn Read + Send>,
    ) -> Pending<'a, Forked> {
        absent()
    }
}

/// A watch that occupies a slot, and ends with the token.
struct GuardedWatch {
    watch: Watch,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
    _slot: WatchSlot,
}

impl Stream for GuardedWatch {
    type Item = Result<Item, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.watch).poll_next(context)
    }
}

impl WatchStream for GuardedWatch {
    fn resume_from(&self) -> Revision {
        self.watch.resume_from()
    }
}
