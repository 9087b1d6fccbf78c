//! Chat completions over HTTP/1.1, with or without TLS.

use baton_tls::Stream;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::{Endpoint, ModelError};

/// How much of a response is read.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// How much of an error response is reported.
const DETAIL_CHARACTERS_MAX: usize = 300;

/// The completion of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The text.
    pub text: String,
    /// The model, as the endpoint names it.
    pub model: String,
    /// The usage, as the endpoint counts it.
    pub usage: Value,
}

/// A response of the endpoint, as far as it is used.
#[derive(Deserialize)]
struct Answer {
    choices: Vec<Choice>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    usage: Value,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
}

pub(super) async fn ask(
    endpoint: &Endpoint,
    instructions: &str,
    context: &str,
) -> Result<Completion, ModelError> {
    match tokio::time::timeout(endpoint.timeout, post(endpoint, instructions, context)).await {
        Ok(done) => done,
        Err(_) => {
            let reason = format!("no response within {:?}", endpoint.timeout);
            Err(ModelError::Unreachable { reason })
        }
    }
}

fn unreachable(error: impl std::fmt::Display) -> ModelError {
    ModelError::Unreachable { reason: error.to_string() }
}

async fn post(
    endpoint: &Endpoint,
    instructions: &str,
    context: &str,
) -> Result<Completion, ModelError> {
    let Endpoint { host, port, base, .. } = endpoint;
    let body = json!({
        "model": endpoint.model,
        "messages": [
            {"role": "system", "content": instructions},
            {"role": "user", "content": context},
        ],
    });
    let mut request = Request::post(format!("{base}/chat/completions"))
        .header(header::HOST, endpoint.authority())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONNECTION, "close");
    if let Some(key) = &endpoint.key {
        request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
    }
    let request = request.body(Full::new(Bytes::from(body.to_string()))).map_err(unreachable)?;
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let socket = TcpStream::connect((name, *port)).await.map_err(unreachable)?;
    let stream = match &endpoint.trust {
        None => Stream::from(socket),
        Some(trust) => trust.as_ref().map_err(Clone::clone)?.connect(name, socket).await?,
    };
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(unreachable)?;
    let exchange = async {
        let answer = sender.send_request(request).await.map_err(unreachable)?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
        Ok::<_, ModelError>((status, body.map_err(unreachable)?.to_bytes()))
    };
    let driven = async {
        // The reader of the response sees how it ends.
        let _ = connection.await;
        std::future::pending().await
    };
    let (status, body) = tokio::select! {
        biased;
        done = exchange => done?,
        done = driven => done,
    };
    if !status.is_success() {
        let detail = String::from_utf8_lossy(&body).chars().take(DETAIL_CHARACTERS_MAX).collect();
        return Err(ModelError::Refused { status: status.as_u16(), detail });
    }
    let odd = |reason: String| ModelError::Odd { reason };
    let answer: Answer = serde_json::from_slice(&body).map_err(|error| odd(error.to_string()))?;
    let given = answer.choices.into_iter().next().and_then(|choice| choice.message.content);
    let given = given.filter(|text| !text.trim().is_empty());
    let text = given.ok_or_else(|| odd("there is no text in it".to_owned()))?;
    let model = answer.model.unwrap_or_else(|| endpoint.model.clone());
    Ok(Completion { text, model, usage: answer.usage })
}
