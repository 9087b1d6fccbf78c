//! The client: a carrier over one connection to a server.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use baton_core::history::At;
use baton_core::secret::Secret;
use baton_core::workspace::Forked;
use baton_core::{Answer, ArtifactId, IdempotencyKey, Mutation, Query, SecretId, wire};
use tokio::task::JoinHandle;

use crate::carrier::{
    BatchedCall, Caller, Carrier, Content, Pending, PutOptions, SecretOptions, StoredArtifact,
};
use crate::net::dialer::Dialer;
use crate::net::multiplexer::{Effect, Multiplexer};
use crate::net::options::Options;
use crate::net::servers::Servers;
use crate::net::watch::RemoteWatch;
use crate::net::{connection, frames, random};
use crate::{Error, Watch, Workspace};

/// A client of a server. Cheap to clone; it disconnects when the last clone, and every handle
/// made from it, is dropped.
#[derive(Clone)]
pub struct Client(Arc<Connected>);

struct Connected {
    servers: Arc<Servers>,
    multiplexer: Arc<Multiplexer>,
    job: Mutex<Option<JoinHandle<()>>>,
    keys: Keys,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.multiplexer.abandon();
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Client({})", self.0.servers)
    }
}

/// Connects to a server: `http://host:port` or `ws://host:port`; `https://host:port` or
/// `wss://host:port` with TLS.
///
/// Servers that share their data are given as several URLs with commas between them. The client
/// uses the first that accepts a connection, and another when that one fails. With
/// [`Options::workspace`] it uses the one that owns that workspace.
///
/// If the first connection fails, the error contains the reason. After that, the client reconnects
/// automatically.
pub async fn connect(url: &str) -> Result<Client, Error> {
    connect_with(url, Options::default()).await
}

/// Like [`connect`], with options.
pub async fn connect_with(url: &str, options: Options) -> Result<Client, Error> {
    let servers = Arc::new(Servers::parse(url, &options)?);
    let socket = servers.dial(&options).await?;
    let multiplexer =
        Arc::new(Multiplexer::new(servers.to_string(), servers.has_others(), options));
    let job = connection::run(Arc::clone(&multiplexer), Arc::clone(&servers), socket);
    let job = Mutex::new(Some(tokio::spawn(job)));
    Ok(Client(Arc::new(Connected { servers, multiplexer, job, keys: Keys::new() })))
}

impl Client {
    /// A workspace. It is created by its first change.
    pub fn workspace(&self, name: &str) -> Result<Workspace, Error> {
        Workspace::new(Arc::new(self.clone()), name)
    }

    /// The address of the server that it is connected to.
    pub fn description(&self) -> String {
        format!("server at {}", self.dialer().address())
    }

    /// Finishes the calls that are under way and disconnects. Later calls fail.
    pub async fn close(self) {
        self.0.multiplexer.close();
        let job = self.0.job.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(job) = job {
            // The task does not panic, and its runtime may have ended it already.
            let _ = job.await;
        }
    }

    pub(crate) fn dialer(&self) -> &Dialer {
        self.0.servers.current()
    }

    pub(crate) fn multiplexer(&self) -> &Multiplexer {
        &self.0.multiplexer
    }
}

impl Client {
    async fn mutate(&self, caller: &Caller, mutation: Mutation) -> Result<Answer, Error> {
        let multiplexer = self.multiplexer();
        let given = caller.idempotency_key.clone();
        // A live request is not remembered, so it is not repeated under a key either.
        let is_keyed = multiplexer.options().automatic_keys && mutation.is_kept();
        let key = given.or_else(|| is_keyed.then(|| self.0.keys.next()));
        let effect = if key.is_some() { Effect::ChangesOnce } else { Effect::Changes };
        let id = multiplexer.next_id();
        let encoded = frames::mutation(id, caller, key.as_ref(), &mutation);
        drop(mutation);
        multiplexer.call(id, encoded, effect).await
    }

