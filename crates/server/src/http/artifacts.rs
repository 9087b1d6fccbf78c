//! Artifacts: raw bytes, transferred in parts.
//!
//! ```text
//!   PUT  body ──▶ pieces, at most a few in memory ──▶ a thread that writes ──▶ blob, then record
//!   GET  blob ──▶ a block, verified ──▶ body, as the caller accepts it
//! ```
//!
//! A caller that disconnects during an upload leaves nothing behind. One that disconnects after its
//! last byte may find the artifact there: recording it is not interrupted.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{get, put};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use baton::blobs::{BlobReader, StoredBlob};
use baton::{Caller, PutOptions};
use baton_core::access::Action;
use baton_core::artifact::Artifact;
use baton_core::wire::Fault;
use baton_core::{ArtifactId, MediaType};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::range::{Part, part};
use super::request_context::{RequestContext, header_text, json};
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::Shared;

/// The expected digest of the body.
const EXPECTED: HeaderName = HeaderName::from_static("baton-artifact");
/// The same in the form of RFC 9530.
const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");
/// The digest of the whole content, in the same form.
const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");
/// Pieces of an upload that wait to be written. Each is the result of one read.
const PIECES_WAITING: usize = 16;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/v1/{workspace}/artifacts", put(upload))
        .route("/v1/{workspace}/artifacts/{artifact}", get(download))
}

/// The query parameters of an upload.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    name: Option<baton_core::ContentName>,
    keep_ms: Option<u64>,
}

async fn upload(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    let (parts, body) = request.into_parts();
    let context = RequestContext::without_body(parts, &shared).await?;
    context.authority.permits_action(&context.caller, Action::PutArtifact)?;
    let Parameters { name, keep_ms } = context.fields().to()?;
    let media_type = header_text(&context.headers, &header::CONTENT_TYPE)?;
    let bad = |error| Fault::field("content-type", error);
    let media_type = media_type.filter(|given| !given.is_empty()).map(|it| MediaType::parse(&it));
    let options = PutOptions {
        name,
        media_type: media_type.transpose().map_err(bad)?,
        keep_ms,
        expected: expected(&context.headers)?,
    };
    let _slot = shared.upload_slot(context.sharers())?;
    let (caller, fence) = (context.caller.clone(), context.fence()?);
    let stored = receive(&context, &caller, body).await?;
    let baton = shared.baton.clone();
    // In a separate task, so that it completes even if the caller has gone.
    let recording =
        tokio::spawn(async move { baton.record(&caller, stored, options, fence).await });
    let put = recording.await.map_err(|_| Refusal::Closing {})??;
    let mut response = json(serde_json::to_vec(&put.artifact).expect("artifacts can be encoded"));
    if !put.known {
        *response.status_mut() = StatusCode::CREATED;
    }
    response.headers_mut().insert(header::ETAG, tag(&put.artifact.artifact));
    Ok(response)
}

/// The digest that the headers announce.
fn expected(headers: &HeaderMap) -> Result<Option<ArtifactId>, Refused> {
    if let Some(text) = header_text(headers, &EXPECTED)? {
        let id = ArtifactId::parse(text.trim().trim_matches('"'));
        return Ok(Some(id.map_err(|error| Fault::field(EXPECTED.as_str(), error))?));
    }
    let Some(text) = header_text(headers, &CONTENT_DIGEST)? else { return Ok(None) };
    let mut digests = text.split(',').map(str::trim);
    // Digests of other kinds may be listed too, and are ignored.
    let Some(digest) = digests.find_map(|it| it.strip_prefix("sha-256=")) else {
        return Ok(None);
    };
    let bytes = digest.strip_prefix(':').and_then(|rest| rest.strip_suffix(':'));
    let bytes = bytes.and_then(|text| BASE64_STANDARD.decode(text).ok());
    let bytes = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let reason = "it must be `sha-256=:` and 32 bytes as base64 and `:`";
    let digest = bytes.ok_or_else(|| Fault::field(CONTENT_DIGEST.as_str(), reason))?;
    Ok(Some(ArtifactId::of_digest(&digest)))
}

