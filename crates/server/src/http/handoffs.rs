//! Hand-offs. What is not about one of them has a path of its own, beside `/handoffs`.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use super::visit::Visit;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/handoffs",
            get(async |visit: Visit| visit.ask("handoff.list").await)
                .post(async |visit: Visit| visit.send("handoff.offer").await),
        )
        .route(
            "/v1/{workspace}/stats/handoffs",
            get(async |visit: Visit| visit.ask("handoff.stats").await),
        )
        .route(
            "/v1/{workspace}/tasks/{task}/handoffs",
            get(async |visit: Visit| visit.ask("handoff.history").await),
        )
        .route(
            "/v1/{workspace}/handoffs/{handoff}",
            get(async |visit: Visit| visit.ask("handoff.get").await),
        )
        .route(
            "/v1/{workspace}/handoffs/{handoff}/context",
            get(async |visit: Visit| visit.ask("handoff.export").await),
        )
        .merge(of_none())
        .merge(of_one())
}

fn of_none() -> Router<Arc<Shared>> {
    let paths = [
        ("executions", "handoff.execute"),
        ("validations", "handoff.validate"),
        ("receptions", "handoff.receive"),
    ];
    paths.into_iter().fold(Router::new(), |router, (path, operation)| {
        let path = format!("/v1/{{workspace}}/{path}");
        router.route(&path, post(async move |visit: Visit| visit.send(operation).await))
    })
}

fn of_one() -> Router<Arc<Shared>> {
    let verbs = [
        ("accept", "handoff.accept"),
        ("reject", "handoff.reject"),
        ("complete", "handoff.complete"),
        ("cancel", "handoff.cancel"),
        ("approve", "handoff.approve"),
    ];
    verbs.into_iter().fold(Router::new(), |router, (verb, operation)| {
        let path = format!("/v1/{{workspace}}/handoffs/{{handoff}}/{verb}");
        router.route(&path, post(async move |visit: Visit| visit.send(operation).await))
    })
}
