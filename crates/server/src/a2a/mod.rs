//! The A2A protocol at `/a2a/fleet` and `/a2a/agents/{agent}`.
//!
//! ```text
//!   request ──▶ guard, token ──▶ body, version ──▶ baton_a2a ──▶ Workspace
//!                    │                                             │
//!                    └────────── Authority of the request ──▶ GuardedCarrier ──▶ engine
//! ```
//!
//! | below either address | is |
//! |---|---|
//! | `POST` without a path | JSON-RPC |
//! | `message:send`, `tasks`, … | HTTP+JSON |
//! | `{tenant}/message:send`, … | the same in another workspace than `default` |
//! | `.well-known/agent-card.json` | the card |
//!
//! gRPC is at `/lf.a2a.v1.A2AService`.
//!
//! 1. Every operation on the workspace is authorised, counted against quotas and scheduled like a
//!    call on any other interface: by the carrier, with the token of the request.
//! 2. A stream ends with the token that opened it, and when the server stops.
//! 3. The card at `/.well-known/agent-card.json` needs no token; if all else does, it contains
//!    nothing about any workspace.

mod grpc;
mod response;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Response, header};
use axum::routing::{any, get, post};
use baton_a2a::rest::{self, Wanted};
use baton_a2a::{
    Addressee, CARD_PATH, Context, Error, ErrorKind, JsonRpc, Service, Site, check_version,
    extensions_of,
};
use baton_client::Workspace;
use baton_core::{AgentId, Traceparent, WorkspaceName};
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use serde_json::Value;

pub(crate) use self::grpc::{broken_off, is_call, is_grpc, refused_before, workspace_of_call};
use self::response::{Binding, card_response};
use crate::access::Authority;
use crate::guarded_carrier::GuardedCarrier;
use crate::http::{header_text, receive};
use crate::listener::ConnectionSlot;
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::{InboundBytes, Shared};

const AGENT: HeaderName = HeaderName::from_static("baton-agent");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const VERSION: HeaderName = HeaderName::from_static("a2a-version");
const EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// The workspace of requests that name no tenant.
const WORKSPACE: &str = "default";
const FLEET: &str = "/a2a/fleet";
const AGENTS: &str = "/a2a/agents/";

/// The routes of the protocol.
pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/.well-known/agent-card.json", get(fleet_card))
        .route(FLEET, any(answer))
        .route("/a2a/fleet/{*path}", any(answer))
        .route("/a2a/agents/{agent}", any(answer))
        .route("/a2a/agents/{agent}/{*path}", any(answer))
        .route(grpc::PATH, post(grpc::answer))
}

/// Whether a path needs no token although others do.
pub(crate) fn is_public(shared: &Shared, path: &str) -> bool {
    shared.settings.demands_tokens() && path.strip_prefix('/') == Some(CARD_PATH)
}

/// The card of the fleet.
async fn fleet_card(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    let (parts, _) = request.into_parts();
    if is_public(&shared, parts.uri.path()) {
        return card_response(&parts.headers, &site(&shared, &parts.headers).public_card());
    }
    let asked = Asked { parts, body: Bytes::new(), addressee: Addressee::Fleet };
    match asked.card(&shared, None).await {
        Ok(card) => card_response(&asked.parts.headers, &card),
        Err(error) => Binding::HttpJson.refused(&error),
    }
}

