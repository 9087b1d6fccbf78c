//! HTTP requests to another server, with their bodies as they arrive.

use std::collections::HashMap;
use std::io::{Error, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Uri, header};
use axum::response::IntoResponse;
use baton_tls::{Stream, Trust};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::ServerStatus;
use super::front::{ELSEWHERE, FORWARDED, Front, Payload, SHARD};
use crate::problem::Refused;
use crate::refusal::Refusal;

/// How long a connection to another server may take.
const CONNECT_MAX: Duration = Duration::from_secs(1);
/// Idle connections to one server that are kept.
const IDLE_MAX: usize = 64;
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

/// What became of a request.
pub(super) enum Forwarded {
    Answered(Response<Body>),
    /// It certainly was not executed.
    Unsent(Box<Request<Payload>>),
}

/// Connections to other servers.
pub(super) struct Upstreams {
    idle: Arc<Mutex<HashMap<String, Vec<SendRequest<Body>>>>>,
    trust: Option<Trust>,
}

impl Upstreams {
    pub(super) fn new(trust: Option<Trust>) -> Self {
        Self { idle: Arc::default(), trust }
    }

    /// Connects to the address of a server.
    pub(super) async fn connect(&self, address: &str) -> Result<Stream, Error> {
        let bad = |reason: &str| Error::new(ErrorKind::InvalidInput, reason.to_owned());
        let uri: Uri = address.parse().map_err(|_| bad("the address is no URL"))?;
        let host = uri.host().ok_or_else(|| bad("the address has no host"))?;
        let is_secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let plain = host.trim_start_matches('[').trim_end_matches(']');
        let connecting = async {
            let socket = TcpStream::connect((plain, port)).await?;
            socket.set_nodelay(true)?;
            if !is_secure {
                return Ok(Stream::from(socket));
            }
            let trust = self.trust.as_ref().ok_or_else(|| bad("no authority is trusted"))?;
            trust.connect(host, socket).await.map_err(Error::other)
        };
        tokio::time::timeout(CONNECT_MAX, connecting).await?
    }

    fn take(&self, address: &str) -> Option<SendRequest<Body>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let senders = idle.get_mut(address)?;
        while let Some(sender) = senders.pop() {
            if sender.is_ready() {
                return Some(sender);
            }
        }
        None
    }

    /// Keeps a connection for the next request, when the response has been read.
    fn give(&self, address: String, mut sender: SendRequest<Body>) {
        let idle = Arc::clone(&self.idle);
        tokio::spawn(async move {
            if sender.ready().await.is_ok() {
                let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
                let senders = idle.entry(address).or_default();
                if senders.len() < IDLE_MAX {
                    senders.push(sender);
                }
            }
        });
    }

    pub(super) async fn sender(&self, address: &str) -> Result<SendRequest<Body>, Error> {
        if let Some(sender) = self.take(address) {
            return Ok(sender);
        }
        let stream = TokioIo::new(self.connect(address).await?);
        let (sender, connection) = http1::handshake(stream).await.map_err(Error::other)?;
        // However it ends, requests on it are notified.
        tokio::spawn(async move { drop(connection.with_upgrades().await) });
        Ok(sender)
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
        let (parts, payload) = request.into_parts();
        let payload = match payload {
            Payload::Arriving(body) if is_small(&body) => {
                let max = usize::try_from(SMALL_BYTES_MAX).unwrap_or(usize::MAX);
                match self.receive(body, max).await {
                    Ok(body) => Payload::Received(body),
                    Err(refused) => return Forwarded::Answered(refused.into_response()),
                }
            }
            other => other,
        };
        let Ok(mut sender) = self.upstreams.sender(&owner.address).await else {
            return Forwarded::Unsent(Box::new(Request::from_parts(parts, payload)));
        };
        let mut outgoing = Request::builder().method(parts.method.clone()).uri(origin(&parts.uri));
        if let Some(headers) = outgoing.headers_mut() {
            headers.extend(of_request(&parts.headers));
            headers.insert(FORWARDED, HeaderValue::from_static("1"));
            headers.insert(SHARD, HeaderValue::from(shard));
        }
        let (body, copy) = match payload {
            Payload::Arriving(body) => (Body::new(body), None),
            Payload::Received(bytes) => (Body::from(bytes.clone()), Some(bytes)),
        };
        let outgoing = outgoing.body(body).expect("its parts were those of a request");
        let again = |copy: Bytes| {
            Forwarded::Unsent(Box::new(Request::from_parts(parts, Payload::Received(copy))))
        };
        let lost = || Forwarded::Answered(Refused::from(Refusal::OwnerLost {}).into_response());
        let answered = tokio::select! {
            answered = sender.try_send_request(outgoing) => answered,
            () = self.lost(shard, &owner.id) => return lost(),
            () = self.closing.raised() => return lost(),
        };
        match (answered, copy) {
            (Ok(response), Some(copy)) if response.headers().contains_key(ELSEWHERE) => again(copy),
            (Ok(response), _) => {
                self.doors.metrics.forwarded.add(1);
                self.upstreams.give(owner.address.clone(), sender);
                Forwarded::Answered(self.returned(shard, owner, response))
            }
            (Err(mut error), copy) => match (error.take_message(), copy) {
                // It was not sent: the connection had been closed.
                (Some(_), Some(copy)) => again(copy),
                (Some(_), None) | (None, _) => lost(),
            },
        }
    }

    /// The response of the owner. Its body breaks off when the owner is lost, since a process that
    /// was stopped keeps its connections open; and when this server ends.
    fn returned(
        &self,
        shard: u32,
        owner: &ServerStatus,
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
        let pieces = Body::new(body).into_data_stream();
        let body = Body::from_stream(stream::unfold(Some((pieces, lost)), |state| async move {
            let (mut pieces, mut lost) = state?;
            tokio::select! {
                biased;
                piece = pieces.next() => piece.map(|piece| (piece, Some((pieces, lost)))),
                () = &mut lost => {
                    let reason = Error::other("the owner of the workspace was lost");
                    Some((Err(axum::Error::new(reason)), None))
                }
            }
        }));
        Response::from_parts(parts, body)
    }
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
