//! The fast path for the most frequent HTTP requests: one entry, by its path.
//!
//! ```text
//!   GET, PUT /v1/{workspace}/state/{namespace}/{key}
//!        │
//!        ├── only the usual headers, permitted ────────▶ the engine's fast path ──▶ answer
//!        └── anything else, or the engine declines ──▶ the router
//! ```
//!
//! Routes, extractors and fields cost several times as much as the access to the entry. The
//! decision depends on the request head alone: any header that could matter selects the router, and
//! so does an escape in the path. The results are the same on both paths, including errors; the
//! tests compare them.

use std::ops::ControlFlow;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, Response, header};
use axum::response::IntoResponse;
use baton::error::Error;
use baton_core::wire::FastCall;
use baton_core::{AgentId, Answer, FastSet, Json, WorkspaceName};

use super::request_context::{AGENT, HttpAnswer, IDEMPOTENCY_KEY, receive};
use crate::access::Authority;
use crate::problem::Refused;
use crate::server_log::{Level, Timed, operation_fields};
use crate::shared::{InboundBytes, Shared};

/// Answers a request if the fast path applies, otherwise returns it for the router.
pub(super) async fn answer(
    shared: &Arc<Shared>,
    connection: u64,
    authority: &Authority,
    request: Request<Body>,
) -> ControlFlow<Response<Body>, Request<Body>> {
    let Some((workspace, agent)) = Target::of(&request).and_then(|target| target.names(authority))
    else {
        return ControlFlow::Continue(request);
    };
    // If every operation is logged, the general path is used.
    if shared.settings.server_log.wants(Level::Debug) {
        return ControlFlow::Continue(request);
    }
    let (parts, body) = request.into_parts();
    let mut receiving = InboundBytes::new(shared, authority.sharers(Some(&workspace)));
    let body = match receive(shared, &mut receiving, &parts.headers, body).await {
        Ok(body) => body,
        Err(refused) => return ControlFlow::Break(refused.into_response()),
    };
    shared.fairness.enter(&workspace, body.len()).await;
    let (_, namespace, key) = path_parts(parts.uri.path()).expect("it was just looked at");
    let idempotency_key = parts.headers.get(&IDEMPOTENCY_KEY).and_then(|key| key.to_str().ok());
    let is_set = parts.method == Method::PUT;
    let answer = match call_of(is_set, (namespace, key), &body, idempotency_key) {
        Some(call) => {
            let entry =
                EntryRequest { workspace: &workspace, agent: &agent, call, bytes: body.len() };
            entry.answer(shared, connection, authority).await
        }
        None => None,
    };
    match answer {
        Some(Ok(answer)) => ControlFlow::Break(HttpAnswer(answer, None).into_response()),
        Some(Err(error)) => ControlFlow::Break(Refused::from(error).into_response()),
        None => ControlFlow::Continue(Request::from_parts(parts, Body::from(body))),
    }
}

/// The call of a request for an entry. None if the general path has to report something.
pub(super) fn call_of<'a>(
    is_set: bool,
    (namespace, key): (&'a str, &'a str),
    body: &'a [u8],
    idempotency_key: Option<&'a str>,
) -> Option<FastCall<'a>> {
    if !is_set {
        return body.is_empty().then_some(FastCall::Get { namespace, key });
    }
    let value = Json::checked_slice(body).ok()?;
    let (expected_version, is_minimal) = (None, false);
    let set = FastSet { namespace, key, value, expected_version, idempotency_key, is_minimal };
    Some(FastCall::Set(set))
}

/// A request for an entry.
pub(super) struct EntryRequest<'a> {
    pub(super) workspace: &'a WorkspaceName,
    pub(super) agent: &'a AgentId,
    pub(super) call: FastCall<'a>,
    /// The length of its body.
    pub(super) bytes: usize,
}

impl EntryRequest<'_> {
    /// Answers it, if it is permitted and the fast path applies; if not, nothing has happened.
    pub(super) async fn answer(
        &self,
        shared: &Shared,
        connection: u64,
        authority: &Authority,
    ) -> Option<Result<Answer, Error>> {
        let Self { workspace, agent, call, bytes } = self;
        let charge = authority.permits_fast(workspace, agent, call, *bytes)?;
        let held = shared.baton.fast_call(workspace, call, agent)?;
        charge.pay();
        let timed = Timed::begin(&shared.settings);
        let answer = match shared.baton.wait_durable(held.group()).await {
            Ok(durable) => held.open(durable).map_err(Error::Rejected),
            Err(error) => Err(error),
        };
        if timed.is_slow() {
            let name = match call {
                FastCall::Set(_) => "state.set",
                FastCall::Get { .. } => "state.get",
            };
            timed.log_slow(&operation_fields(connection, workspace, agent, name));
        }
        Some(answer)
    }
}

/// The requested entry, and the agent.
struct Target<'a> {
    workspace: &'a str,
    /// If a header names it.
    agent: Option<&'a str>,
}

impl<'a> Target<'a> {
    /// Parses the head of a request, if the fast path applies.
    fn of(request: &'a Request<Body>) -> Option<Self> {
        let has_body = match *request.method() {
            Method::GET => false,
            Method::PUT => true,
            _ => return None,
        };
        if request.uri().query().is_some() {
            return None;
        }
        let (workspace, ..) = path_parts(request.uri().path())?;
        Some(Self { workspace, agent: agent(request.headers(), has_body)? })
    }

    fn names(&self, authority: &Authority) -> Option<(WorkspaceName, AgentId)> {
        let agent = match self.agent {
            Some(agent) => AgentId::of_caller(agent).ok()?,
            None => authority.acting_agent(),
        };
        Some((WorkspaceName::parse(self.workspace).ok()?, agent))
    }
}

/// Workspace, namespace and key of a path without escapes.
pub(super) fn path_parts(path: &str) -> Option<(&str, &str, &str)> {
    let (workspace, rest) = path.strip_prefix("/v1/")?.split_once('/')?;
    let (namespace, key) = rest.strip_prefix("state/")?.split_once('/')?;
    let is_plain = !key.is_empty() && !path.contains('%');
    is_plain.then_some((workspace, namespace, key))
}

/// The agent that is named, if no other header matters. The token was checked before.
#[expect(clippy::option_option, reason = "whether the fast path applies, and the agent if named")]
fn agent(headers: &HeaderMap, has_body: bool) -> Option<Option<&str>> {
    let (mut agent, mut kind, mut idempotency_key) = (None, None, None);
    for (name, value) in headers {
        let slot = match *name {
            header::HOST | header::USER_AGENT | header::ACCEPT | header::ACCEPT_ENCODING => {
                continue;
            }
            header::AUTHORIZATION | header::CONNECTION | header::CONTENT_LENGTH => continue,
            header::CONTENT_TYPE => &mut kind,
            ref name if *name == AGENT => &mut agent,
            ref name if *name == IDEMPOTENCY_KEY && has_body => &mut idempotency_key,
            _ => return None,
        };
        // A repeated header is an error, which the router reports.
        if slot.replace(value.to_str().ok()?).is_some() {
            return None;
        }
    }
    let is_json = kind.is_none_or(|kind| has_body && kind == "application/json");
    is_json.then_some(agent)
}
