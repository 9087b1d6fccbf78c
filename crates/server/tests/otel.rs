//! Spans: derived from the history and delivered to a collector, whatever fails in between.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use baton_server::{Otel, Settings};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::callers::http::Http;
use crate::harness::{Harness, eventually, settings, within};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A collector of spans: a server that answers with these statuses, one after the other, and stores
/// what it accepted.
struct Collector {
    address: SocketAddr,
    taken: Arc<Mutex<Taken>>,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct Taken {
    heads: Vec<String>,
    /// Every span that was sent, including repetitions.
    spans: Vec<Value>,
    refused: usize,
}

impl Collector {
    async fn new(statuses: &'static [&'static str]) -> Self {
        Self::at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), statuses).await
    }

    async fn at(address: SocketAddr, statuses: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind(address).await.expect("the port is free");
        let address = listener.local_addr().expect("it is bound");
        let taken = Arc::new(Mutex::new(Taken::default()));
        let there = Arc::clone(&taken);
        let serving = tokio::spawn(async move {
            let mut statuses = statuses.iter();
            while let Ok((mut stream, _)) = listener.accept().await {
                let Some((head, body)) = read(&mut stream).await else { continue };
                let status = statuses.next().unwrap_or(&"200 OK");
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\n{{}}");
                let _ = stream.write_all(answer.as_bytes()).await;
                let mut taken = there.lock().expect("no thread panics");
                if status.starts_with("200") {
                    let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
                    taken.spans.extend(spans.as_array().expect("there are spans").clone());
                    taken.heads.push(head);
                } else {
                    taken.refused += 1;
                }
            }
        });
        Self { address, taken, serving }
    }

    /// Stops the collector.
    async fn leave(self) -> SocketAddr {
        self.serving.abort();
        let _ = self.serving.await;
        self.address
    }

    /// The spans without duplicates, by their ids.
    fn spans(&self) -> BTreeMap<String, Value> {
        let taken = self.taken.lock().expect("no thread panics");
        let id = |span: &Value| span["spanId"].as_str().expect("a span has an id").to_owned();
        taken.spans.iter().map(|span| (id(span), span.clone())).collect()
    }

    fn refused(&self) -> usize {
        self.taken.lock().expect("no thread panics").refused
    }

    /// Waits until there are this many spans.
    async fn has(&self, count: usize) -> BTreeMap<String, Value> {
        let what = format!("there are {count} spans");
        eventually(&what, async || self.spans().len() >= count).await;
        let spans = self.spans();
        assert_eq!(spans.len(), count, "{:?}", names(&spans));
        spans
    }
}

async fn read(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            return Some((head.to_ascii_lowercase(), body));
        }
        let mut more = [0; 4096];
        let count = stream.read(&mut more).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&more[..count]);
    }
}

fn names(spans: &BTreeMap<String, Value>) -> Vec<String> {
    spans.values().map(|span| span["name"].to_string()).collect()
}

fn named<'a>(spans: &'a BTreeMap<String, Value>, name: &str) -> Vec<&'a Value> {
    let mut found: Vec<_> = spans.values().filter(|span| span["name"] == name).collect();
    found.sort_by_key(|span| span["startTimeUnixNano"].as_str().map(str::to_owned));
    found
}

fn attribute<'a>(span: &'a Value, name: &str) -> &'a Value {
    let all = span["attributes"].as_array().expect("there are attributes");
    let found = all.iter().find(|attribute| attribute["key"] == name);
    let value = &found.unwrap_or_else(|| panic!("no {name} in {span}"))["value"];
    if value["stringValue"].is_null() { &value["intValue"] } else { &value["stringValue"] }
}

/// A server that exports to a collector with short delays.
fn sending(address: SocketAddr) -> Settings {
    let endpoint = format!("http://{address}/some/");
    let otel = Otel::new(&endpoint, Some("api-key=s3cret"));
    let mut otel = otel.expect("that is where a collector may be");
    otel.batch_delay = Duration::from_millis(10);
    otel.look_every = Duration::from_millis(5);
    otel.retry_first = Duration::from_millis(10);
    otel.retry_max = Duration::from_millis(50);
    Settings { otel: Some(otel), ..settings() }
}

