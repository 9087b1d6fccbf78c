//! The reasons to refuse commands and queries of rules.

use serde::Serialize;
use thiserror::Error;

use crate::names::RuleName;
use crate::refusal::TooMany;
use crate::rule::CheckError;

crate::refusals! {
    /// Why a rule command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// The check of the rule is invalid.
        #[error("the check of rule `{name}` is invalid: {fault}")]
        FaultyCheck {
            /// The rule.
            name: RuleName,
            /// The error in the check.
            fault: CheckError,
        } => {
            code: "rule.faulty_check",
            kind: Invalid,
            hint: "correct the check as the detail says",
            cause: "`check` has no field or several, or its field is invalid. The response names \
                the field and the problem. An invalid schema is reported as `request.bad_field`.",
            remedy: "Set exactly one of the fields of a check, corrected as the detail says.",
        }
        /// The expression of the rule is invalid.
        #[error("the expression of rule `{name}` is invalid, at byte {offset}: {reason}")]
        BadExpression {
            /// The rule.
            name: RuleName,
            /// The position in the expression, in bytes from 0.
            offset: usize,
            /// The reason.
            reason: String,
        } => {
            code: "rule.bad_expression",
            kind: Invalid,
            hint: "correct the expression at the given offset",
            cause: "It is not valid CEL syntax, is longer than 4096 bytes, nests deeper than 32 \
                levels, uses an unknown variable or function, or can never be true or false. \
                Comprehensions and regular expressions are not supported, on purpose. `offset` \
                counts bytes from 0.",
            remedy: "Correct the expression at the offset in the response.",
        }
        /// The message of the rule is too long.
        #[error("the message has {bytes} bytes; the limit is {bytes_max}")]
        MessageTooLong {
            /// Its length.
            bytes: usize,
            /// The maximum length.
            bytes_max: usize,
        } => {
            code: "rule.message_too_long",
            kind: TooLarge,
            hint: "shorten the message",
            cause: "It exceeds 1024 bytes.",
            remedy: "Shorten it; the specific objection is reported anyway.",
        }
        /// No rule has this name.
        #[error("there is no rule `{name}`")]
        NotFound {
            /// The name.
            name: RuleName,
        } => {
            code: "rule.not_found",
            kind: NotFound,
            hint: "list the rules with rule.list",
            cause: "It was never added, or has been removed.",
        }
        /// The workspace has too many rules.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "rule.too_many",
            kind: Exhausted,
            hint: "remove unused rules, or combine several in one expression",
            cause: "There are 256. Every hand-off may have to be checked against all of them.",
        }
        /// The page size is out of range.
        #[error("limit must be between 1 and {max}, not {given}")]
        LimitOutOfRange {
            /// The given value.
            given: usize,
            /// The maximum.
            max: usize,
        } => {
            code: "rule.limit_out_of_range",
            kind: Invalid,
            hint: "use a page size within the range",
            cause: "`limit` is 0 or more than 10000.",
            remedy: "Use a page size within the range, and continue with the `cursor`.",
        }
    }
}
