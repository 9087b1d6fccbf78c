//! Bytes over HTTP: artifacts, secrets and exports do not use the WebSocket, which is for short
//! messages.
//!
//! Each upload and download has its own connection, so that a large one delays no call. An upload
//! that breaks is not repeated, because the reader cannot be read again. Storing the same bytes
//! twice is safe.

use std::io::{ErrorKind, Read, Write};

use baton_core::artifact::Artifact;
use baton_core::history::At;
use baton_core::secret::Secret;
use baton_core::workspace::Forked;
use baton_core::{ArtifactId, SecretId};
use futures_util::stream;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Body, Bytes, Frame};
use hyper::http::request::Builder;
use hyper::{Method, Request, Response, StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use crate::Error;
use crate::carrier::{Caller, Content, Pending, PutOptions, SecretOptions, StoredArtifact};
use crate::net::client::Client;
use crate::net::dialer::odd;
use crate::net::stall_timer::ResponseBody;

/// The size of a piece.
const PIECE_BYTES: usize = 256 << 10;
/// How many pieces may wait to be sent.
const PIECES_WAITING: usize = 2;
/// How much of a response is read, unless it is an artifact.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// An artifact that is being downloaded.
struct Download {
    body: ResponseBody,
    /// How many bytes are missing, to detect an early end.
    left: u64,
}

impl Content for Download {
    fn next(&mut self) -> Pending<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            while let Some(frame) = self.body.frame().await {
                let frame = frame.map_err(|error| odd(format!("it ends early: {error}")))?;
                let Ok(data) = frame.into_data() else { continue };
                self.left = self.left.saturating_sub(data.len() as u64);
                return Ok(Some(data.to_vec()));
            }
            if self.left > 0 {
                return Err(odd(format!("it ends {} bytes early", self.left)));
            }
            Ok(None)
        })
    }
}

fn broken(error: impl std::fmt::Display) -> Error {
    Error::Unknown { reason: format!("the connection broke: {error}") }
}

impl Client {
    /// Sends a request over a separate connection.
    async fn request<B>(&self, request: Request<B>) -> Result<Response<ResponseBody>, Error>
    where
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.dialer().ask(request, self.multiplexer().options().stall_max).await
    }

    /// Sends a request to the administration API of the server: a path under `/v1/`.
    pub async fn administer<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        given: Option<&serde_json::Value>,
    ) -> Result<T, Error> {
        let builder = self.dialer().request(method, &format!("/v1/{path}"));
        let body = given.map(serde_json::Value::to_string).unwrap_or_default();
        let request = builder.body(Full::new(Bytes::from(body))).map_err(odd)?;
        json(self.request(request).await?).await
    }

    /// Writes a backup of the whole server.
    pub async fn backup(&self, to: impl Write + Send) -> Result<(), Error> {
        let builder = self.dialer().request(Method::GET, "/v1/access/backup");
        let request = builder.body(Full::<Bytes>::default()).map_err(odd)?;
        write_body(self.request(request).await?.into_body(), to).await
    }

    fn begin(&self, method: Method, caller: &Caller, rest: &str) -> Builder {
        let path = format!("/v1/{}/{rest}", caller.workspace);
        self.dialer().request(method, &path).header("baton-agent", caller.agent.as_str())
    }
}

/// Writes a body piece by piece.
async fn write_body(mut body: ResponseBody, mut to: impl Write) -> Result<(), Error> {
    let early = |error: std::io::Error| odd(format!("it ends early: {error}"));
    let unkept = |error: std::io::Error| odd(format!("it cannot be kept: {error}"));
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(early)?.into_data() {
            to.write_all(&data).map_err(unkept)?;
        }
    }
    to.flush().map_err(unkept)
}

async fn json<T: DeserializeOwned>(response: Response<ResponseBody>) -> Result<T, Error> {
    let body = http_body_util::Limited::new(response.into_body(), ANSWER_BYTES_MAX);
    let body = body.collect().await.map_err(broken)?;
    let body = body.to_bytes();
    serde_json::from_str(std::str::from_utf8(&body).map_err(odd)?).map_err(odd)
}

fn query(fields: &[(&str, Option<String>)]) -> String {
    let given = fields.iter().filter_map(|(name, value)| {
        let value = value.as_ref()?;
        Some(format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)))
    });
    given.collect::<Vec<_>>().join("&")
}

