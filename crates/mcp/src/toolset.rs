//! The tools that are offered: eleven for agents, or more that are derived from the operations.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use rmcp::model::{Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::operation::Object;

/// The eleven tools.
const CORE: &str = include_str!("tools.json");
/// The tools that the build script derived from the operations.
const DERIVED: &str = include_str!(concat!(env!("OUT_DIR"), "/operations.json"));
/// The core tools that have a concise and a detailed answer.
const WITH_DETAIL: [&str; 4] = ["baton_brief", "baton_get", "baton_claim", "baton_handoff"];

/// Which tools are offered. More tools cost tokens, and make the right one harder to find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Toolset {
    /// The eleven tools for agents.
    #[default]
    Core,
    /// Besides, every operation that reads or works.
    Full,
    /// Besides the eleven, every operation that reads, sets up or administers.
    Ops,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Definition {
    name: String,
    title: Option<String>,
    description: String,
    input_schema: Object,
    annotations: ToolAnnotations,
    /// Of a derived tool.
    #[serde(default)]
    operation: String,
    #[serde(default)]
    permission: String,
}

fn read(text: &str) -> Vec<Definition> {
    serde_json::from_str(text).expect("a test reads the definitions")
}

impl Definition {
    fn tool(self) -> Tool {
        let mut schema = self.input_schema;
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            if WITH_DETAIL.contains(&self.name.as_str()) {
                properties.insert("detail".to_owned(), json!({"enum": ["concise", "detailed"]}));
            }
            properties.entry("agent").or_insert_with(|| json!({"type": "string"}));
        }
        let tool = Tool::new(self.name, self.description, Arc::new(schema));
        let tool = tool.with_annotations(self.annotations);
        match self.title {
            Some(title) => tool.with_title(title),
            None => tool,
        }
    }
}

impl Toolset {
    /// Every toolset, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Core, Self::Full, Self::Ops];

    /// The definitions, always in the same order.
    pub(crate) fn tools(self) -> &'static [Tool] {
        static TOOLS: [OnceLock<Vec<Tool>>; 3] = [const { OnceLock::new() }; 3];
        TOOLS[self as usize].get_or_init(|| self.read_tools())
    }

    fn read_tools(self) -> Vec<Tool> {
        let permissions: &[&str] = match self {
            Self::Core => &[],
            Self::Full => &["read", "work"],
            Self::Ops => &["read", "set_up", "administer"],
        };
        let derived = read(DERIVED).into_iter();
        let derived = derived.filter(|one| permissions.contains(&one.permission.as_str()));
        read(CORE).into_iter().chain(derived).map(Definition::tool).collect()
    }

    /// The toolset of a name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "core" => Some(Self::Core),
            "full" => Some(Self::Full),
            "ops" => Some(Self::Ops),
            _ => None,
        }
    }
}

/// The operation of a derived tool.
pub(crate) fn derived_operation(tool: &str) -> Option<&'static str> {
    static OPERATIONS: OnceLock<HashMap<String, String>> = OnceLock::new();
    let operations = OPERATIONS
        .get_or_init(|| read(DERIVED).into_iter().map(|one| (one.name, one.operation)).collect());
    operations.get(tool).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eleven_tools_take_at_most_4000_tokens() {
        let tools = Toolset::Core.tools();
        assert_eq!(tools.len(), 11);
        let text = serde_json::to_string(tools).unwrap();
        let tokens = tiktoken_rs::o200k_base().unwrap().encode_ordinary(&text).len();
        let claude = text.len() / 3;
        assert!(tokens <= 4_000, "the definitions have {tokens} tokens");
        assert!(claude <= 4_000, "the definitions have {claude} tokens, three bytes each");
    }

    #[test]
    fn every_tool_says_what_it_may_change() {
        for toolset in Toolset::ALL {
            let tools = toolset.tools();
            let mut names: Vec<_> = tools.iter().map(|tool| tool.name.clone()).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), tools.len(), "two tools have the same name");
            for tool in tools {
                let hints = tool.annotations.as_ref().unwrap();
                assert!(hints.read_only_hint.is_some() && hints.open_world_hint == Some(false));
                assert!(hints.destructive_hint.is_some() && hints.idempotent_hint.is_some());
                assert!(tool.description.as_ref().is_some_and(|text| text.len() < 400), "{tool:?}");
            }
        }
    }

    #[test]
    fn derived_tools_name_operations_of_the_table() {
        for definition in read(DERIVED) {
            let operation = derived_operation(&definition.name).unwrap();
            assert!(baton_core::wire::operation(operation).is_some(), "{operation}");
        }
    }

    #[test]
    fn only_restoring_destroys() {
        let tools = Toolset::Core.tools();
        let destroys = |tool: &&Tool| tool.annotations.as_ref().unwrap().is_destructive();
        let names: Vec<_> = tools.iter().filter(destroys).map(|tool| &*tool.name).collect();
        assert_eq!(names, ["baton_checkpoint"]);
    }
}
