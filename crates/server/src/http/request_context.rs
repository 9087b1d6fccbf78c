//! The context of one HTTP request: its path, query, headers and body.

use std::borrow::Cow;
use std::sync::Arc;

use axum::RequestPartsExt;
use axum::body::Body;
use axum::extract::{FromRequest, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use axum::response::IntoResponse;
use baton::Caller;
use baton_core::wire::{Call, Effect, Fault, Fields, Operation, write_reply};
use baton_core::{
    AgentId, Answer, IdempotencyKey, Json, Mutation, Reply, Token, Traceparent, WorkspaceName,
    state,
};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use percent_encoding::percent_decode_str;

use super::preference::{PREFERENCE_APPLIED, RETURN_MINIMAL, prefers_minimal};
use crate::access::Authority;
use crate::in_flight;
use crate::large_answer::{encode_apart, is_large};
use crate::listener::ConnectionSlot;
use crate::problem::Refused;
use crate::refusal::Refusal;
use crate::server_log::{Level, Timed, operation_fields};
use crate::shared::{InboundBytes, Shared};
use crate::shares::Sharer;

/// The header with the acting agent.
pub(super) const AGENT: HeaderName = HeaderName::from_static("baton-agent");
/// The header with the fencing token.
pub(super) const TOKEN: HeaderName = HeaderName::from_static("baton-token");
/// The header with the trace context.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// The header with the idempotency key.
pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header with the revision of an answer.
pub(super) const REVISION: HeaderName = HeaderName::from_static("baton-revision");

/// One request.
pub(super) struct RequestContext {
    pub(super) shared: Arc<Shared>,
    pub(super) caller: Caller,
    /// The permissions of the caller.
    pub(super) authority: Authority,
    /// Whether a header names the agent.
    pub(super) names_agent: bool,
    method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The number of its connection.
    pub(super) connection: u64,
    /// The fields of path and query.
    parameters: Vec<(String, String)>,
    /// The body counts as being received until it is answered: it is in memory until then.
    receiving: InboundBytes,
}

impl FromRequest<Arc<Shared>> for RequestContext {
    type Rejection = Refused;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Refused> {
        let (parts, body) = request.into_parts();
        let mut context = Self::without_body(parts, shared).await?;
        let kind = body_kind(&context.headers)?;
        let received = receive(shared, &mut context.receiving, &context.headers, body).await?;
        let may_be_patch = context.method == Method::PATCH;
        if !received.is_empty() && !is_understood(&kind, may_be_patch) {
            return Err(Refusal::UnsupportedMediaType { given: shortened(&kind) }.into());
        }
        context.body = received;
        Ok(context)
    }
}

impl RequestContext {
    /// A request whose body is read piece by piece by the handler.
    pub(super) async fn without_body(
        mut parts: Parts,
        shared: &Arc<Shared>,
    ) -> Result<Self, Refused> {
        let (workspace, mut parameters) = read_path(&mut parts).await?;
        read_query(parts.uri.query().unwrap_or_default(), &mut parameters)?;
        let agent = header_text(&parts.headers, &AGENT)?;
        let names_agent = agent.is_some();
        let bad = |name: &HeaderName, error| Refused::from(Fault::field(name.as_str(), error));
        let authority = parts.extensions.get::<Authority>().cloned().unwrap_or_default();
        let agent = match agent {
            Some(agent) => AgentId::of_caller(&agent).map_err(|error| bad(&AGENT, error))?,
            None => authority.acting_agent(),
        };
        let idempotency_key = match header_text(&parts.headers, &IDEMPOTENCY_KEY)? {
            Some(key) => {
                let key = IdempotencyKey::parse(&key);
                Some(key.map_err(|error| bad(&IDEMPOTENCY_KEY, error))?)
            }
            None => None,
        };
        let sees_tokens = authority.sees_tokens();
        let caller = Caller { workspace, agent, idempotency_key, sees_tokens };
        let receiving = InboundBytes::new(shared, authority.sharers(Some(&caller.workspace)));
        let connection =
            parts.extensions.get::<Arc<ConnectionSlot>>().map_or(0, |slot| slot.number);
        let shared = Arc::clone(shared);
        let Parts { headers, method, .. } = parts;
        Ok(Self {
            shared,
            caller,
            authority,
            names_agent,
            method,
            headers,
            body: Bytes::new(),
            connection,
            parameters,
            receiving,
        })
    }
}

/// The content type of a body, without parameters such as the character set.
pub(super) fn body_kind(headers: &HeaderMap) -> Result<String, Refused> {
    let kind = header_text(headers, &header::CONTENT_TYPE)?.unwrap_or_default();
    Ok(kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Besides JSON it may be absent, or the default of curl.
fn is_understood(kind: &str, may_be_patch: bool) -> bool {
    match kind {
        "" | "application/json" | "application/x-www-form-urlencoded" => true,
        "application/merge-patch+json" | "application/json-patch+json" => may_be_patch,
        _ => false,
    }
}

fn shortened(kind: &str) -> String {
    kind.chars().take(80).collect()
}

async fn read_path(parts: &mut Parts) -> Result<(WorkspaceName, Vec<(String, String)>), Refused> {
    let path = parts.extract::<Path<Vec<(String, String)>>>().await.map_err(|_| {
        Refused::from(Fault::Malformed { reason: "the path is not UTF-8".to_owned() })
    })?;
    let mut parameters = path.0;
    let index = parameters.iter().position(|(name, _)| name == "workspace");
    let index = index.expect("every path that is visited has a workspace");
    let workspace = WorkspaceName::parse(&parameters.remove(index).1)
        .map_err(|error| Refused::from(Fault::field("workspace", error)))?;
    Ok((workspace, parameters))
}

/// Reads query parameters as fields.
pub(super) fn read_query(
    query: &str,
    parameters: &mut Vec<(String, String)>,
) -> Result<(), Refused> {
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decode = |text: &str| {
            let text = text.replace('+', " ");
            let decoded = percent_decode_str(&text).decode_utf8().map(Cow::into_owned);
            decoded.map_err(|_| {
                Refused::from(Fault::Malformed { reason: "the query is not UTF-8".to_owned() })
            })
        };
        parameters.push((decode(name)?, decode(value)?));
    }
    Ok(())
}

pub(crate) fn header_text(
    headers: &HeaderMap,
    name: &HeaderName,
) -> Result<Option<String>, Refused> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Fault::DuplicateField { field: name.to_string() }.into());
    }
    match value.to_str() {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(_) => Err(Fault::field(name.as_str(), "it must be plain ASCII").into()),
    }
}

