//! Who depends on which keys.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/contracts",
            get(async |visit: Visit| visit.ask("contract.show").await),
        )
        .route(
            "/v1/{workspace}/contracts/check",
            post(async |visit: Visit| visit.send("contract.check").await),
        )
}
