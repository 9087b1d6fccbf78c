//! Serving: receives what comes to an agent, and answers the requests among it.
//!
//! ```text
//!   session ──▶ handlers registered ──▶ receive ──▶ handler ─▶ a result ─▶ reply, or ack
//!     ▲  │                                ▲  ▲         └─────▶ an error ─▶ told as the answer
//!     │  └ a heartbeat, beside it         │  └──────────────── next
//!     └── the session is lost: all of it begins again
//! ```
//!
//! 1. A request is answered with what its handler came to, a panic too. A message that is no
//!    request is acknowledged if its handler came to something, and comes again if not.
//! 2. Handlers run only while the session lasts: when that is lost, they are dropped at their next
//!    `await`, because their requests are another's by then.
//! 3. When told to stop, nothing new is received, what was begun is finished, and the session ends.
//! 4. That the server cannot be reached is no reason to end.
//!
//! It works over every carrier, as [`Worker`](crate::Worker) does.
//!
//! Deliberately absent: a mailbox of its own. Whoever serves receives all the mail of its agent.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use baton_core::message::Message;
use baton_handle::{Carrier, Failure, Workspace};
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::renewal::keep;
use crate::worker::{Setback, is_hopeless, panicked, stopped};

/// How long one call waits for mail before the next one does.
const WAIT_MS: u64 = 30_000;
/// After how long mail that is not acknowledged comes again: model calls take minutes.
const REDELIVER_MS: u64 = 600_000;
/// The pause after something that could not be done.
const PAUSE: Duration = Duration::from_secs(1);

/// Who serves, before it is run.
#[derive(Clone, Debug)]
pub struct Service<C> {
    workspace: Workspace<C>,
    handlers: Vec<String>,
    capabilities: Vec<String>,
    concurrency: usize,
    ttl_ms: u64,
}

/// What was served, in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Requests that were answered, and messages that were acknowledged.
    pub answered: u64,
    /// Requests that were answered with an error, and messages that will come again.
    pub failed: u64,
    /// Requests for whose answer nobody waited any more.
    pub lost: u64,
}

impl Served {
    fn add(&mut self, part: Self) {
        self.answered += part.answered;
        self.failed += part.failed;
        self.lost += part.lost;
    }
}

impl<C: Carrier> Service<C> {
    /// Whoever acts here serves what comes to it, one at a time.
    pub fn new(workspace: Workspace<C>) -> Self {
        let (handlers, capabilities) = (Vec::new(), Vec::new());
        Self { workspace, handlers, capabilities, concurrency: 1, ttl_ms: 30_000 }
    }

    /// Requests to this handler, too.
    #[must_use]
    pub fn handler(mut self, name: &str) -> Self {
        self.handlers.push(name.to_owned());
        self
    }

    /// Something that the agent can do.
    #[must_use]
    pub fn capability(mut self, name: &str) -> Self {
        self.capabilities.push(name.to_owned());
        self
    }

    /// How many handlers run at a time; at most as many as one agent may have calls that wait.
    #[must_use]
    pub fn concurrency(self, count: usize) -> Self {
        let max = baton_core::limits::RECEIVES_PER_AGENT_MAX;
        Self { concurrency: count.clamp(1, max), ..self }
    }

    /// How long the session lasts without a sign of life, and so how long it takes until others
    /// notice that this is gone.
    #[must_use]
    pub fn ttl_ms(self, milliseconds: u64) -> Self {
        Self { ttl_ms: milliseconds, ..self }
    }

    /// Serves until told to stop, and then until what was begun is finished.
    ///
    /// It fails only if it makes no sense: a name is not valid, or it is not allowed.
    pub async fn run<F, R>(
        self,
        handler: impl Fn(Message) -> F + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
    ) -> Result<Served, C::Error>
    where
        F: Future<Output = Result<R, Setback>> + Send + 'static,
        R: Serialize + Send + 'static,
    {
        let (stop_sender, stop_receiver) = watch::channel(false);
        let handler = Arc::new(handler);
        let serving = async {
            let mut served = Served::default();
            loop {
                match self.session(&handler, &stop_receiver, &mut served).await {
                    Err(error) if is_hopeless(error.kind()) => return Err(error),
                    Ok(()) | Err(_) if *stop_receiver.borrow() => return Ok(served),
                    Ok(()) | Err(_) => sleep(PAUSE).await,
                }
            }
        };
        let (mut serving, mut stop) = (std::pin::pin!(serving), std::pin::pin!(stop));
        loop {
            tokio::select! {
                () = &mut stop, if !*stop_sender.borrow() => drop(stop_sender.send(true)),
                served = &mut serving => return served,
            }
        }
    }

