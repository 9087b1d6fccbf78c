//! The connection: one task for each client, which owns the socket and nothing else.
//!
//! ```text
//!   run: serve ──broken──▶ back off ───────▶ dial ──▶ serve …
//!           │                ▲  ▲              │ │
//!           │ finished       │  └── failed ────┘ │ refused: all calls end with the reason
//!           ▼                └── next call ──────┘
//!         close
//! ```
//!
//! 1. Reading and writing do not wait for each other, so that a server that sends without reading
//!    cannot block both sides.
//! 2. Queued frames are sent with one flush.
//! 3. A connection without traffic is closed.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use baton_core::Kind;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::Error;
use crate::net::multiplexer::Multiplexer;
use crate::net::random;
use crate::net::servers::Servers;
use crate::net::upgrade::Socket;

/// How long the closing handshake may take.
const GOODBYE: Duration = Duration::from_secs(1);

type Sink<S> = SplitSink<WebSocketStream<S>, Message>;
type Stream<S> = SplitStream<WebSocketStream<S>>;

/// A byte stream: a socket, or a pipe in tests with paused time.
trait Bytes: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Bytes for S {}

/// Keeps a connection to one of the servers until the client is closed.
pub(crate) async fn run(multiplexer: Arc<Multiplexer>, servers: Arc<Servers>, first: Socket) {
    let mut next = Some(first);
    let mut failures = 0;
    while let Some(socket) = next.take() {
        multiplexer.connected();
        let mut heard = false;
        match serve(&multiplexer, socket, &mut heard).await {
            Ok(()) => break,
            Err(Broken { reason, is_silent }) => {
                if heard {
                    failures = 0;
                }
                // The next server is asked at once; when all have refused, later.
                let refusals = multiplexer.refusals();
                failures = failures.max(refusals.saturating_sub(1));
                servers.leave(is_silent || refusals > 0);
                multiplexer.broken(&reason);
            }
        }
        tokio::select! {
            () = multiplexer.finished() => break,
            socket = redial(&multiplexer, &servers, &mut failures) => next = Some(socket),
        }
    }
    multiplexer.over();
}

/// Reconnects, with a growing backoff.
async fn redial(multiplexer: &Multiplexer, servers: &Servers, failures: &mut u32) -> Socket {
    loop {
        sleep(multiplexer.options().backoff(*failures, random::fraction())).await;
        // A connection that breaks before any frame arrives is a failure too.
        *failures = failures.saturating_add(1);
        match servers.dial(multiplexer.options()).await {
            Ok(socket) => return socket,
            Err(Error::Unreachable { reason, .. }) => multiplexer.broken(&reason),
            Err(error) if is_final(&error) => {
                multiplexer.denied(&error);
                multiplexer.wanted().await;
            }
            Err(error) => multiplexer.broken(&error.to_string()),
        }
    }
}

/// Whether the server knows this client and wants no connection with it, as when its token was
/// revoked. Everything else can pass without the client.
fn is_final(error: &Error) -> bool {
    matches!(error, Error::Refused(problem) if problem.kind() == Kind::Denied)
}

/// Why a connection is over.
#[derive(Debug, PartialEq)]
struct Broken {
    /// The reason, in words.
    reason: String,
    /// The server has stopped answering.
    is_silent: bool,
}

impl From<String> for Broken {
    fn from(reason: String) -> Self {
        Self { reason, is_silent: false }
    }
}

/// Uses a connection until it breaks or the client is closed. `heard` becomes true when a valid
/// frame arrives.
async fn serve<S: Bytes>(
    multiplexer: &Multiplexer,
    socket: WebSocketStream<S>,
    heard: &mut bool,
) -> Result<(), Broken> {
    let (mut sink, stream) = socket.split();
    tokio::select! {
        reason = write(multiplexer, &mut sink) => return Err(reason.into()),
        broken = read(multiplexer, stream, heard) => return Err(broken),
        () = multiplexer.finished() => {}
    }
    // The client is closed, whether or not the server answers.
    let _ = timeout(GOODBYE, sink.close()).await;
    Ok(())
}

async fn write<S: Bytes>(multiplexer: &Multiplexer, sink: &mut Sink<S>) -> String {
    let ping_every = multiplexer.options().silence_max / 3;
    let mut ping_at = Instant::now() + ping_every;
    let mut batch = Vec::new();
    loop {
        let more_at = multiplexer.outgoing(&mut batch);
        if batch.is_empty() {
            tokio::select! {
                () = multiplexer.work() => continue,
                () = sleep_until(more_at.unwrap_or(ping_at).min(ping_at)) => {}
            }
            if Instant::now() < ping_at {
                continue;
            }
        }
        if Instant::now() >= ping_at {
            ping_at = Instant::now() + ping_every;
            if let Err(error) = sink.feed(Message::Ping(Vec::new().into())).await {
                return error.to_string();
            }
        }
        for text in batch.drain(..) {
            if let Err(error) = sink.feed(Message::Text(text)).await {
                return error.to_string();
            }
        }
        if let Err(error) = sink.flush().await {
            return error.to_string();
        }
    }
}

async fn read<S: Bytes>(
    multiplexer: &Multiplexer,
    mut stream: Stream<S>,
    heard: &mut bool,
) -> Broken {
    let silence_max = multiplexer.options().silence_max;
    loop {
        let message = match timeout(silence_max, stream.next()).await {
            Ok(Some(Ok(message))) => message,
            Ok(Some(Err(error))) => return error.to_string().into(),
            Ok(None) => return "the server closed the connection".to_owned().into(),
            Err(_) => {
                let reason = format!("nothing was heard for {} ms", silence_max.as_millis());
                return Broken { reason, is_silent: true };
            }
        };
        match message {
            Message::Text(text) => match multiplexer.received(&text) {
                Ok(()) => *heard = true,
                Err(reason) => return reason.into(),
            },
            Message::Binary(_) => return "the server sent a binary frame".to_owned().into(),
            Message::Close(Some(frame)) => return format!("the server closed: {frame}").into(),
            Message::Close(None) => return "the server closed the connection".to_owned().into(),
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
    }
}
