//! Commands with placeholders that are filled in from an event.

use serde_json::Value;
use thiserror::Error;

use crate::event::Event;
use crate::json::shortened;
use crate::names::AgentId;
use crate::numbers::Revision;
use crate::time::Timestamp;
use crate::wire::notice;

/// Why a placeholder cannot be filled in.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unfillable {
    /// The text between the braces is not a field name.
    #[error("`{given}` is not a placeholder: use a name, or names with dots between them")]
    Unreadable {
        /// The text.
        given: String,
    },
    /// The event has no such field.
    #[error("the event has no `{field}`")]
    Missing {
        /// The missing field.
        field: String,
    },
}

/// An event as conditions and placeholders see it. Reactions are set up by operators, and may use
/// the token that an event grants.
pub fn seen(
    event: &Event,
    (revision, index): (Revision, usize),
    time: Timestamp,
    agent: &AgentId,
) -> Value {
    let subject = event.subject();
    let text = notice::written(event, (revision, index), time, agent, &subject);
    let mut seen: Value = serde_json::from_slice(&text).expect("notices are JSON");
    let about = subject.split_once('/').map_or("", |(_, about)| about);
    if let Value::Object(fields) = &mut seen {
        fields.insert("about".to_owned(), about.into());
    }
    seen
}

/// Fills in every placeholder of a command. Without an event, only checks their syntax.
pub fn fill(command: &mut Value, event: Option<&Value>) -> Result<(), Unfillable> {
    match command {
        Value::String(text) => {
            if let Some(filled) = filled(text, event)? {
                *command = filled;
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| fill(item, event)),
        Value::Object(fields) => fields.values_mut().try_for_each(|field| fill(field, event)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// The value of a text with placeholders; none if it has none.
fn filled(text: &str, event: Option<&Value>) -> Result<Option<Value>, Unfillable> {
    if !text.contains("{{") {
        return Ok(None);
    }
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let unreadable = || Unfillable::Unreadable { given: shortened(&format!("{{{{{after}")) };
        let (inside, behind) = after.split_once("}}").ok_or_else(unreadable)?;
        let placeholder = Placeholder::read(inside).ok_or_else(unreadable)?;
        let is_alone = before.is_empty() && behind.is_empty() && whole.is_empty();
        whole.push_str(before);
        rest = behind;
        let Some(event) = event else { continue };
        match placeholder.find(event)? {
            Some(value) if is_alone => return Ok(Some(value.clone())),
            None if is_alone => return Ok(Some(Value::Null)),
            Some(Value::String(text)) => whole.push_str(text),
            Some(value) => whole.push_str(&value.to_string()),
            None => {}
        }
    }
    whole.push_str(rest);
    Ok(event.map(|_| Value::String(whole)))
}

/// A field by its path, and whether it is optional.
struct Placeholder<'a> {
    path: &'a str,
    is_optional: bool,
}

impl<'a> Placeholder<'a> {
    fn read(inside: &'a str) -> Option<Self> {
        let inside = inside.trim();
        let (path, is_optional) = match inside.strip_suffix('?') {
            Some(path) => (path, true),
            None => (inside, false),
        };
        let is_sign = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-');
        let is_name = |name: &str| !name.is_empty() && name.chars().all(is_sign);
        path.split('.').all(is_name).then_some(Self { path, is_optional })
    }

    fn find<'v>(&self, event: &'v Value) -> Result<Option<&'v Value>, Unfillable> {
        let step = |of: Option<&'v Value>, name: &str| match of? {
            Value::Object(fields) => fields.get(name),
            Value::Array(items) => name.parse::<usize>().ok().and_then(|at| items.get(at)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        match self.path.split('.').fold(Some(event), step) {
            None if !self.is_optional => Err(Unfillable::Missing { field: self.path.to_owned() }),
            found => Ok(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_become_values_or_text() {
        let event = json!({"time": "now", "payload": {"n": 3, "list": ["a", {"b": null}]}});
        for (given, expected) in [
            (json!("plain } {"), json!("plain } {")),
            (json!("{{payload.n}}"), json!(3)),
            (json!("{{ payload }}"), event["payload"].clone()),
            (json!("{{payload.list.1.b}}"), json!(null)),
            (json!("n={{payload.n}} at {{time}}!"), json!("n=3 at now!")),
            (json!("{{payload.list}}{{time}}"), json!("[\"a\",{\"b\":null}]now")),
            (json!("{{payload.gone?}}"), json!(null)),
            (json!("a{{payload.gone?}}b"), json!("ab")),
            (json!({"deep": ["{{time}}", 1]}), json!({"deep": ["now", 1]})),
        ] {
            let mut filled = given.clone();
            fill(&mut filled, Some(&event)).unwrap();
            assert_eq!(filled, expected, "{given}");
            let mut looked_at = given.clone();
            fill(&mut looked_at, None).unwrap();
            assert_eq!(looked_at, given, "looking changes nothing");
        }
    }

    #[test]
    fn a_placeholder_without_a_value_gives_the_reason() {
        let event = json!({"a": {"b": [1]}});
        for missing in ["c", "a.c", "a.b.1", "a.b.x", "a.b.0.c"] {
            let mut text = json!(format!("{{{{{missing}}}}}"));
            let field = missing.to_owned();
            assert_eq!(fill(&mut text, Some(&event)), Err(Unfillable::Missing { field }));
        }
        for unreadable in ["{{", "{{a", "{{}}", "{{a..b}}", "{{a b}}", "{{a?b}}", "x{{a}}{{"] {
            let found = fill(&mut json!(unreadable), None);
            assert!(matches!(found, Err(Unfillable::Unreadable { .. })), "{unreadable}");
        }
    }
}
