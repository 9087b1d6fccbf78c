//! The calls that are not operations of a primitive: transactions, and those about a connection.

use serde_json::{Value, json};

use crate::vocabulary::Vocabulary;
use crate::{examples, reference, transaction};

/// A call outside the table of operations.
pub(crate) struct SpecialCall {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// The description besides the fields, as Markdown.
    pub(crate) details: &'static str,
    /// Method and path, if it can be sent over HTTP.
    pub(crate) http: Option<(&'static str, &'static str)>,
    /// The fields.
    pub(crate) fields: Value,
    /// The fields of the result.
    pub(crate) reply: Value,
    /// A request on a WebSocket.
    pub(crate) example: Value,
}

/// All of them, in the order of the documentation.
pub(crate) fn all(vocabulary: &Vocabulary) -> [SpecialCall; 4] {
    let nothing = json!({"type": "object", "maxProperties": 0});
    [
        SpecialCall {
            name: "transaction",
            summary: "Execute several commands atomically",
            details: "All preconditions are checked first, then all commands are executed in one \
                commit with one revision, or none is. The answer has `results`, one per command, \
                instead of `result`. A rejection names the precondition or command by its index.",
            http: Some(("POST", "/v1/{workspace}/transactions")),
            fields: transaction(),
            reply: reference("TransactionAnswer"),
            example: in_frame("transaction", examples::transaction()),
        },
        SpecialCall {
            name: "watch",
            summary: "Receive events as they are committed",
            details: "On a WebSocket the answer is `{\"watch\": id, \"from\": revision}`, and \
                events follow as `{\"watch\": id, \"event\": {…}}`, in order and without gaps or \
                duplicates; `\"last\": true` marks the last event of a commit. With `snapshot`, \
                `{\"watch\": id, \"snapshot\": {\"revision\": …, \"entries\": […]}}` comes first. \
                A watch that the server ends sends `{\"watch\": id, \"error\": {…}}` with \
                `resume_from`. Over HTTP the events are Server-Sent Events, `pattern` is `**` by \
                default, and `Last-Event-ID` resumes after that revision.",
            http: Some(("GET", "/v1/{workspace}/watch")),
            fields: vocabulary.watch.clone(),
            reply: json!({
                "type": "object",
                "properties": {
                    "watch": {"type": "integer", "description": "The id of the watch: the `id` \
                        of its request."},
                    "from": {"allOf": [reference("Revision")],
                        "description": "The first revision that is delivered."},
                },
                "required": ["watch", "from"],
            }),
            example: in_frame("watch", json!({"pattern": "tasks/**", "types": ["task.*"]})),
        },
        SpecialCall {
            name: "unwatch",
            summary: "End a watch",
            details: "Only on a WebSocket. Over HTTP, close the connection.",
            http: None,
            fields: json!({
                "type": "object",
                "properties": {
                    "watch": {"type": "integer", "description": "The id of the watch."},
                },
                "required": ["watch"],
                "additionalProperties": false,
            }),
            reply: nothing.clone(),
            example: json!({"id": 2, "command": "unwatch", "watch": 1}),
        },
        SpecialCall {
            name: "ping",
            summary: "Check the connection",
            details: "Only on a WebSocket. It does not renew the session of an agent.",
            http: None,
            fields: json!({"type": "object", "properties": {}, "additionalProperties": false}),
            reply: nothing,
            example: json!({"id": 3, "command": "ping"}),
        },
    ]
}

fn in_frame(name: &str, mut call: Value) -> Value {
    call["id"] = 1.into();
    call["workspace"] = "research".into();
    call["command"] = name.into();
    call
}
