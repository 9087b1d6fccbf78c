//! The tools of the suite.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolResult, ClientCapabilities, ContentBlock, ProgressNotificationParam, ResourceContents,
    Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};

use crate::content::{PNG, WAV};
use crate::input::result;

/// The pause that the suite requires between two notifications.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

const WITHOUT_ARGUMENTS: &[&str] = &[
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_error_handling",
    "test_tool_with_progress",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_reconnection",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_capabilities",
];

/// A schema with the keywords that a server must not lose.
fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

pub(crate) fn tools() -> Vec<Tool> {
    let tool = |name: &'static str, schema: Value| {
        let Value::Object(schema) = schema else { unreachable!("a schema is an object") };
        Tool::new(name, "A tool of the conformance suite", Arc::new(schema))
    };
    let text = |member: &str| {
        let properties = json!({member: {"type": "string"}});
        json!({"type": "object", "properties": properties, "required": [member]})
    };
    let region = json!({"type": "string", "x-mcp-header": "Region"});
    let header = json!({"type": "object", "properties": {"region": region}});
    let mut tools: Vec<Tool> = WITHOUT_ARGUMENTS
        .iter()
        .map(|name| tool(name, json!({"type": "object", "properties": {}})))
        .collect();
    tools.push(tool("test_sampling", text("prompt")));
    tools.push(tool("test_elicitation", text("message")));
    tools.push(tool("test_custom_header", header));
    tools.push(tool("json_schema_2020_12_tool", rich_schema()));
    tools
}

fn embedded(uri: &str, media_type: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(media_type))
}

/// Calls a tool that always answers the same; none if there is no such tool.
pub(crate) fn fixed(name: &str) -> Option<CallToolResult> {
    let image = || ContentBlock::image(PNG, "image/png");
    let content = match name {
        "test_simple_text" => {
            return Some(result("This is a simple text response for testing.".to_owned()));
        }
        "test_image_content" => vec![image()],
        "test_audio_content" => vec![ContentBlock::audio(WAV, "audio/wav")],
        "test_embedded_resource" => {
            let text = "This is an embedded resource content.";
            vec![embedded("test://embedded-resource", "text/plain", text)]
        }
        "test_multiple_content_types" => {
            let text = r#"{"test":"data","value":123}"#;
            let resource = embedded("test://mixed-content-resource", "application/json", text);
            vec![ContentBlock::text("Multiple content types test:"), image(), resource]
        }
        "test_error_handling" => {
            let text = "This tool intentionally returns an error for testing";
            return Some(CallToolResult::error(vec![ContentBlock::text(text)]));
        }
        "test_custom_header" | "json_schema_2020_12_tool" | "test_reconnection" => {
            return Some(result("done".to_owned()));
        }
        _ => return None,
    };
    Some(CallToolResult::success(content))
}

/// Notifies of progress, if the client requests it.
pub(crate) async fn progress(context: &RequestContext<RoleServer>) -> CallToolResult {
    let token = context.meta.get_progress_token();
    for done in [0.0, 50.0, 100.0] {
        if let Some(token) = &token {
            let progress = ProgressNotificationParam::new(token.clone(), done).with_total(100.0);
            drop(context.peer.notify_progress(progress).await);
        }
        tokio::time::sleep(PAUSE).await;
    }
    result("Progress was reported".to_owned())
}

/// A tool that needs a capability which the client has not declared.
pub(crate) fn needs_sampling(
    capabilities: &ClientCapabilities,
) -> Result<CallToolResult, ErrorData> {
    if capabilities.sampling.is_some() {
        return Ok(result("done".to_owned()));
    }
    let sampling = json!({"sampling": {}});
    let required = serde_json::from_value(sampling).expect("they are capabilities");
    Err(ErrorData::missing_required_client_capability(required))
}

/// The string of an argument.
pub(crate) fn argument<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}
