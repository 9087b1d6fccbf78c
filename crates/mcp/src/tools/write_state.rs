//! `baton_write_state`: one entry of shared state.

use baton_core::wire::Problem;
use serde_json::{Value, json};

use super::Call;
use crate::operation::{Object, bad, missing};
use crate::reference::entry;

/// The arguments that contain the value to write.
const FORMS: [&str; 5] = ["value", "merge", "append", "increment", "delete"];

pub(super) async fn run(call: &Call<'_>) -> Result<Value, Problem> {
    // A value of null is a value, so that the arguments are fields as they are.
    let mut fields = call.arguments.clone();
    let Some(Value::String(name)) = fields.remove("ref") else { return Err(missing("ref")) };
    let (namespace, key) = entry(&name)?;
    let mut forms = FORMS.iter().filter(|form| fields.contains_key(**form));
    let (Some(form), None) = (forms.next(), forms.next()) else {
        return Err(bad("value", "give exactly one of value, merge, append, increment and delete"));
    };
    let operation = match *form {
        "value" => "state.set",
        "delete" => {
            if fields.remove("delete") != Some(Value::Bool(true)) {
                return Err(bad("delete", "it must be true"));
            }
            "state.delete"
        }
        _ => "state.patch",
    };
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

/// An argument that is null was not given, except for the value itself.
fn without_null(fields: Object, form: &str) -> Object {
    fields.into_iter().filter(|(name, value)| name == form || !value.is_null()).collect()
}
