//! Bytes over HTTP: artifacts and secrets.

use baton::log::{Log, MemoryLog};
use baton::{Baton, Options};
use baton_server::Settings;
use serde_json::json;
use std::time::Duration;

use crate::callers::http::{Http, Told, lines};
use crate::stage::{Stage, eventually, settings};

/// The SHA-256 of `hello`.
const HELLO: &str = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

async fn put(http: &mut Http, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Told {
    let length = body.len().to_string();
    let head =
        lines(&[&[("host", "localhost"), ("content-length", length.as_str())], headers].concat());
    http.send(format!("PUT {path} HTTP/1.1\r\n{head}\r\n")).await;
    http.send(body).await;
    http.told().await
}

async fn get(http: &mut Http, path: &str, headers: &[(&str, &str)]) -> Told {
    let head = lines(&[&[("host", "localhost")], headers].concat());
    http.send(format!("GET {path} HTTP/1.1\r\n{head}\r\n")).await;
    http.told().await
}

/// A server over a log that can be looked into.
async fn on_log() -> (Stage, MemoryLog) {
    let log = MemoryLog::default();
    let options = Options { compaction_interval: Duration::from_millis(1), ..Options::default() };
    let clock = baton::clock::SystemClock::default();
    let baton = Baton::on(log.clone(), clock, options).expect("memory has room");
    (Stage::on(baton, settings()).await, log)
}

#[tokio::test]
async fn an_artifact_is_put_read_in_parts_and_removed() {
    let (stage, log) = on_log().await;
    let mut http = stage.http().await;
    let told = put(
        &mut http,
        "/v1/w/artifacts?name=a%20b.txt",
        &[("content-type", "text/plain")],
        b"hello",
    )
    .await;
    assert_eq!((told.status, &told.json()["artifact"]), (201, &json!(HELLO)));
    assert_eq!(told.json()["name"], "a b.txt");
    let told = put(&mut http, "/v1/w/artifacts", &[], b"hello").await;
    assert_eq!((told.status, &told.json()["media_type"]), (200, &json!("text/plain")));
    let one = format!("/v1/w/artifacts/{HELLO}");
    let told = get(&mut http, &one, &[]).await;
    assert_eq!((told.status, told.body.as_slice()), (200, &b"hello"[..]));
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
        assert_eq!(told.header(name), Some(value), "{name}");
    }
    let told = get(&mut http, &one, &[("range", "bytes=1-3")]).await;
    assert_eq!((told.status, told.body.as_slice()), (206, &b"ell"[..]));
    assert_eq!(told.header("content-range"), Some("bytes 1-3/5"));
    let told = get(&mut http, &one, &[("range", "bytes=9-")]).await;
    assert_eq!((told.status, told.header("content-range")), (416, Some("bytes */5")));
    let told = get(&mut http, &one, &[("range", "bytes=1-3"), ("if-range", "\"other\"")]).await;
    assert_eq!(told.status, 200);
    let told = get(&mut http, &one, &[("if-none-match", tag.as_str())]).await;
    assert_eq!((told.status, told.body.len()), (304, 0));
    assert_eq!(http.get(&format!("{one}/about")).await.json()["references"], 0);
    assert_eq!(http.get("/v1/w/artifacts").await.json()["bytes"], 5);
    let told = http.command(&json!({"command": "artifact.get", "artifact": HELLO})).await;
    assert_eq!(told.json()["result"]["bytes"], 5);
    assert_eq!(http.delete(&one).await.status, 200);
    let told = get(&mut http, &one, &[]).await;
    assert_eq!(told.problem(), (404, "artifact.not_found".to_owned()));
    eventually("its blob is gone", async || log.list_blobs("artifacts/").unwrap().is_empty()).await;
}

#[tokio::test]
async fn what_arrives_otherwise_than_it_was_sent_is_refused() {
    let (stage, log) = on_log().await;
    let mut http = stage.http().await;
    let other = format!("sha256:{}", "0".repeat(64));
    let told = put(&mut http, "/v1/w/artifacts", &[("baton-artifact", &other)], b"hello").await;
    assert_eq!(told.problem(), (400, "artifact.mismatch".to_owned()));
    let digest = "sha-256=:AAAAul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:";
    let told = put(&mut http, "/v1/w/artifacts", &[("content-digest", digest)], b"hello").await;
    assert_eq!(told.problem(), (400, "artifact.mismatch".to_owned()));
    let told =
        put(&mut http, "/v1/w/artifacts", &[("content-digest", "sha-256=x")], b"hello").await;
    assert_eq!(told.problem(), (400, "request.bad_field".to_owned()));
    drop(http);
    let mut http = stage.http().await;
    let told = put(&mut http, "/v1/w/artifacts?keep_ms=1", &[], b"hello").await;
    assert_eq!(told.problem(), (400, "artifact.out_of_range".to_owned()));
    assert_eq!(log.list_blobs("artifacts/").unwrap(), Vec::<String>::new());
    let digest = "sha-512=:AA==:, sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:";
    let told = put(&mut http, "/v1/w/artifacts", &[("content-digest", digest)], b"hello").await;
    assert_eq!(told.status, 201);
}

