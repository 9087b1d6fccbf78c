//! Patterns over names: which keys, topics or subjects somebody means.
//!
//! | in a pattern | stands for                                                            |
//! |--------------|-----------------------------------------------------------------------|
//! | `*`          | any run of characters within a segment, also none                     |
//! | `**`         | any run of characters at all, separators included, also none          |
//! | `/` and `:`  | themselves; they separate segments                                    |
//! | others       | themselves, upper and lower case apart                                |
//!
//! ```text
//!   task:*            task:7   task:            not  task:7:log
//!   a*c               ac   abc                  not  a/c
//!   state/shared/**   state/shared/a/b          not  state/shared
//!   state/**/plan     state/a/plan   state/a/b/plan   state//plan      not  state/plan
//! ```
//!
//! A match is a walk over the pattern's places, all possible ones at once. A place is an offset
//! into the pattern; the places the walk stands on are bits of a small set on the stack:
//!
//! ```text
//!   pattern   t a s k : * / l o g
//!   text      t a s k : 7 / l
//!                       ^ stays while no separator comes, and steps over at any time
//! ```
//!
//! Invariants:
//!
//! 1. A [`Pattern`] has 1 to [`BYTES_MAX`] bytes, at most [`WILDCARDS_MAX`] wildcards, no control
//!    character, and never three stars in a row.
//! 2. Matching costs at most the length of the text times the length of the pattern, and allocates
//!    nothing, however the stars are placed.
//! 3. Every place the walk stands on can still lead to the end, since every wildcard may stand for
//!    nothing. [`Pattern::reaches`] rests on this.
//!
//! Deliberately absent: a way to escape a star, sets of characters, and alternatives. Names with
//! stars in them are refused where names are made, and two patterns say what an alternative would.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

#[cfg(test)]
mod tests;

/// Longest pattern in bytes: as long as the longest key, and what the set of places has room for.
pub const BYTES_MAX: usize = 512;

/// Most wildcards in a pattern. More is a mistake, and each makes a match dearer.
pub const WILDCARDS_MAX: usize = 8;

/// A pattern over names, known to be well formed. See the [module](self) for what it means.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern {
    text: Box<str>,
    /// Offset of the first wildcard; the length of the text if there is none.
    literal_bytes: usize,
}

/// Why a text is not a [`Pattern`]. Serialized, it is its facts.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(untagged)]
pub enum PatternError {
    /// Nothing was given.
    #[error("a pattern must not be empty")]
    Empty {},
    /// It is too long.
    #[error("a pattern has at most {bytes_max} bytes, got {bytes}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit, [`BYTES_MAX`].
        bytes_max: usize,
    },
    /// It has a control character.
    #[error("a pattern must not have control characters, found one at byte {offset}")]
    ControlCharacter {
        /// Where the first one is.
        offset: usize,
    },
    /// It has too many wildcards.
    #[error("a pattern has at most {wildcards_max} wildcards, got {wildcards}")]
    TooManyWildcards {
        /// How many it has.
        wildcards: usize,
        /// The limit, [`WILDCARDS_MAX`].
        wildcards_max: usize,
    },
    /// It has three stars in a row, which mean nothing.
    #[error("a pattern must not have more than two `*` in a row, found them at byte {offset}")]
    TooManyStars {
        /// Where the first of them is.
        offset: usize,
    },
}

