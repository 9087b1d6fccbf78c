//! Namespaces and their rules.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use super::visit::{Told, Visit};
use crate::problem::Refused;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/namespaces",
            get(async |visit: Visit| visit.ask("namespace.list").await)
                .post(async |visit: Visit| visit.send("namespace.create").await),
        )
        .route(
            "/v1/{workspace}/namespaces/{name}",
            get(async |visit: Visit| visit.ask("namespace.get").await)
                .put(configure)
                .delete(async |visit: Visit| visit.ask("namespace.delete").await),
        )
}

/// The body is the rules as a whole.
async fn configure(visit: Visit) -> Result<Told, Refused> {
    let rules = visit.value()?;
    let mut fields = visit.fields();
    fields.json("rules", &rules);
    visit.perform("namespace.configure", fields).await
}
