//! Errors of the protocol, as each binding writes them.

use baton_core::Kind;
use baton_core::wire::{Problem, hint_in_terms_of};
use serde_json::{Map, Value, json};

/// The domain of errors that the protocol defines.
const PROTOCOL: &str = "a2a-protocol.org";
/// The domain of errors that Baton defines; see `docs/errors.md`.
const BATON: &str = "baton";

/// The kind of error, in the terms of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The body is not JSON.
    Parse,
    /// The request is not one of the protocol.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// A parameter is missing or invalid.
    InvalidParams,
    /// There is no such task.
    TaskNotFound,
    /// The task has ended.
    TaskNotCancelable,
    /// The server makes no calls.
    PushNotificationNotSupported,
    /// The task is not in a state for this operation.
    UnsupportedOperation,
    /// The body or a part of the message has a media type that is not accepted.
    ContentTypeNotSupported,
    /// The version of the protocol is another one.
    VersionNotSupported,
    /// Baton refused it.
    Refused(Kind),
}

impl ErrorKind {
    /// Code of JSON-RPC, HTTP status, status as a word, and reason.
    fn row(self) -> (i64, u16, &'static str, &'static str) {
        const INVALID: &str = "INVALID_ARGUMENT";
        const PRECONDITION: &str = "FAILED_PRECONDITION";
        match self {
            Self::Parse => (-32_700, 400, INVALID, "INVALID_JSON"),
            Self::InvalidRequest => (-32_600, 400, INVALID, "INVALID_REQUEST"),
            Self::MethodNotFound => (-32_601, 404, "NOT_FOUND", "METHOD_NOT_FOUND"),
            Self::InvalidParams => (-32_602, 400, INVALID, "INVALID_PARAMS"),
            Self::TaskNotFound => (-32_001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
            Self::TaskNotCancelable => (-32_002, 400, PRECONDITION, "TASK_NOT_CANCELABLE"),
            Self::PushNotificationNotSupported => {
                (-32_003, 400, PRECONDITION, "PUSH_NOTIFICATION_NOT_SUPPORTED")
            }
            Self::UnsupportedOperation => (-32_004, 400, PRECONDITION, "UNSUPPORTED_OPERATION"),
            Self::ContentTypeNotSupported => (-32_005, 400, INVALID, "CONTENT_TYPE_NOT_SUPPORTED"),
            Self::VersionNotSupported => (-32_009, 400, PRECONDITION, "VERSION_NOT_SUPPORTED"),
            Self::Refused(Kind::Invalid) => (-32_602, 400, INVALID, ""),
            Self::Refused(Kind::TooLarge) => (-32_602, 413, INVALID, ""),
            Self::Refused(Kind::NotFound) => (-32_602, 404, "NOT_FOUND", ""),
            Self::Refused(Kind::Conflict) => (-32_000, 409, "ABORTED", ""),
            Self::Refused(Kind::Stale) => (-32_000, 412, PRECONDITION, ""),
            Self::Refused(Kind::Denied) => (-32_000, 403, "PERMISSION_DENIED", ""),
            Self::Refused(Kind::Exhausted) => (-32_000, 429, "RESOURCE_EXHAUSTED", ""),
            Self::Refused(Kind::Unavailable) => (-32_000, 503, "UNAVAILABLE", ""),
        }
    }
}

/// An error of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The error and the next step, in words.
    pub message: String,
    /// The code of the refusal, if Baton refused it; see `docs/errors.md`.
    pub code: Option<String>,
}

