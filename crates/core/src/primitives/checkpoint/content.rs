//! The content of all checkpoints of a workspace: each distinct part is stored once.
//!
//! A state is cut into chunks, and the list of its chunks into pages, both by content. So a state
//! that differs from another in one place shares with it all chunks and pages but those around that
//! place, and a checkpoint is a short list of pages.
//!
//! ```text
//!   checkpoint 1   [ page 0 ][ page 1 ][ page 2 ]
//!                      │         ╳         │
//!   checkpoint 2   [ page 0 ][ page 3 ][ page 2 ]        chunks 5 and 6 are in pages 1 and 3
//! ```
//!
//! Invariants, checked by [`Content::check`]:
//!
//! 1. The use count of a page is its number of occurrences in checkpoints, that of a chunk its
//!    number of occurrences in pages. Unused ones are removed.
//! 2. [`Content::bytes`] is the size of what is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Chunk, Interned, cut};

/// The pages of a state, in order.
pub type Pages = Box<[u32]>;

/// The maximum number of chunks in a page.
const PAGE_MAX: usize = 64;
/// The overhead of one more chunk or page: its slot, its index entry and its allocation header.
const SLOT_BYTES: usize = 64;

/// A state as an event describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recipe(pub Vec<Piece>);

/// A part of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// Chunks of the parent: the first of them, and how many.
    Keep(u32, u32),
    /// Chunks of other checkpoints, by number.
    Known(Vec<u32>),
    /// New chunks.
    New(Vec<Chunk>),
}

impl Recipe {
    /// An upper bound of its size in the log, in bytes.
    pub fn load(&self) -> usize {
        const PIECE: usize = 24;
        const CHUNK: usize = 5;
        let load = |piece: &Piece| match piece {
            Piece::Keep(..) => PIECE,
            Piece::Known(numbers) => PIECE + CHUNK * numbers.len(),
            Piece::New(new) => PIECE + new.iter().map(|it| CHUNK + it.0.len()).sum::<usize>(),
        };
        self.0.iter().map(load).sum()
    }

    /// An upper bound of the memory that it adds, without description and metadata.
    pub fn growth(&self) -> usize {
        const RECORD: usize = 1_024;
        // At each boundary between pieces, pages may be new, with everything that they list.
        const BORDER: usize = 2 * (SLOT_BYTES + PAGE_MAX * size_of::<u32>());
        // A chunk that is not shared is in a page that is not shared, in the worst case alone.
        const PLACE: usize = SLOT_BYTES + 2 * size_of::<u32>();
        let chunks = self.0.iter().map(|piece| match piece {
            Piece::Keep(_, count) => *count as usize * size_of::<u32>(),
            Piece::Known(numbers) => numbers.len() * PLACE,
            Piece::New(new) => new.iter().map(|it| chunk_bytes(&it.0) + PLACE).sum::<usize>(),
        });
        RECORD + chunks.sum::<usize>() + self.0.len() * BORDER
    }
}

/// Removed chunks and pages, for undo.
#[derive(Default)]
pub struct Freed {
    chunks: Vec<(u32, Chunk)>,
    pages: Vec<(u32, Arc<[u32]>)>,
}

/// The bytes of all checkpoints.
#[derive(Default)]
pub struct Content {
    chunks: Interned<[u8]>,
    pages: Interned<[u32]>,
    bytes: usize,
}

fn chunk_bytes(chunk: &[u8]) -> usize {
    chunk.len() + SLOT_BYTES
}

fn page_bytes(page: &[u32]) -> usize {
    size_of_val(page) + SLOT_BYTES
}

/// Whether a page ends with this chunk: about every sixteenth does, whatever precedes it.
fn ends_page(chunk: u32) -> bool {
    chunk.wrapping_mul(0x9e37_79b9) >> 28 == 0
}

