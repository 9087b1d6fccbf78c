//! Barriers. A name may hold a `/`, which then stands in the path as `%2F`.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/barriers/{name}",
            get(async |visit: Visit| visit.ask("barrier.get").await),
        )
        .route(
            "/v1/{workspace}/barriers/{name}/arrive",
            post(async |visit: Visit| visit.send("barrier.arrive").await),
        )
        .route(
            "/v1/{workspace}/barriers/{name}/reset",
            post(async |visit: Visit| visit.send("barrier.reset").await),
        )
}
