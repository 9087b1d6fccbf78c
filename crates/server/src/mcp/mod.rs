//! The Model Context Protocol at `/mcp`, and at `/mcp/{workspace}`.
//!
//! ```text
//!   request ──▶ guard, token ──▶ body, within its limits ──▶ baton_mcp ──▶ Workspace
//!                    │                                                       │
//!                    └──────────── Authority of the request ────────▶ GuardedCarrier ──▶ engine
//! ```
//!
//! 1. Every call of a tool is authorised, counted against quotas and scheduled like a call on any
//!    other interface: by the carrier, with the token of its request.
//! 2. The header `Baton-Agent` names the agent; otherwise the token does, then the client.
//! 3. A stream ends with the token that opened it, and when the server stops.

mod metadata;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, Method, Response};
use axum::response::IntoResponse;
use axum::routing::{any, get};
use axum::{Extension, Router};
use baton_client::Workspace;
use baton_core::wire::{Fault, Problem};
use baton_core::{AgentId, WorkspaceName};
use baton_mcp::{HttpService, Requester, SESSIONS_MAX, Toolset, WorkspaceResolver};
use futures_util::StreamExt;
use http_body_util::{BodyExt, Full};

pub(crate) use self::metadata::{challenge, is_public};
use crate::access::Authority;
use crate::guarded_carrier::GuardedCarrier;
use crate::http::{header_text, receive};
use crate::listener::ConnectionSlot;
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::{InboundBytes, Shared};

const AGENT: HeaderName = HeaderName::from_static("baton-agent");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The workspace of `/mcp`.
const WORKSPACE: &str = "default";

/// The routes of the protocol.
pub(crate) fn routes(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let resolver = Arc::new(HttpResolver(Arc::clone(shared)));
    let service = (shared.settings.mcp_service)(resolver, shared.settings.body_bytes_max);
    Router::new()
        .route("/mcp", any(answer))
        .route("/mcp/{workspace}", any(answer))
        .route(metadata::PATH, get(metadata::answer))
        .route("/.well-known/oauth-protected-resource/{*path}", get(metadata::answer))
        .layer(Extension(service))
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    Extension(service): Extension<HttpService>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    let authority = request.extensions().get::<Authority>().cloned().unwrap_or_default();
    let toolset = toolset(request.uri().query().unwrap_or_default())?;
    let begins = !request.headers().contains_key(SESSION) && request.method() == Method::POST;
    if begins && service.is_full().await {
        return Err(Refusal::TooManySessions { max: SESSIONS_MAX }.into());
    }
    let (mut parts, body) = request.into_parts();
    let mut inbound = InboundBytes::new(&shared, authority.sharers(None));
    let body = receive(&shared, &mut inbound, &parts.headers, body).await?;
    parts.extensions.insert(BodyBytes(body.len()));
    let request = Request::from_parts(parts, Full::new(body));
    let response = service.answer(toolset, request).await;
    let (parts, body) = response.into_parts();
    let ended = async move {
        tokio::select! {
            () = authority.ended() => {}
            () = shared.closing.raised() => {}
        }
    };
    let body = Body::from_stream(body.into_data_stream().take_until(Box::pin(ended)));
    Ok(Response::from_parts(parts, body).into_response())
}

/// The toolset of a query such as `toolset=full`.
fn toolset(query: &str) -> Result<Toolset, Refused> {
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("toolset="));
    let Some(asked) = asked else { return Ok(Toolset::Core) };
    Toolset::parse(asked)
        .ok_or_else(|| Refused::from(Fault::field("toolset", "it must be core, full or ops")))
}

/// The size of a request.
#[derive(Clone, Copy)]
struct BodyBytes(usize);

/// The workspace and the agent that an HTTP request names.
struct HttpResolver(Arc<Shared>);

impl WorkspaceResolver for HttpResolver {
    fn workspace(&self, asked: &Requester<'_>) -> Result<Workspace, Problem> {
        let parts = asked.extensions.get::<Parts>();
        let parts = parts.ok_or_else(|| Problem::from(Refusal::NeedsConnection {}))?;
        let authority = parts.extensions.get::<Authority>().cloned().unwrap_or_default();
        let connection = parts.extensions.get::<Arc<ConnectionSlot>>();
        let connection = connection.map_or(0, |slot| slot.number);
        let invalid =
            |field: &str, error: &dyn std::fmt::Display| Problem::from(&Fault::field(field, error));
        let name = parts.uri.path().strip_prefix("/mcp/").unwrap_or(WORKSPACE);
        WorkspaceName::check(name).map_err(|error| invalid("workspace", &error))?;
        let named = header_text(&parts.headers, &AGENT).map_err(|refused| refused.0)?;
        let agent = match (named, authority.agent(), &asked.client) {
            (Some(agent), _, _) => {
                AgentId::of_caller(&agent).map_err(|error| invalid("baton-agent", &error))?
            }
            (None, Some(agent), _) | (None, None, Some(agent)) => agent.clone(),
            (None, None, None) => AgentId::parse("anonymous").expect("it is a good name"),
        };
        let bytes = parts.extensions.get::<BodyBytes>().map_or(0, |bytes| bytes.0);
        let carrier = GuardedCarrier::new(Arc::clone(&self.0), authority, connection, bytes);
        let workspace = Workspace::new(Arc::new(carrier), name);
        let workspace = workspace.and_then(|workspace| workspace.as_agent(agent.as_str()));
        workspace.map_err(|error| Problem::from(&error))
    }
}
