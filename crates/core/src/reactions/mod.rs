//! What a reaction is made of: when it runs, what it does, and what comes with every workspace.
//!
//! ```text
//!   on     {type, subject, where}     which events        `Condition` is compiled once
//!   do     [{command, …}]             commands, with      `{{field}}` from the event
//!   webhook {url, secret, …}          a call, made by the server and not in the commit
//! ```
//!
//! What a condition sees as `event`, and a placeholder by its bare name, is the event as watchers
//! see it, and `about`: the subject without its first part, so that `tasks/t-1` is about `t-1`.
//!
//! | in a command | becomes |
//! |---|---|
//! | `"{{payload.count}}"` alone | the JSON value itself |
//! | `"built {{payload.name}} at {{time}}"` | a text with the values in it |
//! | `"{{result?}}"` | the value, or `null` where there is none |
//! | `{{result?}}` in a longer text | the value, or nothing where there is none |
//!
//! Invariants:
//!
//! 1. Filling in is total: it ends with a command or with a reason, and looks at nothing else.
//! 2. What can be known to be wrong when a reaction is added is refused then: an unknown command, a
//!    field that a command does not have or lacks, a placeholder that cannot be read.
//! 3. The secret of a webhook is shown to nobody: neither by [`Reaction`] nor by a public event nor
//!    by `Debug`.
//!
//! Deliberately absent: conditions and loops in commands. Whoever needs them reacts by creating a
//! task, and an agent thinks.

mod built_in;
mod calls;
mod checked;
mod condition;
mod filled;
mod record;
mod webhook;

pub use built_in::built_in;
pub use calls::{Call, Errand, Outcome};
pub use checked::check_commands;
pub use condition::{Condition, On};
pub use filled::{Unfillable, fill, seen};
pub use record::{Facts, Part, Reaction, Record, Trouble};
pub use webhook::{Secret, Unusable, Wanted, Webhook};
