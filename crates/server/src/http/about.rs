//! Information about the server itself.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use baton::metrics::MetricsSnapshot;
use baton_core::access::Permission;

use super::request_context::{json, json_line};
use super::tokens;
use crate::cluster::{DRAIN, UNDRAIN, status_of_one};
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::{Doors, Shared};
use crate::{metrics, openapi};

/// The process is alive, and this is its version.
pub(crate) const HEALTH: &str = concat!(
    "{\"status\":\"ok\",\"version\":\"",
    env!("CARGO_PKG_VERSION"),
    "\",\"role\":\"leader\"}"
);
/// The same for one of several servers that share the data.
pub(crate) const MEMBER_HEALTH: &str = concat!(
    "{\"status\":\"ok\",\"version\":\"",
    env!("CARGO_PKG_VERSION"),
    "\",\"role\":\"member\"}"
);

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/healthz", get(async || json(HEALTH)))
        .route("/readyz", get(ready))
        .route("/metrics", get(measured))
        .route("/v1/access/cluster", get(alone))
        .route(DRAIN, post(async |request: Request| undrainable(&request, "cluster.drain")))
        .route(UNDRAIN, post(async |request: Request| undrainable(&request, "cluster.undrain")))
        .route("/openapi.json", get(async || json_line(openapi::text())))
}

/// Whether requests are served: not after a disk failure, and not during shutdown. A server whose
/// disk is nearly full is ready for reads, and reports that it is read-only.
async fn ready(State(shared): State<Arc<Shared>>) -> Result<Response<Body>, Refused> {
    readiness([&*shared])
}

/// The same for all engines of a server.
pub(crate) fn readiness<'a>(
    engines: impl IntoIterator<Item = &'a Shared>,
) -> Result<Response<Body>, Refused> {
    let mut low = None;
    for shared in engines {
        shared.baton.check_serving()?;
        if shared.closing.is_raised() {
            return Err(Refusal::Closing {}.into());
        }
        low = low.or(shared.baton.check_disk_space().err());
    }
    let readiness = match low {
        None => serde_json::json!({"status": "ready"}),
        Some(low) => serde_json::json!({"status": "read_only", "detail": low.to_string()}),
    };
    Ok(json(readiness.to_string().into_bytes()))
}

/// Metrics are about all workspaces, so a token that is limited to some does not suffice.
async fn measured(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    tokens::admitted(&request, Permission::Read, "metrics")?;
    Ok(metrics_page(&shared, &shared.baton.metrics().await?, 1))
}

/// One server has everything.
async fn alone(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    tokens::admitted(&request, Permission::Read, "cluster.status")?;
    let scheme = if shared.settings.tls.is_some() { "https" } else { "http" };
    let status = status_of_one(format!("{scheme}://{}", shared.settings.listen));
    Ok(json(serde_json::to_vec(&status).expect("it can be encoded")))
}

/// It cannot give to others what they do not have.
fn undrainable(request: &Request, operation: &str) -> Result<Response<Body>, Refused> {
    tokens::admitted(request, Permission::Administer, operation)?;
    Err(Refusal::Alone {}.into())
}

/// The metrics of a server that has this many shards.
pub(crate) fn metrics_page(
    doors: &Doors,
    counted: &MetricsSnapshot,
    shards: usize,
) -> Response<Body> {
    let text = doors.metrics.text(counted, &doors.access.denials.totals(), shards);
    let mut response = text.into_response();
    let kind = HeaderValue::from_static(metrics::CONTENT_TYPE);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
