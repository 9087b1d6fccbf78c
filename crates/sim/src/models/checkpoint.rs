//! Checkpoints according to the log: which exist, their tasks, and which must be kept.
//!
//! Laws:
//!
//! 1. A saved state is the requested one, and a returned state has the bytes that were saved: as
//!    many, with the same checksum, which is computed here from what was sent and what is returned.
//! 2. Only the holder of a task's lease saves its checkpoints, with the token of that lease.
//! 3. Each continues the head of its task, unless another parent of that task was given.
//! 4. A rule prunes what it must, and neither a head nor a labelled checkpoint.

use std::collections::BTreeMap;

use baton_core::checkpoint::{
    Checkpoint, Checksum, Command, Event, List, Query, Rejection, Reply as CheckpointReply, Rule,
    Saved, Why,
};
use baton_core::{
    AgentId, Batch, CheckpointId, CheckpointKey, CheckpointLabel, Reply, StateType, TaskId,
    Timestamp, Token,
};

use crate::auditor::ledger::Ledger;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::pending_write::{PendingWrites, bytes_of};
use crate::models::task_answers::same_lease;

/// A checkpoint as it was.
#[derive(Clone, Debug)]
pub struct CheckpointModel {
    pub(super) task: TaskId,
    pub(super) number: u64,
    pub(super) parent: Option<CheckpointId>,
    pub(super) key: Option<CheckpointKey>,
    pub(super) parent_key: Option<CheckpointKey>,
    pub(super) content_type: Option<StateType>,
    pub(super) label: Option<CheckpointLabel>,
    pub(super) bytes: u64,
    pub(super) checksum: Checksum,
    pub(super) saved_at: Timestamp,
    pub(super) saved_by: AgentId,
}

/// The checkpoints of a task: how many were saved, and the head.
#[derive(Clone, Debug)]
pub(super) struct CheckpointThread {
    pub(super) saved: u64,
    pub(super) head: CheckpointId,
}

/// All checkpoints, existing or not.
#[derive(Default)]
pub struct Checkpoints {
    all: BTreeMap<CheckpointId, Timeline<Option<CheckpointModel>>>,
    threads: BTreeMap<TaskId, Timeline<Option<CheckpointThread>>>,
    rules: Timeline<Vec<Rule>>,
    pub(super) writes: PendingWrites,
}

impl Checkpoints {
    pub(super) fn at(&self, id: &CheckpointId, at: u64) -> Option<&CheckpointModel> {
        self.all.get(id)?.at(at)?.as_ref()
    }

    pub(super) fn thread(&self, task: &TaskId, at: u64) -> Option<&CheckpointThread> {
        self.threads.get(task)?.at(at)?.as_ref()
    }

    /// The checkpoints of a task after a revision, newest first.
    pub(super) fn of(
        &self,
        task: Option<&TaskId>,
        at: u64,
    ) -> impl Iterator<Item = (&CheckpointId, &CheckpointModel)> {
        let all = self.all.iter().rev();
        let there = all.filter_map(move |(id, timeline)| Some((id, timeline.at(at)?.as_ref()?)));
        there.filter(move |(_, kept)| task.is_none_or(|task| kept.task == *task))
    }

    fn rule(&self, task: &TaskId, at: u64) -> Option<&Rule> {
        let rules = self.rules.at(at)?.iter();
        let fitting = rules.filter(|rule| rule.task.matches(task.as_str()));
        fitting.max_by_key(|rule| (rule.task.as_str().len(), rule.task.as_str().to_owned()))
    }

    pub(super) fn set(&mut self, revision: u64, id: &CheckpointId, kept: Option<CheckpointModel>) {
        self.all.entry(id.clone()).or_default().set(revision, kept);
    }

    pub(super) fn set_thread(
        &mut self,
        revision: u64,
        task: &TaskId,
        thread: Option<CheckpointThread>,
    ) {
        self.threads.entry(task.clone()).or_default().set(revision, thread);
    }

    fn begin(&mut self, batch: &Batch, id: &CheckpointId, mut kept: CheckpointModel) -> Audit {
        demand!(!self.all.contains_key(id), "`{id}` was saved before");
        let thread = self.thread(&kept.task, u64::MAX);
        let saved = thread.map_or(0, |thread| thread.saved) + 1;
        kept.number = saved;
        let thread = CheckpointThread { saved, head: id.clone() };
        self.set_thread(batch.revision.0, &kept.task.clone(), Some(thread));
        self.set(batch.revision.0, id, Some(kept));
        Ok(())
    }
}

