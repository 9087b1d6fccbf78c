//! Plain requests and others on the same connections: which code answers must not show.

use baton::clock::ManualClock;
use baton::{Baton, Options};
use baton_core::Timestamp;
use baton_core::access::{Grant, Role};
use baton_log::MemoryLog;
use baton_server::Settings;
use baton_server::access::Tokens;
use serde_json::json;

use crate::access::{grant, guarded, patterns};
use crate::callers::http::Http;
use crate::harness::{Harness, SHORT, settings, within};

/// The last request on a connection, which tells where the answers before it end.
const LAST: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
const SET: &str = "PUT /v1/w/state/shared/k HTTP/1.1\r\nhost: localhost\r\nbaton-agent: ada\r\n\
                   content-type: application/json\r\ncontent-length: 9\r\n\r\n\"a value\"";
const GET: &str = "GET /v1/w/state/shared/k HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// A server whose answers depend on requests alone.
async fn still() -> Harness {
    let clock = ManualClock::at(Timestamp(1_767_225_600_000));
    let baton = Baton::on(MemoryLog::default(), clock, Options::default());
    Harness::on(baton.expect("memory does not fail"), settings()).await
}

/// Everything that is answered, without the dates.
async fn answered(http: &mut Http) -> String {
    let text = String::from_utf8(http.ends().await).expect("answers are text");
    let is_date = |line: &&str| {
        let date = line.strip_prefix("date: ");
        assert!(date.is_none_or(|date| date.len() == 31 && date.ends_with(" GMT\r\n")), "{line}");
        date.is_some()
    };
    text.split_inclusive('\n').filter(|line| !is_date(line)).collect()
}

/// The answers on a connection of its own.
async fn answers(harness: &Harness, requests: &str) -> String {
    let mut http = harness.http().await;
    http.send(format!("{requests}{LAST}")).await;
    answered(&mut http).await
}

/// The same from the HTTP library, which serves a connection from the first request on that is not
/// plain.
async fn answers_of_library(harness: &Harness, requests: &str) -> String {
    let mut http = harness.http().await;
    assert_eq!(http.get("/healthz").await.status, 200);
    http.send(format!("{requests}{LAST}")).await;
    answered(&mut http).await
}

fn set(head: &str, value: &str) -> String {
    let length = value.len();
    format!("PUT {head}\r\ncontent-length: {length}\r\n\r\n{value}")
}

/// Paths of an entry, and others.
const PATHS: &[&str] = &[
    "/v1/w/state/shared/a/b",
    "/v1/w/state/shared/",
    "/v1/w/state/shared/%6b",
    "/v1/w/state/shared/k?ttl_ms=1000",
    "/v1/w/state/shared/k#part",
    "/v1/w/state/shared/a\"b",
    "/v1/w/state/no such/k",
    "/v1/w/state/unknown/k",
    "/v1/.baton/state/shared/k",
    "/v1/new/state/shared/k",
    "/v1//state/shared/k",
    "//v1/w/state/shared/k",
    "http://localhost/v1/w/state/shared/k",
    "http://elsewhere/v1/w/state/shared/k",
];

/// Headers that are plain, and others.
const HEADERS: &[&str] = &[
    "Baton-Agent: bob",
    "BATON-AGENT:bob  ",
    "baton-agent: ",
    "baton-agent: a b",
    "baton-agent: baton",
    "baton-agent: ada\r\nbaton-agent: bob",
    "baton-agent: \u{e9}",
    "baton-agent : ada",
    "idempotency-key: once",
    "idempotency-key: once",
    "idempotency-key: ",
    "idempotency-key: a\r\nidempotency-key: b",
    "content-type: application/json; charset=utf-8",
    "content-type: text/plain",
    "content-type: application/json\r\ncontent-type: application/json",
    "content-length: 1",
    "content-length: 2",
    "host: localhost",
    "host: elsewhere",
    "origin: http://localhost",
    "origin: http://elsewhere",
    "if-match: \"1\"",
    "if-none-match: *",
    "prefer: return=minimal",
    "baton-token: 7",
    "expect: 100-continue",
    "connection: keep-alive",
    "connection: Keep-Alive, te",
    "connection: close",
    "user-agent: test/1.0\r\naccept: */*\r\naccept-encoding: gzip",
    "authorization: Bearer baton_unknown",
    "authorization: Basic YTpi",
    "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "x-other: 1",
    "a-name-that-is-longer-than-all: 1",
    "no colon",
];

