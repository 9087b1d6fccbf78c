//! Connections, requests to `JetStream`, and what an error means.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{
    Client, ConnectErrorKind, ConnectOptions, Event, HeaderMap, Message, Request, RequestErrorKind,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use baton_cluster::{Network, NetworkSender, now_ms};
use baton_log::OpenError;
use baton_log::ownership::{PAUSE_MS, REPEAT_MS};
use bytes::Bytes;
use futures_util::StreamExt;
use ring::rand::{SecureRandom, SystemRandom};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::location::{Login, NatsLocation};
use crate::times::milliseconds;

const PAUSE: Duration = Duration::from_millis(PAUSE_MS);
/// How long to wait for a connection to one server.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// A connection is given up when this often nothing came back, three times.
const PING_EVERY: Duration = Duration::from_secs(1);
/// How long one answer is awaited.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(5);
const RECONNECT_MS_MAX: u64 = 500;
/// The application protocol that TLS negotiates, if the servers negotiate one.
const PROTOCOL: &[u8] = b"nats";

pub(crate) const EXPECTED_LAST: &str = "Nats-Expected-Last-Sequence";
pub(crate) const EXPECTED_LAST_OF_SUBJECT: &str = "Nats-Expected-Last-Subject-Sequence";

/// Why a request has no result.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The connection broke, or there was no answer: it may have been executed.
    Broken(String),
    /// It was not executed, since no server could execute it at the moment.
    Again(String),
    /// There is no space. Nothing was executed.
    Full,
    /// The last message is not the expected one. Nothing was executed.
    WrongSequence,
    /// The stream or the message does not exist.
    Missing,
    /// It was refused. Nothing was executed.
    Refused {
        /// The number of `JetStream`'s error, zero if it is none.
        code: u64,
        reason: String,
    },
}

impl Failure {
    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused { code: 0, reason: reason.into() }
    }

    fn of(error: ApiError) -> Self {
        let ApiError { code, err_code, description } = error;
        let is_full = ["maximum bytes", "maximum messages", "no space", "resource limits"]
            .iter()
            .any(|words| description.contains(words));
        match err_code {
            10_071 | 10_164 => Self::WrongSequence,
            10_002 | 10_023 | 10_028 | 10_047 => Self::Full,
            10_077 if is_full => Self::Full,
            // The store failed in another way: what was written is not known.
            10_077 => Self::Broken(description),
            10_014 | 10_037 | 10_059 => Self::Missing,
            10_039 | 10_076 => Self::refused(format!(
                "JetStream is not enabled: start nats-server with -js, and for an account with \
                 `jetstream: enabled` ({description})"
            )),
            _ if matches!(code, 429 | 503) => Self::Again(description),
            _ => Self::Refused { code: err_code, reason: description },
        }
    }

    /// The words for an operator.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Broken(said) | Self::Again(said) | Self::Refused { reason: said, .. } => {
                said.clone()
            }
            Self::Full => "the stream or the account has no space left".to_owned(),
            Self::WrongSequence => "another server wrote first".to_owned(),
            Self::Missing => "a stream or message that must exist is missing".to_owned(),
        }
    }

    /// The corresponding error while the log is opened.
    pub(crate) fn at_opening(&self, location: &str) -> OpenError {
        OpenError::Away { location: location.to_owned(), reason: self.reason() }
    }

    fn may_be_repeated(&self) -> bool {
        matches!(self, Self::Broken(_) | Self::Again(_))
    }
}

#[derive(Deserialize)]
struct ApiError {
    #[serde(default)]
    code: u64,
    #[serde(default)]
    err_code: u64,
    #[serde(default)]
    description: String,
}

/// A message as a stream has it.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) sequence: u64,
    pub(crate) subject: String,
    /// When the stream got it, in milliseconds by the clock of NATS.
    pub(crate) time_ms: u64,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Stored {
    fn of(message: Message) -> Option<Self> {
        let headers = message.headers.unwrap_or_default();
        let text = |name: &str| headers.get(name).map(|value| value.as_str().to_owned());
        Some(Self {
            sequence: text("Nats-Sequence")?.parse().ok()?,
            subject: text("Nats-Subject")?,
            time_ms: milliseconds(&text("Nats-Time-Stamp")?)?,
            headers,
            body: message.payload,
        })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(async_nats::HeaderValue::as_str)
    }

    /// The fact in its body.
    pub(crate) fn fact<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let odd = |error: serde_json::Error| {
            let (sequence, subject) = (self.sequence, &self.subject);
            Failure::refused(format!("message {sequence} on {subject} is damaged: {error}"))
        };
        serde_json::from_slice(&self.body).map_err(odd)
    }
}