impl Content {
    /// The chunks of a state, in order.
    fn chunks_of<'a>(&'a self, pages: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        pages.iter().flat_map(|page| self.pages.get(*page).iter().copied())
    }

    /// How to build bytes from stored chunks, given the state from which it probably originates.
    pub fn recipe(&self, before: &[u32], bytes: &[u8]) -> Recipe {
        let before: Vec<u32> = self.chunks_of(before).collect();
        let places: BTreeMap<u32, u32> =
            (0..).zip(&before).map(|(at, chunk)| (*chunk, at)).collect();
        let mut pieces: Vec<Piece> = Vec::new();
        for chunk in cut(bytes) {
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
                (Some(Piece::New(new)), None) => new.push(chunk.into()),
                (_, None) => pieces.push(Piece::New(vec![chunk.into()])),
            }
        }
        Recipe(pieces)
    }

    /// Builds a state from its recipe, and stores it.
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
                Piece::New(new) => chunks.extend(new.iter().map(|it| self.chunk(it))),
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

    fn chunk(&mut self, Chunk(chunk): &Chunk) -> u32 {
        self.chunks.find(chunk).unwrap_or_else(|| {
            self.bytes += chunk_bytes(chunk);
            self.chunks.insert(Arc::clone(chunk))
        })
    }

    fn page(&mut self, chunks: &[u32]) -> u32 {
        self.pages.find(chunks).unwrap_or_else(|| {
            self.bytes += page_bytes(chunks);
            self.pages.insert(chunks.into())
        })
    }

    /// Counts one more checkpoint that uses these pages.
    pub fn hold(&mut self, pages: &[u32]) {
        for page in pages {
            if self.pages.hold(*page) {
                for chunk in self.pages.get(*page).iter() {
                    self.chunks.hold(*chunk);
                }
            }
        }
    }

    /// Counts one checkpoint less that uses these pages. Removes what is no longer used, for undo.
    pub fn release(&mut self, pages: &[u32], freed: &mut Freed) {
        for number in pages {
            let Some(page) = self.pages.release(*number) else { continue };
            self.bytes -= page_bytes(&page);
            for chunk in page.iter() {
                #[cfg(feature = "planted")]
                if crate::planted::is("checkpoint.frees_twice") && self.chunks.uses(*chunk) == 2 {
                    self.chunks.release(*chunk);
                }
                if let Some(bytes) = self.chunks.release(*chunk) {
                    self.bytes -= chunk_bytes(&bytes);
                    freed.chunks.push((*chunk, Chunk(bytes)));
                }
            }
            freed.pages.push((*number, page));
        }
    }

    /// Restores what was removed. The checkpoints that use it must be counted again.
    pub fn put_back(&mut self, freed: Freed) {
        for (number, Chunk(chunk)) in freed.chunks {
            self.bytes += chunk_bytes(&chunk);
            self.chunks.put(number, chunk);
        }
        for (number, page) in freed.pages {
            self.bytes += page_bytes(&page);
            self.pages.put(number, page);
        }
    }

    /// The size of the content that only these checkpoints use, in bytes.
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

    /// A state, as it was saved.
    pub fn whole(&self, pages: &[u32], bytes: usize) -> Vec<u8> {
        let mut whole = Vec::with_capacity(bytes);
        for chunk in self.chunks_of(pages) {
            whole.extend_from_slice(self.chunks.get(chunk));
        }
        whole
    }

    /// The approximate memory use in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Every chunk, by number.
    pub fn chunks(&self) -> impl Iterator<Item = (u32, &Arc<[u8]>)> {
        self.chunks.all()
    }

    /// Every page, by number.
    pub fn pages(&self) -> impl Iterator<Item = (u32, &Arc<[u32]>)> {
        self.pages.all()
    }

    /// Assembles the contents of a snapshot. The checkpoints that use them must be counted.
    pub fn restore(chunks: Vec<(u32, Chunk)>, pages: Vec<(u32, Arc<[u32]>)>) -> Self {
        let mut content = Self::default();
        content.put_back(Freed { chunks, pages });
        content
    }

    /// Asserts the invariants of the module, given the pages of every checkpoint.
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
