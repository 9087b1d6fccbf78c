//! What messages are made of.
//!
//! | module | part |
//! |---|---|
//! | `message` | one message as it is kept and shown: its life, and what was asked with it |
//! | `address` | to whom a request goes: an agent, a handler, a capability |
//! | `shelf` | every known message, by all that it is looked up by |
//! | `desks` | who handles what, who has listened, and whose turn it is |
//! | `mailing` | the rules of sending, receiving and acknowledging |
//! | `requesting` | the rules of requests and their replies |
//! | `wishes` | what one may ask for, where it has many fields |
//! | `facts` | everything that a snapshot holds |

mod address;
mod desks;
mod facts;
pub(crate) mod mailing;
mod message;
pub(crate) mod requesting;
mod shelf;
mod wishes;

pub use address::Address;
pub use desks::{Desks, Handler, Listener, Seat};
pub use facts::Facts;
pub use message::{Asked, Given, Message, Status};
pub use shelf::{Amount, Shelf};
pub use wishes::{Ack, List, Receive, Request, Respond, Send};
