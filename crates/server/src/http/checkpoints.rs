//! Checkpoints. Those of a task that is worked on need the lease's token, in the body or as
//! `Baton-Token`.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/checkpoints",
            get(async |visit: Visit| visit.ask("checkpoint.list").await)
                .post(async |visit: Visit| visit.send("checkpoint.save").await),
        )
        .route(
            "/v1/{workspace}/checkpoints/{checkpoint}",
            get(async |visit: Visit| visit.ask("checkpoint.get").await),
        )
        .route(
            "/v1/{workspace}/tasks/{task}/checkpoint",
            get(async |visit: Visit| visit.ask("checkpoint.latest").await),
        )
        .route(
            "/v1/{workspace}/tasks/{task}/prune",
            post(async |visit: Visit| visit.send("checkpoint.prune").await),
        )
        .route(
            "/v1/{workspace}/retention/checkpoints",
            get(async |visit: Visit| visit.ask("checkpoint.retention").await)
                .post(async |visit: Visit| visit.send("checkpoint.retain").await),
        )
        .merge(changes())
}

fn changes() -> Router<Arc<Shared>> {
    let verbs = [
        ("restore", "checkpoint.restore"),
        ("fork", "checkpoint.fork"),
        ("label", "checkpoint.label"),
    ];
    verbs.into_iter().fold(Router::new(), |router, (verb, operation)| {
        let path = format!("/v1/{{workspace}}/checkpoints/{{checkpoint}}/{verb}");
        router.route(&path, post(async move |visit: Visit| visit.send(operation).await))
    })
}