/// Changes of a plain request.
const CHANGES: &[(&str, &str)] = &[
    ("PUT", "put"),
    ("PUT", "POST"),
    ("PUT", "DELETE"),
    ("HTTP/1.1", "HTTP/1.0"),
    ("HTTP/1.1", "HTTP/2.0"),
    ("host: localhost\r\n", ""),
    ("host: localhost", "host: elsewhere"),
    ("host: localhost", "host: 127.0.0.1:80"),
    ("content-length: 9", "content-length: 0"),
    ("content-length: 9", "content-length: +9"),
    ("content-length: 9", "content-length: 9, 9"),
    ("content-length: 9", "content-length: 99999999999999999999"),
    ("content-length: 9", "content-length: 9\r\ntransfer-encoding: chunked"),
    (
        "content-length: 9\r\n\r\n\"a value\"",
        "transfer-encoding: chunked\r\n\r\n1\r\n7\r\n0\r\n\r\n",
    ),
    ("\r\n", "\n"),
    ("PUT", "\r\n\r\nPUT"),
    ("PUT", " PUT"),
];

fn requests() -> Vec<String> {
    let entry = "/v1/w/state/shared/k";
    let to = |path: &str| format!("{path} HTTP/1.1\r\nhost: localhost");
    let with = |header: &str| format!("{entry} HTTP/1.1\r\nhost: localhost\r\n{header}");
    let mut requests = vec![SET.to_owned(), SET.to_owned(), GET.to_owned()];
    requests.extend(
        ["1", " [1, 2] ", "{\"a\": 1e3}", "", "no JSON", "\"\\u00e9 \u{e9}\"", "\"half", "1 2"]
            .map(|value| set(&to(entry), value)),
    );
    requests.push(set(&to(entry), &format!("\"{}\"", "x".repeat(20_000))));
    for path in PATHS {
        requests.push(set(&to(path), "1"));
        requests.push(format!("GET {}\r\n\r\n", to(path)));
    }
    for header in HEADERS {
        requests.push(set(&with(header), "2"));
        requests.push(format!("GET {}\r\n\r\n", with(header)));
    }
    for (from, into) in CHANGES {
        requests.push(SET.replace(from, into));
    }
    requests.push(format!("GET {}\r\ncontent-length: 1\r\n\r\n7", to(entry)));
    requests.push(format!("HEAD {}\r\n\r\n", to(entry)));
    requests
}

#[tokio::test]
async fn plain_requests_are_answered_like_others() {
    let (one, other) = (still().await, still().await);
    for request in requests() {
        let wanted = answers_of_library(&other, &request).await;
        assert!(!wanted.is_empty(), "{request}");
        assert_eq!(answers(&one, &request).await, wanted, "{request}");
    }
    let counted = "baton_requests_total{interface=\"http\",outcome=\"denied\"}";
    let mut counts = Vec::new();
    for harness in [one, other] {
        counts.push(harness.metric(counted).await);
        harness.end().await;
    }
    assert!(counts[0] > 0 && counts[0] == counts[1], "{counts:?}");
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_their_order() {
    let harness = Harness::new().await;
    let sets: String = (0..30)
        .map(|number| set("/v1/w/state/shared/k HTTP/1.1\r\nhost: localhost", &number.to_string()))
        .collect();
    let other = "GET /v1/w/state/shared?limit=1 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let text = answers(&harness, &format!("{sets}{GET}{other}{sets}{GET}")).await;
    let versions: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("etag: ")).collect();
    let wanted: Vec<String> =
        (1..=30).chain([30]).chain(31..=60).chain([60]).map(|it| format!("\"{it}\"")).collect();
    assert_eq!(versions, wanted);
}

