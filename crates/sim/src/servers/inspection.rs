//! A fresh server on a copy of the database must show everything that is durable.

use std::sync::Arc;

use baton::clock::ManualClock;
use baton::error::Error;
use baton::files::File;
use baton::shard::Shard;
use baton_core::state::{Query as StateQuery, Snapshot};
use baton_core::{Reply, Revision, Timestamp, WorkspaceName, state};
use baton_log::shared::{Candidate, DirectLink, SharedLog, SharedMemory};

use super::{BEGINNING, Fleet};
use crate::auditor::{Audit, Ledger, demand};
use crate::world::broken;

/// The number of bytes of history to read at once.
const BATCHES_BYTES: usize = 1 << 16;

impl Fleet {
    /// The files that the owner of the log refers to are there, whatever others did.
    pub(super) fn check_files(&self) -> Audit {
        self.numbers().try_for_each(|shard| self.check_files_of(shard))
    }

    fn check_files_of(&self, shard: u32) -> Audit {
        let serving = self.shards[shard as usize].serving;
        let Some((name, _)) = serving.filter(|(name, _)| self.is_owner(*name, shard)) else {
            return Ok(());
        };
        let Some(open) = self.servers[name].open(shard) else { return Ok(()) };
        let mut machine = open.shard.machine();
        for workspace in self.workspaces_of(shard) {
            let Some(resident) = machine.resident(workspace) else { continue };
            for run in &resident.history.runs {
                let file = File::Run { first: run.first(), last: run.last() }.name(workspace);
                let is_there = self.database.has_blob(shard, &file);
                demand!(is_there, "server {name} owns the log, and its file `{file}` is gone");
            }
        }
        Ok(())
    }

    /// Opens a copy of the database, and compares all workspaces with the auditor's.
    pub(super) fn inspect(&mut self) -> Audit {
        self.absorb()?;
        let copy = self.database.fork();
        copy.declare_all_gone();
        self.trace.tell(|| "a fresh server on a copy of the database is inspected".to_owned());
        self.numbers().try_for_each(|shard| self.inspect_shard(shard, &copy))
    }

    fn inspect_shard(&mut self, number: u32, copy: &SharedMemory) -> Audit {
        let link = Arc::new(DirectLink::default());
        let candidate = Candidate::for_shard(copy, link, "inspector", number);
        let log = candidate.open().map_err(|error| broken(error.to_string()))?;
        let now = self.now_of(number).unwrap_or(Timestamp(BEGINNING));
        let clock = Arc::new(ManualClock::at(now));
        let shard = Shard::open(log, clock, self.plan.options.clone());
        let shard = shard.map_err(|error| broken(format!("a copy does not open: {error}")))?;
        let workspaces: Vec<_> = self.workspaces_of(number).cloned().collect();
        for workspace in workspaces {
            shard.load(&workspace).map_err(|error| {
                broken(format!("`{workspace}` does not load from a copy: {error}"))
            })?;
            let ledger = self.auditor.ledger(&workspace);
            let head = ledger.head();
            show_entries(&shard, ledger, &workspace, head)?;
            show_batches(&shard, ledger, &workspace, head)?;
        }
        Ok(())
    }
}

fn show_entries(
    shard: &Shard<SharedLog>,
    ledger: &Ledger,
    workspace: &WorkspaceName,
    head: u64,
) -> Audit {
    let everything = Snapshot { limit: Some(10_000), ..Snapshot::default() };
    let query = StateQuery::Snapshot(everything.clone()).into();
    let Some(held) = shard.ask(workspace, &query, None).answer() else {
        return Err(broken("a loaded workspace is not in memory"));
    };
    match held.open(u64::MAX).map(|answer| answer.reply) {
        Ok(Reply::State(state::Reply::Entries(mut page))) => {
            // Loading ends the waits of callers that are gone, which changes no entry.
            let shown = page.revision.0;
            demand!(
                (head..=head + 1).contains(&shown),
                "`{workspace}` is at revision {shown} in a copy, {head} is durable"
            );
            page.revision = Revision(head);
            ledger.pictured(&everything, &page, head)
        }
        other => Err(broken(format!("all entries were requested, the answer is {other:?}"))),
    }
}

fn show_batches(
    shard: &Shard<SharedLog>,
    ledger: &Ledger,
    workspace: &WorkspaceName,
    head: u64,
) -> Audit {
    let mut next = 1;
    while next <= head {
        match shard.batches(workspace, Revision(next), Revision(head), BATCHES_BYTES) {
            Ok(batches) => {
                demand!(!batches.is_empty(), "`{workspace}` lacks revision {next}");
                ledger.same_batches(next, &batches)?;
                next += batches.len() as u64;
            }
            Err(Error::Gone { oldest, .. }) => {
                demand!(
                    oldest.0 >= next && oldest.0 <= ledger.floor(),
                    "`{workspace}` has forgotten all before {oldest}, retention asks for {} on",
                    ledger.floor()
                );
                next = oldest.0 + 1;
            }
            Err(error) => return Err(broken(format!("`{workspace}` cannot be read: {error}"))),
        }
    }
    Ok(())
}
