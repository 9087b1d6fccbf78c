//! Whether a batch about checkpoints is what was requested.

use baton_core::checkpoint::{Checksum, Command, Event, Save, Why};
use baton_core::{Event as AnyEvent, TaskId};

use crate::auditor::explain::BatchReader;
use crate::auditor::{Audit, Breach, demand};
use crate::models::checkpoint::within;
use crate::models::pending_write::bytes_of;

impl BatchReader<'_> {
    /// The effects of a checkpoint command.
    pub(crate) fn checkpoint(&mut self, command: &Command) -> Audit {
        let event = match self.take()? {
            AnyEvent::Checkpoint(event) => event,
            other => return Err(Breach(format!("a checkpoint was due, not {}", other.kind()))),
        };
        match (command, event) {
            (Command::Save(save), Event::Saved(saved)) => {
                self.check_saved(save)?;
                let fits = saved.task == save.task
                    && saved.label == save.label
                    && (save.parent.is_none() || saved.parent == save.parent)
                    && (&saved.key, &saved.parent_key) == (&save.key, &save.parent_key)
                    && saved.content_type == save.content_type;
                let bytes = bytes_of(&save.state, save.content_type.as_ref())?;
                let same =
                    saved.bytes == bytes.len() as u64 && saved.checksum == Checksum::of(&bytes);
                demand!(fits && same, "another checkpoint was saved");
                self.replaced(save, saved)?;
                if let Some(AnyEvent::Checkpoint(Event::Pruned { task, why: Why::Count, .. })) =
                    self.peek()
                    && *task == save.task
                {
                    self.skip();
                }
            }
            (Command::Restore { checkpoint: asked, .. }, Event::Restored { checkpoint, .. }) => {
                demand!(asked == checkpoint, "another was restored");
            }
            (
                Command::Fork { checkpoint: asked, task: to, .. },
                Event::Forked { source, task, .. },
            ) => demand!(asked == source && to == task, "another was forked"),
            (
                Command::Label { checkpoint: asked, label: name },
                Event::Labelled { checkpoint, label, .. },
            ) => demand!(asked == checkpoint && name == label, "another was labelled"),
            (Command::Write(write), Event::Written { task, key, writes }) => {
                demand!((&write.task, &write.key) == (task, key), "it is after another one");
                self.check_written(write, writes)?;
            }
            (Command::Copy(copy), Event::Copied { task, source, .. }) => {
                demand!((&copy.task, &copy.to) == (source, task), "another was copied");
            }
            (Command::Prune(prune), Event::Pruned { task, why, numbers, .. }) => {
                demand!(prune.task == *task && *why == Why::Asked, "another was pruned");
                self.check_keys(prune, numbers)?;
                demand!(prune.all || !self.must_stay(task, numbers), "what must stay was pruned");
            }
            (Command::Retain(retain), Event::Retained { rule }) => {
                let fits = retain.keep == rule.keep && retain.max_age_ms == rule.max_age_ms;
                demand!(fits, "another rule was set");
            }
            (command, event) => {
                return Err(Breach(format!("{command:?} caused {event:?}")));
            }
        }
        Ok(())
    }

    /// Whether one of these has a label, or is the head.
    fn must_stay(&self, task: &TaskId, numbers: &[(u64, u64)]) -> bool {
        let (before, checkpoints) = (self.batch.revision.0 - 1, &self.ledger.checkpoints);
        let head = checkpoints.thread(task, before).map(|thread| &thread.head);
        let mut of_task = checkpoints.of(Some(task), before);
        of_task.any(|(id, kept)| {
            within(numbers, kept.number) && (kept.label.is_some() || Some(id) == head)
        })
    }

    /// The author held the lease just before.
    fn check_saved(&self, save: &Save) -> Audit {
        let before = self.batch.revision.0 - 1;
        let may = self.ledger.may_save(&save.task, save.token, before);
        demand!(may, "`{}` was saved under {:?}, which is not its lease", save.task, save.token);
        Ok(())
    }
}
