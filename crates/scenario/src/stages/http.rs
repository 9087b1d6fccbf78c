//! Over HTTP: commands are posted, events are streamed.

use serde_json::{Value, json};

use super::WORKSPACE;
use super::message::Connection;
use super::served::Served;
use crate::play::Stage;
use crate::script::Said;

/// How commands are posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Each by itself.
    Single,
    /// Each as a list of one, which goes another way through the server.
    Listed,
}

/// A server that is asked over HTTP.
pub struct HttpStage {
    // Before the server, so that it need not wait for this to end.
    connection: Connection,
    served: Served,
    manner: Manner,
    /// Each on a connection of its own, which is taken until it is answered.
    waits: Vec<(String, Connection)>,
}

impl HttpStage {
    /// A server with nothing in it.
    pub fn new(manner: Manner) -> Self {
        let served = Served::new();
        let connection = Connection::open(served.address);
        Self { connection, served, manner, waits: Vec::new() }
    }
}

/// Sends what is said.
fn post(connection: &mut Connection, said: &Said, manner: Manner) {
    let spoken = Value::Object(said.spoken());
    let (path, body) = match (said.command.as_str(), manner) {
        ("transaction", _) => ("transactions", spoken),
        (_, Manner::Single) => ("commands", spoken),
        (_, Manner::Listed) => ("commands", json!([spoken])),
    };
    let line = format!("POST /v1/{}/{path}", said.place());
    let mut headers = vec![("content-type", "application/json")];
    headers.push(("baton-agent", &said.agent));
    if let Some(key) = &said.idempotency_key {
        headers.push(("idempotency-key", key));
    }
    connection.send(&line, &headers, body.to_string().as_bytes());
}

/// The answer to what was sent.
fn answer(connection: &mut Connection) -> Value {
    let head = connection.head();
    let body = connection.body(&head);
    let answer: Value = serde_json::from_slice(&body).expect("answers are JSON");
    let kind = head.header("content-type").unwrap_or_default();
    match head.status {
        200 => {
            assert_eq!(kind, "application/json");
            // A header that cannot be read refuses the whole list.
            if answer.is_array() { answer[0].clone() } else { answer }
        }
        status => {
            assert_eq!(kind, "application/problem+json");
            assert_eq!(answer["status"], status, "the body repeats the status");
            json!({"error": answer})
        }
    }
}

impl Stage for HttpStage {
    fn name(&self) -> String {
        match self.manner {
            Manner::Single => "HTTP".to_owned(),
            Manner::Listed => "HTTP with lists of commands".to_owned(),
        }
    }

    fn pass(&mut self, to_ms: u64) {
        self.served.pass(to_ms);
    }

    fn say(&mut self, said: &Said) -> Option<Value> {
        post(&mut self.connection, said, self.manner);
        Some(answer(&mut self.connection))
    }

    fn begin(&mut self, said: &Said) -> Option<Value> {
        let before = self.revision();
        let mut connection = Connection::open(self.served.address);
        post(&mut connection, said, self.manner);
        // Whoever waits has been written down before anyone else is answered.
        while self.revision() == before {
            if connection.has_more() {
                return Some(answer(&mut connection));
            }
        }
        self.waits.push((said.agent.clone(), connection));
        None
    }

    fn hear(&mut self, agent: &str) -> Option<Value> {
        let place = self.waits.iter().position(|(waits, _)| waits == agent)?;
        Some(answer(&mut self.waits.remove(place).1))
    }

    fn events(&mut self, after: u64, up_to: u64) -> Vec<Value> {
        let mut events = Vec::new();
        if after == up_to {
            return events;
        }
        let mut connection = Connection::open(self.served.address);
        let line = format!("GET /v1/{WORKSPACE}/watch");
        let seen = after.to_string();
        let head = connection.ask(&line, &[("last-event-id", &seen)], b"");
        assert_eq!(head.status, 200);
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        let mut text = String::new();
        loop {
            text.push_str(&String::from_utf8(connection.piece()).expect("events are text"));
            while let Some((event, rest)) = text.split_once("\n\n") {
                let field = |name: &str| {
                    let mut fields = event.lines().filter_map(|line| line.split_once(": "));
                    fields.find(|(field, _)| *field == name).map(|(_, value)| value.to_owned())
                };
                if let Some(data) = field("data") {
                    let data: Value = serde_json::from_str(&data).expect("events are JSON");
                    assert_eq!(field("event").as_deref(), data["type"].as_str());
                    events.push(data);
                }
                if field("id") == Some(up_to.to_string()) {
                    return events;
                }
                text = rest.to_owned();
            }
        }
    }
}
