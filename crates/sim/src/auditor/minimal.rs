//! Checks answers in the minimal form: they state what the whole ones would.

use baton_core::{Command, MessageId, Minimal, TaskId};

use super::{Audit, Breach, demand};
use crate::auditor::ledger::Ledger;

impl Ledger {
    /// Checks the minimal answer to a command, after a revision.
    pub(crate) fn minimal_reply(&self, command: &Command, minimal: &Minimal, at: u64) -> Audit {
        let unknown = || Breach(format!("{minimal:?} is about nothing that is there"));
        let Some(id) = &minimal.id else { return Ok(()) };
        match command {
            Command::Task(_) => {
                let task = TaskId::parse(id).map_err(|_| unknown())?;
                let work = self.tasks.at(&task, at).ok_or_else(unknown)?;
                let lease = work.lease.as_ref().map(|lease| lease.token);
                let is_token = minimal.token.is_none() || minimal.token == lease;
                let is_status = minimal.status.as_deref() == Some(work.status.word());
                demand!(is_token && is_status, "{minimal:?} is shown, but it is {work:?}");
                minimal.next.as_ref().map_or(Ok(()), |next| self.task_shown(next, at))
            }
            Command::Message(_) => {
                let message = MessageId::parse(id).map_err(|_| unknown())?;
                let there = self.messages.at(&message, at).ok_or_else(unknown)?;
                let is_status = minimal.status.as_deref() == Some(there.status.word());
                demand!(is_status, "{minimal:?} is shown, but it is {there:?}");
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
