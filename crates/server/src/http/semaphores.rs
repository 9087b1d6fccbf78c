//! Semaphores. A name may hold a `/`, which then stands in the path as `%2F`.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/semaphores",
            get(async |visit: Visit| visit.ask("semaphore.list").await),
        )
        .route(
            "/v1/{workspace}/semaphores/{name}",
            get(async |visit: Visit| visit.ask("semaphore.get").await),
        )
        .route(
            "/v1/{workspace}/semaphores/{name}/acquire",
            post(async |visit: Visit| visit.send("semaphore.acquire").await),
        )
        .route(
            "/v1/{workspace}/semaphores/{name}/renew",
            post(async |visit: Visit| visit.send("semaphore.renew").await),
        )
        .route(
            "/v1/{workspace}/semaphores/{name}/release",
            post(async |visit: Visit| visit.send("semaphore.release").await),
        )
}
