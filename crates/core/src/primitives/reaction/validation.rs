//! Validates the commands of a new reaction, as far as that is possible without an event.

use serde_json::{Value, json};

use super::template::fill;
use crate::json::Json;
use crate::wire::{Fault, command_of};

/// Sample values of a placeholder, to check the rest of a command.
fn probes() -> [Value; 6] {
    [json!("x"), json!(1), json!(true), json!({}), json!([]), json!({"x": "x"})]
}

/// Checks every command; returns the first one that can never be executed, and why.
pub fn check_commands(commands: &[Json]) -> Result<(), (usize, String)> {
    for (index, command) in commands.iter().enumerate() {
        check(command.to_value()).map_err(|reason| (index, reason))?;
    }
    Ok(())
}

fn check(command: Value) -> Result<(), String> {
    fill(&mut command.clone(), None).map_err(|cause| cause.to_string())?;
    let Value::Object(mut fields) = command else {
        return Err("a command is an object".to_owned());
    };
    match fields.get("command").and_then(Value::as_str) {
        Some(name) if name.starts_with("reaction.") => {
            return Err("a reaction cannot change reactions".to_owned());
        }
        Some(name) if name.contains("{{") => {
            return Err("the name of a command cannot be filled in".to_owned());
        }
        Some(_) | None => {}
    }
    // A field with a placeholder is probed with one sample value after another, until the command
    // is valid or has another error.
    let mut tried = Vec::new();
    loop {
        let text = Value::Object(fields.clone()).to_string();
        let Err(fault) = command_of(&text) else { return Ok(()) };
        let Fault::BadField { field, .. } = &fault else { return Err(fault.to_string()) };
        let is_open = tried.iter().any(|(name, _)| name == field)
            || fields.get(field).is_some_and(is_filled_in);
        if !is_open {
            return Err(fault.to_string());
        }
        let at = match tried.iter_mut().find(|(name, _)| name == field) {
            Some((_, at)) => {
                *at += 1;
                *at
            }
            None => {
                tried.push((field.clone(), 0));
                0
            }
        };
        // No sample value fits: only the event can decide.
        let Some(probe) = probes().into_iter().nth(at) else { return Ok(()) };
        fields.insert(field.clone(), probe);
    }
}

/// Whether it has a placeholder.
fn is_filled_in(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{"),
        Value::Array(items) => items.iter().any(is_filled_in),
        Value::Object(fields) => fields.values().any(is_filled_in),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(command: &str) -> Result<(), String> {
        check_commands(&[Json::parse(command).unwrap()]).map_err(|(_, reason)| reason)
    }

    #[test]
    fn commands_with_placeholders_are_checked_as_far_as_possible() {
        for good in [
            r#"{"command":"state.set","namespace":"shared","key":"{{about}}","value":"{{x}}"}"#,
            r#"{"command":"state.set","namespace":"{{a}}","key":"k","value":1,"ttl_ms":"{{n}}"}"#,
            r#"{"command":"task.create","type":"t","priority":"{{p}}","depends_on":"{{a}}"}"#,
            r#"{"command":"task.complete","task":"{{task}}","token":"{{token}}","result":[1]}"#,
            r#"{"command":"event.emit","type":"a.b","payload":{"n":"{{payload.n}}"}}"#,
        ] {
            assert_eq!(checked(good), Ok(()), "{good}");
        }
        for bad in [
            "[]",
            "{}",
            r#"{"command":"state.fly"}"#,
            r#"{"command":"state.get","namespace":"shared","key":"k"}"#,
            r#"{"command":"{{type}}"}"#,
            r#"{"command":"reaction.remove","name":"a"}"#,
            r#"{"command":"state.set","namespace":"shared","value":"{{x}}"}"#,
            r#"{"command":"state.set","namespace":"shared","key":"k","value":1,"colour":"{{x}}"}"#,
            r#"{"command":"state.set","namespace":"shared","key":"k","value":1,"ttl_ms":"soon"}"#,
            r#"{"command":"state.set","namespace":"a b","key":"{{about}}","value":1}"#,
            r#"{"command":"state.set","namespace":"shared","key":"k","value":"{{x"}"#,
            r#"{"command":"state.set","ttl_ms":"{{n}}","namespace":"shared","key":"k","fly":1}"#,
        ] {
            assert!(checked(bad).is_err(), "{bad}");
        }
    }
}
