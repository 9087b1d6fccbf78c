//! The facts about workspaces in a log and its files when it is opened.

use std::collections::{BTreeMap, HashMap};

use baton_core::{Revision, Timestamp, WorkspaceName};
use baton_log::{Log, Position};

use crate::codec;
use crate::error::Error;
use crate::files::{self, File};
use crate::history::run::Run;
use crate::history::{LogLocation, Tail};
use crate::machine::Machine;

/// How much of the log is read at once when it is opened.
const READ_BYTES: usize = 4 << 20;
/// A time that is in the past of every clock.
const AT_ONCE: Timestamp = Timestamp(1);

/// The machine that continues a log.
pub(super) fn machine(log: &impl Log, now: Timestamp) -> Result<Machine, Error> {
    let (tails, deadlines) = find_tails(log)?;
    let mut machine = Machine::new(log.tail(), tails, now);
    for (workspace, Seen { time, .. }) in &deadlines {
        machine.remember_time(workspace, *time, now);
    }
    find_deadlines(log, &deadlines, &mut machine)?;
    for (workspace, Seen { deadline, .. }) in deadlines {
        machine.remember_deadline(workspace, deadline);
    }
    Ok(machine)
}

type Tails = HashMap<WorkspaceName, Tail>;
type Deadlines = HashMap<WorkspaceName, Seen>;

/// The times in the newest batch of a workspace in the log, by the workspace's own time.
#[derive(Default)]
struct Seen {
    time: Timestamp,
    deadline: Option<Timestamp>,
}

/// Reads the log once, to find the locations of the batches of each workspace.
fn find_tails(log: &impl Log) -> Result<(Tails, Deadlines), Error> {
    let (mut tails, mut deadlines) = (Tails::new(), Deadlines::new());
    let mut from = log.start();
    loop {
        let records = log.read(from, READ_BYTES)?;
        let Some(last) = records.last() else { return Ok((tails, deadlines)) };
        from = last.next;
        for record in &records {
            find_in_record(log, &mut tails, &mut deadlines, record.position, &record.body)?;
        }
    }
}

/// Reads the deadlines of workspaces that are only on disk, and not in the log.
fn find_deadlines(log: &impl Log, known: &Deadlines, machine: &mut Machine) -> Result<(), Error> {
    let mut newest: BTreeMap<WorkspaceName, File> = BTreeMap::new();
    // The file of this revision that names the deadline, if there are several.
    let order = |file: File| (file.newest(), named_deadline(file).is_some());
    for name in log.list_blobs(files::ROOT)? {
        let Some((workspace, file)) = File::parse(&name) else { continue };
        let there = newest.entry(workspace).or_insert(file);
        if order(file) > order(*there) {
            *there = file;
        }
    }
    for (workspace, file) in newest {
        if known.contains_key(&workspace) {
            continue;
        }
        let deadline = match (named_deadline(file), file) {
            (Some(deadline), _) => codec::deadline_of(deadline),
            // If it cannot be read, loading the workspace returns the reason.
            (None, File::Run { last, .. }) => {
                archived_deadline(log, &file.name(&workspace), last).unwrap_or(Some(AT_ONCE))
            }
            // A workspace that was forked has no snapshot yet: it is loaded to find out whether
            // anything is due.
            (None, _) => Some(AT_ONCE),
        };
        machine.remember_deadline(workspace, deadline);
    }
    Ok(())
}

/// The deadline in the name of a file; 0 if nothing is due.
fn named_deadline(file: File) -> Option<u64> {
    match file {
        File::Snapshot { deadline, .. } => Some(deadline),
        File::Deleted { .. } => Some(0),
        File::Base { .. } | File::Run { .. } => None,
    }
}

/// The next deadline after the last batch of a run.
fn archived_deadline(log: &impl Log, name: &str, last: u64) -> Result<Option<Timestamp>, Error> {
    let missing = || Error::Corrupt { what: format!("`{name}` has disappeared") };
    let run = Run::open(log.open_blob(name)?.ok_or_else(missing)?)?;
    Ok(codec::outline(&run.batch(last)?)?.deadline)
}

/// Whether the batches before this one are in files.
fn is_archived(log: &impl Log, workspace: &str, revision: Revision) -> Result<bool, Error> {
    let names = log.list_blobs(&files::folder(&WorkspaceName::parse(workspace)?))?;
    let files = names.iter().filter_map(|name| Some(File::parse(name)?.1));
    Ok(files.into_iter().any(|file| file.newest().saturating_add(1) >= revision.0))
}

fn find_in_record(
    log: &impl Log,
    tails: &mut Tails,
    deadlines: &mut Deadlines,
    position: Position,
    body: &[u8],
) -> Result<(), Error> {
    for found in codec::outlines(body) {
        let (offset, outline) = found?;
        let revision = outline.revision;
        let tail = match tails.get_mut(outline.workspace) {
            Some(tail) => tail,
            None => {
                let name = WorkspaceName::parse(outline.workspace)?;
                deadlines.insert(name.clone(), Seen::default());
                tails.entry(name).or_insert(Tail::from(revision.0))
            }
        };
        if tail.next() < revision && is_archived(log, outline.workspace, revision)? {
            // A workspace that continues elsewhere was created under the name of a deleted one.
            *tail = Tail::from(revision.0);
        }
        if tail.next() != revision {
            let what = format!(
                "the log continues at revision {revision} of workspace `{}` instead of {}",
                outline.workspace,
                tail.next()
            );
            return Err(Error::Corrupt { what });
        }
        tail.push_unseen(LogLocation { record: position, offset }, outline.bytes as u64);
        let seen = deadlines.get_mut(outline.workspace).expect("it came with the tail");
        *seen = Seen { time: outline.time.max(seen.time), deadline: outline.deadline };
    }
    Ok(())
}
