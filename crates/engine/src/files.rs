//! The names of a workspace's blobs.
//!
//! | name | what it is |
//! |---|---|
//! | `workspaces/NAME/snapshot-REVISION-DEADLINE` | the workspace at a revision; when time next causes something there |
//! | `workspaces/NAME/base-REVISION` | what the forgotten revisions added up to |
//! | `workspaces/NAME/run-FIRST-LAST` | archived batches |
//!
//! Numbers have twenty digits, so that names sort as numbers do. A capital letter in a name is
//! written as `%` and the small one, because some file systems do not tell them apart.

use baton_core::{Timestamp, WorkspaceName};

/// One blob of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum File {
    /// What the forgotten revisions added up to.
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
        /// Which.
        revision: u64,
        /// When time next causes something; 0 if never.
        deadline: u64,
    },
}

/// What all blobs of all workspaces begin with.
pub const ROOT: &str = "workspaces/";

/// What all blobs of a workspace begin with.
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

    /// Reads a name back; none if it is not one of ours.
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

/// When a snapshot says that time next causes something.
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
}
