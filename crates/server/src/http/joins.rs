//! Joins: going on when so many tasks have finished.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/v1/{workspace}/joins", post(async |visit: Visit| visit.send("join.create").await))
        .route(
            "/v1/{workspace}/joins/{join}",
            get(async |visit: Visit| visit.ask("join.get").await),
        )
        .route(
            "/v1/{workspace}/joins/{join}/wait",
            post(async |visit: Visit| visit.send("join.wait").await),
        )
}
