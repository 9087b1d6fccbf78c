//! HTTP: a route for every operation, and routes that are not operations.
//!
//! | file             | serves                                                         |
//! |------------------|----------------------------------------------------------------|
//! | `commands`       | commands by name, one or many, and transactions                |
//! | `operations`     | the same as resources: a path for every operation              |
//! | `artifacts` …    | raw bytes                                                      |
//! | `fast_path`      | one entry by its path, without the router                      |
//! | `plain`          | the same without the HTTP library, where nothing else is sent  |
//! | `watch`          | events as they happen, as Server-Sent Events                   |
//! | `about`          | health, readiness, metrics, the `OpenAPI` document             |
//! | `documents`      | `llms.txt` and the documentation                               |
//! | `dashboard`      | the files of the dashboard                                     |
//!
//! The table of operations defines the method and path of each, and where its fields come from.

mod about;
mod artifacts;
mod backups;
mod commands;
#[cfg(feature = "ui")]
mod dashboard;
mod document_page;
mod documents;
mod fast_path;
mod operations;
mod parcels;
mod plain;
mod preference;
mod range;
mod request_context;
mod secrets;
mod tokens;
mod unread_body;
mod watch;

use std::ops::ControlFlow;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
#[cfg(feature = "mcp")]
use axum::http::StatusCode;
use axum::http::{Request, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::{StreamExt, stream};

use hyper::body::{Body as _, Incoming};
use tower_service::Service;

use crate::access::Authority;
use crate::listener::ConnectionSlot;
use crate::metrics::Transport;
use crate::problem::{RefusalLabel, Refused};
use crate::refusal::Refusal;
use crate::shared::{Doors, Shared};
use crate::ws;
use unread_body::UnreadBody;

pub(crate) use about::{HEALTH, MEMBER_HEALTH, metrics_page, readiness};
pub(crate) use backups::backup_response;
pub(crate) use parcels::{PIECE_BYTES, PIECES_WAITING, Received, Sending};
pub(crate) use plain::PlainConnection;
pub(crate) use request_context::json;

#[cfg(any(feature = "a2a", feature = "mcp"))]
pub(crate) use request_context::{header_text, receive};

/// Every route.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let routes = Router::new();
    #[cfg(feature = "ui")]
    let routes = routes.merge(dashboard::routes());
    #[cfg(feature = "a2a")]
    let routes = routes.merge(crate::a2a::routes());
    #[cfg(feature = "mcp")]
    let routes = routes.merge(crate::mcp::routes(&shared));
    routes
        .merge(about::routes())
        .merge(documents::routes())
        .merge(commands::routes())
        .merge(operations::routes())
        .merge(artifacts::routes())
        .merge(secrets::routes())
        .merge(parcels::routes())
        .merge(tokens::routes())
        .merge(backups::routes())
        .merge(watch::routes())
        .route("/v1/ws", get(ws::open))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(shared)
}

/// Answers a request, if it is accepted. Not a layer of the router: those cost one or two
/// allocations per request.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    router: &Router,
    slot: &Arc<ConnectionSlot>,
    request: Request<Incoming>,
) -> Response {
    #[cfg(feature = "a2a")]
    let is_grpc = crate::a2a::is_call(&request);
    #[cfg(feature = "mcp")]
    let challenge = crate::mcp::challenge(shared, &request);
    let admission = admit(shared, slot, &request);
    let (request, unread) = UnreadBody::of(request);
    let mut response = match admission {
        Ok(authority) => while_valid(shared, router, slot, authority, request).await,
        Err(refusal) => {
            drop(request);
            Refused::from(refusal).into_response()
        }
    };
    #[cfg(feature = "mcp")]
    if let (StatusCode::UNAUTHORIZED, Some(challenge)) = (response.status(), challenge) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    #[cfg(feature = "a2a")]
    if is_grpc {
        response = crate::a2a::refused_before(response);
    }
    unread.settle(&mut response, shared.settings.body_deadline);
    count(shared, slot, &response);
    response
}

/// Answers a request whose body has been received already.
pub(crate) async fn answer_received(
    shared: &Arc<Shared>,
    router: &Router,
    slot: &Arc<ConnectionSlot>,
    request: Request<Body>,
) -> Response {
    #[cfg(feature = "a2a")]
    let is_grpc = crate::a2a::is_call(&request);
    let response = match admit(shared, slot, &request) {
        Ok(authority) => while_valid(shared, router, slot, authority, request).await,
        Err(refusal) => Refused::from(refusal).into_response(),
    };
    #[cfg(feature = "a2a")]
    let response = if is_grpc { crate::a2a::refused_before(response) } else { response };
    count(shared, slot, &response);
    response
}

/// Refuses a request by its head, whose body is not read.
pub(crate) fn refuse(
    doors: &Doors,
    slot: &ConnectionSlot,
    request: Request<Incoming>,
    refusal: Refusal,
) -> Response {
    #[cfg(feature = "a2a")]
    let is_grpc = crate::a2a::is_call(&request);
    let (request, unread) = UnreadBody::of(request);
    drop(request);
    let mut response = Refused::from(refusal).into_response();
    #[cfg(feature = "a2a")]
    if is_grpc {
        response = crate::a2a::refused_before(response);
    }
    unread.settle(&mut response, doors.settings.body_deadline);
    count(doors, slot, &response);
    response
}

