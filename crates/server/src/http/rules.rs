//! Rules for hand-offs.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, put};

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/v1/{workspace}/rules", get(async |visit: Visit| visit.ask("rule.list").await))
        .route(
            "/v1/{workspace}/rules/{name}",
            put(async |visit: Visit| visit.send("rule.add").await)
                .delete(async |visit: Visit| visit.ask("rule.remove").await),
        )
}
