//! The bytes of all checkpoints of a workspace, each distinct part of them once.
//!
//! A state is cut into chunks, and the list of its chunks into pages, in the same manner: by what
//! stands there. So a state that differs from another in one place shares all chunks and pages with
//! it but those around that place, and a checkpoint is a short list of pages.
//!
//! ```text
//!   checkpoint 1   [ page 0 ][ page 1 ][ page 2 ]
//!                      │         ╳         │
//!   checkpoint 2   [ page 0 ][ page 3 ][ page 2 ]        chunks 5 and 6 stand in pages 1 and 3
//! ```
//!
//! Invariants, checked by [`Content::check`]:
//!
//! 1. A page is used as often as it stands in a checkpoint, a chunk as often as it stands in a
//!    page. What is not used is not there.
//! 2. What is kept is counted in [`Content::bytes`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Interned, cut};

/// Which pages a state consists of, in order.
pub type Pages = Box<[u32]>;

/// Most chunks in a page.
const PAGE_MAX: usize = 64;
/// What it costs to keep one more chunk or page besides what is in it: its slot, its place in the
/// index, and the head of its allocation.
const SLOT_BYTES: usize = 64;

/// A state as an event has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recipe(pub Vec<Piece>);

/// A part of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// Chunks of the parent: from this one on, so many.
    Keep(u32, u32),
    /// Chunks that are kept for other checkpoints, by number.
    Known(Vec<u32>),
    /// Chunks that are new.
    New(Vec<String>),
}

impl Recipe {
    /// About how many bytes it takes in the log, and never fewer.
    pub fn load(&self) -> usize {
        const PIECE: usize = 24;
        const CHUNK: usize = 5;
        let load = |piece: &Piece| match piece {
            Piece::Keep(..) => PIECE,
            Piece::Known(numbers) => PIECE + CHUNK * numbers.len(),
            Piece::New(texts) => PIECE + texts.iter().map(|text| CHUNK + text.len()).sum::<usize>(),
        };
        self.0.iter().map(load).sum()
    }

    /// How many bytes more will be kept at most when it is followed, without words about it.
    pub fn growth(&self) -> usize {
        const RECORD: usize = 1_024;
        // Around every border between pieces a page may be new, and with it whatever it lists.
        const BORDER: usize = 2 * (SLOT_BYTES + PAGE_MAX * size_of::<u32>());
        // A chunk that is not shared stands in a page that is not, and in the worst case alone.
        const PLACE: usize = SLOT_BYTES + 2 * size_of::<u32>();
        let chunks = self.0.iter().map(|piece| match piece {
            Piece::Keep(_, count) => *count as usize * size_of::<u32>(),
            Piece::Known(numbers) => numbers.len() * PLACE,
            Piece::New(texts) => texts.iter().map(|text| chunk_bytes(text) + PLACE).sum::<usize>(),
        });
        RECORD + chunks.sum::<usize>() + self.0.len() * BORDER
    }
}

/// What was let go of, so that it can be put back.
#[derive(Default)]
pub struct Freed {
    chunks: Vec<(u32, Arc<str>)>,
    pages: Vec<(u32, Arc<[u32]>)>,
}

/// The bytes of all checkpoints.
#[derive(Default)]
pub struct Content {
    chunks: Interned<str>,
    pages: Interned<[u32]>,
    bytes: usize,
}

fn chunk_bytes(chunk: &str) -> usize {
    chunk.len() + SLOT_BYTES
}

fn page_bytes(page: &[u32]) -> usize {
    size_of_val(page) + SLOT_BYTES
}

/// Whether a page ends with this chunk: about every sixteenth does, whatever stands before it.
fn ends_page(chunk: u32) -> bool {
    chunk.wrapping_mul(0x9e37_79b9) >> 28 == 0
}

