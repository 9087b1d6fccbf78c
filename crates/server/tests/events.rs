//! Watches over HTTP: Server-Sent Events.

use baton::Options;
use serde_json::{Value, json};

use crate::callers::http::{Http, lines};
use crate::harness::{Harness, SHORT, in_memory, settings};

/// A stream of events, as a browser reads one.
struct Events {
    http: Http,
    text: String,
}

/// One event: its type, its id if it has one, and its data.
type Event = (String, Option<u64>, Value);

impl Events {
    async fn open(harness: &Harness, query: &str, headers: &[(&str, &str)]) -> Self {
        let mut http = harness.http().await;
        let lines = lines(headers);
        let head = format!("GET /v1/w/watch{query} HTTP/1.1\r\nhost: localhost\r\n{lines}\r\n");
        http.send(head).await;
        let (status, head) = http.head().await;
        assert_eq!(status, 200, "{head}");
        assert!(head.contains("text/event-stream"), "{head}");
        let mut events = Self { http, text: String::new() };
        assert_eq!(events.block().await.as_deref(), Some("retry: 1000\n: watching"));
        events
    }

    /// The next lines up to an empty one; none at the end of the stream.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            let chunk = self.http.chunk().await?;
            self.text.push_str(str::from_utf8(&chunk).expect("events are text"));
        }
    }

    async fn next(&mut self) -> Option<Event> {
        let (mut kind, mut id, mut data) = (String::new(), None, Vec::new());
        for line in self.block().await?.lines() {
            match line.split_once(": ").expect("a line has a name") {
                ("event", name) => name.clone_into(&mut kind),
                ("id", number) => id = Some(number.parse().expect("an id is a revision")),
                ("data", text) => data.push(text.to_owned()),
                (name, text) => panic!("`{name}: {text}` is not known"),
            }
        }
        let data = serde_json::from_str(&data.join("\n")).expect("data is JSON");
        Some((kind, id, data))
    }

    async fn keys(&mut self, count: usize) -> Vec<String> {
        let mut keys = Vec::new();
        for _ in 0..count {
            let (_, _, data) = self.next().await.expect("the stream goes on");
            keys.push(data["subject"].as_str().expect("an event has a subject").to_owned());
        }
        keys
    }
}

fn set(key: &str, value: impl Into<Value>) -> Value {
    json!({"command": "state.set", "namespace": "shared", "key": key, "value": value.into()})
}

#[tokio::test]
async fn events_come_as_they_happen_and_only_the_last_of_a_commit_has_a_number() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let mut events = Events::open(&harness, "?pattern=state/**", &[]).await;
    http.command(&set("a", "on\ntwo lines")).await;
    let both = json!({"commands": [set("b", 2), set("c", 3)]});
    http.post("/v1/w/transactions", &both).await;
    let (kind, id, data) = events.next().await.unwrap();
    assert_eq!((kind.as_str(), id), ("state.set", Some(1)), "{data}");
    assert_eq!((&data["revision"], &data["value"]), (&json!(1), &json!("on\ntwo lines")));
    assert_eq!(events.next().await.unwrap().1, None);
    assert_eq!(events.next().await.unwrap().1, Some(2));
}

#[tokio::test]
async fn a_value_on_several_lines_arrives_complete() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let mut events = Events::open(&harness, "", &[]).await;
    for body in ["{\"a\":\n1,\r\n\"b\":\r2}", "[\n\n]"] {
        let response = http.request("PUT", "/v1/w/state/shared/lines", &[], body).await;
        assert_eq!(response.status, 200, "{}", response.json());
        let (_, _, data) = events.next().await.unwrap();
        assert_eq!(data["value"], serde_json::from_str::<Value>(body).unwrap());
    }
}

#[tokio::test]
async fn a_stream_resumes_without_gap_or_duplicate() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    for number in 1..=6 {
        http.command(&set(&format!("k{number}"), number)).await;
    }
    let mut from = Events::open(&harness, "?pattern=state/**&from=4", &[]).await;
    assert_eq!(from.keys(3).await, ["state/shared/k4", "state/shared/k5", "state/shared/k6"]);
    // The header that a browser sends automatically takes precedence over the address.
    let seen = [("Last-Event-ID", "5")];
    let mut resumed = Events::open(&harness, "?from=1&pattern=state/**&snapshot=true", &seen).await;
    assert_eq!(resumed.keys(1).await, ["state/shared/k6"]);
    http.command(&set("k7", 7)).await;
    assert_eq!(resumed.keys(1).await, ["state/shared/k7"]);
    let mut next = Events::open(&harness, "?from=8", &[]).await;
    http.command(&set("k8", 8)).await;
    assert_eq!(next.keys(1).await, ["state/shared/k8"]);
}

