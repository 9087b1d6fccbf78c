//! HTTP requests to another server, with their bodies as they arrive.

use std::io::Error;
use std::time::Duration;

use axum::body::Body;
use axum::http::request::{Builder, Parts};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Uri, Version, header};
use axum::response::IntoResponse;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};

use super::ServerStatus;
use super::front::{ELSEWHERE, FORWARDED, Front, PATIENCE, Payload, SHARD};
use super::upstreams::Sender;
use crate::problem::Refused;
use crate::refusal::Refusal;

/// How long an owner may take to finish requests after it has given their shard away. It ends them
/// within a fraction of this.
const LAST_ANSWERS_MAX: Duration = PATIENCE;
/// A body up to this size is received before it is forwarded, so that it can be sent again.
const SMALL_BYTES_MAX: u64 = 1 << 20;
/// Headers that are about one connection.
const OF_CONNECTION: [HeaderName; 7] = [
    header::CONNECTION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::PROXY_AUTHENTICATE,
    HeaderName::from_static("keep-alive"),
];

/// The result of forwarding a request.
pub(super) enum Forwarded {
    Answered(Response<Body>),
    /// It certainly was not executed; why, if the owner cannot be reached.
    Unsent(Box<Request<Payload>>, Option<Refusal>),
}

/// The result of one attempt to forward a request.
enum Attempt {
    /// The owner has answered.
    Answered(Response<Body>),
    /// It could not be received from the client.
    Refused(Response<Body>),
    /// The owner was lost before it answered.
    Lost,
    /// It certainly was not executed; why, if the owner cannot be reached.
    Unsent(Box<Request<Payload>>, Option<Refusal>),
}

/// The knowledge about a request after it was passed to a connection to its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// The answer of the owner.
    Answer,
    /// The server does not own the shard, and has done nothing.
    Elsewhere,
    /// The connection had been closed: nothing of it was sent.
    Unsent,
    /// Nothing: the connection broke, or the owner is gone. It may have been executed.
    Nothing,
}

/// The decision about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The response of the owner is passed on.
    Answered,
    /// It is sent again, to the owner of that time.
    Again,
    /// Its outcome is reported as unknown.
    Lost,
}

/// Whether a request is sent again: only if it certainly was not executed, and is still here. With
/// an idempotency key it could be sent again in any case, which is left to the client: it is what
/// knows how long to try.
fn fate(heard: Heard, is_kept: bool) -> Fate {
    match (heard, is_kept) {
        (Heard::Answer, _) | (Heard::Elsewhere, false) => Fate::Answered,
        (Heard::Elsewhere | Heard::Unsent, true) => Fate::Again,
        (Heard::Unsent, false) | (Heard::Nothing, _) => Fate::Lost,
    }
}

impl Front {
    /// Sends a request to the owner of its shard.
    pub(super) async fn forward(
        &self,
        shard: u32,
        owner: &ServerStatus,
        request: Request<Payload>,
    ) -> Forwarded {
        let forwarded = self.attempt(shard, owner, request).await;
        let metrics = &self.doors.metrics;
        match &forwarded {
            Attempt::Answered(_) => metrics.forwarded.add(1),
            Attempt::Refused(_) => {}
            Attempt::Lost | Attempt::Unsent(..) => metrics.cluster.forward_failures.add(1),
        }
        match forwarded {
            Attempt::Answered(response) | Attempt::Refused(response) => {
                Forwarded::Answered(response)
            }
            Attempt::Lost => {
                Forwarded::Answered(Refused::from(Refusal::OwnerLost {}).into_response())
            }
            Attempt::Unsent(request, why) => Forwarded::Unsent(request, why),
        }
    }

    async fn attempt(
        &self,
        shard: u32,
        owner: &ServerStatus,
        request: Request<Payload>,
    ) -> Attempt {
        let (parts, payload) = request.into_parts();
        let payload = match payload {
            Payload::Arriving(body) if is_small(&body) => {
                let max = usize::try_from(SMALL_BYTES_MAX).unwrap_or(usize::MAX);
                match self.receive(body, max).await {
                    Ok(body) => Payload::Received(body),
                    Err(refused) => return Attempt::Refused(refused.into_response()),
                }
            }
            other => other,
        };
        let is_call = is_call(&parts);
        let opened = tokio::select! {
            opened = self.reach(owner, is_call) => opened.map_err(Some),
            () = self.lost(shard, &owner.id) => Err(None),
            () = self.closing.raised() => Err(None),
        };
        let mut sender = match opened {
            Ok(sender) => sender,
            Err(why) => {
                return Attempt::Unsent(Box::new(Request::from_parts(parts, payload)), why);
            }
        };
        let outgoing = head_for_owner(&parts, shard, is_call);
        let (body, copy) = match payload {
            Payload::Arriving(body) => (Body::new(body), None),
            Payload::Received(bytes) => (Body::from(bytes.clone()), Some(bytes)),
        };
        let outgoing = outgoing.body(body).expect("its parts were those of a request");
        let answered = tokio::select! {
            answered = sender.send(outgoing) => answered,
            () = self.silenced(shard, &owner.id) => return Attempt::Lost,
            () = self.closing.raised() => return Attempt::Lost,
        };
        let (heard, response) = match answered {
            Ok(response) if response.headers().contains_key(ELSEWHERE) => {
                (Heard::Elsewhere, Some(response))
            }
            Ok(response) => (Heard::Answer, Some(response)),
            Err(mut error) => match error.take_message() {
                Some(_) => (Heard::Unsent, None),
                None => (Heard::Nothing, None),
            },
        };
        match (fate(heard, copy.is_some()), response, copy) {
            (Fate::Answered, Some(response), _) => {
                if let Sender::Http1(sender) = sender {
                    self.upstreams.give(owner, sender);
                }
                Attempt::Answered(self.returned(shard, owner, is_call, response))
            }
            (Fate::Again, _, Some(copy)) => {
                let request = Request::from_parts(parts, Payload::Received(copy));
                Attempt::Unsent(Box::new(request), None)
            }
            (Fate::Answered | Fate::Again | Fate::Lost, ..) => Attempt::Lost,
        }
    }

