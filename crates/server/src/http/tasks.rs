//! Tasks. Every call about the work carries the lease's token, in the body or as `Baton-Token`.
//!
//! What is not about one task has a path of its own, beside `/tasks`: any word may be a task's id.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/tasks",
            get(async |visit: Visit| visit.ask("task.list").await)
                .post(async |visit: Visit| visit.send("task.create").await),
        )
        .route("/v1/{workspace}/claims", post(async |visit: Visit| visit.send("task.claim").await))
        .route(
            "/v1/{workspace}/stats/tasks",
            get(async |visit: Visit| visit.ask("task.stats").await),
        )
        .route(
            "/v1/{workspace}/tasks/{task}",
            get(async |visit: Visit| visit.ask("task.get").await),
        )
        .merge(questions())
        .merge(work())
}

fn questions() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/tasks/{task}/why",
            get(async |visit: Visit| visit.ask("task.why").await),
        )
        .route(
            "/v1/{workspace}/tasks/{task}/history",
            get(async |visit: Visit| visit.ask("task.history").await),
        )
}

fn work() -> Router<Arc<Shared>> {
    let verbs = [
        ("heartbeat", "task.heartbeat"),
        ("progress", "task.progress"),
        ("update", "task.update"),
        ("release", "task.release"),
        ("complete", "task.complete"),
        ("fail", "task.fail"),
        ("cancel", "task.cancel"),
        ("review", "task.review"),
    ];
    verbs.into_iter().fold(Router::new(), |router, (verb, operation)| {
        let path = format!("/v1/{{workspace}}/tasks/{{task}}/{verb}");
        router.route(&path, post(async move |visit: Visit| visit.send(operation).await))
    })
}
