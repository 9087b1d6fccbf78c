//! The requests between servers: tokens, counters, and the names of workspaces.
//!
//! They authenticate by the secret of the schema: a reader of the database has all the data anyway.
//! The secret is sent only to a server that has proven to know it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Request, Response, StatusCode, Uri, header};
use baton::Caller;
use baton::error::Error;
use baton_core::workspace::{Listed, Query as WorkspaceQuery, Reply as WorkspaceReply};
use baton_core::{AgentId, Answer, Query, Reply, Revision, Timestamp, WorkspaceName, limits};
use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::{BodyExt, Limited};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::front::{Front, OwnerWait};
use super::proof::{NONCE, PROOF, prove};
use super::upstreams::Sender;
use super::{ClusterStatus, HOME, ServerCounters, ServerStatus, shard_of};
use crate::access::{TokenRecord, Tokens};
use crate::http::json as body;
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::Shared;

/// The header with the secret.
pub(super) const PEER: HeaderName = HeaderName::from_static("baton-peer");
/// The time of the tokens, beside them.
const TIME: HeaderName = HeaderName::from_static("baton-time");
const TOKENS: &str = "/cluster/tokens";
const WORKSPACES: &str = "/cluster/workspaces";
const COUNTERS: &str = "/cluster/counters";
/// How long the counters of a server are awaited, which may have stopped.
const COUNTERS_MAX: Duration = Duration::from_secs(1);
/// How long an answer may take, and its size.
const ANSWER_MAX: Duration = Duration::from_secs(3);
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A page of the workspaces of some shards.
#[derive(Default, Serialize, Deserialize)]
struct Page {
    revision: Revision,
    /// The shards whose workspaces are in it.
    shards: Vec<u32>,
    workspaces: Vec<Listed>,
    has_more: bool,
}

impl Page {
    /// Adds the page of another server, without shards that do not exist and without workspaces of
    /// shards that it does not list: they would make an incomplete list look complete.
    fn add(&mut self, there: Self, shards: u32) {
        let listed = there.shards.into_iter().filter(|shard| *shard < shards);
        let listed: BTreeSet<u32> = listed.collect();
        let is_listed = |it: &Listed| listed.contains(&shard_of(it.id.as_str(), shards));
        self.workspaces.extend(there.workspaces.into_iter().filter(is_listed));
        self.shards.extend(listed);
        self.has_more |= there.has_more;
    }
}

impl Front {
    /// Answers a server of the same cluster.
    pub(super) async fn answer_peer<B>(
        &self,
        request: &Request<B>,
    ) -> Result<Response<Body>, Refused> {
        let routes = self.routes();
        let secret = &routes.secret;
        if request.uri().path() == PROOF {
            let proof = prove(secret, &routes.me, request.headers().get(NONCE));
            return Ok(Response::new(Body::from(proof.ok_or(Refusal::NotFound {})?)));
        }
        self.check_peer(request)?;
        match request.uri().path() {
            TOKENS => {
                let engine = self.engine(self.home()).ok_or(Refusal::Elsewhere {})?;
                let tokens = Tokens::of(&engine.shared.baton)?;
                let records = tokens.all().await?;
                let mut response =
                    body(serde_json::to_vec(&records).expect("tokens can be encoded"));
                if let Some(now) = tokens.clock().now() {
                    response.headers_mut().insert(TIME, HeaderValue::from(now.0));
                }
                Ok(response)
            }
            WORKSPACES => {
                let query = request.uri().query().unwrap_or_default();
                let page = self.list_here(listing_of(query)).await?;
                Ok(body(serde_json::to_vec(&page).expect("names can be encoded")))
            }
            COUNTERS => {
                let counters = serde_json::to_vec(&self.counters());
                Ok(body(counters.expect("numbers can be encoded")))
            }
            _ => Err(Refusal::NotFound {}.into()),
        }
    }

