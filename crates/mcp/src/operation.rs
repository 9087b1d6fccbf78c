//! Operations by name, with fields as JSON, under the same names as on every other interface.

use baton_client::Workspace;
use baton_core::wire::{Call, Fault, Fields, Operation, Problem, operation, write_reply};
use baton_core::{Answer, Reply};
use serde_json::{Map, Value};

/// A JSON object.
pub(crate) type Object = Map<String, Value>;

/// The members of an object that are not null: an argument that was not given is no field.
pub(crate) fn given(object: Value) -> Object {
    let Value::Object(object) = object else { return Object::new() };
    object.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// A problem with the request itself.
pub(crate) fn fault(fault: &Fault) -> Problem {
    Problem::from(fault)
}

/// A problem with one argument.
pub(crate) fn bad(argument: &str, reason: &str) -> Problem {
    fault(&Fault::field(argument, reason))
}

/// A missing argument.
pub(crate) fn missing(argument: &str) -> Problem {
    fault(&Fault::MissingField { field: argument.to_owned() })
}

/// Carries out an operation as the agent of the workspace, and returns its reply.
pub(crate) async fn perform(
    workspace: &Workspace,
    name: &str,
    fields: Object,
) -> Result<Value, Problem> {
    let unknown = || fault(&Fault::UnknownCommand { command: name.to_owned() });
    let operation = operation(name).ok_or_else(unknown)?;
    let call = read(workspace, operation, fields)?;
    answered(workspace, call).await
}

/// Carries out several commands, all or none, and returns their replies.
pub(crate) async fn perform_all(
    workspace: &Workspace,
    name: &str,
    list: Vec<Object>,
) -> Result<Value, Problem> {
    let commands = list.into_iter().map(|mut fields| {
        fields.insert("command".to_owned(), Value::from(name));
        Value::Object(fields)
    });
    let text = serde_json::json!({"commands": commands.collect::<Vec<_>>()}).to_string();
    let frame = baton_core::wire::Frame::parse(&text).map_err(|error| fault(&error))?;
    answered(workspace, frame.transaction().map_err(|error| fault(&error))?).await
}

fn read(workspace: &Workspace, operation: &Operation, mut fields: Object) -> Result<Call, Problem> {
    // As on every interface, the acting agent is meant where an agent must be named.
    if operation.names_agent && !operation.narrows_by_agent && !fields.contains_key("agent") {
        fields.insert("agent".to_owned(), Value::from(workspace.agent().as_str()));
    }
    let text = Value::Object(fields).to_string();
    let fields = Fields::parse(&text).map_err(|error| fault(&error))?;
    fields.operation(operation).map_err(|error| fault(&error))
}

async fn answered(workspace: &Workspace, call: Call) -> Result<Value, Problem> {
    let answer = match call {
        Call::Command(command) => workspace.execute(command).await,
        Call::Transaction(mutation) => workspace.mutate(mutation).await,
        Call::Query(query) => workspace.ask(query).await,
        Call::Watch(_) | Call::Unwatch { .. } | Call::Ping => unreachable!("it is an operation"),
    };
    let Answer { reply, .. } = answer.map_err(|error| Problem::from(&error))?;
    value_of(&reply)
}

fn value_of(reply: &Reply) -> Result<Value, Problem> {
    if let Reply::Transaction(replies) = reply {
        return replies.iter().map(value_of).collect();
    }
    let mut text = Vec::new();
    write_reply(&mut text, reply);
    serde_json::from_slice(&text).map_err(|error| bad("reply", &error.to_string()))
}
