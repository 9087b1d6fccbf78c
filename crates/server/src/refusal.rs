//! Requests that the server refuses before they reach the engine.

use baton_core::wire::Problem;
use serde::Serialize;
use thiserror::Error;

use crate::quota::OverQuota;

baton_core::refusals! {
    /// The server refused a request. Nothing was done. Serializes as its facts.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub(crate) enum Refusal {
        /// The path does not exist.
        #[error("this path does not exist")]
        NotFound {} => {
            code: "request.not_found",
            kind: NotFound,
            hint: "see /openapi.json for the available paths",
            cause: "The path is misspelled, or the server is older than the client.",
            remedy: "See `/openapi.json` for the available paths.",
        }
        /// The path does not support this method.
        #[error("this path does not support this method")]
        MethodNotAllowed {} => {
            code: "request.method_not_allowed",
            kind: Invalid,
            hint: "see /openapi.json for the supported methods",
            cause: "`/openapi.json` does not list the method for the path. The HTTP status is 405.",
            remedy: "Use one of the listed methods.",
        }
        /// The content type of the body is not supported.
        #[error("a body of type `{given}` is not supported here")]
        UnsupportedMediaType {
            /// The content type.
            given: String,
        } => {
            code: "request.unsupported_media_type",
            kind: Invalid,
            hint: "send application/json; a patch of an entry may also be \
                application/merge-patch+json or application/json-patch+json",
            cause: "The content type is not JSON, nor, for a patch of an entry, one of the two \
                standard patch formats. The HTTP status is 415.",
            remedy: "Send `application/json`; a patch of an entry may also be \
                `application/merge-patch+json` or `application/json-patch+json`.",
        }
        /// The body is encoded.
        #[error("a body with `Content-Encoding: {given}` is not accepted")]
        UnsupportedEncoding {
            /// The encoding.
            given: String,
        } => {
            code: "request.unsupported_encoding",
            kind: Invalid,
            hint: "send the body as it is, without `Content-Encoding`",
            cause: "The server does not decompress bodies, and stores artifacts, secrets and \
                values as they are sent. The HTTP status is 415.",
            remedy: "Send the body as it is, without `Content-Encoding`. To store a compressed \
                file as an artifact, give its type as `Content-Type`, such as `application/gzip`.",
        }
        /// The operation needs an open connection.
        #[error("watching needs an open connection")]
        NeedsConnection {} => {
            code: "request.malformed",
            kind: Invalid,
            hint: "use GET /v1/{workspace}/watch, or the WebSocket at /v1/ws",
        }
        /// The request is not a WebSocket handshake.
        #[error("this is not a WebSocket handshake: {reason}")]
        Handshake {
            /// The missing part.
            reason: &'static str,
        } => {
            code: "request.malformed",
            kind: Invalid,
            hint: "use a WebSocket client of version 13 that offers `baton.v1.json` or \
                `baton.v1.msgpack`",
        }
        /// The body of the request did not arrive in time. Nothing was done.
        #[error("the body took more than {deadline_ms} ms")]
        Timeout {
            /// The time limit.
            deadline_ms: u128,
        } => {
            code: "request.timeout",
            kind: Unavailable,
            hint: "send the request again",
            cause: "The network is slow, or the client stopped while sending. The HTTP status is \
                408.",
        }
        /// The server or the connection has reached a limit.
        #[error("too many watches {whose} (limit {max})")]
        TooManyWatches {
            /// The owner of the limited watches.
            whose: &'static str,
            /// The limit.
            max: usize,
        } => {
            code: "request.too_many",
            kind: Exhausted,
            hint: "end some, or watch one wider pattern instead of many narrow ones",
            cause: "Too many watches, waiting calls, uploads or JWT identities are open, or too \
                many bytes of requests are being received at once.",
            remedy: "End some watches, watch one wider pattern instead of many narrow ones, or \
                retry later.",
        }
        /// Too many calls wait on the connection.
        #[error("too many waiting calls on this connection (limit {max})")]
        TooManyWaits {
            /// The limit.
            max: usize,
        } => {
            code: "request.too_many",
            kind: Exhausted,
            hint: "wait for fewer things, or use another connection",
        }
        /// Too many artifacts are being uploaded.
        #[error("too many artifact uploads (limit {max})")]
        TooManyUploads {
            /// The limit.
            max: usize,
        } => {
            code: "request.too_many",
            kind: Exhausted,
            hint: "try again later",
        }
        /// The requested range is outside the content.
        #[error("the requested range is beyond the end of the content, which has {length} bytes")]
        BadRange {
            /// The size of the content.
            length: u64,
        } => {
            code: "request.bad_range",
            kind: Invalid,
            hint: "request a range within the content, or all of it",
            cause: "The `Range` of a request for an artifact begins after its last byte; the fact \
                `length` contains its size. The status is 416.",
        }
        /// Too many bytes of requests are being received.
        #[error("too many bytes of requests are being received (limit {bytes_max})")]
        TooMuchReceived {
            /// The limit.
            bytes_max: usize,
        } => {
            code: "request.too_many",
            kind: Exhausted,
            hint: "try again later",
        }
        /// The `Host` header does not name this server.
        #[error("`{host}` is not an accepted host name of this server")]
        DeniedHost {
            /// The given name.
            host: String,
        } => {
            code: "request.denied_host",
            kind: Denied,
            hint: "use the address that the server prints at start, or add the host with --host",
            cause: "A foreign name resolves to this machine, or a proxy forwards its own name.",
            remedy: "Use the address that the server prints at start, or add the host with \
                `--host`.",
        }
        /// A web page from another origin tried to use the server.
        #[error("a page from another origin must not use this server")]
        DeniedOrigin {} => {
            code: "request.denied_origin",
            kind: Denied,
            hint: "serve the page from this server, or add its host with --host",
            cause: "The `Origin` header, sent by browsers, does not name this server.",
            remedy: "Serve the page from this server, or add its host with `--host`.",
        }
        /// The server requires a token, and the request has none.
        #[error("this server requires a token, and the request has none")]
        NoToken {} => {
            code: "access.no_token",
            kind: Denied,
            hint: "send `Authorization: Bearer baton_…`, or set BATON_TOKEN; an admin creates one \
                with `baton token create`",
            cause: "The server was started with `--tokens`, and the request has no `Authorization` \
                header.",
            remedy: "Send `Authorization: Bearer baton_…`, or set `BATON_TOKEN`. An admin creates \
                tokens with `baton token create`.",
        }
        /// The token is invalid.
        #[error("the token is invalid: it is unknown, was revoked, or has expired")]
        BadToken {} => {
            code: "access.bad_token",
            kind: Denied,
            hint: "ask an admin for a new one",
            cause: "It is unknown, was revoked, or has expired.",
        }
        /// The JWT is invalid.
        #[error("the JWT is invalid: it {reason}")]
        BadJwt {
            /// The reason.
            reason: &'static str,
        } => {
            code: "access.bad_jwt",
            kind: Denied,
            hint: "get a new one from the issuer, for the audience of this server",
            cause: "The detail and `reason` say why: it has expired or is not valid yet, is from \
                another issuer or for another audience, names an unknown key, uses an algorithm \
                that does not match the key, has a bad signature, is malformed, is longer than \
                8192 bytes, or lacks `sub` or `baton`.",
            remedy: "Get a new one from the issuer. [access.md](access.md) lists the required \
                claims.",
        }
        /// JWTs name too many identities.
        #[error("too many JWT identities (limit {max})")]
        TooManyJwtIdentities {
            /// The limit.
            max: usize,
        } => {
            code: "request.too_many",
            kind: Exhausted,
            hint: "try again later",
        }
        /// Too many clients of the Model Context Protocol have a session.
        #[error("too many MCP sessions (limit {max})")]
        TooManySessions {
            /// The limit.
            max: usize,
        } => {
            code: "request.too_many",
            kind: Exhausted,
            hint: "end a session with DELETE, or try again when one has expired",
        }
        /// The URL contains a token, which logs and browser histories would record.
        #[error("a token must not be part of a URL, which logs and histories record")]
        TokenInUrl {} => {
            code: "access.token_in_url",
            kind: Invalid,
            hint: "send it as `Authorization: Bearer baton_…`, and revoke it: it may be exposed",
            cause: "The token was sent as a query parameter instead of a header.",
            remedy: "Send it as `Authorization: Bearer baton_…`, and revoke this one: it may have \
                been exposed.",
        }
        /// The port requires TLS, and the connection does not use it.
        #[error("this port requires TLS")]
        PlainText {} => {
            code: "request.plain_text",
            kind: Invalid,
            hint: "use `https://`, or `wss://` for a WebSocket",
            cause: "The server has a certificate, and was called with `http://` or `ws://`.",
            remedy: "Use `https://` or `wss://`.",
        }
        /// The server has too many connections.
        #[error("too many connections (limit {max})")]
        TooManyConnections {
            /// The limit.
            max: usize,
        } => {
            code: "server.too_many_connections",
            kind: Exhausted,
            hint: "close some, share one WebSocket for many requests, or try again later",
            cause: "Clients do not close their connections, or there are more of them than \
                `--connections-max`.",
            remedy: "Close some, share one WebSocket for many requests, or raise the limit.",
        }
        /// No server owns the workspace at the moment.
        #[error("no server owns the workspace at the moment")]
        NoOwner {} => {
            code: "cluster.no_owner",
            kind: Unavailable,
            hint: "retry: another server takes over within seconds",
            cause: "Several servers share the data (`baton serve --log URL`). The owner of the \
                workspace is gone, or the database does not answer, and no other server took over \
                within five seconds. Nothing was executed.",
            remedy: "Retry. If it persists, check `baton cluster status` and the database.",
        }
        /// The server cannot open shards that it should have.
        #[error("this server cannot open shards of the log: {reason}")]
        CannotOpen {
            /// The error, in words.
            reason: String,
        } => {
            code: "cluster.cannot_open",
            kind: Unavailable,
            hint: "see `shard.failed` in the log of the server: the reason must be removed there",
            cause: "Several servers share the data. This server has failed several times in a row \
                to open a shard that it was given, for example because it lacks a permission in \
                the database, or is older than the program that wrote the data. It leaves its \
                shards to the others and tries again from time to time. Only `/readyz` answers \
                this.",
            remedy: "Remove the reason, which the server logs as `shard.failed`, then restart it.",
        }
        /// An operator has drained the server.
        #[error("an operator has drained this server")]
        Drained {} => {
            code: "cluster.drained",
            kind: Unavailable,
            hint: "use another server; `baton cluster undrain` ends it",
            cause: "Several servers share the data, and `baton cluster drain` has given the shards \
                of this one to the others. Only `/readyz` answers this, so that load balancers \
                choose another server: requests that arrive here are still forwarded.",
            remedy: "Nothing, if it is to be stopped. Otherwise let it take shards again: `baton \
                cluster undrain ID`.",
        }
        /// No server has this name.
        #[error("no server of the cluster has the id or the address `{server}`")]
        UnknownServer {
            /// The given id or address.
            server: String,
        } => {
            code: "cluster.unknown_server",
            kind: NotFound,
            hint: "`baton cluster status` lists the servers",
            cause: "The id or the address is misspelt, or the server is gone: it has a new id each \
                time it starts, and after it was declared gone.",
            remedy: "Take the id or the address from `baton cluster status`.",
        }
        /// Several servers have ids that begin like this.
        #[error("the ids of {} servers of the cluster begin with `{server}`", servers.len())]
        AmbiguousServer {
            /// The given id or address.
            server: String,
            /// The ids that begin with it.
            servers: Vec<String>,
        } => {
            code: "cluster.ambiguous_server",
            kind: Invalid,
            hint: "give more of the id, or the address",
            cause: "The beginning of an id was given, and the fact `servers` lists several ids \
                that have it. Nothing was done.",
            remedy: "Give more of the id, or the address of the server.",
        }
        /// No other server would have the shards.
        #[error("no other server would have the shards of `{server}`")]
        LastServer {
            /// Its id.
            server: String,
        } => {
            code: "cluster.last_server",
            kind: Conflict,
            hint: "start another server, or undrain one, first",
            cause: "All other servers of the cluster are drained, or stop, or there are none. \
                Nothing was done.",
            remedy: "Start another server, or undrain one; then drain this one.",
        }
        /// The server takes no shards, whatever an operator wishes.
        #[error("the server `{server}` takes no shards: it stops, or cannot open them")]
        LeavingServer {
            /// Its id.
            server: String,
        } => {
            code: "cluster.leaving",
            kind: Conflict,
            hint: "see its log; it has a new id when it has restarted or takes shards again",
            cause: "The server gives its shards to the others because it was told to stop, or \
                because it could not open them (`server.resting` in its log). Draining adds \
                nothing to that, and undraining cannot end it.",
            remedy: "Remove the reason, which the server logs, or wait until it has restarted.",
        }
        /// There are no servers to drain.
        #[error("this server shares its data with no other")]
        Alone {} => {
            code: "cluster.alone",
            kind: Invalid,
            hint: "stop the server instead: baton serve ends on SIGTERM when all is durable",
            cause: "The server stores its data in a folder of its own, so nothing can take its \
                workspaces. Only servers with `--log` can be drained.",
            remedy: "Stop the server; or move the data to PostgreSQL or NATS, which several \
                servers can share: see [postgres.md](postgres.md).",
        }
        /// The log has not answered this server for a while.
        #[error("the log has not answered this server for {seconds} s")]
        LogAway {
            /// How long.
            seconds: u64,
        } => {
            code: "log.away",
            kind: Unavailable,
            hint: "check that PostgreSQL or NATS runs and that this server can reach it; \
                `log.unreachable` in the log of the server says why it cannot",
        }
        /// The owner of the workspace cannot be reached from this server.
        #[error("the server that owns the workspace cannot be reached at {address}: {reason}")]
        OwnerUnreachable {
            /// Its address, as it advertises it.
            address: String,
            /// The error, in words.
            reason: String,
        } => {
            code: "cluster.owner_unreachable",
            kind: Unavailable,
            hint: "check --advertise of that server, and the network between the servers",
            cause: "Several servers share the data. The owner of the workspace is alive, but for \
                five seconds the server that has the request could not connect to the `address` \
                that the owner advertises, or another program or server answers there. Nothing was \
                done, and nothing of the request was sent.",
            remedy: "Retry. If it lasts, correct `--advertise` of the owner, or the network: the \
                other servers must reach it at that URL. They log `peer.unreachable`.",
        }
        /// The owner of the workspace was lost after the request was sent to it.
        #[error("the server that owns the workspace was lost before it answered")]
        OwnerLost {} => {
            code: "cluster.owner_lost",
            kind: Unavailable,
            hint: "repeat it with the same idempotency key",
            cause: "Several servers share the data, and the owner of the workspace died, or was \
                declared gone, while it had the request. It may have been executed.",
            remedy: "Repeat the request with the same idempotency key; it is executed once. \
                Without a key, first read whether it was executed.",
        }
        /// Another server owns the workspace.
        #[error("another server owns the workspace")]
        Elsewhere {} => {
            code: "cluster.elsewhere",
            kind: Unavailable,
            hint: "retry",
            cause: "A server forwarded the request to this one, which has just given the workspace \
                to another server. Nothing was done.",
            remedy: "Retry: the forwarding server knows the new owner within a second.",
        }
        /// The server is shutting down.
        #[error("the server is shutting down")]
        Closing {} => {
            code: "server.closing",
            kind: Unavailable,
            hint: "use another server, or wait until this one has restarted",
            cause: "It was stopped. Everything it acknowledged is durable.",
        }
    }
    transparent {
        /// A quota is reached.
        OverQuota(OverQuota),
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code(), refusal.kind(), &refusal, refusal.hint(), &refusal)
    }
}
