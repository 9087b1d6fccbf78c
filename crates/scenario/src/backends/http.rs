//! Over HTTP: commands are posted, events are streamed.

use serde_json::{Value, json};

use super::WORKSPACE;
use super::http_client::Connection;
use super::server::TestServer;
use crate::run::Backend;
use crate::script::ScriptedCall;

/// How commands are posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyForm {
    /// Each separately.
    Single,
    /// Each as a list of one, which takes another path through the server.
    Listed,
}

/// A server that is used over HTTP.
pub struct HttpBackend {
    // Before the server, so that it need not wait for this to end.
    connection: Connection,
    server: TestServer,
    form: BodyForm,
    /// Each on its own connection, which is in use until it is answered.
    waits: Vec<(String, Connection)>,
}

impl HttpBackend {
    /// An empty server.
    pub fn new(form: BodyForm) -> Self {
        let server = TestServer::new();
        let connection = Connection::open(server.address);
        Self { connection, server, form, waits: Vec::new() }
    }
}

/// Sends a command.
fn post(connection: &mut Connection, scripted: &ScriptedCall, form: BodyForm) {
    let document = Value::Object(scripted.body_fields());
    let (path, body) = match (scripted.command.as_str(), form) {
        ("transaction", _) => ("transactions", document),
        (_, BodyForm::Single) => ("commands", document),
        (_, BodyForm::Listed) => ("commands", json!([document])),
    };
    let line = format!("POST /v1/{}/{path}", scripted.workspace_name());
    let mut headers = vec![("content-type", "application/json")];
    headers.push(("baton-agent", &scripted.agent));
    if let Some(key) = &scripted.idempotency_key {
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
            // An invalid header refuses the whole list.
            if answer.is_array() { answer[0].clone() } else { answer }
        }
        status => {
            assert_eq!(kind, "application/problem+json");
            assert_eq!(answer["status"], status, "the body repeats the status");
            json!({"error": answer})
        }
    }
}

impl Backend for HttpBackend {
    fn name(&self) -> String {
        match self.form {
            BodyForm::Single => "HTTP".to_owned(),
            BodyForm::Listed => "HTTP with lists of commands".to_owned(),
        }
    }

    fn advance_clock(&mut self, to_ms: u64) {
        self.server.advance_clock(to_ms);
    }

    fn call(&mut self, scripted: &ScriptedCall) -> Option<Value> {
        post(&mut self.connection, scripted, self.form);
        Some(answer(&mut self.connection))
    }

    fn call_blocking(&mut self, scripted: &ScriptedCall) -> Option<Value> {
        let before = self.revision();
        let mut connection = Connection::open(self.server.address);
        post(&mut connection, scripted, self.form);
        // A waiting call is recorded before any other call is answered.
        while self.revision() == before {
            if connection.has_more() {
                return Some(answer(&mut connection));
            }
        }
        self.waits.push((scripted.agent.clone(), connection));
        None
    }

    fn receive_answer(&mut self, agent: &str) -> Option<Value> {
        let index = self.waits.iter().position(|(waits, _)| waits == agent)?;
        Some(answer(&mut self.waits.remove(index).1))
    }

    fn events(&mut self, after: u64, up_to: u64) -> Vec<Value> {
        let mut events = Vec::new();
        if after == up_to {
            return events;
        }
        let mut connection = Connection::open(self.server.address);
        let line = format!("GET /v1/{WORKSPACE}/watch?waits=true");
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