    /// Refuses what does not know the secret of the schema.
    pub(super) fn check_peer<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        let routes = self.routes();
        let given = request.headers().get(PEER).map(|value| Sha256::digest(value.as_bytes()));
        // Digests are compared, so that the duration reveals nothing about the secret.
        if routes.secret.is_empty() || given != Some(Sha256::digest(routes.secret.as_bytes())) {
            return Err(Refusal::NotFound {});
        }
        Ok(())
    }

    fn counters(&self) -> ServerCounters {
        let metrics = &self.doors.metrics;
        metrics.cluster.counters(&metrics.forwarded)
    }

    /// The servers, their shards, and what they have counted.
    pub(super) async fn status(&self) -> ClusterStatus {
        let mut status = self.routes().status(self.age());
        let counted = status.servers.iter().map(async |server: &ServerStatus| {
            if server.id == status.answered_by {
                return Some(self.counters());
            }
            let asked = tokio::time::timeout(COUNTERS_MAX, self.ask(server, COUNTERS));
            serde_json::from_slice(asked.await.ok().flatten()?.body()).ok()
        });
        let counted = join_all(counted).await;
        for (server, counters) in status.servers.iter_mut().zip(counted) {
            server.counters = counters;
        }
        status
    }

    /// Asks another server of the same cluster.
    async fn ask(&self, server: &ServerStatus, path: &str) -> Option<Response<Bytes>> {
        let asking = async {
            let mut sender = self.reach(server, false).await.ok()?;
            let uri: Uri = server.address.parse().ok()?;
            let request = Request::get(path)
                .header(header::HOST, uri.authority()?.as_str())
                .header(PEER, self.routes().secret.as_str())
                .body(Body::empty())
                .ok()?;
            let response = sender.send(request).await.ok()?;
            if response.status() != StatusCode::OK {
                return None;
            }
            let (parts, body) = response.into_parts();
            let whole = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            if let Sender::Http1(sender) = sender {
                self.upstreams.give(server, sender);
            }
            Some(Response::from_parts(parts, whole.ok()?.to_bytes()))
        };
        tokio::time::timeout(ANSWER_MAX, asking).await.ok().flatten()
    }

    /// Learns the tokens from the server that has them. The engine that stores the tokens knows
    /// them already.
    pub(super) async fn learn_tokens(&self) {
        let asked = Instant::now();
        let mut known = self.tokens.lock().await;
        let is_known = known.begun.is_some_and(|begun| begun > asked);
        if is_known || self.routes().shards() == 0 || self.engine(self.home()).is_some() {
            return;
        }
        let Some(owner) = self.elsewhere(self.home()) else { return };
        let begun = Instant::now();
        let Some(answer) = self.ask(&owner, TOKENS).await else { return };
        let (parts, received) = answer.into_parts();
        // A server of an older version does not send it.
        let time = parts.headers.get(TIME).and_then(|time| time.to_str().ok()?.parse().ok());
        if let Some(time) = time {
            self.doors.access.clock.learn(Timestamp(time));
        }
        if known.bytes != received {
            let records: Vec<TokenRecord> = serde_json::from_slice(&received).unwrap_or_default();
            for record in &records {
                self.doors.access.load_token(record);
            }
            known.bytes = received;
        }
        known.begun = Some(begun);
    }

    /// The workspaces of the shards of this server.
    async fn list_here(&self, listing: WorkspaceQuery) -> Result<Page, Error> {
        let engines = self.held().into_iter();
        let engines: Vec<_> =
            engines.filter_map(|shard| Some((shard, self.engine(shard)?))).collect();
        let runtime = tokio::runtime::Handle::current();
        // Every engine may be queried about this workspace, whether it has it or not.
        let workspace = WorkspaceName::parse(HOME).expect("it is a good name");
        let agent = AgentId::engine();
        let caller = Caller { workspace, agent, idempotency_key: None, sees_tokens: false };
        let work = move || {
            let mut page = Page::default();
            for (shard, engine) in engines {
                let query = Query::Workspace(listing.clone());
                let answer = runtime.block_on(engine.shared.baton.ask(&caller, query))?;
                let Reply::Workspace(WorkspaceReply::Workspaces { workspaces, cursor }) =
                    answer.reply
                else {
                    continue;
                };
                page.revision = page.revision.max(answer.revision);
                page.shards.push(shard);
                page.workspaces.extend(workspaces);
                page.has_more |= cursor.is_some();
            }
            Ok(page)
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| Error::Closed)?
    }

    async fn list_there(&self, server: &ServerStatus, listing: &WorkspaceQuery) -> Option<Page> {
        let WorkspaceQuery::List { limit, cursor } = listing else { return None };
        let mut path = format!("{WORKSPACES}?");
        if let Some(limit) = limit {
            let _ = write!(path, "limit={limit}&");
        }
        if let Some(cursor) = cursor {
            let cursor = utf8_percent_encode(cursor.as_str(), NON_ALPHANUMERIC);
            let _ = write!(path, "cursor={cursor}");
        }
        serde_json::from_slice(self.ask(server, &path).await?.body()).ok()
    }
}

