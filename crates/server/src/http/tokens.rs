//! Tokens: created, listed and revoked by an admin; and denials. Their routes are not below a
//! workspace.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::routing::{delete, get};
use baton_core::access::{Permission, Role};
use baton_core::wire::{Fault, Fields, Problem};
use serde_json::json;

use super::request_context::{json as body, read_query, receive_up_to};
use crate::access::{Authority, TokenError, TokenRecord, Tokens, Wanted};
use crate::problem::Refused;
use crate::server_log::{FieldValue, Level};
use crate::shared::Shared;

/// Largest request to create a token.
const BODY_BYTES_MAX: usize = 64 << 10;
/// Denials on a page, by default.
const REFUSALS_USUAL: u64 = 100;
/// Maximum number of denials on a page.
const REFUSALS_MAX: u64 = 1_000;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/v1/access/tokens", get(list).post(create))
        .route("/v1/access/tokens/{token}", delete(revoke))
        .route("/v1/access/refusals", get(refusals))
        .route("/v1/access/grant", get(grant))
}

impl From<TokenError> for Refused {
    fn from(error: TokenError) -> Self {
        let (code, kind, hint) = (error.code().to_owned(), error.kind(), error.hint().to_owned());
        Self(Problem::new(&code, kind, &error, &hint, &json!({})))
    }
}

/// Checks a permission for the whole server.
pub(super) fn admitted(
    request: &Request,
    needs: Permission,
    operation: &str,
) -> Result<(), Refused> {
    let authority = request.extensions().get::<Authority>().cloned().unwrap_or_default();
    Ok(authority.permits_server(needs, operation)?)
}

/// Logs the id of the token, and nothing secret.
fn note(shared: &Shared, what: &'static str, record: &TokenRecord) {
    let role = record.grant.role.name();
    let fields = [("id", &record.id[..]), ("name", &record.name[..]), ("role", role)];
    let fields = fields.map(|(name, text)| (name, FieldValue::Text(text)));
    shared.settings.server_log.write(Level::Info, what, &fields);
}

async fn list(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    admitted(&request, Permission::Administer, "token.list")?;
    let records = Tokens::of(&shared.baton)?.all().await?;
    let tokens: Vec<TokenRecord> = records.into_iter().map(TokenRecord::shown).collect();
    Ok(body(json!({ "tokens": tokens }).to_string().into_bytes()))
}

async fn create(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    admitted(&request, Permission::Administer, "token.create")?;
    let text = receive_up_to(&shared, request.into_body(), BODY_BYTES_MAX).await?;
    let reason = "the body is not UTF-8".to_owned();
    let text = str::from_utf8(&text).map_err(|_| Fault::Malformed { reason })?;
    let wanted: Wanted = Fields::parse(text)?.to()?;
    let mut made = Tokens::of(&shared.baton)?.create(wanted).await?;
    shared.access.load_token(&made.record);
    note(&shared, "token.made", &made.record);
    made.record = made.record.shown();
    let mut response = body(serde_json::to_vec(&made).expect("tokens can be encoded"));
    *response.status_mut() = StatusCode::CREATED;
    // It is shown only once: no cache may store it.
    let no_store = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, no_store);
    Ok(response)
}

async fn revoke(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    admitted(&request, Permission::Administer, "token.revoke")?;
    let record = Tokens::of(&shared.baton)?.revoke(&id).await?;
    shared.access.load_token(&record);
    note(&shared, "token.revoked", &record);
    Ok(body(serde_json::to_vec(&record.shown()).expect("tokens can be encoded")))
}

/// The permissions of the caller, so that an interface can omit actions that would be refused.
async fn grant(request: Request) -> Response<Body> {
    let authority = request.extensions().get::<Authority>().cloned().unwrap_or_default();
    match authority.grant() {
        Some(grant) => body(serde_json::to_vec(grant).expect("grants can be encoded")),
        None => body(json!({"role": Role::Admin}).to_string().into_bytes()),
    }
}

async fn refusals(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response<Body>, Refused> {
    admitted(&request, Permission::SetUp, "access.refusals")?;
    let (mut before, mut limit) = (None, REFUSALS_USUAL);
    let mut parameters = Vec::new();
    read_query(request.uri().query().unwrap_or_default(), &mut parameters)?;
    for (name, value) in &parameters {
        let number: Option<u64> = value.parse().ok();
        match (name.as_str(), number) {
            ("before", Some(number @ 1..)) => before = Some(number),
            ("limit", Some(number @ 1..=REFUSALS_MAX)) => limit = number,
            ("before" | "limit", _) => {
                let reason =
                    format!("it must be a number from 1 on, `limit` at most {REFUSALS_MAX}");
                return Err(Fault::field(name, reason).into());
            }
            _ => return Err(Fault::field(name, "there is no such field here").into()),
        }
    }
    let page = shared.access.denials.page(before, usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(body(serde_json::to_vec(&page).expect("refusals can be encoded")))
}
