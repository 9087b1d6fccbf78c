//! The parts of a request: version, extensions, method and parameters.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind};
use crate::message::{Message, or_default};
use crate::method::Method;

/// The version of the protocol.
pub const VERSION: &str = "1.0";
/// The path of a card, below the address of its agent.
pub const CARD_PATH: &str = ".well-known/agent-card.json";
/// How many extensions a request may name.
const EXTENSIONS_MAX: usize = 32;

/// Checks the versions that a request names, by header or in its query. A request without one is
/// of version 0.3.
pub fn check_version(given: &[String]) -> Result<(), Error> {
    let mut versions: Vec<&str> = given.iter().map(|version| version.trim()).collect();
    versions.sort_unstable();
    versions.dedup();
    let version = match *versions {
        [] | [""] => "0.3",
        [version] => version,
        _ => {
            let message = "the request names more than one `A2A-Version`: send one";
            return Err(Error::new(ErrorKind::InvalidRequest, message));
        }
    };
    // A patch release changes nothing on the wire.
    if version == VERSION || version.strip_prefix("1.0.").is_some_and(is_number) {
        return Ok(());
    }
    let shown: String = version.chars().take(20).collect();
    let message = format!("version {shown} is not supported: send `A2A-Version: {VERSION}`");
    Err(Error::new(ErrorKind::VersionNotSupported, message))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The extensions that a header names, separated by commas.
pub fn extensions_of(headers: &[String]) -> Vec<String> {
    let named = headers.iter().flat_map(|header| header.split(','));
    let named = named.map(str::trim).filter(|uri| !uri.is_empty());
    named.take(EXTENSIONS_MAX).map(str::to_owned).collect()
}

/// A call of JSON-RPC.
#[derive(Debug, PartialEq)]
pub struct JsonRpc {
    /// Its id, which the answer has.
    pub id: Value,
    /// The method.
    pub method: Result<Method, Error>,
    /// The parameters.
    pub params: Value,
}

impl JsonRpc {
    /// Reads a call. The error has the id, as far as there is one.
    pub fn parse(body: &[u8]) -> Result<Self, (Value, Error)> {
        let parsed: Result<Value, _> = serde_json::from_slice(body);
        let parsed = parsed.map_err(|error| {
            (Value::Null, Error::new(ErrorKind::Parse, format!("the body is not JSON: {error}")))
        })?;
        let Value::Object(mut call) = parsed else {
            let message = "a call is one object: lists of calls are not supported";
            return Err((Value::Null, Error::new(ErrorKind::InvalidRequest, message)));
        };
        let id = call.remove("id").unwrap_or_default();
        let refuse = |message: &str| Error::new(ErrorKind::InvalidRequest, message);
        if !(id.is_string() || id.is_number()) {
            let error = refuse("`id` must be a text or a number: every call is answered");
            return Err((Value::Null, error));
        }
        if call.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err((id, refuse("`jsonrpc` must be \"2.0\"")));
        }
        let Some(Value::String(name)) = call.get("method") else {
            return Err((id, refuse("`method` must be a text")));
        };
        let method = Method::named(name);
        let params = match call.remove("params") {
            None | Some(Value::Null) => Value::Object(Map::new()),
            Some(params @ Value::Object(_)) => params,
            Some(_) => return Err((id, refuse("`params` must be an object"))),
        };
        Ok(Self { id, method, params })
    }
}

/// Reads the parameters of a method.
pub(crate) fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params)
        .map_err(|error| Error::new(ErrorKind::InvalidParams, error.to_string()))
}

/// `SendMessage` and `SendStreamingMessage`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SendMessage {
    pub(crate) message: Message,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) configuration: Configuration,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) metadata: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Configuration {
    pub(crate) task_push_notification_config: Option<PushConfig>,
    pub(crate) history_length: Option<i64>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) return_immediately: bool,
}

/// `GetTask`, `CancelTask` and `SubscribeToTask`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OneTask {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) history_length: Option<i64>,
}

/// `ListTasks`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListTasks {
    #[serde(deserialize_with = "or_default")]
    pub(crate) context_id: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) status: String,
    pub(crate) page_size: Option<i64>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) page_token: String,
    pub(crate) history_length: Option<i64>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) status_timestamp_after: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) include_artifacts: bool,
}

/// A configuration for push notifications.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PushConfig {
    #[serde(deserialize_with = "or_default")]
    pub(crate) id: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) task_id: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) url: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) token: String,
    pub(crate) authentication: Option<Authentication>,
}

/// The credentials that the receiver of push notifications requires in `Authorization`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Authentication {
    #[serde(deserialize_with = "or_default")]
    pub(crate) scheme: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) credentials: String,
}

/// The maximum number of history messages in an answer, for a requested length.
pub(crate) fn history_length(given: Option<i64>) -> Result<usize, Error> {
    match given {
        None => Ok(usize::MAX),
        Some(length) => usize::try_from(length)
            .map_err(|_| Error::invalid("historyLength", &"it must not be negative")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_version_is_supported() {
        let check = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|&text| text.to_owned()).collect();
            check_version(&given).map_err(|error| error.kind)
        };
        for good in [&["1.0"][..], &["1.0", "1.0"], &["1.0.1"], &[" 1.0 "]] {
            assert_eq!(check(good), Ok(()), "{good:?}");
        }
        for other in [&[][..], &[""], &["0.3"], &["1.1"], &["2.0"], &["1.0."], &["1.0.x"], &["x"]] {
            assert_eq!(check(other), Err(ErrorKind::VersionNotSupported), "{other:?}");
        }
        assert_eq!(check(&["1.0", "0.3"]), Err(ErrorKind::InvalidRequest));
    }

    #[test]
    fn invalid_calls_are_refused_with_their_id() {
        let kind = |value: Value| match JsonRpc::parse(value.to_string().as_bytes()) {
            Ok(call) => (call.id, call.method.err().map(|error| error.kind)),
            Err((id, error)) => (id, Some(error.kind)),
        };
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "t"}});
        assert_eq!(kind(call.clone()), (json!(1), None));
        let with = |name: &str, value: Value| {
            let mut changed = call.clone();
            changed[name] = value;
            kind(changed)
        };
        let invalid = Some(ErrorKind::InvalidRequest);
        assert_eq!(with("jsonrpc", json!("1.0")), (json!(1), invalid));
        assert_eq!(with("id", json!(null)), (Value::Null, invalid));
        assert_eq!(with("id", json!({})), (Value::Null, invalid));
        assert_eq!(with("method", json!(7)), (json!(1), invalid));
        assert_eq!(with("params", json!([1])), (json!(1), invalid));
        let unknown = Some(ErrorKind::MethodNotFound);
        assert_eq!(with("method", json!("message/send")), (json!(1), unknown));
        assert_eq!(kind(json!([call.clone()])), (Value::Null, invalid));
        let parsed = JsonRpc::parse(b"{").map_err(|(_, error)| error.kind);
        assert_eq!(parsed.err(), Some(ErrorKind::Parse));
        let deep = "[".repeat(100_000);
        let parsed = JsonRpc::parse(deep.as_bytes()).map_err(|(_, error)| error.kind);
        assert_eq!(parsed.err(), Some(ErrorKind::Parse));
    }
}
