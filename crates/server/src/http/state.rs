//! Shared state: an entry has a path, a version is its tag.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Response, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use baton_core::wire::{Fault, Fields};

use super::visit::{Told, Visit, body_kind, header_text, not_modified};
use crate::problem::Refused;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/v1/{workspace}/state", get(async |visit: Visit| visit.ask("state.snapshot").await))
        .route(
            "/v1/{workspace}/state/{namespace}",
            get(async |visit: Visit| visit.ask("state.list").await),
        )
        .route(
            "/v1/{workspace}/state/{namespace}/{*key}",
            get(read).put(write).patch(change).delete(remove),
        )
        .route(
            "/v1/{workspace}/history",
            get(async |visit: Visit| visit.ask("state.history").await),
        )
        .route("/v1/{workspace}/diff", get(async |visit: Visit| visit.ask("state.diff").await))
        .route(
            "/v1/{workspace}/transfers",
            post(async |visit: Visit| visit.send("state.transfer").await),
        )
}

async fn read(visit: Visit) -> Result<Response<Body>, Refused> {
    let told = visit.ask("state.get").await?;
    if visit.has(&told)? {
        return Ok(not_modified(&told));
    }
    Ok(told.into_response())
}

async fn write(visit: Visit) -> Result<Told, Refused> {
    let value = visit.value()?;
    let mut fields = visit.fields();
    conditions(&visit, &mut fields)?;
    fields.json("value", &value);
    visit.perform("state.set", fields).await
}

async fn change(visit: Visit) -> Result<Told, Refused> {
    let form = match body_kind(&visit.headers)?.as_str() {
        "application/merge-patch+json" => Some("merge"),
        "application/json-patch+json" => Some("json_patch"),
        _ => None,
    };
    let value;
    let mut fields = match form {
        Some(form) => {
            value = visit.value()?;
            let mut fields = visit.fields();
            fields.json(form, &value);
            fields
        }
        None => visit.fields_with_body()?,
    };
    conditions(&visit, &mut fields)?;
    visit.perform("state.patch", fields).await
}

async fn remove(visit: Visit) -> Result<Told, Refused> {
    visit.no_body()?;
    let mut fields = visit.fields();
    conditions(&visit, &mut fields)?;
    visit.perform("state.delete", fields).await
}

/// `If-Match` with a version, and `If-None-Match: *`, as the fields they stand for.
fn conditions(visit: &Visit, fields: &mut Fields<'_>) -> Result<(), Refused> {
    if let Some(tag) = header_text(&visit.headers, &header::IF_MATCH)? {
        let version = tag.trim().strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        let is_version = |text: &&str| text.parse::<u64>().is_ok();
        match version.filter(is_version) {
            Some(version) => fields.text("expected_version", version.to_owned()),
            None => return Err(Fault::field("if-match", "it must be a version in quotes").into()),
        }
    }
    match header_text(&visit.headers, &header::IF_NONE_MATCH)?.as_deref() {
        None => Ok(()),
        Some("*") => {
            fields.text("if_absent", "true");
            Ok(())
        }
        Some(_) => Err(Fault::field("if-none-match", "only `*` makes sense here").into()),
    }
}