/// Writes a body as it arrives. An incomplete one leaves nothing behind.
async fn receive(
    context: &RequestContext,
    caller: &Caller,
    body: Body,
) -> Result<StoredBlob, Refused> {
    let (sender, mut receiver) = mpsc::channel::<Option<Bytes>>(PIECES_WAITING);
    let (baton, uploader) = (context.shared.baton.clone(), caller.clone());
    let writing = spawn_blocking(move || {
        let mut upload = baton.upload(&uploader)?;
        while let Some(piece) = receiver.blocking_recv() {
            match piece {
                Some(piece) => upload.write(&piece)?,
                None => return upload.commit().map(Some),
            }
        }
        Ok(None)
    });
    let sent = send_all(context, body, sender).await;
    let written: Result<Option<StoredBlob>, baton::error::Error> =
        writing.await.map_err(|_| Refusal::Closing {})?;
    // The writer has the reason why it accepted no more.
    let stored = written?;
    sent?;
    stored.ok_or_else(cut_off)
}

fn cut_off() -> Refused {
    Fault::Malformed { reason: "the body was cut off".to_owned() }.into()
}

/// Passes on a body piece by piece, and then its end.
pub(super) async fn send_all(
    context: &RequestContext,
    body: Body,
    sender: mpsc::Sender<Option<Bytes>>,
) -> Result<(), Refused> {
    let settings = &context.shared.settings;
    let (begun, mut received) = (Instant::now(), 0_u64);
    let mut pieces = body.into_data_stream();
    loop {
        // Every piece within the deadline, and all together not slower than the lowest rate: an
        // upload occupies a thread and a slot that others wait for.
        let allowed = Duration::from_secs(received / settings.upload_rate_min.max(1));
        let allowed = allowed.saturating_add(settings.body_deadline);
        let left = allowed.saturating_sub(begun.elapsed()).min(settings.body_deadline);
        let next = tokio::select! {
            biased;
            next = tokio::time::timeout(left, pieces.next()) => next,
            () = context.shared.last_bytes() => return Err(Refusal::Closing {}.into()),
        };
        let next = next.map_err(|_| Refusal::Timeout { deadline_ms: allowed.as_millis() })?;
        let piece = next.transpose().map_err(|_| cut_off())?;
        let is_last = piece.is_none();
        let bytes = piece.as_ref().map_or(0, Bytes::len);
        received += bytes as u64;
        context.authority.charge_bytes(&context.caller.workspace, bytes);
        if sender.send(piece).await.is_err() || is_last {
            return Ok(());
        }
    }
}

async fn download(context: RequestContext) -> Result<Response<Body>, Refused> {
    context.no_body()?;
    context.authority.permits_action(&context.caller, Action::ReadArtifact)?;
    let Wanted { artifact } = context.fields().to()?;
    let (shown, content) = context.shared.baton.open_artifact(&context.caller, &artifact).await?;
    if is_known(&context.headers, &artifact)? {
        let mut response = StatusCode::NOT_MODIFIED.into_response();
        response.headers_mut().insert(header::ETAG, tag(&artifact));
        return Ok(response);
    }
    let length = content.len();
    let wanted = header_text(&context.headers, &header::RANGE)?;
    let only_if = header_text(&context.headers, &header::IF_RANGE)?;
    let is_same = only_if.is_none_or(|known| known.as_bytes() == tag(&artifact).as_bytes());
    let (status, first, last) = match part(wanted.as_deref().filter(|_| is_same), length) {
        Part::Whole => (StatusCode::OK, 0, length),
        Part::Within(first, last) => (StatusCode::PARTIAL_CONTENT, first, last),
        Part::Nothing => return Ok(unsatisfiable(length)),
    };
    // Before the response begins, so that damage at the beginning can be reported.
    let (content, block) = read_block(content, first).await?;
    let blocks = blocks(content, block, first, last);
    let mut response = Response::new(Body::from_stream(blocks));
    *response.status_mut() = status;
    describe(response.headers_mut(), &shown, last - first);
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {first}-{}/{length}", last.saturating_sub(1));
        insert(response.headers_mut(), header::CONTENT_RANGE, &range);
    }
    Ok(response)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    artifact: ArtifactId,
}

