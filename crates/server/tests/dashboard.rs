//! The dashboard: what is served, how it is cached, and what a browser may do with it.

use baton_core::access::{Grant, Role};
use serde_json::json;

use crate::access::guarded;
use crate::callers::socket::Socket;
use crate::harness::Harness;

fn grant(role: Role) -> Grant {
    Grant { role, workspaces: Vec::new(), namespaces: Vec::new(), agent: None }
}

#[tokio::test]
async fn the_page_and_its_files_need_no_token() {
    let (harness, _) = guarded(vec![grant(Role::Reader)]).await;
    let mut http = harness.http().await;
    let page = http.get("/").await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").expect("there is a policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'self' 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let links = page.header("link").expect("modules are preloaded");
    assert!(links.contains("</ui/views/now.mjs>; rel=modulepreload"), "{links}");
    let text = String::from_utf8(page.body).expect("it is text");
    for path in ["/ui/lib/main.mjs", "/ui/styles/base.css", "/ui/sdk/src/browser.js"] {
        assert!(text.contains(path), "{path}");
        assert_eq!(http.get(path).await.status, 200, "{path}");
    }
    let module = http.get("/ui/sdk/src/client.js").await;
    assert_eq!(module.header("content-type"), Some("text/javascript; charset=utf-8"));
    for path in ["/ui/", "/ui/nothing.js", "/ui/../Cargo.toml", "/ui/sdk/src/generated/types.js"] {
        assert_eq!(http.get(path).await.problem(), (404, "request.not_found".to_owned()), "{path}");
    }
    assert_eq!(http.get("/v1/w/tasks").await.problem().1, "access.no_token");
}

/// The size of the files that a browser loads, before compression.
const SIZE_MAX: usize = 430 * 1024;

#[tokio::test]
async fn a_browser_loads_less_than_430_kb_and_no_comments() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let page = http.get("/").await;
    let links = page.header("link").expect("modules are preloaded").to_owned();
    let modules = links.split(", ").map(|link| {
        let path = link.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        path.expect("a link is in angle brackets").0.to_owned()
    });
    let styles = ["base", "parts", "views"].map(|name| format!("/ui/styles/{name}.css"));
    let workers = ["feed", "layout"].map(|name| format!("/ui/lib/{name}-worker.mjs"));
    let vendored = ["uplot.js", "uplot.css"].map(|name| format!("/ui/vendor/{name}"));
    let mut size = page.body.len();
    for path in modules.chain(styles).chain(workers).chain(vendored) {
        let file = http.get(&path).await;
        assert_eq!(file.status, 200, "{path}");
        size += file.body.len();
        let text = String::from_utf8(file.body).expect("it is text");
        let is_own = !["/ui/vendor/", "/ui/styles/"].iter().any(|other| path.starts_with(other));
        let comment = text.lines().find(|line| line.trim_start().starts_with("//"));
        assert!(!is_own || comment.is_none(), "{path}: {comment:?}");
    }
    assert!(size < SIZE_MAX, "{size} bytes");
}

#[tokio::test]
async fn a_file_is_sent_once_and_compressed_for_clients_that_accept_it() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let plain = http.get("/ui/styles/base.css").await;
    assert_eq!(plain.header("content-encoding"), None);
    let etag = plain.header("etag").expect("it has one").to_owned();
    let again = http.request("GET", "/ui/styles/base.css", &[("if-none-match", &etag)], "").await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    let headers = [("accept-encoding", "gzip, deflate, br")];
    let small = http.request("GET", "/ui/styles/base.css", &headers, "").await;
    assert_eq!(small.header("content-encoding"), Some("deflate"));
    assert!(small.body.len() < plain.body.len());
    let inflated = miniz_oxide::inflate::decompress_to_vec_zlib(&small.body);
    assert_eq!(inflated.expect("it is deflated"), plain.body);
}

#[tokio::test]
async fn a_caller_can_read_its_permissions() {
    let (harness, bearers) = guarded(vec![grant(Role::Worker)]).await;
    let mut http = harness.http().await;
    let headers = [("authorization", &bearers[0][..])];
    let granted = http.request("GET", "/v1/access/grant", &headers, "").await;
    assert_eq!((granted.status, granted.json()), (200, json!({"role": "worker"})));
    assert_eq!(http.get("/v1/access/grant").await.problem().1, "access.no_token");
    let open = Harness::new().await;
    assert_eq!(open.http().await.get("/v1/access/grant").await.json(), json!({"role": "admin"}));
}

#[tokio::test]
async fn a_browser_sends_its_token_as_a_sub_protocol() {
    let (harness, bearers) = guarded(vec![grant(Role::Reader)]).await;
    let token = bearers[0].trim_start_matches("Bearer ");
    let offered = format!("baton.v1.json, baton.bearer.{token}");
    let shake = async |offered: &str| {
        Socket::shake_hands(harness.address, &[("sec-websocket-protocol", offered)]).await.0
    };
    let accepted = shake(&offered).await;
    assert_eq!(accepted.status, 101, "{}", accepted.head);
    assert_eq!(accepted.header("sec-websocket-protocol"), Some("baton.v1.json"));
    assert_eq!(shake("baton.v1.json, baton.bearer.wrong").await.problem().1, "access.bad_token");
    let two = format!("{offered}, baton.bearer.{token}");
    assert_eq!(shake(&two).await.problem().1, "access.bad_token");
    assert_eq!(shake("baton.v1.json").await.problem().1, "access.no_token");
}
