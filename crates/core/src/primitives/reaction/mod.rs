//! Reactions: commands and webhooks that run because of an event.
//!
//! ```text
//!   a commit of ada                                   added by bob: on task.completed do state.set
//!   ┌───────────────────────────────────────────────────────────────┐
//!   │ task.completed │ reaction.ran (as bob) │ state.set │ …         │  one revision
//!   └───────┬────────┴───────────────────────┴─────┬─────┴───────────┘
//!           └────── matches when it is recorded ───┴── may match again, one level deeper
//! ```
//!
//! A reaction runs in the commit of the event that triggers it, after the requested changes and
//! their consequences. Its commands are executed in order, by the same rules as any others, as the
//! agent that added it. `reaction.ran` contains the number of events after it that are its effects,
//! and [`Batch::author`](crate::Batch::author) returns their authors.
//!
//! ```text
//!   on      {type, subject, where}    which events; `Condition` is compiled once
//!   do      [{command, …}]            commands, with `{{field}}` from the event
//!   webhook {url, secret, …}          a call, made by the server and not in the commit
//! ```
//!
//! A condition sees the event as watches deliver it, as `event`; a placeholder names its fields
//! directly. Both also see `about`: the subject without its first part, so `tasks/t-1` is about
//! `t-1`.
//!
//! | in a command | becomes |
//! |---|---|
//! | `"{{payload.count}}"` alone | the JSON value |
//! | `"built {{payload.name}} at {{time}}"` | a text with the values in it |
//! | `"{{result?}}"` | the value, or `null` if there is none |
//! | `{{result?}}` in a longer text | the value, or nothing if there is none |
//!
//! A reaction that can be recognised as invalid is refused when it is added: an unknown command, an
//! unknown or missing field, a malformed placeholder. Commands have no conditions or loops; for
//! those, a reaction creates a task for an agent.
//!
//! Invariants:
//!
//! 1. A reaction fails alone. If one of its commands is refused, the run has no effect except
//!    `reaction.failed`; the commit and all other reactions succeed.
//! 2. No commit is refused because of a reaction.
//! 3. No chain is endless: reactions are at most
//!    [`REACTION_DEPTH_MAX`](crate::limits::REACTION_DEPTH_MAX) levels deep, and one commit has at
//!    most [`REACTION_RUNS_MAX`](crate::limits::REACTION_RUNS_MAX) runs. Where a limit ends a
//!    chain, `reaction.stopped` records it, once for each reaction.
//! 4. The order is fixed: events in order, and for each the reactions by name. The same commit
//!    always causes the same events.
//! 5. A webhook call is recorded before it is made, and at most one call of a reaction is in
//!    flight. Each ends: done, or dead after its last attempt.
//! 6. The signing secret of a webhook is in no public event and in no answer.
//!
//! Deliberately absent: reactions to events of reactions, which could trigger themselves; reactions
//! that change reactions; commands that wait; and calls inside a commit, which would make every
//! caller wait for another server.

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
pub use decide::query;
pub use record::{Facts, Part, Reaction, Record, Trouble};
pub use refusals::Rejection;
pub use table::{Table, Undo};
pub use template::{Unfillable, fill, seen};
pub use validation::check_commands;
pub use vocabulary::{Add, Command, Event, Limit, Query, Reply, Signal};
pub use webhook::{Secret, Unusable, Webhook, WebhookSpec};
