//! Answers as each binding writes them.

use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use baton_a2a::grpc::Status;
use baton_a2a::{Error, Method, Outcome, Updates};
use baton_core::WorkspaceName;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::grpc;
use crate::access::Authority;
use crate::shared::Shared;

/// How long a card may be used without asking again.
const CARD_AGE: &str = "max-age=60";

/// How a request is written.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    /// JSON-RPC, with the id of the call.
    JsonRpc(Value),
    /// HTTP+JSON.
    HttpJson,
    /// gRPC, with the operation.
    Grpc(Method),
}

/// One JSON document, with a newline at its end.
fn json_response(status: u16, kind: &'static str, document: &Value) -> Response<Body> {
    response(status, kind, format!("{document}\n"))
}

fn response(status: u16, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

impl Binding {
    /// A refusal.
    pub(super) fn refused(&self, error: &Error) -> Response<Body> {
        match self {
            Self::JsonRpc(id) => json_response(200, "application/json", &error.json_rpc(id)),
            Self::HttpJson => {
                json_response(error.http_status(), "application/json", &error.http_json())
            }
            Self::Grpc(_) => grpc::refused_with(&Status::of(error)),
        }
    }

    /// An answer, or a stream of them.
    pub(super) fn answered(
        &self,
        shared: &Arc<Shared>,
        workspace: &WorkspaceName,
        authority: Authority,
        outcome: Outcome,
    ) -> Response<Body> {
        match outcome {
            Outcome::One(value) => {
                let kind = match self {
                    Self::JsonRpc(_) => "application/json",
                    Self::HttpJson => "application/a2a+json",
                    Self::Grpc(method) => return grpc::answered(*method, &value),
                };
                json_response(200, kind, &self.wrapped(value))
            }
            Outcome::Updates(updates) => {
                let ended = {
                    let shared = Arc::clone(shared);
                    async move {
                        tokio::select! {
                            () = authority.ended() => {}
                            () = shared.closing.raised() => {}
                        }
                    }
                };
                if let Self::Grpc(method) = self {
                    return grpc::updates(shared, workspace, *method, updates, ended);
                }
                let text = self.clone().text(Arc::clone(shared), workspace.clone(), updates);
                let body = Body::from_stream(text.take_until(Box::pin(ended)));
                let mut response = response(200, "text/event-stream", body);
                let headers = response.headers_mut();
                headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
                headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
                response
            }
        }
    }

    fn wrapped(&self, value: Value) -> Value {
        match self {
            Self::JsonRpc(id) => json!({"jsonrpc": "2.0", "id": id, "result": value}),
            Self::HttpJson | Self::Grpc(_) => value,
        }
    }

    /// Server-Sent Events, with a comment now and then so that proxies keep the stream open.
    fn text(
        self,
        shared: Arc<Shared>,
        workspace: WorkspaceName,
        updates: Updates,
    ) -> impl Stream<Item = Result<Bytes, Infallible>> {
        let begun = (self, shared, workspace, updates);
        stream::unfold(begun, async |(binding, shared, workspace, mut updates)| {
            let every = shared.settings.comment_every;
            let text = match tokio::time::timeout(every, updates.next()).await {
                Err(_) => ": still here\n\n".to_owned(),
                Ok(None) => return None,
                Ok(Some(Ok(update))) => {
                    shared.metrics.pushed.add(1);
                    format!("data: {}\n\n", binding.wrapped(update))
                }
                Ok(Some(Err(error))) => match &binding {
                    Self::JsonRpc(id) => format!("data: {}\n\n", error.json_rpc(id)),
                    Self::HttpJson | Self::Grpc(_) => {
                        format!("event: error\ndata: {}\n\n", error.http_json())
                    }
                },
            };
            shared.fairness.enter(&workspace, text.len()).await;
            Some((Ok(Bytes::from(text)), (binding, shared, workspace, updates)))
        })
    }
}

/// A card, unless the caller has this one already.
pub(super) fn card_response(asked: &HeaderMap, card: &Value) -> Response<Body> {
    let body = card.to_string();
    let mut tag = "\"".to_owned();
    for byte in &Sha256::digest(body.as_bytes())[..12] {
        write!(tag, "{byte:02x}").expect("a string takes everything");
    }
    tag.push('"');
    let known = asked.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    let mut response = if known == Some(&tag) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        json_response(200, "application/json", card)
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(CARD_AGE));
    let tag = HeaderValue::try_from(tag).expect("digits are a header");
    headers.insert(header::ETAG, tag);
    response
}
