//! Over a WebSocket, in either sub-protocol, with frames encoded and decoded by hand.

use serde_json::{Map, Value, json};

use super::WORKSPACE;
use super::http_client::Connection;
use super::server::TestServer;
use crate::run::Backend;
use crate::script::ScriptedCall;

/// How documents are written in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubProtocol {
    /// `baton.v1.json`
    Json,
    /// `baton.v1.msgpack`
    MessagePack,
}

impl SubProtocol {
    fn name(self) -> &'static str {
        match self {
            Self::Json => "baton.v1.json",
            Self::MessagePack => "baton.v1.msgpack",
        }
    }

    fn opcode(self) -> u8 {
        match self {
            Self::Json => 1,
            Self::MessagePack => 2,
        }
    }

    fn encode(self, document: &Value) -> Vec<u8> {
        match self {
            Self::Json => document.to_string().into_bytes(),
            Self::MessagePack => rmp_serde::to_vec(document).expect("JSON has a form there"),
        }
    }

    fn decode(self, payload: &[u8]) -> Value {
        match self {
            Self::Json => serde_json::from_slice(payload).expect("the server sends JSON"),
            Self::MessagePack => {
                rmp_serde::from_slice(payload).expect("the server sends MessagePack")
            }
        }
    }
}

/// A server that is used over a WebSocket.
pub struct WebSocketBackend {
    // Before the server, so that it need not wait for this to end.
    connection: Connection,
    server: TestServer,
    protocol: SubProtocol,
    last_id: u64,
    /// The waiting calls, with the ids of their requests.
    waits: Vec<(String, u64)>,
    /// The messages that arrived while waiting for another one.
    others: Vec<Value>,
}

impl WebSocketBackend {
    /// An empty server, and an open WebSocket.
    pub fn new(protocol: SubProtocol) -> Self {
        let server = TestServer::new();
        let mut connection = Connection::open(server.address);
        let headers = [
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("sec-websocket-protocol", protocol.name()),
        ];
        let head = connection.ask("GET /v1/ws", &headers, b"");
        assert_eq!(head.status, 101);
        assert_eq!(head.header("sec-websocket-protocol"), Some(protocol.name()));
        assert_eq!(head.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        let (waits, others) = (Vec::new(), Vec::new());
        Self { connection, server, protocol, last_id: 0, waits, others }
    }

    fn send(&mut self, mut frame: Map<String, Value>) -> u64 {
        self.last_id += 1;
        frame.insert("id".to_owned(), self.last_id.into());
        let payload = self.protocol.encode(&Value::Object(frame));
        let mut bytes = vec![0x80 | self.protocol.opcode()];
        match payload.len() {
            length @ 0..=125 => bytes.push(0x80 | u8::try_from(length).expect("it is small")),
            length => {
                bytes.push(0xff);
                bytes.extend_from_slice(&(length as u64).to_be_bytes());
                if let Ok(length) = u16::try_from(length) {
                    bytes.truncate(1);
                    bytes.push(0xfe);
                    bytes.extend_from_slice(&length.to_be_bytes());
                }
            }
        }
        let mask = [0x1b, 0xad, 0x5e, 0xed];
        bytes.extend_from_slice(&mask);
        bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.connection.write(&bytes);
        self.last_id
    }

    fn receive(&mut self) -> Value {
        loop {
            let [first, length] = self.wide();
            let length = match length {
                126 => u64::from(u16::from_be_bytes(self.wide())),
                127 => u64::from_be_bytes(self.wide()),
                short => u64::from(short),
            };
            let length = usize::try_from(length).expect("it fits into memory");
            let payload = self.connection.bytes(length);
            match first & 0x0f {
                // A ping needs no answer during the short time of a scenario.
                9 => {}
                opcode => {
                    assert_eq!(opcode, self.protocol.opcode(), "{payload:?}");
                    return self.protocol.decode(&payload);
                }
            }
        }
    }

    fn wide<const COUNT: usize>(&mut self) -> [u8; COUNT] {
        let bytes = self.connection.bytes(COUNT);
        *bytes.first_chunk().expect("so many were read")
    }

    fn ask(&mut self, frame: Map<String, Value>) -> Value {
        let id = self.send(frame);
        self.find(|heard| heard["id"] == id)
    }

    /// The first document that matches, now or later; only waiting calls are answered in between.
    fn find(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.others.iter().position(&fits) {
            return self.others.remove(index);
        }
        loop {
            let heard = self.receive();
            if fits(&heard) {
                return heard;
            }
            let is_awaited = self.waits.iter().any(|(_, id)| heard["id"] == *id);
            assert!(is_awaited, "no request for {heard}");
            self.others.push(heard);
        }
    }
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other} is an object"),
    }
}

impl Backend for WebSocketBackend {
    fn name(&self) -> String {
        format!("a WebSocket with {}", self.protocol.name())
    }

    fn advance_clock(&mut self, to_ms: u64) {
        self.server.advance_clock(to_ms);
    }

    fn call(&mut self, scripted: &ScriptedCall) -> Option<Value> {
        let mut frame = scripted.frame();
        frame.insert("workspace".to_owned(), scripted.workspace_name().into());
        Some(self.ask(frame))
    }

    fn call_blocking(&mut self, scripted: &ScriptedCall) -> Option<Value> {
        let mut frame = scripted.frame();
        frame.insert("workspace".to_owned(), scripted.workspace_name().into());
        let id = self.send(frame);
        self.waits.push((scripted.agent.clone(), id));
        // Requests of one connection are decided in order: when this is answered, that one waits.
        self.revision();
        let index = self.others.iter().position(|heard| heard["id"] == id)?;
        self.waits.pop();
        Some(self.others.remove(index))
    }

    fn receive_answer(&mut self, agent: &str) -> Option<Value> {
        let index = self.waits.iter().position(|(waits, _)| waits == agent)?;
        let id = self.waits[index].1;
        let heard = self.find(|heard| heard["id"] == id);
        self.waits.remove(index);
        Some(heard)
    }

    fn events(&mut self, after: u64, up_to: u64) -> Vec<Value> {
        let mut events = Vec::new();
        if after == up_to {
            return events;
        }
        let watch = json!({"workspace": WORKSPACE, "command": "watch", "pattern": "**",
            "from": after + 1, "waits": true});
        let begun = self.ask(fields(watch));
        let watch = begun["result"]["watch"].as_u64().expect("the watch begins");
        loop {
            let pushed = self.find(|heard| heard["watch"] == watch);
            let event = pushed["event"].clone();
            let is_last = event["last"] == true && event["revision"] == up_to;
            events.push(event);
            if is_last {
                break;
            }
        }
        self.ask(fields(json!({"command": "unwatch", "watch": watch})));
        events
    }
}
