//! The words of reactions.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::names::{AgentId, ReactionName};
use crate::reaction::{On, Outcome, Reaction, Secret, Webhook, WebhookCall, WebhookSpec};
use crate::time::Timestamp;

/// What one may ask of reactions so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `reaction.add`: a reaction of the same name is replaced.
    Add(Box<Add>),
    /// `reaction.remove`: calls that were not made yet go with it.
    Remove {
        /// Which.
        name: ReactionName,
    },
    /// `reaction.enable`: it runs from now on.
    Enable {
        /// Which.
        name: ReactionName,
    },
    /// `reaction.disable`: it runs no more, until it is enabled again.
    Disable {
        /// Which.
        name: ReactionName,
    },
    /// Some calls have been without a word, or to no use, for too long. Sent by the engine.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Expire,
    /// Whoever makes calls takes those that are due, one of each reaction. Sent by the server.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Take {
        /// How many at most.
        max: usize,
    },
    /// What came of a try. Sent by the server.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Settle {
        /// Which call.
        call: u64,
        /// Which try.
        attempt: u64,
        /// What came of it.
        outcome: Outcome,
    },
}

/// Adds a reaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AddReaction"))]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Its name.
    pub name: ReactionName,
    /// Which events.
    pub on: On,
    /// What to do then: commands, with `{{field}}` for what the event says.
    #[serde(rename = "do", default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Json>,
    /// What to call then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookSpec>,
    /// Whether it runs at once; it does if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// What one may ask of reactions without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `reaction.get`
    Get {
        /// Which.
        name: ReactionName,
    },
    /// `reaction.list`: a page, by name.
    List {
        /// How many at most.
        #[serde(default)]
        limit: Option<u64>,
        /// Where the page before ended.
        #[serde(default)]
        cursor: Option<ReactionName>,
    },
}

/// Answers of reactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One reaction.
    Reaction(Box<Reaction>),
    /// A page of them, by name.
    Reactions {
        /// The page.
        reactions: Vec<Reaction>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<ReactionName>,
    },
    /// Calls to make, and when to ask again if nothing else happens. For the server only.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Calls {
        /// The calls.
        calls: Vec<WebhookCall>,
        /// When the next one is due that is not due yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_at: Option<Timestamp>,
    },
    /// Nothing to tell.
    Done,
}

/// What ended a chain of reactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// What reactions cause went on for too many levels.
    Depth,
    /// One commit had too many runs.
    Runs,
}

/// Facts about reactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// There is a new one, or another one under the same name.
    Added {
        /// Which.
        reaction: ReactionName,
        /// Which events.
        on: On,
        /// What to do then.
        #[serde(rename = "do", default, skip_serializing_if = "Vec::is_empty")]
        commands: Vec<Json>,
        /// What to call then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        webhook: Option<Webhook>,
        /// Whether it runs.
        enabled: bool,
        /// Whether another reaction had the name until now.
        replaced: bool,
    },
    /// What its calls are signed with. Nobody is told.
    Sealed {
        /// Which.
        reaction: ReactionName,
        /// The secret.
        secret: Secret,
    },
    /// It is gone, and with it the calls that were not made.
    Removed {
        /// Which.
        reaction: ReactionName,
    },
    /// It runs from now on.
    Enabled {
        /// Which.
        reaction: ReactionName,
    },
    /// It runs no more.
    Disabled {
        /// Which.
        reaction: ReactionName,
    },
    /// It ran: the events after this one are its doing.
    Ran {
        /// Which.
        reaction: ReactionName,
        /// In whose name.
        by: AgentId,
        /// The event of this commit that it is about, by its index.
        cause: usize,
        /// How many levels of reactions lie between that and what was asked for.
        depth: usize,
        /// How many of the events after this one are its doing.
        events: usize,
    },
    /// It could not run, and nothing of it remains.
    Failed {
        /// Which.
        reaction: ReactionName,
        /// The event of this commit that it is about, by its index.
        cause: usize,
        /// The command that was refused, counted from 0, if one was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<usize>,
        /// The code of the refusal.
        code: String,
        /// What went wrong.
        detail: String,
    },
    /// It would have run, but for a limit.
    Stopped {
        /// Which.
        reaction: ReactionName,
        /// The first event of this commit that it would have run on, by its index.
        cause: usize,
        /// Which limit.
        limit: Limit,
        /// How much that is.
        max: usize,
    },
    /// There is a call to make.
    Called {
        /// Which.
        reaction: ReactionName,
        /// The number of the call.
        call: u64,
        /// What to post.
        body: Json,
        /// After this it is no use any more.
        give_up_at: Timestamp,
    },
    /// A call is being made.
    CallBegun {
        /// Which.
        reaction: ReactionName,
        /// The number of the call.
        call: u64,
        /// The first try, the second, and so on.
        attempt: u64,
        /// Whoever makes it is heard of by then.
        until: Timestamp,
    },
    /// A call was taken.
    CallDone {
        /// Which.
        reaction: ReactionName,
        /// The number of the call.
        call: u64,
        /// The try that was taken.
        attempt: u64,
        /// The status of the answer.
        status: u16,
    },
    /// A try failed, and there will be another.
    CallFailed {
        /// Which.
        reaction: ReactionName,
        /// The number of the call.
        call: u64,
        /// The try that failed.
        attempt: u64,
        /// What went wrong.
        detail: String,
        /// Not before this moment it is tried again.
        again_at: Timestamp,
    },
    /// The last try failed, or the call was to no use any more.
    CallDead {
        /// Which.
        reaction: ReactionName,
        /// The number of the call.
        call: u64,
        /// How often it was tried.
        attempt: u64,
        /// What went wrong.
        detail: String,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
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

    /// Whether watchers are told.
    pub fn is_public(&self) -> bool {
        !matches!(self, Self::Sealed { .. })
    }

    /// The reaction it is about.
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

    /// Bytes of what the frame of an event has no room for.
    pub(crate) fn load(&self) -> usize {
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
}
