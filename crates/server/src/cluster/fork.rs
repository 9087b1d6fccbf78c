//! `workspace.fork` to a name in another shard.
//!
//! ```text
//!   owner of the origin ── POST /cluster/fork?to=NAME, the fork as it is read ──▶ owner of NAME
//!                       ◀── what became of it ──                                   │
//!                               verified, then the workspace, which exists wholly or not at all
//! ```
//!
//! 1. The owner of the origin decides whether the caller may do it, for both names: no other server
//!    decides. The owner of the new name trusts servers that have proven their identity.
//! 2. A fork is complete with its last byte, so that nothing is created if either server, or the
//!    connection, is lost before that.
//! 3. A fork whose outcome is not known is reported as such. A repeated request has the same
//!    answer, as long as the new workspace is unused.

use std::io::BufWriter;
use std::sync::{Arc, Weak};

use axum::body::Body;
use axum::http::{Method, Request, Response, Uri, header};
use baton::error::Error;
use baton::{Baton, Caller};
use baton_core::history::{At, Origin};
use baton_core::secret;
use baton_core::workspace::{Forked, Query as WorkspaceQuery, Rejection, Reply as WorkspaceReply};
use baton_core::{Answer, Query, Reply, Revision, WorkspaceName};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, Limited};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::front::{Active, ELSEWHERE, Engine, Front, OwnerWait, elsewhere};
use super::peer::PEER;
use super::{ServerStatus, shard_of};
use crate::http::{PIECE_BYTES, PIECES_WAITING, Received, Sending, json};
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::shared::Shared;

/// The path at which a server receives a fork.
const FORK: &str = "/cluster/fork";
/// An answer is small.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// The result of a fork, as reported by the owner of the new name.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ForkOutcome {
    Forked(Box<Forked>),
    Exists(Option<Box<Origin>>),
    /// No value of a secret can be stored there.
    NoKey,
    Full,
    /// Its owner cannot write any more: it may have been created.
    Unknown(String),
}

impl ForkOutcome {
    fn of(received: Result<Forked, Error>) -> Self {
        match received {
            Ok(forked) => Self::Forked(Box::new(forked)),
            Err(Error::Full) => Self::Full,
            Err(Error::Rejected(baton_core::Rejection::Workspace(Rejection::Exists {
                origin,
                ..
            }))) => Self::Exists(origin),
            Err(Error::Rejected(baton_core::Rejection::Secret(secret::Rejection::NoKey {}))) => {
                Self::NoKey
            }
            Err(error) => Self::Unknown(error.to_string()),
        }
    }

    fn answer(self, to: &WorkspaceName) -> Result<Forked, Error> {
        let rejected = |rejection: baton_core::Rejection| Err(Error::Rejected(rejection));
        match self {
            Self::Forked(forked) => Ok(*forked),
            Self::Exists(origin) => rejected(Rejection::Exists { id: to.clone(), origin }.into()),
            Self::NoKey => rejected(secret::Rejection::NoKey {}.into()),
            Self::Full => Err(Error::Full),
            Self::Unknown(reason) => Err(unknown(to, &reason)),
        }
    }
}

fn unknown(to: &WorkspaceName, why: &str) -> Error {
    Error::Unknown { reason: format!("the owner of `{to}`, in another shard: {why}") }
}

/// The result of one attempt to send a fork.
enum Attempt {
    Answered(ForkOutcome),
    /// The owner was lost before it answered.
    Lost,
    /// It certainly was not created: another server is the owner.
    Elsewhere,
}

/// A fork whose new workspace is in another shard.
pub(crate) struct ForkElsewhere {
    front: Weak<Front>,
    baton: Baton,
    caller: Caller,
    to: WorkspaceName,
    at: Option<At>,
    shards: u32,
}

impl ForkElsewhere {
    /// None if a query is something else, or the engine has the new workspace, too.
    pub(crate) fn of(shared: &Shared, caller: &Caller, query: &Query) -> Option<Self> {
        let Query::Workspace(WorkspaceQuery::Fork { to, at }) = query else { return None };
        let place = shared.place.filter(|place| !place.owns(to))?;
        Some(Self {
            front: shared.cluster.get().cloned().unwrap_or_default(),
            baton: shared.baton.clone(),
            caller: caller.clone(),
            to: to.clone(),
            at: *at,
            shards: place.shards,
        })
    }

    /// Sends it to the owner of the new name, which is awaited if there is none.
    pub(crate) async fn answer(self) -> Result<Answer, Error> {
        let front = self.front.upgrade().ok_or(Error::Closed)?;
        let shard = shard_of(self.to.as_str(), self.shards);
        let mut wait = OwnerWait::new(&front);
        loop {
            let sent = if let Some(engine) = front.engine(shard) {
                Some(self.send(receive(&engine, self.to.clone())).await?)
            } else if let Some(owner) = front.elsewhere(shard) {
                let path = format!("{FORK}?to={}", encoded(&self.to));
                Some(self.send(|body| front.send_fork(shard, owner, path, body)).await?)
            } else {
                None
            };
            match sent {
                Some((Attempt::Answered(outcome), revision)) => {
                    let forked = outcome.answer(&self.to)?;
                    let reply = Reply::Workspace(WorkspaceReply::Forked(forked));
                    return Ok(Answer { revision, reply });
                }
                Some((Attempt::Lost, _)) => {
                    return Err(unknown(&self.to, "it was lost before it answered"));
                }
                Some((Attempt::Elsewhere, _)) | None => {}
            }
            if !wait.changed().await {
                return Err(Error::Away);
            }
        }
    }

