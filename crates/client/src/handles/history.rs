//! The history of a workspace: forks, differences, causes, search, export; and the list of
//! workspaces.

use std::io::{Read, Write};

use baton_core::history::{At, Explanation};
use baton_core::search::{Results, Search};
use baton_core::workspace::{Diff, Differences, Forked, Listed, Query};
use baton_core::{Revision, WorkspaceName};

use crate::{Error, Workspace};

impl Workspace {
    /// Creates another workspace with the content of this one, now or at the point that
    /// [`at`](Self::at) names. It has no holds and no leases, and later changes here do not affect
    /// it.
    pub async fn fork(&self, to: &str) -> Result<Forked, Error> {
        let (to, at) = (WorkspaceName::parse(to)?, self.moment());
        self.query(Query::Fork { to, at }).await
    }

    /// Deletes the workspace with its history. The revision is one that it has had, such as
    /// [`Answer::revision`](baton_core::Answer): a workspace that was created under the same name
    /// since is not deleted.
    pub async fn delete(&self, revision: Revision) -> Result<Listed, Error> {
        self.query(Query::Delete { revision }).await
    }

    /// Lists the changes between two points in history, by subject: one page.
    pub async fn differences(&self, diff: Diff) -> Result<Differences, Error> {
        self.query(Query::Diff(diff)).await
    }

    /// Explains the state of an entry, a task or a hand-off (`state/shared/plan`, `tasks/t-7`), now
    /// or at the point that [`at`](Self::at) names.
    pub async fn why(&self, subject: &str) -> Result<Explanation, Error> {
        let (subject, at) = (subject.to_owned(), self.moment());
        self.query(Query::Why { subject, at }).await
    }

    /// Searches with a filter such as `status:failed type:build "out of memory"`, newest first: one
    /// page. The filter language is documented in `docs/search.md`.
    pub async fn search(&self, search: Search) -> Result<Results, Error> {
        self.query(Query::Search(search)).await
    }

    /// Lists the workspaces, including this one, by name: one page and the cursor of the next.
    pub async fn workspaces(
        &self,
        limit: Option<u64>,
        cursor: Option<WorkspaceName>,
    ) -> Result<(Vec<Listed>, Option<WorkspaceName>), Error> {
        self.query(Query::List { limit, cursor }).await
    }

    /// Writes the workspace as one file, in its current state or at the point that [`at`](Self::at)
    /// names: everything except its history and the values of secrets. Import verifies that the
    /// file is complete.
    pub async fn export(&self, to: impl Write + Send + 'static) -> Result<(), Error> {
        self.carrier.export(&self.caller, self.moment(), Box::new(to)).await
    }

    /// Creates this workspace, which must not have any history yet, from such a file. It has no
    /// holds and no leases. If the file is damaged, nothing is created.
    pub async fn import(&self, from: impl Read + Send + 'static) -> Result<Forked, Error> {
        self.carrier.import(&self.caller, Box::new(from)).await
    }
}

/// The differences between a point in history and the present.
pub fn since(from: impl Into<At>) -> Diff {
    Diff { from: from.into(), to: None, pattern: None, limit: None, cursor: None }
}
