//! Topics. A name may hold a `/`, which then stands in the path as `%2F`. To hear one is to watch
//! `topics/NAME`.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/v1/{workspace}/topics", get(async |visit: Visit| visit.ask("topic.list").await))
        .route(
            "/v1/{workspace}/topics/{topic}",
            get(async |visit: Visit| visit.ask("topic.get").await)
                .post(async |visit: Visit| visit.send("topic.publish").await),
        )
}
