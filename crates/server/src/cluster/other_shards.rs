//! The messages of a WebSocket for other shards than that of its engine.
//!
//! ```text
//!   client ──▶ connection ── its own shard ─────▶ engine
//!                   └─────── other shards ──▶ relay ──▶ their owners
//! ```
//!
//! Most connections use one workspace, whose engine serves them without a relay. The first message
//! for another shard opens one, which is the client of the owners as for any other WebSocket.

use std::sync::Arc;
use std::task::{Context, Poll};

use axum::http::{HeaderMap, Request};
use tokio::sync::mpsc;

use super::forward::of_request;
use super::front::{Front, is_forwarded};
use super::relay::{Given, OUTPUT_MAX, Relay};
use super::{ShardSlot, shard_of};
use crate::shared::Shared;
use crate::ws::format::Format;
use crate::ws::framing::Opcode;

/// The connections to the other shards.
pub(crate) struct OtherShards {
    front: Arc<Front>,
    format: Format,
    /// The headers of the client's request, which every owner is shown.
    headers: HeaderMap,
    place: ShardSlot,
    /// The last workspace that was found in another shard, which is usually the next one too.
    last: Option<Box<str>>,
    /// Messages that are not passed on yet.
    pending: Vec<Given>,
    link: Option<Link>,
}

/// The two ends of a relay.
struct Link {
    given: mpsc::Sender<Vec<Given>>,
    output: mpsc::Receiver<Vec<u8>>,
}

/// The relay has ended, since an owner has closed its connection.
pub(crate) struct RelayEnded;

impl OtherShards {
    /// None if the engine has everything, or the connection is one of a relay.
    pub(crate) fn of<B>(
        shared: &Shared,
        request: &Request<B>,
        format: Format,
    ) -> Option<Box<Self>> {
        let place = shared.place.filter(|_| !is_forwarded(request))?;
        let front = shared.cluster.get()?.upgrade()?;
        let headers = of_request(request.headers());
        let (last, pending, link) = (None, Vec::new(), None);
        Some(Box::new(Self { front, format, headers, place, last, pending, link }))
    }

    /// Whether a workspace is in another shard.
    pub(crate) fn have(&mut self, workspace: &str) -> bool {
        if self.last.as_deref() == Some(workspace) {
            return true;
        }
        let is_there = shard_of(workspace, self.place.shards) != self.place.shard;
        if is_there {
            self.last = Some(workspace.into());
        }
        is_there
    }

    /// Whether there were messages for other shards.
    pub(crate) fn are_used(&self) -> bool {
        self.link.is_some() || !self.pending.is_empty()
    }

    /// Adds a message to those that are passed on next.
    pub(crate) fn add(&mut self, opcode: Opcode, payload: &[u8]) {
        self.pending.push(Given { opcode, payload: payload.to_vec() });
    }

    /// Passes on what was added. If there is output that must be sent before, it is returned, and
    /// this has to be called again: the relay must not wait for its output to be taken.
    pub(crate) async fn pass(&mut self) -> Result<Option<Vec<u8>>, RelayEnded> {
        if self.pending.is_empty() {
            return Ok(None);
        }
        let (front, format, headers) = (&self.front, self.format, &self.headers);
        let link = self.link.get_or_insert_with(|| open(front, format, headers.clone()));
        tokio::select! {
            biased;
            output = link.output.recv() => output.map(Some).ok_or(RelayEnded),
            permit = link.given.reserve() => {
                permit.map_err(|_| RelayEnded)?.send(std::mem::take(&mut self.pending));
                Ok(None)
            }
        }
    }

    /// The next output of the owners.
    pub(crate) fn poll_output(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Vec<u8>, RelayEnded>> {
        let Some(link) = &mut self.link else { return Poll::Pending };
        link.output.poll_recv(context).map(|output| output.ok_or(RelayEnded))
    }
}

fn open(front: &Arc<Front>, format: Format, headers: HeaderMap) -> Link {
    // One list of messages is being passed on while the next one is received.
    let (given, taken) = mpsc::channel(1);
    let (output, passed) = mpsc::channel(OUTPUT_MAX);
    let (relay, any_ended) = Relay::new(Arc::clone(front), format, headers, output);
    tokio::spawn(run(relay, taken, any_ended));
    Link { given, output: passed }
}

/// Passes messages on until the client is gone, or an owner.
async fn run(
    mut relay: Relay,
    mut given: mpsc::Receiver<Vec<Given>>,
    mut any_ended: mpsc::Receiver<()>,
) {
    loop {
        let messages = tokio::select! {
            messages = given.recv() => messages,
            _ = any_ended.recv() => None,
        };
        let Some(messages) = messages else { return };
        for message in &messages {
            if relay.pass(message).await.is_err() {
                return;
            }
        }
        if relay.flush().await.is_err() {
            return;
        }
    }
}
