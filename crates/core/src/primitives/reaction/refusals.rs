//! The reasons to refuse commands and queries of reactions.

use serde::Serialize;
use thiserror::Error;

use crate::names::ReactionName;
use crate::refusal::{OutOfRange, TooLarge, TooMany};

crate::refusals! {
    /// Why a reaction command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// The reaction would do nothing, or run on every event.
        #[error("reaction `{name}` {reason}")]
        Pointless {
            /// The name.
            name: ReactionName,
            /// The missing part.
            reason: &'static str,
        } => {
            code: "reaction.pointless",
            kind: Invalid,
            hint: "set `on` to select events, and `do` or `webhook` to act on them",
            cause: "It has neither `do` nor `webhook`, or `on` names neither a type nor a subject.",
            remedy: "Set `do` or `webhook`, and a type or a subject in `on`. `{\"type\": \"**\"}` \
                selects every event.",
        }
        /// A command of the reaction can never be executed.
        #[error("command {index} of reaction `{name}` cannot be executed: {reason}")]
        BadCommand {
            /// The reaction.
            name: ReactionName,
            /// Which command, counted from 0.
            index: usize,
            /// The reason.
            reason: String,
        } => {
            code: "reaction.bad_command",
            kind: Invalid,
            hint: "correct the command as the detail says",
            cause: "The command does not exist, is a query, changes reactions, has an unknown \
                field or lacks a required one, or contains an unreadable placeholder. `index` \
                counts commands from 0.",
        }
        /// The webhook cannot be used.
        #[error("the webhook of reaction `{name}` cannot be used: {reason}")]
        BadWebhook {
            /// The reaction.
            name: ReactionName,
            /// The reason.
            reason: String,
        } => {
            code: "reaction.bad_webhook",
            kind: Invalid,
            hint: "correct the webhook as the detail says",
            cause: "The URL is not `http://` or `https://` with a host, is too long, or contains \
                a password; or the secret is empty or longer than 256 bytes.",
        }
        /// No reaction has this name.
        #[error("there is no reaction `{name}`")]
        NotFound {
            /// The name.
            name: ReactionName,
        } => {
            code: "reaction.not_found",
            kind: NotFound,
            hint: "list the reactions with reaction.list",
            cause: "It was never added, or has been removed.",
        }
        /// The reaction is built in.
        #[error("reaction `{name}` is built in: it can only be enabled or disabled")]
        BuiltIn {
            /// The name.
            name: ReactionName,
        } => {
            code: "reaction.built_in",
            kind: Denied,
            hint: "choose another name, or disable it",
            cause: "Built-in reactions cannot be replaced or removed.",
            remedy: "Choose another name, or enable or disable the built-in one.",
        }
        /// There are too many reactions, commands or webhook calls.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "reaction.too_many",
            kind: Exhausted,
            hint: "remove unused reactions, or let queued webhook calls finish first",
            cause: "The workspace has 256 reactions, the reaction has more than 16 commands, or \
                1,000 webhook calls are queued because the server makes none. The last case is \
                reported by `reaction.failed`.",
            remedy: "Remove unused reactions; start the server with `--webhooks`.",
        }
        /// The reaction or a webhook call is too large.
        #[error(transparent)]
        TooLarge(#[from] TooLarge) => {
            code: "reaction.too_large",
            kind: TooLarge,
            hint: "make the reaction smaller",
            cause: "The reaction's commands exceed 64 KiB, or the event to post exceeds 256 KiB. \
                The latter is reported by `reaction.failed`.",
            remedy: "Make the reaction, or the event, smaller.",
        }
        /// The event lacks a field that a command of the reaction needs. Reported by
        /// `reaction.failed`.
        #[error("reaction `{name}` needs `{field}`, which the event does not have")]
        MissingField {
            /// The reaction.
            name: ReactionName,
            /// The field.
            field: String,
        } => {
            code: "reaction.missing_field",
            kind: Invalid,
            hint: "write `{{field?}}` for a field that may be absent",
            cause: "`{{field}}` names a field that this event does not have.",
            remedy: "Write `{{field?}}` for a field that may be absent, or test for it in `where` \
                with `has()`.",
        }
        /// The reaction's condition is neither true nor false for the event. Reported by
        /// `reaction.failed`.
        #[error(
            "the condition of reaction `{name}` cannot be evaluated, at byte {offset}: {reason}"
        )]
        NoAnswer {
            /// The reaction.
            name: ReactionName,
            /// The position in the condition, in bytes from 0.
            offset: usize,
            /// The reason.
            reason: String,
        } => {
            code: "reaction.no_answer",
            kind: Invalid,
            hint: "test with has() for fields that may be absent",
            cause: "It uses a field that this event does not have, compares incompatible values, \
                or takes too many steps. `offset` counts bytes from 0.",
        }
        /// A number in a reaction command is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "reaction.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "`limit` is 0 or more than 10000, `timeout_ms` is not between 100 and 60000, \
                or `retries` is more than 20.",
        }
    }
}
