//! Copies of a workspace that have changed independently.

use baton_core::KeyName;
use baton_core::sync::{ChangesQuery, CopyChanges, Decision, Known, Sync, SyncReport};
use baton_core::workspace::{Command, Query};

use crate::{Error, Workspace};

/// How often a document is read again because the workspace has changed in the meantime.
const ATTEMPTS_MAX: usize = 20;

/// How to synchronize.
#[derive(Clone, Debug, Default)]
pub struct SyncOptions {
    /// Decisions about conflicts, which apply instead of the rules of the namespaces.
    pub decisions: Vec<Decision>,
    /// Only report what would happen with the first document, and change nothing.
    pub dry_run: bool,
}

impl Workspace {
    /// Lists the changes of this copy that another copy does not include yet. Without `with`, it
    /// only identifies this copy.
    pub async fn changes(&self, query: ChangesQuery) -> Result<CopyChanges, Error> {
        self.query(Query::Changes(query)).await
    }

    /// Takes in what another copy of this workspace has changed, possibly on another server:
    /// entries and namespaces. Conflicts are decided by the rules of each namespace; the report has
    /// the outcome for every key. If both copies take in the other, they have the same values.
    pub async fn sync_from(
        &self,
        other: &Workspace,
        options: &SyncOptions,
    ) -> Result<SyncReport, Error> {
        let mut total: Option<SyncReport> = None;
        loop {
            let CopyChanges { copy, seen, .. } = self.changes(ChangesQuery::default()).await?;
            let with = Some(Known { copy, seen });
            let theirs = other.changes(ChangesQuery { with, ..ChangesQuery::default() }).await?;
            let report = self.take_in(theirs, options).await?;
            let goes_on = report.more && report.changed && !options.dry_run;
            let total = match &mut total {
                Some(total) => {
                    total.join(report);
                    total
                }
                None => total.insert(report),
            };
            if !goes_on {
                return Ok(total.clone());
            }
        }
    }

    /// Takes in one document. If an entry changes in the meantime, it is compared again.
    async fn take_in(
        &self,
        theirs: CopyChanges,
        options: &SyncOptions,
    ) -> Result<SyncReport, Error> {
        let name = |namespace: &str, key: &str| format!("{namespace}/{key}");
        let keys = theirs.entries.iter().map(|it| name(it.namespace.as_str(), it.key.as_str()));
        let keys: Vec<KeyName> =
            keys.map(|it| KeyName::parse(&it).expect("both parts are valid")).collect();
        let namespaces: Vec<_> = theirs.namespaces.iter().map(|it| it.name.clone()).collect();
        for attempt in 1.. {
            let ours = self.changes(ChangesQuery {
                with: Some(Known { copy: theirs.copy.clone(), seen: theirs.seen.clone() }),
                keys: Some(keys.clone()),
                namespaces: Some(namespaces.clone()),
                limit: None,
            });
            let SyncOptions { decisions, dry_run } = options.clone();
            let sync = Sync { theirs: theirs.clone(), ours: ours.await?, decisions, dry_run };
            match self.run(Command::Sync(Box::new(sync))).await {
                Err(error) if error.code() == "workspace.sync_stale" && attempt < ATTEMPTS_MAX => {}
                done => return done,
            }
        }
        unreachable!("the attempts are counted")
    }
}
