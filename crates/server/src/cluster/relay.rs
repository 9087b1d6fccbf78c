//! A WebSocket whose frames are for workspaces of several owners.
//!
//! ```text
//!   client ──frames──▶ relay ── by workspace ──▶ a WebSocket to each owner ──▶ its engine
//!      ◀── frames, whole and as they are ────────────┘
//! ```
//!
//! 1. Messages are relayed unchanged, in both directions. The messages of one workspace keep their
//!    order.
//! 2. If a connection to an owner ends, so does that of the client: as after any other loss of a
//!    connection, it is unknown which requests were executed, and clients handle that.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use baton_core::wire::{Call, FastFrame, Fields, Frame, Problem};
use baton_tls::Stream;
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::forward::of_request;
use super::frames::{CLOSE, PING, PONG, frame_at, write_masked};
use super::front::{ELSEWHERE, FORWARDED, Front, OwnerWait, PATIENCE, SHARD};
use super::upstreams::Sender;
use super::{ServerStatus, shard_of};
use crate::access::Authority;
use crate::deadline_stream::DeadlineStream;
use crate::listener::ConnectionSlot;
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::InboundBytes;
use crate::ws;
use crate::ws::format::Format;
use crate::ws::framing::{Decoder, Message, Opcode, ProtocolError, write, write_close};

/// On a request for a WebSocket: the workspace that it will be used for.
pub(super) const WORKSPACE: HeaderName = HeaderName::from_static("baton-workspace");
/// On the answer: the address of the server that owns it, if that is another one.
const OWNER: HeaderName = HeaderName::from_static("baton-owner");
/// Pieces of output that wait for the client.
pub(super) const OUTPUT_MAX: usize = 64;
/// How much is collected for an owner before it is sent.
const PENDING_BYTES_MAX: usize = 64 << 10;
const RECEIVE_BYTES: usize = 16 << 10;

type Upstream = TokioIo<Upgraded>;
/// A connection to an owner, and its id if that is another server; or why there is none yet.
type Opened = Result<(Upstream, Option<String>), Refusal>;
type Writer = Arc<Mutex<WriteHalf<Upstream>>>;

