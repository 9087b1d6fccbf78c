//! What can be wrong with a request before any rule has looked at it.

use std::fmt::Display;

use serde::Serialize;
use thiserror::Error;

use crate::json::{JsonError, shortened};
use crate::kind::Kind;

/// The request cannot be read. Nothing was done. Serialized, it is its facts.
#[derive(Clone, Debug, PartialEq, Error, Serialize)]
#[serde(untagged)]
pub enum Fault {
    /// It is not JSON, or nested too deep.
    #[error("the request is not acceptable JSON: {0}")]
    Json(JsonError),
    /// It is JSON of another shape than a request has.
    #[error("the request is malformed: {reason}")]
    Malformed {
        /// What was expected.
        reason: String,
    },
    /// Nobody knows this command.
    #[error("there is no command `{command}`")]
    UnknownCommand {
        /// What was asked for.
        command: String,
    },
    /// Nobody knows this field.
    #[error("there is no field `{field}`; the fields are {}", listed(expected))]
    UnknownField {
        /// Which.
        field: String,
        /// What there is.
        expected: &'static [&'static str],
    },
    /// A field is missing.
    #[error("the field `{field}` is missing")]
    MissingField {
        /// Which.
        field: String,
    },
    /// A field stands there twice.
    #[error("the field `{field}` stands there more than once")]
    DuplicateField {
        /// Which.
        field: String,
    },
    /// A field has a value that cannot be.
    #[error("{} not acceptable: {reason}", about(field))]
    BadField {
        /// Which.
        field: String,
        /// Why not.
        reason: String,
    },
    /// One of the commands of a transaction cannot be read.
    #[error("command {index} of the transaction cannot be read: {cause}")]
    InTransaction {
        /// Which command, counted from 0.
        index: usize,
        /// The cause's own code.
        cause_code: &'static str,
        /// Why.
        cause: Box<Fault>,
    },
    /// More than one request may hold.
    #[error("the request has {given} {what}, at most {max} are allowed")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        given: usize,
        /// How much there may be.
        max: usize,
    },
}

fn listed(names: &[&str]) -> String {
    let quoted = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
    if quoted.is_empty() { "none".to_owned() } else { quoted.join(", ") }
}

fn about(field: &str) -> String {
    if field.is_empty() { "the fields are".to_owned() } else { format!("the field `{field}` is") }
}

impl Fault {
    /// Stable across releases; documented in `docs/errors.md`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Json(_) => "request.bad_json",
            Self::Malformed { .. } => "request.malformed",
            Self::UnknownCommand { .. } => "request.unknown_command",
            Self::UnknownField { .. } => "request.unknown_field",
            Self::MissingField { .. } => "request.missing_field",
            Self::DuplicateField { .. } => "request.duplicate_field",
            Self::BadField { .. } => "request.bad_field",
            Self::InTransaction { .. } => "transaction.command_refused",
            Self::TooLarge { .. } => "request.too_large",
        }
    }

    /// What the caller should do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Json(_)
            | Self::Malformed { .. }
            | Self::UnknownCommand { .. }
            | Self::UnknownField { .. }
            | Self::MissingField { .. }
            | Self::DuplicateField { .. }
            | Self::BadField { .. } => Kind::Invalid,
            Self::InTransaction { cause, .. } => cause.kind(),
            Self::TooLarge { .. } => Kind::TooLarge,
        }
    }

    /// What to do next, as a sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Json(_) => "send one JSON value, nested at most 64 deep",
            Self::Malformed { .. } => "send an object with a `command` and its fields",
            Self::UnknownCommand { .. } => "see /openapi.json for the commands there are",
            Self::UnknownField { .. } => "leave it out, or spell it as in the detail",
            Self::MissingField { .. } => "add it",
            Self::DuplicateField { .. } => "send it once",
            Self::BadField { .. } => "correct it as the detail says",
            Self::InTransaction { cause, .. } => cause.hint(),
            Self::TooLarge { .. } => "split it into several requests",
        }
    }

    /// The same fault, with the field in which it was found, unless that is known.
    pub(super) fn within(self, name: &str) -> Self {
        match self {
            Self::BadField { field, reason } if field.is_empty() => {
                Self::BadField { field: name.to_owned(), reason }
            }
            known => known,
        }
    }

    /// A field that cannot be.
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
