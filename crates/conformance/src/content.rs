//! Resources and prompts of the suite.

use rmcp::model::{
    ContentBlock, GetPromptResult, Prompt, PromptArgument, PromptMessage, Resource,
    ResourceContents, ResourceTemplate, Role,
};
use serde_json::{Map, Value, json};

/// One red pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8\
                              BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/// A file without a sample.
pub(crate) const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const TEXT: &str = "test://static-text";
/// The resource that the suite subscribes to. It never changes.
const WATCHED: &str = "test://watched-resource";
const BINARY: &str = "test://static-binary";

pub(crate) fn resources() -> Vec<Resource> {
    vec![
        Resource::new(TEXT, "Text").with_mime_type("text/plain"),
        Resource::new(BINARY, "Picture").with_mime_type("image/png"),
    ]
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new("test://template/{id}/data", "Record");
    vec![template.with_mime_type("application/json")]
}

pub(crate) fn resource(uri: &str) -> Option<ResourceContents> {
    let contents = match uri {
        TEXT => ResourceContents::text("This is the content of the static text resource.", uri)
            .with_mime_type("text/plain"),
        WATCHED => ResourceContents::text("This resource can be watched.", uri),
        BINARY => ResourceContents::blob(PNG, uri).with_mime_type("image/png"),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let record =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            ResourceContents::text(record.to_string(), uri).with_mime_type("application/json")
        }
    };
    Some(contents)
}

pub(crate) fn prompts() -> Vec<Prompt> {
    let required = |names: &[&str]| {
        names.iter().map(|name| PromptArgument::new(*name).with_required(true)).collect()
    };
    let prompt = |name: &str, arguments: &[&str]| {
        Prompt::new(name, Some("A prompt of the conformance suite"), Some(required(arguments)))
    };
    vec![
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ]
}

pub(crate) fn prompt(name: &str, arguments: &Map<String, Value>) -> Option<GetPromptResult> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let text = |text: &str| PromptMessage::new_text(Role::User, text.to_owned());
    let messages = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            vec![text(&format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let contents = ResourceContents::text(
                "Embedded resource content for testing.",
                argument("resourceUri"),
            );
            let block = ContentBlock::resource(contents.with_mime_type("text/plain"));
            let message = PromptMessage::new(Role::User, block);
            vec![message, text("Please process the embedded resource above.")]
        }
        "test_prompt_with_image" => {
            let message = PromptMessage::new(Role::User, ContentBlock::image(PNG, "image/png"));
            vec![message, text("Please analyze the image above.")]
        }
        _ => return None,
    };
    Some(GetPromptResult::new(messages))
}
