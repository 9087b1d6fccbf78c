//! Reactions that exist in every workspace, initially disabled.
//!
//! | name | on | does |
//! |---|---|---|
//! | `record-completed-tasks` | `task.completed` | sets `shared/completed_tasks/ID` |
//! | `record-active-agents` | `agent.joined` | sets `shared/active_agents/ID` |
//! | | `agent.left`, `agent.lost` | deletes it |

use std::sync::Arc;

use serde_json::{Value, json};

use super::condition::{Condition, On};
use super::record::{Part, Record};
use crate::json::Json;
use crate::names::{AgentId, ReactionName};
use crate::numbers::Revision;
use crate::pattern::Pattern;
use crate::time::Timestamp;

/// All built-in reactions, by name.
pub fn built_in() -> Vec<Record> {
    let joined = json!({
        "command": "state.set", "namespace": "shared", "key": "active_agents/{{about}}",
        "value": {"agent": "{{about}}", "since": "{{time}}", "capabilities": "{{capabilities?}}"},
    });
    let ended = json!({
        "command": "state.delete", "namespace": "shared", "key": "active_agents/{{about}}",
    });
    let completed = json!({
        "command": "state.set", "namespace": "shared", "key": "completed_tasks/{{task}}",
        "value": {
            "task": "{{task}}", "result": "{{result?}}", "by": "{{agent}}", "at": "{{time}}",
        },
    });
    let is_over = "event.type == 'agent.left' || event.type == 'agent.lost'";
    vec![
        record(
            "record-active-agents",
            vec![part("agent.joined", None, &joined), part("agent.l*", Some(is_over), &ended)],
        ),
        record("record-completed-tasks", vec![part("task.completed", None, &completed)]),
    ]
}

fn part(kind: &str, condition: Option<&str>, command: &Value) -> Part {
    let condition = condition.map(|source| Condition::compile(source).expect("it is fixed"));
    let kind = Some(Pattern::parse(kind).expect("it is fixed"));
    let commands = vec![Json::of(command).expect("it is fixed")];
    Part { on: On { kind, subject: None, condition }, commands }
}

fn record(name: &str, parts: Vec<Part>) -> Record {
    Record {
        name: ReactionName::parse(name).expect("it is fixed"),
        parts: parts.into_iter().map(Arc::new).collect(),
        webhook: None,
        secret: None,
        enabled: false,
        built_in: true,
        added_at: Timestamp(0),
        added_by: AgentId::engine(),
        revision: Revision(0),
        runs: 0,
        failures: 0,
        trouble: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reaction::check_commands;

    #[test]
    fn they_are_checked_like_any_other_and_sorted_by_name() {
        let all = built_in();
        assert!(all.is_sorted_by_key(|record| record.name.clone()));
        for part in all.iter().flat_map(|record| record.parts.iter()) {
            assert_eq!(check_commands(&part.commands), Ok(()));
        }
    }
}
