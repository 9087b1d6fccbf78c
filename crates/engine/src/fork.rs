//! Workspaces that start with the content of another one, and the list of workspaces.
//!
//! ```text
//!   origin at R ──rebuilt──▶ space ──found──▶ nothing is held ──write──▶ base of the new one
//! ```
//!
//! The new workspace is one blob, which exists completely or not at all; with it, the workspace
//! exists. It keeps only the content of the origin, and its revisions continue from there, so that
//! known versions of entries stay valid.
//!
//! 1. A process that is killed in the middle leaves no workspace behind.
//! 2. An existing workspace of that name is not changed.
//! 3. Later changes to the origin, including the loss of its history, do not affect the new one.

use std::collections::BTreeMap;

use baton_core::access::CLOSED;
use baton_core::history::{At, Manner, Origin};
use baton_core::refusal::within;
use baton_core::workspace::{Forked, Listed, Rejection, Reply};
use baton_core::{AgentId, Revision, Space, WorkspaceName, limits};
use baton_log::Log;

use crate::error::Error;
use crate::files::{self, File};
use crate::history::past::{Past, copy_id};
use crate::shard::Shard;
use crate::watch::Wakers;

/// The source of the contents of a new workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// In the workspace that it is created from, to be copied.
    AtOrigin,
    /// In the new workspace already.
    Present,
}

/// The revision of a workspace that has not been changed since it was created.
struct Unused(Option<Revision>);

impl<L: Log> Past<'_, L> {
    /// `workspace.fork`: creates a workspace with the content of this one.
    pub fn fork(&self, to: &WorkspaceName, at: Option<At>, by: &AgentId) -> Result<Reply, Error> {
        let (mut space, origin) = self.forked(at, by)?;
        self.shard().create_from(to, &mut space, &origin, Contents::AtOrigin)
    }

    /// The content of a fork, and its origin.
    pub(crate) fn forked(&self, at: Option<At>, by: &AgentId) -> Result<(Space, Origin), Error> {
        let at = at.map_or(Ok(self.present()), |at| self.revision_of(at))?;
        let space = self.space(at)?;
        let workspace = self.workspace().clone();
        let (revision, time, by) = (space.revision(), space.time(), by.clone());
        let copy = copy_id(&workspace, &space.workspace);
        let origin = Origin { manner: Manner::Fork, workspace, revision, time, by, copy };
        Ok((space, origin))
    }
}

impl<L: Log> Shard<L> {
    /// Creates a workspace from the content of another one. A repeated request gets the same
    /// answer, as long as the new workspace is unused.
    pub(crate) fn create_from(
        &self,
        to: &WorkspaceName,
        space: &mut Space,
        origin: &Origin,
        contents: Contents,
    ) -> Result<Reply, Error> {
        self.check_disk_space()?;
        space.seed_fork(origin.clone(), self.clock.now()).map_err(Error::Rejected)?;
        let create = || self.create_locked(to, space, origin, contents);
        if !self.with_files_locked(to, create)? {
            return self.answer_taken(to, origin);
        }
        let (id, revision, origin) = (to.clone(), space.revision(), origin.clone());
        Ok(Reply::Forked(Forked { id, revision, origin }))
    }

    /// The answer if the name is taken, perhaps by the same fork.
    pub(crate) fn answer_taken(&self, to: &WorkspaceName, origin: &Origin) -> Result<Reply, Error> {
        let is_repeated = origin.manner == Manner::Fork;
        match self.origin_of(to)? {
            Some((there, Unused(Some(revision)))) if is_repeated && there == *origin => {
                let (id, origin) = (to.clone(), there);
                Ok(Reply::Forked(Forked { id, revision, origin }))
            }
            there => {
                let (id, origin) = (to.clone(), there.map(|(origin, _)| Box::new(origin)));
                Err(Error::Rejected(Rejection::Exists { id, origin }.into()))
            }
        }
    }

