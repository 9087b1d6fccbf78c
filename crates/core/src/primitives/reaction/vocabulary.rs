//! Commands, queries, replies and events of reactions.

use serde::{Deserialize, Serialize};

use crate::json::Json;
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, ReactionName};
use crate::primitive;
use crate::reaction::{On, Outcome, Reaction, Secret, Webhook, WebhookCall, WebhookSpec};
use crate::time::Timestamp;

/// Commands that change reactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `reaction.add`: replaces a reaction of the same name.
    Add(Box<Add>),
    /// `reaction.remove`: also discards its pending webhook calls.
    Remove {
        /// The name of the reaction.
        name: ReactionName,
    },
    /// `reaction.enable`: it runs from now on.
    Enable {
        /// The name of the reaction.
        name: ReactionName,
    },
    /// `reaction.disable`: it does not run until it is enabled again.
    Disable {
        /// The name of the reaction.
        name: ReactionName,
    },
    /// Sent by the server: takes the webhook calls that are due, one per reaction.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Take {
        /// The maximum number of calls.
        max: usize,
    },
    /// Sent by the server: the outcome of an attempt.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Settle {
        /// The call.
        call: u64,
        /// The attempt.
        attempt: u64,
        /// The outcome.
        outcome: Outcome,
    },
}

/// No signal is only for reactions.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {}

/// Adds or replaces a reaction. At least one of `do` and `webhook` is required.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AddReaction"))]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// The name of the reaction.
    pub name: ReactionName,
    /// The events that it runs on.
    pub on: On,
    /// Commands to execute, as objects with `command`. `{{field}}` is replaced by a field of the
    /// event.
    #[serde(rename = "do", default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Json>,
    /// A webhook to call. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookSpec>,
    /// Whether it runs.
    #[cfg_attr(feature = "schema", schemars(extend("default" = true)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Queries about reactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `reaction.get`
    Get {
        /// The name of the reaction.
        name: ReactionName,
    },
    /// `reaction.list`: a page, by name.
    List {
        /// The maximum number of results.
        #[cfg_attr(feature = "schema", schemars(
            extend("default" = limits::PAGE_DEFAULT),
            range(min = 1, max = limits::PAGE_MAX),
        ))]
        #[serde(default)]
        limit: Option<u64>,
        /// The `cursor` of the previous page. If omitted, the first page is returned.
        #[serde(default)]
        cursor: Option<ReactionName>,
    },
}

/// Replies about reactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One reaction.
    Reaction(Box<Reaction>),
    /// A page of results, by name.
    Reactions {
        /// The results on this page.
        reactions: Vec<Reaction>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<ReactionName>,
    },
    /// Webhook calls to make, and when to ask again. For the server only.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Calls {
        /// The calls.
        calls: Vec<WebhookCall>,
        /// When the next call is due.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_at: Option<Timestamp>,
    },
    /// Nothing to return.
    Done,
}

/// The limit that ended a chain of reactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Too many levels of reactions.
    Depth,
    /// Too many runs in one commit.
    Runs,
}

