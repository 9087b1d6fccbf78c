//! The unread rest of a body, after the request was refused because of its head.
//!
//! ```text
//!   handler drops the body ──▶ kept here ──▶ read and discarded, while the answer is sent
//!                                        └─▶ too much: `Connection: close`, and some is read
//! ```
//!
//! A connection whose body is not read must be closed, and a request that the peer has sent
//! meanwhile would be lost, so a small rest is read and the connection is kept. After a large one
//! the answer has `Connection: close`. Some of that is read as well: a close with unread bytes
//! would reset the connection, perhaps before the peer has read its answer.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request, Response, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};

/// Up to this many bytes are read, so that the connection can go on.
const SMALL_BYTES_MAX: u64 = 64 << 10;
/// Of more, this much is read before the connection is closed, or for this long.
const LINGER_BYTES_MAX: u64 = 1 << 20;
const LINGER: Duration = Duration::from_secs(2);

type Slot = Arc<Mutex<Option<Incoming>>>;

/// The slot for a body that was not read to its end.
pub(super) struct UnreadBody {
    slot: Option<Slot>,
    /// The peer waits for a sign before it sends the body.
    awaits_sign: bool,
}

impl UnreadBody {
    /// The request, and where its body is put if it is dropped too early.
    pub(super) fn of(request: Request<Incoming>) -> (Request<Body>, Self) {
        if request.body().is_end_stream() {
            return (request.map(Body::new), Self { slot: None, awaits_sign: false });
        }
        let awaits_sign = request.headers().contains_key(header::EXPECT);
        let slot = Slot::default();
        let returned = Arc::clone(&slot);
        let request = request.map(|body| Body::new(Returning { body: Some(body), slot: returned }));
        (request, Self { slot: Some(slot), awaits_sign })
    }

    /// Reads the rest of the body, or announces the end of the connection to the peer.
    pub(super) fn settle(self, response: &mut Response<Body>, deadline: Duration) {
        let taken = self.slot.and_then(|slot| lock(&slot).take());
        let Some(body) = taken else { return };
        let length = body.size_hint().upper();
        if !self.awaits_sign && length.is_some_and(|length| length <= SMALL_BYTES_MAX) {
            tokio::spawn(tokio::time::timeout(deadline, discard(body, SMALL_BYTES_MAX)));
            return;
        }
        close(response.headers_mut());
        if !self.awaits_sign {
            tokio::spawn(tokio::time::timeout(LINGER, discard(body, LINGER_BYTES_MAX)));
        }
    }
}

fn close(headers: &mut HeaderMap) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
}

async fn discard(mut body: Incoming, bytes_max: u64) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        bytes += frame.data_ref().map_or(0, Bytes::len) as u64;
        if bytes > bytes_max {
            return;
        }
    }
}

fn lock(slot: &Slot) -> std::sync::MutexGuard<'_, Option<Incoming>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A body that is put back if it is dropped before its end.
struct Returning {
    /// None once it has ended.
    body: Option<Incoming>,
    slot: Slot,
}

impl hyper::body::Body for Returning {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(&mut *body).poll_frame(context);
        let has_ended = match &polled {
            Poll::Ready(None | Some(Err(_))) => true,
            Poll::Ready(Some(Ok(_))) => body.is_end_stream(),
            Poll::Pending => false,
        };
        if has_ended {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Incoming::size_hint)
    }
}

impl Drop for Returning {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            *lock(&self.slot) = Some(body);
        }
    }
}