    /// Writes the base of a new workspace; false if the name is taken.
    fn create_locked(
        &self,
        to: &WorkspaceName,
        space: &mut Space,
        origin: &Origin,
        contents: Contents,
    ) -> Result<bool, Error> {
        let files = self.files_of(to)?;
        let deleted = files::deleted(&files);
        if files.iter().any(|file| file.newest() > deleted) {
            return Ok(false);
        }
        if deleted > 0 {
            space.continue_after(Revision(deleted));
        }
        if contents == Contents::AtOrigin {
            self.copy_blobs(&origin.workspace, to, space)?;
        }
        // The new workspace cannot be used yet: it is not in memory, and loading waits for the file
        // lock.
        let Some(mut watchers) = self.machine().take_if_empty(to, Revision(deleted)) else {
            return Ok(false);
        };
        let written = self.write_space(to, File::Base { revision: space.revision().0 }, space);
        let resume_from = if written.is_ok() { space.revision() } else { Revision(0) };
        let mut wakers = Wakers::default();
        watchers.close(resume_from.next(), &mut wakers);
        wakers.wake();
        written?;
        for file in files {
            // Files that cannot be removed now are removed when the workspace is loaded.
            self.log.delete_blob(&file.name(to)).unwrap_or_default();
        }
        self.machine().remember_deadline(to.clone(), space.next_deadline());
        Ok(true)
    }

    /// The origin of a workspace, and whether it is unused.
    fn origin_of(&self, workspace: &WorkspaceName) -> Result<Option<(Origin, Unused)>, Error> {
        self.load(workspace)?;
        let mut machine = self.settled(workspace);
        let resident = machine.resident(workspace);
        Ok(resident.and_then(|resident| {
            let origin = resident.space.workspace.origin()?.clone();
            let revision = resident.space.revision();
            let began = resident.history.base.as_ref().map(|base| base.revision());
            Some((origin, Unused(Some(revision).filter(|_| began == Some(revision)))))
        }))
    }

    /// Workspaces with commits that are not deleted, and how far each is durable.
    pub(crate) fn newest_revisions(&self) -> Result<BTreeMap<WorkspaceName, Revision>, Error> {
        let mut newest: BTreeMap<WorkspaceName, Revision> = BTreeMap::new();
        let mut deleted: BTreeMap<WorkspaceName, Revision> = BTreeMap::new();
        for name in self.log.list_blobs(files::ROOT)? {
            if let Some((workspace, file)) = File::parse(&name) {
                let revision = Revision(file.newest());
                if let File::Deleted { .. } = file {
                    deleted.insert(workspace.clone(), revision);
                }
                let known = newest.entry(workspace).or_default();
                *known = revision.max(*known);
            }
        }
        for (workspace, revision) in self.machine().known() {
            let known = newest.entry(workspace).or_default();
            *known = revision.max(*known);
        }
        newest.retain(|workspace, revision| {
            *revision > deleted.get(workspace).copied().unwrap_or_default()
        });
        Ok(newest)
    }

    /// `workspace.list`: workspaces with commits that calls can access, by name.
    pub fn list_workspaces(
        &self,
        limit: Option<u64>,
        cursor: Option<&WorkspaceName>,
    ) -> Result<Reply, Error> {
        let range = (1, limits::PAGE_MAX as u64);
        let limit = within("limit", limit, limits::PAGE_DEFAULT as u64, range);
        let limit = limit.map_err(|wrong| Error::Rejected(Rejection::from(wrong).into()))?;
        // No call can access the closed workspace, so listing it would only mislead.
        let is_wanted = |(id, _): &(WorkspaceName, Revision)| {
            id.as_str() != CLOSED && cursor.is_none_or(|cursor| id > cursor)
        };
        let mut listed = self.newest_revisions()?.into_iter().filter(is_wanted);
        let limit = usize::try_from(limit).expect("pages are small");
        let workspaces = listed.by_ref().take(limit);
        let workspaces: Vec<_> = workspaces.map(|(id, revision)| Listed { id, revision }).collect();
        let cursor = listed.next().and_then(|_| workspaces.last().map(|last| last.id.clone()));
        Ok(Reply::Workspaces { workspaces, cursor })
    }
}
