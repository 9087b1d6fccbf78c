//! A page from another origin must not reach a server on loopback, by any route.

use crate::callers::socket::{Socket, handshake};
use crate::harness::{Harness, settings};

/// A request for every route, well formed but for what a test adds.
const ROUTES: [(&str, &str); 25] = [
    ("GET", "/"),
    ("GET", "/ui/lib/main.mjs"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("GET", "/docs/errors"),
    ("GET", "/llms.txt"),
    ("POST", "/v1/w/commands"),
    ("POST", "/v1/w/transactions"),
    ("GET", "/v1/w"),
    ("PATCH", "/v1/w"),
    ("GET", "/v1/w/state"),
    ("GET", "/v1/w/state/shared"),
    ("GET", "/v1/w/state/shared/k"),
    ("PUT", "/v1/w/state/shared/k"),
    ("DELETE", "/v1/w/state/shared/k"),
    ("GET", "/v1/w/history"),
    ("GET", "/v1/w/diff?from=0"),
    ("POST", "/v1/w/transfers"),
    ("GET", "/v1/w/namespaces"),
    ("GET", "/v1/w/namespaces/n"),
    ("GET", "/v1/w/agents"),
    ("GET", "/v1/w/agents/a"),
    ("POST", "/v1/w/agents/a/heartbeat"),
    ("GET", "/v1/w/watch"),
    ("GET", "/nowhere"),
];

async fn refused(harness: &Harness, method: &str, path: &str, headers: &str) -> (u16, String) {
    let mut http = harness.http().await;
    http.send(format!("{method} {path} HTTP/1.1\r\n{headers}content-length: 0\r\n\r\n")).await;
    http.response().await.problem()
}

#[tokio::test]
async fn a_foreign_host_is_refused_on_every_route() {
    let harness = Harness::new().await;
    let denied = (403, "request.denied_host".to_owned());
    for (method, path) in ROUTES {
        let response = refused(&harness, method, path, "host: evil.example\r\n").await;
        assert_eq!(response, denied, "{method} {path}");
    }
    for host in ["", "localhost.evil.example", "127.0.0.1.nip.io", "localhost:x", "localhost@evil"]
    {
        let response = refused(&harness, "GET", "/metrics", &format!("host: {host}\r\n")).await;
        assert_eq!(response, denied, "{host}");
    }
    let two = "host: localhost\r\nhost: evil.example\r\n";
    assert_eq!(refused(&harness, "GET", "/metrics", two).await, denied);
    assert_eq!(refused(&harness, "GET", "/metrics", "").await, denied);
    harness.becomes_idle().await;
}

#[tokio::test]
async fn a_foreign_origin_is_refused_on_every_route() {
    let harness = Harness::new().await;
    let denied = (403, "request.denied_origin".to_owned());
    for (method, path) in ROUTES {
        let headers = "host: localhost\r\norigin: https://evil.example\r\n";
        assert_eq!(refused(&harness, method, path, headers).await, denied, "{method} {path}");
    }
    for origin in ["null", "file://", "http://localhost.evil.example", "http://a@localhost"] {
        let headers = format!("host: localhost\r\norigin: {origin}\r\n");
        assert_eq!(refused(&harness, "GET", "/metrics", &headers).await, denied, "{origin}");
    }
    let both = "host: localhost\r\norigin: http://localhost\r\norigin: http://evil.example\r\n";
    assert_eq!(refused(&harness, "GET", "/metrics", both).await, denied);
}

#[tokio::test]
async fn a_target_with_another_name_than_the_host_is_refused() {
    let harness = Harness::new().await;
    let denied = (403, "request.denied_host".to_owned());
    for target in
        ["http://evil.example/metrics", "http://localhost:1/metrics", "http://a@localhost/"]
    {
        let response = refused(&harness, "GET", target, "host: localhost\r\n").await;
        assert_eq!(response, denied, "{target}");
    }
    let both = "host: evil.example\r\n";
    assert_eq!(refused(&harness, "GET", "http://evil.example/metrics", both).await, denied);
    let mut http = harness.http().await;
    http.send("GET http://LocalHost:1/metrics HTTP/1.1\r\nhost: localhost:1\r\n\r\n").await;
    assert_eq!(http.response().await.status, 200);
}

#[tokio::test]
async fn a_health_check_may_call_the_server_by_any_name() {
    let harness = Harness::new().await;
    for path in ["/healthz", "/readyz"] {
        let mut http = harness.http().await;
        http.send(format!("GET {path} HTTP/1.1\r\nhost: 10.0.0.7:4747\r\n\r\n")).await;
        assert_eq!(http.response().await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn a_foreign_handshake_is_refused() {
    let harness = Harness::new().await;
    for (name, value, code) in [
        ("host", "evil.example", "request.denied_host"),
        ("origin", "https://evil.example", "request.denied_origin"),
        ("origin", "null", "request.denied_origin"),
        ("origin", "http://127.0.0.1:3000", "request.denied_origin"),
    ] {
        let (response, _) = Socket::shake_hands(harness.address, &[(name, value)]).await;
        assert_eq!(response.problem(), (403, code.to_owned()), "{name}: {value}");
    }
    let ours = [("origin", "http://127.0.0.1:4747"), ("host", "127.0.0.1:4747")];
    let (response, _) = Socket::shake_hands(harness.address, &ours).await;
    assert_eq!(response.status, 101);
    harness.becomes_idle().await;
}

#[tokio::test]
async fn a_name_that_was_given_is_known() {
    let named = baton_server::Settings { hosts: vec!["Baton.Example".to_owned()], ..settings() };
    let harness = Harness::with(named).await;
    let mut http = harness.http().await;
    http.send("GET /metrics HTTP/1.1\r\nhost: baton.EXAMPLE:80\r\n\r\n").await;
    assert_eq!(http.response().await.status, 200);
}

#[tokio::test]
async fn an_invalid_handshake_is_refused() {
    let harness = Harness::new().await;
    for (name, value) in [
        ("connection", ""),
        ("connection", "close"),
        ("upgrade", ""),
        ("upgrade", "h2c"),
        ("sec-websocket-version", ""),
        ("sec-websocket-version", "8"),
        ("sec-websocket-key", ""),
        ("sec-websocket-key", "c2hvcnQ="),
        ("sec-websocket-key", "not base64!"),
        ("sec-websocket-protocol", "soap"),
        ("content-length", "5"),
        ("transfer-encoding", "chunked"),
    ] {
        let (response, _) = Socket::shake_hands(harness.address, &[(name, value)]).await;
        assert_eq!(response.problem(), (400, "request.malformed".to_owned()), "{name}: {value}");
    }
    let whole = handshake(&[]);
    for odd in [
        whole.replacen("GET", "HEAD", 1),
        whole.replacen("HTTP/1.1", "HTTP/1.0", 1),
        whole.replacen("/v1/ws", "/v1/ws?colour=red", 1),
        whole.replacen("upgrade:", "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nupgrade:", 1),
    ] {
        let mut http = harness.http().await;
        http.send(&odd).await;
        assert_eq!(http.head().await.0, 400, "{odd}");
    }
    let mut http = harness.http().await;
    http.send(whole.replacen("GET", "POST", 1)).await;
    assert_eq!(http.response().await.problem(), (405, "request.method_not_allowed".to_owned()));
    drop(http);
    harness.becomes_idle().await;
}
