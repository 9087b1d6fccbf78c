//! Checks that a search finds everything that matches, once, newest first, and nothing else.

use std::collections::BTreeMap;

use baton_core::search::Found;

use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::models::watch::matches;

/// The parts of a filter: fields and their values.
type SearchTerms<'a> = Vec<(&'a str, &'a str)>;

impl Ledger {
    /// Checks all results, on any number of pages, as of a revision.
    pub fn found(&self, query: &str, found: &[Found], at: u64) -> Audit {
        demand!(at <= self.head(), "a search shows revision {at}, {} is durable", self.head());
        let parts: Option<SearchTerms<'_>> =
            query.split(' ').map(|it| it.split_once(':')).collect();
        let Some(parts) = parts else {
            return Err(Breach(format!("`{query}` has parts that are no fields")));
        };
        let mut missing = self.fitting(&parts, at);
        let mut before = u64::MAX;
        for found in found {
            let Found { subject, revision, .. } = found;
            let there = missing.remove(subject);
            demand!(there.is_some(), "`{query}` at {at} finds {subject}, twice or wrongly");
            let is_newest = there.flatten().is_none_or(|newest| newest == revision.0);
            demand!(is_newest, "`{query}` at {at} finds {subject} as it was at {revision}");
            demand!(revision.0 <= before, "`{query}` finds {subject} after what is older");
            before = revision.0;
        }
        demand!(missing.is_empty(), "`{query}` at {at} does not find {:?}", missing.keys());
        Ok(())
    }

    /// The subjects that match, with the revision of the last change if that is known.
    fn fitting(&self, parts: &SearchTerms<'_>, at: u64) -> BTreeMap<String, Option<u64>> {
        let keys = self.facts(at).map(|((namespace, key), fact)| {
            let fits = parts.iter().all(|(field, wanted)| match *field {
                "kind" => *wanted == "key",
                "namespace" => *wanted == namespace.as_str(),
                "key" => matches(wanted, key.as_str()),
                _ => false,
            });
            fits.then(|| (format!("state/{namespace}/{key}"), Some(fact.revision)))
        });
        let tasks = self.tasks.all_at(at).map(|(id, work)| {
            let fits = parts.iter().all(|(field, wanted)| match *field {
                "kind" => *wanted == "task",
                "type" => *wanted == work.task_type.as_str(),
                "status" => *wanted == work.status.word(),
                _ => false,
            });
            fits.then(|| (format!("tasks/{id}"), None))
        });
        let messages = self.messages.all_at(at).map(|message| {
            let fits = parts.iter().all(|(field, wanted)| match *field {
                "kind" => *wanted == "message",
                "to" => *wanted == message.to.as_str(),
                "status" => *wanted == message.status.word(),
                _ => false,
            });
            fits.then(|| (format!("inbox/{}/{}", message.to, message.id), None))
        });
        keys.chain(tasks).chain(messages).flatten().collect()
    }
}
