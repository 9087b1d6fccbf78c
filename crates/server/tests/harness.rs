//! The harness of every test: a server on a free port, small settings, waiting without sleeping.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use baton::clock::SystemClock;
use baton::{Baton, Options};
use baton_log::MemoryLog;
use baton_server::{Server, Settings};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::callers::http::Http;
use crate::callers::socket::Socket;

/// The timeout after which something counts as never happening. Nothing takes a hundredth of it; it
/// turns a test that would hang into one that fails.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A deadline that is short enough to wait for.
pub(crate) const SHORT: Duration = Duration::from_millis(100);

/// A server in this process.
pub(crate) struct Harness {
    pub(crate) address: SocketAddr,
    pub(crate) baton: Baton,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

/// Settings for a free port.
pub(crate) fn settings() -> Settings {
    Settings { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), ..Settings::default() }
}

/// An engine in memory.
pub(crate) fn in_memory(options: Options) -> Baton {
    Baton::on(MemoryLog::default(), SystemClock::default(), options).expect("memory does not fail")
}

impl Harness {
    /// A server with an engine in memory and default settings.
    pub(crate) async fn new() -> Self {
        Self::with(settings()).await
    }

    /// A server with an engine in memory.
    pub(crate) async fn with(settings: Settings) -> Self {
        Self::on(in_memory(Options::default()), settings).await
    }

    /// A server on any engine.
    pub(crate) async fn on(baton: Baton, settings: Settings) -> Self {
        let server = Server::bind(baton.clone(), settings).await.expect("there is a free port");
        let address = server.address();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self { address, baton, stop, running }
    }

    /// Two clients that request twenty megabytes each and read none of it, on each interface.
    pub(crate) async fn greedy_peers(&self, http: &mut Http) -> (Socket, Http) {
        http.put("/v1/w/state/shared/k", &json!("x".repeat(1_000_000))).await;
        let mut greedy = Socket::narrow(self.address).await;
        let get = json!({"id": 1, "workspace": "w", "command": "state.get",
                         "namespace": "shared", "key": "k"});
        let gets: Vec<u8> = (0..20).flat_map(|_| greedy.framed(&get)).collect();
        greedy.send_bytes(&gets).await;
        let mut pipelining = Http::narrow(self.address).await;
        let request = "GET /v1/w/state/shared/k HTTP/1.1\r\nhost: localhost\r\n\r\n";
        pipelining.send(request.repeat(20)).await;
        (greedy, pipelining)
    }

    /// An HTTP connection.
    pub(crate) async fn http(&self) -> Http {
        Http::connect(self.address).await
    }

    /// A WebSocket with JSON.
    pub(crate) async fn socket(&self) -> Socket {
        Socket::connect(self.address, Some("baton.v1.json")).await
    }

    /// A metric of `/metrics`, read over a separate connection.
    pub(crate) async fn metric(&self, name: &str) -> u64 {
        let response = self.http().await.get("/metrics").await;
        assert_eq!(response.status, 200);
        let text = String::from_utf8(response.body).expect("metrics are text");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no `{name}`: {text}"))
    }

    /// Waits until there is no other connection and no watch.
    pub(crate) async fn becomes_idle(&self) {
        self.becomes_idle_but(0).await;
    }

    /// The same, with this many others still connected.
    pub(crate) async fn becomes_idle_but(&self, others: u64) {
        let rest =
            [("baton_connections", 1 + others), ("baton_websockets", 0), ("baton_watches", 0)];
        for (name, rest) in rest {
            self.comes_to(name, rest).await;
        }
    }

    /// Waits until a metric of `/metrics` has this value.
    pub(crate) async fn comes_to(&self, name: &str, wanted: u64) {
        let what = format!("`{name}` is {wanted}");
        eventually(&what, async || self.metric(name).await == wanted).await;
    }

    /// Shuts the server down and waits until it has ended.
    pub(crate) async fn end(self) -> Baton {
        let Self { baton, stop, running, .. } = self;
        let _ = stop.send(());
        within(running).await.expect("the server ends well");
        baton
    }

    /// Starts the shutdown, and returns at once.
    pub(crate) fn begin_shutdown(self) -> (Baton, JoinHandle<()>) {
        let _ = self.stop.send(());
        (self.baton, self.running)
    }

    /// Waits until the server has ended by itself.
    pub(crate) async fn ended(self) {
        let Self { baton, stop, running, .. } = self;
        drop(baton);
        running.await.expect("the server ends well");
        drop(stop);
    }
}

/// Waits for something that should happen at once.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it never happened")
}

/// Polls until a condition holds.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, looking).await;
    found.unwrap_or_else(|_| panic!("it never came about that {what}"));
}
