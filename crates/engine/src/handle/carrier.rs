//! The engine as a carrier: the same calls as boxed futures, with the error type that all carriers
//! share.

use std::io::{Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use baton_client::{
    BatchedCall, Caller, Carrier, Content, Item, Pending, PutOptions, SecretOptions,
    StoredArtifact, Watch, WatchStream,
};
use baton_core::history::At;
use baton_core::secret::Secret;
use baton_core::wire::{self, Problem};
use baton_core::workspace::Forked;
use baton_core::{Answer, ArtifactId, Mutation, Query, Revision, SecretId};
use futures_core::Stream;

use super::{Baton, EngineWatch};
use crate::error::Error;

impl From<Error> for baton_client::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Rejected(rejection) => Self::Rejected(rejection),
            error => Self::Refused(Box::new(Problem::from(&error))),
        }
    }
}

/// A boxed call, with its error converted.
pub(super) fn boxed<'a, T: 'a>(
    call: impl Future<Output = Result<T, Error>> + Send + 'a,
) -> Pending<'a, T> {
    Box::pin(async move { Ok(call.await?) })
}

impl Carrier for Baton {
    fn mutate<'a>(&'a self, caller: &'a Caller, mutation: Mutation) -> Pending<'a, Answer> {
        boxed(Self::mutate(self, caller, mutation))
    }

    fn ask<'a>(&'a self, caller: &'a Caller, query: Query) -> Pending<'a, Answer> {
        boxed(Self::ask(self, caller, query))
    }

    fn batch<'a>(
        &'a self,
        caller: &'a Caller,
        calls: Vec<BatchedCall>,
    ) -> Pending<'a, Vec<Result<Answer, baton_client::Error>>> {
        Box::pin(async move { Ok(Self::batch(self, caller, calls).await) })
    }

    fn watch<'a>(&'a self, caller: &'a Caller, request: wire::Watch) -> Pending<'a, Watch> {
        boxed(async move {
            let watch = Self::watch(self, caller, request).await?;
            Ok(Watch::new(SharedWatch(watch)))
        })
    }

    fn put<'a>(
        &'a self,
        caller: &'a Caller,
        options: PutOptions,
        bytes: Box<dyn Read + Send>,
    ) -> Pending<'a, StoredArtifact> {
        boxed(Self::put(self, caller, options, bytes))
    }

    fn read<'a>(
        &'a self,
        caller: &'a Caller,
        artifact: &'a ArtifactId,
        offset: u64,
    ) -> Pending<'a, Box<dyn Content>> {
        boxed(Self::read(self, caller, artifact, offset))
    }

    fn put_secret<'a>(
        &'a self,
        caller: &'a Caller,
        options: SecretOptions,
        value: Vec<u8>,
    ) -> Pending<'a, Secret> {
        boxed(Self::put_secret(self, caller, options, value, None))
    }

    fn reveal<'a>(&'a self, caller: &'a Caller, secret: &'a SecretId) -> Pending<'a, Vec<u8>> {
        boxed(Self::reveal(self, caller, secret))
    }

    fn export<'a>(
        &'a self,
        caller: &'a Caller,
        at: Option<At>,
        to: Box<dyn Write + Send>,
    ) -> Pending<'a, ()> {
        boxed(Self::export(self, caller, at, to))
    }

    fn import<'a>(&'a self, caller: &'a Caller, from: Box<dyn Read + Send>) -> Pending<'a, Forked> {
        boxed(Self::import(self, caller, from))
    }
}

/// A watch of the engine with the error that all carriers share.
struct SharedWatch(EngineWatch);

impl Stream for SharedWatch {
    type Item = Result<Item, baton_client::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = Pin::new(&mut self.0).poll_next(context);
        next.map(|item| item.map(|item| item.map_err(Into::into)))
    }
}

impl WatchStream for SharedWatch {
    fn resume_from(&self) -> Revision {
        self.0.resume_from()
    }
}
