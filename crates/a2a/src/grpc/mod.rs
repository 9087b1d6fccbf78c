//! The binding gRPC: Protocol Buffers as the JSON that the other bindings have, and back.
//!
//! ```text
//!   frame ──▶ message of the schema ──▶ JSON ──▶ Service ──▶ JSON ──▶ message ──▶ frame
//! ```
//!
//! 1. The schema is written by `scripts/a2a_schema.py` from the official definition, and compared
//!    with it by `scripts/a2a`. There is no type here for any message.
//! 2. [`Service`](crate::Service) implements the operations for every binding.
//!
//! Deliberately absent: compressed messages and streams from the client, which no operation has.

mod decode;
mod encode;
mod schema;
mod wire;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;

use self::schema::{Kind, schema};
use self::wire::Writer;
use crate::error::{Error, ErrorKind};
use crate::method::Method;

/// How deep a message may be, in levels of JSON.
const DEPTH_MAX: usize = 100;
/// The characters that are escaped in a message in a header.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');
/// The length of the head of a frame: whether it is compressed, and its length.
const HEAD: usize = 5;

/// The operation of a path such as `/lf.a2a.v1.A2AService/GetTask`.
pub fn method(path: &str) -> Result<Method, Error> {
    let name = path.strip_prefix('/').and_then(|path| path.strip_prefix(&*schema().service));
    let name = name.and_then(|name| name.strip_prefix('/')).unwrap_or_default();
    Method::named(name)
}

fn messages(method: Method) -> &'static [String; 2] {
    let named = Method::ALL.into_iter().find(|(_, known)| *known == method);
    let (name, _) = named.expect("every method has a name");
    &schema().methods[name]
}

/// The parameters of a request: one frame.
pub fn params(method: Method, body: &[u8]) -> Result<Value, Error> {
    let refuse = |message: &str| Error::new(ErrorKind::InvalidRequest, message);
    let Some((head, message)) = body.split_first_chunk::<HEAD>() else {
        return Err(refuse("a request has one message: it ends before its length"));
    };
    if head[0] != 0 {
        return Err(refuse("compressed messages are not supported: send it as it is"));
    }
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    if message.len() != length as usize {
        return Err(refuse("a request has one message: its length is another"));
    }
    let message_type = Kind::named(&messages(method)[0]);
    decode::message(message_type, message)
}

/// The answer of an operation, or an update, as a frame.
pub fn answer(method: Method, answer: &Value) -> Vec<u8> {
    let mut writer = Writer::default();
    encode::message(&mut writer, Kind::named(&messages(method)[1]), answer);
    let message = writer.0;
    let length = u32::try_from(message.len()).expect("an answer has less than four gigabytes");
    let mut frame = Vec::with_capacity(HEAD + message.len());
    frame.push(0);
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(&message);
    frame
}

/// How a call ended, as its trailers have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The code, in digits.
    pub code: u8,
    /// The error in words, escaped.
    pub message: String,
    /// A `google.rpc.Status` with the same and the reason, in Base64.
    pub details: String,
}

/// The code of a status in words.
fn code_of(word: &str) -> u8 {
    match word {
        "INVALID_ARGUMENT" => 3,
        "NOT_FOUND" => 5,
        "PERMISSION_DENIED" => 7,
        "RESOURCE_EXHAUSTED" => 8,
        "FAILED_PRECONDITION" => 9,
        "ABORTED" => 10,
        "UNIMPLEMENTED" => 12,
        "UNAVAILABLE" => 14,
        // `UNKNOWN`.
        _ => 2,
    }
}

impl Status {
    /// The status of a refusal.
    pub fn of(error: &Error) -> Self {
        let http = error.http_json();
        let error_json = &http["error"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let code = match error.kind {
            // An unknown path is no missing thing.
            ErrorKind::MethodNotFound => code_of("UNIMPLEMENTED"),
            _ => code_of(&text(&error_json["status"])),
        };
        let detail = &error_json["details"][0];
        let mut info = Writer::default();
        info.text(1, &text(&detail["reason"]));
        info.text(2, &text(&detail["domain"]));
        if let Some(code) = detail["metadata"]["code"].as_str() {
            let mut entry = Writer::default();
            entry.text(1, "code");
            entry.text(2, code);
            info.bytes(3, &entry.0);
        }
        let mut any = Writer::default();
        any.text(1, &text(&detail["@type"]));
        any.bytes(2, &info.0);
        let mut status = Writer::default();
        status.integer(1, u64::from(code));
        status.text(2, &error.message);
        status.bytes(3, &any.0);
        let message = utf8_percent_encode(&error.message, ESCAPED).to_string();
        Self { code, message, details: STANDARD_NO_PAD.encode(status.0) }
    }
}

#[cfg(test)]
mod tests;