#[tokio::test]
async fn a_caller_that_is_gone_in_the_middle_leaves_nothing() {
    let (stage, log) = on_log().await;
    let mut http = stage.http().await;
    let head = lines(&[("host", "localhost"), ("content-length", "1000000")]);
    http.send(format!("PUT /v1/w/artifacts HTTP/1.1\r\n{head}\r\n")).await;
    http.send(vec![7; 300_000]).await;
    drop(http);
    stage.settles().await;
    let mut http = stage.http().await;
    assert_eq!(http.get("/v1/w/artifacts").await.json()["artifacts"], json!([]));
    assert_eq!(log.list_blobs("artifacts/").unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn so_many_uploads_at_a_time_and_no_more() {
    let stage = Stage::with(Settings { uploads_max: 1, ..settings() }).await;
    let mut slow = stage.http().await;
    let head = lines(&[("host", "localhost"), ("content-length", "10")]);
    slow.send(format!("PUT /v1/w/artifacts HTTP/1.1\r\n{head}\r\nhello")).await;
    let mut told = None;
    eventually("the second is refused", async || {
        let mut http = stage.http().await;
        let answered = put(&mut http, "/v1/w/artifacts", &[], b"x").await;
        let is_refused = answered.status == 429;
        told = Some(answered);
        is_refused
    })
    .await;
    assert_eq!(told.unwrap().problem(), (429, "request.too_many".to_owned()));
    slow.send("hello").await;
    assert_eq!(slow.told().await.status, 201);
}

#[tokio::test]
async fn a_secret_is_told_to_whoever_asks_and_to_nobody_else() {
    const VALUE: &str = "the-value-that-nobody-may-see";
    let (stage, log) = on_log().await;
    let mut http = stage.http().await;
    let told = put(&mut http, "/v1/w/secrets?name=key", &[], VALUE.as_bytes()).await;
    assert_eq!(told.status, 201);
    let id = told.json()["secret"].as_str().unwrap().to_owned();
    let value = json!({"password": {"secret": id}});
    http.put("/v1/w/state/shared/login", &value).await;
    let told = http.post(&format!("/v1/w/secrets/{id}/reveal"), &json!({})).await;
    assert_eq!(told.problem().0, 400, "a body where none is looked at");
    let head = lines(&[("host", "localhost"), ("content-length", "0"), ("baton-agent", "bob")]);
    http.send(format!("POST /v1/w/secrets/{id}/reveal HTTP/1.1\r\n{head}\r\n")).await;
    let told = http.told().await;
    assert_eq!((told.status, told.body.as_slice()), (200, VALUE.as_bytes()));
    assert_eq!(told.header("cache-control"), Some("no-store"));
    let told = http.get(&format!("/v1/w/secrets/{id}")).await;
    assert_eq!((&told.json()["reveals"], &told.json()["revealed_to"]), (&json!(1), &json!("bob")));
    for path in [
        "/v1/w/secrets".to_owned(),
        format!("/v1/w/secrets/{id}"),
        "/v1/w/state/shared/login".to_owned(),
        "/v1/w/history".to_owned(),
        "/v1/w".to_owned(),
        "/metrics".to_owned(),
    ] {
        let told = http.get(&path).await;
        assert!(!String::from_utf8_lossy(&told.body).contains(VALUE), "{path}");
    }
    let told = put(&mut http, "/v1/w/secrets", &[], &vec![b'x'; 65_537]).await;
    assert_eq!(told.problem(), (413, "request.too_large".to_owned()));
    let mut http = stage.http().await;
    assert_eq!(http.delete(&format!("/v1/w/secrets/{id}")).await.status, 200);
    eventually("its blob is gone", async || log.list_blobs("secrets/").unwrap().is_empty()).await;
}

async fn post(http: &mut Http, path: &str, body: &[u8]) -> Told {
    let length = body.len().to_string();
    let head = lines(&[("host", "localhost"), ("content-length", length.as_str())]);
    http.send(format!("POST {path} HTTP/1.1\r\n{head}\r\n")).await;
    http.send(body).await;
    http.told().await
}

#[tokio::test]
async fn a_workspace_goes_out_and_comes_in_as_one_file() {
    let (stage, _) = on_log().await;
    let mut http = stage.http().await;
    assert_eq!(put(&mut http, "/v1/w/artifacts", &[], &vec![7; 300_000]).await.status, 201);
    let told = get(&mut http, "/v1/w/export", &[]).await;
    assert_eq!(told.status, 200);
    assert_eq!(told.header("content-disposition"), Some("attachment; filename=\"w.baton\""));
    let file = told.body;
    let told = post(&mut http, "/v1/copy/import", &file).await;
    assert_eq!((told.status, &told.json()["origin"]["manner"]), (201, &json!("import")));
    assert_eq!(http.get("/v1/copy/artifacts").await.json()["bytes"], 300_000);
    let told = post(&mut http, "/v1/copy/import", &file).await;
    assert_eq!(told.problem(), (409, "workspace.exists".to_owned()));
    drop(http);
    let mut http = stage.http().await;
    let told = post(&mut http, "/v1/other/import", &file[..file.len() - 9]).await;
    assert_eq!(told.problem(), (400, "import.damaged".to_owned()));
    let told = get(&mut http, "/v1/nowhere/export", &[]).await;
    assert_eq!(told.problem(), (404, "workspace.unknown_subject".to_owned()));
    let told = get(&mut http, "/v1/w/export?at=99", &[]).await;
    assert_eq!(told.problem(), (400, "history.not_yet".to_owned()));
}
