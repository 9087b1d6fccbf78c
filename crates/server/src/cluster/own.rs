//! The requests that a server answers itself: health, metrics, the state of the cluster.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Method, Request, Response};
use axum::response::IntoResponse;
use baton::metrics::MetricsSnapshot;
use baton_core::access::Permission;
use hyper::body::Incoming;
use serde_json::json;

use super::backup::BACKUP;
use super::front::{Front, is_forwarded};
use crate::http::{HEALTH, MEMBER_HEALTH, json as body, metrics_page, readiness};
use crate::listener::ConnectionSlot;
use crate::problem::Refused;
use crate::refusal::Refusal;

impl Front {
    /// The answer to a request that is about this server; none if it is about data.
    pub(super) async fn answer_own(
        self: &Arc<Self>,
        slot: &Arc<ConnectionSlot>,
        request: &Request<Incoming>,
    ) -> Option<Response<Body>> {
        let answered = match (request.method(), request.uri().path()) {
            (&Method::GET, "/healthz") if self.routes().is_fixed => return Some(body(HEALTH)),
            (&Method::GET, "/healthz") => return Some(body(MEMBER_HEALTH)),
            (&Method::GET, "/readyz") => self.ready(),
            (&Method::GET, "/metrics") => self.measured(slot, request).await,
            (&Method::GET, "/v1/access/cluster") => {
                let admitted = self.admitted(slot, request, Permission::Read, "cluster.status");
                match admitted.await {
                    Ok(()) => {
                        let status = serde_json::to_vec(&self.status().await);
                        Ok(body(status.expect("it can be encoded")))
                    }
                    Err(refused) => Err(refused),
                }
            }
            // A server that has not joined yet does not know how many shards there are: taking
            // what it has for everything would leave workspaces out.
            (&Method::GET, BACKUP) if !is_forwarded(request) => match self.shards().await {
                Ok(1) => return None,
                Ok(shards) => self.backup(shards, slot, request).await,
                Err(refused) => Err(refused),
            },
            (&Method::GET, path) if path.starts_with("/cluster/") => {
                self.answer_peer(request).await
            }
            _ => return None,
        };
        Some(answered.unwrap_or_else(IntoResponse::into_response))
    }

    /// Whether requests should be sent here: not before the servers are known, not while this one
    /// leaves or is drained, and not while the log does not answer it.
    fn ready(&self) -> Result<Response<Body>, Refused> {
        let routes = self.routes();
        if routes.is_leaving || self.closing.is_raised() {
            return Err(Refusal::Closing {}.into());
        }
        if routes.is_fixed {
            let held = self.held();
            let engines: Vec<_> = held.iter().filter_map(|shard| self.engine(*shard)).collect();
            return readiness(engines.iter().map(|engine| &*engine.shared));
        }
        if let Some(reason) = routes.failing.clone() {
            return Err(Refusal::CannotOpen { reason }.into());
        }
        if let Some(silent) = self.silent() {
            return Err(Refusal::LogAway { seconds: silent.as_secs() }.into());
        }
        let me = routes.servers.iter().find(|server| server.id == routes.me);
        let me = me.ok_or(Refusal::NoOwner {})?;
        // If all are drained, requests must go somewhere.
        if me.draining && routes.servers.iter().any(|server| !server.draining) {
            return Err(Refusal::Drained {}.into());
        }
        Ok(body(json!({"status": "ready"}).to_string().into_bytes()))
    }

    async fn measured(
        &self,
        slot: &ConnectionSlot,
        request: &Request<Incoming>,
    ) -> Result<Response<Body>, Refused> {
        self.admitted(slot, request, Permission::Read, "metrics").await?;
        let mut sum = MetricsSnapshot::default();
        let held = self.held();
        for engine in held.iter().filter_map(|shard| self.engine(*shard)) {
            sum.add(&engine.shared.baton.metrics().await?);
        }
        Ok(metrics_page(&self.doors, &sum, held.len()))
    }

    /// Checks a permission for the whole server.
    pub(super) async fn admitted(
        &self,
        slot: &ConnectionSlot,
        request: &Request<Incoming>,
        needs: Permission,
        operation: &str,
    ) -> Result<(), Refused> {
        if self.doors.access.is_token_unknown(request.headers()) {
            self.learn_tokens().await;
        }
        let authority = self.doors.access.authenticate(request, Some(slot.from))?;
        Ok(authority.permits_server(needs, operation)?)
    }
}
