//! What servers ask each other: tokens, and the names of workspaces.
//!
//! They prove themselves by the secret of the schema: a reader of the database has all the
//! data anyway.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, Request, Response, StatusCode, Uri, header};
use baton::Caller;
use baton::error::Error;
use baton_core::workspace::{Listed, Query as WorkspaceQuery, Reply as WorkspaceReply};
use baton_core::{AgentId, Answer, Query, Reply, Revision, WorkspaceName, limits};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::front::{Front, PATIENCE};
use super::{HOME, ServerStatus};
use crate::access::{Record, Tokens};
use crate::http::json as body;
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::Shared;

/// The header with the secret.
const PEER: HeaderName = HeaderName::from_static("baton-peer");
const TOKENS: &str = "/cluster/tokens";
const WORKSPACES: &str = "/cluster/workspaces";
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

impl Front {
    /// Answers a server of the same cluster.
    pub(super) async fn answer_peer<B>(
        &self,
        request: &Request<B>,
    ) -> Result<Response<Body>, Refused> {
        let secret = self.routes().secret.clone();
        let given = request.headers().get(PEER).map(|value| Sha256::digest(value.as_bytes()));
        // Digests are compared, so that the time tells nothing about the secret.
        if secret.is_empty() || given != Some(Sha256::digest(secret.as_bytes())) {
            return Err(Refusal::NotFound {}.into());
        }
        match request.uri().path() {
            TOKENS => {
                let engine = self.engine(self.home()).ok_or(Refusal::Elsewhere {})?;
                let records = Tokens::of(&engine.shared.baton)?.all().await?;
                Ok(body(serde_json::to_vec(&records).expect("tokens can be encoded")))
            }
            WORKSPACES => {
                let query = request.uri().query().unwrap_or_default();
                let page = self.list_here(listing_of(query)).await?;
                Ok(body(serde_json::to_vec(&page).expect("names can be encoded")))
            }
            _ => Err(Refusal::NotFound {}.into()),
        }
    }

    /// Asks another server of the same cluster.
    async fn ask(&self, server: &ServerStatus, path: &str) -> Option<Bytes> {
        let asking = async {
            let mut sender = self.upstreams.sender(&server.address).await.ok()?;
            let uri: Uri = server.address.parse().ok()?;
            let request = Request::get(path)
                .header(header::HOST, uri.authority()?.as_str())
                .header(PEER, self.routes().secret.as_str())
                .body(Body::empty())
                .ok()?;
            let response = sender.send_request(request).await.ok()?;
            if response.status() != StatusCode::OK {
                return None;
            }
            let whole = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
            Some(whole.ok()?.to_bytes())
        };
        tokio::time::timeout(ANSWER_MAX, asking).await.ok().flatten()
    }

    /// Learns the tokens from the server that has them. That one knows them already: it changes
    /// them.
    pub(super) async fn learn_tokens(&self) {
        let asked = Instant::now();
        let mut known = self.tokens.lock().await;
        let is_known = known.begun.is_some_and(|begun| begun > asked);
        if is_known || self.routes().shards() == 0 || self.engine(self.home()).is_some() {
            return;
        }
        let Some(owner) = self.elsewhere(self.home()) else { return };
        let begun = Instant::now();
        let Some(received) = self.ask(&owner, TOKENS).await else { return };
        if known.bytes != received {
            let records: Vec<Record> = serde_json::from_slice(&received).unwrap_or_default();
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
        // Every engine may be asked about this workspace, whether it has it or not.
        let workspace = WorkspaceName::parse(HOME).expect("it is a good name");
        let caller = Caller { workspace, agent: AgentId::engine(), idempotency_key: None };
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
        serde_json::from_slice(&self.ask(server, &path).await?).ok()
    }
}

/// What a server asks for.
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

/// `workspace.list`, for which every server is asked.
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
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut page = front.list_here(query.clone()).await?;
            let routes = front.routes();
            for server in routes.servers.iter().filter(|server| server.id != routes.me) {
                if let Some(there) = front.list_there(server, &query).await {
                    page.shards.extend(there.shards);
                    page.workspaces.extend(there.workspaces);
                    page.has_more |= there.has_more;
                }
            }
            let covered: BTreeSet<u32> = page.shards.iter().copied().collect();
            if covered.len() == routes.owners.len() {
                return Ok(merged(page, &query));
            }
            if !front.wait_for_change(deadline).await {
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
    // A shard that moved in between was asked for twice.
    workspaces.dedup_by(|one, two| one.id == two.id);
    has_more |= workspaces.len() > limit;
    workspaces.truncate(limit);
    let last = workspaces.last().map(|last| last.id.clone());
    let cursor = last.filter(|_| has_more);
    let reply = WorkspaceReply::Workspaces { workspaces, cursor };
    Answer { revision, reply: Reply::Workspace(reply) }
}
