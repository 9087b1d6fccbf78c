//! Hints in the terms of tools: a model cannot send operations of other interfaces.

use baton_core::wire::hint_in_terms_of;

use crate::toolset::{Toolset, derived_operation};

/// The core tool that does what an operation does.
fn core_tool(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "task.list" | "state.list" | "state.snapshot" | "workspace.search" => "baton_search",
        "handoff.list" | "inbox.list" => "baton_brief",
        "task.get" | "state.get" | "handoff.get" | "message.get" | "checkpoint.get"
        | "agent.get" | "lock.get" | "pipeline.get" => "baton_get",
        _ => return None,
    })
}

/// What a model can do instead of an operation: a core tool, or else the tool that is derived from
/// it, and the toolset in which that is.
fn tool_for(operation: &'static str) -> Option<String> {
    if let Some(tool) = core_tool(operation) {
        return Some(tool.to_owned());
    }
    let derived = format!("baton_{}", operation.replace('.', "_"));
    derived_operation(&derived)?;
    let has = |toolset: Toolset| toolset.tools().iter().any(|tool| tool.name == derived);
    let toolset = if has(Toolset::Full) { "full" } else { "ops" };
    Some(format!("{derived} (toolset {toolset})"))
}

/// Hints that name files, which a model cannot read, and what they say.
const WITHOUT_FILES: [(&str, &str); 2] = [
    (
        "write it as described in docs/search.md",
        "write terms with spaces between them, such as kind:task status:failed type:build by:ada \
         key:plan/** created>-1h, words and \"exact words\"; put a text with `:`, `<` or `>` into \
         quotation marks",
    ),
    (
        "write it as described in docs/time-travel.md",
        "use the cursor exactly as the previous page returned it, and name an entry, a task or a \
         hand-off",
    ),
];

/// A hint for a model.
pub(crate) fn for_tools(hint: &str) -> String {
    // The argument types of a tool are in its definition, which the model has.
    let mut hint = hint.replace("/openapi.json", "the schema of the tool");
    for (before, instead) in WITHOUT_FILES {
        hint = hint.replace(before, instead);
    }
    hint_in_terms_of(&hint, |name, _| tool_for(name)).unwrap_or(hint)
}

#[cfg(test)]
mod tests {
    use baton_core::refusals::Refusal;
    use baton_core::wire::{Fault, OPERATIONS};
    use baton_core::{
        access, agent, artifact, barrier, checkpoint, context, contract, handoff, join, lock,
        message, namespace, pipeline, reaction, rule, secret, semaphore, spend, state, stream,
        task, topic, user_event, wait, workspace,
    };

    use super::*;

    const REFUSALS: &[&[Refusal]] = &[
        Fault::REFUSALS,
        access::Denied::REFUSALS,
        agent::Rejection::REFUSALS,
        artifact::Rejection::REFUSALS,
        barrier::Rejection::REFUSALS,
        baton::error::Error::REFUSALS,
        checkpoint::Rejection::REFUSALS,
        context::Rejection::REFUSALS,
        contract::Rejection::REFUSALS,
        handoff::Rejection::REFUSALS,
        join::Rejection::REFUSALS,
        lock::Rejection::REFUSALS,
        message::Rejection::REFUSALS,
        namespace::Rejection::REFUSALS,
        pipeline::Rejection::REFUSALS,
        reaction::Rejection::REFUSALS,
        rule::Rejection::REFUSALS,
        secret::Rejection::REFUSALS,
        semaphore::Rejection::REFUSALS,
        spend::Rejection::REFUSALS,
        state::Rejection::REFUSALS,
        stream::Rejection::REFUSALS,
        task::Rejection::REFUSALS,
        topic::Rejection::REFUSALS,
        user_event::Rejection::REFUSALS,
        wait::Rejection::REFUSALS,
        workspace::Rejection::REFUSALS,
    ];

    #[test]
    fn hints_name_tools_only() {
        for (hint, expected) in [
            ("list the tasks with task.list", "list the tasks with baton_search"),
            ("list the keys with state.list", "list the keys with baton_search"),
            (
                "create it with namespace.create",
                "create it with baton_namespace_create (toolset ops)",
            ),
            (
                "register the agent first with agent.register",
                "register the agent first with baton_agent_register (toolset full)",
            ),
            ("retry later", "retry later"),
        ] {
            assert_eq!(for_tools(hint), expected);
        }
        for refusal in REFUSALS.iter().copied().flatten() {
            let hint = for_tools(refusal.hint);
            let has_file = [".md", ".json", "docs/"].iter().any(|part| hint.contains(part));
            assert!(!has_file, "{}: {hint}", refusal.code);
            let is_named = |word: &str| OPERATIONS.iter().any(|operation| operation.name == word);
            let mut words = hint.split(|sign: char| !matches!(sign, 'a'..='z' | '.' | '_'));
            let named = words.find(|word| is_named(word.trim_end_matches('.')));
            assert_eq!(named, None, "{}: {hint}", refusal.code);
        }
    }
}
