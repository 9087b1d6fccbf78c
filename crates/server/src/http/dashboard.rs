//! The dashboard: the files of `ui/` and of the JavaScript SDK, as the build script embedded them.
//!
//! Files only: the pages use the same interface as every other client, with the token that the user
//! enters. They are public, and load nothing from other sites.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use miniz_oxide::inflate::decompress_to_vec_zlib;
use sha2::{Digest, Sha256};

use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::Shared;

/// The files by their path below `/ui/`, deflated as zlib does.
static FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/ui.rs"));
const PAGE: &str = "index.html";
/// Modules that are imported when they are used, which is seldom.
const LAZY: [&str; 2] = ["sdk/src/http-transport.js", "sdk/src/server-sent-events.js"];
/// The text around the import map, which is the only script inside the page.
const IMPORT_MAP: (&str, &str) = ("<script type=\"importmap\">", "</script>");

/// One file.
struct Asset {
    deflated: &'static [u8],
    etag: HeaderValue,
    content_type: &'static str,
}

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/", get(async |headers: HeaderMap| serve(PAGE, &headers)))
        .route("/ui/{*file}", get(async |Path(file): Path<String>, h: HeaderMap| serve(&file, &h)))
}

/// Whether a path is one of these files, which need no token.
pub(super) fn is_public(path: &str) -> bool {
    path == "/" || path.starts_with("/ui/")
}

/// The files, hashed at the first request.
fn assets() -> &'static BTreeMap<&'static str, Asset> {
    static ASSETS: OnceLock<BTreeMap<&'static str, Asset>> = OnceLock::new();
    ASSETS.get_or_init(|| {
        let asset = |&(name, deflated): &(&'static str, &'static [u8])| {
            let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(inflate(deflated)));
            let etag = HeaderValue::try_from(format!("\"{hash}\"")).expect("Base64 is a value");
            (name, Asset { deflated, etag, content_type: content_type(name) })
        };
        FILES.iter().map(asset).collect()
    })
}

fn inflate(deflated: &[u8]) -> Vec<u8> {
    decompress_to_vec_zlib(deflated).expect("the build script deflated it")
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

/// The sources that the page may load from: its own files, and the import map by its hash.
fn policy() -> &'static HeaderValue {
    static POLICY: OnceLock<HeaderValue> = OnceLock::new();
    POLICY.get_or_init(|| {
        let page = String::from_utf8(inflate(assets()[PAGE].deflated)).expect("it is text");
        let (_, rest) = page.split_once(IMPORT_MAP.0).expect("the page has an import map");
        let (map, _) = rest.split_once(IMPORT_MAP.1).expect("the import map ends");
        let hash = STANDARD.encode(Sha256::digest(map));
        let policy = format!(
            "default-src 'none'; script-src 'self' 'sha256-{hash}'; style-src 'self'; \
             connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'"
        );
        HeaderValue::try_from(policy).expect("it is ASCII")
    })
}

/// The modules that the page imports, so that a browser asks for all of them at once instead of one
/// level of imports after another. Workers are none of them.
fn preloads() -> &'static HeaderValue {
    static PRELOADS: OnceLock<HeaderValue> = OnceLock::new();
    PRELOADS.get_or_init(|| {
        let is_module = |name: &&&str| {
            let (stem, kind) = name.rsplit_once('.').unwrap_or_default();
            let is_sdk = name.starts_with("sdk/") && !LAZY.contains(name);
            is_sdk || (kind == "mjs" && !stem.ends_with("-worker"))
        };
        let link = |name: &&str| format!("</ui/{name}>; rel=modulepreload");
        let links: Vec<String> = assets().keys().filter(is_module).map(link).collect();
        HeaderValue::try_from(links.join(", ")).expect("names of files are ASCII")
    })
}

/// Whether a header lists a value, such as an entity tag.
fn lists(headers: &HeaderMap, name: HeaderName, wanted: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|value| {
        let value = value.split(';').next().unwrap_or_default().trim();
        value.strip_prefix("W/").unwrap_or(value) == wanted
    })
}

fn serve(name: &str, headers: &HeaderMap) -> Result<Response<Body>, Refused> {
    let asset = assets().get(name).ok_or(Refusal::NotFound {})?;
    let etag = asset.etag.to_str().expect("it is ASCII");
    let is_current = lists(headers, header::IF_NONE_MATCH, etag);
    let takes_deflated = lists(headers, header::ACCEPT_ENCODING, "deflate");
    let body = match (is_current, takes_deflated) {
        (true, _) => Body::empty(),
        (false, true) => Body::from(asset.deflated),
        (false, false) => Body::from(inflate(asset.deflated)),
    };
    let mut response = Response::new(body);
    if is_current {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let fields = response.headers_mut();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    fields.insert(header::ETAG, asset.etag.clone());
    fields.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    fields.insert(header::CONTENT_SECURITY_POLICY, policy().clone());
    fields.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    fields.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if name == PAGE {
        fields.insert(header::LINK, preloads().clone());
    }
    if takes_deflated && !is_current {
        fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static("deflate"));
    }
    Ok(response)
}
