//! Queries about the past, answered by the engine and compared with the ledger.

use baton::error::Error;
use baton::history::past::Past;
use baton_core::history::At;
use baton_core::search::{Found, Search};
use baton_core::state::{Change, Diff, History, Query};
use baton_core::{
    AgentId, Query as AnyQuery, Rejection, Revision, WorkspaceName, state, workspace,
};

use crate::auditor::{Audit, Ledger, demand};
use crate::story::render_answer;
use crate::tap::TappedLog;
use crate::world::{World, broken, is_excused};

/// The maximum number of pages of one query.
const PAGES_MAX: usize = 1_000;

impl World {
    /// A query that cannot be answered from the current state.
    pub(crate) fn query_past(
        &mut self,
        workspace: &WorkspaceName,
        by: &AgentId,
        query: &AnyQuery,
        present: Revision,
    ) -> Audit {
        match query {
            AnyQuery::State(query) => self.read_past(workspace, query, present),
            AnyQuery::At(..) => self.read_as_of(workspace, by, query, present),
            AnyQuery::Workspace(workspace::Query::Search(search)) => {
                self.search(workspace, search, present)
            }
            query => self.fork(workspace, by, query, present),
        }
    }

    /// A query about the past, as of a durable revision.
    fn read_past(&mut self, workspace: &WorkspaceName, query: &Query, present: Revision) -> Audit {
        if !self.load(workspace)? {
            return Ok(());
        }
        let slack = self.slack(workspace);
        let server = self.server.as_ref().expect("a server runs between steps");
        let ledger = self.auditor.ledger(workspace);
        demand!(
            present.0 <= ledger.head(),
            "history of {present} is returned before it is durable"
        );
        let read = match server.shard.past(workspace, present) {
            Ok(past) => read(&past, ledger, query, present),
            Err(error) => Err(error),
        };
        let words = match &read {
            Ok(checked) => {
                checked.clone()?;
                "as it was".to_owned()
            }
            Err(error) => error.to_string(),
        };
        self.trace.tell(|| format!("   the past at {present} is read: {words}"));
        self.trace.sum_numbers(&[2, present.0, words.len() as u64]);
        match read {
            Ok(_) => Ok(()),
            Err(error) => self.past_unavailable(workspace, error, present, slack),
        }
    }

    /// A query about anything but entries, at an earlier revision.
    fn read_as_of(
        &mut self,
        workspace: &WorkspaceName,
        by: &AgentId,
        query: &AnyQuery,
        present: Revision,
    ) -> Audit {
        let AnyQuery::At(At::Revision(at), asked) = query else {
            return Err(broken(format!("{query:?} is not about a revision")));
        };
        if !self.load(workspace)? {
            return Ok(());
        }
        let slack = self.slack(workspace);
        let answer = match self.server().shard.query_past(workspace, by, query, present) {
            Ok(answer) => Ok(answer),
            Err(Error::Rejected(rejection)) => Err(rejection),
            Err(error) => return self.past_unavailable(workspace, error, present, slack),
        };
        self.trace.tell(|| format!("   as of {at} it was: {}", render_answer(&answer)));
        self.sum_answer(&answer)?;
        self.coverage.met("answer: past of what is not state");
        self.auditor.ledger(workspace).past(asked, &answer, at.0)
    }

    /// A search, page by page.
    fn search(&mut self, workspace: &WorkspaceName, search: &Search, present: Revision) -> Audit {
        if !self.load(workspace)? {
            return Ok(());
        }
        let slack = self.slack(workspace);
        let past = self.server().shard.past(workspace, present);
        let (at, found) = match past.and_then(|past| all_found(&past, search)) {
            Ok(found) => found,
            Err(error) => return self.past_unavailable(workspace, error, present, slack),
        };
        let (query, count) = (&search.query, found.len());
        self.trace.tell(|| format!("   `{query}` at {at} finds {count}"));
        self.trace.sum_numbers(&[3, at.0, count as u64]);
        self.coverage.met(if found.is_empty() { "search: nothing" } else { "search: something" });
        demand!(at >= present, "a search shows revision {at}, {present} was durable before");
        self.auditor.ledger(workspace).found(query, &found, at.0)
    }

