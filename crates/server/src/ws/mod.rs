//! The WebSocket: frames in, answers and pushes out, many requests at a time.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version, header};
use axum::response::IntoResponse;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper_util::rt::TokioIo;
use sha1::{Digest, Sha1};

use crate::access::Authority;
use crate::cluster::OtherShards;
use crate::deadline_stream::DeadlineStream;
use crate::listener::ConnectionSlot;
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::Shared;

mod connection;
pub(crate) mod format;
pub mod framing;
mod jobs;
pub mod messagepack;
pub(crate) mod outbox;
pub(crate) mod pushes;

use format::Format;

/// The suffix that RFC 6455 appends to the client's key.
const ACCEPTED: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Whether one of the words of a header is this one, case-insensitively.
fn has_token(headers: &HeaderMap, name: header::HeaderName, word: &str) -> bool {
    let values = headers.get_all(name);
    let mut words =
        values.iter().filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
    words.any(|given| given.trim().eq_ignore_ascii_case(word))
}

fn check<B>(request: &Request<B>) -> Result<String, Refused> {
    let refuse = |reason| Err(Refusal::Handshake { reason }.into());
    let headers = request.headers();
    // A route for GET also accepts HEAD.
    if request.method() != Method::GET || request.version() < Version::HTTP_11 {
        return refuse("it must be a GET of HTTP/1.1");
    }
    if request.uri().query().is_some_and(|query| !query.is_empty()) {
        return refuse("the path takes no parameters");
    }
    if headers.contains_key(header::TRANSFER_ENCODING)
        || headers.get(header::CONTENT_LENGTH).is_some_and(|length| length != "0")
    {
        return refuse("it must have no body");
    }
    if !has_token(headers, header::CONNECTION, "upgrade")
        || !has_token(headers, header::UPGRADE, "websocket")
    {
        return refuse("`connection: upgrade` and `upgrade: websocket` are missing");
    }
    if !has_token(headers, header::SEC_WEBSOCKET_VERSION, "13") {
        return refuse("only version 13 is spoken");
    }
    let mut keys = headers.get_all(header::SEC_WEBSOCKET_KEY).iter();
    let key = keys.next().and_then(|key| key.to_str().ok()).filter(|_| keys.next().is_none());
    match key.filter(|key| STANDARD.decode(key).is_ok_and(|key| key.len() == 16)) {
        Some(key) => Ok(STANDARD.encode(Sha1::digest(format!("{key}{ACCEPTED}")))),
        None => refuse("`sec-websocket-key` is not one key of 16 bytes in Base64"),
    }
}

/// A request that may become a WebSocket.
pub(crate) struct Handshake {
    accepted: String,
    pub(crate) format: Format,
    named: Option<&'static str>,
}

impl Handshake {
    pub(crate) fn of<B>(request: &Request<B>) -> Result<Self, Refused> {
        let accepted = check(request)?;
        let offered = request.headers().get_all(header::SEC_WEBSOCKET_PROTOCOL);
        let offered = offered.iter().filter_map(|value| value.to_str().ok());
        let offered: Vec<&str> = offered.flat_map(|value| value.split(',')).collect();
        let Some((format, named)) = Format::choose(&offered) else {
            let reason = "none of the offered sub-protocols is supported";
            return Err(Refusal::Handshake { reason }.into());
        };
        Ok(Self { accepted, format, named })
    }

    /// The response that makes it one.
    pub(crate) fn accepted(self) -> Response<Body> {
        let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        let accepted = HeaderValue::from_str(&self.accepted).expect("Base64 is a header value");
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accepted);
        if let Some(named) = self.named {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(named));
        }
        response
    }
}

/// Opens a WebSocket.
pub(crate) async fn open(
    State(shared): State<Arc<Shared>>,
    mut request: Request<Body>,
) -> Result<Response<Body>, Refused> {
    let handshake = Handshake::of(&request)?;
    let format = handshake.format;
    let slot = request.extensions().get::<Arc<ConnectionSlot>>().cloned();
    let slot = slot.expect("every connection that is served has a place");
    let authority = request.extensions().get::<Authority>().cloned().unwrap_or_default();
    let number = slot.number;
    let others = OtherShards::of(&shared, &request, format);
    let upgrade = hyper::upgrade::on(&mut request);
    let work = async move {
        // A peer that disconnects during the handshake needs no handling.
        let Ok(upgraded) = upgrade.await else { return };
        let Ok(parts) = upgraded.downcast::<TokioIo<DeadlineStream>>() else { return };
        let (stream, queue) = parts.io.into_inner().into_parts();
        // A connection that began with a request for another shard sends for itself.
        let queue = queue.filter(|queue| queue.is_of(&shared));
        let client = connection::ConnectedClient { number, authority, format, others };
        connection::serve(shared, client, (stream, queue), parts.read_buf).await;
    };
    tokio::spawn(slot.run(Box::pin(work)));
    Ok(handshake.accepted())
}
