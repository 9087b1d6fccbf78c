//! Events as they happen, as Server-Sent Events.
//!
//! ```text
//!   event: state.set
//!   id: 42                      only on the last event of a commit, so that resuming after it
//!   data: {"revision":42,…}     never splits one
//! ```
//!
//! A live event, which is not in the log, has no id: nothing can be resumed after it.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, header};
use axum::routing::get;
use baton::{EngineWatch, Item};
use baton_core::wire::{Call, Fault, Problem, Watch as Wanted};
use baton_core::{Entry, Revision};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};

use super::request_context::{RequestContext, header_text};
use crate::access::Authority;
use crate::large_answer::{are_large, encode_apart};
use crate::problem::Refused;
use crate::shared::{Shared, WatchSlot};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new().route("/v1/{workspace}/watch", get(watch))
}

async fn watch(context: RequestContext) -> Result<Response<Body>, Refused> {
    context.no_body()?;
    let mut fields = context.fields();
    if !fields.has("pattern") {
        fields.text("pattern", "**");
    }
    let mut wanted: Wanted = fields.to()?;
    if let Some(seen) = header_text(&context.headers, &LAST_EVENT_ID)?
        && !seen.is_empty()
    {
        let seen: u64 =
            seen.parse().map_err(|_| Fault::field("last-event-id", "it must be a revision"))?;
        wanted.from = Some(Revision(seen.saturating_add(1)));
        wanted.snapshot = false;
    }
    let call = Call::Watch(wanted.clone());
    context.authority.permits(&context.caller.workspace, &context.caller.agent, &call, 0)?;
    let slot = WatchSlot::enter(&context.shared, &context.authority, &context.caller.workspace)?;
    let watch = context.shared.baton.watch(&context.caller, wanted).await?;
    let mut response = Response::new(Body::from_stream(events(slot, watch, context.authority)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

/// The text of the stream, until the watch ends or the client disconnects.
fn events(
    slot: WatchSlot,
    watch: EngineWatch,
    authority: Authority,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let begun = (slot, Some(watch), true);
    let events = stream::unfold(begun, async |(slot, watch, is_first)| {
        let mut watch = watch?;
        if is_first {
            // Sent at once, so that the client knows that the watch has started.
            let text = Bytes::from_static(b"retry: 1000\n: watching\n\n");
            return Some((Ok(text), (slot, Some(watch), false)));
        }
        let every = slot.shared().settings.comment_every;
        let text = match tokio::time::timeout(every, watch.next()).await {
            Err(_) => Bytes::from_static(b": still here\n\n"),
            Ok(None) => return None,
            Ok(Some(Ok(item))) => {
                slot.shared().metrics.pushed.add(1);
                let text = match item {
                    Item::Snapshot { revision, entries } if are_large(&entries) => {
                        let encode = move || snapshot_text(revision, &entries);
                        encode_apart(&slot.shared().encoders, encode).await
                    }
                    item => text_of(&item, &watch),
                };
                slot.shared().fairness.enter(&slot.workspace, text.len()).await;
                Bytes::from(text)
            }
            Ok(Some(Err(error))) => {
                let problem = serde_json::to_string(&Problem::from(&error));
                let problem = problem.expect("problems can be encoded");
                let text = Bytes::from(format!("event: error\ndata: {problem}\n\n"));
                return Some((Ok(text), (slot, None, false)));
            }
        };
        Some((Ok(text), (slot, Some(watch), false)))
    });
    events.take_until(async move { authority.ended().await })
}

fn text_of(item: &Item, watch: &EngineWatch) -> Vec<u8> {
    let mut out = Vec::new();
    match item {
        Item::Event(notice) => {
            out.extend_from_slice(format!("event: {}\n", notice.kind()).as_bytes());
            if !notice.is_live() && watch.resume_from() > notice.revision() {
                out.extend_from_slice(format!("id: {}\n", notice.revision()).as_bytes());
            }
            data(&mut out, &notice.json());
        }
        Item::Snapshot { revision, entries } => return snapshot_text(*revision, entries),
    }
    out
}

fn snapshot_text(revision: Revision, entries: &[Entry]) -> Vec<u8> {
    let mut out = format!("event: snapshot\nid: {revision}\n").into_bytes();
    let mut text = format!("{{\"revision\":{revision},\"entries\":").into_bytes();
    serde_json::to_writer(&mut text, entries).expect("entries can be encoded");
    text.push(b'}');
    data(&mut out, &text);
    out
}

/// A value may contain line breaks, as it was written; each line needs its own field.
fn data(out: &mut Vec<u8>, text: &[u8]) {
    for line in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out.push(b'\n');
}
