//! A service: receives the messages of an agent and answers the requests among them.
//!
//! ```text
//!                                         ┌──── next, received in the same commit ◀─┐
//!                                         ▼                                          │
//!   session ──▶ handlers registered ──▶ receive ──▶ handler ─▶ a result ─▶ reply ────┤
//!     ▲  │                                ▲         └─────▶ an error ─▶ sent as the reply
//!     │  └ a heartbeat, in parallel       └── ack, if it is no request
//!     └── the session is lost: everything starts again
//! ```
//!
//! 1. A request is answered with the result of its handler, even if that is a panic. A message that
//!    is not a request is acknowledged if its handler succeeds, and delivered again if not.
//! 2. Handlers run only during the session. When it is lost, they are dropped at their next
//!    `await`, because their requests go to other agents.
//! 3. After the stop signal nothing new is received, the messages that were started are finished,
//!    and the session ends.
//! 4. If the server cannot be reached, the service tries again.
//!
//! A service works with every carrier, as a [`Worker`](crate::Worker) does.
//!
//! Deliberately absent: a separate mailbox. A service receives all messages of its agent.

use std::sync::Arc;
use std::time::Duration;

use baton_core::message::Message;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::renewal::keep;
use crate::slots::{Counts, Jobs, PAUSE, Setback, WAIT_MS, handle, is_final, run_slots, stopped};
use crate::{Error, Workspace};

/// After how long a message that is not acknowledged is delivered again: model calls take minutes.
pub(crate) const REDELIVER_MS: u64 = 600_000;

/// The settings of a service.
#[derive(Clone, Debug)]
pub struct Service {
    workspace: Workspace,
    handlers: Vec<String>,
    capabilities: Vec<String>,
    concurrency: usize,
    ttl_ms: u64,
}

/// The counts of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Served {
    /// Requests that were answered, and messages that were acknowledged.
    pub answered: u64,
    /// Requests that were answered with an error, and messages that will be delivered again.
    pub failed: u64,
    /// Requests whose requester no longer waited for the reply.
    pub lost: u64,
}

impl Service {
    /// A service of the acting agent that handles one message at a time.
    pub fn new(workspace: Workspace) -> Self {
        let (handlers, capabilities) = (Vec::new(), Vec::new());
        Self { workspace, handlers, capabilities, concurrency: 1, ttl_ms: 30_000 }
    }

    /// Also serves requests to this handler; repeatable.
    #[must_use]
    pub fn handler(mut self, name: &str) -> Self {
        self.handlers.push(name.to_owned());
        self
    }

    /// Adds a capability of the agent.
    #[must_use]
    pub fn capability(mut self, name: &str) -> Self {
        self.capabilities.push(name.to_owned());
        self
    }

    /// Sets how many messages are handled at the same time; at most as many as one agent may have
    /// calls that wait.
    #[must_use]
    pub fn concurrency(self, count: usize) -> Self {
        let max = baton_core::limits::RECEIVES_PER_AGENT_MAX;
        Self { concurrency: count.clamp(1, max), ..self }
    }

    /// Sets how long the session lasts without a heartbeat, and so how soon other agents notice
    /// that this one is gone.
    #[must_use]
    pub fn ttl_ms(self, milliseconds: u64) -> Self {
        Self { ttl_ms: milliseconds, ..self }
    }

    /// Serves until `stop`, and then until the messages that were started are finished.
    ///
    /// It fails only if registration is refused: a name is not valid, or it is not permitted.
    pub async fn run<F, R>(
        self,
        handler: impl Fn(Message) -> F + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
    ) -> Result<Served, Error>
    where
        F: Future<Output = Result<R, Setback>> + Send + 'static,
        R: Serialize + Send + 'static,
    {
        let (stop_sender, stop_receiver) = watch::channel(false);
        let mail = Mail { workspace: self.workspace.clone(), handler: Arc::new(handler) };
        let serving = async {
            let mut counts = Counts::default();
            loop {
                match self.session(&mail, stop_receiver.clone(), &mut counts).await {
                    Err(error) if is_final(error.kind()) => return Err(error),
                    Ok(()) | Err(_) if *stop_receiver.borrow() => return Ok(counts),
                    Ok(()) | Err(_) => sleep(PAUSE).await,
                }
            }
        };
        let (mut serving, mut stop) = (std::pin::pin!(serving), std::pin::pin!(stop));
        loop {
            tokio::select! {
                () = &mut stop, if !*stop_sender.borrow() => drop(stop_sender.send(true)),
                served = &mut serving => {
                    let Counts { done, failed, lost, .. } = served?;
                    return Ok(Served { answered: done, failed, lost });
                }
            }
        }
    }