/// Wherever the network divides a request, it is executed once.
#[tokio::test]
async fn a_request_may_arrive_in_two_pieces() {
    let harness = Harness::new().await;
    for place in 1..SET.len() {
        let mut http = harness.http().await;
        http.send(&SET[..place]).await;
        // Most of the time the first piece is received alone.
        tokio::task::yield_now().await;
        http.send(&SET[place..]).await;
        let response = http.response().await;
        assert_eq!(response.status, 200, "{place}: {response:?}");
        assert_eq!(response.json()["version"], place, "{response:?}");
        http.send(GET).await;
        assert_eq!(http.response().await.json()["version"], place);
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_its_last_answer() {
    let harness = Harness::with(Settings { head_deadline: SHORT, ..settings() }).await;
    for rest in ["", "PUT /v1/w/state/sha", "PUT /v1/w/state/shared/k HTTP/1.1\r\nhost: lo"] {
        let mut http = harness.http().await;
        http.send(format!("{SET}{rest}")).await;
        assert_eq!(http.response().await.status, 200);
        assert_eq!(http.ends().await, b"", "{rest}");
    }
    harness.becomes_idle().await;
}

#[tokio::test]
async fn an_idle_connection_ends_with_the_server() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    http.send(SET).await;
    assert_eq!(http.response().await.status, 200);
    let (_, running) = harness.begin_shutdown();
    assert_eq!(http.ends().await, b"");
    within(running).await.unwrap();
}

/// The caller is remembered, but not what it may do.
#[tokio::test]
async fn every_request_has_the_permissions_of_its_own_token() {
    let narrow = Grant { namespaces: patterns(&["other"]), ..grant(Role::Worker) };
    let (harness, tokens) =
        guarded(vec![grant(Role::Worker), grant(Role::Reader), narrow, grant(Role::Admin)]).await;
    let mut http = harness.http().await;
    let path = "/v1/w/state/shared/k";
    let mut put = async |token: Option<&str>| {
        let headers: Vec<_> = token.iter().map(|token| ("authorization", *token)).collect();
        http.request("PUT", path, &headers, "1").await.status
    };
    let [worker, reader, narrow, admin] = tokens.as_slice() else { panic!("four were asked for") };
    for _ in 0..2 {
        assert_eq!(put(Some(worker)).await, 200);
        assert_eq!(put(Some(reader)).await, 403);
        assert_eq!(put(None).await, 401);
        assert_eq!(put(Some(narrow)).await, 403);
        assert_eq!(put(Some("Bearer baton_unknown")).await, 401);
        assert_eq!(put(Some(worker)).await, 200);
    }
    let known = Tokens::of(&harness.baton).unwrap().all().await.unwrap();
    let id = known.iter().find(|token| token.grant == grant(Role::Worker)).unwrap().id.clone();
    let headers = [("authorization", admin.as_str())];
    let revoke = format!("/v1/access/tokens/{id}");
    let revoked = harness.http().await.request("DELETE", &revoke, &headers, "").await;
    assert_eq!(revoked.status, 200, "{revoked:?}");
    assert_eq!(put(Some(worker)).await, 401, "the connection has used it before");
    assert_eq!(put(Some(admin)).await, 200);
    let value = harness.baton.workspace("w").unwrap().state("shared").get("k").await.unwrap();
    assert_eq!(value.version().0, 5);
    assert_eq!(json!(1).to_string(), value.json().as_str());
}

/// What a peer does not accept at the moment is sent when it does, whichever thread has tried.
#[tokio::test]
async fn a_slow_reader_gets_every_answer() {
    const READERS: usize = 12;
    const REQUESTS: usize = 150;
    let harness = Harness::new().await;
    let long = json!("x".repeat(12_000));
    assert_eq!(harness.http().await.put("/v1/w/state/shared/k", &long).await.status, 200);
    let mut readers = Vec::new();
    for _ in 0..READERS {
        let mut http = Http::narrow(harness.address).await;
        http.send(GET.repeat(REQUESTS)).await;
        readers.push(http);
    }
    for reader in &mut readers {
        for number in 0..REQUESTS {
            let response = reader.response().await;
            assert_eq!(response.status, 200, "{number}");
            assert_eq!(response.json()["value"], long, "{number}");
        }
        reader.send(GET).await;
        assert_eq!(reader.response().await.status, 200);
    }
}
