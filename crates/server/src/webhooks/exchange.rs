//! One request to another host, if that may be called.

use std::net::SocketAddr;

use axum::http::{Request, StatusCode};
use baton_tls::{Stream, TlsError};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;

use super::Webhooks;
use super::address::{Address, is_public};

/// An error, and whether a retry may help.
#[derive(Debug)]
pub(crate) struct CallError {
    pub(crate) detail: String,
    pub(crate) again: bool,
}

pub(crate) fn call_error(detail: impl Into<String>, again: bool) -> CallError {
    CallError { detail: detail.into(), again }
}

/// A response whose body is still to be read.
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    #[cfg_attr(not(feature = "a2a"), expect(dead_code, reason = "only peers are read"))]
    pub(crate) body: Incoming,
    /// The connection, which ends when this is dropped.
    _connection: JoinSet<()>,
}

/// Sends a request, and returns the head of the response.
pub(crate) async fn exchange(
    address: &Address<'_>,
    request: Request<Full<Bytes>>,
    webhooks: &Webhooks,
) -> Result<Answered, CallError> {
    let stream = connected(address, webhooks).await?;
    let broken = |error: hyper::Error| call_error(format!("the connection broke: {error}"), true);
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(broken)?;
    let mut driver = JoinSet::new();
    driver.spawn(async move {
        // However it ends, the request is notified.
        let _ = connection.await;
    });
    let response = sender.send_request(request).await.map_err(broken)?;
    let status = response.status();
    Ok(Answered { status, body: response.into_body(), _connection: driver })
}

/// A connection to one of the checked addresses; its certificate proves whether it is the host of
/// that name.
async fn connected(address: &Address<'_>, webhooks: &Webhooks) -> Result<Stream, CallError> {
    let found = allowed(address, webhooks).await?;
    let reached = TcpStream::connect(&*found).await;
    let socket = reached.map_err(|error| call_error(format!("cannot connect: {error}"), true))?;
    if !address.is_secure {
        return Ok(Stream::from(socket));
    }
    // A retry may always help: certificates are renewed.
    let distrusted = |error: &TlsError| call_error(format!("{}: {error}", error.code()), true);
    let trust = webhooks.trust.as_ref().map_err(distrusted)?;
    trust.connect(address.host, socket).await.map_err(|error| distrusted(&error))
}

/// The addresses of the host, if all of them may be called.
async fn allowed(address: &Address<'_>, webhooks: &Webhooks) -> Result<Vec<SocketAddr>, CallError> {
    let looked_up = lookup_host((address.host, address.port)).await;
    let unknown = |reason: String| call_error(format!("`{}`: {reason}", address.host), true);
    let found: Vec<_> = looked_up.map_err(|error| unknown(error.to_string()))?.collect();
    if found.is_empty() {
        return Err(unknown("the host has no address".to_owned()));
    }
    // One private address is enough to refuse: otherwise it would be arbitrary which one is called.
    match found.iter().find(|there| !webhooks.private && !is_public(there.ip())) {
        Some(private) => {
            let detail = format!("{} is not a public address", private.ip());
            Err(call_error(detail, false))
        }
        None => Ok(found),
    }
}
