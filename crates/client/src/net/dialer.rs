//! HTTP requests to the server: its address, the trusted certificates and the access token.

use std::error::Error as StdError;
use std::fmt::Display;
use std::time::Duration;

use baton_core::wire::Problem;
use baton_tls::{Stream, TlsError, Trust};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes};
use hyper::header::HeaderValue;
use hyper::http::request::Builder;
use hyper::{Method, Request, Response, StatusCode, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::Error;
use crate::net::address::Address;
use crate::net::options::Options;
use crate::net::stall_timer::{RequestBody, ResponseBody, StallTimer, stalled};

/// How much of an error response is read.
const REFUSAL_BYTES_MAX: usize = 1 << 20;

/// How to connect to the server.
#[derive(Clone)]
pub(crate) struct Dialer {
    address: Address,
    /// None without TLS.
    trust: Option<Trust>,
    /// The access token, as a header.
    token: Option<HeaderValue>,
    /// How long one attempt to connect may take.
    connect_timeout: Duration,
}

impl Dialer {
    /// Reads the certificates, so that an invalid file is reported before the first connection.
    pub(crate) fn new(address: Address, options: &Options) -> Result<Self, Error> {
        let trust = if address.is_secure() {
            Some(Trust::of(options.ca_file.as_deref()).map_err(|error| tls(&error))?)
        } else {
            None
        };
        let token = options.token.as_deref().map(bearer).transpose()?;
        Ok(Self { address, trust, token, connect_timeout: options.connect_timeout })
    }

    /// The address of the server.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// The error of a server that cannot be reached or does not answer.
    pub(crate) fn unreachable(&self, reason: impl Display) -> Error {
        Error::Unreachable { url: self.address.to_string(), reason: reason.to_string() }
    }

    /// Awaits an attempt to connect for at most `connect_timeout`.
    pub(crate) async fn within_timeout<T>(
        &self,
        attempt: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let waited = self.connect_timeout.as_millis();
        let late = || self.unreachable(format!("no response within {waited} ms"));
        timeout(self.connect_timeout, attempt).await.unwrap_or_else(|_| Err(late()))
    }

    /// Connects once.
    async fn dial(&self) -> Result<Stream, Error> {
        let stream = TcpStream::connect(self.address.authority()).await;
        let stream = stream.map_err(|error| self.unreachable(error))?;
        // Small frames should be sent at once; if this fails, they are only slower.
        let _ = stream.set_nodelay(true);
        let Some(trust) = &self.trust else { return Ok(Stream::from(stream)) };
        let shaken = trust.connect(self.address.host(), stream).await;
        shaken.map_err(|error| match error {
            TlsError::Broken { .. } => self.unreachable(error),
            error => tls(&error),
        })
    }

    /// A request for a path, with the headers that every request has.
    pub(crate) fn request(&self, method: Method, path: &str) -> Builder {
        let builder = Request::builder().method(method).uri(path);
        let builder = builder.header(header::HOST, self.address.authority());
        match &self.token {
            Some(token) => builder.header(header::AUTHORIZATION, token),
            None => builder,
        }
    }

    /// Sends a request over a separate connection. Once it is connected, the server may make no
    /// progress for at most `stall_max`.
    pub(crate) async fn ask<B>(
        &self,
        request: Request<B>,
        stall_max: Duration,
    ) -> Result<Response<ResponseBody>, Error>
    where
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let is_question = request.method() == Method::GET;
        let broken = |error: hyper::Error| self.unanswered(is_question, &error);
        let stream = self.within_timeout(self.dial()).await?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // It ends with the response body, when that is dropped, or with an upgrade.
        tokio::spawn(async move { drop(connection.with_upgrades().await) });
        let timer = StallTimer::new();
        let request = request.map(|body| RequestBody::new(body, &timer));
        let response = tokio::select! {
            response = sender.send_request(request) => response.map_err(broken)?,
            () = timer.overdue(stall_max) => return Err(late(is_question, stall_max)),
        };
        let response = response.map(|body| ResponseBody::new(body, stall_max));
        let status = response.status();
        if status.is_success() || status == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(response);
        }
        Err(refused(response).await)
    }

    /// The error if the connection breaks before the response.
    fn unanswered(&self, is_question: bool, error: &hyper::Error) -> Error {
        // The error of the operating system is the source of the HTTP error.
        let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        if !is_question {
            return Error::Unknown { reason };
        }
        if error.is_parse() { odd(reason) } else { self.unreachable(reason) }
    }
}

/// The error if there is no response in time: a query has changed nothing.
fn late(is_question: bool, after: Duration) -> Error {
    if is_question {
        return Error::Timeout { after };
    }
    Error::Unknown { reason: stalled(after) }
}

/// The access token as a header value.
fn bearer(token: &str) -> Result<HeaderValue, Error> {
    let mut shown =
        HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| Error::BadToken)?;
    shown.set_sensitive(true);
    Ok(shown)
}

/// The connection could not be secured.
fn tls(error: &TlsError) -> Error {
    let problem = Problem::new(error.code(), error.kind(), error, error.hint(), &json!({}));
    Error::Tls(Box::new(problem))
}

/// The response of the server was not understood.
pub(crate) fn odd(what: impl Display) -> Error {
    Error::Protocol { what: what.to_string() }
}

async fn refused(response: Response<ResponseBody>) -> Error {
    let status = response.status();
    let body = Limited::new(response.into_body(), REFUSAL_BYTES_MAX);
    let Ok(body) = body.collect().await else { return odd(status) };
    let text = String::from_utf8(body.to_bytes().to_vec()).unwrap_or_default();
    match Problem::parse(&text) {
        Ok(problem) => Error::Refused(Box::new(problem)),
        Err(_) => odd(format!("it answers with status {status}")),
    }
}