/// Why the connection of the client ends.
pub(super) enum End {
    Gone,
    Close(u16, &'static str),
}

impl From<ProtocolError> for End {
    fn from(error: ProtocolError) -> Self {
        Self::Close(error.code, error.reason)
    }
}

/// A message of the client.
pub(super) struct Given {
    pub(super) opcode: Opcode,
    pub(super) payload: Vec<u8>,
}

/// A connection to the owner of a shard.
struct Owner {
    writer: Writer,
    pending: Vec<u8>,
    reading: JoinHandle<()>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

pub(super) struct Relay {
    front: Arc<Front>,
    format: Format,
    /// The headers of the client's request, which every owner is shown.
    headers: HeaderMap,
    owners: HashMap<u32, Owner>,
    /// The shards of open watches.
    watches: HashMap<u64, u32>,
    /// The shard of the last message, which is usually that of the next.
    last: Option<u32>,
    output: mpsc::Sender<Vec<u8>>,
    /// Notified when a connection to an owner has ended.
    ended: mpsc::Sender<()>,
}

impl Front {
    /// Opens a WebSocket that is for all workspaces.
    pub(super) async fn open_relay(
        self: &Arc<Self>,
        slot: &Arc<ConnectionSlot>,
        mut request: Request<Incoming>,
    ) -> Result<Response<Body>, Refused> {
        if self.doors.access.is_token_unknown(request.headers()) {
            self.learn_tokens().await;
        }
        let authority = self.doors.access.authenticate(&request, Some(slot.from))?;
        let handshake = ws::Handshake::of(&request)?;
        let (front, format) = (Arc::clone(self), handshake.format);
        let headers = of_request(request.headers());
        let named = self.shard_named(&request);
        let owner = named.and_then(|shard| self.elsewhere(shard));
        let known = named.map(|shard| (shard, owner.as_ref().map(|owner| owner.id.clone())));
        let upgrade = hyper::upgrade::on(&mut request);
        let work = async move {
            // A peer that disconnects during the handshake needs no handling.
            let Ok(upgraded) = upgrade.await else { return };
            let Ok(parts) = upgraded.downcast::<TokioIo<DeadlineStream>>() else { return };
            let (stream, _) = parts.io.into_inner().into_parts();
            let accepted = (format, headers, authority);
            relay(front, accepted, known, stream, parts.read_buf.to_vec()).await;
        };
        tokio::spawn(Arc::clone(slot).run(Box::pin(work)));
        let mut accepted = handshake.accepted();
        // A client that knows the address can connect there instead.
        if let Some(owner) = owner.and_then(|it| HeaderValue::from_str(&it.address).ok()) {
            accepted.headers_mut().insert(OWNER, owner);
        }
        Ok(accepted)
    }
}

async fn relay(
    front: Arc<Front>,
    (format, headers, authority): (Format, HeaderMap, Authority),
    known: Option<(u32, Option<String>)>,
    stream: Stream,
    mut inbox: Vec<u8>,
) {
    let settings = &front.doors.settings;
    let mut moved = std::pin::pin!(front.moved(known));
    let (mut reader, writer) = tokio::io::split(stream);
    let (output, outgoing) = mpsc::channel(OUTPUT_MAX);
    let sending = tokio::spawn(send(writer, outgoing, settings.write_deadline));
    let mut receiving = InboundBytes::new(&front.doors, authority.sharers(None));
    let mut decoder = Decoder::new(settings.message_bytes_max);
    let (mut relay, mut any_ended) = Relay::new(Arc::clone(&front), format, headers, output);
    let mut silent = 0;
    let end = loop {
        if let Err(end) = relay.take_in(&mut decoder, &mut inbox).await {
            break end;
        }
        if !receiving.hold(inbox.len() + decoder.begun_bytes()) {
            break End::Close(1013, "too many bytes are being received, try again later");
        }
        inbox.reserve(RECEIVE_BYTES);
        tokio::select! {
            received = reader.read_buf(&mut inbox) => match received {
                Ok(1..) => silent = 0,
                Ok(0) | Err(_) => break End::Gone,
            },
            _ = any_ended.recv() => {
                break End::Close(1001, "the owner of a workspace has changed");
            }
            () = &mut moved => {
                break End::Close(1001, "the workspace has an owner that can be used directly");
            }
            () = authority.ended() => break End::Close(1008, "the token is not valid any more"),
            () = front.closing.raised() => break End::Close(1001, "the server is shutting down"),
            () = tokio::time::sleep(settings.ping_every) => {
                silent += 1;
                let mut ping = Vec::new();
                write(&mut ping, Opcode::Ping, b"");
                if silent > 2 || relay.output.send(ping).await.is_err() {
                    break End::Gone;
                }
            }
        }
    };
    if let End::Close(code, reason) = end {
        let mut close = Vec::new();
        write_close(&mut close, code, reason);
        let _ = relay.output.send(close).await;
    }
    drop(relay);
    let _ = timeout(settings.farewell, sending).await;
}

/// Sends output to the client.
async fn send(
    mut writer: WriteHalf<Stream>,
    mut outgoing: mpsc::Receiver<Vec<u8>>,
    deadline: std::time::Duration,
) {
    while let Some(mut bytes) = outgoing.recv().await {
        while bytes.len() < PENDING_BYTES_MAX
            && let Ok(more) = outgoing.try_recv()
        {
            bytes.extend_from_slice(&more);
        }
        let sent = timeout(deadline, writer.write_all(&bytes)).await;
        if !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
    let _ = timeout(deadline, writer.shutdown()).await;
}

impl Relay {
    /// A relay that has no owner yet, and what is notified when one has ended its connection.
    pub(super) fn new(
        front: Arc<Front>,
        format: Format,
        headers: HeaderMap,
        output: mpsc::Sender<Vec<u8>>,
    ) -> (Self, mpsc::Receiver<()>) {
        let (ended, any_ended) = mpsc::channel(1);
        let (owners, watches, last) = (HashMap::new(), HashMap::new(), None);
        (Self { front, format, headers, owners, watches, last, output, ended }, any_ended)
    }

    /// Passes on all complete messages.
    async fn take_in(&mut self, decoder: &mut Decoder, inbox: &mut Vec<u8>) -> Result<(), End> {
        let mut used = 0;
        loop {
            let (count, message) = decoder.next(&mut inbox[used..])?;
            used += count;
            let given = match message {
                None if count == 0 => break,
                None | Some(Message::Pong) => continue,
                Some(Message::Text(text)) => {
                    Given { opcode: Opcode::Text, payload: text.as_bytes().to_vec() }
                }
                Some(Message::Binary(bytes)) => {
                    Given { opcode: Opcode::Binary, payload: bytes.to_vec() }
                }
                Some(Message::Ping(payload)) => {
                    let mut pong = Vec::new();
                    write(&mut pong, Opcode::Pong, payload);
                    self.output.send(pong).await.map_err(|_| End::Gone)?;
                    continue;
                }
                Some(Message::Close(code)) => return Err(End::Close(code.unwrap_or(1000), "")),
            };
            self.pass(&given).await?;
        }
        inbox.drain(..used);
        self.flush().await
    }

    /// Collects a message for its owner.
    pub(super) async fn pass(&mut self, given: &Given) -> Result<(), End> {
        let Ok(shards) = self.front.shards().await else {
            let (_, id) = self.shard_for(given, 0);
            return self.refuse(id, Refusal::NoOwner {}).await;
        };
        let (shard, id) = self.shard_for(given, shards);
        self.last = Some(shard);
        if !self.owners.contains_key(&shard) {
            // Messages that were sent before must not wait for this owner.
            self.flush().await?;
            match self.open(shard).await? {
                Ok(owner) => {
                    self.owners.insert(shard, owner);
                }
                Err(refusal) => return self.refuse(id, refusal).await,
            }
        }
        let Some(owner) = self.owners.get_mut(&shard) else { return Ok(()) };
        write_masked(&mut owner.pending, given.opcode, &given.payload);
        if owner.pending.len() >= PENDING_BYTES_MAX {
            self.flush().await?;
        }
        Ok(())
    }

    /// The shard of a message, and its number. A message without a workspace goes to the shard of
    /// the last message: any engine can answer it, also with a refusal.
    fn shard_for(&mut self, given: &Given, shards: u32) -> (u32, Option<u64>) {
        let usual = self.last.unwrap_or_else(|| self.front.home());
        let translated;
        let text = match given.opcode {
            Opcode::Text => str::from_utf8(&given.payload).unwrap_or_default(),
            _ => match self.format.read_bytes(&given.payload) {
                Ok(text) => {
                    translated = text;
                    translated.as_str()
                }
                Err(_) => return (usual, None),
            },
        };
        if let Some(frame) = FastFrame::parse(text) {
            return (shard_of(frame.workspace, shards), Some(frame.id));
        }
        let Ok(frame) = Frame::parse(text) else { return (usual, Frame::number(text)) };
        let id = frame.id;
        let named = frame.workspace.as_deref().map(|name| shard_of(name, shards));
        let mut fields = Fields::parse(text).unwrap_or_default();
        let shard = match fields.take("command").as_deref() {
            Some("watch") => {
                let shard = named.unwrap_or(usual);
                if let Some(id) = id {
                    self.watches.insert(id, shard);
                }
                shard
            }
            Some("unwatch") => match frame.call() {
                Ok(Call::Unwatch { watch }) => self.watches.remove(&watch).unwrap_or(usual),
                Ok(_) | Err(_) => usual,
            },
            Some(_) | None => named.unwrap_or(usual),
        };
        (shard, id)
    }

    /// Sends what was collected.
    pub(super) async fn flush(&mut self) -> Result<(), End> {
        let deadline = self.front.doors.settings.write_deadline;
        for owner in self.owners.values_mut().filter(|owner| !owner.pending.is_empty()) {
            let pending = std::mem::take(&mut owner.pending);
            let mut writer = owner.writer.lock().await;
            let sent = timeout(deadline, writer.write_all(&pending)).await;
            if !matches!(sent, Ok(Ok(()))) {
                return Err(End::Close(1001, "the owner of a workspace was lost"));
            }
        }
        Ok(())
    }

    /// Refuses a message whose shard has no owner that can be reached.
    async fn refuse(&self, id: Option<u64>, refusal: Refusal) -> Result<(), End> {
        let problem = Problem::from(refusal);
        let mut out = Vec::new();
        self.format.write(&mut out, |out| {
            let id = id.map_or_else(String::new, |id| format!("\"id\":{id},"));
            let text = serde_json::to_string(&problem).expect("problems can be encoded");
            out.extend_from_slice(format!("{{{id}\"error\":{text}}}").as_bytes());
        });
        self.output.send(out).await.map_err(|_| End::Gone)
    }

    /// Connects to the owner of a shard, which is awaited; why not, if that takes too long.
    async fn open(&self, shard: u32) -> Result<Result<Owner, Refusal>, End> {
        let mut wait = OwnerWait::new(&self.front);
        loop {
            let there = self.front.elsewhere(shard);
            let opened = match (self.front.engine(shard), &there) {
                (Some(_), _) => self.connect_here(shard).await?,
                (None, Some(owner)) => self.connect_there(owner, shard).await?,
                (None, None) => Err(Refusal::NoOwner {}),
            };
            let refusal = match opened {
                Ok((upstream, owner)) => return Ok(Ok(self.follow(shard, owner, upstream))),
                Err(refusal) => refusal,
            };
            if !wait.changed().await {
                return Ok(Err(refusal));
            }
        }
    }

    /// One attempt to connect to an engine of this server.
    async fn connect_here(&self, shard: u32) -> Result<Opened, End> {
        let address = format!("http://{}", self.front.inner);
        let Ok(stream) = self.front.upstreams.connect(&address).await else {
            return Ok(Err(Refusal::NoOwner {}));
        };
        let Ok(Sender::Http1(sender)) = Sender::open(stream, false).await else {
            return Ok(Err(Refusal::NoOwner {}));
        };
        let upgraded = self.upgrade(sender, shard).await?;
        Ok(upgraded.map(|upstream| (upstream, None)).ok_or(Refusal::NoOwner {}))
    }

    /// One attempt to connect to another server.
    async fn connect_there(&self, owner: &ServerStatus, shard: u32) -> Result<Opened, End> {
        let metrics = &self.front.doors.metrics;
        let sender = match self.front.reach_anew(owner, false).await {
            Ok(Sender::Http1(sender)) => sender,
            Ok(Sender::Http2(_)) => return Ok(Err(Refusal::NoOwner {})),
            Err(refusal) => {
                metrics.cluster.forward_failures.add(1);
                return Ok(Err(refusal));
            }
        };
        match self.upgrade(sender, shard).await? {
            Some(upstream) => {
                metrics.forwarded.add(1);
                Ok(Ok((upstream, Some(owner.id.clone()))))
            }
            None => {
                metrics.cluster.forward_failures.add(1);
                Ok(Err(Refusal::NoOwner {}))
            }
        }
    }

    /// Makes a connection a WebSocket for a shard; none if another attempt may succeed.
    async fn upgrade(
        &self,
        mut sender: SendRequest<Body>,
        shard: u32,
    ) -> Result<Option<Upstream>, End> {
        let mut request = Request::get("/v1/ws").body(Body::empty()).expect("it is a request");
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(FORWARDED, HeaderValue::from_static("1"));
        headers.insert(SHARD, HeaderValue::from(shard));
        let Ok(Ok(response)) = timeout(PATIENCE, sender.send_request(request)).await else {
            return Ok(None);
        };
        match response.status() {
            StatusCode::SWITCHING_PROTOCOLS => {
                Ok(hyper::upgrade::on(response).await.ok().map(TokioIo::new))
            }
            _ if response.headers().contains_key(ELSEWHERE) => Ok(None),
            StatusCode::SERVICE_UNAVAILABLE => Ok(None),
            StatusCode::TOO_MANY_REQUESTS => {
                Err(End::Close(1013, "the owner of a workspace is busy"))
            }
            _ => Err(End::Close(1008, "the owner of a workspace has refused the connection")),
        }
    }

    fn follow(&self, shard: u32, owner: Option<String>, upstream: Upstream) -> Owner {
        let (reader, writer) = tokio::io::split(upstream);
        let writer = Arc::new(Mutex::new(writer));
        let (front, output) = (Arc::clone(&self.front), self.output.clone());
        let (answering, ended) = (Arc::clone(&writer), self.ended.clone());
        let reading = tokio::spawn(async move {
            let lost = async {
                match owner {
                    Some(owner) => front.lost(shard, &owner).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = receive(reader, &answering, &output) => {}
                () = lost => {}
            }
            // One is enough.
            let _ = ended.try_send(());
        });
        Owner { writer, pending: Vec::new(), reading }
    }
}

/// Passes on the frames of an owner, until it closes the connection.
async fn receive(mut reader: ReadHalf<Upstream>, writer: &Writer, output: &mpsc::Sender<Vec<u8>>) {
    let mut inbox = Vec::new();
    loop {
        inbox.reserve(RECEIVE_BYTES);
        if !matches!(reader.read_buf(&mut inbox).await, Ok(1..)) {
            return;
        }
        let (mut used, mut passed, mut is_closed) = (0, Vec::new(), false);
        while let Some((opcode, start, end)) = frame_at(&inbox[used..]) {
            let frame = &inbox[used..used + end];
            match opcode {
                CLOSE => is_closed = true,
                PING => {
                    let mut pong = Vec::new();
                    write_masked(&mut pong, Opcode::Pong, &frame[start..]);
                    if writer.lock().await.write_all(&pong).await.is_err() {
                        return;
                    }
                }
                PONG => {}
                _ => passed.extend_from_slice(frame),
            }
            used += end;
        }
        inbox.drain(..used);
        if (!passed.is_empty() && output.send(passed).await.is_err()) || is_closed {
            return;
        }
    }
}