    /// One session, until it is lost or the service stops.
    async fn session(
        &self,
        mail: &impl Jobs,
        mut stop: watch::Receiver<bool>,
        counts: &mut Counts,
    ) -> Result<(), Error> {
        let agents = self.workspace.agents();
        let registration = agents.register().ttl_ms(self.ttl_ms);
        let capabilities = self.capabilities.iter();
        let registration = capabilities.fold(registration, |it, name| it.capability(name));
        let token = registration.await?.token;
        for name in &self.handlers {
            self.workspace.messages().handle(name).await?;
        }
        let beat = || async { agents.heartbeat(token).await.map(drop) };
        tokio::select! {
            // If receiving is refused, the session is over: the next one registers again.
            _ = run_slots(mail, self.concurrency, stopped(&mut stop), counts) => {
                // Without this the session ends when its time to live is over.
                let _ = agents.leave(token).await;
            }
            _ = keep(Duration::from_millis(self.ttl_ms), beat) => {}
        }
        Ok(())
    }
}

/// A reply that is repeated gets one of these if the first one was executed. Nothing more is
/// known of a live request.
const REPLIED: [&str; 2] = ["message.already_replied", "message.live_over"];

/// Messages as the jobs of a slot.
struct Mail<H> {
    workspace: Workspace,
    handler: Arc<H>,
}

impl<H> Clone for Mail<H> {
    fn clone(&self) -> Self {
        Self { workspace: self.workspace.clone(), handler: Arc::clone(&self.handler) }
    }
}

impl<H, F, R> Jobs for Mail<H>
where
    H: Fn(Message) -> F + Send + Sync + 'static,
    F: Future<Output = Result<R, Setback>> + Send + 'static,
    R: Serialize + Send + 'static,
{
    type Job = Message;

    async fn next(&self) -> Result<Option<Message>, Error> {
        let messages = self.workspace.messages();
        let receiving = messages.receive().wait_ms(WAIT_MS).limit(1).redeliver_ms(REDELIVER_MS);
        Ok(receiving.await?.into_iter().next())
    }

    async fn run(
        &self,
        message: Message,
        stop: &watch::Receiver<bool>,
        counts: &mut Counts,
    ) -> Option<Message> {
        let result = handle((self.handler)(message.clone())).await;
        let is_done = result.is_ok();
        let answered = if message.request.is_some() && !*stop.borrow() {
            self.reply_and_receive(&message, result, stop.clone()).await
        } else {
            answer(&self.workspace, &message, result).await.map(|()| None)
        };
        match (&answered, is_done) {
            (Ok(_), true) => counts.done += 1,
            (Ok(_), false) => counts.failed += 1,
            (Err(_), _) => counts.lost += 1,
        }
        answered.ok().flatten()
    }
}

impl<H> Mail<H> {
    /// Answers a request, and waits for the next message in the same call.
    async fn reply_and_receive(
        &self,
        message: &Message,
        result: Result<Value, Setback>,
        mut stop: watch::Receiver<bool>,
    ) -> Result<Option<Message>, Error> {
        let (messages, id) = (self.workspace.messages(), &message.id);
        let result = result.map_err(Setback::into_error);
        let redeliver_ms = Some(REDELIVER_MS);
        let received = tokio::select! {
            next = messages.reply_and_receive(id, result.as_ref(), WAIT_MS, redeliver_ms) => {
                next.ok()
            }
            () = stopped(&mut stop) => None,
        };
        if let Some(next) = received {
            return Ok(next);
        }
        // The wait has ended, and it is not known whether the reply had been sent: this call finds
        // out.
        match messages.respond(id, &result).await {
            Err(error) if !REPLIED.contains(&error.code()) => Err(error),
            Ok(()) | Err(_) => Ok(None),
        }
    }
}

/// Answers a request with the result of its handler. A message that is not a request is
/// acknowledged if its handler succeeded.
pub(crate) async fn answer(
    workspace: &Workspace,
    message: &Message,
    result: Result<Value, Setback>,
) -> Result<(), Error> {
    let (messages, id) = (workspace.messages(), &message.id);
    match (message.request.is_some(), result) {
        (true, result) => messages.respond(id, &result.map_err(Setback::into_error)).await,
        (false, Ok(_)) => messages.ack(id.as_str()).await,
        (false, Err(_)) => Ok(()),
    }
}
