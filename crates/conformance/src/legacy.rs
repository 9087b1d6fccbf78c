//! The features of revision 2025-11-25 that the newest revision lacks: log messages without a
//! request, and requests to the client while a call waits.
#![expect(deprecated, reason = "the suite tests what the newest revision has deprecated")]

use rmcp::model::{
    CallToolResult, ContentBlock, CreateMessageRequestParams, ElicitRequestParams, LoggingLevel,
    LoggingMessageNotificationParam, SamplingMessage,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServiceError};
use serde_json::{Value, json};

use crate::input::result;
use crate::tools::PAUSE;

/// Logs, unless a client of the newest revision has not asked for it.
pub(crate) async fn log(
    context: &RequestContext<RoleServer>,
    least: LoggingLevel,
) -> CallToolResult {
    let is_newest = context.meta.protocol_version().is_some();
    let least = if is_newest { context.meta.log_level() } else { Some(least) };
    let is_logged = least.is_some_and(|least| (least as u8) <= LoggingLevel::Info as u8);
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        if is_logged {
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(text));
            drop(context.peer.notify_logging_message(message).await);
        }
        tokio::time::sleep(PAUSE).await;
    }
    result("It was logged".to_owned())
}

fn failed(error: &ServiceError) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.to_string())])
}

/// Has the client's model write something.
pub(crate) async fn sample(context: &RequestContext<RoleServer>, prompt: &str) -> CallToolResult {
    let messages = vec![SamplingMessage::user_text(prompt)];
    match context.peer.create_message(CreateMessageRequestParams::new(messages, 100)).await {
        Ok(sampled) => {
            let content = sampled.message.content.first().and_then(|content| content.as_text());
            let text = content.map(|text| text.text.clone()).unwrap_or_default();
            result(format!("LLM response: {text}"))
        }
        Err(error) => failed(&error),
    }
}

/// Has the client ask a person.
pub(crate) async fn elicit(
    context: &RequestContext<RoleServer>,
    message: &str,
    schema: Value,
) -> CallToolResult {
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema: serde_json::from_value(schema).expect("it is a form"),
    };
    match context.peer.create_elicitation(params).await {
        Ok(elicited) => {
            let action = serde_json::to_value(&elicited.action).unwrap_or_default();
            let action = action.as_str().unwrap_or_default();
            let content = Value::from_iter(elicited.content);
            result(format!("User response: action={action}, content={content}"))
        }
        Err(error) => failed(&error),
    }
}

/// The form of a tool that asks a person; none if it asks no person.
pub(crate) fn form(tool: &str) -> Option<Value> {
    let properties = match tool {
        "test_elicitation" => json!({
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        }),
        "test_elicitation_sep1034_defaults" => json!({
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"],
                       "default": "active"},
            "verified": {"type": "boolean", "default": true},
        }),
        "test_elicitation_sep1330_enums" => {
            let options = json!(["option1", "option2", "option3"]);
            let titled = |what: &str| -> Value {
                let ranks = [("value1", "First"), ("value2", "Second"), ("value3", "Third")];
                let titled = ranks.map(
                    |(value, rank)| json!({"const": value, "title": format!("{rank} {what}")}),
                );
                titled.into_iter().collect()
            };
            json!({
                "untitledSingle": {"type": "string", "enum": options},
                "titledSingle": {"type": "string", "oneOf": titled("Option")},
                "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                               "enumNames": ["Option One", "Option Two", "Option Three"]},
                "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
                "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
            })
        }
        _ => return None,
    };
    let required =
        if tool == "test_elicitation" { json!(["username", "email"]) } else { json!([]) };
    Some(json!({"type": "object", "properties": properties, "required": required}))
}
