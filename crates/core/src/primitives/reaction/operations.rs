//! The operations on reactions.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Add = "reaction.add" -> "reaction", Put "/reactions/{name}" Body, SetUp:
        "Add or replace a reaction",
        {"name": "announce", "on": {"type": "task.completed", "where": "has(event.result)"},
            "do": [{"command": "state.set", "namespace": "shared", "key": "done/{{task}}",
            "value": {"result": "{{result}}", "by": "{{agent}}"}}]};
    Command::Remove = "reaction.remove" -> "reaction", Delete "/reactions/{name}" Query, SetUp:
        "Remove a reaction", {"name": "announce"};
    Command::Enable = "reaction.enable" -> "reaction", Post "/reactions/{name}/enable" Body, SetUp:
        "Let a reaction run", {"name": "record-completed-tasks"};
    Command::Disable = "reaction.disable" -> "reaction", Post "/reactions/{name}/disable" Body,
        SetUp:
        "Let a reaction run no more", {"name": "record-completed-tasks"};
    Query::Get = "reaction.get" -> "reaction", Get "/reactions/{name}" Query, Read:
        "Read a reaction", {"name": "record-completed-tasks"};
    Query::List = "reaction.list" -> "reactions", Get "/reactions" Query, Read:
        "List reactions", {"limit": 100};
}
