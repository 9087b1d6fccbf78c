//! The data that must exist after a restart: everything that was acknowledged, all or none of the
//! batches in flight, and nothing else.

use std::collections::BTreeMap;

use baton::clock::Clock;
use baton::error::Error;
use baton::files::{self, File};
use baton_core::state::{Query as StateQuery, Snapshot};
use baton_core::{Reply, Revision, WorkspaceName, state, workspace};
use baton_log::{Log, ReadError};

use crate::auditor::{Audit, demand};
use crate::world::{Server, World, broken, is_excused};

/// Attempts to read while single operations fail.
const ATTEMPTS_MAX: usize = 8;
/// The number of bytes of the log to read at once.
const READ_BYTES: usize = 1 << 20;
/// The number of bytes of history to read at once.
const BATCHES_BYTES: usize = 1 << 16;

impl World {
    /// Checks that the server, which has just started, has everything.
    pub(crate) fn recover(&mut self, unknown: Option<Vec<u8>>) -> Audit {
        // The batches in flight were decided by the previous server.
        self.recover_log(unknown)?;
        let now = self.clock.now();
        self.auditor.server_up(now);
        for workspace in self.plan.workspaces.clone() {
            let head = self.auditor.ledger(&workspace).head();
            for attempt in 0..ATTEMPTS_MAX {
                let server = self.server.take().expect("a server runs between steps");
                let shown = self.show(&server, &workspace, head);
                self.server = Some(server);
                match shown? {
                    Ok(()) => break,
                    Err(error) => {
                        demand!(
                            is_excused(&error) && attempt + 1 < ATTEMPTS_MAX,
                            "`{workspace}` cannot be read after a restart: {error}"
                        );
                    }
                }
            }
        }
        self.recover_forks()
    }

    fn recover_log(&mut self, unknown: Option<Vec<u8>>) -> Audit {
        let bodies = self.bodies()?;
        let mut unknown = unknown;
        for body in bodies {
            if self.auditor.found(&body)? {
                continue;
            }
            demand!(
                unknown.as_ref() == Some(&body),
                "the log has a record that was never on its way to it"
            );
            unknown = None;
            self.coverage.met("open: unknown outcome was durable");
            self.trace.tell(|| "what was on its way is there".to_owned());
            self.trace.sum(&body);
            self.auditor.record(&body, &mut self.coverage)?;
        }
        if unknown.is_some() {
            self.coverage.met("open: unknown outcome was lost");
            self.trace.tell(|| "what was on its way is lost".to_owned());
        }
        Ok(())
    }

    /// All records of the log.
    fn bodies(&mut self) -> Audit<Vec<Vec<u8>>> {
        for _ in 0..ATTEMPTS_MAX {
            match read_all(self.server()) {
                Ok(bodies) => return Ok(bodies),
                Err(error) => self.excuse("reading the log", &Error::from(error))?,
            }
        }
        Err(broken("the log cannot be read"))
    }

    /// Checks that a server shows a workspace as the ledger has it up to a revision. The inner
    /// error is one that the server reports.
    pub(crate) fn show(
        &mut self,
        server: &Server,
        workspace: &WorkspaceName,
        head: u64,
    ) -> Audit<Result<(), Error>> {
        if let Err(error) = server.shard.load(workspace) {
            return Ok(Err(error));
        }
        // Waiting callers are gone; ending their waits is the only thing that loading adds.
        let waits = self.auditor.ledger(workspace).anyone_waits_at(head);
        let expected = head + u64::from(waits);
        let (shown, group) = revision_of(server, workspace)?;
        demand!(shown == expected, "`{workspace}` is at revision {shown}, due is {expected}");
        if waits {
            self.coverage.met("wait: given up by a fresh server");
        }
        demand!(waits || group == 0, "something is not durable after a start");
        if let Some(resident) = server.shard.machine().resident(workspace) {
            resident.space.check();
            resident.history.check();
            let left = resident.space.waits().count();
            demand!(left == 0, "`{workspace}`: {left} calls wait that were never made");
        }
        self.show_entries(server, workspace, head)?;
        self.show_batches(server, workspace, head)
    }