    /// The past cannot be read: it was dropped, does not exist yet, or the disk failed.
    pub(crate) fn past_unavailable(
        &mut self,
        workspace: &WorkspaceName,
        error: Error,
        present: Revision,
        slack: Option<u64>,
    ) -> Audit {
        match error {
            error @ Error::Gone { asked, .. } => {
                self.coverage.met("answer: history removed");
                let ledger = self.auditor.ledger(workspace);
                ledger.about(&error, workspace)?;
                // The changes of a revision go with the state before it.
                ledger.gone(asked.0.saturating_sub(1), slack)
            }
            Error::NotYet { asked, newest, .. } => {
                demand!(asked > newest && newest == present, "revision {asked} has happened");
                Ok(())
            }
            error if is_excused(&error) => Ok(()),
            error => Err(broken(format!("the past of {workspace} at {present} failed: {error}"))),
        }
    }
}

/// Reads and compares. The outer error is the engine's, the inner one the auditor's.
fn read(
    past: &Past<'_, TappedLog>,
    ledger: &Ledger,
    query: &Query,
    present: Revision,
) -> Result<Audit, Error> {
    match query {
        Query::Get(get) => {
            let at = get.at.unwrap_or(present);
            let found = past.get(get, at);
            match &found {
                Ok(_) | Err(Error::Rejected(_)) => Ok(ledger.past_get(get, at.0, &found)),
                Err(error) => Err(error.clone()),
            }
        }
        Query::List(list) => {
            let at = list.at.unwrap_or(present);
            match past.list(list, at) {
                Ok(page) => Ok(ledger.listed(list, &page, at.0)),
                Err(error) => unknown_namespace(ledger, at, error),
            }
        }
        Query::Snapshot(snapshot) => {
            let pinned = snapshot.revision().map_err(|it| Error::Rejected(it.into()))?;
            let at = pinned.unwrap_or(present);
            match past.snapshot(snapshot, at) {
                Ok(page) => Ok(ledger.pictured(snapshot, &page, at.0)),
                Err(error) => unknown_namespace(ledger, at, error),
            }
        }
        Query::History(history) => {
            let changes = all_pages(past, history)?;
            let oldest = history.from.map_or(1, |from| from.0.max(1));
            let newest = history.to.map_or(present.0, |to| to.0.min(present.0));
            Ok(ledger.history_shown(history, oldest, newest, &changes))
        }
        Query::Diff(diff) => differences(past, ledger, diff, present),
    }
}

fn unknown_namespace(ledger: &Ledger, at: Revision, error: Error) -> Result<Audit, Error> {
    match &error {
        Error::Rejected(Rejection::State(state::Rejection::UnknownNamespace { namespace })) => {
            let there = ledger.rules(namespace, at.0).is_some();
            Ok(if there { Err(broken(format!("{error}, but at {at} there was"))) } else { Ok(()) })
        }
        _ => Err(error),
    }
}

fn all_pages(past: &Past<'_, TappedLog>, history: &History) -> Result<Vec<Change>, Error> {
    let mut query = history.clone();
    let mut all = Vec::new();
    for _ in 0..PAGES_MAX {
        let (changes, cursor) = past.history(&query)?;
        all.extend(changes);
        match cursor {
            Some(cursor) => query.cursor = Some(cursor),
            None => return Ok(all),
        }
    }
    Err(Error::Storage { what: "history has no end".to_owned() })
}

/// All matches, as of the revision of the last page.
fn all_found(past: &Past<'_, TappedLog>, search: &Search) -> Result<(Revision, Vec<Found>), Error> {
    let mut search = search.clone();
    let mut all = Vec::new();
    for _ in 0..PAGES_MAX {
        let (revision, results) = past.search(&search)?;
        all.extend(results.found);
        match results.cursor {
            Some(cursor) => search.cursor = Some(cursor),
            None => return Ok((revision, all)),
        }
    }
    Err(Error::Storage { what: "a search has no end".to_owned() })
}

fn differences(
    past: &Past<'_, TappedLog>,
    ledger: &Ledger,
    diff: &Diff,
    present: Revision,
) -> Result<Audit, Error> {
    let changes = past.diff(diff)?;
    Ok(ledger.differs(diff, diff.to.unwrap_or(present).0, &changes))
}
