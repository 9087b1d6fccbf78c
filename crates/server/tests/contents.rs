//! Bytes over HTTP: artifacts and secrets.

use baton::log::{Log, MemoryLog};
use baton::{Baton, Options};
use baton_server::Settings;
use serde_json::json;
use std::time::Duration;

use crate::callers::http::{Http, Response, lines};
use crate::harness::{Harness, eventually, settings};

/// The SHA-256 of `hello`.
const HELLO: &str = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

async fn put(http: &mut Http, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
    let length = body.len().to_string();
    let head =
        lines(&[&[("host", "localhost"), ("content-length", length.as_str())], headers].concat());
    http.send(format!("PUT {path} HTTP/1.1\r\n{head}\r\n")).await;
    http.send(body).await;
    http.response().await
}

async fn get(http: &mut Http, path: &str, headers: &[(&str, &str)]) -> Response {
    let head = lines(&[&[("host", "localhost")], headers].concat());
    http.send(format!("GET {path} HTTP/1.1\r\n{head}\r\n")).await;
    http.response().await
}

/// A server on a log that can be inspected.
async fn on_log() -> (Harness, MemoryLog) {
    let log = MemoryLog::default();
    let options = Options { compaction_interval: Duration::from_millis(1), ..Options::default() };
    let clock = baton::clock::SystemClock::default();
    let baton = Baton::on(log.clone(), clock, options).expect("memory has room");
    (Harness::on(baton, settings()).await, log)
}

#[tokio::test]
async fn an_artifact_is_put_read_in_parts_and_removed() {
    let (harness, log) = on_log().await;
    let mut http = harness.http().await;
    let response = put(
        &mut http,
        "/v1/w/artifacts?name=a%20b.txt",
        &[("content-type", "text/plain")],
        b"hello",
    )
    .await;
    assert_eq!((response.status, &response.json()["artifact"]), (201, &json!(HELLO)));
    assert_eq!(response.json()["name"], "a b.txt");
    let response = put(&mut http, "/v1/w/artifacts", &[], b"hello").await;
    assert_eq!((response.status, &response.json()["media_type"]), (200, &json!("text/plain")));
    let one = format!("/v1/w/artifacts/{HELLO}");
    let response = get(&mut http, &one, &[]).await;
    assert_eq!((response.status, response.body.as_slice()), (200, &b"hello"[..]));
    let tag = format!("\"{HELLO}\"");
    let expected = [
        ("content-type", "text/plain"),
        ("content-length", "5"),
        ("etag", tag.as_str()),
        ("accept-ranges", "bytes"),
        ("x-content-type-options", "nosniff"),
        ("content-disposition", "attachment; filename*=UTF-8''a%20b%2Etxt"),
        ("repr-digest", "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"),
    ];
    for (name, value) in expected {
        assert_eq!(response.header(name), Some(value), "{name}");
    }
    let response = get(&mut http, &one, &[("range", "bytes=1-3")]).await;
    assert_eq!((response.status, response.body.as_slice()), (206, &b"ell"[..]));
    assert_eq!(response.header("content-range"), Some("bytes 1-3/5"));
    let response = get(&mut http, &one, &[("range", "bytes=9-")]).await;
    assert_eq!(response.problem(), (416, "request.bad_range".to_owned()));
    assert_eq!(response.header("content-range"), Some("bytes */5"));
    assert_eq!(response.json()["title"], "Range Not Satisfiable");
    let response = get(&mut http, &one, &[("range", "bytes=1-3"), ("if-range", "\"other\"")]).await;
    assert_eq!(response.status, 200);
    let response = get(&mut http, &one, &[("if-none-match", tag.as_str())]).await;
    assert_eq!((response.status, response.body.len()), (304, 0));
    assert_eq!(http.get(&format!("{one}/about")).await.json()["references"], 0);
    assert_eq!(http.get("/v1/w/artifacts").await.json()["bytes"], 5);
    let response = http.command(&json!({"command": "artifact.get", "artifact": HELLO})).await;
    assert_eq!(response.json()["result"]["bytes"], 5);
    assert_eq!(http.delete(&one).await.status, 200);
    let response = get(&mut http, &one, &[]).await;
    assert_eq!(response.problem(), (404, "artifact.not_found".to_owned()));
    eventually("its blob is gone", async || log.list_blobs("artifacts/").unwrap().is_empty()).await;
}

