//! The Model Context Protocol, frame by frame, as no client library would send it.

use std::io::Write;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::process::{Running, Server, send};

/// The client metadata that every request contains.
fn meta(revision: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientInfo": {"name": "frames", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    format!(r#""_meta":{meta}"#)
}

struct Frames(Running);

impl Frames {
    fn start(server: &Server) -> Self {
        let mut command = server.command(["mcp", "--agent", "ada"]);
        command.stdin(Stdio::piped());
        Self(Running::of(command))
    }

    fn send(&mut self, frame: &str) {
        let stdin = self.0.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{frame}\n").as_bytes()).unwrap();
    }

    fn call(&mut self, id: u64, tool: &str, arguments: &str) {
        let params = format!(r#""name":"{tool}","arguments":{arguments}"#);
        self.request(id, "tools/call", &format!("{params},{}", meta("2026-07-28")));
    }

    /// The arguments may be what no library would write.
    fn request(&mut self, id: u64, method: &str, params: &str) {
        let head = format!(r#""jsonrpc":"2.0","id":{id},"method":"{method}""#);
        self.send(&format!(r#"{{{head},"params":{{{params}}}}}"#));
    }

    /// The next response with this id.
    fn answer(&mut self, id: u64) -> Value {
        loop {
            let line = self.0.line();
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                return answer;
            }
        }
    }
}

#[test]
fn an_unknown_revision_of_the_protocol_is_refused_with_those_that_are_known() {
    let server = Server::start();
    let mut frames = Frames::start(&server);
    frames.request(1, "tools/list", &meta("1999-01-01"));
    let answer = frames.answer(1);
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
    assert!(answer["error"]["data"].to_string().contains("2026-07-28"), "{answer}");
}

#[test]
fn nonsense_and_depth_do_not_end_a_session() {
    let server = Server::start();
    let mut frames = Frames::start(&server);
    frames.call(1, "baton_brief", "{}");
    assert!(frames.answer(1)["result"].is_object());
    frames.send("no JSON at all");
    frames.send("[]");
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    frames.call(2, "baton_write_state", &format!(r#"{{"ref":"shared/a","value":{deep}}}"#));
    let wide = "x".repeat(1 << 20);
    frames.call(3, "baton_search", &format!(r#"{{"query":"{wide}"}}"#));
    let answer = frames.answer(3);
    assert_eq!(answer["result"]["isError"], json!(true), "{}", &answer.to_string()[..200]);
    frames.call(4, "baton_brief", "{}");
    assert!(frames.answer(4)["result"].is_object());
}

#[test]
fn an_interrupt_ends_a_session() {
    let server = Server::start();
    for words in [&["mcp"][..], &["mcp", "--data", "own"]] {
        let mut command = server.command(words);
        command.stdin(Stdio::piped());
        let mut frames = Frames(Running::of(command));
        frames.call(1, "baton_brief", "{}");
        assert!(frames.answer(1)["result"].is_object());
        send(&frames.0.child, Signal::INT);
        assert_eq!(frames.0.ended(), (130, String::new()), "{words:?}");
    }
}

#[test]
fn a_cancelled_call_takes_nothing() {
    let server = Server::start();
    let mut frames = Frames::start(&server);
    frames.call(1, "baton_claim", r#"{"wait_ms":50000}"#);
    frames.call(2, "baton_brief", "{}");
    assert!(frames.answer(2)["result"].is_object());
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    frames.send(cancel);
    frames.call(3, "baton_brief", "{}");
    assert!(frames.answer(3)["result"].is_object());
    // A call that still waited would keep the task.
    frames.call(4, "baton_create_task", r#"{"tasks":[{"type":"x"}]}"#);
    assert!(frames.answer(4)["result"].is_object());
    frames.call(5, "baton_claim", r#"{"wait_ms":50000}"#);
    let answer = frames.answer(5);
    assert_eq!(answer["result"]["structuredContent"]["task"]["type"], "x", "{answer}");
}