impl Error {
    /// An error that the protocol defines.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), code: None }
    }

    /// A parameter is invalid.
    pub fn invalid(field: &str, reason: &dyn std::fmt::Display) -> Self {
        Self::new(ErrorKind::InvalidParams, format!("`{field}`: {reason}"))
    }

    /// There is no such task.
    pub fn no_task(id: &str) -> Self {
        let shown: String = id.chars().take(128).collect();
        Self::new(ErrorKind::TaskNotFound, format!("there is no task `{shown}` in this workspace"))
    }

    /// The HTTP status, for the binding HTTP+JSON.
    pub fn http_status(&self) -> u16 {
        self.kind.row().1
    }

    fn details(&self) -> Value {
        let (_, _, _, reason) = self.kind.row();
        let mut info = Map::new();
        info.insert("@type".to_owned(), "type.googleapis.com/google.rpc.ErrorInfo".into());
        let (reason, domain) = match &self.code {
            Some(code) if reason.is_empty() => (code.replace('.', "_").to_uppercase(), BATON),
            Some(_) | None => (reason.to_owned(), PROTOCOL),
        };
        info.insert("reason".to_owned(), reason.into());
        info.insert("domain".to_owned(), domain.into());
        if let Some(code) = &self.code {
            info.insert("metadata".to_owned(), json!({"code": code}));
        }
        json!([info])
    }

    /// The error as the answer to a call of JSON-RPC.
    pub fn json_rpc(&self, id: &Value) -> Value {
        let (code, ..) = self.kind.row();
        let error = json!({"code": code, "message": self.message, "data": self.details()});
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }

    /// The error as the body of a response in the binding HTTP+JSON.
    pub fn http_json(&self) -> Value {
        let (_, code, status, _) = self.kind.row();
        let details = self.details();
        let message = &self.message;
        json!({"error": {"code": code, "status": status, "message": message, "details": details}})
    }
}

/// A hint for a client of this protocol; none if it names what the protocol does not have.
fn advice(hint: &str) -> Option<String> {
    let method = |operation: &str, _| match operation {
        "task.list" => Some("ListTasks".to_owned()),
        "task.get" => Some("GetTask".to_owned()),
        _ => None,
    };
    hint_in_terms_of(hint, method).filter(|advice| !advice.contains("/openapi.json"))
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        let kind = match problem.code.as_str() {
            "task.not_found" => ErrorKind::TaskNotFound,
            "task.finished" => ErrorKind::UnsupportedOperation,
            _ => ErrorKind::Refused(problem.kind),
        };
        let message = match advice(&problem.hint) {
            Some(advice) => format!("{}; {advice}", problem.detail),
            None => problem.detail,
        };
        Self { kind, message, code: Some(problem.code) }
    }
}

impl From<baton_client::Error> for Error {
    fn from(error: baton_client::Error) -> Self {
        Problem::from(&error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_reason_in_both_bindings() {
        let error = Error::no_task("t-1");
        assert_eq!(error.http_status(), 404);
        let rpc = error.json_rpc(&json!(7));
        assert_eq!((&rpc["id"], &rpc["error"]["code"]), (&json!(7), &json!(-32_001)));
        assert_eq!(rpc["error"]["data"][0]["reason"], "TASK_NOT_FOUND");
        let body = error.http_json();
        assert_eq!(body["error"]["status"], "NOT_FOUND");
        assert_eq!(body["error"]["details"][0]["domain"], PROTOCOL);
    }

    #[test]
    fn advice_names_nothing_that_the_protocol_lacks() {
        let message = |hint: &str| {
            let problem = Problem::new("task.not_found", Kind::NotFound, &"no", hint, &json!({}));
            Error::from(problem).http_json()["error"]["message"].clone()
        };
        assert_eq!(message("list them with task.list"), "no; list them with ListTasks");
        assert_eq!(message("create it with namespace.create"), "no");
        assert_eq!(message("see /openapi.json for its type"), "no");
        assert_eq!(message("retry"), "no; retry");
    }

    #[test]
    fn a_refusal_keeps_its_code() {
        let problem = Problem::new("access.role", Kind::Denied, &"no", "ask", &json!({}));
        let error = Error::from(problem);
        assert_eq!(error.http_status(), 403);
        let info = &error.http_json()["error"]["details"][0];
        assert_eq!((&info["reason"], &info["domain"]), (&json!("ACCESS_ROLE"), &json!(BATON)));
    }
}
