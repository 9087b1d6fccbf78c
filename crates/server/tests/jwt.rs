//! JWTs of an issuer on every interface: valid ones are accepted, and end when they expire.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use baton::clock::{Clock, SystemClock};
use baton_server::Settings;
use baton_server::access::{Issuer, KeyFile};
use ring::hmac;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::callers::http::Response;
use crate::callers::socket::Socket;
use crate::harness::{Harness, settings};

const SECRET: &[u8; 32] = b"0123456789abcdef0123456789abcdef";
const OTHER: &[u8; 32] = b"abcdef0123456789abcdef0123456789";

fn now_s() -> u64 {
    SystemClock::default().now().0 / 1_000
}

fn claims(baton: &Value, ttl_s: u64) -> Value {
    json!({"iss": "login", "aud": "baton", "sub": "ada", "exp": now_s() + ttl_s, "baton": baton})
}

fn token(secret: &[u8], claims: &Value) -> String {
    let encoded = |text: &[u8]| URL_SAFE_NO_PAD.encode(text);
    let signed =
        format!("{}.{}", encoded(br#"{"alg":"HS256"}"#), encoded(claims.to_string().as_bytes()));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
    format!("{signed}.{}", encoded(tag.as_ref()))
}

/// An issuer whose secret is in a file.
fn issuer() -> (TempDir, PathBuf, Issuer) {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("secret");
    std::fs::write(&path, SECRET).expect("there is room");
    let issuer = Issuer::read(KeyFile::Key(path.clone()), "login", "baton").expect("it is a key");
    (folder, path, issuer)
}

#[cfg(feature = "mcp")]
#[tokio::test]
async fn an_mcp_client_learns_the_issuer_of_tokens() {
    const METADATA: &str = "/.well-known/oauth-protected-resource";
    let (_folder, path, nameless) = issuer();
    let harness = Harness::with(Settings { jwt: Some(nameless), ..settings() }).await;
    let mut http = harness.http().await;
    assert_eq!(http.get(METADATA).await.status, 404, "`login` is no address");
    harness.end().await;
    let issuer = Issuer::read(KeyFile::Key(path), "https://login.example", "baton").unwrap();
    let harness = Harness::with(Settings { jwt: Some(issuer), ..settings() }).await;
    let mut http = harness.http().await;
    for (asked, resource) in [("", "/mcp"), ("/mcp", "/mcp"), ("/mcp/team", "/mcp/team")] {
        let metadata = http.get(&format!("{METADATA}{asked}")).await;
        assert_eq!(metadata.status, 200, "{metadata:?}");
        let metadata = metadata.json();
        assert_eq!(metadata["resource"], format!("http://localhost{resource}"));
        assert_eq!(metadata["authorization_servers"], json!(["https://login.example"]));
    }
    assert_eq!(http.get(&format!("{METADATA}/v1")).await.status, 404);
    let refused = http.request("POST", "/mcp/team", &[], "{}").await;
    let wanted = format!("Bearer resource_metadata=\"http://localhost{METADATA}/mcp/team\"");
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some(&*wanted)));
    let refused = http.get("/v1/team/state").await;
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
    harness.end().await;
}

async fn ask(harness: &Harness, token: &str, method: &str, path: &str, body: &str) -> Response {
    let bearer = format!("Bearer {token}");
    harness.http().await.request(method, path, &[("authorization", &bearer)], body).await
}

#[tokio::test]
async fn the_claims_of_a_jwt_limit_it_like_a_token() {
    let (_folder, _, issuer) = issuer();
    let harness = Harness::with(Settings { jwt: Some(issuer), ..settings() }).await;
    let limits = json!({"role": "worker", "workspaces": ["team-*"], "namespaces": ["shared"]});
    let worker = token(SECRET, &claims(&limits, 600));
    let path = "/v1/team-a/state/shared/k";
    let set = ask(&harness, &worker, "PUT", path, "1").await;
    assert_eq!((set.status, &set.json()["updated_by"]), (200, &json!("ada")));
    for (method, path, code) in [
        ("PUT", "/v1/other/state/shared/k", "access.workspace"),
        ("PUT", "/v1/team-a/state/secret/k", "access.namespace"),
        ("GET", "/v1/access/tokens", "access.role"),
    ] {
        let refused = ask(&harness, &worker, method, path, "1").await;
        assert_eq!(refused.problem(), (403, code.to_owned()), "{method} {path}");
    }
    let bearer = format!("Bearer {worker}");
    let posing = [("authorization", bearer.as_str()), ("baton-agent", "eve")];
    let refused = harness.http().await.request("PUT", path, &posing, "1").await;
    assert_eq!(refused.problem(), (403, "access.agent".to_owned()));
    let admin = token(SECRET, &claims(&json!({"role": "admin"}), 600));
    assert_eq!(ask(&harness, &admin, "GET", "/v1/access/tokens", "").await.status, 200);
    // A token is required.
    let refused = harness.http().await.get(path).await;
    assert_eq!(refused.problem(), (401, "access.no_token".to_owned()));
}