async fn on_disk(folder: &Path, settings: Settings) -> Harness {
    Harness::on(baton::open(folder).await.expect("the folder can be opened"), settings).await
}

/// Ends a server, and releases its folder.
async fn end(harness: Harness) {
    drop(harness.end().await);
}

/// Sends a command as an agent.
async fn say(http: &mut Http, agent: &str, command: &Value) -> Value {
    let headers = [("baton-agent", agent), ("content-type", "application/json")];
    let response = http.request("POST", "/v1/w/commands", &headers, command.to_string()).await;
    assert_eq!(response.status, 200, "{command}: {response:?}");
    response.json()["result"].clone()
}

async fn claim(http: &mut Http, agent: &str) -> Value {
    let claim = json!({"command": "task.claim", "task": "t", "wait_ms": 60_000});
    say(http, agent, &claim).await["lease"]["token"].clone()
}

/// A task is created in a request with a trace context, and fails once.
async fn begin_story(http: &mut Http) {
    let traceparent = format!("00-{TRACE}-{PARENT}-01");
    let headers = [("baton-agent", "ann"), ("traceparent", traceparent.as_str())];
    let wish = json!({"id": "t", "type": "write", "description": "psst",
                      "backoff": {"initial_ms": 0}});
    let response = http.request("POST", "/v1/w/tasks", &headers, wish.to_string()).await;
    assert_eq!(response.json()["traceparent"], traceparent.as_str(), "{response:?}");
    let token = claim(http, "ada").await;
    let failing = json!({"command": "task.fail", "task": "t", "token": token,
                         "error": {"code": "E7", "text": "psst"}});
    say(http, "ada", &failing).await;
    claim(http, "ada").await;
}

/// It is handed over, and completed.
async fn end_story(http: &mut Http) {
    let lease = say(http, "ada", &json!({"command": "task.get", "task": "t"})).await;
    let token = &lease["lease"]["token"];
    let offer = json!({"command": "handoff.offer", "to": "bob", "task": "t", "token": token});
    let handoff = say(http, "ada", &offer).await["id"].clone();
    let accept = json!({"command": "handoff.accept", "handoff": handoff});
    let token = say(http, "bob", &accept).await["task"]["lease"]["token"].clone();
    let done = json!({"command": "task.complete", "task": "t", "token": token,
        "result": {"text": "psst", "usage": {"input_tokens": 11, "output_tokens": 5}}});
    say(http, "bob", &done).await;
}

fn check_story(spans: &BTreeMap<String, Value>) {
    let task = named(spans, "task write")[0];
    assert_eq!((&task["traceId"], &task["parentSpanId"]), (&json!(TRACE), &json!(PARENT)));
    assert_eq!(attribute(task, "baton.workspace"), "w");
    assert_eq!(attribute(task, "baton.task.id"), "t");
    assert_eq!(attribute(task, "baton.task.requested_by"), "ann");
    assert_eq!(attribute(task, "baton.outcome"), "completed");
    let (failed, again) =
        (named(spans, "invoke_agent ada")[0], named(spans, "invoke_agent ada")[1]);
    let bob = named(spans, "invoke_agent bob")[0];
    let handoff = named(spans, "handoff ada")[0];
    for inside in [failed, again, bob, handoff] {
        assert_eq!(inside["parentSpanId"], task["spanId"], "{inside}");
        assert_eq!(inside["traceId"], TRACE);
        for time in ["startTimeUnixNano", "endTimeUnixNano"] {
            let nanoseconds = |span: &Value, name: &str| -> u64 {
                span[name].as_str().expect("a time is a text").parse().expect("of digits")
            };
            let moment = nanoseconds(inside, time);
            assert!(nanoseconds(task, "startTimeUnixNano") <= moment, "{inside}");
            assert!(moment <= nanoseconds(task, "endTimeUnixNano"), "{inside}");
        }
    }
    assert_eq!(failed["status"]["code"], 2);
    assert_eq!(attribute(failed, "error.type"), "E7");
    assert_eq!(attribute(again, "baton.outcome"), "handed_over");
    assert_eq!(again["status"], json!({}));
    assert_eq!(attribute(bob, "gen_ai.operation.name"), "invoke_agent");
    assert_eq!(attribute(bob, "gen_ai.agent.id"), "bob");
    assert_eq!(attribute(bob, "gen_ai.agent.name"), "bob");
    assert_eq!(attribute(bob, "gen_ai.conversation.id"), "t");
    assert_eq!(attribute(bob, "gen_ai.usage.input_tokens"), "11");
    assert_eq!(attribute(bob, "gen_ai.usage.output_tokens"), "5");
    assert_eq!(attribute(bob, "baton.task.attempt"), "2");
    assert_eq!(attribute(handoff, "baton.handoff.receiver"), "bob");
    assert_eq!(handoff["events"][0]["name"], "accepted");
    assert!(!json!(spans).to_string().contains("psst"), "what agents say does not leave");
}