    async fn ask(&self, caller: &Caller, query: Query) -> Result<Answer, Error> {
        let id = self.multiplexer().next_id();
        let encoded = frames::query(id, caller, &query);
        drop(query);
        self.multiplexer().call(id, encoded, Effect::Asks).await
    }

    async fn watch(&self, caller: &Caller, request: wire::Watch) -> Result<Watch, Error> {
        let number = self.multiplexer().watch(caller, request).await?;
        Ok(Watch::new(RemoteWatch::new(self.clone(), number)))
    }
}

impl Carrier for Client {
    fn mutate<'a>(&'a self, caller: &'a Caller, mutation: Mutation) -> Pending<'a, Answer> {
        Box::pin(Self::mutate(self, caller, mutation))
    }

    fn ask<'a>(&'a self, caller: &'a Caller, query: Query) -> Pending<'a, Answer> {
        Box::pin(Self::ask(self, caller, query))
    }

    /// Requests leave in the order in which they are first polled, and the server executes those of
    /// a workspace in the order in which they arrive.
    fn batch<'a>(
        &'a self,
        caller: &'a Caller,
        calls: Vec<BatchedCall>,
    ) -> Pending<'a, Vec<Result<Answer, Error>>> {
        Box::pin(async move {
            let mut started = Vec::with_capacity(calls.len());
            for call in calls {
                let mut call = match call {
                    BatchedCall::Mutation(mutation) => Carrier::mutate(self, caller, mutation),
                    BatchedCall::Query(query) => Carrier::ask(self, caller, query),
                };
                let first = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
                started.push((call, first));
            }
            let mut outcomes = Vec::with_capacity(started.len());
            for (call, first) in started {
                outcomes.push(match first {
                    Poll::Ready(outcome) => outcome,
                    Poll::Pending => call.await,
                });
            }
            Ok(outcomes)
        })
    }

    fn watch<'a>(&'a self, caller: &'a Caller, request: wire::Watch) -> Pending<'a, Watch> {
        Box::pin(Self::watch(self, caller, request))
    }

    fn put<'a>(
        &'a self,
        caller: &'a Caller,
        options: PutOptions,
        bytes: Box<dyn Read + Send>,
    ) -> Pending<'a, StoredArtifact> {
        Box::pin(Self::put(self, caller, options, bytes))
    }

    fn read<'a>(
        &'a self,
        caller: &'a Caller,
        artifact: &'a ArtifactId,
        offset: u64,
    ) -> Pending<'a, Box<dyn Content>> {
        Box::pin(Self::read(self, caller, artifact, offset))
    }

    fn put_secret<'a>(
        &'a self,
        caller: &'a Caller,
        options: SecretOptions,
        value: Vec<u8>,
    ) -> Pending<'a, Secret> {
        Box::pin(Self::put_secret(self, caller, options, value))
    }

    fn reveal<'a>(&'a self, caller: &'a Caller, secret: &'a SecretId) -> Pending<'a, Vec<u8>> {
        Box::pin(Self::reveal(self, caller, secret))
    }

    fn export<'a>(
        &'a self,
        caller: &'a Caller,
        at: Option<At>,
        to: Box<dyn Write + Send>,
    ) -> Pending<'a, ()> {
        Box::pin(Self::export(self, caller, at, to))
    }

    fn import<'a>(&'a self, caller: &'a Caller, from: Box<dyn Read + Send>) -> Pending<'a, Forked> {
        Box::pin(Self::import(self, caller, from))
    }
}

/// Idempotency keys that no other client uses.
struct Keys {
    /// A random number that identifies this client.
    client: u64,
    count: AtomicU64,
}

impl Keys {
    fn new() -> Self {
        Self { client: random::number(), count: AtomicU64::new(0) }
    }

    fn next(&self) -> IdempotencyKey {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let key = format!("{:016x}-{count:x}", self.client);
        IdempotencyKey::parse(&key).expect("digits and a hyphen are a key")
    }
}
