//! The names of a workspace's blobs.
//!
//! | name | what it is |
//! |---|---|
//! | `workspaces/NAME/snapshot-REVISION-DEADLINE` | the workspace, and its next deadline |
//! | `workspaces/NAME/base-REVISION` | the state after the revisions that are no longer kept |
//! | `workspaces/NAME/run-FIRST-LAST` | archived batches |
//! | `workspaces/NAME/deleted-REVISION` | the empty workspace that follows a deletion: a base |
//!
//! Numbers have twenty digits, so that names sort like numbers. An upper-case letter in a name is
//! written as `%` and the lower-case one, because some file systems are case-insensitive.

use baton_core::WorkspaceName;

/// One blob of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum File {
    /// The state after the revisions that are no longer kept.
    Base {
        /// The newest of them.
        revision: u64,
    },
    /// The base of a workspace whose predecessor was deleted. All up to its revision is gone.
    Deleted {
        /// The last revision of the predecessor.
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
            Self::Deleted { revision } => format!("{folder}deleted-{revision:020}"),
            Self::Run { first, last } => format!("{folder}run-{first:020}-{last:020}"),
            Self::Snapshot { revision, deadline } => {
                format!("{folder}snapshot-{revision:020}-{deadline:020}")
            }
        }
    }

    /// The newest revision in it.
    pub fn newest(self) -> u64 {
        match self {
            Self::Base { revision }
            | Self::Deleted { revision }
            | Self::Snapshot { revision, .. } => revision,
            Self::Run { last, .. } => last,
        }
    }

    fn run(self) -> Option<(u64, u64)> {
        match self {
            Self::Run { first, last } => Some((first, last)),
            Self::Base { .. } | Self::Deleted { .. } | Self::Snapshot { .. } => None,
        }
    }

    fn base(self) -> Option<u64> {
        match self {
            Self::Base { revision } | Self::Deleted { revision } => Some(revision),
            Self::Run { .. } | Self::Snapshot { .. } => None,
        }
    }

    /// Whether it is not of a workspace that was deleted at this revision.
    pub fn is_after(self, deleted: u64) -> bool {
        deleted == 0 || self.newest() > deleted || self == Self::Deleted { revision: deleted }
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
            "deleted" => Self::Deleted { revision: number()? },
            "run" => Self::Run { first: number()?, last: number()? },
            "snapshot" => Self::Snapshot { revision: number()?, deadline: number()? },
            _ => return None,
        };
        Some((workspace, file))
    }
}

/// The last revision of the predecessor of a workspace; 0 if it has none.
pub fn deleted(files: &[File]) -> u64 {
    let revisions = files.iter().filter_map(|file| match file {
        File::Deleted { revision } => Some(*revision),
        File::Base { .. } | File::Run { .. } | File::Snapshot { .. } => None,
    });
    revisions.max().unwrap_or(0)
}

/// The files with the archived history of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The base, if there is one.
    pub base: Option<File>,
    /// First and last revision of each run, oldest first.
    pub runs: Vec<(u64, u64)>,
}

impl Chain {
    /// The newest revision in it.
    pub fn archived(&self) -> u64 {
        self.runs.last().map_or(self.base.map_or(0, File::newest), |(_, last)| *last)
    }
}

/// The base, and the consecutive runs after it; none if they are not consecutive. Other files may
/// exist: a job that failed after creating its file left it behind, and the next one may have
/// chosen other boundaries. Files of a deleted workspace are not part of it.
pub fn chain(files: &[File]) -> Option<Chain> {
    let began = deleted(files);
    let files = files.iter().copied().filter(|file| file.is_after(began));
    let files: Vec<File> = files.collect();
    let runs: Vec<(u64, u64)> = files.iter().filter_map(|file| file.run()).collect();
    let last = runs.iter().map(|(_, last)| *last).max().unwrap_or(0);
    let mut bases: Vec<File> = files.into_iter().filter(|file| file.base().is_some()).collect();
    bases.sort_unstable_by_key(|base| base.newest());
    let mut newest_first = bases.into_iter().rev().map(Some).chain([None]);
    newest_first.find_map(|base| {
        let runs = runs_between(base.map_or(0, File::newest), last, &runs)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_read_back() {
        let workspace = WorkspaceName::parse("Team-7.B").unwrap();
        for file in [
            File::Base { revision: 7 },
            File::Deleted { revision: 7 },
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
        let check = |files: &[File], base: Option<File>, runs: &[(u64, u64)]| {
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
        check(&[base(4), run(1, 4), run(5, 9)], Some(base(4)), &[(5, 9)]);
        // A fold that failed after it was complete, and then its run was merged.
        check(&[base(4), run(1, 9)], None, &[(1, 9)]);
        // A deletion, before the files of the deleted workspace were removed, and what follows it.
        let deleted = File::Deleted { revision: 9 };
        check(&[deleted, base(4), base(9), run(5, 9)], Some(deleted), &[]);
        check(&[deleted, run(1, 9), run(10, 12)], Some(deleted), &[(10, 12)]);
        check(&[deleted, base(12), run(10, 12), run(13, 14)], Some(base(12)), &[(13, 14)]);
        assert_eq!(chain(&[run(1, 4), run(6, 9)]), None);
        assert_eq!(chain(&[base(4), run(6, 9)]), None);
    }
}