#[tokio::test]
async fn an_upload_with_another_digest_is_refused() {
    let (harness, log) = on_log().await;
    let mut http = harness.http().await;
    let other = format!("sha256:{}", "0".repeat(64));
    let response = put(&mut http, "/v1/w/artifacts", &[("baton-artifact", &other)], b"hello").await;
    assert_eq!(response.problem(), (400, "artifact.mismatch".to_owned()));
    let digest = "sha-256=:AAAAul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:";
    let response = put(&mut http, "/v1/w/artifacts", &[("content-digest", digest)], b"hello").await;
    assert_eq!(response.problem(), (400, "artifact.mismatch".to_owned()));
    let response =
        put(&mut http, "/v1/w/artifacts", &[("content-digest", "sha-256=x")], b"hello").await;
    assert_eq!(response.problem(), (400, "request.bad_field".to_owned()));
    drop(http);
    let mut http = harness.http().await;
    let response = put(&mut http, "/v1/w/artifacts?keep_ms=1", &[], b"hello").await;
    assert_eq!(response.problem(), (400, "artifact.out_of_range".to_owned()));
    assert_eq!(log.list_blobs("artifacts/").unwrap(), Vec::<String>::new());
    let digest = "sha-512=:AA==:, sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:";
    let response = put(&mut http, "/v1/w/artifacts", &[("content-digest", digest)], b"hello").await;
    assert_eq!(response.status, 201);
}

#[tokio::test]
async fn a_caller_that_is_gone_in_the_middle_leaves_nothing() {
    let (harness, log) = on_log().await;
    let mut http = harness.http().await;
    let head = lines(&[("host", "localhost"), ("content-length", "1000000")]);
    http.send(format!("PUT /v1/w/artifacts HTTP/1.1\r\n{head}\r\n")).await;
    http.send(vec![7; 300_000]).await;
    drop(http);
    harness.becomes_idle().await;
    let mut http = harness.http().await;
    assert_eq!(http.get("/v1/w/artifacts").await.json()["artifacts"], json!([]));
    assert_eq!(log.list_blobs("artifacts/").unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn the_number_of_concurrent_uploads_is_limited() {
    let harness = Harness::with(Settings { uploads_max: 1, ..settings() }).await;
    let mut slow = harness.http().await;
    let head = lines(&[("host", "localhost"), ("content-length", "10")]);
    slow.send(format!("PUT /v1/w/artifacts HTTP/1.1\r\n{head}\r\nhello")).await;
    let mut response = None;
    eventually("the second is refused", async || {
        let mut http = harness.http().await;
        let answered = put(&mut http, "/v1/w/artifacts", &[], b"x").await;
        let is_refused = answered.status == 429;
        response = Some(answered);
        is_refused
    })
    .await;
    assert_eq!(response.unwrap().problem(), (429, "request.too_many".to_owned()));
    slow.send("hello").await;
    assert_eq!(slow.response().await.status, 201);
}

#[tokio::test]
async fn a_secret_is_revealed_to_the_caller_and_stored_nowhere_else() {
    const VALUE: &str = "the-value-that-nobody-may-see";
    let (harness, log) = on_log().await;
    let mut http = harness.http().await;
    let response = put(&mut http, "/v1/w/secrets?name=key", &[], VALUE.as_bytes()).await;
    assert_eq!(response.status, 201);
    let id = response.json()["secret"].as_str().unwrap().to_owned();
    let value = json!({"password": {"secret": id}});
    http.put("/v1/w/state/shared/login", &value).await;
    let response = http.post(&format!("/v1/w/secrets/{id}/reveal"), &json!({})).await;
    assert_eq!(response.problem().0, 400, "a body where none is looked at");
    let head = lines(&[("host", "localhost"), ("content-length", "0"), ("baton-agent", "bob")]);
    http.send(format!("POST /v1/w/secrets/{id}/reveal HTTP/1.1\r\n{head}\r\n")).await;
    let response = http.response().await;
    assert_eq!((response.status, response.body.as_slice()), (200, VALUE.as_bytes()));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let response = http.get(&format!("/v1/w/secrets/{id}")).await;
    assert_eq!(
        (&response.json()["reveals"], &response.json()["revealed_to"]),
        (&json!(1), &json!("bob"))
    );
    for path in [
        "/v1/w/secrets".to_owned(),
        format!("/v1/w/secrets/{id}"),
        "/v1/w/state/shared/login".to_owned(),
        "/v1/w/history".to_owned(),
        "/v1/w".to_owned(),
        "/metrics".to_owned(),
    ] {
        let response = http.get(&path).await;
        assert!(!String::from_utf8_lossy(&response.body).contains(VALUE), "{path}");
    }
    let response = put(&mut http, "/v1/w/secrets", &[], &vec![b'x'; 65_537]).await;
    assert_eq!(response.problem(), (413, "request.too_large".to_owned()));
    let mut http = harness.http().await;
    assert_eq!(http.delete(&format!("/v1/w/secrets/{id}")).await.status, 200);
    eventually("its blob is gone", async || log.list_blobs("secrets/").unwrap().is_empty()).await;
}

async fn post(http: &mut Http, path: &str, body: &[u8]) -> Response {
    let length = body.len().to_string();
    let head = lines(&[("host", "localhost"), ("content-length", length.as_str())]);
    http.send(format!("POST {path} HTTP/1.1\r\n{head}\r\n")).await;
    http.send(body).await;
    http.response().await
}

#[tokio::test]
async fn a_workspace_is_exported_and_imported_as_one_file() {
    let (harness, _) = on_log().await;
    let mut http = harness.http().await;
    assert_eq!(put(&mut http, "/v1/w/artifacts", &[], &vec![7; 300_000]).await.status, 201);
    let response = get(&mut http, "/v1/w/export", &[]).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-disposition"), Some("attachment; filename=\"w.baton\""));
    let file = response.body;
    let response = post(&mut http, "/v1/copy/import", &file).await;
    assert_eq!((response.status, &response.json()["origin"]["manner"]), (201, &json!("import")));
    assert_eq!(http.get("/v1/copy/artifacts").await.json()["bytes"], 300_000);
    let response = post(&mut http, "/v1/copy/import", &file).await;
    assert_eq!(response.problem(), (409, "workspace.exists".to_owned()));
    drop(http);
    let mut http = harness.http().await;
    let response = post(&mut http, "/v1/other/import", &file[..file.len() - 9]).await;
    assert_eq!(response.problem(), (400, "import.damaged".to_owned()));
    let response = get(&mut http, "/v1/nowhere/export", &[]).await;
    assert_eq!(response.problem(), (404, "workspace.unknown_subject".to_owned()));
    let response = get(&mut http, "/v1/w/export?at=99", &[]).await;
    assert_eq!(response.problem(), (400, "history.not_yet".to_owned()));
}

