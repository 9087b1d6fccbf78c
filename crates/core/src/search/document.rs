//! Documents of the search index.

use super::amendment::Amendment;
use super::draft::{Draft, PARTS};
use super::kind::SearchKind;
use super::terms::TermIndex;
use crate::numbers::Revision;
use crate::space::batch::Batch;
use crate::time::Timestamp;

/// The approximate size of a document in bytes, without its subject and terms.
const DOCUMENT_BYTES: usize = 112;
/// A term is stored in the document, and the document in the list of the term.
const TERM_BYTES: usize = 8;

/// A document: its terms are numbers, the fields first, then the words of each part.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) kind: SearchKind,
    pub(super) is_alive: bool,
    /// Whether the record has ended, so that the space may forget it without an event.
    pub(super) is_ended: bool,
    fields: u8,
    parts: [u8; PARTS],
    pub(super) ordinal: u32,
    pub(super) subject: Box<str>,
    pub(super) revision: Revision,
    pub(super) updated_at: Timestamp,
    created_at: Timestamp,
    pub(super) terms: Box<[u32]>,
}

impl Document {
    pub(super) fn new(draft: &Draft, terms: &mut TermIndex) -> Self {
        let fields = draft.fields.iter();
        let numbers: Vec<u32> =
            fields.chain(draft.parts.iter().flatten()).map(|it| terms.number(it)).collect();
        Self {
            kind: draft.kind,
            is_alive: true,
            is_ended: draft.is_ended,
            fields: few(draft.fields.len()),
            parts: draft.parts.each_ref().map(|words| few(words.len())),
            ordinal: draft.ordinal,
            subject: draft.subject.as_str().into(),
            revision: draft.revision,
            updated_at: draft.updated_at,
            created_at: draft.created_at,
            terms: numbers.into(),
        }
    }

    /// The document after an event about the same record.
    pub(super) fn amended(
        &self,
        batch: &Batch,
        amended: &Amendment,
        terms: &mut TermIndex,
    ) -> Self {
        let is_replaced = |term: u32, terms: &TermIndex| {
            let name = terms.text(term).split(':').next().unwrap_or_default();
            amended.fields.iter().any(|(field, _)| *field == name)
        };
        let mut numbers: Vec<u32> =
            self.fields().iter().copied().filter(|term| !is_replaced(*term, terms)).collect();
        let fresh = amended.fields.iter().filter_map(|(_, value)| value.as_deref());
        numbers.extend(fresh.map(|value| terms.number(value)));
        let fields = few(numbers.len());
        let mut parts = self.parts;
        for (number, words) in self.parts().enumerate() {
            match amended.parts.iter().find(|(part, _)| *part == number) {
                Some((_, words)) => {
                    numbers.extend(words.iter().map(|word| terms.number(word)));
                    parts[number] = few(words.len());
                }
                None => numbers.extend_from_slice(words),
            }
        }
        let subject = amended.subject.as_deref().map(Into::into);
        Self {
            fields,
            parts,
            is_ended: amended.is_ended.unwrap_or(self.is_ended),
            subject: subject.unwrap_or_else(|| self.subject.clone()),
            revision: batch.revision,
            updated_at: batch.time,
            terms: numbers.into(),
            ..self.clone()
        }
    }

    /// Its fields, as terms.
    pub(super) fn fields(&self) -> &[u32] {
        &self.terms[..self.fields.into()]
    }

    /// The words of each of its parts.
    pub(super) fn parts(&self) -> impl Iterator<Item = &[u32]> {
        let mut rest = &self.terms[self.fields.into()..];
        self.parts.iter().map(move |count| {
            let (words, later) = rest.split_at((*count).into());
            rest = later;
            words
        })
    }

    /// When it was created, if known.
    pub(super) fn created_at(&self) -> Option<Timestamp> {
        match self.kind {
            SearchKind::Task | SearchKind::Message | SearchKind::Event => Some(self.created_at),
            SearchKind::Key => None,
        }
    }

    /// Its position in the order of documents.
    pub(super) fn sort_key(&self) -> (Revision, u32, &str) {
        (self.revision, self.ordinal, &self.subject)
    }

    /// Its identity among all documents of its kind.
    pub(super) fn identity(&self) -> &str {
        self.kind.identity(&self.subject)
    }

    /// Its approximate size in bytes, including its part of the lists.
    pub(super) fn bytes(&self) -> usize {
        DOCUMENT_BYTES + self.subject.len() + self.terms.len() * TERM_BYTES
    }
}

fn few(count: usize) -> u8 {
    u8::try_from(count).expect("a document has few fields, and few words in a part")
}
