//! Everything about messages that a snapshot holds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Handler, Listener, Message};
use crate::names::{AgentId, MessageId};
use crate::waiting::wait_queue::Waiter;

/// Everything about messages that a snapshot holds. It shares the records with the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Every known message, by id.
    pub records: Vec<Arc<Message>>,
    /// Who waits for mail, in order of arrival.
    pub receivers: Vec<Waiter<AgentId>>,
    /// Who waits for an answer, in order of arrival.
    pub requesters: Vec<Waiter<MessageId>>,
    /// Who handles what.
    pub handlers: Vec<Handler>,
    /// Who has listened, and whose turn it was.
    pub listeners: Vec<(AgentId, Listener)>,
    /// How many requests were given to somebody.
    pub turns: u64,
}
