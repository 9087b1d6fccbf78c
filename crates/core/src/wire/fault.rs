//! Errors in requests, found before the rules see them.

use std::fmt::Display;

use serde::Serialize;
use thiserror::Error;

use super::OPERATIONS;
use crate::json::{JsonError, shortened};
use crate::nearest::nearest;

crate::refusals! {
    /// A request that cannot be parsed. Nothing was executed. Serializes as its facts.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Fault {
        /// A value is not valid JSON.
        #[error("the request is not valid JSON: {0}")]
        Json(JsonError) => {
            code: "request.bad_json",
            kind: Invalid,
            hint: "send one JSON value, nested at most 64 levels deep",
            cause: "It is malformed, has a number beyond the range of a double, contains half a \
                surrogate pair, or nests deeper than 64 levels.",
            remedy: "Send one JSON value; flatten deeply nested data.",
        }
        /// The request is JSON, or a WebSocket frame, but does not have the shape of a request.
        #[error("the request is malformed: {reason}")]
        Malformed {
            /// The expected form.
            reason: String,
        } => {
            code: "request.malformed",
            kind: Invalid,
            hint: "send the request again, in the form that /openapi.json describes",
            cause: "It is not an object, has trailing data, or is a frame of the wrong type.",
            remedy: "Send one object with a `command` and its fields, or a list of them where \
                lists are accepted.",
        }
        /// The command does not exist.
        #[error("there is no command `{command}`{}", meant(command))]
        UnknownCommand {
            /// The requested command.
            command: String,
        } => {
            code: "request.unknown_command",
            kind: Invalid,
            hint: "send one of the commands that /openapi.json lists",
            cause: "It is misspelled, or the server is older than the client.",
        }
        /// The command has no such field or query parameter.
        #[error("there is no field `{field}`; the fields are {}", listed(expected))]
        UnknownField {
            /// The field.
            field: String,
            /// The existing fields.
            expected: &'static [&'static str],
        } => {
            code: "request.unknown_field",
            kind: Invalid,
            hint: "remove it, or correct its spelling",
            cause: "It is misspelled, belongs to another command, or the server is older than the \
                client. Unknown fields are never ignored: a misspelled condition would be no \
                condition.",
            remedy: "Remove it, or correct its spelling; the detail lists the existing fields.",
        }
        /// A required field is missing.
        #[error("the field `{field}` is missing")]
        MissingField {
            /// The field.
            field: String,
        } => {
            code: "request.missing_field",
            kind: Invalid,
            hint: "add the field, and send the request again; /openapi.json has its type",
            cause: "The fact `field` names it.",
        }
        /// A field occurs more than once.
        #[error("the field `{field}` occurs more than once")]
        DuplicateField {
            /// The field.
            field: String,
        } => {
            code: "request.duplicate_field",
            kind: Invalid,
            hint: "send the request again, with the field once",
            cause: "The server does not guess which of the values is meant.",
        }
        /// A field has an invalid value.
        #[error("{} invalid: {reason}", about(field))]
        BadField {
            /// The field.
            field: String,
            /// The reason.
            reason: String,
        } => {
            code: "request.bad_field",
            kind: Invalid,
            hint: "correct the field, and send the request again; /openapi.json has its type",
            cause: "It has the wrong type, is out of range, or is a name with a character that is \
                not allowed. The facts `field` and `reason` say which and why.",
        }
        /// One command was rejected, so none was executed.
        #[error("command {index} of the transaction cannot be read: {cause}")]
        InTransaction {
            /// Which command, counted from 0.
            index: usize,
            /// The cause's own code.
            cause_code: &'static str,
            /// Why.
            cause: Box<Fault>,
        } => {
            code: "transaction.command_refused",
            of: cause,
            cause: "The command at `index` was rejected; `cause_code` and `cause` say why.",
            remedy: "Follow the remedy of the cause's code, then send the whole transaction again.",
        }
        /// The request, or a part of it, is too large.
        #[error("the request has {given} {what}; at most {max} are allowed")]
        TooLarge {
            /// The name of the limited quantity.
            what: &'static str,
            /// How much there is.
            given: usize,
            /// How much there may be.
            max: usize,
        } => {
            code: "request.too_large",
            kind: TooLarge,
            hint: "split it into several requests",
            cause: "The body, the frame, the number of commands in a list or the number of fields \
                exceeds its limit, which is in the detail.",
        }
    }
}

fn listed(names: &[&str]) -> String {
    let quoted = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
    if quoted.is_empty() { "none".to_owned() } else { quoted.join(", ") }
}

