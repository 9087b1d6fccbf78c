//! The documentation, and JSON as a shell shows it.

use baton_core::access::{Grant, Role};
use serde_json::json;

use crate::access::guarded;
use crate::callers::http::Response;
use crate::harness::Harness;

#[track_caller]
fn ends_with_a_newline(response: &Response, of: &str) {
    let text = str::from_utf8(&response.body).expect("JSON is text");
    let last = text.find('\n');
    assert_eq!(last.map(|at| at + 1), Some(text.len()), "{of}: {text:?}");
    let length = response.header("content-length").and_then(|length| length.parse().ok());
    assert_eq!(length, Some(text.len()), "{of}: {}", response.head);
}

#[tokio::test]
async fn json_over_http_ends_with_a_newline() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let entry = "/v1/w/state/shared/k";
    let long = format!("\"{}\"", "x".repeat(100_000));
    let set = json!({"command": "state.set", "namespace": "shared", "key": "k", "value": 1});
    let list = json!({"command": "state.list", "namespace": "shared"});
    let commands = "/v1/w/commands";
    let requests = [
        ("GET", "/healthz", String::new()),
        ("GET", "/readyz", String::new()),
        ("GET", "/openapi.json", String::new()),
        ("GET", "/v1/access/cluster", String::new()),
        // A set and a get on the fast path, and by the router.
        ("PUT", entry, "1".to_owned()),
        ("GET", entry, String::new()),
        ("PUT", "/v1/w/state/shared/k?ttl_ms=100000", "1".to_owned()),
        ("GET", "/v1/w/state/shared/k?at=1", String::new()),
        ("PUT", "/v1/w/state/shared/long", long),
        ("GET", "/v1/w/state/shared/long", String::new()),
        ("GET", "/v1/w/state/shared", String::new()),
        ("POST", commands, set.to_string()),
        ("POST", commands, list.to_string()),
        ("POST", commands, json!([set, list, {"command": "task.get", "task": "t"}]).to_string()),
        ("POST", "/v1/w/transactions", json!({"commands": [set]}).to_string()),
        ("DELETE", entry, String::new()),
        ("GET", "/v1/w/tasks/nothing", String::new()),
        ("GET", "/nowhere", String::new()),
        ("GET", "/.well-known/agent-card.json", String::new()),
    ];
    for (method, path, body) in requests {
        let response = http.request(method, path, &[], body).await;
        ends_with_a_newline(&response, &format!("{method} {path}"));
    }
    let hosts = [("origin", "http://evil.example")];
    ends_with_a_newline(&http.request("GET", "/metrics", &hosts, "").await, "a foreign page");
}

#[tokio::test]
async fn a_frame_has_no_newline_at_its_end() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    for command in ["state.list", "nothing"] {
        let call = json!({"id": 1, "workspace": "w", "command": command, "namespace": "shared"});
        socket.send(&call).await;
        let (_, payload) = socket.frame().await.expect("it is answered");
        assert_eq!(payload.last(), Some(&b'}'), "{command}");
    }
}

/// The targets of the links in a Markdown text.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

#[tokio::test]
async fn everything_that_llms_txt_links_to_is_served_without_a_token() {
    let grant =
        Grant { role: Role::Reader, workspaces: Vec::new(), namespaces: Vec::new(), agent: None };
    let (harness, _) = guarded(vec![grant]).await;
    let mut http = harness.http().await;
    let index = http.get("/llms.txt").await;
    assert_eq!(index.header("content-type"), Some("text/plain; charset=utf-8"));
    let text = String::from_utf8(index.body).expect("it is text");
    let linked: Vec<String> = links(&text).map(|link| format!("/{link}")).collect();
    assert!(linked.len() > 15, "{linked:?}");
    for path in linked {
        let document = http.get(&path).await;
        assert_eq!(document.status, 200, "{path}");
        assert!(document.body.starts_with(b"# "), "{path}");
        // From one document to the next, as far as they are in the same folder.
        let Some(folder) = path.strip_prefix("/docs/").map(|_| "/docs/") else { continue };
        let text = String::from_utf8(document.body).expect("it is text");
        let is_beside = |link: &&str| link.contains(".md") && !link.contains('/');
        for link in links(&text).filter(is_beside) {
            let file = link.split('#').next().unwrap_or_default();
            let linked = http.get(&format!("{folder}{file}")).await;
            assert_eq!(linked.status, 200, "{path} links to {link}");
        }
    }
    let (short, whole) = (http.get("/docs/errors").await, http.get("/docs/errors.md").await);
    assert!(short.body == whole.body && !short.body.is_empty());
    let page = http.request("GET", "/docs/errors", &[("accept", "text/html,*/*")], "").await;
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let text = String::from_utf8(page.body).expect("it is text");
    assert!(
        text.contains("<b id=\"state.version_conflict\">"),
        "the `type` of a problem leads there"
    );
    let index = http.get("/docs").await;
    assert_eq!((index.status, index.header("location")), (307, Some("/llms.txt")));
    for path in ["/docs/", "/docs/nothing", "/docs/..%2fCargo.toml", "/docs/adr"] {
        assert_eq!(http.get(path).await.problem(), (404, "request.not_found".to_owned()), "{path}");
    }
}
