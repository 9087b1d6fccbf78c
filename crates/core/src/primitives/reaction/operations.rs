//! The operations on reactions.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Add = "reaction.add" -> "reaction", Put "/reactions/{name}" Body, SetUp,
        side_effects(
            "The reaction runs with the identity of the caller, in the commit of each matching \
             event."
        ):
        "Add or replace a reaction",
        {"name": "announce", "on": {"type": "task.completed", "where": "has(event.result)"},
            "do": [{"command": "state.set", "namespace": "shared", "key": "done/{{task}}",
            "value": {"result": "{{result}}", "by": "{{agent}}"}}]};
    Command::Remove = "reaction.remove" -> "reaction", Delete "/reactions/{name}" Query, SetUp,
        side_effects("Discards its pending webhook calls."):
        "Remove a reaction", {"name": "announce"};
    Command::Enable = "reaction.enable" -> "reaction", Post "/reactions/{name}/enable" Body, SetUp:
        "Enable a reaction", {"name": "record-completed-tasks"};
    Command::Disable = "reaction.disable" -> "reaction", Post "/reactions/{name}/disable" Body,
        SetUp:
        "Disable a reaction", {"name": "record-completed-tasks"};
    Query::Get = "reaction.get" -> "reaction", Get "/reactions/{name}" Query, Read:
        "Get a reaction", {"name": "record-completed-tasks"};
    Query::List = "reaction.list" -> "reactions", Get "/reactions" Query, Read:
        "List reactions", {"limit": 100};
}