/// Receives the body, within its limits of size and time.
pub(crate) async fn receive(
    shared: &Arc<Shared>,
    receiving: &mut InboundBytes,
    headers: &HeaderMap,
    body: Body,
) -> Result<Bytes, Refused> {
    let max = shared.settings.body_bytes_max;
    let too_large = |given: usize| Fault::TooLarge { what: "bytes in its body", given, max };
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|text| text.to_str().ok());
    if let Some(given) = announced.and_then(|text| text.parse().ok())
        && given > max
    {
        return Err(too_large(given).into());
    }
    let whole = async {
        let mut stream = body.into_data_stream();
        let (mut first, mut whole) = (Bytes::new(), BytesMut::new());
        while let Some(part) = stream.next().await {
            let part = part.map_err(|_| {
                Refused::from(Fault::Malformed { reason: "the body was cut off".to_owned() })
            })?;
            let bytes = first.len() + whole.len() + part.len();
            if bytes > max {
                return Err(too_large(bytes).into());
            }
            if !receiving.hold(bytes) {
                let bytes_max = shared.settings.receiving_bytes_max;
                return Err(Refusal::TooMuchReceived { bytes_max }.into());
            }
            // Nearly every body arrives in one part, which then needs no copy.
            if first.is_empty() && whole.is_empty() {
                first = part;
            } else {
                whole.extend_from_slice(&std::mem::take(&mut first));
                whole.extend_from_slice(&part);
            }
        }
        Ok(if whole.is_empty() { first } else { whole.freeze() })
    };
    let deadline = shared.settings.body_deadline;
    tokio::select! {
        biased;
        received = tokio::time::timeout(deadline, whole) => match received {
            Ok(received) => received,
            Err(_) => Err(Refusal::Timeout { deadline_ms: deadline.as_millis() }.into()),
        },
        () = shared.last_bytes() => Err(Refusal::Closing {}.into()),
    }
}

/// Receives a short body, within its limits of size and time.
pub(super) async fn receive_up_to(
    shared: &Shared,
    body: Body,
    max: usize,
) -> Result<Vec<u8>, Refused> {
    let whole = Limited::new(body, max).collect();
    let deadline = shared.settings.body_deadline;
    let received = tokio::time::timeout(deadline, whole).await;
    let received = received.map_err(|_| Refusal::Timeout { deadline_ms: deadline.as_millis() })?;
    match received {
        Ok(value) => Ok(value.to_bytes().to_vec()),
        Err(error) if error.is::<LengthLimitError>() => {
            let fault = Fault::TooLarge { what: "bytes in its body", given: max + 1, max };
            Err(fault.into())
        }
        Err(_) => Err(Fault::Malformed { reason: "the body was cut off".to_owned() }.into()),
    }
}