impl Content {
    /// The chunks of a state, in order.
    fn chunks_of<'a>(&'a self, pages: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        pages.iter().flat_map(|page| self.pages.get(*page).iter().copied())
    }

    /// How to make a text out of what is there, given the state that it was probably made from.
    pub fn recipe(&self, before: &[u32], text: &str) -> Recipe {
        let before: Vec<u32> = self.chunks_of(before).collect();
        let places: BTreeMap<u32, u32> =
            (0..).zip(&before).map(|(at, chunk)| (*chunk, at)).collect();
        let mut pieces: Vec<Piece> = Vec::new();
        for chunk in cut(text) {
            let known = self.chunks.find(chunk);
            match (pieces.last_mut(), known) {
                (Some(Piece::Keep(first, count)), Some(number))
                    if before.get((*first + *count) as usize) == Some(&number) =>
                {
                    *count += 1;
                }
                (last, Some(number)) => match (places.get(&number), last) {
                    (Some(place), _) => pieces.push(Piece::Keep(*place, 1)),
                    (None, Some(Piece::Known(numbers))) => numbers.push(number),
                    (None, _) => pieces.push(Piece::Known(vec![number])),
                },
                (Some(Piece::New(texts)), None) => texts.push(chunk.to_owned()),
                (_, None) => pieces.push(Piece::New(vec![chunk.to_owned()])),
            }
        }
        Recipe(pieces)
    }

    /// Makes a state by its recipe, and keeps it.
    pub fn follow(&mut self, before: &[u32], recipe: &Recipe) -> Pages {
        let before: Vec<u32> = self.chunks_of(before).collect();
        let mut chunks = Vec::with_capacity(before.len());
        for piece in &recipe.0 {
            match piece {
                Piece::Keep(first, count) => {
                    let (first, count) = (*first as usize, *count as usize);
                    chunks.extend_from_slice(&before[first..first + count]);
                }
                Piece::Known(numbers) => chunks.extend_from_slice(numbers),
                Piece::New(texts) => chunks.extend(texts.iter().map(|text| self.chunk(text))),
            }
        }
        let last = chunks.len().saturating_sub(1);
        let mut pages = Vec::new();
        let mut start = 0;
        for (place, chunk) in chunks.iter().enumerate() {
            let is_full = place + 1 - start == PAGE_MAX;
            if ends_page(*chunk) || is_full || place == last {
                pages.push(self.page(&chunks[start..=place]));
                start = place + 1;
            }
        }
        let pages = pages.into_boxed_slice();
        self.hold(&pages);
        pages
    }

    fn chunk(&mut self, text: &str) -> u32 {
        self.chunks.find(text).unwrap_or_else(|| {
            self.bytes += chunk_bytes(text);
            self.chunks.insert(text.into())
        })
    }

    fn page(&mut self, chunks: &[u32]) -> u32 {
        self.pages.find(chunks).unwrap_or_else(|| {
            self.bytes += page_bytes(chunks);
            self.pages.insert(chunks.into())
        })
    }

    /// One more checkpoint consists of these.
    pub fn hold(&mut self, pages: &[u32]) {
        for page in pages {
            if self.pages.hold(*page) {
                for chunk in self.pages.get(*page).iter() {
                    self.chunks.hold(*chunk);
                }
            }
        }
    }

    /// One checkpoint less consists of these. What no other shares is gone, and noted.
    pub fn release(&mut self, pages: &[u32], freed: &mut Freed) {
        for number in pages {
            let Some(page) = self.pages.release(*number) else { continue };
            self.bytes -= page_bytes(&page);
            for chunk in page.iter() {
                #[cfg(feature = "planted")]
                if crate::planted::is("checkpoint.frees_twice") && self.chunks.uses(*chunk) == 2 {
                    self.chunks.release(*chunk);
                }
                if let Some(text) = self.chunks.release(*chunk) {
                    self.bytes -= chunk_bytes(&text);
                    freed.chunks.push((*chunk, text));
                }
            }
            freed.pages.push((*number, page));
        }
    }

    /// Puts back what was let go of; the checkpoints that consist of it are to be held again.
    pub fn put_back(&mut self, freed: Freed) {
        for (number, chunk) in freed.chunks {
            self.bytes += chunk_bytes(&chunk);
            self.chunks.put(number, chunk);
        }
        for (number, page) in freed.pages {
            self.bytes += page_bytes(&page);
            self.pages.put(number, page);
        }
    }

    /// How many bytes of text are in no other checkpoint than these.
    pub fn only_in<'a>(&self, checkpoints: impl Iterator<Item = &'a [u32]>) -> usize {
        let mut pages: BTreeMap<u32, u32> = BTreeMap::new();
        for page in checkpoints.flatten() {
            *pages.entry(*page).or_default() += 1;
        }
        pages.retain(|page, uses| self.pages.uses(*page) == *uses);
        let mut chunks: BTreeMap<u32, u32> = BTreeMap::new();
        for chunk in pages.keys().flat_map(|page| self.pages.get(*page).iter()) {
            *chunks.entry(*chunk).or_default() += 1;
        }
        let gone = chunks.iter().filter(|(chunk, uses)| self.chunks.uses(**chunk) == **uses);
        gone.map(|(chunk, _)| self.chunks.get(*chunk).len()).sum()
    }

    /// The text of a state, as it was saved.
    pub fn text(&self, pages: &[u32], bytes: usize) -> String {
        let mut text = String::with_capacity(bytes);
        for chunk in self.chunks_of(pages) {
            text.push_str(self.chunks.get(chunk));
        }
        text
    }

    /// About how many bytes of memory all of it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Every chunk, by number.
    pub fn chunks(&self) -> impl Iterator<Item = (u32, &Arc<str>)> {
        self.chunks.all()
    }

    /// Every page, by number.
    pub fn pages(&self) -> impl Iterator<Item = (u32, &Arc<[u32]>)> {
        self.pages.all()
    }

    /// Puts together what a snapshot holds; the checkpoints that consist of it are to be held.
    pub fn restore(chunks: Vec<(u32, Arc<str>)>, pages: Vec<(u32, Arc<[u32]>)>) -> Self {
        let mut content = Self::default();
        content.put_back(Freed { chunks, pages });
        content
    }

    /// Asserts the invariants of the module's story, given the pages of every checkpoint.
    pub fn check<'a>(&self, checkpoints: impl Iterator<Item = &'a [u32]>) {
        let mut pages: BTreeMap<u32, u32> = BTreeMap::new();
        for page in checkpoints.flatten() {
            *pages.entry(*page).or_default() += 1;
        }
        let mut chunks: BTreeMap<u32, u32> = BTreeMap::new();
        let mut bytes = 0;
        for (number, page) in self.pages.all() {
            assert_eq!(pages.get(&number), Some(&self.pages.uses(number)), "uses of a page");
            page.iter().for_each(|chunk| *chunks.entry(*chunk).or_default() += 1);
            bytes += page_bytes(page);
        }
        for (number, chunk) in self.chunks.all() {
            assert_eq!(chunks.get(&number), Some(&self.chunks.uses(number)), "uses of a chunk");
            bytes += chunk_bytes(chunk);
        }
        assert_eq!((pages.len(), chunks.len()), (self.pages.len(), self.chunks.len()));
        assert_eq!(bytes, self.bytes, "what is kept is counted");
        self.chunks.check();
        self.pages.check();
    }
}
