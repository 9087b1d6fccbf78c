//! The threads of a server that has several processors: each serves one engine and the connections
//! that use it.
//!
//! ```text
//!   accept ── look at the first request ──▶ the thread of its workspace ──▶ engine
//!                                                   │
//!                                                   └── other workspaces ──▶ their engines
//! ```
//!
//! 1. The choice of the thread for a connection affects only its speed: every thread can call every
//!    engine.
//! 2. The peeked bytes stay in the socket, for the thread that serves it.

use std::io;
use std::thread::JoinHandle;

use axum::http::HeaderName;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::front::SHARD;
use super::paths::workspace_of;
use super::relay::WORKSPACE;
use super::shard_of;

/// The number of bytes of the first request that are examined: the heads of most are shorter.
const HEAD_BYTES: usize = 4 << 10;
/// The maximum number of examined headers.
const HEADERS_MAX: usize = 64;

/// The threads, by the shards of their engines.
#[derive(Default)]
pub(super) struct ServingThreads(Vec<ServingThread>);

struct ServingThread {
    runtime: Handle,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl ServingThreads {
    pub(super) fn start(count: u32) -> io::Result<Self> {
        (0..count).map(ServingThread::start).collect::<io::Result<_>>().map(Self)
    }

    /// The thread of a shard; none if one thread serves them all.
    pub(super) fn of(&self, shard: u32) -> Option<&Handle> {
        self.0.get(shard as usize).map(|thread| &thread.runtime)
    }

    /// How many there are; none if it is none.
    pub(super) fn count(&self) -> Option<u32> {
        u32::try_from(self.0.len()).ok().filter(|count| *count > 0)
    }

    /// Ends the threads, with everything that they still do.
    pub(super) fn end(self) {
        let (stops, running): (Vec<_>, Vec<_>) =
            self.0.into_iter().map(|thread| (thread.stop, thread.running)).unzip();
        drop(stops);
        for thread in running {
            // A thread that panicked has reported it.
            let _ = thread.join();
        }
    }
}

impl ServingThread {
    fn start(number: u32) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name(format!("baton-serve-{number}"));
        let running = thread.spawn(move || {
            // It ends when the other side is dropped.
            let _ = runtime.block_on(stopped);
        })?;
        Ok(Self { runtime: handle, stop, running })
    }
}

/// The shard that the first request of a connection is for. None if that is not known yet: the peer
/// has sent no path, or uses HTTP/2.
pub(super) async fn first_shard(stream: &TcpStream, shards: u32) -> Option<u32> {
    let mut head = [0; HEAD_BYTES];
    let count = stream.peek(&mut head).await.ok()?;
    shard_of_head(&head[..count], shards)
}

fn shard_of_head(head: &[u8], shards: u32) -> Option<u32> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    // Bytes that are not a request are refused by the thread that serves the connection.
    request.parse(head).ok()?;
    let target = request.path?;
    let named = |name: &HeaderName| {
        let found =
            request.headers.iter().find(|it| it.name.eq_ignore_ascii_case(name.as_str()))?;
        str::from_utf8(found.value).ok()
    };
    if let Some(shard) = named(&SHARD).and_then(|shard| shard.parse().ok()) {
        return Some(shard).filter(|shard| *shard < shards);
    }
    if let Some(workspace) = named(&WORKSPACE) {
        return Some(shard_of(workspace, shards));
    }
    let path = target.split('?').next().unwrap_or_default();
    let is_any = path == "/v1/ws";
    (!is_any).then(|| shard_of(&workspace_of(path), shards))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::HOME;

    #[test]
    fn the_first_request_names_a_shard() {
        let of = |name: &str| Some(shard_of(name, 16));
        for (head, shard) in [
            ("GET /v1/fleet/state/shared/plan HTTP/1.1\r\nHost: a\r\n\r\n", of("fleet")),
            ("GET /v1/team%2Fa/watch?from=1 HTTP/1.1\r\nHost", of("team/a")),
            ("GET /metrics HTTP/1.1\r\n\r\n", of(HOME)),
            ("GET /v1/ws HTTP/1.1\r\nBaton-Workspace: fleet\r\n\r\n", of("fleet")),
            ("GET /v1/ws HTTP/1.1\r\nbaton-shard: 7\r\nbaton-workspace: fleet\r\n\r\n", Some(7)),
            ("GET /v1/ws HTTP/1.1\r\nbaton-shard: 16\r\n\r\n", None),
            ("GET /v1/ws HTTP/1.1\r\nHost: a\r\n\r\n", None),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", None),
            ("GET /v1/fle", None),
            ("\u{16}\u{3}\u{1}", None),
            ("", None),
        ] {
            assert_eq!(shard_of_head(head.as_bytes(), 16), shard, "{head}");
        }
    }

    #[test]
    fn threads_run_their_jobs_until_they_end() {
        let threads = ServingThreads::start(2).unwrap();
        assert_eq!(threads.count(), Some(2));
        assert!(threads.of(2).is_none());
        let names: Vec<_> = (0..2)
            .map(|shard| {
                let (sender, receiver) = std::sync::mpsc::channel();
                threads.of(shard).unwrap().spawn(async move {
                    let _ = sender.send(std::thread::current().name().map(str::to_owned));
                    std::future::pending::<()>().await;
                });
                receiver.recv().unwrap().unwrap()
            })
            .collect();
        assert_eq!(names, ["baton-serve-0", "baton-serve-1"]);
        threads.end();
    }
}
