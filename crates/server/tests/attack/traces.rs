//! The traces of attacks in logs and pages: no token, no control character, and the identity of the
//! caller.

use baton_core::access::{Grant, Role};
use serde_json::{Value, json};

use super::answered;
use crate::access::{ask, grant, guarded, patterns};
use crate::callers::http::Http;

async fn refusals(http: &mut Http, bearer: &str, query: &str) -> Value {
    let path = format!("/v1/access/refusals{query}");
    http.request("GET", &path, &[("authorization", bearer)], "").await.json()
}

#[tokio::test]
async fn refusals_are_listed_for_permitted_callers() {
    let limited = Grant { workspaces: patterns(&["blue"]), ..grant(Role::Operator) };
    let grants = vec![grant(Role::Admin), grant(Role::Reader), grant(Role::Operator), limited];
    let (harness, bearers) = guarded(grants).await;
    let [admin, reader, operator, limited] = <[String; 4]>::try_from(bearers).unwrap();
    let mut http = harness.http().await;
    let set = json!({"command": "state.set", "namespace": "shared", "key": "k", "value": 1,
                     "agent": "ada"});
    for _ in 0..3 {
        assert_eq!(ask(&mut http, &reader, "/v1/red/commands", &set).await.0, 403);
    }
    assert_eq!(http.get("/v1/red/state").await.status, 401);
    let page = refusals(&mut http, &operator, "").await;
    let [stranger, known] = page["refusals"].as_array().unwrap().as_slice() else {
        panic!("{page}")
    };
    assert_eq!(
        (&known["operation"], &known["workspace"], &known["agent"], &known["times"]),
        (&json!("state.set"), &json!("red"), &json!("ada"), &json!(3)),
        "{known}"
    );
    assert_eq!((&known["code"], &known["from"]), (&json!("access.role"), &json!("127.0.0.1")));
    assert!(known["who"].as_str().unwrap().len() == 12 && known["at"].is_string(), "{known}");
    assert_eq!(
        (&stranger["operation"], &stranger["code"], &stranger["who"]),
        (&json!("GET /v1/red/state"), &json!("access.no_token"), &Value::Null)
    );
    for (bearer, code) in [(&reader, "access.role"), (&limited, "access.workspace")] {
        assert_eq!(refusals(&mut http, bearer, "").await["code"], code);
    }
    let page = refusals(&mut http, &admin, "?limit=1").await;
    assert_eq!(page["refusals"][0]["operation"], "access.refusals", "{page}");
    let next = refusals(&mut http, &admin, &format!("?limit=1&before={}", page["cursor"])).await;
    assert_eq!(next["refusals"][0]["operation"], "access.refusals", "{next}");
    for query in ["?limit=0", "?limit=9999", "?limit=x", "?colour=red", "?before=-1"] {
        assert_eq!(refusals(&mut http, &admin, query).await["kind"], "invalid", "{query}");
    }
    let metrics = http.request("GET", "/metrics", &[("authorization", &admin)], "").await;
    let metrics = String::from_utf8(metrics.body).unwrap();
    assert!(metrics.contains("baton_access_refused_total{who=\"known\"} 5\n"), "{metrics}");
    assert!(metrics.contains("baton_access_refused_total{who=\"stranger\"} 1\n"), "{metrics}");
    harness.end().await;
}

/// No displayed text may contain control sequences.
fn walk(value: &Value) {
    match value {
        Value::String(text) => {
            assert!(!text.contains(|sign: char| sign.is_control()), "{text:?}");
            assert!(!text.contains('\u{202e}'), "{text:?}");
        }
        Value::Array(items) => items.iter().for_each(walk),
        Value::Object(fields) => fields.values().for_each(walk),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[tokio::test]
async fn neither_tokens_nor_control_characters_are_left_behind() {
    let (harness, bearers) = guarded(vec![grant(Role::Admin), grant(Role::Reader)]).await;
    let mut http = harness.http().await;
    let token = bearers[1].strip_prefix("Bearer ").unwrap();
    let mut jwt = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.".to_owned();
    jwt.push_str("c2lnbmF0dXJl");
    for path in [
        format!("/v1/{token}/state"),
        format!("/v1/w/state?access_token={token}"),
        format!("/v1/w/state?{jwt}"),
        format!("/v1/{jwt}/state"),
        "/v1/a%0aINFO%20all%20is%20well/state".to_owned(),
        "/v1/%1b%5b2J/state".to_owned(),
        "/v1/w/state\u{202e}".to_owned(),
        "/\u{85}/\u{9b}2J".to_owned(),
    ] {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let response = answered(&harness, request).await;
        assert!(
            !response.contains(token) && response.starts_with("HTTP/1.1 4"),
            "{path}: {response}"
        );
    }
    for bearer in [format!("Bearer {token}x"), format!("Basic {token}"), format!("Bearer {jwt}")] {
        let response = http.request("GET", "/v1/w/state", &[("authorization", &bearer)], "").await;
        assert_eq!(response.status, 401);
    }
    let set = json!({"command": "state.set", "namespace": "shared", "key": token, "value": token});
    ask(&mut http, &bearers[1], "/v1/w/commands", &set).await;
    let page = refusals(&mut http, &bearers[0], "?limit=1000").await;
    assert!(page["refusals"].as_array().unwrap().len() >= 8, "{page}");
    let text = page.to_string();
    assert!(!text.contains(token) && !text.contains(&token[..20]), "{text}");
    assert!(!text.contains(&jwt[..15]), "{text}");
    walk(&page);
    harness.end().await;
}

/// Tokens are found by their digest and never compared themselves, so that the duration of a
/// refusal reveals nothing about a token. The source itself is checked for that.
#[test]
fn tokens_are_never_compared() {
    for source in
        [include_str!("../../src/access/mod.rs"), include_str!("../../src/access/tokens.rs")]
    {
        let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            let compares = line.contains("==") || line.contains("!=");
            assert!(!(compares && line.contains("token")), "`{}`", line.trim());
        }
        assert!(source.contains("digest_of"));
    }
}