/// An answer as an HTTP resource: the bare result, with version and revision as headers. A large
/// one comes with its body.
pub(super) struct HttpAnswer(pub(super) Answer, pub(super) Option<Vec<u8>>);

impl HttpAnswer {
    /// Encodes an answer now if that takes long.
    async fn of(answer: Answer, shared: &Shared) -> Self {
        if !is_large(&answer) {
            return Self(answer, None);
        }
        let encode = move || {
            let mut body = Vec::new();
            write_reply(&mut body, &answer.reply);
            Self(answer, Some(body))
        };
        encode_apart(&shared.encoders, encode).await
    }
}

impl IntoResponse for HttpAnswer {
    fn into_response(self) -> Response<Body> {
        let Answer { revision, reply } = self.0;
        let body = self.1.unwrap_or_else(|| {
            let mut body = Vec::new();
            write_reply(&mut body, &reply);
            body
        });
        let mut response = json(body);
        let headers = response.headers_mut();
        headers.insert(REVISION, HeaderValue::from(revision.0));
        if let Some(tag) = tag(&reply) {
            headers.insert(header::ETAG, tag);
        }
        if let Reply::Minimal(_) = reply {
            headers.insert(PREFERENCE_APPLIED, RETURN_MINIMAL);
        }
        response
    }
}

/// The `ETag` of a reply that is one entry: its version.
pub(super) fn tag(reply: &Reply) -> Option<HeaderValue> {
    let version = match reply {
        Reply::State(state::Reply::Entry(entry)) => entry.version(),
        Reply::Minimal(minimal) => minimal.version?,
        _ => return None,
    };
    HeaderValue::from_str(&format!("\"{version}\"")).ok()
}

/// A JSON body. It ends with a newline, so that a shell's prompt is not on the same line.
pub(crate) fn json(body: impl Into<Vec<u8>>) -> Response<Body> {
    let mut body = body.into();
    body.push(b'\n');
    json_line(body)
}

