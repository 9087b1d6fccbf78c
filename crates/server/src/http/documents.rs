//! The documents of the repository, as the build script embedded them: `/llms.txt`, and what it
//! links to.
//!
//! They are the same on every server of a version, so they are public, as the `OpenAPI` document
//! is. The `type` of a problem links to `/docs/errors`.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, Uri, header};
use axum::response::Redirect;
use axum::routing::get;
use miniz_oxide::inflate::decompress_to_vec;

use super::document_page::{POLICY, page};
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::Shared;

/// The documents by their path in the repository, deflated.
static DOCUMENTS: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/documents.rs"));
const FOLDER: &str = "/docs/";

pub(super) fn routes() -> Router<Arc<Shared>> {
    let root = DOCUMENTS.iter().filter(|(name, _)| !name.contains('/'));
    let routes =
        root.fold(Router::new(), |routes, (name, _)| routes.route(&format!("/{name}"), get(serve)));
    let index = get(async || Redirect::temporary("/llms.txt"));
    routes.route("/docs", index).route("/docs/{document}", get(serve))
}

/// Whether a path is that of a document, which needs no token.
pub(super) fn is_public(path: &str) -> bool {
    path == "/docs" || path.starts_with(FOLDER) || found(path).is_some()
}

/// A document by its path. The extension may be omitted in the folder.
fn found(path: &str) -> Option<&'static [u8]> {
    let name = path.strip_prefix('/')?;
    let is_it = |known: &str| {
        known == name || (path.starts_with(FOLDER) && known.strip_suffix(".md") == Some(name))
    };
    DOCUMENTS.iter().find(|(known, _)| is_it(known)).map(|(_, deflated)| *deflated)
}

/// Seldom asked for, so what was inflated is not kept. A browser gets a page, other programs the
/// text: as plain text, since Markdown would be saved to a file.
async fn serve(uri: Uri, headers: HeaderMap) -> Result<Response<Body>, Refused> {
    let deflated = found(uri.path()).ok_or(Refusal::NotFound {})?;
    let text = decompress_to_vec(deflated).expect("the build script deflated it");
    let wants_page = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let (kind, body) = if wants_page.is_some_and(|accept| accept.contains("text/html")) {
        ("text/html; charset=utf-8", page(&String::from_utf8_lossy(&text)).into())
    } else {
        ("text/plain; charset=utf-8", Body::from(text))
    };
    let mut response = Response::new(body);
    let fields = [
        (header::CONTENT_TYPE, kind),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::VARY, "accept"),
    ];
    let fields = fields.map(|(name, value)| (name, HeaderValue::from_static(value)));
    response.headers_mut().extend(fields);
    Ok(response)
}
