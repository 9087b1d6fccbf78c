//! The service for HTTP. Host, Origin, tokens and the size of a request are checked before it.

use std::sync::Arc;

use baton_core::wire::Problem;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Collected, Full};
use rmcp::ServerHandler;
use rmcp::model::Extensions;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::handler::{Mcp, error_of};
use crate::{Requester, Toolset, WorkspaceResolver};

/// How many clients of earlier revisions of the protocol may have a session at a time. An idle
/// session ends by itself.
pub const SESSIONS_MAX: usize = 1_024;

type Answer = Response<BoxBody<Bytes, std::convert::Infallible>>;
/// Refuses a request that names no possible workspace or agent.
type Check = Arc<dyn Fn(&Parts) -> Result<(), Problem> + Send + Sync>;
type Service = Arc<dyn Fn(Request<Full<Bytes>>) -> BoxFuture<'static, Answer> + Send + Sync>;

/// Serves the protocol over HTTP, to every client the toolset that it asks for.
#[derive(Clone)]
pub struct HttpService {
    /// One for each of [`Toolset::ALL`].
    services: [Service; Toolset::ALL.len()],
    sessions: Arc<LocalSessionManager>,
    check: Check,
}

impl HttpService {
    /// A service whose requests may have this many bytes.
    pub fn new(resolver: Arc<dyn WorkspaceResolver>, request_bytes_max: usize) -> Self {
        let names = Arc::clone(&resolver);
        let check = move |head: &Parts| {
            let mut extensions = Extensions::new();
            extensions.insert(head.clone());
            let asked = Requester { extensions: &extensions, client: None };
            names.workspace(&asked).map(drop)
        };
        let new = move |toolset| Mcp::new(Arc::clone(&resolver), toolset);
        let service = Self::with_handler(new, request_bytes_max);
        Self { check: Arc::new(check), ..service }
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
        Self { services, sessions, check: Arc::new(|_| Ok(())) }
    }

    /// Answers a request with the tools of this toolset.
    pub async fn answer(&self, toolset: Toolset, request: Request<Full<Bytes>>) -> Answer {
        let (head, body) = request.into_parts();
        if let Err(problem) = (self.check)(&head) {
            let error = error_of(&problem);
            return refused(&json!(error));
        }
        let has_json = head.headers.get(CONTENT_TYPE).is_some_and(|kind| {
            kind.to_str().is_ok_and(|kind| kind.starts_with("application/json"))
        });
        let request = Request::from_parts(head, body.clone());
        let answer = self.services[toolset as usize](request).await;
        if answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && has_json {
            return refused(&no_request(body).await);
        }
        answer
    }

    /// Whether no further session can begin.
    pub async fn is_full(&self) -> bool {
        self.sessions.sessions.read().await.len() >= SESSIONS_MAX
    }
}

/// Why a body is no request: the error of JSON-RPC.
async fn no_request(body: Full<Bytes>) -> Value {
    let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    match serde_json::from_slice::<IgnoredAny>(&body) {
        Ok(_) => json!({"code": -32600, "message": "the body is not a message of JSON-RPC 2.0"}),
        Err(error) => {
            json!({"code": -32700, "message": format!("the body is not JSON: {error}")})
        }
    }
}

fn refused(error: &Value) -> Answer {
    let text = json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string();
    let mut response = Response::new(Full::from(text).boxed());
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