/// The command that a misspelled one may mean.
fn meant(command: &str) -> String {
    let known = synonym(command);
    let known = known.or_else(|| nearest(command, OPERATIONS.iter().map(|known| known.name)));
    known.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// Verbs that other systems use, and those that may be meant.
const SYNONYMS: [(&str, &[&str]); 14] = [
    ("add", &["create", "send", "record"]),
    ("ack", &["acknowledge"]),
    ("done", &["complete"]),
    ("finish", &["complete"]),
    ("lock", &["acquire"]),
    ("ls", &["list"]),
    ("new", &["create"]),
    ("put", &["set", "create"]),
    ("remove", &["delete", "cancel", "prune"]),
    ("rm", &["delete", "cancel", "prune"]),
    ("show", &["get"]),
    ("take", &["claim", "acquire"]),
    ("unlock", &["release"]),
    ("write", &["set", "send"]),
];

/// The command that corresponds to a verb of another system.
fn synonym(command: &str) -> Option<&'static str> {
    let (group, verb) = command.split_once('.')?;
    let (_, verbs) = SYNONYMS.iter().find(|(known, _)| *known == verb)?;
    let is = |operation: &&super::Operation, verb: &str| {
        operation.name.split_once('.') == Some((group, verb))
    };
    let of = |verb: &&str| OPERATIONS.iter().find(|operation| is(operation, verb));
    verbs.iter().find_map(of).map(|operation| operation.name)
}

/// The words of a deserializer as those of an answer: `expected u64` means nothing to a caller.
fn plain(message: &str) -> String {
    let message = without_place(message);
    let rest = |start: &str| message.strip_prefix(start);
    let parts = rest("invalid type: ").or_else(|| rest("invalid value: "));
    if let Some((given, expected)) = parts.and_then(|parts| parts.rsplit_once(", expected ")) {
        return format!("it must be {}, not {}", described(expected), value(given));
    }
    let parts = rest("unknown variant ").and_then(|parts| parts.split_once(", expected "));
    if let Some((given, expected)) = parts {
        return format!("{given} is not {}", expected.trim_start_matches("there are "));
    }
    if let Some((field, known)) = rest("unknown field ").and_then(|it| it.split_once(", ")) {
        let known = known.trim_start_matches("expected ").trim_start_matches("one of ");
        let known = if known == "there are no fields" { "none" } else { known };
        return format!("it has no field {field}; the fields are {}", known.replace(" or ", ", "));
    }
    if let Some(field) = rest("missing field ") {
        return format!("its field {field} is missing");
    }
    if let Some(field) = rest("duplicate field ") {
        return format!("its field {field} occurs more than once");
    }
    if rest("invalid length ").is_some_and(|rest| rest.contains(", expected struct ")) {
        return "it must be an object".to_owned();
    }
    if message == "expected value" {
        return "it has the wrong type".to_owned();
    }
    message.to_owned()
}

/// Without the line and the column, which are those of a part of the request.
fn without_place(message: &str) -> &str {
    let is_place = |place: &str| {
        let numbers = place.split(" column ");
        numbers.clone().count() == 2
            && numbers.into_iter().all(|number| number.parse::<u64>().is_ok())
    };
    match message.rsplit_once(" at line ") {
        Some((before, place)) if is_place(place) => before,
        _ => message,
    }
}

/// An expected type.
fn described(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "`true` or `false`",
        "a sequence" => "a list",
        "a map" => "an object",
        // `struct X`, or `struct variant Y::X`.
        other if other.starts_with("struct ") => "an object",
        other => other,
    }
}

/// A value that was given instead.
fn value(given: &str) -> &str {
    match given {
        "sequence" => "a list",
        "map" => "an object",
        "null" | "unit value" => "`null`",
        other => {
            let kinds = ["integer ", "floating point ", "boolean ", "string "];
            kinds.iter().find_map(|kind| other.strip_prefix(kind)).unwrap_or(other)
        }
    }
}

fn about(field: &str) -> String {
    if field.is_empty() { "the fields are".to_owned() } else { format!("the field `{field}` is") }
}

impl Fault {
    /// The same fault, with the field in which it was found, unless it has one.
    pub(super) fn within(self, name: &str) -> Self {
        match self {
            Self::BadField { field, reason } if field.is_empty() => {
                Self::BadField { field: name.to_owned(), reason }
            }
            known => known,
        }
    }

    /// A fault in a field.
    pub fn field(name: &str, reason: impl Display) -> Self {
        Self::BadField { field: name.to_owned(), reason: shortened(&reason.to_string()) }
    }
}

impl serde::de::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Self::field("", plain(&message.to_string()))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::UnknownField { field: shortened(field), expected }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::MissingField { field: field.to_owned() }
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::DuplicateField { field: field.to_owned() }
    }
}
