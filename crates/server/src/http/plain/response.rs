//! The bytes of responses.

use std::cell::RefCell;
use std::time::{Duration, UNIX_EPOCH};

use axum::body::{Body, to_bytes};
use axum::http::{HeaderName, Response, header};
use axum::response::IntoResponse;
use baton_core::wire::{write_number, write_reply};
use baton_core::{Answer, Reply, state};
use httpdate::fmt_http_date;
use tokio::time::Instant;

use crate::access::now;
use crate::http::request_context::{HttpAnswer, REVISION};

/// The room for a response with a small entry.
const RESPONSE_BYTES: usize = 512;

/// The value of `Date`, and until when it holds.
struct CachedDate {
    text: String,
    until: Option<Instant>,
}

thread_local! {
    static DATE: RefCell<CachedDate> = const {
        RefCell::new(CachedDate { text: String::new(), until: None })
    };
}

/// The bytes of an answer, which is one entry as a rule. Its headers are those of [`HttpAnswer`].
pub(super) async fn of_answer(answer: Answer, is_last: bool) -> Vec<u8> {
    let Reply::State(state::Reply::Entry(entry)) = &answer.reply else {
        return of_response(HttpAnswer(answer, None).into_response(), is_last).await;
    };
    let mut body = Vec::with_capacity(RESPONSE_BYTES);
    write_reply(&mut body, &answer.reply);
    body.push(b'\n');
    let mut out = Vec::with_capacity(RESPONSE_BYTES + body.len());
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n");
    out.extend_from_slice(REVISION.as_str().as_bytes());
    out.extend_from_slice(b": ");
    write_number(&mut out, answer.revision.0);
    out.extend_from_slice(b"\r\netag: \"");
    write_number(&mut out, entry.version().0);
    out.extend_from_slice(b"\"\r\n");
    write_end_of_head(&mut out, body.len(), is_last);
    out.extend_from_slice(&body);
    out
}

/// The bytes of any response whose body is in memory.
pub(super) async fn of_response(response: Response<Body>, is_last: bool) -> Vec<u8> {
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("a body in memory is complete");
    let mut out = b"HTTP/1.1 ".to_vec();
    write_number(&mut out, parts.status.as_u16().into());
    out.push(b' ');
    out.extend_from_slice(parts.status.canonical_reason().unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
    // The router gives the length as well.
    for (name, value) in parts.headers.iter().filter(|(name, _)| *name != header::CONTENT_LENGTH) {
        write_header(&mut out, name, value.as_bytes());
    }
    write_end_of_head(&mut out, body.len(), is_last);
    out.extend_from_slice(&body);
    out
}

fn write_header(out: &mut Vec<u8>, name: &HeaderName, value: &[u8]) {
    for part in [name.as_str().as_bytes(), b": ", value, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

/// The headers that every response has.
fn write_end_of_head(out: &mut Vec<u8>, body_length: usize, is_last: bool) {
    out.extend_from_slice(b"content-length: ");
    write_number(out, body_length as u64);
    out.extend_from_slice(b"\r\n");
    if is_last {
        write_header(out, &header::CONNECTION, b"close");
    }
    DATE.with_borrow_mut(|date| write_header(out, &header::DATE, date.current().as_bytes()));
    out.extend_from_slice(b"\r\n");
}

impl CachedDate {
    /// The date, which is formatted once a second.
    fn current(&mut self) -> &str {
        let read_at = Instant::now();
        if self.until.is_none_or(|until| until <= read_at) {
            let now_ms = now().0;
            self.text = fmt_http_date(UNIX_EPOCH + Duration::from_millis(now_ms));
            self.until = Some(read_at + Duration::from_millis(1_000 - now_ms % 1_000));
        }
        &self.text
    }
}
