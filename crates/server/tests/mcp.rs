//! The Model Context Protocol over HTTP, request by request, as no client library would send it.

use serde_json::{Value, json};

use crate::callers::http::{Http, Response};
use crate::harness::Harness;

const NEWEST: &str = "2026-07-28";

/// A request of the newest revision.
fn request(method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

fn headers<'a>(version: &'a str, method: &'a str, name: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", version),
        ("mcp-method", method),
    ];
    if !name.is_empty() {
        headers.push(("mcp-name", name));
    }
    headers
}

async fn call(http: &mut Http, tool: &str, arguments: Value) -> Response {
    let body = request("tools/call", json!({"name": tool, "arguments": arguments}));
    http.request("POST", "/mcp", &headers(NEWEST, "tools/call", tool), body).await
}

/// The same in a workspace.
pub(crate) async fn call_in(
    http: &mut Http,
    workspace: &str,
    tool: &str,
    arguments: Value,
) -> Response {
    let body = request("tools/call", json!({"name": tool, "arguments": arguments}));
    let path = format!("/mcp/{workspace}");
    http.request("POST", &path, &headers(NEWEST, "tools/call", tool), body).await
}

/// The error of an answer: its status and its code.
fn error(response: &Response) -> (u16, Value) {
    let text = String::from_utf8_lossy(&response.body).into_owned();
    let json = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&text);
    let answer: Value = serde_json::from_str(json).unwrap_or_default();
    (response.status, answer["error"]["code"].clone())
}

#[tokio::test]
async fn heads_and_bodies_agree() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let brief = || request("tools/call", json!({"name": "baton_brief", "arguments": {}}));
    let other = "baton_claim";
    for (what, headers) in [
        ("another method", headers(NEWEST, "tools/list", "baton_brief")),
        ("another tool", headers(NEWEST, "tools/call", other)),
        ("no tool", headers(NEWEST, "tools/call", "")),
        ("another revision", headers("2025-11-25", "tools/call", "baton_brief")),
    ] {
        let response = http.request("POST", "/mcp", &headers, brief()).await;
        assert_eq!(error(&response), (400, json!(-32020)), "{what}: {response:?}");
    }
    let unknown = brief().replace(NEWEST, "1999-01-01");
    let named = headers("1999-01-01", "tools/call", "baton_brief");
    let response = http.request("POST", "/mcp", &named, unknown).await;
    assert_eq!(error(&response), (400, json!(-32022)), "{response:?}");
    assert_eq!(call(&mut http, "baton_brief", json!({})).await.status, 200);
    let large = call(&mut http, "baton_search", json!({"query": "x".repeat(10 << 20)})).await;
    assert_eq!(large.status, 413, "{large:?}");
    harness.end().await;
}

#[tokio::test]
async fn what_is_no_request_is_answered_with_an_error_of_json_rpc() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    for (body, code) in [
        ("{", -32700),
        ("", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", -32700),
        ("{}", -32600),
        ("7", -32600),
    ] {
        let headers = headers(NEWEST, "tools/list", "");
        let response = http.request("POST", "/mcp", &headers, body).await;
        assert_eq!(error(&response), (400, json!(code)), "{body}: {response:?}");
        assert_eq!(response.header("content-type"), Some("application/json"));
    }
    let mut text = headers(NEWEST, "tools/list", "");
    text[0] = ("content-type", "text/plain");
    assert_eq!(http.request("POST", "/mcp", &text, "{}").await.status, 415);
    harness.end().await;
}

#[tokio::test]
async fn bad_names_are_refused_at_the_first_request() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        },
    });
    let plain = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("baton-agent", "ada"),
    ];
    let mut bad = plain;
    bad[2].1 = "a b";
    for (path, headers, status) in [
        ("/mcp", plain, 200),
        ("/mcp/team", plain, 200),
        ("/mcp/bad%20name", plain, 400),
        ("/mcp", bad, 400),
    ] {
        let body = initialize.to_string();
        let response = http.request("POST", path, &headers, body).await;
        assert_eq!(response.status, status, "{path} {headers:?}: {response:?}");
        if status == 400 {
            assert_eq!(error(&response), (400, json!(-32602)), "{response:?}");
        }
    }
    harness.end().await;
}

#[tokio::test]
async fn a_name_similar_to_that_of_a_tool_is_unknown() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let others = ["BATON_BRIEF", "baton-brief", "baton_brief2", "baton_brie", "baton.brief"];
    for name in others {
        let response = call(&mut http, name, json!({})).await;
        assert_eq!(error(&response).1, json!(-32602), "{name}: {response:?}");
    }
    // A header has no letters of other scripts and no invisible ones: they are encoded in it.
    for (name, encoded) in [
        ("b\u{430}ton_brief", "=?base64?YtCwdG9uX2JyaWVm?="),
        ("baton_brief\u{200b}", "=?base64?YmF0b25fYnJpZWbigIs=?="),
    ] {
        let body = request("tools/call", json!({"name": name, "arguments": {}}));
        let headers = headers(NEWEST, "tools/call", encoded);
        let response = http.request("POST", "/mcp", &headers, body).await;
        assert_eq!(error(&response).1, json!(-32602), "{name:?}: {response:?}");
    }
    harness.end().await;
}

#[tokio::test]
async fn a_client_that_vanishes_during_a_stream_leaves_nothing() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let uris = json!({"notifications": {"resourceSubscriptions": ["baton://tasks"]}});
    let body = request("subscriptions/listen", uris);
    let fields = headers(NEWEST, "subscriptions/listen", "");
    let fields = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
    let head = ["POST /mcp HTTP/1.1\r\nhost: localhost\r\n".to_owned()].into_iter().chain(fields);
    let head = head.collect::<String>();
    http.send(format!("{head}content-length: {}\r\n\r\n{body}", body.len())).await;
    assert_eq!(http.head().await.0, 200);
    let first = http.chunk().await.expect("it is acknowledged");
    assert!(String::from_utf8_lossy(&first).contains("data:"), "{first:?}");
    harness.comes_to("baton_watches", 1).await;
    drop(http);
    harness.becomes_idle().await;
    harness.end().await;
}