    fn show_entries(&mut self, server: &Server, workspace: &WorkspaceName, head: u64) -> Audit {
        let everything = Snapshot { limit: Some(10_000), ..Snapshot::default() };
        let query = StateQuery::Snapshot(everything.clone()).into();
        let Some(held) = server.shard.ask(workspace, &query, None).answer() else {
            return Err(broken("a loaded workspace is not in memory"));
        };
        match held.open(u64::MAX).map(|answer| answer.reply) {
            Ok(Reply::State(state::Reply::Entries(mut page))) => {
                // Ending a wait changes no entry.
                page.revision = Revision(head);
                self.auditor.ledger(workspace).pictured(&everything, &page, head)
            }
            other => Err(broken(format!("all entries were requested, the answer is {other:?}"))),
        }
    }

    fn show_batches(
        &mut self,
        server: &Server,
        workspace: &WorkspaceName,
        head: u64,
    ) -> Audit<Result<(), Error>> {
        let now = self.clock.now();
        let ledger = self.auditor.ledger(workspace);
        // Retention that became durable in the interrupted step may have removed more.
        ledger.age(now);
        let mut next = 1;
        while next <= head {
            let (from, last) = (Revision(next), Revision(head));
            match server.shard.batches(workspace, from, last, BATCHES_BYTES) {
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
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(()))
    }
}

/// How many revisions of which workspaces a corrupted log has lost. It may treat the very last
/// record as incomplete, and nothing else.
pub(crate) fn lost_by_corruption(
    ours: &[Vec<u8>],
    fresh: &Server,
) -> Audit<Result<BTreeMap<WorkspaceName, u64>, Error>> {
    let theirs = match read_all(fresh) {
        Ok(bodies) => bodies,
        Err(error) => return Ok(Err(error.into())),
    };
    let mut lost = BTreeMap::new();
    if ours == theirs {
        return Ok(Ok(lost));
    }
    let (last, before) = ours.split_last().ok_or_else(|| broken("the log has grown by rot"))?;
    demand!(before == theirs, "a rotten bit has cost more than the last record");
    for found in baton::codec::outlines(last) {
        let (_, outline) = found.map_err(|error| broken(error.to_string()))?;
        let name = WorkspaceName::parse(outline.workspace);
        let name = name.map_err(|error| broken(error.to_string()))?;
        *lost.entry(name).or_default() += 1;
    }
    Ok(Ok(lost))
}

/// The newest archived revision of a workspace. A batch is archived only when it is durable, so it
/// stays whatever happens to the record that it came from.
pub(crate) fn archived(fresh: &Server, workspace: &WorkspaceName) -> Result<u64, Error> {
    let names = fresh.log.list_blobs(&files::folder(workspace))?;
    let newest = names.iter().filter_map(|name| match File::parse(name)?.1 {
        File::Base { revision } | File::Deleted { revision } => Some(revision),
        File::Run { last, .. } => Some(last),
        File::Snapshot { .. } => None,
    });
    Ok(newest.max().unwrap_or(0))
}

/// The revision that a server shows for a loaded workspace, and the group that it depends on.
fn revision_of(server: &Server, workspace: &WorkspaceName) -> Audit<(u64, u64)> {
    let query = workspace::Query::Get.into();
    let Some(held) = server.shard.ask(workspace, &query, None).answer() else {
        return Err(broken("a loaded workspace is not in memory"));
    };
    let group = held.group();
    let answer = held.open(u64::MAX).map_err(|error| broken(error.to_string()))?;
    Ok((answer.revision.0, group))
}

/// All records of a server's log.
pub(crate) fn read_all(server: &Server) -> Result<Vec<Vec<u8>>, ReadError> {
    let mut bodies = Vec::new();
    let mut from = server.log.start();
    loop {
        let records = server.log.read(from, READ_BYTES)?;
        let Some(last) = records.last() else { return Ok(bodies) };
        from = last.next;
        bodies.extend(records.into_iter().map(|record| record.body));
    }
}
