//! Pipelines: stages of work that come after one another.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/pipelines",
            get(async |visit: Visit| visit.ask("pipeline.list").await)
                .post(async |visit: Visit| visit.send("pipeline.create").await),
        )
        .route(
            "/v1/{workspace}/pipelines/{pipeline}",
            get(async |visit: Visit| visit.ask("pipeline.get").await)
                .delete(async |visit: Visit| visit.ask("pipeline.delete").await),
        )
        .route(
            "/v1/{workspace}/pipelines/{pipeline}/abort",
            post(async |visit: Visit| visit.send("pipeline.abort").await),
        )
        .route(
            "/v1/{workspace}/pipelines/{pipeline}/stages/{stage}/output",
            get(async |visit: Visit| visit.ask("pipeline.output").await),
        )
        .merge(work())
}

fn work() -> Router<Arc<Shared>> {
    let verbs = [
        ("start", "pipeline.start_stage"),
        ("complete", "pipeline.complete_stage"),
        ("fail", "pipeline.fail_stage"),
        ("retry", "pipeline.retry_stage"),
        ("skip", "pipeline.skip_stage"),
    ];
    verbs.into_iter().fold(Router::new(), |router, (verb, operation)| {
        let path = format!("/v1/{{workspace}}/pipelines/{{pipeline}}/stages/{{stage}}/{verb}");
        router.route(&path, post(async move |visit: Visit| visit.send(operation).await))
    })
}
