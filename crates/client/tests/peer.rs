//! A scripted server: it sends what the test says, and closes the connection where the test does.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use baton_client::core::state::{Event as StateEvent, Operation};
use baton_client::core::{
    AgentId, Batch, Event, Json, Key, NamespaceName, Notice, Revision, Timestamp, Version,
};
use baton_client::{Client, Options, Workspace};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

/// A test that gets stuck has failed. This is the only timeout in it, and far longer than it takes.
pub(crate) async fn patiently<T>(story: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(2), story).await.expect("the story goes on")
}

pub(crate) struct Peer {
    listener: TcpListener,
}

impl Peer {
    pub(crate) async fn new() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.listener.local_addr().unwrap())
    }

    /// A client with short reconnect delays, and its connection.
    pub(crate) async fn meet(&self, options: Options) -> (Client, Talk) {
        let options = Options {
            backoff_min: Duration::from_millis(1),
            backoff_max: Duration::from_millis(4),
            ..options
        };
        let url = self.url();
        let (client, talk) = tokio::join!(baton_client::connect_with(&url, options), self.accept());
        (client.unwrap(), talk)
    }

    /// Like [`meet`](Self::meet), with a workspace.
    pub(crate) async fn meet_ada(&self, options: Options) -> (Workspace, Talk) {
        let (client, talk) = self.meet(options).await;
        (client.workspace("lab").unwrap().as_agent("ada").unwrap(), talk)
    }

    pub(crate) async fn accept_stream(&self) -> TcpStream {
        patiently(self.listener.accept()).await.unwrap().0
    }

    /// Refuses the next connection, as for its token.
    pub(crate) async fn refuse_connection(&self, status: u16, code: &str, kind: &str) {
        let mut stream = self.accept_stream().await;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let problem = problem(code, kind, &json!({})).to_string();
        let length = problem.len();
        let head = format!("HTTP/1.1 {status} No\r\ncontent-length: {length}\r\n\r\n{problem}");
        stream.write_all(head.as_bytes()).await.unwrap();
    }

    /// Whether a client has connected since the last connection was accepted.
    pub(crate) async fn is_called(&self) -> bool {
        futures_util::poll!(std::pin::pin!(self.listener.accept())).is_ready()
    }

    pub(crate) async fn accept(&self) -> Talk {
        self.accept_with("sec-websocket-protocol", "baton.v1.json").await
    }

    /// Accepts a connection with this header in the answer.
    pub(crate) async fn accept_with(&self, name: &'static str, value: &str) -> Talk {
        let answer = |request: &Request, mut response: Response| {
            assert_eq!(request.uri().path(), "/v1/ws");
            assert_eq!(request.headers()["sec-websocket-protocol"], "baton.v1.json");
            let headers = response.headers_mut();
            headers.insert("sec-websocket-protocol", "baton.v1.json".parse().unwrap());
            headers.insert(name, value.parse().unwrap());
            Ok(response)
        };
        let stream = self.accept_stream().await;
        Talk(accept_hdr_async(stream, answer).await.unwrap())
    }
}

pub(crate) struct Talk(WebSocketStream<TcpStream>);

impl Talk {
    /// The next frame; none when the client has disconnected.
    pub(crate) async fn try_hear(&mut self) -> Option<Value> {
        loop {
            match patiently(self.0.next()).await {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).unwrap(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_) | Message::Frame(_))) => panic!("text was expected"),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
            }
        }
    }

    pub(crate) async fn hear(&mut self) -> Value {
        self.try_hear().await.expect("the client is there")
    }

    /// The next frame, which must be this command.
    pub(crate) async fn hear_command(&mut self, command: &str) -> Value {
        let heard = self.hear().await;
        assert_eq!(heard["command"], command, "{heard}");
        heard
    }

    pub(crate) async fn say(&mut self, frame: Value) {
        self.say_text(&frame.to_string()).await;
    }

    pub(crate) async fn say_text(&mut self, text: &str) {
        self.0.send(Message::Text(text.into())).await.unwrap();
    }

    pub(crate) async fn say_binary(&mut self, bytes: &[u8]) {
        self.0.send(Message::Binary(bytes.to_vec().into())).await.unwrap();
    }

    /// Answers a request with an entry.
    pub(crate) async fn answer_entry(&mut self, request: &Value, version: u64) {
        let entry = entry(request["key"].as_str().unwrap(), &json!(1), version);
        self.say(json!({"id": request["id"], "revision": version, "result": entry})).await;
    }

    /// Answers a watch, and returns its number.
    pub(crate) async fn begin(&mut self, request: &Value, from: u64) -> Value {
        assert_eq!(request["command"], "watch", "{request}");
        let id = request["id"].clone();
        let result = json!({"watch": id, "from": from});
        self.say(json!({"id": id, "revision": from - 1, "result": result})).await;
        id
    }

    pub(crate) async fn push(&mut self, watch: &Value, event: Value) {
        self.say(json!({"watch": watch, "event": event})).await;
    }

    pub(crate) async fn refuse(&mut self, request: &Value, code: &str, kind: &str, facts: Value) {
        self.say(json!({"id": request["id"], "error": problem(code, kind, &facts)})).await;
    }

    /// Ends a watch.
    pub(crate) async fn end(&mut self, watch: &Value, code: &str, kind: &str, facts: Value) {
        self.say(json!({"watch": watch, "error": problem(code, kind, &facts)})).await;
    }
}

pub(crate) fn problem(code: &str, kind: &str, facts: &Value) -> Value {
    let mut problem = json!({"code": code, "kind": kind, "detail": "why not", "hint": "stop"});
    for (name, fact) in facts.as_object().unwrap() {
        problem[name] = fact.clone();
    }
    problem
}

pub(crate) fn entry(key: &str, value: &Value, version: u64) -> Value {
    let checksum = format!("crc32:{:08x}", crc32fast::hash(value.to_string().as_bytes()));
    json!({
        "namespace": "shared", "key": key, "value": value, "version": version,
        "revision": version, "updated_at": "2026-01-01T00:00:00.000Z", "updated_by": "bob",
        "checksum": checksum,
    })
}

/// The event at an index of a commit, and whether it is the last one.
pub(crate) fn event(revision: u64, index: usize, last: bool) -> Value {
    let set = |index: usize| {
        Event::State(StateEvent::Set {
            namespace: NamespaceName::shared(),
            key: Key::parse(&format!("k{revision}.{index}")).unwrap(),
            value: Json::of(&index).unwrap(),
            version: Version(1),
            operation: Operation::Set,
            expires_at: None,
            bound_to: None,
            source: None,
        })
    };
    let batch = Batch {
        revision: Revision(revision),
        time: Timestamp(1_000),
        agent: AgentId::parse("bob").unwrap(),
        events: (0..=index).map(set).collect(),
    };
    let notice = Notice::new(Arc::new(batch), index);
    let mut event: Value = serde_json::from_slice(&notice.json()).unwrap();
    if last {
        event["last"] = json!(true);
    }
    event
}