#[tokio::test]
async fn a_story_becomes_spans_although_the_collector_refuses_at_first() {
    let collector = Collector::new(&["503 Busy", "429 Slow", "500 Odd"]).await;
    let harness = Harness::with(sending(collector.address)).await;
    let mut http = harness.http().await;
    begin_story(&mut http).await;
    end_story(&mut http).await;
    check_story(&collector.has(5).await);
    assert_eq!(collector.refused(), 3);
    harness.comes_to("baton_otel_spans_exported_total", 5).await;
    harness.comes_to("baton_otel_behind_revisions", 0).await;
    assert_eq!(harness.metric("baton_otel_spans_dropped_total").await, 0);
    assert_eq!(harness.metric("baton_otel_failures_total").await, 3);
    {
        let taken = collector.taken.lock().unwrap();
        let head = &taken.heads[0];
        assert!(head.starts_with("post /some/v1/traces "), "{head}");
        assert!(head.contains("content-type: application/json"), "{head}");
        assert!(head.contains("api-key: s3cret"), "{head}");
    }
    harness.end().await;
}

#[tokio::test]
async fn a_request_and_its_reply_become_a_span() {
    let collector = Collector::new(&[]).await;
    let harness = Harness::with(sending(collector.address)).await;
    let (mut ada, mut bob) = (harness.http().await, harness.http().await);
    say(&mut bob, "bob", &json!({"command": "agent.register", "agent": "bob"})).await;
    say(&mut bob, "bob", &json!({"command": "handler.register", "handler": "sum"})).await;
    let ask = json!({"command": "message.request", "to": {"handler": "sum"}, "body": [1, 2],
                     "traceparent": format!("00-{TRACE}-{PARENT}-01")});
    let answer = async {
        let receive = json!({"command": "inbox.receive", "wait_ms": 60_000});
        let mail = say(&mut bob, "bob", &receive).await;
        let message = &mail["messages"][0];
        assert_eq!(message["traceparent"], format!("00-{TRACE}-{PARENT}-01"));
        let reply = json!({"command": "message.reply", "request": message["id"], "body": 3});
        say(&mut bob, "bob", &reply).await;
    };
    let (answered, ()) = within(async { tokio::join!(say(&mut ada, "ada", &ask), answer) }).await;
    assert_eq!(answered["body"], 3);
    let spans = collector.has(1).await;
    let span = named(&spans, "invoke_agent bob")[0];
    assert_eq!((&span["traceId"], &span["parentSpanId"]), (&json!(TRACE), &json!(PARENT)));
    assert_eq!(span["kind"], 3);
    assert_eq!(attribute(span, "baton.message.from"), "ada");
    assert_eq!(attribute(span, "baton.outcome"), "replied");
    harness.end().await;
}

