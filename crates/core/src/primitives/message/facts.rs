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
    /// The calls that wait for mail, in order of arrival.
    pub receivers: Vec<Waiter<AgentId>>,
    /// The calls that wait for a reply, in order of arrival.
    pub requesters: Vec<Waiter<MessageId>>,
    /// The registrations for handlers.
    pub handlers: Vec<Handler>,
    /// The receiving agents, with their last request.
    pub listeners: Vec<(AgentId, Listener)>,
    /// The number of assigned requests.
    pub turns: u64,
}