/// A JSON body that ends with a newline already.
pub(super) fn json_line(body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

impl RequestContext {
    /// The sharers of limited resources that this request counts as.
    pub(super) fn sharers(&self) -> Vec<Sharer> {
        self.authority.sharers(Some(&self.caller.workspace))
    }

    /// The fields of the path and the query.
    pub(super) fn fields(&self) -> Fields<'_> {
        let mut fields = Fields::default();
        for (name, value) in &self.parameters {
            fields.text(name.as_str(), value.as_str());
        }
        fields
    }

    /// Renames a field of path and query.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        for (name, _) in self.parameters.iter_mut().filter(|(name, _)| name == from) {
            to.clone_into(name);
        }
    }

    /// Makes the agent in the path the acting agent, unless a header names one.
    pub(super) fn act_as_named(&mut self) -> Result<(), Refused> {
        let named = self.parameters.iter().find(|(name, _)| name == "agent");
        if let Some((_, agent)) = named.filter(|_| !self.names_agent) {
            let bad = |error| Refused::from(Fault::field("agent", error));
            self.caller.agent = AgentId::of_caller(agent).map_err(bad)?;
        }
        Ok(())
    }

    /// The body as text.
    pub(super) fn text(&self) -> Result<&str, Refused> {
        let text = str::from_utf8(&self.body);
        text.map_err(|_| Fault::Malformed { reason: "the body is not UTF-8".to_owned() }.into())
    }

    /// The body as a JSON value.
    pub(super) fn value(&self) -> Result<Json, Refused> {
        Json::parse(self.body.to_vec()).map_err(|error| Fault::Json(error).into())
    }

    /// The fields of path and query, and those of the body if there is one.
    pub(super) fn fields_with_body(&self) -> Result<Fields<'_>, Refused> {
        let mut fields = self.fields();
        if !self.body.is_empty() {
            fields.extend(Fields::parse(self.text()?)?);
        }
        Ok(fields)
    }

    /// The token that fences an upload, if the header names one.
    pub(super) fn fence(&self) -> Result<Option<Token>, Refused> {
        let Some(text) = header_text(&self.headers, &TOKEN)? else { return Ok(None) };
        let number = text.trim().parse().map(Token);
        let bad = |_| Fault::field(TOKEN.as_str(), "it must be a number");
        Ok(Some(number.map_err(bad)?))
    }

    /// Rejects a token where nothing is fenced: a caller that sends one must not assume that it
    /// protects the request.
    pub(super) fn no_fence(&self) -> Result<(), Refused> {
        if self.headers.contains_key(TOKEN) {
            return Err(Fault::field(TOKEN.as_str(), "this request cannot be fenced").into());
        }
        Ok(())
    }

    /// Carries out an operation with these fields, and with the token of the header, if one is
    /// given and something is to be changed.
    pub(super) async fn perform(
        &self,
        operation: &Operation,
        mut fields: Fields<'_>,
    ) -> Result<HttpAnswer, Refused> {
        if operation.effect == Effect::Changes
            && let Some(token) = header_text(&self.headers, &TOKEN)?
        {
            fields.text("token", token);
        }
        if matches!(operation.name, "workspace.fork" | "workspace.delete") {
            self.no_fence()?;
        }
        let mut call = fields.operation(operation)?;
        if operation.returns_minimal() && prefers_minimal(&self.headers) {
            call = call.into_minimal().expect("it is a write");
        }
        let answer = self.carry_out(&self.caller, call).await?;
        Ok(HttpAnswer::of(answer, &self.shared).await)
    }

    /// Rejects a body where none is used, because its sender expects an effect.
    pub(super) fn no_body(&self) -> Result<(), Refused> {
        if self.body.is_empty() {
            return Ok(());
        }
        let reason = "this path and method take no body: say it in the query".to_owned();
        Err(Fault::Malformed { reason }.into())
    }

    /// The same call as part of the request's trace, unless the call itself names one. The header
    /// is written by proxies and not for us: an invalid one is ignored, as W3C Trace Context
    /// requires.
    pub(super) fn traced(&self, call: Call) -> Call {
        let mut given = self.headers.get_all(TRACEPARENT).iter();
        let (Some(header), None) = (given.next(), given.next()) else { return call };
        let text = header.to_str().unwrap_or_default();
        let Ok(traceparent) = Traceparent::parse(text) else { return call };
        match call {
            Call::Command(command) => Call::Command(command.traced(&traceparent)),
            Call::Transaction(mutation) => Call::Transaction(mutation.traced(&traceparent)),
            Call::Query(_) | Call::Watch(_) | Call::Unwatch { .. } | Call::Ping => call,
        }
    }

    /// Executes a call.
    pub(super) async fn carry_out(&self, caller: &Caller, call: Call) -> Result<Answer, Refused> {
        let (name, call) = (call.name(), self.traced(call));
        self.authority.permits(&caller.workspace, &caller.agent, &call, self.body.len())?;
        let settings = &self.shared.settings;
        if settings.server_log.wants(Level::Debug) {
            let about = operation_fields(self.connection, &caller.workspace, &caller.agent, name);
            settings.server_log.write(Level::Debug, "operation.asked", &about);
        }
        self.shared.fairness.enter(&caller.workspace, self.body.len()).await;
        let timed = Timed::begin_call(settings, &call);
        let baton = &self.shared.baton;
        let outcome = match call {
            Call::Command(command) => baton.mutate(caller, Mutation::Command(command)).await,
            Call::Transaction(mutation) => baton.mutate(caller, mutation).await,
            Call::Query(query) => {
                in_flight::query_deferred(Arc::clone(&self.shared), caller.clone(), query).await
            }
            Call::Watch(_) | Call::Unwatch { .. } | Call::Ping => {
                return Err(Refusal::NeedsConnection {}.into());
            }
        };
        if timed.is_slow() {
            timed.log_slow(&operation_fields(
                self.connection,
                &caller.workspace,
                &caller.agent,
                name,
            ));
        }
        Ok(outcome?)
    }

    /// Whether the caller already has the version of an answer.
    pub(super) fn has(&self, answer: &HttpAnswer) -> Result<bool, Refused> {
        let known = header_text(&self.headers, &header::IF_NONE_MATCH)?;
        let tag = tag(&answer.0.reply);
        let is_it = |known: &str| {
            let mut tags = known.split(',').map(|tag| tag.trim().trim_start_matches("W/"));
            let is_same = |tag: &HeaderValue, known: &str| tag.as_bytes() == known.as_bytes();
            tags.any(|known| tag.as_ref().is_some_and(|tag| known == "*" || is_same(tag, known)))
        };
        Ok(known.is_some_and(|known| is_it(&known)))
    }
}

/// Not modified: the caller has it already.
pub(super) fn not_modified(answer: &HttpAnswer) -> Response<Body> {
    let mut response = StatusCode::NOT_MODIFIED.into_response();
    if let Some(tag) = tag(&answer.0.reply) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}
