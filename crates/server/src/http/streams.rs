//! Streams. A name may hold a `/`, which then stands in the path as `%2F`.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/streams",
            get(async |visit: Visit| visit.ask("stream.list").await)
                .post(async |visit: Visit| visit.send("stream.create").await),
        )
        .route(
            "/v1/{workspace}/streams/{stream}",
            get(async |visit: Visit| visit.ask("stream.get").await)
                .delete(async |visit: Visit| visit.ask("stream.delete").await),
        )
        .route(
            "/v1/{workspace}/streams/{stream}/frames",
            get(async |visit: Visit| visit.ask("stream.receive").await)
                .post(async |visit: Visit| visit.send("stream.send").await),
        )
        .route(
            "/v1/{workspace}/streams/{stream}/close",
            post(async |visit: Visit| visit.send("stream.close").await),
        )
}
