//! Secrets. Their values are sent as separate bodies, never as fields: fields are inspected,
//! repeated in errors, and logged.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::routing::{post, put};
use baton::{Caller, SecretOptions};
use baton_core::access::Action;
use baton_core::{ContentName, SecretId, limits};
use serde::Deserialize;

use super::request_context::{RequestContext, json, receive_up_to};
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/v1/{workspace}/secrets", put(hide))
        .route("/v1/{workspace}/secrets/{secret}/reveal", post(reveal))
}

/// The query parameters of a secret.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    name: Option<ContentName>,
    ttl_ms: Option<u64>,
}

async fn hide(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    let (parts, body) = request.into_parts();
    let context = RequestContext::without_body(parts, &shared).await?;
    context.authority.permits_action(&context.caller, Action::PutSecret)?;
    let Parameters { name, ttl_ms } = context.fields().to()?;
    let value = receive_up_to(&shared, body, limits::SECRET_BYTES_MAX).await?;
    context.authority.charge_bytes(&context.caller.workspace, value.len());
    let (caller, fence) = (context.caller.clone(), context.fence()?);
    let (baton, options) = (shared.baton.clone(), SecretOptions { name, ttl_ms });
    // In a separate task, so that it completes even if the caller has gone.
    let hiding =
        tokio::spawn(async move { baton.put_secret(&caller, options, value, fence).await });
    let secret = hiding.await.map_err(|_| Refusal::Closing {})??;
    let mut response = json(serde_json::to_vec(&secret).expect("secrets can be encoded"));
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    secret: SecretId,
}

async fn reveal(context: RequestContext) -> Result<Response<Body>, Refused> {
    context.no_body()?;
    context.authority.permits_action(&context.caller, Action::RevealSecret)?;
    let Wanted { secret } = context.fields().to()?;
    let caller = Caller { idempotency_key: None, ..context.caller.clone() };
    let value = context.shared.baton.reveal(&caller, &secret).await?;
    let mut response = Response::new(Body::from(value));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