#[tokio::test]
async fn a_restart_in_the_middle_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::new(&[]).await;
    let harness = on_disk(folder.path(), sending(collector.address)).await;
    begin_story(&mut harness.http().await).await;
    let first = collector.has(1).await;
    end(harness).await;
    let harness = on_disk(folder.path(), sending(collector.address)).await;
    end_story(&mut harness.http().await).await;
    let spans = collector.has(5).await;
    check_story(&spans);
    let (id, span) = first.first_key_value().unwrap();
    assert_eq!(&spans[id], span, "it is the same however often it is sent");
    end(harness).await;
    let sent = collector.taken.lock().unwrap().spans.len();
    assert_eq!(sent, 5, "what was delivered before an orderly end is not sent again");
}

#[tokio::test]
async fn spans_that_end_during_an_outage_of_the_collector_are_sent_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::new(&[]).await;
    let harness = on_disk(folder.path(), sending(collector.address)).await;
    begin_story(&mut harness.http().await).await;
    collector.has(1).await;
    let address = collector.leave().await;
    end_story(&mut harness.http().await).await;
    eventually("an attempt failed", async || harness.metric("baton_otel_failures_total").await > 0)
        .await;
    // Also across a restart without a collector.
    end(harness).await;
    let harness = on_disk(folder.path(), sending(address)).await;
    let collector = Collector::at(address, &[]).await;
    let spans = collector.has(4).await;
    assert_eq!(named(&spans, "task write").len(), 1);
    assert_eq!(named(&spans, "invoke_agent ada").len(), 1, "the first was delivered before");
    assert_eq!(harness.metric("baton_otel_spans_dropped_total").await, 0);
    end(harness).await;
}

#[tokio::test]
async fn spans_that_ended_before_tracing_was_enabled_are_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let harness = on_disk(folder.path(), settings()).await;
    let mut http = harness.http().await;
    begin_story(&mut http).await;
    say(&mut http, "ann", &json!({"command": "task.create", "task": "u", "type": "old"})).await;
    say(&mut http, "ann", &json!({"command": "task.cancel", "task": "u"})).await;
    drop(http);
    end(harness).await;
    let collector = Collector::new(&[]).await;
    let harness = on_disk(folder.path(), sending(collector.address)).await;
    end_story(&mut harness.http().await).await;
    let spans = collector.has(4).await;
    assert!(named(&spans, "task old").is_empty());
    let ada = named(&spans, "invoke_agent ada");
    assert_eq!(attribute(ada[0], "baton.task.attempt"), "2", "what began before is known");
    end(harness).await;
}

#[tokio::test]
async fn spans_that_the_collector_rejects_are_dropped_and_counted() {
    let collector = Collector::new(&["400 Bad"]).await;
    let harness = Harness::with(sending(collector.address)).await;
    let mut http = harness.http().await;
    say(&mut http, "ann", &json!({"command": "task.create", "task": "u", "type": "one"})).await;
    say(&mut http, "ann", &json!({"command": "task.cancel", "task": "u"})).await;
    harness.comes_to("baton_otel_spans_dropped_total", 1).await;
    say(&mut http, "ann", &json!({"command": "task.create", "task": "v", "type": "two"})).await;
    say(&mut http, "ann", &json!({"command": "task.cancel", "task": "v"})).await;
    let spans = collector.has(1).await;
    assert_eq!(named(&spans, "task two").len(), 1, "what comes after it is sent");
    harness.end().await;
}

#[tokio::test]
async fn a_trace_that_its_caller_does_not_keep_is_not_sent() {
    let collector = Collector::new(&[]).await;
    let harness = Harness::with(sending(collector.address)).await;
    let mut http = harness.http().await;
    for (id, flags) in [("u", "00"), ("v", "01")] {
        let traceparent = format!("00-{TRACE}-{PARENT}-{flags}");
        let wish = json!({"command": "task.create", "task": id, "type": id,
                          "traceparent": traceparent});
        say(&mut http, "ann", &wish).await;
        say(&mut http, "ann", &json!({"command": "task.cancel", "task": id})).await;
    }
    let spans = collector.has(1).await;
    assert_eq!(named(&spans, "task v").len(), 1);
    harness.end().await;
}