impl Pattern {
    /// Checks a text to be a pattern.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty {});
        }
        if text.len() > BYTES_MAX {
            return Err(PatternError::TooLong { bytes: text.len(), bytes_max: BYTES_MAX });
        }
        if let Some(offset) = text.find(char::is_control) {
            return Err(PatternError::ControlCharacter { offset });
        }
        if let Some(offset) = text.find("***") {
            return Err(PatternError::TooManyStars { offset });
        }
        // Two stars in a row are one wildcard.
        let wildcards = text.matches('*').count() - text.matches("**").count();
        if wildcards > WILDCARDS_MAX {
            return Err(PatternError::TooManyWildcards { wildcards, wildcards_max: WILDCARDS_MAX });
        }
        let literal_bytes = text.find('*').unwrap_or(text.len());
        Ok(Pattern { text: text.into(), literal_bytes })
    }

    /// Whether this text, all of it, is meant.
    pub fn matches(&self, text: &str) -> bool {
        let Some(rest) = text.strip_prefix(self.literal_prefix()) else { return false };
        match self.wild() {
            b"" => rest.is_empty(),
            // By far the most frequent pattern, and the answer is known already.
            b"**" => true,
            wild => walk(wild, rest).contains(wild.len()),
        }
    }

    /// Whether some text that begins with `prefix` is meant, be it the prefix itself. Who watches
    /// the keys of a namespace must learn that the namespace went.
    pub fn reaches(&self, prefix: &str) -> bool {
        let literal = self.literal_prefix();
        match prefix.strip_prefix(literal) {
            Some(rest) => !walk(self.wild(), rest).is_empty(),
            None => literal.starts_with(prefix),
        }
    }

    /// The one text that is meant, if the pattern has no wildcard.
    pub fn is_exact(&self) -> Option<&str> {
        (self.literal_bytes == self.text.len()).then_some(&self.text)
    }

    /// What every text that is meant begins with: the bounds of a search in ordered names.
    pub fn literal_prefix(&self) -> &str {
        &self.text[..self.literal_bytes]
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What follows the literal prefix: nothing, or a wildcard and the rest.
    fn wild(&self) -> &[u8] {
        &self.text.as_bytes()[self.literal_bytes..]
    }
}

/// The places in `pattern` at which the walk may stand once it has read all of `text`. It works on
/// bytes: stars and separators are ASCII, and no byte of a longer character looks like one.
fn walk(pattern: &[u8], text: &str) -> Positions {
    let mut positions = Positions::none(pattern.len());
    positions.enter(pattern, 0);
    for byte in text.bytes() {
        if positions.is_empty() {
            break;
        }
        let mut next = Positions::none(pattern.len());
        positions.each(|position| match Step::at(pattern, position) {
            Step::Literal(literal) if literal == byte => next.enter(pattern, position + 1),
            Step::Literal(_) | Step::End => {}
            Step::Segment if matches!(byte, b'/' | b':') => {}
            Step::Segment | Step::Rest => next.enter(pattern, position),
        });
        positions = next;
    }
    positions
}

/// What stands at a place of a pattern.
enum Step {
    Literal(u8),
    Segment,
    Rest,
    End,
}

impl Step {
    fn at(pattern: &[u8], position: usize) -> Step {
        match &pattern[position..] {
            [] => Step::End,
            [b'*', b'*', ..] => Step::Rest,
            [b'*', ..] => Step::Segment,
            [literal, ..] => Step::Literal(*literal),
        }
    }
}

const WORD_BITS: usize = u64::BITS as usize;

/// A set of places, one bit for each, the end of the pattern included.
struct Positions {
    words: [u64; BYTES_MAX / WORD_BITS + 1],
    /// How many words this pattern needs; most need one.
    used: usize,
}

impl Positions {
    fn none(pattern_bytes: usize) -> Positions {
        Positions { words: [0; BYTES_MAX / WORD_BITS + 1], used: pattern_bytes / WORD_BITS + 1 }
    }

    /// Adds the place, and the one behind it if a wildcard stands there: it may stand for nothing.
    /// Behind a wildcard never stands another, see invariant 1.
    fn enter(&mut self, pattern: &[u8], position: usize) {
        self.insert(position);
        match Step::at(pattern, position) {
            Step::Segment => self.insert(position + 1),
            Step::Rest => self.insert(position + 2),
            Step::Literal(_) | Step::End => {}
        }
    }

    fn insert(&mut self, position: usize) {
        self.words[position / WORD_BITS] |= 1 << (position % WORD_BITS);
    }

    fn contains(&self, position: usize) -> bool {
        self.words[position / WORD_BITS] & (1 << (position % WORD_BITS)) != 0
    }

    fn is_empty(&self) -> bool {
        self.words[..self.used].iter().all(|word| *word == 0)
    }

    fn each(&self, mut visit: impl FnMut(usize)) {
        for (index, word) in self.words[..self.used].iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                visit(index * WORD_BITS + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, formatter)
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Pattern, PatternError> {
        Pattern::parse(text)
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pattern, D::Error> {
        let text = String::deserialize(deserializer)?;
        Pattern::parse(&text).map_err(D::Error::custom)
    }
}
