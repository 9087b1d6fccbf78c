//! The inverted index.

use std::collections::{BTreeMap, VecDeque};
use std::hash::BuildHasher;

use hashbrown::HashTable;

use super::amendment::Amendment;
use super::document::Document;
use super::draft::Draft;
use super::kind::SearchKind;
use super::terms::TermIndex;
use crate::event::Event;
use crate::limits;
use crate::names::AgentId;
use crate::numbers::Revision;
use crate::space::Space;
use crate::space::batch::Batch;
use crate::{message, namespace, task};

/// The minimum number of dead documents before the live ones are renumbered.
const DEAD_MIN: usize = 1_024;
/// How many records may have ended since the index was built before it is rebuilt from the space,
/// which may have forgotten some of them.
const ENDED_SLACK: usize = 200_000;
/// The fraction of documents that is dropped when the index is too large, so that this happens
/// rarely.
const LEAVING_PART: usize = 8;

/// The revisions up to which old documents were dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Keys that were last written up to this revision.
    pub keys_since: Revision,
    /// Events up to this revision.
    pub events_since: Revision,
}

/// The inverted index of a workspace at a revision.
#[derive(Default)]
pub struct SearchIndex {
    revision: Revision,
    pub(super) documents: Vec<Document>,
    by_identity: HashTable<u32>,
    hasher: hashbrown::DefaultHashBuilder,
    pub(super) terms: TermIndex,
    /// Events, oldest first.
    events: VecDeque<u32>,
    alive: usize,
    /// How many of them have ended, and how many had when the index was built.
    ended: usize,
    ended_before: usize,
    /// The approximate size of the live documents in bytes, without the texts of their terms.
    bytes: usize,
    /// All documents before this one are dead, except tasks and messages.
    oldest: usize,
    pub(super) window: Window,
    /// The new documents of the batch that is being applied; none if one was removed.
    staged: BTreeMap<(SearchKind, String), Option<Document>>,
}

impl SearchIndex {
    /// Builds the index from a space, and from the batches after a revision, in order.
    pub fn of<E>(
        space: &Space,
        after: Revision,
        batches: impl Iterator<Item = Result<Batch, E>>,
    ) -> Result<Self, E> {
        let window = Window { events_since: after, ..Window::default() };
        let mut index = Self { revision: space.revision(), window, ..Self::default() };
        let mut documents = Vec::new();
        let mut keep = |draft: &Draft| documents.push(Document::new(draft, &mut index.terms));
        space.state.everything(None, None).for_each(|entry| keep(&Draft::of_entry(&entry)));
        space.task.records().for_each(|record| keep(&Draft::of_task(record)));
        space.message.store().all().for_each(|message| keep(&Draft::of_message(message)));
        for batch in batches {
            let batch = batch?;
            for (number, event, by) in public_events(&batch) {
                keep(&Draft::of_event(&batch, by, number, event));
            }
        }
        documents.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
        for document in documents {
            index.insert(document);
        }
        index.ended_before = index.ended;
        index.keep_within(limits::SEARCH_BYTES_MAX);
        Ok(index)
    }

