//! What happens because something happened.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post, put};

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/reactions",
            get(async |visit: Visit| visit.ask("reaction.list").await),
        )
        .route(
            "/v1/{workspace}/reactions/{name}",
            put(async |visit: Visit| visit.send("reaction.add").await)
                .get(async |visit: Visit| visit.ask("reaction.get").await)
                .delete(async |visit: Visit| visit.ask("reaction.remove").await),
        )
        .route(
            "/v1/{workspace}/reactions/{name}/enable",
            post(async |visit: Visit| visit.send("reaction.enable").await),
        )
        .route(
            "/v1/{workspace}/reactions/{name}/disable",
            post(async |visit: Visit| visit.send("reaction.disable").await),
        )
}