pub(super) fn within(ranges: &[(u64, u64)], number: u64) -> bool {
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&number))
}

impl Ledger {
    pub(crate) fn add_checkpoint(
        &mut self,
        batch: &Batch,
        event: &Event,
        coverage: &mut Coverage,
    ) -> Audit {
        let (revision, now) = (batch.revision.0, u64::MAX);
        match event {
            Event::Saved(saved) => self.save_checkpoint(batch, saved, coverage),
            Event::Forked { checkpoint, task, source } => {
                coverage.met("checkpoint: forked");
                self.fork_checkpoint(batch, checkpoint, task, source)
            }
            Event::Written { task, key, writes } => {
                let is_new = self.checkpoints.writes.put(revision, task, key, writes);
                let met = ["checkpoint: write replaced", "checkpoint: written"];
                coverage.met(met[usize::from(is_new)]);
                Ok(())
            }
            Event::Copied { task, source, checkpoint, count } => {
                coverage.met("checkpoint: copied");
                self.checkpoints.copy(revision, (task, source), checkpoint, *count)
            }
            Event::Restored { checkpoint, task } => {
                coverage.met("checkpoint: restored");
                self.restore_checkpoint(revision, checkpoint, task)
            }
            Event::Labelled { checkpoint, label, .. } => {
                let Some(kept) = self.checkpoints.at(checkpoint, now).cloned() else {
                    return Err(Breach(format!("`{checkpoint}` is labelled, it is not there")));
                };
                let kept = CheckpointModel { label: label.clone(), ..kept };
                self.checkpoints.set(revision, checkpoint, Some(kept));
                Ok(())
            }
            Event::Pruned { task, numbers, why, .. } => {
                self.prune_checkpoints(batch, task, numbers, *why, coverage)
            }
            Event::Retained { rule } => {
                let mut rules = self.checkpoints.rules.now().cloned().unwrap_or_default();
                rules.retain(|there| there.task != rule.task);
                if rule.keep.is_some() || rule.max_age_ms.is_some() {
                    rules.push(rule.clone());
                }
                self.checkpoints.rules.set(revision, rules);
                Ok(())
            }
        }
    }

    fn save_checkpoint(&mut self, batch: &Batch, saved: &Saved, coverage: &mut Coverage) -> Audit {
        let head = self.checkpoints.thread(&saved.task, u64::MAX).map(|it| it.head.clone());
        let has_key = saved.key.is_some() || saved.parent_key.is_some();
        demand!(
            has_key || saved.parent.is_some() == head.is_some(),
            "it continues {:?}, the head is {head:?}",
            saved.parent
        );
        let is_head = saved.parent == head;
        coverage.met(if is_head { "checkpoint: saved" } else { "checkpoint: branched" });
        let kept = CheckpointModel {
            task: saved.task.clone(),
            number: 0,
            parent: saved.parent.clone(),
            key: saved.key.clone(),
            parent_key: saved.parent_key.clone(),
            content_type: saved.content_type.clone(),
            label: saved.label.clone(),
            bytes: saved.bytes,
            checksum: saved.checksum,
            saved_at: batch.time,
            saved_by: batch.agent.clone(),
        };
        self.checkpoints.begin(batch, &saved.checkpoint, kept)
    }

    fn fork_checkpoint(
        &mut self,
        batch: &Batch,
        checkpoint: &CheckpointId,
        task: &TaskId,
        source: &CheckpointId,
    ) -> Audit {
        let Some(from) = self.checkpoints.at(source, u64::MAX) else {
            return Err(Breach(format!("`{source}` is forked, it is not there")));
        };
        let kept = CheckpointModel {
            task: task.clone(),
            parent: Some(source.clone()),
            key: None,
            parent_key: None,
            label: None,
            saved_at: batch.time,
            saved_by: batch.agent.clone(),
            ..from.clone()
        };
        let is_first = self.checkpoints.thread(task, u64::MAX).is_none();
        demand!(is_first, "`{task}` has checkpoints already");
        self.checkpoints.begin(batch, checkpoint, kept)
    }