    /// The revision of the index.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The number of live documents.
    pub fn len(&self) -> usize {
        self.alive
    }

    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.alive == 0
    }

    /// Its approximate size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes + self.terms.bytes()
    }

    /// Whether it may contain so many records that the space has forgotten without an event that it
    /// should be rebuilt.
    pub fn is_outworn(&self) -> bool {
        self.ended > 2 * self.ended_before + ENDED_SLACK
    }

    /// Applies the next batch.
    pub fn apply(&mut self, batch: &Batch) {
        assert_eq!(batch.revision, self.revision.next(), "batches are applied in order");
        for (event, by) in batch.events.iter().zip(batch.authors()) {
            #[cfg(feature = "planted")]
            if crate::planted::is("search.misses_changes") && batch.revision.0.is_multiple_of(5) {
                continue;
            }
            self.stage(batch, by, event);
        }
        self.merge_fresh();
        for (number, event, by) in public_events(batch) {
            let draft = Draft::of_event(batch, by, number, event);
            let document = Document::new(&draft, &mut self.terms);
            self.insert(document);
        }
        self.revision = batch.revision;
        if self.documents.len() - self.alive > self.alive.max(DEAD_MIN) {
            self.renumber();
        }
        self.keep_within(limits::SEARCH_BYTES_MAX);
    }

    /// Stages the effect of an event.
    fn stage(&mut self, batch: &Batch, by: &AgentId, event: &Event) {
        let draft = match event {
            Event::State(event) => {
                let draft = Draft::of_state(batch, by, event);
                if draft.is_none() {
                    let (namespace, key) = event.entry_key();
                    self.staged.insert((SearchKind::Key, format!("state/{namespace}/{key}")), None);
                }
                draft
            }
            Event::Task(task::Event::Created(created)) => {
                Some(Draft::of_created(batch, by, created))
            }
            Event::Message(message::Event::Sent(sent)) => Some(Draft::of_sent(batch, by, sent)),
            _ => None,
        };
        if let Some(draft) = draft {
            let document = Document::new(&draft, &mut self.terms);
            let name = (document.kind, document.identity().to_owned());
            self.staged.insert(name, Some(document));
            return;
        }
        if let Event::Task(event) = event
            && let Some(task) = event.task()
        {
            self.amend(batch, SearchKind::Task, task.as_str(), &Amendment::task(event));
        }
        if let Event::Message(event) = event
            && let Some((_, message)) = event.message()
        {
            self.amend(batch, SearchKind::Message, message.as_str(), &Amendment::message(event));
        }
        if let Event::Namespace(namespace::Event::Deleted { name }) = event {
            self.remove_namespace(name.as_str());
        }
    }

    /// Stages an update of a document.
    fn amend(&mut self, batch: &Batch, kind: SearchKind, identity: &str, amended: &Amendment) {
        let name = (kind, identity.to_owned());
        let before = match self.staged.get(&name) {
            Some(staged) => staged.clone(),
            None => self.find(kind, identity).map(|it| self.documents[it as usize].clone()),
        };
        let after = before.map(|before| before.amended(batch, amended, &mut self.terms));
        self.staged.insert(name, after);
    }

    /// Stages the removal of all entries of a namespace, including those just written.
    fn remove_namespace(&mut self, namespace: &str) {
        let beginning = format!("state/{namespace}/");
        for ((kind, identity), staged) in &mut self.staged {
            if *kind == SearchKind::Key && identity.starts_with(&beginning) {
                *staged = None;
            }
        }
        let Some(term) = self.terms.find(&format!("namespace:{namespace}")) else { return };
        for number in self.terms.list(term) {
            let document = &self.documents[*number as usize];
            if document.is_alive && document.kind == SearchKind::Key {
                self.staged.insert((SearchKind::Key, document.identity().to_owned()), None);
            }
        }
    }

    /// Replaces documents with the staged ones.
    fn merge_fresh(&mut self) {
        let mut fresh = Vec::new();
        for ((kind, identity), document) in std::mem::take(&mut self.staged) {
            self.bury(kind, &identity);
            fresh.extend(document);
        }
        fresh.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
        for document in fresh {
            self.insert(document);
        }
    }

    /// The live document of a record.
    pub(super) fn find(&self, kind: SearchKind, identity: &str) -> Option<u32> {
        let is_it = |number: &u32| {
            let there = &self.documents[*number as usize];
            there.kind == kind && there.identity() == identity
        };
        self.by_identity.find(self.hasher.hash_one(identity), is_it).copied()
    }

    fn insert(&mut self, document: Document) {
        let number = u32::try_from(self.documents.len()).expect("documents are limited");
        for term in &document.terms {
            self.terms.add(*term, number);
        }
        self.bytes += document.bytes();
        self.ended += usize::from(document.is_ended);
        self.alive += 1;
        if document.kind == SearchKind::Event {
            self.events.push_back(number);
        } else {
            let Self { documents, hasher, by_identity, .. } = self;
            let rehash = |it: &u32| hasher.hash_one(documents[*it as usize].identity());
            by_identity.insert_unique(hasher.hash_one(document.identity()), number, rehash);
        }
        self.documents.push(document);
        if self.events.len() > limits::SEARCH_EVENTS_MAX {
            self.forget_event();
        }
    }

    fn forget_event(&mut self) {
        let Some(number) = self.events.pop_front() else { return };
        let since = self.documents[number as usize].revision;
        self.window.events_since = self.window.events_since.max(since);
        self.kill(number);
    }

    /// Drops the oldest keys and events while the index is too large.
    pub(super) fn keep_within(&mut self, bytes_max: usize) {
        while self.bytes() > bytes_max && self.make_room() {
            self.renumber();
        }
    }

    /// Drops a fraction of the oldest keys and events; returns whether there were any.
    fn make_room(&mut self) -> bool {
        let wanted = (self.alive / LEAVING_PART).max(1);
        let mut leaving = wanted;
        while leaving > 0 && self.oldest < self.documents.len() {
            let document = &self.documents[self.oldest];
            match document.kind {
                SearchKind::Event if document.is_alive => self.forget_event(),
                SearchKind::Key if document.is_alive => {
                    self.window.keys_since = self.window.keys_since.max(document.revision);
                    let identity = document.identity().to_owned();
                    self.bury(SearchKind::Key, &identity);
                }
                SearchKind::Event | SearchKind::Key | SearchKind::Task | SearchKind::Message => {
                    self.oldest += 1;
                    continue;
                }
            }
            leaving -= 1;
        }
        leaving < wanted
    }

    fn kill(&mut self, number: u32) {
        let document = &mut self.documents[number as usize];
        assert!(document.is_alive, "a document dies once");
        document.is_alive = false;
        self.bytes -= document.bytes();
        self.ended -= usize::from(document.is_ended);
        self.alive -= 1;
    }

    /// Removes the document of a record.
    fn bury(&mut self, kind: SearchKind, identity: &str) {
        let Self { documents, by_identity, hasher, .. } = self;
        let is_it = |number: &u32| {
            let there = &documents[*number as usize];
            there.kind == kind && there.identity() == identity
        };
        if let Ok(found) = by_identity.find_entry(hasher.hash_one(identity), is_it) {
            let (number, _) = found.remove();
            self.kill(number);
        }
    }

    /// Renumbers the live documents, and drops unused terms.
    fn renumber(&mut self) {
        assert!(self.staged.is_empty(), "what is staged has numbers of terms too");
        let fresh = Self {
            revision: self.revision,
            ended_before: self.ended_before,
            window: self.window,
            ..Self::default()
        };
        let before = std::mem::replace(self, fresh);
        for mut document in before.documents.into_iter().filter(|it| it.is_alive) {
            for term in &mut document.terms {
                *term = self.terms.number(before.terms.text(*term));
            }
            self.insert(document);
        }
    }

    /// Asserts the invariants of the module.
    pub fn check(&self) {
        self.terms.check();
        let alive = || self.documents.iter().filter(|document| document.is_alive);
        assert_eq!(alive().count(), self.alive, "the living are counted");
        assert_eq!(alive().map(Document::bytes).sum::<usize>(), self.bytes, "and weighed");
        let ended = alive().filter(|document| document.is_ended);
        assert_eq!(ended.count(), self.ended, "so are those that are over");
        assert_eq!(self.by_identity.len() + self.events.len(), self.alive, "each is known once");
        assert!(self.staged.is_empty(), "nothing is left of a batch");
        let in_order = |one: &Document, next: &Document| {
            one.sort_key() < next.sort_key() && one.updated_at <= next.updated_at
        };
        let living: Vec<&Document> = alive().collect();
        assert!(living.is_sorted_by(|one, next| in_order(one, next)), "numbers grow with places");
    }
}

/// The public events of a batch, each with its number and its author.
fn public_events(batch: &Batch) -> impl Iterator<Item = (usize, &Event, &AgentId)> {
    let events = batch.events.iter().zip(batch.authors()).enumerate();
    let events = events.filter(|(_, (event, _))| event.is_public());
    events.map(|(number, (event, by))| (number, event, by))
}
