//! Executes queries, newest results first.
//!
//! Candidates are the documents of the rarest required term, or all, in the range of numbers that
//! the required times allow. They are visited newest first, in step with the lists of the other
//! terms, each of which is passed once. A page ends when it is full, or after a maximum number of
//! candidates; the next page continues there.

use super::document::Document;
use super::filter::Filter;
use super::index::SearchIndex;
use super::kind::SearchKind;
use super::terms::Walk;
use super::{Found, Refused, Results, Search};
use crate::limits;
use crate::numbers::Revision;
use crate::refusal::{BadField, bad, fits};
use crate::time::Timestamp;

/// The end of a page: the position of the last visited document, and the time of the first page, so
/// that relative times mean the same on every page.
struct Cursor {
    revision: Revision,
    ordinal: u32,
    subject: String,
    now: Timestamp,
}

impl Cursor {
    fn read(text: &str) -> Result<Self, BadField> {
        let mut parts = text.splitn(4, '.');
        let mut number = || parts.next()?.parse::<u64>().ok();
        let numbers = number().zip(number()).zip(number());
        let read = numbers.zip(parts.next()).and_then(|(((now, revision), ordinal), subject)| {
            let (now, revision) = (Timestamp(now), Revision(revision));
            let ordinal = u32::try_from(ordinal).ok()?;
            Some(Self { revision, ordinal, subject: subject.to_owned(), now })
        });
        read.ok_or_else(|| bad("cursor", "it is not where a page ended"))
    }

    fn after(document: &Document, now: Timestamp) -> String {
        let (revision, ordinal, subject) = document.sort_key();
        format!("{}.{}.{ordinal}.{subject}", now.0, revision.0)
    }
}

impl SearchIndex {
    /// The matching documents, newest first. The space may have forgotten some that have ended: the
    /// caller knows which ones it still has.
    pub fn search(
        &self,
        search: &Search,
        limit: usize,
        now: Timestamp,
        still_has: impl Fn(SearchKind, &str) -> bool,
    ) -> Result<Results, Refused> {
        let cursor = search.cursor.as_deref().map(Cursor::read).transpose()?;
        let now = cursor.as_ref().map_or(now, |cursor| cursor.now);
        let wanted = Filter::parse(&search.query, now)?;
        fits("index", self.bytes(), limits::SEARCH_BYTES_MAX)?;
        let (keys_since, events_since) = (self.window.keys_since, self.window.events_since);
        let mut results = Results { found: Vec::new(), keys_since, events_since, cursor: None };
        let below = cursor.map_or(self.documents.len(), |cursor| {
            let sort_key = (cursor.revision, cursor.ordinal, cursor.subject.as_str());
            self.documents.partition_point(|document| document.sort_key() < sort_key)
        });
        let Some(mut fitting) = Matches::new(self, &wanted, below) else { return Ok(results) };
        let (mut examined, mut last) = (0, None);
        while let Some(number) = fitting.candidate() {
            if results.found.len() == limit || examined == limits::SEARCH_EXAMINED_MAX {
                results.cursor = last.map(|last| Cursor::after(last, now));
                break;
            }
            examined += 1;
            let document = &self.documents[number as usize];
            last = Some(document);
            let is_there = |it: &Document| !it.is_ended || still_has(it.kind, it.identity());
            if fitting.fits(number, document) && is_there(document) {
                results.found.push(self.shown(document));
            }
        }
        Ok(results)
    }

    fn shown(&self, document: &Document) -> Found {
        let fields = document.fields().iter().filter_map(|term| {
            let (name, value) = self.terms.text(*term).split_once(':')?;
            (name != "kind").then(|| (name.to_owned(), value.to_owned()))
        });
        Found {
            kind: document.kind,
            subject: document.subject.to_string(),
            revision: document.revision,
            updated_at: document.updated_at,
            created_at: document.created_at(),
            fields: fields.collect(),
        }
    }

