//! The protocol in the binding gRPC, at `/lf.a2a.v1.A2AService`, over HTTP/2.
//!
//! A path has no place for an agent there: the tenant that a card names is the workspace, or
//! `{workspace}/agents/{agent}`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Version, header};
use baton_a2a::grpc::{self, Status};
use baton_a2a::{Addressee, Error, ErrorKind, Method, Updates};
use baton_core::{AgentId, WorkspaceName};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use serde_json::Value;

use super::response::Binding;
use super::{Asked, WORKSPACE};
use crate::access::Authority;
use crate::http::receive;
use crate::problem::RefusalLabel;
use crate::shared::{InboundBytes, Shared};

/// The path of the operations.
pub(super) const PATH: &str = "/lf.a2a.v1.A2AService/{method}";
const MEDIA_TYPE: &str = "application/grpc";
/// Not authenticated.
const UNAUTHENTICATED: u8 = 16;

/// Whether a media type is that of a call.
pub(crate) fn is_grpc(media_type: &str) -> bool {
    let rest = media_type.strip_prefix(MEDIA_TYPE);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';']))
}

/// Whether a request is a call.
pub(crate) fn is_call<B>(request: &Request<B>) -> bool {
    let given = request.headers().get(header::CONTENT_TYPE);
    given.and_then(|given| given.to_str().ok()).is_some_and(is_grpc)
}

pub(super) async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let is_http2 = parts.version == Version::HTTP_2;
    let authority = parts.extensions.get::<Authority>().cloned().unwrap_or_default();
    let mut inbound = InboundBytes::new(&shared, authority.sharers(None));
    let body = match receive(&shared, &mut inbound, &parts.headers, body).await {
        Ok(body) => body,
        Err(refused) => return refused_with(&Status::of(&Error::from(refused.0))),
    };
    let mut asked = Asked { parts, body, addressee: Addressee::Fleet };
    let method = grpc::method(asked.parts.uri.path());
    let read = method.and_then(|method| {
        if !is_http2 {
            let message = "gRPC needs HTTP/2: use another binding, or a client of gRPC";
            return Err(Error::new(ErrorKind::InvalidRequest, message));
        }
        let mut params = grpc::params(method, &asked.body)?;
        let addressee = addressee(&mut params)?;
        Ok((method, params, addressee))
    });
    match read {
        Ok((method, params, addressee)) => {
            asked.addressee = addressee;
            asked.call(&shared, None, &Binding::Grpc(method), Ok(method), params).await
        }
        Err(error) => refused_with(&Status::of(&error)),
    }
}

/// The workspace of a call. One that cannot be read is refused wherever it arrives.
pub(crate) fn workspace_of_call(path: &str, body: &[u8]) -> String {
    let params = grpc::method(path).and_then(|method| grpc::params(method, body));
    let tenant = params.ok().and_then(|params| params["tenant"].as_str().map(str::to_owned));
    let tenant = tenant.unwrap_or_default();
    let workspace = tenant.split_once("/agents/").map_or(&*tenant, |(workspace, _)| workspace);
    if workspace.is_empty() { WORKSPACE.to_owned() } else { workspace.to_owned() }
}

/// The addressee of a call. Only the workspace of the tenant is left.
fn addressee(params: &mut Value) -> Result<Addressee, Error> {
    let tenant = params["tenant"].as_str().unwrap_or_default();
    let Some((workspace, agent)) = tenant.split_once("/agents/") else {
        return Ok(Addressee::Fleet);
    };
    let agent = AgentId::parse(agent).map_err(|error| Error::invalid("tenant", &error))?;
    params["tenant"] = workspace.to_owned().into();
    Ok(Addressee::Agent(agent))
}

fn response(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    response
}

fn insert(headers: &mut HeaderMap, code: u8, message: &str) {
    headers.insert("grpc-status", HeaderValue::from(u16::from(code)));
    if let Ok(message) = HeaderValue::from_str(message) {
        headers.insert("grpc-message", message);
    }
}

fn trailers(status: Option<&Status>) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    match status {
        None => insert(&mut trailers, 0, ""),
        Some(status) => {
            insert(&mut trailers, status.code, &status.message);
            let details = HeaderValue::from_str(&status.details).expect("Base64 is a header");
            if !details.is_empty() {
                trailers.insert("grpc-status-details-bin", details);
            }
        }
    }
    trailers
}

/// A refusal: an answer that has only trailers.
pub(super) fn refused_with(status: &Status) -> Response<Body> {
    let mut response = response(Body::empty());
    response.headers_mut().extend(trailers(Some(status)));
    response
}