    /// Waits until an owner will not answer any more: it was declared gone, or it has given the
    /// shard away and had time to finish what it was answering.
    pub(super) async fn silenced(&self, shard: u32, owner: &str) {
        self.lost(shard, owner).await;
        let _ = tokio::time::timeout(LAST_ANSWERS_MAX, self.left(owner)).await;
    }

    /// The response of the owner. Its body breaks off when the owner is lost, since a process that
    /// was stopped keeps its connections open; and when this server ends.
    fn returned(
        &self,
        shard: u32,
        owner: &ServerStatus,
        is_call: bool,
        response: Response<Incoming>,
    ) -> Response<Body> {
        let (mut parts, body) = response.into_parts();
        for name in &OF_CONNECTION {
            parts.headers.remove(name);
        }
        if body.size_hint().exact().is_some_and(|length| length <= SMALL_BYTES_MAX) {
            return Response::from_parts(parts, Body::new(body));
        }
        let (front, owner) = (self.doors.cluster.get().cloned(), owner.id.clone());
        let lost = Box::pin(async move {
            match front.and_then(|front| front.upgrade()) {
                Some(front) => tokio::select! {
                    () = front.lost(shard, &owner) => {}
                    () = front.closing.raised() => {}
                },
                None => std::future::pending().await,
            }
        });
        let frames = stream::unfold(Some((body, lost)), move |state| async move {
            let (mut body, mut lost) = state?;
            tokio::select! {
                biased;
                frame = body.frame() => {
                    let frame = frame?.map_err(axum::Error::new);
                    Some((frame, Some((body, lost))))
                }
                () = &mut lost => Some((broken_off(is_call), None)),
            }
        });
        Response::from_parts(parts, Body::new(StreamBody::new(frames)))
    }
}

/// Whether a request is a call of gRPC, which has trailers and needs HTTP/2.
fn is_call(parts: &Parts) -> bool {
    #[cfg(feature = "a2a")]
    {
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        parts.version == Version::HTTP_2 && kind.is_some_and(crate::a2a::is_grpc)
    }
    #[cfg(not(feature = "a2a"))]
    {
        let _ = parts;
        false
    }
}

/// The end of a body whose owner is lost.
fn broken_off(is_call: bool) -> Result<Frame<Bytes>, axum::Error> {
    #[cfg(feature = "a2a")]
    if is_call {
        return Ok(crate::a2a::broken_off());
    }
    #[cfg(not(feature = "a2a"))]
    let _ = is_call;
    Err(axum::Error::new(Error::other("the owner of the workspace was lost")))
}

/// The head of a request as its owner is sent it. In HTTP/2 the name of the server is a part of the
/// target.
fn head_for_owner(parts: &Parts, shard: u32, is_call: bool) -> Builder {
    let mut sent = of_request(&parts.headers);
    let path = origin(&parts.uri);
    let host = sent.get(header::HOST).and_then(|host| host.to_str().ok());
    let absolute = host.filter(|_| is_call).map(|host| format!("http://{host}{path}"));
    let outgoing = Request::builder().method(parts.method.clone());
    let mut outgoing = match absolute {
        Some(target) => {
            sent.remove(header::HOST);
            outgoing.uri(target).version(Version::HTTP_2)
        }
        None => outgoing.uri(path),
    };
    if let Some(headers) = outgoing.headers_mut() {
        headers.extend(sent);
        headers.insert(FORWARDED, HeaderValue::from_static("1"));
        headers.insert(SHARD, HeaderValue::from(shard));
    }
    outgoing
}

fn is_small(body: &Incoming) -> bool {
    body.size_hint().upper().is_some_and(|length| length <= SMALL_BYTES_MAX)
}

/// The path and the query, as they are sent to a server.
fn origin(uri: &Uri) -> Uri {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    path.parse().unwrap_or_else(|_| Uri::from_static("/"))
}

/// The headers of a request that concern the owner.
pub(super) fn of_request(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in &OF_CONNECTION {
        headers.remove(name);
    }
    // The body is sent in any case.
    headers.remove(header::EXPECT);
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_sent_again_only_if_it_certainly_was_not_executed() {
        for (heard, is_kept, expected) in [
            (Heard::Answer, true, Fate::Answered),
            (Heard::Answer, false, Fate::Answered),
            (Heard::Elsewhere, true, Fate::Again),
            (Heard::Elsewhere, false, Fate::Answered),
            (Heard::Unsent, true, Fate::Again),
            (Heard::Unsent, false, Fate::Lost),
            (Heard::Nothing, true, Fate::Lost),
            (Heard::Nothing, false, Fate::Lost),
        ] {
            assert_eq!(fate(heard, is_kept), expected, "{heard:?}, kept: {is_kept}");
        }
    }
}