    /// One session, until it is lost or there is nothing more to do in it.
    async fn session<F, R>(
        &self,
        handler: &Arc<impl Fn(Message) -> F + Send + Sync + 'static>,
        stop: &watch::Receiver<bool>,
        served: &mut Served,
    ) -> Result<(), C::Error>
    where
        F: Future<Output = Result<R, Setback>> + Send + 'static,
        R: Serialize + Send + 'static,
    {
        let agents = self.workspace.agents();
        let registration = agents.register().ttl_ms(self.ttl_ms);
        let able = self.capabilities.iter();
        let registration = able.fold(registration, |it, name| it.capability(name));
        let token = registration.await?.token;
        for name in &self.handlers {
            self.workspace.messages().handle(name).await?;
        }
        let mut slots = JoinSet::new();
        for _ in 0..self.concurrency {
            let (workspace, stop) = (self.workspace.clone(), stop.clone());
            slots.spawn(ServiceSlot { workspace, stop }.serve(Arc::clone(handler)));
        }
        let ended = async {
            while let Some(part) = slots.join_next().await {
                served.add(part.unwrap_or_default());
            }
        };
        let beat = || async { agents.heartbeat(token).await.map(drop) };
        tokio::select! {
            () = ended => {
                // It ends by itself, too, only later.
                let _ = agents.leave(token).await;
            }
            _ = keep(Duration::from_millis(self.ttl_ms), beat) => {}
        }
        Ok(())
    }
}

/// One of the places at which is served.
struct ServiceSlot<C> {
    workspace: Workspace<C>,
    stop: watch::Receiver<bool>,
}

impl<C: Carrier> ServiceSlot<C> {
    async fn serve<F, R>(
        mut self,
        handler: Arc<impl Fn(Message) -> F + Send + Sync + 'static>,
    ) -> Served
    where
        F: Future<Output = Result<R, Setback>> + Send + 'static,
        R: Serialize + Send + 'static,
    {
        let mut served = Served::default();
        while let Some(message) = self.receive().await {
            let mut handlers = JoinSet::new();
            handlers.spawn(handler(message.clone()));
            // A set that is dropped ends what is in it.
            let result = match handlers.join_next().await {
                Some(Ok(Ok(result))) => serde_json::to_value(result).map_err(Setback::from),
                Some(Ok(Err(setback))) => Err(setback),
                Some(Err(error)) => Err(panicked(error)),
                None => Err(Setback::new("the handler is gone")),
            };
            let messages = self.workspace.messages();
            let id = message.id.as_str();
            let is_well = result.is_ok();
            let answered = match (message.request.is_some(), result) {
                (true, Ok(result)) => messages.reply(id, result).await.map(drop),
                (true, Err(setback)) => messages.fail(id, setback.into_error()).await.map(drop),
                (false, Ok(_)) => messages.ack(id).await,
                (false, Err(_)) => Ok(()),
            };
            match (answered, is_well) {
                (Ok(()), true) => served.answered += 1,
                (Ok(()), false) => served.failed += 1,
                (Err(_), _) => served.lost += 1,
            }
        }
        served
    }

    /// The next message; none when told to stop, or when the session is over.
    async fn receive(&mut self) -> Option<Message> {
        loop {
            if *self.stop.borrow() {
                return None;
            }
            let (messages, mut stop) = (self.workspace.messages(), self.stop.clone());
            let receiving = messages.receive().wait_ms(WAIT_MS).limit(1);
            let receiving = receiving.redeliver_ms(REDELIVER_MS);
            tokio::select! {
                received = receiving.into_future() => match received {
                    Ok(received) => {
                        if let Some(message) = received.into_iter().next() {
                            return Some(message);
                        }
                    }
                    Err(error) if is_hopeless(error.kind()) => return None,
                    Err(_) => sleep(PAUSE).await,
                },
                () = stopped(&mut stop) => return None,
            }
        }
    }
}