fn count(doors: &Doors, slot: &ConnectionSlot, response: &Response) {
    let outcome = response.extensions().get::<RefusalLabel>();
    doors.metrics.answered(Transport::Http, outcome.map(|outcome| outcome.kind));
    if let Some(outcome) = outcome {
        doors.refused(slot.number, &outcome.code);
    }
}

/// Answers a request, as long as the caller's token is good: a call that waits and a body that is
/// still being sent end with it.
async fn while_valid(
    shared: &Arc<Shared>,
    router: &Router,
    slot: &Arc<ConnectionSlot>,
    authority: Authority,
    request: Request<Body>,
) -> Response {
    if !authority.can_end() {
        return admitted(shared, router, slot, authority, request).await;
    }
    let token = authority.clone();
    tokio::select! {
        biased;
        response = admitted(shared, router, slot, authority, request) => {
            ending_with(token.clone(), response)
        }
        () = token.ended() => Refused::from(Refusal::BadToken {}).into_response(),
    }
}

/// The response; a long body, such as a download, breaks off when the token ends. Watches end by
/// themselves, after a whole event.
fn ending_with(token: Authority, response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_watch = kind.is_some_and(is_stream_of_updates);
    if is_watch || response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| {
        let ended = Box::pin(async move { token.ended().await });
        let state = Some((body.into_data_stream(), ended));
        Body::from_stream(stream::unfold(state, |state| async move {
            let (mut pieces, mut ended) = state?;
            tokio::select! {
                biased;
                () = &mut ended => {
                    let reason = std::io::Error::other("the token is not valid any more");
                    Some((Err(axum::Error::new(reason)), None))
                }
                piece = pieces.next() => piece.map(|piece| (piece, Some((pieces, ended)))),
            }
        }))
    })
}

/// Whether answers of this media type end by themselves when the token does.
fn is_stream_of_updates(media_type: &str) -> bool {
    #[cfg(feature = "a2a")]
    if crate::a2a::is_grpc(media_type) {
        return true;
    }
    media_type == "text/event-stream"
}

async fn admitted(
    shared: &Arc<Shared>,
    router: &Router,
    slot: &Arc<ConnectionSlot>,
    authority: Authority,
    request: Request<Body>,
) -> Response {
    let mut request = match fast_path::answer(shared, slot.number, &authority, request).await {
        ControlFlow::Break(response) => return response,
        ControlFlow::Continue(request) => request,
    };
    request.extensions_mut().insert(Arc::clone(slot));
    request.extensions_mut().insert(authority);
    match router.clone().call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Checks that the request names this server, and authenticates the caller.
fn admit<B: hyper::body::Body>(
    shared: &Shared,
    slot: &ConnectionSlot,
    request: &Request<B>,
) -> Result<Authority, Refusal> {
    // Health checks call the server by any name.
    let path = request.uri().path();
    if !matches!(path, "/healthz" | "/readyz") {
        shared.hosts.check_request(request.uri(), request.headers())?;
    }
    if is_public(shared, path) {
        return Ok(Authority::default());
    }
    let authority = shared.access.authenticate(request, Some(slot.from))?.at(shared.place);
    authority.admit_connection(&slot.quota_guard)?;
    body_is_plain(request)?;
    Ok(authority)
}

/// Checks that a body is sent as it is: a compressed one would be stored compressed, as if it were
/// the value.
pub(crate) fn body_is_plain<B: hyper::body::Body>(request: &Request<B>) -> Result<(), Refusal> {
    if request.body().is_end_stream() {
        return Ok(());
    }
    let is_plain = |given: &str| {
        let mut encodings = given.split(',').map(str::trim);
        encodings.all(|encoding| encoding.is_empty() || encoding.eq_ignore_ascii_case("identity"))
    };
    for given in request.headers().get_all(header::CONTENT_ENCODING) {
        let given = String::from_utf8_lossy(given.as_bytes());
        if !is_plain(&given) {
            let given = given.chars().take(80).collect();
            return Err(Refusal::UnsupportedEncoding { given });
        }
    }
    Ok(())
}

/// Whether a path needs no token: health checks have none, nor has a browser that loads the page in
/// which the token is entered, nor an agent that looks for the card of this server. Documentation
/// is the same on every server.
fn is_public(shared: &Shared, path: &str) -> bool {
    #[cfg(feature = "a2a")]
    if crate::a2a::is_public(shared, path) {
        return true;
    }
    #[cfg(not(feature = "a2a"))]
    let _ = shared;
    #[cfg(feature = "mcp")]
    if crate::mcp::is_public(path) {
        return true;
    }
    #[cfg(feature = "ui")]
    if dashboard::is_public(path) {
        return true;
    }
    matches!(path, "/healthz" | "/readyz" | "/openapi.json") || documents::is_public(path)
}

async fn not_found() -> Refused {
    Refusal::NotFound {}.into()
}

async fn method_not_allowed() -> Refused {
    Refusal::MethodNotAllowed {}.into()
}
