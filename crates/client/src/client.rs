//! What a program holds in its hands: a client, which is a carrier of the vocabulary.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::{Answer, IdempotencyKey, Mutation, Query, wire};
use baton_handle::{Caller, Carrier};
use tokio::task::JoinHandle;

use crate::Workspace;
use crate::address::Address;
use crate::dialer::Dialer;
use crate::error::Error;
use crate::multiplexer::{Effect, Multiplexer};
use crate::options::Options;
use crate::watch::Watch;
use crate::{connection, frames, random, upgrade};

/// A client of one server. Cheap to clone; it disconnects when the last clone, and everything made
/// from it, is gone.
#[derive(Clone)]
pub struct Client(Arc<Connected>);

struct Connected {
    dialer: Dialer,
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
        write!(formatter, "Client({})", self.address())
    }
}

/// Connects to a server: `http://host:port` or `ws://host:port`; `https://host:port` or
/// `wss://host:port` if it speaks TLS.
///
/// If this first connection fails, the error says why. Later ones are made again by themselves.
pub async fn connect(url: &str) -> Result<Client, Error> {
    connect_with(url, Options::default()).await
}

/// As [`connect`], with settings.
pub async fn connect_with(url: &str, options: Options) -> Result<Client, Error> {
    let address = Address::parse(url)?;
    let url = address.to_string();
    let dialer = Dialer::new(address, &options)?;
    let socket = upgrade::dial(&dialer, &options).await?;
    let multiplexer = Arc::new(Multiplexer::new(url, options));
    let job = tokio::spawn(connection::run(Arc::clone(&multiplexer), dialer.clone(), socket));
    let job = Mutex::new(Some(job));
    Ok(Client(Arc::new(Connected { dialer, multiplexer, job, keys: Keys::new() })))
}

impl Client {
    /// A workspace. It comes into being with its first change.
    pub fn workspace(&self, name: &str) -> Result<Workspace, Error> {
        Workspace::new(self.clone(), name)
    }

    /// Where the server is.
    pub fn description(&self) -> String {
        format!("server at {}", self.address())
    }

    /// Finishes what was begun, disconnects, and refuses everything from now on.
    pub async fn close(self) {
        self.0.multiplexer.close();
        let job = self.0.job.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(job) = job {
            // The job does not panic, and its runtime may have ended it already.
            let _ = job.await;
        }
    }

    pub(crate) fn address(&self) -> &Address {
        self.0.dialer.address()
    }

    pub(crate) fn dialer(&self) -> &Dialer {
        &self.0.dialer
    }

    pub(crate) fn multiplexer(&self) -> &Multiplexer {
        &self.0.multiplexer
    }
}

impl Carrier for Client {
    type Error = Error;
    type Watch = Watch;

    async fn mutate(&self, caller: &Caller, mutation: Mutation) -> Result<Answer, Error> {
        let multiplexer = self.multiplexer();
        let given = caller.idempotency_key.clone();
        let key =
            given.or_else(|| multiplexer.options().automatic_keys.then(|| self.0.keys.next()));
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
        Ok(Watch::new(self.clone(), number))
    }
}

/// Idempotency keys that nobody else has.
struct Keys {
    /// What tells this client from every other.
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
