//! An example of every operation, for readers of the document and for programs that test it.

use baton_core::wire::{OPERATIONS, operation};
use serde_json::{Map, Value, json};

/// An example of an operation as a command.
pub(crate) fn example(name: &str) -> Option<Value> {
    let mut example = if name == "transaction" { transaction() } else { own(name)? };
    example["command"] = name.into();
    Some(example)
}

/// The fields of an example that are not elsewhere.
pub(crate) fn fields(name: &str, elsewhere: &[&str]) -> Option<Value> {
    let mut example = own(name)?;
    example.as_object_mut()?.retain(|field, _| !elsewhere.contains(&field.as_str()));
    Some(example)
}

/// Every operation's example, by its name.
pub(crate) fn all() -> Value {
    let names = OPERATIONS.iter().map(|operation| operation.name);
    let examples = names.chain(["transaction"]).filter_map(|name| {
        let value = example(name)?;
        Some((name.to_owned(), json!({"value": value})))
    });
    examples.collect::<Map<_, _>>().into()
}

/// An example of a transaction.
pub(crate) fn transaction() -> Value {
    json!({
        "require": [{"entry": {"namespace": "shared", "key": "plan", "exists": true}}],
        "commands": [
            {"command": "state.patch", "namespace": "shared", "key": "plan", "merge": {"step": 2}},
            {"command": "state.set", "namespace": "shared", "key": "by", "value": "ada"},
        ],
    })
}

fn own(name: &str) -> Option<Value> {
    let example = operation(name)?.example;
    Some(serde_json::from_str(example).unwrap_or_else(|error| panic!("`{name}`: {error}")))
}
