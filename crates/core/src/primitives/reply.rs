//! All replies, as a sum over the primitives.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::list::primitives;
use super::minimal::Minimal;
use crate::numbers::Revision;
use crate::{checkpoint, context, handoff, join, lock, message, semaphore, task, wait};

macro_rules! reply {
    ($($(#[$doc:meta])* $module:ident: $variant:ident = $wire:literal $(, $facts:ident)?;)*) => {
        /// The reply to one command or query.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum Reply {
            $(
                $(#[$doc])*
                #[serde(rename = $wire)]
                $variant(crate::$module::Reply),
            )*
            /// About context.
            Context(context::Reply),
            /// One reply per command of a transaction, in order.
            Transaction(Vec<Reply>),
            /// The minimal form of a reply, if it was requested.
            #[cfg_attr(feature = "schema", schemars(skip))]
            Minimal(Box<Minimal>),
        }

        $(
            impl From<crate::$module::Reply> for Reply {
                fn from(reply: crate::$module::Reply) -> Self {
                    Self::$variant(reply)
                }
            }
        )*
    };
}
primitives!(reply);

/// A reply, and the revision that it reflects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The revision of the workspace.
    pub revision: Revision,
    /// The reply.
    pub reply: Reply,
}

impl Reply {
    /// Whether it means that nothing was granted, received or settled.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::Lock(lock::Reply::Hold(None))
            | Self::Semaphore(semaphore::Reply::Permit(None))
            | Self::Task(task::Reply::Claimed(None))
            | Self::Handoff(handoff::Reply::Received(None))
            | Self::Join(join::Reply::Settled(None))
            | Self::Wait(
                wait::Reply::Task(None) | wait::Reply::Handoff(None) | wait::Reply::Next(None),
            ) => true,
            Self::Message(message::Reply::Received { messages }) => messages.is_empty(),
            Self::Task(task::Reply::ClaimedTasks { tasks }) => tasks.is_empty(),
            _ => false,
        }
    }

    /// The answer to a claim of one task as that to a claim of several.
    pub(crate) fn into_list(self) -> Self {
        match self {
            Self::Task(task::Reply::Claimed(task)) => {
                let tasks = task.into_iter().map(|task| *task).collect();
                Self::Task(task::Reply::ClaimedTasks { tasks })
            }
            reply => reply,
        }
    }

    /// The restored checkpoints in it.
    pub(crate) fn restored(&mut self) -> Vec<&mut checkpoint::Checkpoint> {
        match self {
            Self::Checkpoint(checkpoint::Reply::Restored(checkpoint)) => vec![&mut **checkpoint],
            Self::Transaction(replies) => replies.iter_mut().flat_map(Self::restored).collect(),
            _ => Vec::new(),
        }
    }
}

impl Answer {
    /// The same without the states of checkpoints, which may be large and never change: the receipt
    /// need not contain them.
    pub(crate) fn without_states(&self) -> Cow<'_, Self> {
        match &self.reply {
            Reply::Checkpoint(_) | Reply::Transaction(_) => {
                let mut answer = self.clone();
                answer.reply.restored().into_iter().for_each(|it| it.state = None);
                Cow::Owned(answer)
            }
            _ => Cow::Borrowed(self),
        }
    }
}
