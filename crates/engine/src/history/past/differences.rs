//! The events between two revisions, grouped by subject.
//!
//! Runs are sorted by subject, so the cost of a page depends on its content: the subjects of runs
//! and tail are merged from where the previous page ended, and only the batches that changed those
//! on the page are read. Entries that were removed with their namespace have no separate event and
//! are found by their keys.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use baton_core::history::{Difference, Happened, SubjectChange, Turn};
use baton_core::refusal::{bad, within};
use baton_core::state::List;
use baton_core::workspace::Differences;
use baton_core::{Event, Key, NamespaceName, Revision, limits, workspace};
use baton_log::Log;

use super::pages::{Merged, Source};
use super::{Past, deletes};
use crate::error::Error;

/// The maximum number of subjects that are read for one page; if few of them match, the results
/// come in several pages.
const EXAMINED_MAX: usize = 100_000;
/// The maximum number of events returned per subject; all are counted.
const EVENTS_MAX: usize = 16;

/// Two revisions, and the last subject that was returned.
struct Between {
    from: Revision,
    to: Revision,
    after: Option<String>,
}

impl<L: Log> Past<'_, L> {
    /// `workspace.diff`: the events of everything, by subject.
    pub fn differences(&self, diff: &workspace::Diff) -> Result<Differences, Error> {
        let range = (1, limits::PAGE_MAX as u64);
        let limit = within("limit", diff.limit, limits::PAGE_DEFAULT as u64, range);
        let limit = usize::try_from(limit.map_err(refused)?).expect("pages are small");
        let between = self.between(diff)?;
        let Between { from, to, .. } = between;
        let tail = self.touched_in_tail(&between)?;
        let gone = self.gone_namespaces(&between)?;
        let mut differences = Vec::new();
        let (mut examined, mut last) = (0, None);
        let mut goes_on = false;
        for subject in self.subjects(&between, &tail, &gone)? {
            let subject = subject?;
            if differences.len() == limit || examined == EXAMINED_MAX {
                goes_on = true;
                break;
            }
            examined += 1;
            if diff.pattern.as_ref().is_none_or(|pattern| pattern.matches(&subject)) {
                differences.extend(self.difference(&subject, &between, &tail, &gone)?);
            }
            last = Some(subject);
        }
        let cursor = last.filter(|_| goes_on).map(|subject| format!("{from}.{to}.{subject}"));
        Ok(Differences { from, to, differences, cursor })
    }

    /// The two revisions. The cursor contains them, so that a time or the present means the same on
    /// every page.
    fn between(&self, diff: &workspace::Diff) -> Result<Between, Error> {
        let between = match &diff.cursor {
            None => {
                let from = self.revision_of(diff.from)?;
                let to = diff.to.map_or(Ok(self.present), |to| self.revision_of(to))?;
                Between { from, to, after: None }
            }
            Some(cursor) => {
                let mut parts = cursor.splitn(3, '.');
                let mut revision = || parts.next()?.parse().ok().map(Revision);
                let (from, to) = (revision(), revision());
                let after = parts.next().map(str::to_owned);
                let bad = || refused(bad("cursor", "it is not where a page ended"));
                let (from, to) = from.zip(to).filter(|_| after.is_some()).ok_or_else(bad)?;
                self.check(from)?;
                self.check(to)?;
                Between { from, to, after }
            }
        };
        let (given, max) = (between.from.0, between.to.0);
        within("from", Some(given), given, (0, max)).map_err(refused)?;
        Ok(between)
    }

    /// The batches of the tail that touched each subject.
    fn touched_in_tail(&self, between: &Between) -> Result<BTreeMap<String, Vec<u64>>, Error> {
        let mut touched: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let archived = self.archived();
        for revision in archived.max(between.from).next().0..=between.to.0 {
            for event in self.batch(Revision(revision))?.events {
                let revisions = touched.entry(event.subject()).or_default();
                if revisions.last() != Some(&revision) {
                    revisions.push(revision);
                }
            }
        }
        Ok(touched)
    }

    /// Namespaces that existed at the start and were deleted since, each with its first deletion.
    fn gone_namespaces(&self, between: &Between) -> Result<BTreeMap<NamespaceName, u64>, Error> {
        let mut gone = BTreeMap::new();
        for namespace in self.namespaces(between.from)? {
            let mut below = between.to;
            while let Some(found) = self.last_deletion(&namespace, below)? {
                if found <= between.from {
                    break;
                }
                gone.insert(namespace.clone(), found.0);
                below = Revision(found.0 - 1);
            }
        }
        Ok(gone)
    }

    /// Subjects that may have been touched, in order, after the previous page.
    fn subjects<'s>(
        &'s self,
        between: &'s Between,
        tail: &'s BTreeMap<String, Vec<u64>>,
        gone: &'s BTreeMap<NamespaceName, u64>,
    ) -> Result<impl Iterator<Item = Result<String, Error>> + 's, Error> {
        let after = between.after.as_deref();
        let is_new = move |subject: &str| after.is_none_or(|after| subject > after);
        let tail = tail.keys().filter(move |subject| is_new(subject)).cloned();
        let mut sources: Vec<Source<'s>> = vec![Box::new(tail.map(Ok))];
        let runs = self.runs().clone();
        let mut keys = BTreeSet::new();
        for namespace in gone.keys() {
            let list = List::all(namespace.clone());
            for key in self.keys(&runs, &list, None, between.from)? {
                keys.insert(format!("state/{namespace}/{}", key?));
            }
        }
        sources.push(Box::new(keys.into_iter().filter(move |it| is_new(it)).map(Ok)));
        for run in runs {
            if run.last() <= between.from.0 || run.first() > between.to.0 {
                continue;
            }
            let first = after.map_or(Bound::Unbounded, Bound::Excluded);
            let touched = run.subjects(first).filter_map(|item| match item {
                Ok((subject, revisions)) => {
                    let within = |it: &u64| (between.from.next().0..=between.to.0).contains(it);
                    revisions.iter().any(within).then_some(Ok(subject))
                }
                Err(error) => Some(Err(error.into())),
            });
            // The run is not borrowed beyond this: concurrent archiving may drop it.
            sources.push(Box::new(touched.collect::<Vec<_>>().into_iter()));
        }
        Ok(Merged::new(sources))
    }

    /// The events of one subject; none if there are no visible ones.
    fn difference(
        &self,
        subject: &str,
        between: &Between,
        tail: &BTreeMap<String, Vec<u64>>,
        gone: &BTreeMap<NamespaceName, u64>,
    ) -> Result<Option<Difference>, Error> {
        let Between { from, to, .. } = *between;
        let mut revisions = BTreeSet::new();
        for run in self.runs().iter().filter(|run| run.last() > from.0 && run.first() <= to.0) {
            let changes = run.changes(subject)?;
            revisions.extend(changes.into_iter().filter(|it| (from.next().0..=to.0).contains(it)));
        }
        revisions.extend(tail.get(subject).into_iter().flatten());
        let place = place_of(subject);
        let taken_along = place.as_ref().and_then(|(namespace, _)| gone.get(namespace));
        revisions.extend(taken_along);
        let (mut events, mut turns) = (Vec::new(), Vec::new());
        for revision in revisions {
            let batch = self.batch(Revision(revision))?;
            let concerns = |event: &&Event| {
                let goes_along = |(namespace, _): &(NamespaceName, Key)| deletes(event, namespace);
                event.subject() == subject || place.as_ref().is_some_and(goes_along)
            };
            for event in batch.events.iter().filter(|event| event.is_public()).filter(concerns) {
                events.push(Happened::of(&batch, event));
                turns.push(Turn::of(event));
            }
        }
        let count = events.len() as u64;
        let by_events = SubjectChange::of(turns);
        events.drain(..events.len().saturating_sub(EVENTS_MAX));
        let (old_value, new_value) = match &place {
            Some((namespace, key)) => {
                (self.value(namespace, key, from)?, self.value(namespace, key, to)?)
            }
            None => (None, None),
        };
        let change = match place {
            Some(_) => SubjectChange::between(old_value.is_some(), new_value.is_some()),
            None => by_events,
        };
        let subject = subject.to_owned();
        let difference = Difference { subject, change, count, events, old_value, new_value };
        Ok((count > 0).then_some(difference))
    }
}

/// The entry of a subject, if it is one.
pub(super) fn place_of(subject: &str) -> Option<(NamespaceName, Key)> {
    let (namespace, key) = subject.strip_prefix("state/")?.split_once('/')?;
    Some((NamespaceName::parse(namespace).ok()?, Key::parse(key).ok()?))
}

fn refused(rejection: impl Into<workspace::Rejection>) -> Error {
    Error::Rejected(rejection.into().into())
}
