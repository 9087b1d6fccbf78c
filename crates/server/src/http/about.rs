//! Information about the server itself.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, header};
use axum::response::IntoResponse;
use axum::routing::get;
use baton_core::access::Permission;

use super::request_context::json;
use super::tokens;
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::Shared;
use crate::{metrics, openapi};

/// The process is alive, and this is its version.
const HEALTH: &str = concat!(
    "{\"status\":\"ok\",\"version\":\"",
    env!("CARGO_PKG_VERSION"),
    "\",\"role\":\"leader\"}"
);
/// The same for a standby.
pub(crate) const STANDBY_HEALTH: &str = concat!(
    "{\"status\":\"ok\",\"version\":\"",
    env!("CARGO_PKG_VERSION"),
    "\",\"role\":\"standby\"}"
);

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/healthz", get(async || json(HEALTH)))
        .route("/readyz", get(ready))
        .route("/metrics", get(measured))
        .route("/openapi.json", get(async || json(openapi::text())))
        .route("/docs/errors", get(async || openapi::errors()))
}

/// Whether requests are served: not after a disk failure, and not during shutdown. A server whose
/// disk is nearly full is ready for reads, and reports that it is read-only.
async fn ready(State(shared): State<Arc<Shared>>) -> Result<Response<Body>, Refused> {
    shared.baton.check_serving()?;
    if shared.closing.is_raised() {
        return Err(Refusal::Closing {}.into());
    }
    let readiness = match shared.baton.check_disk_space() {
        Ok(()) => serde_json::json!({"status": "ready"}),
        Err(low) => serde_json::json!({"status": "read_only", "detail": low.to_string()}),
    };
    Ok(json(readiness.to_string().into_bytes()))
}

/// Metrics are about all workspaces, so a token that is limited to some does not suffice.
async fn measured(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    tokens::admitted(&request, Permission::Read, "metrics")?;
    let text = shared.metrics.text(&shared.baton.metrics().await?, &shared.access.denials.totals());
    let mut response = text.into_response();
    let kind = HeaderValue::from_static(metrics::CONTENT_TYPE);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
