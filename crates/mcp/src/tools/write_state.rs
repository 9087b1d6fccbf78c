//! `baton_write_state`: one entry of shared state.

use baton_core::wire::Problem;
use serde_json::{Value, json};

use super::Call;
use crate::operation::{Object, bad, missing};
use crate::reference::{entry, entry_name};

/// The arguments that contain the value to write.
const FORMS: [&str; 5] = ["value", "merge", "append", "increment", "delete"];

pub(super) async fn run(call: &Call<'_>) -> Result<Value, Problem> {
    // A value of null is a value, so that the arguments are fields as they are.
    let mut fields = call.arguments.clone();
    let Some(Value::String(name)) = fields.remove("ref") else { return Err(missing("ref")) };
    let (namespace, key) = entry(&name)?;
    let form = form(&fields)?;
    fields.retain(|name, _| name == form || !FORMS.contains(&name.as_str()));
    let operation = match form {
        "value" => "state.set",
        "delete" => {
            if fields.remove("delete") != Some(Value::Bool(true)) {
                return Err(bad("delete", "it must be true"));
            }
            "state.delete"
        }
        _ => "state.patch",
    };
    let name = entry_name(&format!("{namespace}/{key}"));
    fields.insert("namespace".to_owned(), Value::from(namespace));
    fields.insert("key".to_owned(), Value::from(key));
    let written = call.perform(operation, without_null(fields, form)).await?;
    let mut shown = json!({"ref": name, "version": written["version"]});
    if operation == "state.delete" {
        shown["deleted"] = Value::Bool(true);
    }
    if written["warnings"].as_array().is_some_and(|warnings| !warnings.is_empty()) {
        shown["warnings"] = written["warnings"].clone();
    }
    Ok(shown)
}

/// The argument with the value. Clients with strict schemas send all of them, those that are not
/// meant as null or false; but null is the value if it is the only one.
fn form(fields: &Object) -> Result<&'static str, Problem> {
    let given: Vec<_> =
        FORMS.into_iter().filter_map(|form| Some((form, fields.get(form)?))).collect();
    let is_meant = |form: &str, value: &Value| {
        let is_no = form == "delete" && *value == Value::Bool(false);
        !value.is_null() && !is_no
    };
    let meant: Vec<_> = given.iter().filter(|(form, value)| is_meant(form, value)).collect();
    match (meant.as_slice(), given.as_slice()) {
        ([(form, _)], _) | ([], [(form, _)]) => Ok(form),
        _ => Err(bad("value", "give exactly one of value, merge, append, increment and delete")),
    }
}

/// An argument that is null was not given, except for the value itself.
fn without_null(fields: Object, form: &str) -> Object {
    fields.into_iter().filter(|(name, value)| name == form || !value.is_null()).collect()
}
