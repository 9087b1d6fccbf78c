//! Malformed HTTP requests: each is answered, and the server continues.

use baton_server::Settings;
use serde_json::json;

use crate::callers::http::{Http, Response};
use crate::harness::{Harness, settings};

const COMMANDS: &str = "/v1/w/commands";

async fn posted(http: &mut Http, body: impl AsRef<[u8]>) -> Response {
    http.request("POST", COMMANDS, &[], body).await
}

#[tokio::test]
async fn a_truncated_command_is_refused_and_the_connection_stays_open() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let whole =
        r#"{"command":"state.set","namespace":"shared","key":"k\n","value":[1,{"a":-1.5e3}]}"#;
    for cut in 1..whole.len() {
        let response = posted(&mut http, &whole[..cut]).await;
        assert_eq!(response.problem(), (400, "request.bad_json".to_owned()), "{}", &whole[..cut]);
    }
    for cut in 1..whole.len() {
        let list = format!("[{}", &whole[..cut]);
        assert_eq!(posted(&mut http, &list).await.status, 400, "{list}");
    }
    let response = posted(&mut http, &whole.replace("\\n", "")).await;
    assert_eq!(response.json()["result"]["version"], 1, "nothing of it was done before");
}

#[tokio::test]
async fn every_malformed_command_has_its_answer() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let deep = format!(
        r#"{{"command":"state.set","namespace":"n","key":"k","value":{}{}}}"#,
        "[".repeat(65),
        "]".repeat(65)
    );
    let many: Vec<String> = (0..70).map(|number| format!("\"f{number}\":1")).collect();
    let set = |rest: &str| format!(r#"{{"command":"state.set","namespace":"n","key":"k"{rest}}}"#);
    for (body, code) in [
        ("7".to_owned(), "request.malformed"),
        ("\"state.set\"".to_owned(), "request.malformed"),
        ("nul".to_owned(), "request.bad_json"),
        ("{}".to_owned(), "request.missing_field"),
        ("{} {}".to_owned(), "request.malformed"),
        ("[{}] 7".to_owned(), "request.malformed"),
        (r#"{"command":7}"#.to_owned(), "request.bad_field"),
        (r#"{"command":"state.fly"}"#.to_owned(), "request.unknown_command"),
        (r#"{"command":"state.expire"}"#.to_owned(), "request.unknown_command"),
        (r#"{"command":"namespace.ensure","name":"x"}"#.to_owned(), "request.unknown_command"),
        (r#"{"command":"watch","pattern":"**"}"#.to_owned(), "request.malformed"),
        (set(""), "request.missing_field"),
        (set(r#","value":1,"colour":2"#), "request.unknown_field"),
        (set(r#","value":1,"value":2"#), "request.duplicate_field"),
        (set(r#","value":1,"command":"state.set""#), "request.duplicate_field"),
        (set(r#","value":1,"ttl_ms":"soon""#), "request.bad_field"),
        (set(r#","value":1,"ttl_ms":-1"#), "request.bad_field"),
        (set(r#","value":1,"ttl_ms":1e400"#), "request.bad_json"),
        (set(r#","value":1,"ttl_ms":99999999999999999999999"#), "request.bad_field"),
        (set(r#","value":1e400"#), "request.bad_json"),
        (set(r#","value":"\ud800""#), "request.bad_json"),
        (set(r#","value":1,"id":3"#), "request.bad_field"),
        (set(r#","value":1,"workspace":"w""#), "request.bad_field"),
        (set(r#","value":1,"agent":"no spaces""#), "request.bad_field"),
        (set(r#","value":1,"idempotency_key":"""#), "request.bad_field"),
        (deep, "request.bad_json"),
        (format!("{{{}}}", many.join(",")), "request.too_large"),
        (
            r#"{"command":"state.set","namespace":"","key":"k","value":1}"#.to_owned(),
            "request.bad_field",
        ),
        (
            r#"{"command":"state.set","namespace":["a"],"key":"k","value":1}"#.to_owned(),
            "request.bad_field",
        ),
    ] {
        let response = posted(&mut http, &body).await;
        let (status, given) = response.problem();
        assert_eq!(given, code, "{body}: {}", response.json());
        assert_eq!(status, if code == "request.too_large" { 413 } else { 400 }, "{body}");
    }
    assert_eq!(http.get("/v1/w").await.json()["entries"], 0, "nothing was done");
}

#[tokio::test]
async fn invalid_utf8_is_refused_wherever_it_is() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let malformed = (400, "request.malformed".to_owned());
    assert_eq!(posted(&mut http, b"{\"command\":\"\xFF\"}").await.problem(), malformed);
    let response = http.request("PUT", "/v1/w/state/shared/k", &[], b"\"\xC3\"").await;
    assert_eq!(response.problem(), (400, "request.bad_json".to_owned()));
    assert_eq!(http.get("/v1/w/state/shared/%FF").await.problem(), malformed);
    assert_eq!(http.get("/v1/%FF").await.problem(), malformed);
    assert_eq!(http.get("/v1/w/state/shared?prefix=%FF").await.problem(), malformed);
    assert_eq!(http.get("/v1/w/state/shared?%C3=1").await.problem(), malformed);
    let bad_field = (400, "request.bad_field".to_owned());
    for name in ["baton-agent", "idempotency-key", "if-match"] {
        let mut bytes = format!("PUT /v1/w/state/shared/k HTTP/1.1\r\nhost: localhost\r\n{name}: ")
            .into_bytes();
        bytes.extend(b"\xC3\xA4\r\ncontent-length: 1\r\n\r\n7");
        http.send(bytes).await;
        assert_eq!(http.response().await.problem(), bad_field, "{name}");
    }
    let mut raw = harness.http().await;
    raw.send(b"GET /v1/\xFF\xFE HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let (status, _) = raw.head().await;
    assert!(status == 400 || status == 404, "{status}");
    drop(raw);
    harness.becomes_idle_but(1).await;
}

#[tokio::test]
async fn unknown_paths_methods_and_parameters() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    for path in ["/v1", "/v1/", "/v2/w", "/v1/w/", "/v1/w/colours", "/v1/w/state/shared/", "//"] {
        assert_eq!(http.get(path).await.problem(), (404, "request.not_found".to_owned()), "{path}");
    }
    for (method, path) in [
        ("POST", "/healthz"),
        ("POST", "/v1/w"),
        ("GET", COMMANDS),
        ("PUT", COMMANDS),
        ("POST", "/v1/w/state/shared/k"),
        ("OPTIONS", "/v1/w/watch"),
        ("BREW", "/v1/w/state"),
    ] {
        let response = http.request(method, path, &[], "").await;
        assert_eq!(
            response.problem(),
            (405, "request.method_not_allowed".to_owned()),
            "{method} {path}"
        );
        assert!(response.header("allow").is_some(), "{method} {path} says what it takes");
    }
    for (path, code) in [
        ("/v1/w/state?colour=red", "request.unknown_field"),
        ("/v1/w/state?limit=1&limit=2", "request.duplicate_field"),
        ("/v1/w/state?limit=x", "request.bad_field"),
        ("/v1/w/state?limit=-1", "request.bad_field"),
        ("/v1/w/state?limit=99999999999999999999999", "request.bad_field"),
        ("/v1/w/state/shared/k?key=other", "request.duplicate_field"),
        ("/v1/w/history?key=k", "state.key_without_namespace"),
        ("/v1/w/diff", "request.missing_field"),
        ("/v1/no%20spaces", "request.bad_field"),
        ("/v1/w?x", "request.unknown_field"),
        ("/v1/w/agents/no%20spaces", "request.bad_field"),
    ] {
        let response = http.get(path).await;
        assert_eq!(response.problem(), (400, code.to_owned()), "{path}: {}", response.json());
    }
    let response =
        http.post("/v1/w/commands?agent=ada", &json!({"command": "workspace.get"})).await;
    assert_eq!(response.problem(), (400, "request.unknown_field".to_owned()));
}

#[tokio::test]
async fn headers_that_make_no_sense() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let path = "/v1/w/state/shared/k";
    for (headers, status, code) in [
        (vec![("baton-agent", "a"), ("baton-agent", "b")], 400, "request.duplicate_field"),
        (vec![("idempotency-key", "a"), ("Idempotency-Key", "a")], 400, "request.duplicate_field"),
        (vec![("baton-agent", "no spaces")], 400, "request.bad_field"),
        (vec![("baton-agent", "")], 400, "request.bad_field"),
        (vec![("if-match", "7")], 400, "request.bad_field"),
        (vec![("if-match", "\"x\"")], 400, "request.bad_field"),
        (vec![("if-match", "\"1\", \"2\"")], 400, "request.bad_field"),
        (vec![("if-none-match", "\"1\"")], 400, "request.bad_field"),
        (vec![("content-type", "application/xml")], 415, "request.unsupported_media_type"),
        (vec![("content-type", "multipart/form-data")], 415, "request.unsupported_media_type"),
        (
            vec![("content-type", "text/plain"), ("content-type", "application/json")],
            400,
            "request.duplicate_field",
        ),
    ] {
        let response = http.request("PUT", path, &headers, "1").await;
        assert_eq!(response.problem(), (status, code.to_owned()), "{headers:?}");
    }
    for kind in ["text/plain", "application/merge-patch+json"] {
        let response = http.request("POST", COMMANDS, &[("content-type", kind)], "{}").await;
        assert_eq!(
            response.problem(),
            (415, "request.unsupported_media_type".to_owned()),
            "{kind}"
        );
    }
    let response = http.request("PATCH", path, &[("content-type", "text/html")], "{}").await;
    assert_eq!(response.problem(), (415, "request.unsupported_media_type".to_owned()));
    assert_eq!(http.get(path).await.status, 404, "nothing was written");
}

#[tokio::test]
async fn unexpected_and_missing_bodies() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    http.put("/v1/w/state/shared/k", &json!(1)).await;
    for (method, path) in [
        ("GET", "/v1/w"),
        ("GET", "/v1/w/state/shared/k"),
        ("DELETE", "/v1/w/state/shared/k"),
        ("DELETE", "/v1/w/agents/ada"),
        ("GET", "/v1/w/watch"),
    ] {
        let response = http.request(method, path, &[], r#"{"expected_version":9}"#).await;
        assert_eq!(response.problem(), (400, "request.malformed".to_owned()), "{method} {path}");
    }
    assert_eq!(http.get("/v1/w/state/shared/k").await.status, 200, "it was not deleted");
    for (method, path) in
        [("POST", COMMANDS), ("POST", "/v1/w/transactions"), ("PUT", "/v1/w/state/shared/k")]
    {
        let response = http.request(method, path, &[], "").await;
        assert_eq!(response.problem(), (400, "request.bad_json".to_owned()), "{method} {path}");
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_announced_or_not() {
    let harness = Harness::with(Settings { body_bytes_max: 1_000, ..settings() }).await;
    let too_large = (413, "request.too_large".to_owned());
    let mut http = harness.http().await;
    let head = format!("POST {COMMANDS} HTTP/1.1\r\nhost: localhost\r\n");
    http.send(format!("{head}content-length: 1001\r\n\r\n")).await;
    assert_eq!(http.response().await.problem(), too_large, "before anything of it was sent");
    // A caller that keeps sending can read the answer nevertheless.
    let mut http = harness.http().await;
    http.send(format!("{head}content-length: 4000000\r\n\r\n")).await;
    http.send(vec![b' '; 4_000_000]).await;
    assert_eq!(http.response().await.problem(), too_large);
    let mut http = harness.http().await;
    http.send(format!("{head}transfer-encoding: chunked\r\n\r\n")).await;
    for _ in 0..3 {
        http.send(format!("190\r\n{}\r\n", " ".repeat(0x190))).await;
    }
    assert_eq!(http.response().await.problem(), too_large);
    let mut http = harness.http().await;
    http.send(format!("{head}content-length: 18446744073709551615\r\n\r\n")).await;
    assert!((400..500).contains(&http.head().await.0));
    let mut http = harness.http().await;
    let fits = format!("{:<1000}", r#"{"command":"workspace.get"}"#);
    assert_eq!(posted(&mut http, &fits).await.status, 200);
    drop(http);
    harness.becomes_idle().await;
}

#[tokio::test]
async fn a_compressed_body_is_refused_wherever_it_is_sent() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let refused = (415, "request.unsupported_encoding".to_owned());
    let command = r#"{"command":"state.set","namespace":"shared","key":"k","value":1}"#;
    for (method, path) in [
        ("POST", "/v1/w/commands"),
        ("POST", "/v1/w/transactions"),
        ("POST", "/v1/w/tasks"),
        ("PUT", "/v1/w/state/shared/k"),
        ("PUT", "/v1/w/artifacts"),
        ("PUT", "/v1/w/secrets"),
        ("POST", "/v1/w/import"),
        ("POST", "/v1/access/tokens"),
        ("POST", "/mcp"),
        ("POST", "/a2a/w"),
    ] {
        for encoding in ["gzip", "br", "identity, zstd", "\u{ff}"] {
            let headers = [("content-encoding", encoding)];
            let response = http.request(method, path, &headers, command).await;
            assert_eq!(response.problem(), refused, "{method} {path} {encoding}");
            assert_eq!(response.header("accept-encoding"), Some("identity"));
        }
    }
    assert_eq!(http.get("/v1/w/artifacts").await.json()["bytes"], 0, "nothing was stored");
    for headers in [[("content-encoding", "identity")], [("content-encoding", "")]] {
        let response = http.request("POST", COMMANDS, &headers, command).await;
        assert_eq!(response.status, 200);
        let response = http.request("GET", "/v1/w/state/shared/k", &headers, "").await;
        assert_eq!(response.json()["value"], 1);
    }
    let response =
        http.request("GET", "/v1/w/state/shared/k", &[("content-encoding", "gzip")], "").await;
    assert_eq!(response.json()["value"], 1, "there is no body");
}

#[tokio::test]
async fn heads_that_are_no_heads() {
    let harness = Harness::new().await;
    let many = "x-many: 1\r\n".repeat(100);
    let long = format!("x: {}\r\n", "y".repeat(40_000));
    for (bytes, statuses) in [
        (format!("GET / HTTP/1.1\r\nhost: localhost\r\n{many}\r\n"), vec![431]),
        (format!("GET / HTTP/1.1\r\nhost: localhost\r\n{long}\r\n"), vec![431]),
        (
            format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "y".repeat(70_000)),
            vec![414, 431],
        ),
        ("\x16\x03\x01\x02\x00\x01\x00\x01\u{1}".to_owned() + &"x".repeat(600), vec![400]),
        ("GET / HTTP/3.7\r\nhost: localhost\r\n\r\n".to_owned(), vec![400]),
        ("GET /\r\nhost: localhost\r\n\r\n".to_owned(), vec![400]),
        ("GET / HTTP/1.1\r\nhost localhost\r\n\r\n".to_owned(), vec![400]),
        ("GET / HTTP/1.1\r\nho\0st: localhost\r\n\r\n".to_owned(), vec![400]),
        ("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: x\r\n\r\n".to_owned(), vec![400]),
        (
            "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"
                .to_owned(),
            vec![400],
        ),
        (
            "POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip\r\n\r\n".to_owned(),
            vec![400],
        ),
    ] {
        let mut http = harness.http().await;
        http.send(&bytes).await;
        let (status, _) = http.head().await;
        assert!(statuses.contains(&status), "{status} for {:?}", &bytes[..bytes.len().min(80)]);
        http.ends().await;
    }
    let mut http = harness.http().await;
    http.send(format!(
        "POST {COMMANDS} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n"
    ))
    .await;
    assert_eq!(http.response().await.problem(), (400, "request.malformed".to_owned()));
    drop(http);
    harness.becomes_idle().await;
}

#[tokio::test]
async fn more_commands_than_one_list_may_have() {
    let harness = Harness::with(Settings { commands_max: 3, ..settings() }).await;
    let mut http = harness.http().await;
    let set = json!({"command": "state.set", "namespace": "shared", "key": "k", "value": 1});
    assert_eq!(http.post(COMMANDS, &json!([set, set, set])).await.status, 200);
    let response = http.post(COMMANDS, &json!([set, set, set, set])).await;
    assert_eq!(response.problem(), (413, "request.too_large".to_owned()));
    assert_eq!(http.get("/v1/w/state/shared/k").await.header("etag"), Some("\"3\""));
}
