//! Maintenance, snapshots in slices, and fresh servers on a copy of the disk that must show the
//! same.

use std::fmt::Debug;

use baton::compaction::CompactionJob;
use baton_core::storage::Entry;
use baton_core::{AgentId, Batch, Event, Revision, Space, Timestamp, WorkspaceName, namespace};

use crate::auditor::{Audit, demand, frames};
use crate::world::{Running, Server, World, broken};

impl Running {
    /// The workspace changed while it was being captured.
    pub(crate) fn notice(&mut self, batch: &Batch) {
        self.changed = true;
        let deletes =
            |event: &Event| matches!(event, Event::Namespace(namespace::Event::Deleted { .. }));
        self.lost_namespace |= batch.events.iter().any(deletes);
    }
}

impl World {
    /// The most urgent maintenance task. One runs at a time, and a snapshot counts as one.
    pub(crate) fn do_chore(&mut self) -> Audit {
        if self.server().capture.is_some() {
            return self.capture();
        }
        let Some(chore) = self.server().shard.next_compaction_job() else { return Ok(()) };
        let kept = self.server().shard.compact_next();
        let line = format!("chore {chore:?}: {kept:?}");
        self.trace.tell(|| line);
        match kept {
            Ok(true) => match chore {
                CompactionJob::Archive(_) => self.coverage.met("keep: archived"),
                CompactionJob::Fold(_) => self.coverage.met("keep: folded"),
                CompactionJob::Sweep(_) => self.coverage.met("keep: swept"),
                CompactionJob::Evict(workspace) => {
                    self.coverage.met("keep: evicted");
                    self.stays.remove(&workspace);
                }
                CompactionJob::Snapshot(_) => {}
            },
            Ok(false) => {}
            Err(error) => self.excuse(&format!("{chore:?}"), &error)?,
        }
        self.notice_loss()
    }

    /// A snapshot starts, or continues by one chunk.
    pub(crate) fn capture(&mut self) -> Audit {
        let Some(mut running) = self.server.as_mut().and_then(|server| server.capture.take())
        else {
            return self.begin_capture();
        };
        let continued = self.server().shard.continue_snapshot(&mut running.capture);
        self.notice_loss()?;
        match continued {
            Ok(false) => {
                self.trace.tell(|| format!("a snapshot of {} continues", running.workspace));
                self.server.as_mut().expect("there is one").capture = Some(running);
                Ok(())
            }
            Ok(true) => {
                self.end_capture(&running);
                Ok(())
            }
            Err(error) => self.excuse("a snapshot", &error),
        }
    }

    fn begin_capture(&mut self) -> Audit {
        let workspace = self.rng.pick(&self.plan.workspaces).clone();
        let revision = {
            let mut machine = self.server().shard.machine();
            machine.resident(&workspace).map(|there| there.space.revision().0)
        };
        let Some(revision) = revision else { return Ok(()) };
        match self.server().shard.begin_snapshot(&workspace) {
            Ok(Some(capture)) => {
                self.trace.tell(|| format!("a snapshot of {workspace} at {revision} begins"));
                let running =
                    Running { workspace, capture, revision, changed: false, lost_namespace: false };
                self.server.as_mut().expect("there is one").capture = Some(running);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) => self.excuse("beginning a snapshot", &error),
        }
    }

    fn end_capture(&mut self, running: &Running) {
        let finished = {
            let mut machine = self.server().shard.machine();
            let resident = machine.resident(&running.workspace);
            resident.is_some_and(|there| there.snapshot == Revision(running.revision))
        };
        let name = &running.workspace;
        let how = if finished { "is complete" } else { "was given up" };
        self.trace.tell(|| format!("the snapshot of {name} at {} {how}", running.revision));
        if !finished {
            self.coverage.met("capture: given up");
            return;
        }
        self.coverage.met("capture: finished");
        if running.changed {
            self.coverage.met("capture: interleaved with writes");
        }
        if running.lost_namespace {
            self.coverage.met("capture: namespace deleted meanwhile");
        }
    }

    /// Workspaces become idle, and are maintained.
    pub(crate) fn idle(&mut self) -> Audit {
        let idle = self.plan.options.idle.as_millis();
        self.pass_time(u64::try_from(idle).unwrap_or(u64::MAX).min(120_000));
        self.expire()?;
        self.settle_all()?;
        for _ in 0..8 {
            self.do_chore()?;
        }
        Ok(())
    }