/// The query of another server.
fn listing_of(query: &str) -> WorkspaceQuery {
    let (mut limit, mut cursor) = (None, None);
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let value = percent_encoding::percent_decode_str(value).decode_utf8_lossy();
        match name {
            "limit" => limit = value.parse().ok(),
            "cursor" => cursor = WorkspaceName::parse(&value).ok(),
            _ => {}
        }
    }
    WorkspaceQuery::List { limit, cursor }
}

/// The tokens as they were received last, and when they were asked for.
#[derive(Default)]
pub(super) struct KnownTokens {
    bytes: Bytes,
    begun: Option<Instant>,
}

/// `workspace.list`, for which every server is queried.
pub(crate) struct Listing {
    front: Arc<Front>,
    query: WorkspaceQuery,
}

impl Listing {
    /// None if the query is about one workspace, or one server has everything.
    pub(crate) fn of(shared: &Shared, query: &Query) -> Option<Self> {
        let Query::Workspace(query @ WorkspaceQuery::List { .. }) = query else { return None };
        let front = shared.cluster.get()?.upgrade()?;
        Some(Self { front, query: query.clone() })
    }

    /// The names of all shards, in order. A shard without an owner is awaited.
    pub(crate) async fn answer(self) -> Result<Answer, Error> {
        let Self { front, query } = self;
        let shards = front.shards().await.map_err(|_| Error::Away)? as usize;
        let mut wait = OwnerWait::new(&front);
        loop {
            let mut page = front.list_here(query.clone()).await?;
            let routes = front.routes();
            for server in routes.servers.iter().filter(|server| server.id != routes.me) {
                if let Some(there) = front.list_there(server, &query).await {
                    page.add(there, routes.shards());
                }
            }
            let covered: BTreeSet<u32> = page.shards.iter().copied().collect();
            if covered.len() == shards {
                return Ok(merged(page, &query));
            }
            if !wait.changed().await {
                return Err(Error::Away);
            }
        }
    }
}

fn merged(page: Page, query: &WorkspaceQuery) -> Answer {
    let limit = match query {
        WorkspaceQuery::List { limit: Some(limit), .. } => usize::try_from(*limit).ok(),
        _ => None,
    };
    let limit = limit.unwrap_or(limits::PAGE_DEFAULT);
    let Page { revision, mut workspaces, mut has_more, .. } = page;
    workspaces.sort_by(|one, two| one.id.cmp(&two.id));
    // A shard that moved in between was listed twice.
    workspaces.dedup_by(|one, two| one.id == two.id);
    has_more |= workspaces.len() > limit;
    workspaces.truncate(limit);
    let last = workspaces.last().map(|last| last.id.clone());
    let cursor = last.filter(|_| has_more);
    let reply = WorkspaceReply::Workspaces { workspaces, cursor };
    Answer { revision, reply: Reply::Workspace(reply) }
}
