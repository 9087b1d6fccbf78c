//! The reasons to refuse commands and queries of namespaces.

use serde::Serialize;
use thiserror::Error;

use super::vocabulary::Namespace;
use crate::names::NamespaceName;
use crate::refusal::TooMany;

crate::refusals! {
    /// Why a namespace command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// A namespace with this name already exists.
        #[error("namespace `{}` already exists", .namespace.name)]
        Exists {
            /// The existing namespace.
            namespace: Box<Namespace>,
        } => {
            code: "namespace.exists",
            kind: Conflict,
            hint: "use it as it is, or change its rules with namespace.configure",
            cause: "It was created before; the response contains it.",
        }
        /// No namespace has this name.
        #[error("there is no namespace `{name}`")]
        NotFound {
            /// The name.
            name: NamespaceName,
        } => {
            code: "namespace.not_found",
            kind: NotFound,
            hint: "create it with namespace.create",
            cause: "It was never created, or was deleted.",
        }
        /// The rules are invalid.
        #[error("the rules for namespace `{name}` are invalid: {fault}")]
        FaultyRules {
            /// The name.
            name: NamespaceName,
            /// The error in the rules.
            fault: String,
        } => {
            code: "namespace.faulty_rules",
            kind: Invalid,
            hint: "correct the rules as the detail says",
            cause: "A time to live or size is out of range, there are more than 64 key patterns, \
                or the rules for keys are nested.",
            remedy: "Correct what the detail names.",
        }
        /// The schema version is not newer than the current one.
        #[error("schema version {given} of namespace `{name}` is not newer than {current}")]
        OldSchemaVersion {
            /// The name.
            name: NamespaceName,
            /// The given value.
            given: u32,
            /// The current value.
            current: u32,
        } => {
            code: "namespace.old_schema_version",
            kind: Conflict,
            hint: "read the current rules and use the next version",
            cause: "When a schema has a version, a changed schema needs a larger one, so that \
                concurrent changes are detected. A schema without a version counts as version 0.",
            remedy: "Read the current rules with `namespace.get`, decide again, and use the next \
                version.",
        }
        /// This namespace cannot be deleted.
        #[error("namespace `{name}` belongs to the workspace and cannot be deleted")]
        Permanent {
            /// The name.
            name: NamespaceName,
        } => {
            code: "namespace.permanent",
            kind: Invalid,
            hint: "delete its entries instead",
            cause: "`shared` is part of every workspace.",
        }
        /// The workspace has too many namespaces.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "namespace.too_many",
            kind: Exhausted,
            hint: "delete unused namespaces, or use another workspace",
            cause: "There are 100,000, including those of agents. Registering a new agent also \
                needs one.",
        }
        /// The page size is out of range.
        #[error("limit must be between 1 and {max}, not {given}")]
        LimitOutOfRange {
            /// The given value.
            given: usize,
            /// The maximum.
            max: usize,
        } => {
            code: "namespace.limit_out_of_range",
            kind: Invalid,
            hint: "use a page size within the range",
            cause: "`limit` is 0 or more than 10000.",
            remedy: "Use a page size within the range, and continue with the `cursor`.",
        }
    }
}
