//! Watching a workspace.

use std::future::IntoFuture;
use std::sync::Arc;

use baton_core::wire::Watch;
use baton_core::{Entry, Notice, Pattern, Rejection, Revision};

use crate::carrier::Carrier;
use crate::{Prepared, Sent, Workspace};

/// What a watch brings.
#[derive(Clone, Debug)]
pub enum Item {
    /// What there is to begin with, at this revision.
    Snapshot {
        /// The revision; events after it follow.
        revision: Revision,
        /// The entries that match.
        entries: Vec<Entry>,
    },
    /// Something happened.
    Event(Arc<Notice>),
}

/// A watch that begins when this is awaited.
#[must_use = "nothing is watched before this is awaited"]
pub struct Watching<C> {
    workspace: Workspace<C>,
    request: Prepared<Watch>,
}

impl<C: Carrier> Watching<C> {
    pub(crate) fn new(workspace: Workspace<C>, pattern: &str) -> Self {
        let request = |pattern| Watch { pattern, types: Vec::new(), from: None, snapshot: false };
        let request = Pattern::parse(pattern).map(request).map_err(Rejection::from);
        Self { workspace, request }
    }

    fn with(mut self, change: impl FnOnce(&mut Watch)) -> Self {
        self.request = self.request.map(|mut request| {
            change(&mut request);
            request
        });
        self
    }

    /// Only events of types that match, such as `state.set` or `task.*`; may be given several
    /// times.
    pub fn kind(mut self, kind: &str) -> Self {
        self.request = self.request.and_then(|mut request| {
            request.types.push(Pattern::parse(kind)?);
            Ok(request)
        });
        self
    }

    /// From this revision on, in the past or the future, instead of from now on.
    pub fn from(self, revision: impl Into<Revision>) -> Self {
        self.with(|request| request.from = Some(revision.into()))
    }

    /// Begins with the entries that match, at an exact revision; events after it follow.
    pub fn with_snapshot(self) -> Self {
        self.with(|request| request.snapshot = true)
    }
}

impl<C: Carrier> IntoFuture for Watching<C> {
    type Output = Result<C::Watch, C::Error>;
    type IntoFuture = Sent<C::Watch, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Workspace { carrier, caller, .. } = self.workspace;
            carrier.watch(&caller, self.request?).await
        })
    }
}
