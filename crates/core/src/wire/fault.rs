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
            /// What was expected.
            reason: String,
        } => {
            code: "request.malformed",
            kind: Invalid,
            hint: "send an object with a `command` and its fields",
            cause: "It is not an object, has trailing data, or is a frame of the wrong type.",
            remedy: "Send one object with a `command` and its fields, or a list of them where \
                lists are accepted.",
        }
        /// The command does not exist.
        #[error("there is no command `{command}`{}", meant(command))]
        UnknownCommand {
            /// What was requested.
            command: String,
        } => {
            code: "request.unknown_command",
            kind: Invalid,
            hint: "see /openapi.json for the available commands",
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
            hint: "add it",
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
            hint: "send it once",
            cause: "Choosing one of the values would be a guess.",
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
            hint: "correct it as the detail says",
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
            /// What there is too much of.
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
    let known = nearest(command, OPERATIONS.iter().map(|operation| operation.name));
    known.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
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
        Self::field("", message)
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