    /// The documents with this id, as sorted numbers. The ids of tasks and messages may be given
    /// without the prefix of the subject.
    fn named(&self, id: &str) -> Vec<u32> {
        let kinds = [SearchKind::Task, SearchKind::Message, SearchKind::Key];
        let mut found: Vec<u32> = kinds
            .into_iter()
            .filter_map(|kind| {
                let number = self.find(kind, kind.identity(id))?;
                let subject = &*self.documents[number as usize].subject;
                let is_meant = subject == id || kind.identity(subject) == id;
                is_meant.then_some(number)
            })
            .collect();
        found.sort_unstable();
        found
    }
}

/// Candidates: a list, the documents with an id, or a range of numbers.
enum Candidates<'a> {
    Listed(&'a [u32]),
    Named(Vec<u32>),
    All(std::ops::Range<usize>),
}

/// The matching documents, newest first.
struct Matches<'a> {
    wanted: &'a Filter,
    candidates: Candidates<'a>,
    others: Vec<Walk<'a>>,
    without: Vec<Walk<'a>>,
    phrases: Vec<Vec<u32>>,
    without_phrases: Vec<Vec<u32>>,
}

impl<'a> Matches<'a> {
    /// None if a required term is in no document.
    fn new(index: &'a SearchIndex, wanted: &'a Filter, below: usize) -> Option<Self> {
        let numbers = |texts: &[String]| -> Option<Vec<u32>> {
            texts.iter().map(|text| index.terms.find(text)).collect()
        };
        let range = wanted.range(index, below);
        let within = |list: &'a [u32]| {
            let from = list.partition_point(|number| (*number as usize) < range.start);
            let to = list.partition_point(|number| (*number as usize) < range.end);
            &list[from..to.max(from)]
        };
        let mut lists: Vec<&[u32]> = numbers(&wanted.terms)?
            .into_iter()
            .map(|term| within(index.terms.list(term)))
            .collect();
        lists.sort_by_key(|list| list.len());
        let candidates = match &wanted.id {
            Some(id) => {
                let mut named = index.named(id);
                named.retain(|number| range.contains(&(*number as usize)));
                Candidates::Named(named)
            }
            None if lists.is_empty() => Candidates::All(range.clone()),
            None => Candidates::Listed(lists.remove(0)),
        };
        let refused = wanted.without.iter().filter_map(|text| index.terms.find(text));
        let refused = refused.map(|term| Walk::new(index.terms.list(term)));
        Some(Self {
            wanted,
            candidates,
            others: lists.into_iter().map(Walk::new).collect(),
            without: refused.collect(),
            phrases: wanted.phrases.iter().map(|it| numbers(it)).collect::<Option<_>>()?,
            without_phrases: wanted.without_phrases.iter().filter_map(|it| numbers(it)).collect(),
        })
    }

    /// The next candidate.
    fn candidate(&mut self) -> Option<u32> {
        match &mut self.candidates {
            Candidates::Listed(list) => {
                let (last, rest) = list.split_last()?;
                *list = rest;
                Some(*last)
            }
            Candidates::Named(numbers) => numbers.pop(),
            Candidates::All(range) => {
                range.next_back().map(|it| u32::try_from(it).expect("documents are limited"))
            }
        }
    }

    fn fits(&mut self, number: u32, document: &Document) -> bool {
        let has = |phrase: &Vec<u32>| {
            let is_in = |words: &[u32]| words.windows(phrase.len()).any(|run| run == &phrase[..]);
            document.parts().any(is_in)
        };
        // Lists first: they are checked without reading the document.
        self.others.iter_mut().all(|list| list.has(number))
            && !self.without.iter_mut().any(|list| list.has(number))
            && document.is_alive
            && self.wanted.fits_times(document.created_at(), document.updated_at)
            && self.phrases.iter().all(has)
            && !self.without_phrases.iter().any(has)
            && self.wanted.fits_key(&document.subject)
    }
}