    fn restore_checkpoint(&mut self, at: u64, checkpoint: &CheckpointId, task: &TaskId) -> Audit {
        let thread = self.checkpoints.thread(task, u64::MAX).cloned();
        let kept = self.checkpoints.at(checkpoint, u64::MAX);
        let Some(thread) = thread.filter(|_| kept.is_some_and(|kept| kept.task == *task)) else {
            return Err(Breach(format!("`{checkpoint}` is restored, it is not there")));
        };
        let thread = CheckpointThread { head: checkpoint.clone(), ..thread };
        self.checkpoints.set_thread(at, task, Some(thread));
        Ok(())
    }

    fn prune_checkpoints(
        &mut self,
        batch: &Batch,
        task: &TaskId,
        numbers: &[(u64, u64)],
        why: Why,
        coverage: &mut Coverage,
    ) -> Audit {
        let Some(thread) = self.checkpoints.thread(task, u64::MAX).cloned() else {
            let has_writes = self.checkpoints.writes.clear(batch.revision.0, task);
            demand!(has_writes && numbers.is_empty(), "`{task}` is pruned, it has no checkpoints");
            return Ok(());
        };
        let rule = self.checkpoints.rule(task, u64::MAX).cloned();
        let of_task: Vec<(CheckpointId, CheckpointModel)> = {
            let of_task = self.checkpoints.of(Some(task), u64::MAX);
            of_task.map(|(id, kept)| (id.clone(), kept.clone())).collect()
        };
        let (gone, left): (Vec<_>, Vec<_>) =
            of_task.into_iter().partition(|(_, kept)| within(numbers, kept.number));
        for (id, kept) in &gone {
            let is_kept = kept.label.is_some() || *id == thread.head;
            match why {
                Why::Asked => {}
                Why::Replaced => {
                    let same = |(it, newer): &&(CheckpointId, CheckpointModel)| {
                        newer.key == kept.key && it > id
                    };
                    let is_replaced = kept.key.is_some() && left.iter().any(|it| same(&it));
                    demand!(is_replaced, "`{id}` is replaced, nothing has its key");
                }
                Why::Count => demand!(!is_kept, "`{id}` is pruned by a rule, it must stay"),
                Why::Age => {
                    let age_ms = rule.as_ref().and_then(|rule| rule.max_age_ms);
                    let over = age_ms.is_some_and(|ms| kept.saved_at.after(ms) <= batch.time);
                    demand!(!is_kept && over, "`{id}` is pruned by a rule before its time");
                }
            }
            self.checkpoints.set(batch.revision.0, id, None);
            let has_key = |(_, other): &&(_, CheckpointModel)| other.key == kept.key;
            if let Some(key) = kept.key.as_ref().filter(|_| !left.iter().any(|it| has_key(&it))) {
                self.checkpoints.writes.remove(batch.revision.0, task, key);
            }
        }
        if left.is_empty() {
            self.checkpoints.writes.clear(batch.revision.0, task);
        }
        demand!(!gone.is_empty(), "nothing is pruned");
        coverage.met(match why {
            Why::Asked => "checkpoint: pruned",
            Why::Count => "checkpoint: pruned by count",
            Why::Age => "checkpoint: pruned by age",
            Why::Replaced => "checkpoint: replaced",
        });
        if why == Why::Count {
            let loose = left.iter().filter(|(_, kept)| kept.label.is_none()).count() as u64;
            let keep = rule.and_then(|rule| rule.keep);
            demand!(keep == Some(loose), "{loose} are left, {keep:?} should be");
        }
        let head_stays = left.iter().any(|(id, _)| *id == thread.head);
        let newest = left.first().map(|(id, _)| id.clone());
        let thread = match newest {
            None => None,
            Some(_) if head_stays => Some(thread),
            Some(newest) => Some(CheckpointThread { head: newest, ..thread }),
        };
        self.checkpoints.set_thread(batch.revision.0, task, thread);
        Ok(())
    }

    /// A task with a checkpoint that a rule should have pruned by this time.
    pub(crate) fn overdue_checkpoint(&self, now: Timestamp) -> Option<&CheckpointId> {
        let over = |(id, kept): &(&CheckpointId, &CheckpointModel)| {
            let rule = self.checkpoints.rule(&kept.task, u64::MAX);
            let age_ms = rule.and_then(|rule| rule.max_age_ms);
            let thread = self.checkpoints.thread(&kept.task, u64::MAX);
            let is_head = thread.is_some_and(|thread| thread.head == **id);
            !is_head
                && kept.label.is_none()
                && age_ms.is_some_and(|ms| kept.saved_at.after(ms) <= now)
        };
        self.checkpoints.of(None, u64::MAX).find(over).map(|(id, _)| id)
    }

