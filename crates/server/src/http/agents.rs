//! Agents and their sessions.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/agents",
            get(async |visit: Visit| visit.ask("agent.list").await)
                .post(async |visit: Visit| visit.send("agent.register").await),
        )
        .route(
            "/v1/{workspace}/agents/{agent}",
            get(async |visit: Visit| visit.ask("agent.get").await)
                .delete(async |visit: Visit| visit.ask("agent.leave").await),
        )
        .route(
            "/v1/{workspace}/agents/{agent}/heartbeat",
            post(async |visit: Visit| visit.send("agent.heartbeat").await),
        )
}
