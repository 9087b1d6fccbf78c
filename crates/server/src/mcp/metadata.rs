//! The issuer of tokens for `/mcp`, for clients that can obtain one automatically (RFC 9728).
//!
//! The metadata exists only if tokens of an issuer are accepted whose name is its address.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use serde_json::json;

use crate::http;
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::Shared;

/// The path of the metadata; the path of the resource may follow.
pub(super) const PATH: &str = "/.well-known/oauth-protected-resource";

/// Whether a path needs no token although others do.
pub(crate) fn is_public(path: &str) -> bool {
    path.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn issuer(shared: &Shared) -> Option<&str> {
    let name = shared.settings.jwt.as_ref()?.name();
    (name.starts_with("https://") || name.starts_with("http://")).then_some(name)
}

fn origin(shared: &Shared, headers: &HeaderMap) -> Option<String> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let scheme = if shared.settings.tls.is_some() { "https" } else { "http" };
    Some(format!("{scheme}://{host}"))
}

/// The metadata of a resource.
pub(super) async fn answer(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    let missing = || Refused::from(Refusal::NotFound {});
    let issuer = issuer(&shared).ok_or_else(missing)?;
    let origin = origin(&shared, request.headers()).ok_or_else(missing)?;
    let path = match request.uri().path().strip_prefix(PATH).unwrap_or_default() {
        "" | "/" => "/mcp",
        path => path,
    };
    if path != "/mcp" && !path.starts_with("/mcp/") {
        return Err(missing());
    }
    let metadata = json!({
        "resource": format!("{origin}{path}"),
        "authorization_servers": [issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "Baton",
    });
    Ok(http::json(metadata.to_string()))
}

/// The challenge to a client without a valid token that asked for `/mcp`.
pub(crate) fn challenge<B>(shared: &Shared, request: &Request<B>) -> Option<HeaderValue> {
    let path = request.uri().path();
    if path != "/mcp" && !path.starts_with("/mcp/") {
        return None;
    }
    issuer(shared)?;
    let url = format!("{}{PATH}{path}", origin(shared, request.headers())?);
    HeaderValue::from_str(&format!("Bearer resource_metadata=\"{url}\"")).ok()
}
