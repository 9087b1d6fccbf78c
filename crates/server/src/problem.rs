//! Errors as HTTP responses.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use baton_core::Kind;
use baton_core::wire::{Fault, Problem, write_text};

use crate::refusal::Refusal;

/// Refusals that a retry cannot help.
const NO_USE_WAITING: [&str; 3] = ["quota.entries", "quota.stored_bytes", "secret.no_key"];

/// The HTTP status of a kind. A few codes have a specific one.
pub(crate) fn status(problem: &Problem) -> StatusCode {
    match problem.code.as_str() {
        "request.method_not_allowed" => return StatusCode::METHOD_NOT_ALLOWED,
        "request.unsupported_media_type" | "request.unsupported_encoding" => {
            return StatusCode::UNSUPPORTED_MEDIA_TYPE;
        }
        "request.timeout" => return StatusCode::REQUEST_TIMEOUT,
        "request.bad_range" => return StatusCode::RANGE_NOT_SATISFIABLE,
        "access.no_token" | "access.bad_token" | "access.bad_jwt" => {
            return StatusCode::UNAUTHORIZED;
        }
        _ => {}
    }
    match problem.kind {
        Kind::Invalid => StatusCode::BAD_REQUEST,
        Kind::Denied => StatusCode::FORBIDDEN,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::Conflict => StatusCode::CONFLICT,
        Kind::Stale => StatusCode::PRECONDITION_FAILED,
        Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Kind::Exhausted => StatusCode::TOO_MANY_REQUESTS,
        Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// A problem as a response.
pub(crate) struct Refused(pub(crate) Problem);

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.into())
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self(Problem::from(&fault))
    }
}

impl From<baton::error::Error> for Refused {
    fn from(error: baton::error::Error) -> Self {
        Self(Problem::from(&error))
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response<Body> {
        let problem = self.0;
        let status = status(&problem);
        let mut body = b"{\"type\":".to_vec();
        write_text(&mut body, &format!("/docs/errors#{}", problem.code));
        body.extend_from_slice(b",\"title\":");
        write_text(&mut body, status.canonical_reason().unwrap_or("error"));
        body.extend_from_slice(format!(",\"status\":{},", status.as_u16()).as_bytes());
        let text = serde_json::to_vec(&problem).expect("problems can be encoded");
        body.extend_from_slice(&text[1..]);
        body.push(b'\n');
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        if problem.code == "request.unsupported_encoding" {
            let none = HeaderValue::from_static("identity");
            response.headers_mut().insert(header::ACCEPT_ENCODING, none);
        }
        if let Some(seconds) = retry_after_s(&problem) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        let (kind, code) = (problem.kind, problem.code.into());
        response.extensions_mut().insert(RefusalLabel { kind, code });
        response
    }
}

/// How long to wait before a retry, where that may help.
fn retry_after_s(problem: &Problem) -> Option<u64> {
    if NO_USE_WAITING.contains(&problem.code.as_str()) {
        return None;
    }
    let given_ms: Option<u64> = problem.fact("retry_after_ms").and_then(|fact| fact.to().ok());
    let may_pass = matches!(problem.kind, Kind::Exhausted | Kind::Unavailable);
    may_pass.then(|| given_ms.map_or(1, |given_ms| given_ms.div_ceil(1_000)))
}

/// The kind of a refusal and its code, for metrics and the server log.
#[derive(Clone)]
pub(crate) struct RefusalLabel {
    pub(crate) kind: Kind,
    pub(crate) code: Arc<str>,
}
