//! A backup of all shards: each is requested from its owner, and they are joined.

use std::io::{Error as IoError, Read, Result as IoResult};
use std::sync::Arc;

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, HeaderName, Request, Response, Uri, header};
use baton::error::Error;
use baton_core::access::Permission;
use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use tokio::runtime::Handle;

use super::front::{Front, Payload};
use super::{HOME, shard_of};
use crate::http::backup_response;
use crate::listener::ConnectionSlot;
use crate::problem::Refused;
use crate::refusal::Refusal;

/// The path of backups.
pub(super) const BACKUP: &str = "/v1/access/backup";
/// How much of a refusal is read.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

impl Front {
    /// The backups of all these shards as one, in their order. A shard without an owner is
    /// awaited; if one is lost while it is read, the response breaks off.
    pub(super) async fn backup(
        self: &Arc<Self>,
        shards: u32,
        slot: &Arc<ConnectionSlot>,
        request: &Request<Incoming>,
    ) -> Result<Response<Body>, Refused> {
        self.admitted(slot, request, Permission::Administer, "server.backup").await?;
        let (front, slot) = (Arc::clone(self), Arc::clone(slot));
        let of_caller = |name: HeaderName| {
            let value = request.headers().get(&name)?.clone();
            Some((name, value))
        };
        let headers: HeaderMap =
            [header::AUTHORIZATION, header::HOST].into_iter().filter_map(of_caller).collect();
        backup_response(move |output| async move {
            let runtime = Handle::current();
            let merging = tokio::task::spawn_blocking(move || {
                let parts = (0..shards).map(|shard| {
                    let mut request = Request::new(Payload::Received(Bytes::new()));
                    *request.uri_mut() = Uri::from_static(BACKUP);
                    *request.headers_mut() = headers.clone();
                    runtime.block_on(front.part(shard, &slot, request, &runtime))
                });
                baton::backup::merge(shards, shard_of(HOME, shards), parts, output)
            });
            merging.await.map_err(|_| Refusal::Closing {})??;
            Ok(())
        })
        .await
    }

    /// The backup of one shard, as it arrives.
    async fn part(
        self: &Arc<Self>,
        shard: u32,
        slot: &Arc<ConnectionSlot>,
        request: Request<Payload>,
        runtime: &Handle,
    ) -> Result<BodyReader, Error> {
        let response = self.route(shard, slot, request).await;
        let (status, body) = (response.status(), response.into_body());
        if status.is_success() {
            let (runtime, pieces) = (runtime.clone(), body.into_data_stream());
            return Ok(BodyReader { runtime, pieces, piece: Bytes::new() });
        }
        let problem = Limited::new(body, REFUSAL_BYTES_MAX).collect().await;
        let problem = problem.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let what = format!("shard {shard}: {status} {}", String::from_utf8_lossy(&problem));
        Err(Error::Storage { what })
    }
}

/// The body of a response, read by a thread that may wait.
struct BodyReader {
    runtime: Handle,
    pieces: BodyDataStream,
    piece: Bytes,
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        while self.piece.is_empty() {
            match self.runtime.block_on(self.pieces.next()) {
                Some(piece) => self.piece = piece.map_err(IoError::other)?,
                None => return Ok(0),
            }
        }
        let count = self.piece.len().min(buffer.len());
        self.piece.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}
