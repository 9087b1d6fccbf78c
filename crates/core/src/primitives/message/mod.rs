//! Messages: mail that waits for its receiver, and requests whose senders wait for an answer.
//!
//! ```text
//!          receive             ack
//!  waiting ───────▶ delivered ──────▶ acked         time to live over: expired, from either
//!     ▲ ▲               │
//!     │ └───────────────┤ not acknowledged in time
//!     │ requeue         ▼ too often
//!     └─────────────── dead
//!
//!  a request:  waiting ─▶ delivered ─reply─▶ replied      its sender is told by that commit
//!                 ▲           ├─▶ timed_out               nobody answered in time
//!                 └───────────┴─▶ lost                    who had it is gone, nobody else has it
//!                  another handles it
//! ```
//!
//! Whoever sends a message goes on at once; whoever it is for need not be there yet. An agent
//! receives its own mail, oldest first, and acknowledges it; what it does not acknowledge in time
//! it gets again, in the same order.
//!
//! A request is a message with a deadline, for an agent that listens now: one that waits for mail,
//! has asked for it in its present session, or has registered a handler of that name in it. Among
//! several it goes to the one whose turn is longest ago. It is delivered once; that its handler
//! dies is known by the end of the session, and then another gets it or the sender is told.
//! Answering acknowledges it. A sender that lost its connection repeats the request under its
//! idempotency key, and gets its place or the answer.
//!
//! | part | is |
//! |---|---|
//! | `record` | one message as it is kept and shown |
//! | `address` | the target of a request: an agent, a handler, a capability |
//! | `store` | every known message, with its indexes |
//! | `handlers` | which agents handle what, and which of them is next |
//! | `mail` | the rules of sending, receiving and acknowledging |
//! | `requests` | the rules of requests and their replies |
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. A message is in one inbox, and there it waits, is held, or is over.
//! 2. Nobody waits for mail that is there.
//! 3. A request is answered once, and whoever waits for that waits for an open one.
//! 4. What was acknowledged, answered, expired or lost is never delivered again.
//!
//! Deliberately absent: sending to many at once. That is a topic.

mod address;
mod decide;
mod facts;
mod handlers;
pub(crate) mod mail;
pub(crate) mod operations;
mod payloads;
mod record;
mod refusals;
pub(crate) mod requests;
mod store;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use address::Address;
pub use decide::{Decided, ReplyPlan, View, decide, ending, query};
pub use facts::Facts;
pub use handlers::{Handler, HandlerRegistry, Listener, Replaced};
pub use payloads::{Ack, List, Receive, Request, Respond, Send};
pub use record::{Asked, Given, Message, Status};
pub use refusals::Rejection;
pub use store::{Amount, MessageStore};
pub use table::{Table, Undo};
pub use vocabulary::{Answered, Command, Event, Failed, Query, Reply, Requested, Sent};
