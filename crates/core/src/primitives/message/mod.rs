//! Messages: an inbox for every agent, and requests whose senders wait for a reply.
//!
//! ```text
//!           receive             ack
//!   waiting ───────▶ delivered ──────▶ acked         time to live over: expired, from either
//!      ▲ ▲               │
//!      │ └───────────────┤ not acknowledged in time
//!      │ requeue         ▼ too often
//!      └─────────────── dead
//!
//!   a request:  waiting ─▶ delivered ─reply─▶ replied      its sender is answered by that commit
//!                  ▲           ├─▶ timed_out               not answered in time
//!                  └───────────┴─▶ lost                    its handler is gone, no other left
//!                   another handles it
//! ```
//!
//! Sending does not wait, and the receiver need not be registered yet. An agent receives the
//! messages of its own inbox, oldest first, and acknowledges them; a message that is not
//! acknowledged in time is delivered again, in the same order.
//!
//! A request is a message with a deadline, for an agent that listens now: one that waits for
//! messages, has received or polled in its present session, or has registered the handler in it.
//! Among several agents the one whose last request is longest ago gets it. It is delivered once; if
//! the session of its handler ends, another agent gets it or the sender is answered with an error.
//! A reply acknowledges it. A sender that lost its connection repeats the request with its
//! idempotency key, and gets its place or the reply.
//!
//! A live request (`keep: false`) is only in memory: see `live`.
//!
//! | part | is |
//! |---|---|
//! | `record` | one message as it is stored and shown |
//! | `address` | the target of a request: an agent, a handler, a capability |
//! | `store` | every known message, with its indexes |
//! | `handlers` | which agents handle what, and which of them is next |
//! | `mail` | the rules of sending, receiving and acknowledging |
//! | `requests` | the rules of requests and their replies |
//! | `live` | the open requests that are only in memory |
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. A message is in one inbox, where it is waiting, delivered or finished.
//! 2. No call waits for messages that are available.
//! 3. A request is answered once, and a call that waits for a reply waits for an open request.
//! 4. A message that was acknowledged, answered, expired or lost is never delivered again.
//!
//! Deliberately absent: sending to many agents at once, for which there are topics.

mod address;
mod decide;
mod facts;
mod handlers;
mod live;
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
pub(crate) use decide::{Decided, decide};
pub use decide::{View, ending, query};
pub use facts::Facts;
pub use handlers::{Handler, HandlerRegistry, Listener, Replaced};
pub use live::{LiveEnded, LiveHanded, LiveRequests};
pub use payloads::{Ack, List, Receive, Request, Respond, Send};
pub use record::{Asked, Given, Message, Status};
pub use refusals::Rejection;
pub use store::{Amount, MessageStore};
pub use table::{Table, Undo};
pub use vocabulary::{Answered, Command, Event, Failed, Query, Reply, Requested, Sent, Signal};
