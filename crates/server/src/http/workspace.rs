//! A workspace about itself, its past, and the others.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::visit::{Told, Visit};
use crate::problem::Refused;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    let read = async |visit: Visit| visit.ask("workspace.get").await;
    let configure = async |visit: Visit| visit.send("workspace.configure").await;
    Router::new()
        .route("/v1/{workspace}", get(read).patch(configure))
        .route(
            "/v1/{workspace}/workspaces",
            get(async |visit: Visit| visit.ask("workspace.list").await),
        )
        .route(
            "/v1/{workspace}/fork",
            post(async |visit: Visit| visit.send("workspace.fork").await),
        )
        .route(
            "/v1/{workspace}/differences",
            get(async |visit: Visit| visit.ask("workspace.diff").await),
        )
        .route("/v1/{workspace}/search", get(search))
        .route("/v1/{workspace}/why", get(async |visit: Visit| visit.ask("workspace.why").await))
}

/// What is looked for may be said as `q`, as in most places where one searches.
async fn search(mut visit: Visit) -> Result<Told, Refused> {
    visit.rename("q", "query");
    visit.ask("workspace.search").await
}
