//! The names of a workspace's blobs.
//!
//! | name | what it is |
//! |---|---|
//! | `workspaces/NAME/snapshot-REVISION-DEADLINE` | the workspace, and its next deadline |
//! | `workspaces/NAME/base-REVISION` | the state after the revisions that are no longer kept |
//! | `workspaces/NAME/run-FIRST-LAST` | archived batches |
//!
//! Numbers have twenty digits, so that names sort like numbers. An upper-case letter in a name is
//! written as `%` and the lower-case one, because some file systems are case-insensitive.

use baton_core::{Timestamp, WorkspaceName};

/// One blob of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum File {
    /// The state after the revisions that are no longer kept.
    Base {
        /// The newest of them.
        revision: u64,
    },
    /// Archived batches.
    Run {
        /// The oldest.
        first: u64,
        /// The newest.
        last: u64,
    },
    /// The workspace at a revision.
    Snapshot {
        /// The revision.
        revision: u64,
        /// The next deadline; 0 if there is none.
        deadline: u64,
    },
}

/// The common prefix of the blobs of all workspaces.
pub const ROOT: &str = "workspaces/";

/// The common prefix of the blobs of a workspace.
pub fn folder(workspace: &WorkspaceName) -> String {
    let mut folder = ROOT.to_owned();
    for sign in workspace.as_str().chars() {
        if sign.is_ascii_uppercase() {
            folder.push('%');
        }
        folder.push(sign.to_ascii_lowercase());
    }
    folder.push('/');
    folder
}

impl File {
    /// The blob's name.
    pub fn name(self, workspace: &WorkspaceName) -> String {
        let folder = folder(workspace);
        match self {
            Self::Base { revision } => format!("{folder}base-{revision:020}"),
            Self::Run { first, last } => format!("{folder}run-{first:020}-{last:020}"),
            Self::Snapshot { revision, deadline } => {
                format!("{folder}snapshot-{revision:020}-{deadline:020}")
            }
        }
    }

    /// The newest revision in it.
    pub fn newest(self) -> u64 {
        match self {
            Self::Base { revision } | Self::Snapshot { revision, .. } => revision,
            Self::Run { last, .. } => last,
        }
    }

    fn run(self) -> Option<(u64, u64)> {
        match self {
            Self::Run { first, last } => Some((first, last)),
            Self::Base { .. } | Self::Snapshot { .. } => None,
        }
    }

    fn base(self) -> Option<u64> {
        match self {
            Self::Base { revision } => Some(revision),
            Self::Run { .. } | Self::Snapshot { .. } => None,
        }
    }

    /// Parses a name; none if it has another form.
    pub fn parse(name: &str) -> Option<(WorkspaceName, Self)> {
        let (folder, file) = name.strip_prefix(ROOT)?.split_once('/')?;
        let mut workspace = String::new();
        let mut signs = folder.chars();
        while let Some(sign) = signs.next() {
            workspace.push(if sign == '%' { signs.next()?.to_ascii_uppercase() } else { sign });
        }
        let workspace = WorkspaceName::parse(&workspace).ok()?;
        let mut parts = file.split('-');
        let kind = parts.next()?;
        let mut number = || parts.next()?.parse::<u64>().ok();
        let file = match kind {
            "base" => Self::Base { revision: number()? },
            "run" => Self::Run { first: number()?, last: number()? },
            "snapshot" => Self::Snapshot { revision: number()?, deadline: number()? },
            _ => return None,
        };
        Some((workspace, file))
    }
}

/// The files with the archived history of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The revision of the base, if there is one.
    pub base: Option<u64>,
    /// First and last revision of each run, oldest first.
    pub runs: Vec<(u64, u64)>,
}

impl Chain {
    /// The newest revision in it.
    pub fn archived(&self) -> u64 {
        self.runs.last().map_or(self.base.unwrap_or(0), |(_, last)| *last)
    }
}

/// The base, and the consecutive runs after it; none if they are not consecutive. Other files may
/// exist: a job that failed after creating its file left it behind, and the next one may have
/// chosen other boundaries.
pub fn chain(files: &[File]) -> Option<Chain> {
    let runs: Vec<(u64, u64)> = files.iter().filter_map(|file| file.run()).collect();
    let last = runs.iter().map(|(_, last)| *last).max().unwrap_or(0);
    let mut bases: Vec<u64> = files.iter().filter_map(|file| file.base()).collect();
    bases.sort_unstable();
    let mut newest_first = bases.into_iter().rev().map(Some).chain([None]);
    newest_first.find_map(|base| {
        let runs = runs_between(base.unwrap_or(0), last, &runs)?;
        Some(Chain { base, runs })
    })
}

fn runs_between(base: u64, last: u64, runs: &[(u64, u64)]) -> Option<Vec<(u64, u64)>> {
    if last <= base {
        return Some(Vec::new());
    }
    let mut ending = runs.iter().filter(|(first, end)| *end == last && *first > base);
    ending.find_map(|run| {
        let mut chain = runs_between(base, run.0 - 1, runs)?;
        chain.push(*run);
        Some(chain)
    })
}

/// The next deadline in a snapshot's name.
pub fn deadline_of(moment: Option<Timestamp>) -> u64 {
    moment.map_or(0, |moment| moment.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_read_back() {
        let workspace = WorkspaceName::parse("Team-7.B").unwrap();
        for file in [
            File::Base { revision: 7 },
            File::Run { first: 8, last: 99 },
            File::Snapshot { revision: 99, deadline: 1_700_000_000_000 },
        ] {
            assert_eq!(File::parse(&file.name(&workspace)), Some((workspace.clone(), file)));
        }
        assert_eq!(folder(&workspace), "workspaces/%team-7.%b/");
        assert_eq!(File::parse("workspaces/x/else-1"), None);
        assert_eq!(File::parse("else"), None);
    }
    fn run(first: u64, last: u64) -> File {
        File::Run { first, last }
    }

    #[test]
    fn runs_that_a_failed_attempt_left_behind_do_no_harm() {
        let base = |revision| File::Base { revision };
        let check = |files: &[File], base: Option<u64>, runs: &[(u64, u64)]| {
            let expected = Chain { base, runs: runs.to_vec() };
            assert_eq!(chain(files), Some(expected), "{files:?}");
        };
        check(&[], None, &[]);
        check(&[run(1, 4), run(5, 9)], None, &[(1, 4), (5, 9)]);
        // A merge that failed after it was complete, and the next one did not merge.
        check(&[run(1, 20), run(1, 4), run(5, 25)], None, &[(1, 4), (5, 25)]);
        // A successful merge, before the runs that it replaces were deleted.
        check(&[run(1, 9), run(1, 4), run(5, 9)], None, &[(1, 9)]);
        // A complete fold, before the run was deleted.
        check(&[base(4), run(1, 4), run(5, 9)], Some(4), &[(5, 9)]);
        // A fold that failed after it was complete, and then its run was merged.
        check(&[base(4), run(1, 9)], None, &[(1, 9)]);
        assert_eq!(chain(&[run(1, 4), run(6, 9)]), None);
        assert_eq!(chain(&[base(4), run(6, 9)]), None);
    }
}
