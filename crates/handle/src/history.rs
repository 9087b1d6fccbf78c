//! Travelling in time: forks, differences, reasons; search; and which workspaces there are.

use std::io::{Read, Write};

use baton_core::history::{At, Explanation};
use baton_core::search::{Results, Search};
use baton_core::workspace::{Diff, Differences, Forked, Listed, Query, Reply};
use baton_core::{Reply as AnyReply, WorkspaceName};

use crate::carrier::{Carrier, Failure};
use crate::contents::ContentCarrier;
use crate::workspace::Workspace;

impl<C: Carrier> Workspace<C> {
    /// Another workspace that begins as this one is, or as it was at the moment that
    /// [`at`](Self::at) names. Nothing is held there, and nothing that happens here afterwards
    /// reaches it.
    pub async fn fork(&self, to: &str) -> Result<Forked, C::Error> {
        let (to, at) = (WorkspaceName::parse(to)?, self.moment());
        match self.ask(Query::Fork { to, at }).await?.reply {
            AnyReply::Workspace(Reply::Forked(forked)) => Ok(forked),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// What happened to everything after one moment and up to another, by subject: a page of it.
    pub async fn differences(&self, diff: Diff) -> Result<Differences, C::Error> {
        match self.ask(Query::Diff(diff)).await?.reply {
            AnyReply::Workspace(Reply::Differences(differences)) => Ok(differences),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// What led to an entry, a task or a hand-off as it is, or as it was at the moment that
    /// [`at`](Self::at) names: `state/shared/plan`, `tasks/t-7`.
    pub async fn why(&self, subject: &str) -> Result<Explanation, C::Error> {
        let (subject, at) = (subject.to_owned(), self.moment());
        match self.ask(Query::Why { subject, at }).await?.reply {
            AnyReply::Workspace(Reply::Why(explanation)) => Ok(explanation),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// What fits a filter such as `status:failed type:build "out of memory"`, the newest first: a
    /// page of it. The filter language is documented in `docs/search.md`.
    pub async fn search(&self, search: Search) -> Result<Results, C::Error> {
        match self.ask(Query::Search(search)).await?.reply {
            AnyReply::Workspace(Reply::Found(results)) => Ok(results),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// The workspaces that there are beside this one, and it, by name: a page of them, and where to
    /// go on.
    pub async fn workspaces(
        &self,
        limit: Option<u64>,
        cursor: Option<WorkspaceName>,
    ) -> Result<(Vec<Listed>, Option<WorkspaceName>), C::Error> {
        match self.ask(Query::List { limit, cursor }).await?.reply {
            AnyReply::Workspace(Reply::Workspaces { workspaces, cursor }) => {
                Ok((workspaces, cursor))
            }
            reply => Err(C::Error::odd(&reply)),
        }
    }
}

impl<C: ContentCarrier> Workspace<C> {
    /// Writes the workspace as one file, as it is or as it was at the moment that
    /// [`at`](Self::at) names: everything but the past, and the values of secrets. Whether all of
    /// it was written is seen by reading it.
    pub async fn export(&self, to: impl Write + Send + 'static) -> Result<(), C::Error> {
        self.carrier.export(&self.caller, self.moment(), Box::new(to)).await
    }

    /// Makes this workspace, in which nothing may have happened yet, of such a file. Nothing is
    /// held there, and nothing is there at all unless the file is whole.
    pub async fn import(&self, from: impl Read + Send + 'static) -> Result<Forked, C::Error> {
        self.carrier.import(&self.caller, Box::new(from)).await
    }
}

/// What happened after a moment, up to the present.
pub fn since(from: impl Into<At>) -> Diff {
    Diff { from: from.into(), to: None, pattern: None, limit: None, cursor: None }
}
