//! The effect that a command of a transaction must have.

use crate::command::Command;
use crate::handoff::{self, Status};
use crate::message;
use crate::rejection::Rejection;
use crate::reply::Reply;

/// The intended effect of a command.
pub(super) struct Intent {
    command: &'static str,
    executes_handoff: bool,
    replies: bool,
}

impl Intent {
    /// The intended effect of a command.
    pub(super) fn of(command: &Command) -> Self {
        let executes_handoff = matches!(command, Command::Handoff(handoff::Command::Execute(_)));
        let replies = matches!(command, Command::Message(message::Command::Reply(_)));
        let command = command.operation().map_or("", |operation| operation.name);
        Self { command, executes_handoff, replies }
    }

    /// The reason why the transaction cannot be applied, if the reply means that the command had no
    /// effect.
    pub(super) fn missing(&self, reply: &Reply) -> Option<Rejection> {
        let command = self.command;
        match reply {
            // A hand-off on its own is recorded with the reason, as an answer.
            Reply::Handoff(handoff::Reply::Handoff(handoff))
                if self.executes_handoff && handoff.status == Status::Failed =>
            {
                let handoff = Some(handoff.clone());
                Some(Rejection::CameToNothing { command, handoff })
            }
            // The reply was sent, whether or not there was a message to receive.
            reply if reply.is_nothing() && !self.replies => {
                Some(Rejection::CameToNothing { command, handoff: None })
            }
            _ => None,
        }
    }
}