/// A message that is to be published.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) subject: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Outgoing {
    /// A fact as JSON.
    pub(crate) fn fact(subject: String, fact: &impl serde::Serialize) -> Self {
        let body = serde_json::to_vec(fact).unwrap_or_default().into();
        Self { subject, headers: HeaderMap::new(), body }
    }

    pub(crate) fn with(mut self, header: &str, value: &impl ToString) -> Self {
        self.headers.insert(header, value.to_string().as_str());
        self
    }
}

struct Inner {
    location: NatsLocation,
    client: Client,
    /// How often the connection was lost.
    losses: watch::Receiver<u64>,
    /// The latest time of the clock of NATS that was seen.
    clock_ms: AtomicU64,
}

/// Servers of NATS. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Nats {
    inner: Arc<Inner>,
    network: NetworkSender,
}

impl Nats {
    /// Connects.
    pub(crate) fn connect(location: NatsLocation) -> Result<(Self, Network), OpenError> {
        let name = location.description().to_owned();
        let away = |reason: String| OpenError::Away { location: name.clone(), reason };
        let network = Network::start("baton-nats").map_err(|error| away(error.to_string()))?;
        let ended = || away("the program is ending".to_owned());
        let sender = network.sender().ok_or_else(ended)?;
        let (lost, losses) = watch::channel(0);
        let (options, servers) = (options(&location, lost), location.servers.clone());
        let options = options.map_err(away)?;
        let connected = sender.wait(async move { options.connect(servers).await });
        let client = connected
            .ok_or_else(ended)?
            .map_err(|error| away(unconnected(error.kind(), &error.to_string())))?;
        let clock_ms = AtomicU64::new(0);
        let inner = Arc::new(Inner { location, client, losses, clock_ms });
        Ok((Self { inner, network: sender }, network))
    }

    pub(crate) fn location(&self) -> &NatsLocation {
        &self.inner.location
    }

    pub(crate) fn network(&self) -> &NetworkSender {
        &self.network
    }

    pub(crate) fn client(&self) -> &Client {
        &self.inner.client
    }

    /// How often a connection was made. All that was seen before is seen by another server of NATS.
    pub(crate) fn connections(&self) -> u64 {
        self.inner.client.statistics().connects.load(Ordering::SeqCst)
    }

    /// The time by the clock of NATS, as it was last seen.
    pub(crate) fn clock_ms(&self) -> u64 {
        self.inner.clock_ms.load(Ordering::SeqCst)
    }

    pub(crate) fn see_clock(&self, time_ms: u64) {
        self.inner.clock_ms.fetch_max(time_ms, Ordering::SeqCst);
    }

    /// Sends a request, and waits for its answer. It ends early if the connection does.
    async fn request(&self, out: Outgoing, patience: Duration) -> Result<Message, Failure> {
        let client = &self.inner.client;
        if client.connection_state() != State::Connected {
            // A message that is sent now would wait, and be executed at an unknown time.
            return Err(Failure::Again("there is no connection".to_owned()));
        }
        let mut losses = self.inner.losses.clone();
        losses.mark_unchanged();
        let request = Request::new().headers(out.headers).payload(out.body).timeout(None);
        let answer = timeout(patience, client.send_request(out.subject, request));
        let answer = tokio::select! {
            answer = answer => answer,
            _ = losses.changed() => {
                return Err(Failure::Broken("the connection broke".to_owned()));
            }
        };
        let silent = || Failure::Broken("NATS does not answer".to_owned());
        answer.map_err(|_| silent())?.map_err(|error| match error.kind() {
            RequestErrorKind::NoResponders => {
                Failure::Again("no server of NATS takes it at the moment".to_owned())
            }
            RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded => {
                Failure::refused(error.to_string())
            }
            RequestErrorKind::TimedOut | RequestErrorKind::Other => {
                Failure::Broken(error.to_string())
            }
        })
    }

    /// Publishes to a stream. The sequence that the message has.
    pub(crate) async fn publish(&self, out: Outgoing, patience: Duration) -> Result<u64, Failure> {
        let message = self.request(out, patience).await?;
        let answer: Value = answered(&message)?;
        let odd = || Failure::Broken("the answer has no sequence".to_owned());
        answer["seq"].as_u64().ok_or_else(odd)
    }

