//! The line: one job for each client, which owns the socket and nothing else.
//!
//! ```text
//!   keep: serve ──broken──▶ wait a little ──▶ dial ──▶ serve …
//!            │                  ▲               │
//!            │ finished         └── failed ─────┘
//!            ▼
//!          close
//! ```
//!
//! 1. Reading and writing do not wait for each other: a server that sends while it does not take
//!    cannot make both sides wait for ever.
//! 2. Whatever has piled up goes out with one flush.
//! 3. A line on which only silence is heard is given up.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::chance;
use crate::desk::Desk;
use crate::dialing::Dialing;
use crate::error::Error;
use crate::upgrade::{Socket, dial};

/// How long saying goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);

type Sink<S> = SplitSink<WebSocketStream<S>, Message>;
type Stream<S> = SplitStream<WebSocketStream<S>>;

/// What bytes go through: a socket, or a pipe when time is paused.
trait Bytes: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Bytes for S {}

/// Keeps a line to the server until nobody needs it.
pub(crate) async fn keep(desk: Arc<Desk>, dialing: Dialing, first: Socket) {
    let mut line = Some(first);
    let mut failures = 0;
    while let Some(socket) = line.take() {
        desk.connected();
        let mut heard = false;
        match serve(&desk, socket, &mut heard).await {
            Ok(()) => break,
            Err(reason) => desk.broken(&reason),
        }
        if heard {
            failures = 0;
        }
        tokio::select! {
            () = desk.finished() => break,
            socket = redial(&desk, &dialing, &mut failures) => line = Some(socket),
        }
    }
    desk.over();
}

/// Connects again, ever more patiently.
async fn redial(desk: &Desk, dialing: &Dialing, failures: &mut u32) -> Socket {
    loop {
        sleep(desk.options().backoff(*failures, chance::fraction())).await;
        // A line on which nothing is heard before it breaks is a failure too.
        *failures = failures.saturating_add(1);
        match dial(dialing, desk.options()).await {
            Ok(socket) => return socket,
            Err(Error::Unreachable { reason, .. }) => desk.broken(&reason),
            Err(error) => desk.broken(&error.to_string()),
        }
    }
}

/// Uses a line until it breaks, or until nobody needs it. `heard` becomes true when the server
/// said something that could be understood.
async fn serve<S: Bytes>(
    desk: &Desk,
    socket: WebSocketStream<S>,
    heard: &mut bool,
) -> Result<(), String> {
    let (mut sink, stream) = socket.split();
    tokio::select! {
        broken = write(desk, &mut sink) => return Err(broken),
        broken = read(desk, stream, heard) => return Err(broken),
        () = desk.finished() => {}
    }
    // Whether the server takes notice makes no difference any more.
    let _ = timeout(GOODBYE, sink.close()).await;
    Ok(())
}

async fn write<S: Bytes>(desk: &Desk, sink: &mut Sink<S>) -> String {
    let ping_every = desk.options().silence_max / 3;
    let mut ping_at = Instant::now() + ping_every;
    let mut batch = Vec::new();
    loop {
        let more_at = desk.outgoing(&mut batch);
        if batch.is_empty() {
            tokio::select! {
                () = desk.work() => continue,
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

async fn read<S: Bytes>(desk: &Desk, mut stream: Stream<S>, heard: &mut bool) -> String {
    let silence_max = desk.options().silence_max;
    loop {
        let message = match timeout(silence_max, stream.next()).await {
            Ok(Some(Ok(message))) => message,
            Ok(Some(Err(error))) => return error.to_string(),
            Ok(None) => return "the server closed the connection".to_owned(),
            Err(_) => return format!("nothing was heard for {} ms", silence_max.as_millis()),
        };
        match message {
            Message::Text(text) => match desk.received(&text) {
                Ok(()) => *heard = true,
                Err(what) => return format!("the server sent what cannot be understood: {what}"),
            },
            Message::Binary(_) => return "the server sent a binary frame".to_owned(),
            Message::Close(Some(frame)) => return format!("the server closed: {frame}"),
            Message::Close(None) => return "the server closed the connection".to_owned(),
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
    }
}
