//! Messages, inboxes, requests, and who answers them.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post, put};

use super::visit::{Told, Visit};
use crate::problem::Refused;
use crate::shared::Shared;

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/messages",
            post(async |visit: Visit| visit.send("message.send").await),
        )
        .route(
            "/v1/{workspace}/messages/{message}",
            get(async |visit: Visit| visit.ask("message.get").await),
        )
        .route(
            "/v1/{workspace}/messages/{message}/requeue",
            post(async |visit: Visit| visit.send("inbox.requeue").await),
        )
        .route(
            "/v1/{workspace}/requests",
            post(async |visit: Visit| visit.send("message.request").await),
        )
        .route(
            "/v1/{workspace}/requests/{request}/reply",
            post(async |visit: Visit| visit.send("message.reply").await),
        )
        .merge(inboxes())
        .merge(handlers())
}

fn inboxes() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/inbox/{agent}",
            get(async |visit: Visit| visit.ask("inbox.list").await),
        )
        .route(
            "/v1/{workspace}/inbox/{agent}/receive",
            post(async |visit: Visit| as_owner(visit, "inbox.receive").await),
        )
        .route(
            "/v1/{workspace}/inbox/{agent}/ack",
            post(async |visit: Visit| as_owner(visit, "inbox.ack").await),
        )
}

/// Whoever names no other agent acts as the one whose inbox it is.
async fn as_owner(mut visit: Visit, operation: &str) -> Result<Told, Refused> {
    visit.act_as_named()?;
    visit.send(operation).await
}

fn handlers() -> Router<Arc<Shared>> {
    Router::new()
        .route(
            "/v1/{workspace}/handlers",
            get(async |visit: Visit| visit.ask("handler.list").await),
        )
        .route(
            "/v1/{workspace}/handlers/{handler}",
            put(async |visit: Visit| visit.send("handler.register").await)
                .delete(async |visit: Visit| visit.ask("handler.remove").await),
        )
}
