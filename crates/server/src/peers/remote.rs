//! Calls to one agent of another system.

use std::time::Duration;

use axum::http::{Method as HttpMethod, Request, header};
use baton_a2a::peer::{Binding, Call, Interface, PeerError, answer, card_url, update};
use baton_a2a::{Method, TRANSFER_CONTEXT, VERSION};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use serde_json::Value;

use crate::webhooks::{Address, Answered, CallError, Webhooks, exchange};

/// How much of a response, or of one event of a stream, is read.
const RESPONSE_BYTES_MAX: usize = 4 << 20;
/// How long a call may take, with its handshakes, unless another time is set.
const DEADLINE: Duration = Duration::from_secs(30);
/// How long a stream may be silent.
const SILENCE_MAX: Duration = Duration::from_mins(1);

/// An agent of another system.
#[derive(Clone)]
pub struct Remote {
    url: String,
    token: Option<String>,
    webhooks: Webhooks,
    deadline: Duration,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Remote({})", self.url)
    }
}

impl From<CallError> for PeerError {
    fn from(error: CallError) -> Self {
        Self { again: error.again, ..Self::fatal(error.detail) }
    }
}

impl Remote {
    /// The agent at an address, with the token that it requires.
    pub fn new(url: &str, token: Option<String>, webhooks: Webhooks) -> Self {
        Self { url: url.to_owned(), token, webhooks, deadline: DEADLINE }
    }

    /// The same, with another time for each call.
    #[must_use]
    pub fn within(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// The address that was named.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its card.
    pub async fn card(&self) -> Result<Value, PeerError> {
        let call = Call { url: card_url(&self.url)?, body: None };
        let read = self.whole(&call, Binding::HttpJson, "application/json").await;
        read.map_err(|error| PeerError { detail: format!("no card: {}", error.detail), ..error })
    }

    /// The interface that its card names.
    pub async fn interface(&self) -> Result<Interface, PeerError> {
        Interface::of(&self.card().await?, &card_url(&self.url)?)
    }

    /// Calls an operation.
    pub async fn call(
        &self,
        interface: &Interface,
        method: Method,
        params: Value,
    ) -> Result<Value, PeerError> {
        self.whole(&interface.call(method, params), interface.binding, "*/*").await
    }

    /// The changes of a task as they happen.
    pub async fn updates(&self, interface: &Interface, task: &str) -> Result<Updates, PeerError> {
        let params = serde_json::json!({"id": task});
        let call = interface.call(Method::SubscribeToTask, params);
        let opened =
            tokio::time::timeout(self.deadline, self.opened(&call, "text/event-stream")).await;
        let answered = opened.map_err(|_| self.late())??;
        let (binding, remote) = (interface.binding, self.clone());
        Ok(Updates { answered, binding, remote, unread: Vec::new(), data: String::new() })
    }

    fn late(&self) -> PeerError {
        PeerError::passing(format!("no response within {} ms", self.deadline.as_millis()))
    }

    async fn whole(
        &self,
        call: &Call,
        binding: Binding,
        accept: &'static str,
    ) -> Result<Value, PeerError> {
        let read = async {
            let answered = self.opened(call, accept).await?;
            let status = answered.status.as_u16();
            let body = Limited::new(answered.body, RESPONSE_BYTES_MAX).collect().await;
            let large = |error: Box<dyn std::error::Error + Send + Sync>| match error
                .downcast_ref::<hyper::Error>()
            {
                Some(broken) => PeerError::passing(format!("the connection broke: {broken}")),
                None => PeerError::fatal(format!(
                    "the response is larger than {RESPONSE_BYTES_MAX} bytes"
                )),
            };
            answer(binding, status, &body.map_err(large)?.to_bytes())
        };
        let read = tokio::time::timeout(self.deadline, read).await;
        read.unwrap_or_else(|_| Err(self.late())).map_err(|error| self.scrubbed(error))
    }

    async fn opened(&self, call: &Call, accept: &'static str) -> Result<Answered, PeerError> {
        let unusable = || PeerError::fatal("the address cannot be used");
        let address = Address::parse(&call.url).ok_or_else(unusable)?;
        let method = if call.body.is_some() { HttpMethod::POST } else { HttpMethod::GET };
        let mut request = Request::builder()
            .method(method)
            .uri(&address.path)
            .header(header::HOST, address.authority)
            .header(header::USER_AGENT, concat!("baton/", env!("CARGO_PKG_VERSION")))
            .header(header::CONNECTION, "close")
            .header(header::ACCEPT, accept)
            .header("a2a-version", VERSION)
            .header("a2a-extensions", TRANSFER_CONTEXT);
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if call.body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = Bytes::from(call.body.clone().unwrap_or_default());
        let request = request.body(Full::new(body)).map_err(|_| unusable())?;
        Ok(exchange(&address, request, &self.webhooks).await?)
    }

    /// An error without the token, which an agent might repeat.
    fn scrubbed(&self, mut error: PeerError) -> PeerError {
        if let Some(token) = self.token.as_deref().filter(|token| !token.is_empty()) {
            error.detail = error.detail.replace(token, "[token]");
        }
        error
    }
}

/// A stream of changes.
pub struct Updates {
    answered: Answered,
    binding: Binding,
    remote: Remote,
    unread: Vec<u8>,
    data: String,
}

impl Updates {
    /// The next change; none when the stream has ended, broken off, or contains nothing that can be
    /// understood. The state of the task must then be read.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                let line = line.trim_end_matches(['\r', '\n']);
                if let Some(data) = line.strip_prefix("data:") {
                    self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
                    self.data.push('\n');
                } else if line.is_empty() && !self.data.is_empty() {
                    let data = std::mem::take(&mut self.data);
                    let read = update(self.binding, data.trim_end());
                    return read.map_err(|error| self.remote.scrubbed(error)).ok();
                }
            }
            if self.unread.len() + self.data.len() > RESPONSE_BYTES_MAX {
                return None;
            }
            let piece = self.piece().await?;
            self.unread.extend_from_slice(&piece);
        }
    }

    async fn piece(&mut self) -> Option<Bytes> {
        let body: &mut Incoming = &mut self.answered.body;
        let frame = tokio::time::timeout(SILENCE_MAX, body.frame()).await.ok()??;
        // A frame without data is the end: nothing follows trailers.
        frame.ok()?.into_data().ok()
    }
}
