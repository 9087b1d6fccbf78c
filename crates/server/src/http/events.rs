//! What agents say has happened, and what did happen.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new().route(
        "/v1/{workspace}/events",
        get(async |visit: Visit| visit.ask("event.history").await)
            .post(async |visit: Visit| visit.send("event.emit").await),
    )
}
