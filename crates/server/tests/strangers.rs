//! A page from elsewhere must not reach a server on loopback, whichever route it tries.

use crate::callers::socket::{Socket, handshake};
use crate::stage::{Stage, settings};

/// A request for every route, well formed but for what a test adds.
const ROUTES: [(&str, &str); 24] = [
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
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
    ("BREW", "/healthz"),
];

async fn refused(stage: &Stage, method: &str, path: &str, headers: &str) -> (u16, String) {
    let mut http = stage.http().await;
    http.send(format!("{method} {path} HTTP/1.1\r\n{headers}content-length: 0\r\n\r\n")).await;
    http.told().await.problem()
}

#[tokio::test]
async fn a_foreign_host_is_refused_on_every_route() {
    let stage = Stage::new().await;
    let denied = (403, "request.denied_host".to_owned());
    for (method, path) in ROUTES {
        let told = refused(&stage, method, path, "host: evil.example\r\n").await;
        assert_eq!(told, denied, "{method} {path}");
    }
    for host in ["", "localhost.evil.example", "127.0.0.1.nip.io", "localhost:x", "localhost@evil"]
    {
        let told = refused(&stage, "GET", "/healthz", &format!("host: {host}\r\n")).await;
        assert_eq!(told, denied, "{host}");
    }
    let two = "host: localhost\r\nhost: evil.example\r\n";
    assert_eq!(refused(&stage, "GET", "/healthz", two).await, denied);
    assert_eq!(refused(&stage, "GET", "/healthz", "").await, denied);
    stage.settles().await;
}

#[tokio::test]
async fn a_foreign_origin_is_refused_on_every_route() {
    let stage = Stage::new().await;
    let denied = (403, "request.denied_origin".to_owned());
    for (method, path) in ROUTES {
        let headers = "host: localhost\r\norigin: https://evil.example\r\n";
        assert_eq!(refused(&stage, method, path, headers).await, denied, "{method} {path}");
    }
    for origin in ["null", "file://", "http://localhost.evil.example", "http://a@localhost"] {
        let headers = format!("host: localhost\r\norigin: {origin}\r\n");
        assert_eq!(refused(&stage, "GET", "/healthz", &headers).await, denied, "{origin}");
    }
    let both = "host: localhost\r\norigin: http://localhost\r\norigin: http://evil.example\r\n";
    assert_eq!(refused(&stage, "GET", "/healthz", both).await, denied);
}

#[tokio::test]
async fn a_foreign_handshake_is_refused() {
    let stage = Stage::new().await;
    for (name, value, code) in [
        ("host", "evil.example", "request.denied_host"),
        ("origin", "https://evil.example", "request.denied_origin"),
        ("origin", "null", "request.denied_origin"),
    ] {
        let (told, _) = Socket::shake_hands(stage.address, &[(name, value)]).await;
        assert_eq!(told.problem(), (403, code.to_owned()), "{name}: {value}");
    }
    let ours = [("origin", "http://127.0.0.1:3000"), ("host", "127.0.0.1:4747")];
    let (told, _) = Socket::shake_hands(stage.address, &ours).await;
    assert_eq!(told.status, 101);
    stage.settles().await;
}

#[tokio::test]
async fn a_name_that_was_given_is_known() {
    let named = baton_server::Settings { hosts: vec!["Baton.Example".to_owned()], ..settings() };
    let stage = Stage::with(named).await;
    let mut http = stage.http().await;
    http.send("GET /healthz HTTP/1.1\r\nhost: baton.EXAMPLE:80\r\n\r\n").await;
    assert_eq!(http.told().await.status, 200);
}

#[tokio::test]
async fn what_is_no_handshake_is_refused() {
    let stage = Stage::new().await;
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
        let (told, _) = Socket::shake_hands(stage.address, &[(name, value)]).await;
        assert_eq!(told.problem(), (400, "request.malformed".to_owned()), "{name}: {value}");
    }
    let whole = handshake(&[]);
    for odd in [
        whole.replacen("GET", "HEAD", 1),
        whole.replacen("HTTP/1.1", "HTTP/1.0", 1),
        whole.replacen("/v1/ws", "/v1/ws?colour=red", 1),
        whole.replacen("upgrade:", "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nupgrade:", 1),
    ] {
        let mut http = stage.http().await;
        http.send(&odd).await;
        assert_eq!(http.head().await.0, 400, "{odd}");
    }
    let mut http = stage.http().await;
    http.send(whole.replacen("GET", "POST", 1)).await;
    assert_eq!(http.told().await.problem(), (405, "request.method_not_allowed".to_owned()));
    drop(http);
    stage.settles().await;
}
