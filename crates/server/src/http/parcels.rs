//! A workspace as one file, transferred in parts.
//!
//! ```text
//!   GET   space and blobs ──▶ a packing thread ──▶ a few pieces ──▶ body, as it is accepted
//!   POST  body ──▶ a few pieces ──▶ an unpacking thread ──▶ verified, then a workspace
//! ```
//!
//! An export that cannot start is refused before anything is sent. If it fails later, the body and
//! the connection end early; the file shows that it is incomplete.

use std::io::{BufWriter, Error, ErrorKind, Read, Result as IoResult, Write};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::routing::{get, post};
use baton::Caller;
use baton_core::access::Action;
use baton_core::history::At;
use bytes::{Buf, Bytes};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::artifacts::send_all;
use super::request_context::{RequestContext, json};
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::Shared;

/// Pieces that wait to be sent, or to be read.
pub(crate) const PIECES_WAITING: usize = 4;
/// How much is sent at a time.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/v1/{workspace}/export", get(export))
        .route("/v1/{workspace}/import", post(import))
}

/// The query parameters of an export.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    at: Option<At>,
}

/// The query parameters of an import.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

async fn export(context: RequestContext) -> Result<Response<Body>, Refused> {
    context.no_body()?;
    context.authority.permits_action(&context.caller, Action::Export)?;
    let Parameters { at } = context.fields().to()?;
    let (shared, caller) = (Arc::clone(&context.shared), context.caller.clone());
    let sharers = context.sharers();
    let name = format!("{}.baton", caller.workspace);
    let pack = |output| async move {
        let _slot = shared.upload_slot(sharers)?;
        Ok(shared.baton.export(&caller, at, output).await?)
    };
    streamed(&name, pack).await
}

/// Responds with a file while it is being written. A failure before its first byte is a refusal.
pub(super) async fn streamed<F>(
    name: &str,
    pack: impl FnOnce(Box<dyn Write + Send>) -> F,
) -> Result<Response<Body>, Refused>
where
    F: Future<Output = Result<(), Refused>> + Send + 'static,
{
    let (sender, mut receiver) = mpsc::channel::<Bytes>(PIECES_WAITING);
    let output = BufWriter::with_capacity(PIECE_BYTES, Sending(sender));
    let packing = tokio::spawn(pack(Box::new(output)));
    let Some(first) = receiver.recv().await else {
        // Nothing was sent, and nothing will be: the packing thread has the reason.
        let packed = packing.await.map_err(|_| Refusal::Closing {})?;
        return Err(packed.err().unwrap_or_else(|| Refusal::Closing {}.into()));
    };
    let mut response = Response::new(Body::from_stream(pieces(first, receiver, packing)));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, kind);
    let name = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    let name = name.expect("names of workspaces are plain");
    headers.insert(header::CONTENT_DISPOSITION, name);
    Ok(response)
}

/// The pieces of an export. If it fails, the body ends with an error.
fn pieces(
    first: Bytes,
    receiver: mpsc::Receiver<Bytes>,
    packing: JoinHandle<Result<(), Refused>>,
) -> impl stream::Stream<Item = IoResult<Bytes>> {
    let state = Some((Some(first), receiver, packing));
    stream::unfold(state, |state| async move {
        let (first, mut receiver, packing) = state?;
        if let Some(first) = first {
            return Some((Ok(first), Some((None, receiver, packing))));
        }
        if let Some(piece) = receiver.recv().await {
            return Some((Ok(piece), Some((None, receiver, packing))));
        }
        match packing.await {
            Ok(Ok(())) => None,
            Ok(Err(refused)) => Some((Err(Error::other(refused.0.detail)), None)),
            Err(_) => Some((Err(Error::other("the export was given up")), None)),
        }
    })
}

async fn import(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    let (parts, body) = request.into_parts();
    let context = RequestContext::without_body(parts, &shared).await?;
    context.authority.permits_action(&context.caller, Action::Import)?;
    context.no_fence()?;
    let Nothing {} = context.fields().to()?;
    let _slot = shared.upload_slot(context.sharers())?;
    let caller = Caller { idempotency_key: None, ..context.caller.clone() };
    let (sender, receiver) = mpsc::channel::<Option<Bytes>>(PIECES_WAITING);
    let received = Received::new(receiver);
    let baton = shared.baton.clone();
    // In a separate task, so that it completes even if the caller has gone.
    let unpacking = tokio::spawn(async move { baton.import(&caller, Box::new(received)).await });
    let sent = send_all(&context, body, sender).await;
    let unpacked = unpacking.await.map_err(|_| Refusal::Closing {})?;
    // A truncated body is the reason why its content is damaged.
    sent?;
    let mut response = json(serde_json::to_vec(&unpacked?).expect("origins can be encoded"));
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Passes written bytes to the sender. Used by a separate thread.
pub(crate) struct Sending(pub(crate) mpsc::Sender<Bytes>);

impl Write for Sending {
    fn write(&mut self, bytes: &[u8]) -> IoResult<usize> {
        let gone = |_| Error::new(ErrorKind::BrokenPipe, "the reader is gone");
        self.0.blocking_send(Bytes::copy_from_slice(bytes)).map_err(gone)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> IoResult<()> {
        Ok(())
    }
}

/// Received bytes, to be read by a separate thread.
pub(crate) struct Received {
    receiver: mpsc::Receiver<Option<Bytes>>,
    current: Bytes,
    is_over: bool,
}

impl Received {
    pub(crate) fn new(receiver: mpsc::Receiver<Option<Bytes>>) -> Self {
        Self { receiver, current: Bytes::new(), is_over: false }
    }
}

impl Read for Received {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        while self.current.is_empty() && !self.is_over {
            match self.receiver.blocking_recv() {
                Some(Some(piece)) => self.current = piece,
                Some(None) => self.is_over = true,
                None => return Err(ErrorKind::UnexpectedEof.into()),
            }
        }
        let count = buffer.len().min(self.current.len());
        self.current.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}