    /// A fresh server on a copy of the disk must show what this one shows.
    pub(crate) fn compare(&mut self) -> Audit {
        if self.server().shard.watermark().stopped().is_some() || !self.flush()? {
            return Ok(());
        }
        self.check_no_secret_stored()?;
        let disk = self.disk.fork();
        disk.set_capacity(None);
        let fresh = self.open_on(&disk);
        let fresh = fresh.map_err(|error| broken(format!("a copy does not open: {error}")))?;
        self.trace.tell(|| "a fresh server on a copy of the disk is compared".to_owned());
        let workspaces = self.plan.workspaces.iter().cloned();
        for workspace in workspaces.chain(self.auditor.forks()).collect::<Vec<_>>() {
            if !self.load(&workspace)? {
                return Ok(());
            }
            let loaded = fresh.shard.load(&workspace);
            loaded.map_err(|error| {
                broken(format!("`{workspace}` does not load from a copy: {error}"))
            })?;
            fresh.shard.flush();
            let given_up = Self::given_up(&workspace, &fresh)?;
            self.same_spaces(&workspace, &fresh, &given_up)?;
        }
        Ok(())
    }

    /// The commits that a fresh server has made on its own: it ends the waits of lost callers.
    fn given_up(workspace: &WorkspaceName, fresh: &Server) -> Audit<Vec<Batch>> {
        let mut given_up = Vec::new();
        for body in fresh.log.take_acknowledged() {
            for (name, batch) in frames(&body)? {
                let engine = batch.agent == AgentId::engine();
                demand!(engine && name == *workspace, "loading `{workspace}` wrote {batch:?}");
                given_up.push(batch);
            }
        }
        Ok(given_up)
    }

    fn same_spaces(
        &mut self,
        workspace: &WorkspaceName,
        fresh: &Server,
        given_up: &[Batch],
    ) -> Audit {
        let mut live = self.server().shard.machine();
        let mut copy = fresh.shard.machine();
        let (Some(live), Some(copy)) = (live.resident(workspace), copy.resident(workspace)) else {
            return Err(broken("a loaded workspace is not in memory"));
        };
        live.space.check();
        copy.space.check();
        let (mut ours, mut theirs) = (live.space.head(), copy.space.head());
        // Callers may wait here that a fresh server does not have: the same is applied to a copy.
        // The entries are left out, because they are not affected.
        for batch in given_up.iter().filter(|batch| batch.revision > live.space.revision()) {
            let endings = std::mem::take(&mut ours.endings);
            let mut space = Space::restore(ours, Vec::new());
            space.replay(batch);
            ours = space.head();
            ours.endings = endings;
        }
        // Each ends the waits of callers that are gone when it loads a workspace, and a workspace
        // that is ahead of the clock counts on from there.
        (ours.time, theirs.time) = (Timestamp(0), Timestamp(0));
        // Where both have ended such waits, each did so at its own time, which a barrier keeps.
        let have_both = given_up.iter().any(|batch| batch.revision <= live.space.revision());
        let same = ours == theirs || have_both && without_idle(&ours) == without_idle(&theirs);
        demand!(same, "`{workspace}` is {ours:?}, but replayed it is {theirs:?}");
        let mut ours = live.space.state.namespaces().filter(|(_, there)| !there.is_empty());
        let mut theirs = copy.space.state.namespaces().filter(|(_, there)| !there.is_empty());
        loop {
            match (ours.next(), theirs.next()) {
                (None, None) => return Ok(()),
                (Some((name, entries)), Some((there, replayed))) => {
                    let (ours, theirs) = (entries.iter(), replayed.iter());
                    let same =
                        name == there && ours.map(Entry::as_bytes).eq(theirs.map(Entry::as_bytes));
                    demand!(same, "`{workspace}`: `{name}` differs from its replay `{there}`");
                }
                (ours, theirs) => {
                    let names = (ours.map(|(name, _)| name), theirs.map(|(name, _)| name));
                    return Err(broken(format!("`{workspace}`: namespaces differ: {names:?}")));
                }
            }
        }
    }
}

/// A head as text, without the times since which barriers are idle.
fn without_idle(head: &impl Debug) -> String {
    let text = format!("{head:?}");
    let mut parts = text.split("idle_since: Timestamp(");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str(part.trim_start_matches(|sign: char| sign.is_ascii_digit()));
    }
    kept
}
