//! What a server answers itself: health, metrics, the state of the cluster.

use axum::body::Body;
use axum::http::{Method, Request, Response};
use axum::response::IntoResponse;
use baton::metrics::MetricsSnapshot;
use baton_core::access::Permission;
use hyper::body::Incoming;
use serde_json::json;

use super::front::Front;
use crate::http::{MEMBER_HEALTH, json as body, metrics_page};
use crate::listener::ConnectionSlot;
use crate::problem::Refused;
use crate::refusal::Refusal;

impl Front {
    /// The answer to a request that is about this server; none if it is about data.
    pub(super) async fn answer_own(
        &self,
        slot: &ConnectionSlot,
        request: &Request<Incoming>,
    ) -> Option<Response<Body>> {
        let answered = match (request.method(), request.uri().path()) {
            (&Method::GET, "/healthz") => return Some(body(MEMBER_HEALTH)),
            (&Method::GET, "/readyz") => self.ready(),
            (&Method::GET, "/metrics") => self.measured(slot, request).await,
            (&Method::GET, "/v1/access/cluster") => {
                let admitted = self.admitted(slot, request, Permission::Read, "cluster.status");
                let status = || serde_json::to_vec(&self.routes().status());
                admitted.await.map(|()| body(status().expect("it can be encoded")))
            }
            (&Method::GET, "/v1/access/backup") if self.routes().shards() > 1 => {
                let shards = self.routes().shards();
                let refused = Refused::from(Refusal::BackupElsewhere { shards });
                let needs = Permission::Administer;
                self.admitted(slot, request, needs, "server.backup").await.and(Err(refused))
            }
            (&Method::GET, path) if path.starts_with("/cluster/") => {
                self.answer_peer(request).await
            }
            _ => return None,
        };
        Some(answered.unwrap_or_else(IntoResponse::into_response))
    }

    /// Whether requests should be sent here: not before the servers are known, and not while this
    /// one leaves.
    fn ready(&self) -> Result<Response<Body>, Refused> {
        let routes = self.routes();
        if routes.is_leaving || self.closing.is_raised() {
            return Err(Refusal::Closing {}.into());
        }
        if routes.shards() == 0 || !self.is_fresh() {
            return Err(Refusal::NoOwner {}.into());
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
    async fn admitted(
        &self,
        slot: &ConnectionSlot,
        request: &Request<Incoming>,
        needs: Permission,
        operation: &str,
    ) -> Result<(), Refused> {
        self.doors.hosts.check(request.headers())?;
        if self.doors.access.is_token_unknown(request.headers()) {
            self.learn_tokens().await;
        }
        let authority = self.doors.access.authenticate(request, Some(slot.from))?;
        Ok(authority.permits_server(needs, operation)?)
    }
}