    /// Asks `JetStream` once.
    pub(crate) async fn api<T: DeserializeOwned>(
        &self,
        what: &str,
        body: &Value,
    ) -> Result<T, Failure> {
        let out = Outgoing::fact(format!("$JS.API.{what}"), body);
        answered(&self.request(out, ANSWER_MAX).await?)
    }

    /// Asks `JetStream` for what has the same effect when it is repeated, until it answers.
    pub(crate) async fn api_repeated<T: DeserializeOwned>(
        &self,
        what: &str,
        body: &Value,
    ) -> Result<T, Failure> {
        repeated(|| self.api(what, body)).await
    }

    /// Publishes what has the same effect when it is repeated, until it is stored.
    pub(crate) async fn publish_repeated(&self, out: Outgoing) -> Result<u64, Failure> {
        repeated(|| self.publish(out.clone(), ANSWER_MAX)).await
    }

    /// The sequence of the last message of a stream.
    pub(crate) async fn last_sequence(&self, stream: &str) -> Result<u64, Failure> {
        let info: Value = self.api(&format!("STREAM.INFO.{stream}"), &json!({})).await?;
        let odd = || Failure::refused("the stream has no state");
        info["state"]["last_seq"].as_u64().ok_or_else(odd)
    }

    /// The last message on a subject, as the leader of the stream has it.
    pub(crate) async fn last_on(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Option<Stored>, Failure> {
        let asked = json!({"last_by_subj": subject});
        let found: Result<Value, _> = self.api(&format!("STREAM.MSG.GET.{stream}"), &asked).await;
        let found = match found {
            Err(Failure::Missing) => return Ok(None),
            found => found?,
        };
        let message = &found["message"];
        let odd = || Failure::refused("a message without sequence, time or body");
        let body = STANDARD.decode(message["data"].as_str().unwrap_or_default());
        Ok(Some(Stored {
            sequence: message["seq"].as_u64().ok_or_else(odd)?,
            subject: subject.to_owned(),
            time_ms: message["time"].as_str().and_then(milliseconds).ok_or_else(odd)?,
            headers: HeaderMap::new(),
            body: body.map_err(|_| odd())?.into(),
        }))
    }

    /// Several messages of a stream in one answer of one of its replicas, which may lag behind.
    pub(crate) async fn batch(&self, stream: &str, asked: &Value) -> Result<Vec<Stored>, Failure> {
        let broken = |reason: String| Failure::Broken(reason);
        let client = &self.inner.client;
        let inbox = client.new_inbox();
        let subscribed = client.subscribe(inbox.clone()).await;
        let mut answers = subscribed.map_err(|error| broken(error.to_string()))?;
        let subject = format!("$JS.API.DIRECT.GET.{stream}");
        let body = asked.to_string().into();
        let sent = client.publish_with_reply(subject, inbox, body).await;
        sent.map_err(|error| broken(error.to_string()))?;
        let mut losses = self.inner.losses.clone();
        losses.mark_unchanged();
        let mut found = Vec::new();
        loop {
            let next = tokio::select! {
                next = timeout(ANSWER_MAX, answers.next()) => next,
                _ = losses.changed() => return Err(broken("the connection broke".to_owned())),
            };
            let silent = || Failure::Broken("NATS does not answer".to_owned());
            let message = next.map_err(|_| silent())?.ok_or_else(silent)?;
            match message.status.map(|status| status.as_u16()) {
                // The end of the messages, or that there are none.
                Some(204 | 404) => return Ok(found),
                Some(503) => return Err(Failure::Again("no replica answers".to_owned())),
                Some(status) if status != 200 => {
                    let said = message.description.unwrap_or_default();
                    return Err(Failure::refused(format!("{said} ({status})")));
                }
                Some(_) | None => {}
            }
            let odd = || Failure::refused("a message without sequence, subject or time");
            found.push(Stored::of(message).ok_or_else(odd)?);
        }
    }

    /// The body of the last message on a subject, as one of the replicas has it.
    pub(crate) async fn body_on(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Option<Bytes>, Failure> {
        let subject = format!("$JS.API.DIRECT.GET.{stream}.{subject}");
        let out = Outgoing { subject, headers: HeaderMap::new(), body: Bytes::new() };
        let message = self.request(out, ANSWER_MAX).await?;
        match message.status.map(|status| status.as_u16()) {
            Some(404) => Ok(None),
            Some(status) if status != 200 => {
                Err(Failure::Again(message.description.unwrap_or_default()))
            }
            Some(_) | None => Ok(Some(message.payload)),
        }
    }

    /// Removes messages with this filter, with the given options.
    pub(crate) async fn purge(&self, stream: &str, asked: &Value) -> Result<(), Failure> {
        let purged: Value = self.api_repeated(&format!("STREAM.PURGE.{stream}"), asked).await?;
        drop(purged);
        Ok(())
    }
}

/// Why there is no connection, for an operator.
fn unconnected(kind: ConnectErrorKind, said: &str) -> String {
    match kind {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            "the servers of NATS refuse the user, the password or the credentials".to_owned()
        }
        _ if said.contains("certificate") => format!(
            "the certificate of a server of NATS is not trusted: name its authority with --ca-file \
             ({said})"
        ),
        _ if said.contains("InvalidContentType") => {
            "the servers of NATS do not use TLS: configure it there, or say ?tls=disable".to_owned()
        }
        _ => said.to_owned(),
    }
}

/// Does what has the same effect when it is repeated, until it has a result.
pub(crate) async fn repeated<T, F: Future<Output = Result<T, Failure>>>(
    mut work: impl FnMut() -> F,
) -> Result<T, Failure> {
    let begun = now_ms();
    loop {
        match work().await {
            Err(failure) if failure.may_be_repeated() && now_ms() < begun + REPEAT_MS => {
                tokio::time::sleep(PAUSE).await;
            }
            answered => return answered,
        }
    }
}

/// The answer in a message, or the error that it has.
fn answered<T: DeserializeOwned>(message: &Message) -> Result<T, Failure> {
    let odd = |error: serde_json::Error| Failure::Broken(format!("an answer is damaged: {error}"));
    let mut answer: Value = serde_json::from_slice(&message.payload).map_err(odd)?;
    match answer.get_mut("error").map(Value::take) {
        Some(error) => Err(Failure::of(serde_json::from_value(error).map_err(odd)?)),
        None => serde_json::from_value(answer).map_err(odd),
    }
}

fn options(location: &NatsLocation, lost: watch::Sender<u64>) -> Result<ConnectOptions, String> {
    let options = match &location.login {
        Login::Anonymous => ConnectOptions::new(),
        Login::Token(token) => ConnectOptions::with_token(token.clone()),
        Login::Password(user, password) => {
            ConnectOptions::with_user_and_password(user.clone(), password.clone())
        }
        Login::Credentials(text) => {
            ConnectOptions::with_credentials(text).map_err(|error| error.to_string())?
        }
    };
    let lost = Arc::new(lost);
    let options = options
        .name(format!("baton {}", location.prefix))
        .connection_timeout(CONNECT_MAX)
        .ping_interval(PING_EVERY)
        .max_reconnects(None)
        // The addresses that NATS servers announce for each other are not those of the URL.
        .ignore_discovered_servers()
        .reconnect_delay_callback(|attempt| {
            Duration::from_millis((attempt as u64 * 50).min(RECONNECT_MS_MAX))
        })
        .event_callback(move |event| {
            let lost = Arc::clone(&lost);
            async move {
                if let Event::Disconnected = event {
                    lost.send_modify(|count| *count += 1);
                }
            }
        });
    Ok(match &location.trust {
        Some(trust) => options.require_tls(true).tls_client_config(
            async_nats::rustls::ClientConfig::clone(&trust.client_config(PROTOCOL)),
        ),
        None => options,
    })
}

/// A random text of this many bytes in hexadecimal.
pub(crate) fn random(bytes: usize) -> Result<String, Failure> {
    let mut random = vec![0; bytes];
    let none = |_| Failure::refused("the system gives no random numbers");
    SystemRandom::new().fill(&mut random).map_err(none)?;
    Ok(random.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_errors_contain_the_remedy() {
        for (kind, said, expected) in [
            (ConnectErrorKind::AuthorizationViolation, "authorization violation", "password"),
            (ConnectErrorKind::Io, "invalid peer certificate: UnknownIssuer", "--ca-file (inv"),
            (ConnectErrorKind::Tls, "received corrupt message of type InvalidContentType", "?tls="),
        ] {
            assert!(unconnected(kind, said).contains(expected), "{said}");
        }
    }
}
