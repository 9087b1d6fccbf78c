//! Connections with HTTP/2, which gRPC needs.
//!
//! ```text
//!   first bytes ──▶ `PRI * HTTP/2.0 …` ──▶ HTTP/2: every request on a stream, many at a time
//!               └─▶ anything else ───────▶ HTTP/1.1
//! ```
//!
//! The first bytes of a peer determine the protocol, with TLS and without: there is no upgrade.
//! Requests pass through the same checks and the same router.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, header};
use baton_tls::Stream;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::AsyncReadExt;

use crate::deadline_stream::DeadlineStream;
use crate::settings::Settings;
use crate::shared::Signal;

/// The first bytes that a peer sends.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Requests at a time on one connection; further ones are refused by the protocol.
const STREAMS_MAX: u32 = 128;
/// Unsent bytes of one answer.
const UNSENT_BYTES_MAX: usize = 64 << 10;

/// Reads until it is clear which protocol the peer uses, and returns the bytes. None if the peer
/// sends nothing for too long, or the server stops.
pub(crate) async fn opening(
    settings: &Settings,
    closing: &Signal,
    stream: &mut Stream,
) -> Option<Vec<u8>> {
    let mut first = Vec::new();
    let reading = async {
        while first.len() < PREFACE.len() && PREFACE.starts_with(&first) {
            let mut bytes = [0; PREFACE.len()];
            let wanted = PREFACE.len() - first.len();
            match stream.read(&mut bytes[..wanted]).await {
                // The protocol decides what follows: the connection ends, or fails in the same way.
                Ok(0) | Err(_) => break,
                Ok(count) => first.extend_from_slice(&bytes[..count]),
            }
        }
    };
    tokio::select! {
        biased;
        () = reading => Some(first),
        () = closing.raised() => None,
        () = tokio::time::sleep(settings.head_deadline) => None,
    }
}

/// Serves a connection that has begun with the preface, until it ends or the server stops.
pub(crate) async fn serve<F>(
    settings: &Settings,
    closing: &Signal,
    stream: DeadlineStream,
    answer: impl Fn(Request<Incoming>) -> F,
) where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let answering = answer(with_host(request));
        async move { Ok::<_, Infallible>(answering.await) }
    });
    let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    builder.timer(TokioTimer::new()).max_concurrent_streams(STREAMS_MAX);
    builder.max_send_buf_size(UNSENT_BYTES_MAX);
    builder.max_header_list_size(u32::try_from(settings.head_bytes_max).unwrap_or(u32::MAX));
    builder.keep_alive_interval(settings.ping_every).keep_alive_timeout(settings.ping_every);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        () = closing.raised() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// The request with its authority as `Host`, which the checks read. If it has another `Host`, it
/// has two then, and is refused.
fn with_host(mut request: Request<Incoming>) -> Request<Incoming> {
    let authority = request.uri().authority().map(|name| HeaderValue::from_str(name.as_str()));
    if let Some(Ok(host)) = authority
        && request.headers().get(header::HOST) != Some(&host)
    {
        request.headers_mut().append(header::HOST, host);
    }
    request
}
