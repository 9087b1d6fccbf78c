//! The service for HTTP. Host, Origin, tokens and the size of a request are checked before it.

use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::handler::Mcp;
use crate::{Door, Toolset};

/// How many clients of earlier revisions of the protocol may have a session at a time. An idle
/// session ends by itself.
pub const SESSIONS_MAX: usize = 1_024;

/// Serves the protocol over HTTP.
#[derive(Clone)]
pub struct HttpService {
    service: StreamableHttpService<Mcp, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
}

impl HttpService {
    /// A service whose requests may have this many bytes.
    pub fn new(door: Arc<dyn Door>, toolset: Toolset, request_bytes_max: usize) -> Self {
        let sessions = Arc::new(LocalSessionManager::default());
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(request_bytes_max);
        let new = move || Ok(Mcp::new(Arc::clone(&door), toolset));
        let service = StreamableHttpService::new(new, Arc::clone(&sessions), config);
        Self { service, sessions }
    }

    /// The service, which answers every request.
    pub fn service(&self) -> &StreamableHttpService<Mcp, LocalSessionManager> {
        &self.service
    }

    /// Whether no further session can begin.
    pub async fn is_full(&self) -> bool {
        self.sessions.sessions.read().await.len() >= SESSIONS_MAX
    }
}
