//! The service for HTTP. Host, Origin, tokens and the size of a request are checked before it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::handler::Mcp;
use crate::{Toolset, WorkspaceResolver};

/// How many clients of earlier revisions of the protocol may have a session at a time. An idle
/// session ends by itself.
pub const SESSIONS_MAX: usize = 1_024;

type Answer = Response<BoxBody<Bytes, std::convert::Infallible>>;
type Service = Arc<dyn Fn(Request<Full<Bytes>>) -> BoxFuture<'static, Answer> + Send + Sync>;

/// Serves the protocol over HTTP, to every client the toolset that it asks for.
#[derive(Clone)]
pub struct HttpService {
    /// One for each of [`Toolset::ALL`].
    services: [Service; Toolset::ALL.len()],
    sessions: Arc<LocalSessionManager>,
}

impl HttpService {
    /// A service whose requests may have this many bytes.
    pub fn new(resolver: Arc<dyn WorkspaceResolver>, request_bytes_max: usize) -> Self {
        Self::with_handler(
            move |toolset| Mcp::new(Arc::clone(&resolver), toolset),
            request_bytes_max,
        )
    }

    /// A service with another handler, such as one that has the fixtures of a test suite.
    pub fn with_handler<H: ServerHandler>(
        handler: impl Fn(Toolset) -> H + Clone + Send + Sync + 'static,
        request_bytes_max: usize,
    ) -> Self {
        let sessions = Arc::new(LocalSessionManager::default());
        let services = Toolset::ALL.map(|toolset| {
            let config = StreamableHttpServerConfig::default()
                .disable_allowed_hosts()
                .disable_allowed_origins()
                .with_max_request_body_bytes(request_bytes_max);
            let handler = handler.clone();
            let new = move || Ok(handler(toolset));
            let service = StreamableHttpService::new(new, Arc::clone(&sessions), config);
            let service: Service = Arc::new(move |request| {
                let service = service.clone();
                async move { service.handle(request).await }.boxed()
            });
            service
        });
        Self { services, sessions }
    }

    /// Answers a request with the tools of this toolset.
    pub async fn answer(&self, toolset: Toolset, request: Request<Full<Bytes>>) -> Answer {
        self.services[toolset as usize](request).await
    }

    /// Whether no further session can begin.
    pub async fn is_full(&self) -> bool {
        self.sessions.sessions.read().await.len() >= SESSIONS_MAX
    }
}
