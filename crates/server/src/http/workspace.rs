//! A workspace about itself.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    let read = async |visit: Visit| visit.ask("workspace.get").await;
    let configure = async |visit: Visit| visit.send("workspace.configure").await;
    Router::new().route("/v1/{workspace}", get(read).patch(configure))
}