/// The bytes of a reader as a request body. A separate thread reads them; it ends with the reader
/// or when the body is dropped.
fn pieces(
    mut bytes: Box<dyn Read + Send>,
) -> impl Body<Data = Bytes, Error = std::io::Error> + Send + 'static {
    let (sender, receiver) = mpsc::channel::<std::io::Result<Bytes>>(PIECES_WAITING);
    tokio::task::spawn_blocking(move || {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let read = match bytes.read(&mut piece) {
                Ok(0) => return,
                Ok(count) => Ok(Bytes::copy_from_slice(&piece[..count])),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let is_broken = read.is_err();
            if sender.blocking_send(read).is_err() || is_broken {
                return;
            }
        }
    });
    StreamBody::new(stream::unfold(receiver, |mut receiver| async move {
        let piece = receiver.recv().await?;
        Some((piece.map(Frame::data), receiver))
    }))
}

impl Client {
    pub(super) async fn put(
        &self,
        caller: &Caller,
        options: PutOptions,
        bytes: Box<dyn Read + Send>,
    ) -> Result<StoredArtifact, Error> {
        let PutOptions { name, media_type, keep_ms, expected } = options;
        let given = query(&[
            ("name", name.map(String::from)),
            ("keep_ms", keep_ms.map(|keep_ms| keep_ms.to_string())),
        ]);
        let mut request = self.begin(Method::PUT, caller, &format!("artifacts?{given}"));
        if let Some(media_type) = media_type {
            request = request.header(header::CONTENT_TYPE, media_type.as_str());
        }
        if let Some(expected) = expected {
            request = request.header("baton-artifact", expected.as_str());
        }
        let response = self.request(request.body(Box::pin(pieces(bytes))).map_err(odd)?).await?;
        let known = response.status() != StatusCode::CREATED;
        let artifact: Artifact = json(response).await?;
        Ok(StoredArtifact { artifact, known })
    }

    pub(super) async fn read(
        &self,
        caller: &Caller,
        artifact: &ArtifactId,
        from: u64,
    ) -> Result<Box<dyn Content>, Error> {
        let mut request = self.begin(Method::GET, caller, &format!("artifacts/{artifact}"));
        if from > 0 {
            request = request.header(header::RANGE, format!("bytes={from}-"));
        }
        let request = request.body(Full::<Bytes>::default()).map_err(odd)?;
        let response = self.request(request).await?;
        if from > 0 && response.status() != StatusCode::PARTIAL_CONTENT {
            return Err(odd("it does not begin where it was asked to"));
        }
        let length = response.headers().get(header::CONTENT_LENGTH);
        let length = length.and_then(|text| text.to_str().ok()?.parse().ok());
        let left = length.ok_or_else(|| odd("it does not say how many bytes there are"))?;
        Ok(Box::new(Download { body: response.into_body(), left }))
    }

    pub(super) async fn put_secret(
        &self,
        caller: &Caller,
        options: SecretOptions,
        value: Vec<u8>,
    ) -> Result<Secret, Error> {
        let given = query(&[
            ("name", options.name.map(String::from)),
            ("ttl_ms", options.ttl_ms.map(|ttl_ms| ttl_ms.to_string())),
        ]);
        let request = self.begin(Method::PUT, caller, &format!("secrets?{given}"));
        let request = request.header(header::CONTENT_TYPE, "application/octet-stream");
        let request = request.body(Full::new(Bytes::from(value))).map_err(odd)?;
        json(self.request(request).await?).await
    }

    pub(super) async fn export(
        &self,
        caller: &Caller,
        at: Option<At>,
        to: Box<dyn Write + Send>,
    ) -> Result<(), Error> {
        let given = query(&[("at", at.map(|at| at.to_string()))]);
        let request = self.begin(Method::GET, caller, &format!("export?{given}"));
        let request = request.body(Full::<Bytes>::default()).map_err(odd)?;
        write_body(self.request(request).await?.into_body(), to).await
    }

    pub(super) async fn import(
        &self,
        caller: &Caller,
        from: Box<dyn Read + Send>,
    ) -> Result<Forked, Error> {
        let request = self.begin(Method::POST, caller, "import");
        let request = request.header(header::CONTENT_TYPE, "application/octet-stream");
        let request = request.body(Box::pin(pieces(from))).map_err(odd)?;
        json(self.request(request).await?).await
    }

    pub(super) async fn reveal(
        &self,
        caller: &Caller,
        secret: &SecretId,
    ) -> Result<Vec<u8>, Error> {
        let request = self.begin(Method::POST, caller, &format!("secrets/{secret}/reveal"));
        let request = request.body(Full::<Bytes>::default()).map_err(odd)?;
        let body = self.request(request).await?.into_body();
        let body = http_body_util::Limited::new(body, ANSWER_BYTES_MAX).collect().await;
        Ok(body.map_err(broken)?.to_bytes().to_vec())
    }
}