#[tokio::test]
async fn an_upload_is_fenced_and_repeated_like_any_other_write() {
    let (harness, log) = on_log().await;
    let mut http = harness.http().await;
    let held = http.post("/v1/w/locks/door/acquire", &json!({"ttl_ms": 600_000})).await.json();
    let live = held["token"].to_string();
    for path in ["/v1/w/artifacts", "/v1/w/secrets"] {
        for (token, expected) in [("1000000", 412), ("garbage", 400), (live.as_str(), 201)] {
            let response = put(&mut http, path, &[("baton-token", token)], b"fenced").await;
            assert_eq!(response.status, expected, "{path} {token}");
        }
        let name = format!("k-{}", path.len());
        let (key, bytes) = ([("idempotency-key", name.as_str())], format!("named at {path}"));
        let first = put(&mut http, path, &key, bytes.as_bytes()).await;
        let again = put(&mut http, path, &key, bytes.as_bytes()).await;
        assert_eq!((first.status, first.json()), (201, again.json()), "{path}");
        let other = bytes.replace("named", "NAMED");
        let response = put(&mut http, path, &key, other.as_bytes()).await;
        assert_eq!(response.problem(), (409, "idempotency.key_reused".to_owned()), "{path}");
    }
    let secrets = http.get("/v1/w/secrets").await.json();
    assert_eq!(secrets["secrets"].as_array().map(Vec::len), Some(2), "fenced and named once each");
    eventually("no bytes are left without a record", async || {
        log.list_blobs("artifacts/").unwrap().len() + log.list_blobs("secrets/").unwrap().len() == 4
    })
    .await;
    let fork = [("baton-token", live.as_str()), ("content-type", "application/json")];
    let response = http.request("POST", "/v1/w/fork", &fork, r#"{"to":"other"}"#).await;
    assert_eq!(response.problem(), (400, "request.bad_field".to_owned()));
}