/// Scheme, host and port of this server as the caller knows it.
fn site(shared: &Shared, headers: &HeaderMap) -> Site {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let scheme = if shared.settings.tls.is_some() { "https" } else { "http" };
    Site {
        origin: format!("{scheme}://{host}"),
        tokens: shared.settings.demands_tokens(),
        push: shared.settings.webhooks.is_some(),
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    let (parts, body) = request.into_parts();
    let authority = parts.extensions.get::<Authority>().cloned().unwrap_or_default();
    let mut inbound = InboundBytes::new(&shared, authority.sharers(None));
    let body = receive(&shared, &mut inbound, &parts.headers, body).await?;
    let Some((addressee, path)) = addressed(parts.uri.path()) else {
        return Err(Refusal::NotFound {}.into());
    };
    let route = rest::route(parts.method.as_str(), &path);
    let asked = Asked { parts, body, addressee };
    let route = match route {
        Ok(route) => route,
        Err(error) => return Ok(Binding::HttpJson.refused(&error)),
    };
    let tenant = route.tenant.as_deref();
    Ok(match route.wanted {
        Wanted::Card => match asked.card(&shared, tenant).await {
            Ok(card) => card_response(&asked.parts.headers, &card),
            Err(error) => Binding::HttpJson.refused(&error),
        },
        Wanted::JsonRpc => asked.json_rpc(&shared, tenant).await,
        Wanted::Operation(method, path) => {
            let query = asked.parts.uri.query().unwrap_or_default();
            let binding = Binding::HttpJson;
            match rest::params(path, query, &asked.body) {
                Ok(params) => {
                    let params = Value::Object(params);
                    asked.call(&shared, tenant, &binding, Ok(method), params).await
                }
                Err(error) => binding.refused(&error),
            }
        }
    })
}

/// The addressee of a path, and the rest of the path.
fn addressed(path: &str) -> Option<(Addressee, String)> {
    if let Some(rest) = path.strip_prefix(FLEET) {
        return Some((Addressee::Fleet, rest.to_owned()));
    }
    let rest = path.strip_prefix(AGENTS)?;
    let (agent, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let agent = percent_decode_str(agent).decode_utf8().ok()?;
    Some((Addressee::Agent(AgentId::parse(&agent).ok()?), rest.to_owned()))
}

/// A request, with its body.
struct Asked {
    parts: Parts,
    body: Bytes,
    addressee: Addressee,
}

impl Asked {
    async fn json_rpc(&self, shared: &Arc<Shared>, tenant: Option<&str>) -> Response<Body> {
        match JsonRpc::parse(&self.body) {
            Ok(JsonRpc { id, method, params }) => {
                let binding = Binding::JsonRpc(id);
                self.call(shared, tenant, &binding, method, params).await
            }
            Err((id, error)) => Binding::JsonRpc(id).refused(&error),
        }
    }

    async fn card(&self, shared: &Arc<Shared>, tenant: Option<&str>) -> Result<Value, Error> {
        self.service(shared, tenant)?.card(tenant).await
    }

    async fn call(
        &self,
        shared: &Arc<Shared>,
        tenant: Option<&str>,
        binding: &Binding,
        method: Result<baton_a2a::Method, Error>,
        params: Value,
    ) -> Response<Body> {
        let prepare = || {
            self.check_head(binding)?;
            let named = params.get("tenant").and_then(Value::as_str);
            let named = named.filter(|tenant| !tenant.is_empty());
            if let (Some(path), Some(named)) = (tenant, named)
                && path != named
            {
                return Err(Error::invalid("tenant", &"the path names another one"));
            }
            Ok((self.service(shared, tenant.or(named))?, method?))
        };
        let context = self.context();
        let outcome = match prepare() {
            Ok((service, method)) => {
                let workspace = service.workspace.name().clone();
                let called = service.call(method, params, &context).await;
                called.map(|outcome| (outcome, workspace))
            }
            Err(error) => Err(error),
        };
        let mut response = match outcome {
            Ok((outcome, workspace)) => {
                let authority = self.authority();
                binding.answered(shared, &workspace, authority, outcome)
            }
            Err(error) => binding.refused(&error),
        };
        let ours = baton_a2a::TRANSFER_CONTEXT;
        if context.extensions.iter().any(|uri| uri == ours) {
            response.headers_mut().insert(EXTENSIONS, header::HeaderValue::from_static(ours));
        }
        response
    }

    fn texts(&self, name: &HeaderName) -> Vec<String> {
        let values = self.parts.headers.get_all(name).iter();
        values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    }

    /// The version, and the type of the body.
    fn check_head(&self, binding: &Binding) -> Result<(), Error> {
        let mut versions = self.texts(&VERSION);
        let query = self.parts.uri.query().unwrap_or_default();
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let named = pairs.filter(|(name, _)| name.eq_ignore_ascii_case(VERSION.as_str()));
        versions.extend(named.map(|(_, version)| version.to_owned()));
        check_version(&versions)?;
        let kinds = self.texts(&header::CONTENT_TYPE);
        let kind = kinds.first().map(String::as_str).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            kind if matches!(binding, Binding::Grpc(_)) && is_grpc(kind) => Ok(()),
            "application/json" | "application/a2a+json" => Ok(()),
            "" if self.body.is_empty() => Ok(()),
            _ => {
                let message = "send `content-type: application/json`, or that of gRPC to gRPC";
                Err(Error::new(ErrorKind::ContentTypeNotSupported, message))
            }
        }
    }

    fn context(&self) -> Context {
        let traceparent = self.texts(&TRACEPARENT);
        let traceparent = match &*traceparent {
            [one] => Traceparent::parse(one).ok(),
            _ => None,
        };
        Context { extensions: extensions_of(&self.texts(&EXTENSIONS)), traceparent }
    }

    fn authority(&self) -> Authority {
        self.parts.extensions.get::<Authority>().cloned().unwrap_or_default()
    }

    /// The protocol on the workspace that is the tenant, as the agent that asks.
    fn service(&self, shared: &Arc<Shared>, tenant: Option<&str>) -> Result<Service, Error> {
        let authority = self.authority();
        let name = tenant.unwrap_or(WORKSPACE);
        WorkspaceName::check(name).map_err(|error| Error::invalid("tenant", &error))?;
        let headers = &self.parts.headers;
        let named = header_text(headers, &AGENT).map_err(|refused| Error::from(refused.0))?;
        let agent = match (named, authority.agent()) {
            (Some(agent), _) => AgentId::of_caller(&agent)
                .map_err(|error| Error::invalid(AGENT.as_str(), &error))?,
            (None, Some(agent)) => agent.clone(),
            (None, None) => AgentId::parse("anonymous").expect("it is a good name"),
        };
        let connection = self.parts.extensions.get::<Arc<ConnectionSlot>>();
        let connection = connection.map_or(0, |slot| slot.number);
        let bytes = self.body.len();
        let carrier = GuardedCarrier::new(Arc::clone(shared), authority, connection, bytes);
        let workspace = Workspace::new(Arc::new(carrier), name)?.as_agent(agent.as_str())?;
        let (addressee, site) = (self.addressee.clone(), site(shared, headers));
        Ok(Service { workspace, addressee, site })
    }
}
