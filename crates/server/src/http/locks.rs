//! Locks. A name may hold a `/`, which then stands in the path as `%2F`.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/v1/{workspace}/locks", get(async |visit: Visit| visit.ask("lock.list").await))
        .route(
            "/v1/{workspace}/locks/{name}",
            get(async |visit: Visit| visit.ask("lock.get").await),
        )
        .route(
            "/v1/{workspace}/locks/{name}/acquire",
            post(async |visit: Visit| visit.send("lock.acquire").await),
        )
        .route(
            "/v1/{workspace}/locks/{name}/renew",
            post(async |visit: Visit| visit.send("lock.renew").await),
        )
        .route(
            "/v1/{workspace}/locks/{name}/release",
            post(async |visit: Visit| visit.send("lock.release").await),
        )
}
