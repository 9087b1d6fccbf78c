//! Why commands and queries of contracts are refused, and commands that would break one.

use serde::Serialize;
use thiserror::Error;

use super::terms::Breach;
use crate::names::{AgentId, ContractName, NamespaceName};
use crate::refusal::{BadField, TooMany};

crate::refusals! {
    /// Why a request about contracts was refused, or a command that would break one.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// The command would break a contract.
        #[error("contract `{contract}` of `{owner}` would be broken: {place}: expected \
            {expected}; found: {found}", place = breach.place(), expected = breach.expected,
            found = breach.found)]
        Broken {
            /// The contract.
            contract: ContractName,
            /// The agent that depends on the key.
            owner: AgentId,
            /// The breach that the command would cause.
            #[serde(flatten)]
            breach: Breach,
        } => {
            code: "contract.broken",
            kind: Conflict,
            hint: "write a value that satisfies the contract, or ask its owner to change it",
            cause: "A receiver declared that it depends on the key, with `on_break: refuse`: the \
                entry, its type, a field or its schema. The response names the contract, its \
                owner, the key, the field and what is expected. Nothing was written.",
            remedy: "Write a value that satisfies the contract, keep the old field in addition to \
                the new one, or ask the owner to change or delete the contract.",
        }
        /// Another agent owns the contract.
        #[error("contract `{contract}` belongs to `{owner}`")]
        NotOwner {
            /// The contract.
            contract: ContractName,
            /// Its owner.
            owner: AgentId,
        } => {
            code: "contract.not_owner",
            kind: Conflict,
            hint: "ask its owner, choose another name, or delete it with force",
            cause: "A contract is replaced and deleted by the agent that declared it.",
            remedy: "Ask its owner, choose another name, or delete it with `force: true` if its \
                owner is gone.",
        }
        /// The declaration is invalid.
        #[error(transparent)]
        BadField(#[from] BadField) => {
            code: "contract.bad_field",
            kind: Invalid,
            hint: "correct the field as the detail says",
            cause: "There is no key or more than 64, a key is not `namespace/key`, it has more \
                than 64 fields or an invalid one, or the contract has more than 64 KiB.",
            remedy: "Correct the field as the detail says, or split the contract.",
        }
        /// No contract has this name.
        #[error("there is no contract `{name}`")]
        NotFound {
            /// The name.
            name: ContractName,
        } => {
            code: "contract.not_found",
            kind: NotFound,
            hint: "list the contracts with contract.list",
            cause: "It was never declared, or has been deleted.",
        }
        /// The workspace has too many contracts, or too many patterns in them.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "contract.too_many",
            kind: Exhausted,
            hint: "delete unused contracts, or combine several in one",
            cause: "There are 256 contracts, or 256 patterns with wildcards in them, which are \
                matched on every write.",
        }
        /// A schema to check was given without a namespace.
        #[error("a schema can only be checked for a namespace, and none was given")]
        SchemaWithoutNamespace {} => {
            code: "contract.schema_without_namespace",
            kind: Invalid,
            hint: "name the namespace of the schema",
            cause: "A schema belongs to a namespace.",
            remedy: "Name the namespace that the schema is for.",
        }
        /// No namespace has this name.
        #[error("there is no namespace `{namespace}`")]
        UnknownNamespace {
            /// The namespace.
            namespace: NamespaceName,
        } => {
            code: "contract.unknown_namespace",
            kind: NotFound,
            hint: "create it with namespace.create",
            cause: "It was never created, or has been deleted.",
            remedy: "Create it, or name another.",
        }
        /// The request would have to examine too much data.
        #[error("more than {max} {what} would have to be examined")]
        TooMuch {
            /// The name of the counted objects.
            what: &'static str,
            /// The limit.
            max: usize,
        } => {
            code: "contract.too_much",
            kind: Exhausted,
            hint: "name one namespace, or use a pattern with a longer literal prefix",
            cause: "There are more than 200000 hand-offs, stages and keys, the namespace has more \
                than 10000 entries or 16 MiB of values, or the schema takes too long on them. \
                `namespace.delete` is also rejected with this code if a contract with a pattern \
                applies to a namespace with more entries.",
            remedy: "Name another namespace; delete finished pipelines and let ended hand-offs be \
                removed. Before deleting a large namespace, delete the contract, or its keys.",
        }
        /// The page size is out of range.
        #[error("limit must be between 1 and {max}, not {given}")]
        LimitOutOfRange {
            /// The given value.
            given: usize,
            /// The maximum.
            max: usize,
        } => {
            code: "contract.limit_out_of_range",
            kind: Invalid,
            hint: "use a page size within the range",
            cause: "`limit` is 0 or more than 10000.",
            remedy: "Use a page size within the range, and continue with the `cursor`.",
        }
    }
}
