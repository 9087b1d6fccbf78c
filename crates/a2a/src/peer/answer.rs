//! The answers of an agent.

use serde_json::Value;

use super::interface::{Binding, shown};

/// Why an agent cannot be used, and whether a repetition may help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerError {
    /// The error, in words.
    pub detail: String,
    /// Whether a repetition may help.
    pub again: bool,
    /// Whether the agent reports that there is no such task.
    pub is_missing: bool,
    /// Whether the agent has read the request, and refused it.
    pub is_refusal: bool,
}

impl PeerError {
    /// A repetition would fail in the same way.
    pub fn fatal(detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), again: false, is_missing: false, is_refusal: false }
    }

    /// A repetition may help.
    pub fn passing(detail: impl Into<String>) -> Self {
        Self { again: true, ..Self::fatal(detail) }
    }
}

/// The result in a response, or the error that it has.
pub fn answer(binding: Binding, status: u16, body: &[u8]) -> Result<Value, PeerError> {
    let is_busy = matches!(status, 408 | 425 | 429 | 500..=599);
    if (300..400).contains(&status) {
        let detail = format!("status {status}: redirects are not followed");
        return Err(PeerError::fatal(detail));
    }
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let Some(parsed) = parsed.filter(Value::is_object) else {
        let detail = match status {
            200 => "the response is not a JSON object".to_owned(),
            _ => format!("status {status}"),
        };
        return Err(PeerError { again: is_busy, ..PeerError::fatal(detail) });
    };
    match (binding, parsed.get("error").filter(|error| error.is_object())) {
        (_, Some(error)) => Err(refused(status, error)),
        (_, None) if status != 200 => {
            Err(PeerError { again: is_busy, ..PeerError::fatal(format!("status {status}")) })
        }
        (Binding::HttpJson, None) => Ok(parsed),
        (Binding::JsonRpc, None) => match parsed {
            Value::Object(mut parsed) if parsed.contains_key("result") => {
                Ok(parsed.remove("result").unwrap_or_default())
            }
            _ => Err(PeerError::fatal("the response has neither `result` nor `error`")),
        },
    }
}

/// An event of a stream.
pub fn update(binding: Binding, data: &str) -> Result<Value, PeerError> {
    answer(binding, 200, data.as_bytes())
}

fn refused(status: u16, error: &Value) -> PeerError {
    let code = error["code"].as_i64().unwrap_or_default();
    let message = shown(error["message"].as_str().unwrap_or("it gives no reason"));
    // Internal errors, and those that a server defines for itself, such as an exhausted quota.
    let is_passing = code == -32_603 || (-32_099..=-32_010).contains(&code) || code == -32_000;
    let is_busy = matches!(status, 408 | 425 | 429 | 500..=599);
    let is_missing = code == -32_001 || (code == 404 && status == 404);
    let again = is_passing || is_busy;
    PeerError { detail: message, again, is_missing, is_refusal: !again }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_invalid_answer_is_an_error_with_a_reason() {
        for (status, body, again) in [
            (200, "", false),
            (200, "<html>", false),
            (200, "[]", false),
            (200, "{}", false),
            (200, "{\"error\":7}", false),
            (302, "{}", false),
            (401, "", false),
            (404, "{}", false),
            (429, "", true),
            (503, "busy", true),
        ] {
            let error = answer(Binding::JsonRpc, status, body.as_bytes()).unwrap_err();
            assert_eq!(error.again, again, "{status} {body}");
            assert!(!error.detail.is_empty());
        }
        let deep = "[".repeat(100_000);
        assert!(answer(Binding::HttpJson, 200, deep.as_bytes()).is_err());
    }

    #[test]
    fn errors_of_the_protocol_say_whether_to_repeat() {
        let error = |code: i64| {
            let body = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "m"}});
            answer(Binding::JsonRpc, 200, body.to_string().as_bytes()).unwrap_err()
        };
        assert!(error(-32_603).again && error(-32_000).again && !error(-32_602).again);
        assert!(error(-32_001).is_missing && !error(-32_002).is_missing);
        let body = json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "m"}});
        let rest = answer(Binding::HttpJson, 404, body.to_string().as_bytes()).unwrap_err();
        assert!(rest.is_missing && !rest.again);
        assert!(rest.is_refusal && error(-32_602).is_refusal && !error(-32_000).is_refusal);
        let unknown = answer(Binding::JsonRpc, 404, b"{}").unwrap_err();
        assert!(!unknown.is_refusal, "something else may be at the address");
        let good = answer(Binding::JsonRpc, 200, br#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#);
        assert_eq!(good, Ok(json!({"a": 1})));
        assert_eq!(answer(Binding::HttpJson, 200, br#"{"a":1}"#), Ok(json!({"a": 1})));
    }
}