#[tokio::test]
async fn an_invalid_jwt_is_refused_on_every_interface() {
    let (_folder, _, issuer) = issuer();
    let harness = Harness::with(Settings { jwt: Some(issuer), ..settings() }).await;
    let reader = json!({"role": "reader"});
    let mut late = claims(&reader, 0);
    late["exp"] = json!(now_s() - 1);
    let mut early = claims(&reader, 600);
    early["nbf"] = json!(now_s() + 300);
    let mut elsewhere = claims(&reader, 600);
    elsewhere["aud"] = json!("payroll");
    let good = token(SECRET, &claims(&reader, 600));
    let (_, rest) = good.split_once('.').unwrap();
    let (body, _) = rest.split_once('.').unwrap();
    let none = URL_SAFE_NO_PAD.encode(br#"{"alg":"none"}"#);
    for bad in [
        token(SECRET, &late),
        token(SECRET, &early),
        token(SECRET, &elsewhere),
        token(OTHER, &claims(&reader, 600)),
        format!("{none}.{body}."),
        format!("{good}x"),
        "nonsense".to_owned(),
        "e".repeat(9_000),
    ] {
        let refused = ask(&harness, &bad, "GET", "/v1/w/state/shared/k", "").await;
        assert_eq!(refused.problem(), (401, "access.bad_jwt".to_owned()), "{bad}");
        let bearer = format!("Bearer {bad}");
        let (refused, _) =
            Socket::shake_hands(harness.address, &[("authorization", &bearer)]).await;
        assert_eq!(refused.problem(), (401, "access.bad_jwt".to_owned()), "{bad}");
    }
    // An unknown token of the server is not treated as a JWT.
    let refused = ask(&harness, "baton_00", "GET", "/v1/w/state/shared/k", "").await;
    assert_eq!(refused.problem(), (401, "access.bad_token".to_owned()));
    let in_url = format!("/v1/w/state/shared/k?access_token={good}");
    let refused = harness.http().await.get(&in_url).await;
    assert_eq!(refused.problem(), (400, "access.token_in_url".to_owned()));
}

#[tokio::test]
async fn a_connection_ends_with_the_token_that_opened_it() {
    let (_folder, _, issuer) = issuer();
    let harness = Harness::with(Settings { jwt: Some(issuer), ..settings() }).await;
    // Repeated if the machine is too slow to connect within the two seconds.
    let mut socket = loop {
        let bearer = format!("Bearer {}", token(SECRET, &claims(&json!({"role": "reader"}), 2)));
        let (response, socket) =
            Socket::shake_hands(harness.address, &[("authorization", &bearer)]).await;
        if response.status == 101 {
            break socket;
        }
    };
    assert_eq!(socket.closed_with().await, Some(1008));
}

#[tokio::test]
async fn identities_end_with_the_key_that_verified_them() {
    let (_folder, path, issuer) = issuer();
    let keys = issuer.clone();
    let harness = Harness::with(Settings { jwt: Some(issuer), ..settings() }).await;
    let old = token(SECRET, &claims(&json!({"role": "reader"}), 600));
    let bearer = format!("Bearer {old}");
    let (response, mut socket) =
        Socket::shake_hands(harness.address, &[("authorization", &bearer)]).await;
    assert_eq!(response.status, 101);
    std::fs::write(&path, OTHER).unwrap();
    keys.read_again().unwrap();
    assert_eq!(socket.closed_with().await, Some(1008));
    let refused = ask(&harness, &old, "GET", "/v1/w/state/shared/k", "").await;
    assert_eq!(refused.problem(), (401, "access.bad_jwt".to_owned()));
    let new = token(OTHER, &claims(&json!({"role": "reader"}), 600));
    assert_eq!(ask(&harness, &new, "GET", "/v1/w/state", "").await.status, 200);
}