    /// Checks that a checkpoint is shown as it was, with its state if there is one.
    pub(super) fn checkpoint_shown(&self, shown: &Checkpoint, at: u64) -> Audit {
        let Some(there) = self.checkpoints.at(&shown.id, at) else {
            return Err(Breach(format!("`{}` is shown, it is not there", shown.id)));
        };
        let same = shown.task == there.task
            && shown.number == there.number
            && shown.parent == there.parent
            && shown.key == there.key
            && shown.parent_key == there.parent_key
            && shown.content_type == there.content_type
            && shown.label == there.label
            && shown.bytes == there.bytes
            && shown.checksum == there.checksum
            && shown.saved_at == there.saved_at
            && shown.saved_by == there.saved_by;
        demand!(same, "{shown:?} is shown, it is {there:?}");
        if let Some(state) = &shown.state {
            let bytes = bytes_of(state, shown.content_type.as_ref())?;
            let same = bytes.len() as u64 == there.bytes && Checksum::of(&bytes) == there.checksum;
            demand!(same, "`{}` is shown with another state than was saved", shown.id);
        }
        Ok(())
    }

    /// Checks an accepted command about checkpoints without effect.
    pub(crate) fn checkpoint_no_effect(&self, command: &Command, reply: &Reply, at: u64) -> Audit {
        let Reply::Checkpoint(reply) = reply else {
            return Err(Breach(format!("{command:?} was answered with {reply:?}")));
        };
        match (command, reply) {
            (Command::Restore { checkpoint, .. }, CheckpointReply::Restored(shown)) => {
                let thread = self.checkpoints.thread(&shown.task, at);
                let is_head = thread.is_some_and(|thread| thread.head == *checkpoint);
                demand!(is_head && shown.id == *checkpoint, "it was not the head before");
                demand!(shown.state.is_some(), "the state is missing");
                self.checkpoint_shown(shown, at)
            }
            (Command::Label { checkpoint, label }, CheckpointReply::Checkpoint(shown)) => {
                let same = shown.id == *checkpoint && shown.label == *label;
                demand!(same, "it has another label");
                self.checkpoint_shown(shown, at)
            }
            (Command::Write(write), CheckpointReply::Written { written: 0 }) => {
                let effective = self.checkpoints.writes.effective(write, at);
                demand!(effective.is_empty(), "{effective:?} should have been stored");
                Ok(())
            }
            (Command::Prune(_), CheckpointReply::Pruned { pruned: 0, bytes: 0 })
            | (Command::Retain(_), CheckpointReply::Rules { .. }) => Ok(()),
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks the answer to a command about checkpoints with an effect.
    pub(crate) fn checkpoint_reply(
        &self,
        command: &Command,
        reply: &CheckpointReply,
        at: u64,
    ) -> Audit {
        match (command, reply) {
            (
                Command::Save(_) | Command::Fork { .. } | Command::Label { .. },
                CheckpointReply::Checkpoint(shown),
            ) => {
                demand!(shown.state.is_none(), "the state is repeated");
                self.checkpoint_shown(shown, at)
            }
            (Command::Restore { checkpoint, .. }, CheckpointReply::Restored(shown)) => {
                demand!(shown.id == *checkpoint, "another was restored");
                demand!(shown.state.is_some(), "the state is missing");
                self.checkpoint_shown(shown, at)
            }
            (Command::Prune(prune), CheckpointReply::Pruned { pruned, .. }) => {
                // Without checkpoints, a task may have writes.
                demand!(*pruned > 0 || prune.all, "nothing was pruned");
                Ok(())
            }
            (Command::Write(_), CheckpointReply::Written { written: count })
            | (Command::Copy(_), CheckpointReply::Copied { copied: count }) => {
                demand!(*count > 0, "nothing happened");
                Ok(())
            }
            (Command::Retain(_), CheckpointReply::Rules { .. }) => Ok(()),
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks the answer to a query about checkpoints.
    pub(crate) fn checkpoints_shown(
        &self,
        query: &Query,
        reply: &CheckpointReply,
        at: u64,
    ) -> Audit {
        match (query, reply) {
            (Query::Get { checkpoint }, CheckpointReply::Checkpoint(shown)) => {
                demand!(shown.id == *checkpoint, "another is shown");
                demand!(shown.state.is_some(), "the state is missing");
                self.checkpoint_shown_with_writes(shown, at)
            }
            (Query::History(history), CheckpointReply::History { checkpoints, cursor }) => {
                self.keyed_shown(history, checkpoints, cursor.as_ref(), at)
            }
            (Query::Latest { task }, CheckpointReply::Latest(shown)) => {
                let head = self.checkpoints.thread(task, at).map(|thread| &thread.head);
                let shown_id = shown.as_ref().map(|shown| &shown.id);
                demand!(shown_id == head, "{shown_id:?} is shown, the head is {head:?}");
                shown.as_ref().map_or(Ok(()), |it| self.checkpoint_shown_with_writes(it, at))
            }
            (
                Query::List(List { task, label: None, metadata: None, .. }),
                CheckpointReply::Checkpoints { checkpoints, cursor },
            ) => {
                let there: Vec<_> = self.checkpoints.of(task.as_ref(), at).collect();
                let ids = there.iter().map(|(id, _)| *id);
                let listed = checkpoints.iter().map(|shown| &shown.id);
                let same = listed.eq(ids.take(checkpoints.len()));
                let whole = cursor.is_some() || checkpoints.len() == there.len();
                demand!(same && whole, "{checkpoints:?} are listed, there are {there:?}");
                checkpoints.iter().try_for_each(|shown| self.checkpoint_shown(shown, at))
            }
            (query, reply) => Err(Breach(format!("{query:?} was answered with {reply:?}"))),
        }
    }

    /// Whether a checkpoint existed.
    pub(crate) fn knows_checkpoint(&self, checkpoint: &CheckpointId, at: u64) -> bool {
        self.checkpoints.at(checkpoint, at).is_some()
    }

    /// Whether a save with this token is allowed, as far as the task is concerned.
    pub(super) fn may_save(&self, task: &TaskId, token: Option<Token>, at: u64) -> bool {
        match self.tasks.at(task, at) {
            Some(work) => {
                let lease = work.lease.as_ref();
                token.is_some_and(|token| lease.is_some_and(|lease| lease.permits(token)))
            }
            None => token.is_none_or(|token| self.tokens.is_live(token, at)),
        }
    }

    /// Checks a refused command about checkpoints.
    pub(crate) fn refused_checkpoint(
        &self,
        rejection: &Rejection,
        at: u64,
        coverage: &mut Coverage,
    ) -> Audit {
        match rejection {
            Rejection::NotFound { checkpoint } => {
                demand!(!self.knows_checkpoint(checkpoint, at), "`{checkpoint}` was there");
            }
            Rejection::StaleToken { task, given, lease } => {
                coverage.met("answer: stale save refused");
                let held = self.tasks.at(task, at).and_then(|work| work.lease.as_ref());
                demand!(same_lease(held, lease.as_ref()), "another holds it");
                demand!(!self.may_save(task, *given, at), "`{task}` was held under {given:?}");
            }
            Rejection::WrongParent { parent, parent_task, task } => {
                let there = self.checkpoints.at(parent, at);
                let wrong = there.is_some_and(|kept| kept.task == *parent_task);
                demand!(wrong && parent_task != task, "`{parent}` is of `{task}`");
            }
            Rejection::Exists { task, checkpoint } => {
                let head = self.checkpoints.thread(task, at).map(|thread| &thread.head);
                demand!(head == Some(checkpoint), "`{task}` has the head {head:?}");
            }
            Rejection::NoBound {} => {}
            Rejection::NoCheckpoints { task } => {
                demand!(self.checkpoints.thread(task, at).is_none(), "`{task}` has checkpoints");
            }
            Rejection::BadMetadata {}
            | Rejection::BadBase64 { .. }
            | Rejection::OutOfRange(_)
            | Rejection::TooLarge(_)
            | Rejection::TooMany(_) => {
                let code = rejection.code();
                return Err(Breach(format!("no request can cause `{code}`")));
            }
        }
        Ok(())
    }
}
