//! Plain requests, answered without the HTTP library.
//!
//! ```text
//!   received ──▶ a plain request ── the engine's fast path ──▶ answer ─┐
//!      ▲     │                   └─ it declines ──▶ router ──▶ answer ─┤
//!      │     └▶ anything else ──▶ the HTTP library, from here on       │
//!      └───────────────────────────────────────────────────────────────┘
//! ```
//!
//! A message of the HTTP library costs several times as much as the access to an entry: a map of
//! headers, a body that is received through a channel, two timers, and the task of the connection
//! is served three times. A plain request has all that matters in its first bytes.
//!
//! 1. Plain requests and others have the same checks and limits, and the same answers: the tests
//!    compare them.
//! 2. A connection begins here and is handed over at most once, with the bytes of the request that
//!    is not plain. Requests are answered in their order, and none of them twice.
//! 3. A head that is not complete has the deadline of a head here too. A body that is not complete
//!    is left to the library.
//! 4. An idle connection has no buffer.

mod inbox;
mod request;
mod response;

use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::response::IntoResponse;
use baton::error::Error;
use baton_core::{AgentId, Answer, WorkspaceName};
use tokio::io::AsyncWriteExt;
use tokio::task::yield_now;

use super::fast_path::{EntryRequest, call_of};
use crate::access::Authority;
use crate::deadline_stream::DeadlineStream;
use crate::listener::ConnectionSlot;
use crate::metrics::Transport;
use crate::problem::Refused;
use crate::server_log::Level;
use crate::shared::Shared;
use inbox::{Inbox, Woken};
use request::{PlainRequest, ReceivedRequest};

/// One connection, and what its last request has told about the caller: the next one usually tells
/// the same.
pub(crate) struct PlainConnection<'a> {
    shared: &'a Arc<Shared>,
    router: &'a Router,
    slot: &'a Arc<ConnectionSlot>,
    caller: Option<Caller>,
}

/// The caller of a request.
struct Caller {
    /// What the request has sent for it.
    authorization: Option<String>,
    names_agent: bool,
    authority: Authority,
    agent: AgentId,
    workspace: WorkspaceName,
}

impl Caller {
    fn is_of(&self, request: &PlainRequest<'_>) -> bool {
        let agent = self.names_agent.then(|| self.agent.as_str());
        self.authorization.as_deref() == request.headers.authorization
            && agent == request.headers.agent
            && self.workspace.as_str() == request.workspace
    }
}

impl<'a> PlainConnection<'a> {
    pub(crate) fn new(
        shared: &'a Arc<Shared>,
        router: &'a Router,
        slot: &'a Arc<ConnectionSlot>,
    ) -> Self {
        Self { shared, router, slot, caller: None }
    }

    /// Answers plain requests, until something else arrives: then its bytes are returned. None if
    /// the connection has ended.
    pub(crate) async fn serve(
        mut self,
        stream: &mut DeadlineStream,
        first: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let shared = self.shared;
        // If every operation is logged, the general path is used.
        if shared.settings.server_log.wants(Level::Debug) {
            return Some(first);
        }
        let mut closing = pin!(shared.closing.raised());
        let mut inbox = Inbox::new(first, &shared.settings);
        loop {
            let (length, response) = match inbox.received() {
                ReceivedRequest::Plain(request) => {
                    (request.bytes.len(), self.answer(&request).await)
                }
                ReceivedRequest::Partial => match inbox.receive(stream, closing.as_mut()).await {
                    Woken::Received => continue,
                    Woken::Broken => return None,
                    Woken::Gone | Woken::Closing if inbox.is_empty() => {
                        let _ = stream.shutdown().await;
                        return None;
                    }
                    Woken::Gone | Woken::Closing => return Some(inbox.take()),
                },
                ReceivedRequest::Other => return Some(inbox.take()),
            };
            let Some(response) = response else { return Some(inbox.take()) };
            stream.write_all(&response).await.ok()?;
            if shared.closing.is_raised() {
                let _ = stream.shutdown().await;
                return None;
            }
            inbox.answered(length);
            if !inbox.is_empty() {
                // Others are served between the requests of one peer.
                yield_now().await;
            }
        }
    }

    /// The response to a request; none if only the library can tell.
    async fn answer(&mut self, request: &PlainRequest<'_>) -> Option<Vec<u8>> {
        let (shared, slot) = (self.shared, self.slot);
        let response = match self.answer_fast(request).await {
            Some(Ok(answer)) => {
                shared.metrics.answered(Transport::Http, None);
                return Some(response::of_answer(answer, shared.closing.is_raised()).await);
            }
            Some(Err(error)) => {
                let response = Refused::from(error).into_response();
                super::count(shared, slot, &response);
                response
            }
            None => {
                // It may be the reason.
                self.caller = None;
                let request = request.to_request()?;
                // Boxed, since it would make every connection larger.
                Box::pin(super::answer_received(shared, self.router, slot, request)).await
            }
        };
        Some(response::of_response(response, shared.closing.is_raised()).await)
    }

    /// Answers a request if the fast path applies; if not, nothing has happened.
    async fn answer_fast(&mut self, request: &PlainRequest<'_>) -> Option<Result<Answer, Error>> {
        let (shared, slot) = (self.shared, self.slot);
        if !request.headers.host.is_some_and(|host| shared.hosts.accepts(host)) {
            return None;
        }
        if !self.caller.as_ref().is_some_and(|caller| caller.is_of(request)) {
            self.caller = Some(self.identify(request)?);
        }
        let Caller { authority, agent, workspace, .. } = self.caller.as_ref()?;
        authority.admit_connection(&slot.quota_guard).ok()?;
        let (body, headers) = (request.body, &request.headers);
        shared.fairness.enter(workspace, body.len()).await;
        let entry = (request.namespace, request.key);
        let call = call_of(request.is_set, entry, body, headers.idempotency_key)?;
        let bytes = body.len();
        EntryRequest { workspace, agent, call, bytes }.answer(shared, slot.number, authority).await
    }

    fn identify(&self, request: &PlainRequest<'_>) -> Option<Caller> {
        let (shared, authorization) = (self.shared, request.headers.authorization);
        let authority = shared.access.authenticate_by(authorization, self.slot.from)?;
        let authority = authority.at(shared.place);
        let agent = match request.headers.agent {
            Some(agent) => AgentId::of_caller(agent).ok()?,
            None => authority.acting_agent(),
        };
        Some(Caller {
            authorization: authorization.map(str::to_owned),
            names_agent: request.headers.agent.is_some(),
            authority,
            agent,
            workspace: WorkspaceName::parse(request.workspace).ok()?,
        })
    }
}