fn tag(artifact: &ArtifactId) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{artifact}\"")).expect("an id is plain ASCII")
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    headers.insert(name, HeaderValue::from_str(value).expect("it is plain ASCII"));
}

/// Whether the caller has it already.
fn is_known(headers: &HeaderMap, artifact: &ArtifactId) -> Result<bool, Refused> {
    let known = header_text(headers, &header::IF_NONE_MATCH)?;
    let tag = tag(artifact);
    let is_it = |known: &str| {
        let known = known.trim().trim_start_matches("W/");
        known == "*" || known.as_bytes() == tag.as_bytes()
    };
    Ok(known.is_some_and(|known| known.split(',').any(is_it)))
}

/// Describes a content, and keeps a browser from executing it as a page of this server.
fn describe(headers: &mut HeaderMap, shown: &Artifact, length: u64) {
    insert(headers, header::CONTENT_TYPE, shown.media_type.as_str());
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(header::ETAG, tag(&shown.artifact));
    insert(headers, header::ACCEPT_RANGES, "bytes");
    insert(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    insert(headers, header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'");
    insert(headers, header::CACHE_CONTROL, "private");
    let name = shown.name.as_ref().map_or(String::new(), |name| {
        let signs = percent_encoding::NON_ALPHANUMERIC;
        let name = percent_encoding::utf8_percent_encode(name.as_str(), signs);
        format!("; filename*=UTF-8''{name}")
    });
    insert(headers, header::CONTENT_DISPOSITION, &format!("attachment{name}"));
    insert(headers, REPR_DIGEST, &format!("sha-256=:{}:", in_base64(&shown.artifact)));
}

fn in_base64(artifact: &ArtifactId) -> String {
    let digits = artifact.as_str().trim_start_matches("sha256:");
    let byte = |index: usize| u8::from_str_radix(digits.get(index..index + 2)?, 16).ok();
    let bytes: Vec<u8> = (0..digits.len()).step_by(2).filter_map(byte).collect();
    BASE64_STANDARD.encode(bytes)
}

fn unsatisfiable(length: u64) -> Response<Body> {
    let mut response = Refused::from(Refusal::BadRange { length }).into_response();
    insert(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{length}"));
    response
}

async fn read_block(content: BlobReader, offset: u64) -> Result<(BlobReader, Vec<u8>), Refused> {
    let read = spawn_blocking(move || content.block(offset).map(|block| (content, block)));
    Ok(read.await.map_err(|_| Refusal::Closing {})??)
}

/// The blocks of a part; each is read when the previous one was sent. If one is damaged, the body
/// and the connection end early, so that it is not mistaken for the complete content.
fn blocks(
    content: BlobReader,
    block: Vec<u8>,
    first: u64,
    last: u64,
) -> impl Stream<Item = std::io::Result<Bytes>> {
    stream::unfold(Some((content, block, first)), move |state| async move {
        let (content, mut block, offset) = state?;
        if offset >= last || block.is_empty() {
            return None;
        }
        let left = usize::try_from(last - offset).unwrap_or(usize::MAX);
        block.truncate(left);
        let next = offset + block.len() as u64;
        let piece = Bytes::from(block);
        if next >= last {
            return Some((Ok(piece), None));
        }
        match read_block(content, next).await {
            Ok((content, block)) => Some((Ok(piece), Some((content, block, next)))),
            Err(refused) => Some((Err(std::io::Error::other(refused.0.detail)), None)),
        }
    })
}