#[tokio::test]
async fn a_stream_from_a_revision_that_does_not_exist_is_refused() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    http.command(&set("k1", 1)).await;
    // As after a restore of older data: the browser has seen more than there is.
    let seen = [("Last-Event-ID", "60")];
    let response = http.request("GET", "/v1/w/watch", &seen, "").await;
    assert_eq!(response.problem(), (400, "history.not_yet".to_owned()));
    let facts = response.json();
    assert_eq!((&facts["asked"], &facts["newest"]), (&json!(61), &json!(1)));
    let response = http.get("/v1/w/watch?from=3").await;
    assert_eq!(response.problem(), (400, "history.not_yet".to_owned()));
    harness.comes_to("baton_watches", 0).await;
}

#[tokio::test]
async fn a_stream_may_begin_with_a_snapshot_and_name_types() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    http.command(&set("a", 1)).await;
    let query = "?pattern=state/shared/*&snapshot=true&types=state.deleted,state.set";
    let mut events = Events::open(&harness, query, &[]).await;
    let (kind, id, data) = events.next().await.unwrap();
    assert_eq!((kind.as_str(), id), ("snapshot", Some(1)));
    assert_eq!(data["entries"][0]["key"], "a");
    let patch =
        json!({"command": "state.patch", "namespace": "shared", "key": "a", "increment": 1});
    http.command(&patch).await;
    http.command(&set("b", 1)).await;
    assert_eq!(events.next().await.unwrap().2["subject"], "state/shared/b");
}

#[tokio::test]
async fn a_silent_stream_sends_keep_alives() {
    let harness =
        Harness::with(baton_server::Settings { comment_every: SHORT, ..settings() }).await;
    let mut events = Events::open(&harness, "", &[]).await;
    for _ in 0..2 {
        assert_eq!(events.block().await.as_deref(), Some(": still here"));
    }
}

#[tokio::test]
async fn invalid_watches_are_refused() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    for (query, code) in [
        ("?pattern=", "request.bad_field"),
        ("?from=x", "request.bad_field"),
        ("?from=-1", "request.bad_field"),
        ("?snapshot=perhaps", "request.bad_field"),
        ("?colour=red", "request.unknown_field"),
        ("?from=1&from=2", "request.duplicate_field"),
        ("?from=1&snapshot=true", "request.bad_field"),
    ] {
        let response = http.get(&format!("/v1/w/watch{query}")).await;
        assert_eq!(response.problem(), (400, code.to_owned()), "{query}");
    }
    let response = http.request("GET", "/v1/w/watch", &[("Last-Event-ID", "yesterday")], "").await;
    assert_eq!(response.problem(), (400, "request.bad_field".to_owned()));
    harness.comes_to("baton_watches", 0).await;
}

#[tokio::test]
async fn removed_history_and_a_lost_listener_are_reported() {
    let options = Options { compaction_interval: SHORT, ..Options::default() };
    let harness = Harness::on(in_memory(options), settings()).await;
    let mut http = harness.http().await;
    let retention = json!({"history_count": 1, "history_age_ms": 1});
    let response = http.request("PATCH", "/v1/w", &[], retention.to_string()).await;
    assert_eq!(response.status, 200, "{}", response.json());
    for number in 0..20 {
        http.command(&set("k", number)).await;
    }
    let workspace = harness.baton.workspace("w").unwrap();
    harness.baton.compact(&workspace).await.unwrap();
    let response = http.get("/v1/w/watch?from=1").await;
    assert_eq!(response.problem(), (404, "history.gone".to_owned()));
    assert!(response.json()["oldest"].as_u64().is_some_and(|oldest| oldest > 1));
    harness.comes_to("baton_watches", 0).await;
    let events = Events::open(&harness, "", &[]).await;
    harness.comes_to("baton_watches", 1).await;
    drop(events);
    harness.becomes_idle_but(1).await;
}
