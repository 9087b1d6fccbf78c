//! Reactions: what happens because something happened, as data.
//!
//! ```text
//!   a commit of ada                                   added by bob: on task.completed do state.set
//!   ┌───────────────────────────────────────────────────────────────┐
//!   │ task.completed │ reaction.ran (as bob) │ state.set │ …         │  one revision
//!   └───────┬────────┴───────────────────────┴─────┬─────┴───────────┘
//!           └────── matches, as it is written ─────┴── may match again, one level deeper
//! ```
//!
//! A reaction runs in the commit of the event that it is about, after everything that was asked for
//! and everything that follows from that. Its commands are carried out one after the other, by the
//! same rules as anybody's, in the name of whoever added it. `reaction.ran` says how many of the
//! events after it are its doing, and [`Batch::author`](crate::Batch::author) whose they are.
//!
//! ```text
//!   on      {type, subject, where}    which events; `Condition` is compiled once
//!   do      [{command, …}]            commands, with `{{field}}` from the event
//!   webhook {url, secret, …}          a call, made by the server and not in the commit
//! ```
//!
//! A condition sees the event as watchers do, as `event`; a placeholder names its fields directly.
//! Both also see `plan`: the subject without its first part, so `tasks/t-1` is about `t-1`.
//!
//! | in a command | becomes |
//! |---|---|
//! | `"{{payload.count}}"` alone | the JSON value |
//! | `"built {{payload.name}} at {{time}}"` | a text with the values in it |
//! | `"{{result?}}"` | the value, or `null` if there is none |
//! | `{{result?}}` in a longer text | the value, or nothing if there is none |
//!
//! A reaction that can be known to be wrong is refused when it is added: an unknown command, an
//! unknown or missing field, an unreadable placeholder. Commands have no conditions or loops; for
//! those, a reaction creates a task for an agent.
//!
//! Invariants:
//!
//! 1. A reaction fails alone. If a command of it is refused, nothing of that run remains but
//!    `reaction.failed`; the commit and all other reactions go on.
//! 2. No commit is refused because of a reaction.
//! 3. No loop is endless: what reactions cause is at most
//!    [`REACTION_DEPTH_MAX`](crate::limits::REACTION_DEPTH_MAX) levels deep, and one commit has at
//!    most [`REACTION_RUNS_MAX`](crate::limits::REACTION_RUNS_MAX) runs. Where that ends a chain,
//!    `reaction.stopped` says so, once for each reaction.
//! 4. The order is fixed: events in order, and for each the reactions by name. The same commit
//!    always causes the same events.
//! 5. A call of a webhook is a fact before it is made, and at most one of a reaction is being made
//!    at a time. Each ends: done, or dead after its last try.
//! 6. What a webhook is signed with is in no public event and in no answer.
//!
//! Deliberately absent: reactions to what happens to reactions, which would answer to themselves;
//! reactions that change reactions; commands that wait; and calls inside a commit, which would make
//! everybody wait for a stranger.

mod built_in;
mod calls;
mod condition;
mod decide;
pub(crate) mod operations;
mod record;
mod refusals;
mod table;
mod template;
#[cfg(test)]
mod tests;
mod validation;
mod vocabulary;
mod webhook;

pub use built_in::built_in;
pub use calls::{Outcome, PendingCall, WebhookCall};
pub use condition::{Condition, On};
pub use decide::{Decided, ReplyPlan, decide, query};
pub use record::{Facts, Part, Reaction, Record, Trouble};
pub use refusals::Rejection;
pub use table::{Table, Undo};
pub use template::{Unfillable, fill, seen};
pub use validation::check_commands;
pub use vocabulary::{Add, Command, Event, Limit, Query, Reply};
pub use webhook::{Secret, Unusable, Webhook, WebhookSpec};
