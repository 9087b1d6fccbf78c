//! What an agent should know, for a model.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new().route(
        "/v1/{workspace}/agents/{agent}/context",
        get(async |visit: Visit| visit.ask("context.build").await),
    )
}
