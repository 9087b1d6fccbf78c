//! The content of the server log, and what it omits.

use std::io::Write;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use baton::Options;
use baton_core::access::Grant;
use baton_server::Settings;
use baton_server::access::{Tokens, Wanted};
use baton_server::server_log::{Form, Level, ServerLog};
use serde_json::{Value, json};

use crate::harness::{Harness, PATIENCE, in_memory, settings};

struct Paper(Sender<String>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(crate) fn server_log(level: Level) -> (ServerLog, Receiver<String>) {
    let (paper, lines) = channel();
    let server_log = ServerLog::new(level, Form::Json, Paper(paper)).expect("there is a thread");
    (server_log, lines)
}

/// The next line that contains this.
pub(crate) fn next(lines: &Receiver<String>, what: &str) -> Value {
    loop {
        let line = lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no `{what}`"));
        let line: Value = serde_json::from_str(&line).expect("it is JSON");
        if line["what"] == what {
            return line;
        }
    }
}

#[tokio::test]
async fn requests_and_refusals_are_logged_at_the_level_debug() {
    let (server_log, lines) = server_log(Level::Debug);
    let harness = Harness::with(Settings { server_log, ..settings() }).await;
    let mut socket = harness.socket().await;
    let get = json!({"command": "state.get", "namespace": "shared", "key": "k", "agent": "ada"});
    assert_eq!(socket.ask(get).await["error"]["code"], "state.not_found");
    let asked = next(&lines, "operation.asked");
    assert_eq!((&asked["workspace"], &asked["agent"]), (&json!("w"), &json!("ada")), "{asked}");
    assert_eq!(asked["operation"], "state.get");
    let refused = next(&lines, "operation.refused");
    assert_eq!(refused["code"], "state.not_found");
    assert_eq!(refused["connection"], asked["connection"]);
    harness.http().await.put("/v1/w/state/shared/k", &json!(1)).await;
    let asked = next(&lines, "operation.asked");
    assert_eq!(asked["operation"], "state.set", "{asked}");
    assert!(asked["connection"].as_u64() > refused["connection"].as_u64());
    harness.end().await;
}

#[tokio::test]
async fn nothing_is_written_for_each_operation_unless_all_is_wanted() {
    let (server_log, lines) = server_log(Level::Info);
    let harness = Harness::with(Settings { server_log, ..settings() }).await;
    let mut socket = harness.socket().await;
    for _ in 0..100 {
        let set = json!({"command": "state.set", "namespace": "shared", "key": "k", "value": 1});
        assert!(socket.ask(set).await["error"].is_null());
    }
    drop(socket);
    harness.end().await;
    assert_eq!(lines.try_recv().ok(), None);
}

#[tokio::test]
async fn slow_requests_are_logged_but_not_waiting_ones() {
    let (server_log, lines) = server_log(Level::Warn);
    // With a threshold of zero, everything is slow.
    let harness = Harness::with(Settings { server_log, slow: Duration::ZERO, ..settings() }).await;
    let mut http = harness.http().await;
    let response = http.command(&json!({"command": "task.claim", "wait_ms": 20})).await;
    assert_eq!(response.status, 200, "{response:?}");
    http.put("/v1/w/state/shared/k", &json!(1)).await;
    let slow = next(&lines, "operation.slow");
    assert_eq!(
        (&slow["level"], &slow["operation"]),
        (&json!("warn"), &json!("state.set")),
        "{slow}"
    );
    assert!(slow["duration_us"].is_u64(), "{slow}");
    harness.end().await;
}

#[tokio::test]
async fn tokens_are_written_down_by_their_names_alone() {
    let baton = in_memory(Options::default());
    let (name, grant) = ("root\nerror forged".to_owned(), Grant::admin());
    let tokens = Tokens::of(&baton).expect("its name is good");
    let wanted = |name: &str| Wanted {
        name: name.to_owned(),
        grant: grant.clone(),
        ttl_ms: None,
        quota: None,
    };
    assert!(tokens.create(wanted(&name)).await.is_err(), "no name has a line of its own");
    let bearer = format!("Bearer {}", tokens.create(wanted("root")).await.expect("kept").token);
    let (server_log, lines) = server_log(Level::Debug);
    let harness = Harness::on(baton, Settings { tokens: true, server_log, ..settings() }).await;
    let mut http = harness.http().await;
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let wanted = json!({"name": "ci", "grant": {"role": "reader"}}).to_string();
    let made = http.request("POST", "/v1/access/tokens", &headers, &wanted).await.json();
    let noted = next(&lines, "token.made");
    assert_eq!((&noted["name"], &noted["role"]), (&json!("ci"), &json!("reader")), "{noted}");
    let path = format!("/v1/access/tokens/{}", made["id"].as_str().expect("it has an id"));
    http.request("DELETE", &path, &headers, "").await;
    assert_eq!(next(&lines, "token.revoked")["id"], made["id"]);
    assert_eq!(http.get("/v1/w/state").await.status, 401);
    assert_eq!(next(&lines, "access.refused")["code"], "access.no_token");
    harness.end().await;
    let secrets = [bearer.trim_start_matches("Bearer "), made["token"].as_str().expect("shown")];
    for line in lines.try_iter().chain([noted.to_string()]) {
        assert!(secrets.iter().all(|secret| !line.contains(secret)), "{line}");
    }
}
