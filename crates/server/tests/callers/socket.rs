//! A WebSocket client on a plain socket, frame by frame.

use std::collections::VecDeque;
use std::net::SocketAddr;

use baton_server::ws::messagepack;
use baton_tls::Stream;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::http::{Http, Response, bare, lines};
use crate::harness::within;

/// The key of the example in RFC 6455, and its response.
pub(crate) const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
pub(crate) const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

pub(crate) const TEXT: u8 = 0x81;
pub(crate) const BINARY: u8 = 0x82;
pub(crate) const CLOSE: u8 = 0x88;
pub(crate) const PING: u8 = 0x89;
pub(crate) const PONG: u8 = 0x8A;

/// A frame as a client sends it: the first byte as given, masked.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0x37, 0xFA, 0x21, 0x3D];
    let mut out = vec![first];
    match u16::try_from(payload.len()) {
        Ok(short @ 0..=125) => out.push(0x80 | short.to_be_bytes()[1]),
        Ok(middle) => {
            out.push(0x80 | 0x7E);
            out.extend(middle.to_be_bytes());
        }
        Err(_) => {
            out.push(0x80 | 0x7F);
            out.extend((payload.len() as u64).to_be_bytes());
        }
    }
    out.extend(mask);
    out.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    out
}

/// The head of a handshake with these headers in place of the usual ones, or in addition.
pub(crate) fn handshake(changed: &[(&str, &str)]) -> String {
    let mut headers = vec![
        ("host", "localhost"),
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", KEY),
    ];
    for (name, value) in changed {
        headers.retain(|(known, _)| known != name);
        if !value.is_empty() {
            headers.push((name, value));
        }
    }
    let lines = lines(&headers);
    format!("GET /v1/ws HTTP/1.1\r\n{lines}\r\n")
}

/// One WebSocket.
pub(crate) struct Socket {
    pub(crate) stream: Stream,
    received: Vec<u8>,
    is_binary: bool,
    /// The messages that arrived while waiting for another one.
    others: VecDeque<Value>,
    last_id: u64,
}

impl Socket {
    pub(crate) async fn connect(address: SocketAddr, protocol: Option<&str>) -> Self {
        let changed = protocol.map(|protocol| ("sec-websocket-protocol", protocol));
        let (response, socket) = Self::shake_hands(address, changed.as_slice()).await;
        assert_eq!(response.status, 101, "{}", response.head);
        assert_eq!(response.header("sec-websocket-accept"), Some(ACCEPT));
        assert_eq!(response.header("sec-websocket-protocol"), protocol);
        socket
    }

    pub(crate) async fn shake_hands(
        address: SocketAddr,
        changed: &[(&str, &str)],
    ) -> (Response, Self) {
        Self::upgrade(Http::connect(address).await, changed).await
    }

    /// A WebSocket with a small receive buffer.
    pub(crate) async fn narrow(address: SocketAddr) -> Self {
        Self::upgrade(Http::narrow(address).await, &[]).await.1
    }

    pub(crate) async fn upgrade(mut http: Http, changed: &[(&str, &str)]) -> (Response, Self) {
        http.send(handshake(changed)).await;
        let response = http.response().await;
        let is_binary = response.header("sec-websocket-protocol") == Some("baton.v1.msgpack");
        let (received, others) = (Vec::new(), VecDeque::new());
        (response, Self { stream: http.stream, received, is_binary, others, last_id: 0 })
    }

    /// Sends raw bytes. A connection that the server has already closed is not a failure here.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        let _ = within(self.stream.write_all(bytes)).await;
        let _ = within(self.stream.flush()).await;
    }

    /// The bare socket, for writing and reading without waiting.
    pub(crate) fn bare(&self) -> &TcpStream {
        bare(&self.stream)
    }

    /// Sends a document as one frame.
    pub(crate) async fn send(&mut self, document: &Value) {
        let bytes = self.framed(document);
        self.send_bytes(&bytes).await;
    }

    /// A document as one frame.
    pub(crate) fn framed(&self, document: &Value) -> Vec<u8> {
        if self.is_binary {
            let mut bytes = Vec::new();
            messagepack::from_json(document.to_string().as_bytes(), &mut bytes);
            frame(BINARY, &bytes)
        } else {
            frame(TEXT, document.to_string().as_bytes())
        }
    }

    /// The next frame: its first byte and its payload; none if the connection has ended.
    pub(crate) async fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        loop {
            if let Some((first, start, end)) = whole(&self.received) {
                let payload = self.received[start..end].to_vec();
                self.received.drain(..end);
                return Some((first, payload));
            }
            self.received.reserve(64 << 10);
            let read = within(self.stream.read_buf(&mut self.received)).await;
            if !read.is_ok_and(|count| count > 0) {
                return None;
            }
        }
    }

    /// The next document, whatever it is about.
    pub(crate) async fn next(&mut self) -> Value {
        match self.others.pop_front() {
            Some(document) => document,
            None => self.hear().await,
        }
    }

    async fn hear(&mut self) -> Value {
        let (first, payload) = self.frame().await.expect("the connection goes on");
        assert_eq!(first, if self.is_binary { BINARY } else { TEXT }, "{payload:?}");
        if !self.is_binary {
            return serde_json::from_slice(&payload).expect("text is JSON");
        }
        let mut text = Vec::new();
        messagepack::to_json(&payload, &mut text).expect("bytes are MessagePack");
        serde_json::from_slice(&text).expect("the translation is JSON")
    }

    /// The first document that matches, now or later; the others are kept.
    pub(crate) async fn find(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.others.iter().position(&fits) {
            return self.others.remove(place).expect("it was found there");
        }
        loop {
            let heard = self.hear().await;
            if fits(&heard) {
                return heard;
            }
            self.others.push_back(heard);
        }
    }

    /// The answer to a request.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        self.find(|heard| heard["id"] == id).await
    }

    /// The next push of a watch.
    pub(crate) async fn pushed(&mut self, watch: u64) -> Value {
        self.find(|heard| heard["watch"] == watch).await
    }

    /// Sends a request in the workspace `w` with a new id, and waits for the answer.
    pub(crate) async fn ask(&mut self, request: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id + 1_000_000;
        let mut document = json!({ "id": id, "workspace": "w" });
        for (name, value) in request.as_object().expect("a request is an object") {
            document[name] = value.clone();
        }
        self.send(&document).await;
        self.answer(document["id"].as_u64().expect("an id is a number")).await
    }

    /// The code with which the server closes, after its last output.
    pub(crate) async fn closed_with(&mut self) -> Option<u16> {
        while let Some((first, payload)) = self.frame().await {
            if first == CLOSE {
                assert!(self.frame().await.is_none(), "nothing comes after a close frame");
                return payload.first_chunk().map(|code| u16::from_be_bytes(*code));
            }
        }
        None
    }
}

/// The first byte of the frame at the beginning, and the position of its payload, if it is
/// complete.
fn whole(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    let [first, second, ..] = *bytes else { return None };
    assert_eq!(second & 0x80, 0, "a server does not mask");
    let (start, length) = match second {
        126 => (4, usize::from(u16::from_be_bytes(*bytes.get(2..4)?.first_chunk()?))),
        127 => {
            let length = u64::from_be_bytes(*bytes.get(2..10)?.first_chunk()?);
            (10, usize::try_from(length).expect("it fits into memory"))
        }
        short => (2, usize::from(short)),
    };
    (bytes.len() >= start + length).then_some((first, start, start + length))
}