    /// Sends the fork as it is read. The result, and the revision of the origin. If it could not be
    /// read, that is the reason for everything else.
    async fn send<F>(&self, to: impl FnOnce(Body) -> F) -> Result<(Attempt, Revision), Error>
    where
        F: Future<Output = Attempt>,
    {
        let (sender, receiver) = mpsc::channel::<Bytes>(PIECES_WAITING);
        let output = BufWriter::with_capacity(PIECE_BYTES, Sending(sender));
        let (baton, caller, at) = (self.baton.clone(), self.caller.clone(), self.at);
        let reading: JoinHandle<Result<Revision, Error>> =
            tokio::spawn(async move { baton.send_fork(&caller, at, Box::new(output)).await });
        let pieces = stream::unfold(receiver, |mut receiver| async move {
            Some((Ok::<_, std::io::Error>(receiver.recv().await?), receiver))
        });
        let attempt = to(Body::from_stream(pieces)).await;
        let read = reading.await.map_err(|_| Error::Closed)?;
        match (attempt, read) {
            // It could not be written to its end, since the receiver stopped reading.
            (attempt @ (Attempt::Lost | Attempt::Elsewhere), Err(Error::Storage { .. })) => {
                Ok((attempt, Revision(0)))
            }
            (attempt, read) => Ok((attempt, read?)),
        }
    }
}

/// Creates a workspace from a fork that arrives.
fn receive(
    engine: &Arc<Engine>,
    to: WorkspaceName,
) -> impl FnOnce(Body) -> std::pin::Pin<Box<dyn Future<Output = Attempt> + Send>> + use<> {
    let engine = Arc::clone(engine);
    move |body| {
        Box::pin(async move {
            let _active = Active::new(&engine);
            let (sender, receiver) = mpsc::channel::<Option<Bytes>>(PIECES_WAITING);
            let baton = engine.shared.baton.clone();
            let input = Box::new(Received::new(receiver));
            let receiving = tokio::spawn(async move { baton.receive_fork(to, input).await });
            pass_on(body, sender).await;
            let received = receiving.await.unwrap_or(Err(Error::Closed));
            Attempt::Answered(ForkOutcome::of(received))
        })
    }
}

/// Passes on what arrives. If the receiver is gone, the rest is still read: a sender that is still
/// sending when the connection ends does not receive the answer.
async fn pass_on(body: Body, sender: mpsc::Sender<Option<Bytes>>) {
    let mut pieces = body.into_data_stream();
    while let Some(Ok(piece)) = pieces.next().await {
        let _ = sender.send(Some(piece)).await;
    }
    // Whether it was complete, what was received shows.
    let _ = sender.send(None).await;
}

fn encoded(name: &WorkspaceName) -> String {
    utf8_percent_encode(name.as_str(), NON_ALPHANUMERIC).to_string()
}

/// Whether a request is a fork from another server.
pub(super) fn is_sent<B>(request: &Request<B>) -> bool {
    request.method() == Method::POST && request.uri().path() == FORK
}

impl Front {
    /// Receives a fork from another server.
    pub(super) async fn receive_fork(
        &self,
        request: Request<hyper::body::Incoming>,
    ) -> Result<Response<Body>, Refused> {
        self.check_peer(&request)?;
        let query = request.uri().query().unwrap_or_default();
        let to = query.strip_prefix("to=").map(|to| percent_decode_str(to).decode_utf8_lossy());
        let to = to.and_then(|to| WorkspaceName::parse(&to).ok()).ok_or(Refusal::NotFound {})?;
        let body = Body::new(request.into_body());
        let Some(engine) = self.engine(shard_of(to.as_str(), self.routes().shards())) else {
            let (sender, _) = mpsc::channel(1);
            pass_on(body, sender).await;
            return Ok(elsewhere());
        };
        let Attempt::Answered(outcome) = receive(&engine, to)(body).await else {
            return Ok(elsewhere());
        };
        Ok(json(serde_json::to_vec(&outcome).expect("it can be encoded")))
    }

    /// Sends a fork to the owner of the new name.
    async fn send_fork(
        &self,
        shard: u32,
        owner: ServerStatus,
        path: String,
        body: Body,
    ) -> Attempt {
        let opened = tokio::select! {
            opened = self.reach(&owner, false) => opened,
            () = self.lost(shard, &owner.id) => return Attempt::Elsewhere,
            () = self.closing.raised() => return Attempt::Elsewhere,
        };
        let Ok(mut sender) = opened else { return Attempt::Elsewhere };
        let uri: Option<Uri> = owner.address.parse().ok();
        let host = uri.as_ref().and_then(|uri| uri.authority()).map(|it| it.as_str().to_owned());
        let request = Request::post(path)
            .header(header::HOST, host.unwrap_or_default())
            .header(PEER, self.routes().secret.as_str())
            .body(body);
        let Ok(request) = request else { return Attempt::Elsewhere };
        let answered = async {
            match sender.send(request).await {
                Ok(response) if response.headers().contains_key(ELSEWHERE) => Attempt::Elsewhere,
                Ok(response) => {
                    let whole = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect();
                    let bytes = whole.await.map(http_body_util::Collected::to_bytes);
                    match serde_json::from_slice(&bytes.unwrap_or_default()) {
                        Ok(outcome) => Attempt::Answered(outcome),
                        // A server of an older version does not know the path.
                        Err(_) => Attempt::Lost,
                    }
                }
                Err(mut error) => match error.take_message() {
                    // Nothing of it was sent.
                    Some(_) => Attempt::Elsewhere,
                    None => Attempt::Lost,
                },
            }
        };
        tokio::select! {
            attempt = answered => attempt,
            () = self.silenced(shard, &owner.id) => Attempt::Lost,
            () = self.closing.raised() => Attempt::Lost,
        }
    }
}