/// Events of reactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A reaction was added or replaced.
    Added {
        /// The reaction.
        reaction: ReactionName,
        /// The events that it runs on.
        on: On,
        /// The commands.
        #[serde(rename = "do", default, skip_serializing_if = "Vec::is_empty")]
        commands: Vec<Json>,
        /// The webhook.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        webhook: Option<Webhook>,
        /// Whether it is enabled.
        enabled: bool,
        /// Whether it replaced a reaction of the same name.
        replaced: bool,
    },
    /// The signing secret of its webhook. Not public.
    Sealed {
        /// The reaction.
        reaction: ReactionName,
        /// The secret.
        secret: Secret,
    },
    /// It was removed, with its pending webhook calls.
    Removed {
        /// The reaction.
        reaction: ReactionName,
    },
    /// It was enabled.
    Enabled {
        /// The reaction.
        reaction: ReactionName,
    },
    /// It was disabled.
    Disabled {
        /// The reaction.
        reaction: ReactionName,
    },
    /// It ran: the events after this one are its effects.
    Ran {
        /// The reaction.
        reaction: ReactionName,
        /// The agent that it ran as.
        by: AgentId,
        /// The index in this commit of the event that caused it.
        cause: usize,
        /// The number of reaction levels since the original request.
        depth: usize,
        /// How many of the following events are its effects.
        events: usize,
    },
    /// It failed, and has no effects.
    Failed {
        /// The reaction.
        reaction: ReactionName,
        /// The index in this commit of the event that caused it.
        cause: usize,
        /// The index of the rejected command, from 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<usize>,
        /// The code of the rejection.
        code: String,
        /// The error, in words.
        detail: String,
    },
    /// It did not run because of a limit.
    Stopped {
        /// The reaction.
        reaction: ReactionName,
        /// The index in this commit of the first event that it would have run on.
        cause: usize,
        /// The limit.
        limit: Limit,
        /// The value of the limit.
        max: usize,
    },
    /// A webhook call is to be made.
    Called {
        /// The reaction.
        reaction: ReactionName,
        /// The number of the call.
        call: u64,
        /// The body to post.
        body: Json,
        /// When the call is given up.
        give_up_at: Timestamp,
    },
    /// A webhook call started.
    CallBegun {
        /// The reaction.
        reaction: ReactionName,
        /// The number of the call.
        call: u64,
        /// The attempt, starting at 1.
        attempt: u64,
        /// When the attempt counts as failed without an outcome.
        until: Timestamp,
    },
    /// A webhook call succeeded.
    CallDone {
        /// The reaction.
        reaction: ReactionName,
        /// The number of the call.
        call: u64,
        /// The attempt that succeeded.
        attempt: u64,
        /// The HTTP status of the response.
        status: u16,
    },
    /// An attempt failed, and there will be another.
    CallFailed {
        /// The reaction.
        reaction: ReactionName,
        /// The number of the call.
        call: u64,
        /// The attempt that failed.
        attempt: u64,
        /// The error, in words.
        detail: String,
        /// When the next attempt is due.
        again_at: Timestamp,
    },
    /// The last attempt failed, or the call was given up.
    CallDead {
        /// The reaction.
        reaction: ReactionName,
        /// The number of the call.
        call: u64,
        /// The number of attempts.
        attempt: u64,
        /// The error, in words.
        detail: String,
    },
}

impl primitive::Command for Command {}

impl Event {
    /// The reaction that it is about.
    pub fn reaction(&self) -> &ReactionName {
        match self {
            Self::Added { reaction, .. }
            | Self::Sealed { reaction, .. }
            | Self::Removed { reaction }
            | Self::Enabled { reaction }
            | Self::Disabled { reaction }
            | Self::Ran { reaction, .. }
            | Self::Failed { reaction, .. }
            | Self::Stopped { reaction, .. }
            | Self::Called { reaction, .. }
            | Self::CallBegun { reaction, .. }
            | Self::CallDone { reaction, .. }
            | Self::CallFailed { reaction, .. }
            | Self::CallDead { reaction, .. } => reaction,
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Added { .. } => "reaction.added",
            Self::Sealed { .. } => "reaction.sealed",
            Self::Removed { .. } => "reaction.removed",
            Self::Enabled { .. } => "reaction.enabled",
            Self::Disabled { .. } => "reaction.disabled",
            Self::Ran { .. } => "reaction.ran",
            Self::Failed { .. } => "reaction.failed",
            Self::Stopped { .. } => "reaction.stopped",
            Self::Called { .. } => "reaction.called",
            Self::CallBegun { .. } => "reaction.call_begun",
            Self::CallDone { .. } => "reaction.call_done",
            Self::CallFailed { .. } => "reaction.call_failed",
            Self::CallDead { .. } => "reaction.call_dead",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["reactions/", self.reaction().as_str(), "", ""]
    }

    fn load(&self) -> usize {
        match self {
            Self::Added { on, commands, webhook, .. } => {
                let commands = commands.iter().map(|command| command.as_bytes().len() + 5);
                let url = webhook.as_ref().map_or(0, |webhook| webhook.url.len() + 64);
                on.weight() + commands.sum::<usize>() + url
            }
            Self::Sealed { secret, .. } => secret.reveal().len(),
            Self::Ran { by, .. } => by.as_str().len(),
            Self::Failed { code, detail, .. } => code.len() + detail.len(),
            Self::Called { body, .. } => body.as_bytes().len(),
            Self::CallFailed { detail, .. } | Self::CallDead { detail, .. } => detail.len(),
            Self::Removed { .. }
            | Self::Enabled { .. }
            | Self::Disabled { .. }
            | Self::Stopped { .. }
            | Self::CallBegun { .. }
            | Self::CallDone { .. } => 0,
        }
    }

    fn is_public(&self) -> bool {
        !matches!(self, Self::Sealed { .. })
    }
}