/// The refusal of a call before it reached its operation: the status of HTTP as one of gRPC.
pub(crate) fn refused_before(refused: Response<Body>) -> Response<Body> {
    let code = match refused.status() {
        StatusCode::OK => return refused,
        StatusCode::UNAUTHORIZED => UNAUTHENTICATED,
        StatusCode::FORBIDDEN => 7,
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => 12,
        StatusCode::TOO_MANY_REQUESTS => 8,
        StatusCode::SERVICE_UNAVAILABLE => 14,
        _ => 3,
    };
    let outcome = refused.extensions().get::<RefusalLabel>().cloned();
    let mut response = response(Body::empty());
    let message = outcome.as_ref().map(|outcome| format!("{}: see docs/errors.md", outcome.code));
    insert(response.headers_mut(), code, message.as_deref().unwrap_or_default());
    if let Some(outcome) = outcome {
        response.extensions_mut().insert(outcome);
    }
    response
}

/// One answer.
pub(super) fn answered(method: Method, value: &Value) -> Response<Body> {
    let frame = Full::new(Bytes::from(grpc::answer(method, value)));
    response(Body::new(frame.with_trailers(async { Some(Ok(trailers(None))) })))
}

/// The end of a stream that breaks off: by its status the client subscribes again.
pub(crate) fn broken_off() -> Frame<Bytes> {
    let message = "the stream has ended before the task: subscribe again";
    let status = Status { code: 14, message: message.to_owned(), details: String::new() };
    Frame::trailers(trailers(Some(&status)))
}

/// Updates, until the task has ended, the token, or the server.
pub(super) fn updates(
    shared: &Arc<Shared>,
    workspace: &WorkspaceName,
    method: Method,
    updates: Updates,
    ended: impl Future<Output = ()> + Send + 'static,
) -> Response<Body> {
    let frames = frames(Arc::clone(shared), workspace.clone(), method, updates);
    let broken = stream::once(async { Ok(broken_off()) });
    let mut has_ended = false;
    let body = frames.take_until(Box::pin(ended)).chain(broken).take_while(move |frame| {
        let is_taken = !has_ended;
        has_ended |= frame.as_ref().is_ok_and(Frame::is_trailers);
        std::future::ready(is_taken)
    });
    response(Body::new(StreamBody::new(body)))
}

fn frames(
    shared: Arc<Shared>,
    workspace: WorkspaceName,
    method: Method,
    updates: Updates,
) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> {
    let begun = Some((shared, workspace, updates));
    stream::unfold(begun, move |state| async move {
        let (shared, workspace, mut updates) = state?;
        match updates.next().await {
            Some(Ok(update)) => {
                shared.metrics.pushed.add(1);
                let frame = Bytes::from(grpc::answer(method, &update));
                shared.fairness.enter(&workspace, frame.len()).await;
                Some((Ok(Frame::data(frame)), Some((shared, workspace, updates))))
            }
            Some(Err(error)) => {
                Some((Ok(Frame::trailers(trailers(Some(&Status::of(&error))))), None))
            }
            None => Some((Ok(Frame::trailers(trailers(None))), None)),
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tenant_names_a_workspace_and_perhaps_an_agent() {
        let of = |tenant: &str| {
            let mut params = json!({"tenant": tenant});
            addressee(&mut params).map(|addressee| (addressee, params["tenant"].clone()))
        };
        assert_eq!(of("team"), Ok((Addressee::Fleet, json!("team"))));
        assert_eq!(of(""), Ok((Addressee::Fleet, json!(""))));
        let ada = Addressee::Agent(AgentId::parse("ada").unwrap());
        assert_eq!(of("team/agents/ada"), Ok((ada, json!("team"))));
        assert!(of("team/agents/").is_err());
    }

    #[test]
    fn a_call_names_its_workspace() {
        let path = "/lf.a2a.v1.A2AService/GetTask";
        let of = |tenant: &str| {
            let length = u8::try_from(tenant.len()).unwrap();
            let message = [&[0x0a, length][..], tenant.as_bytes()].concat();
            let head = [0, 0, 0, 0, u8::try_from(message.len()).unwrap()];
            workspace_of_call(path, &[&head[..], &message].concat())
        };
        assert_eq!((of("team"), of("team/agents/ada")), ("team".to_owned(), "team".to_owned()));
        assert_eq!(of(""), "default");
        assert_eq!(workspace_of_call(path, b"?"), "default");
        assert_eq!(workspace_of_call("/another/Service", b""), "default");
    }

    #[test]
    fn only_calls_are_calls() {
        for (kind, is) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc;x=1", true),
            ("application/grpc-web", false),
            ("application/json", false),
        ] {
            assert_eq!(is_grpc(kind), is, "{kind}");
        }
    }
}
