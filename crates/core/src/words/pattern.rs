//! Patterns over names: keys, topics or subjects.
//!
//! | in a pattern | matches                                                               |
//! |--------------|-----------------------------------------------------------------------|
//! | `*`          | any characters within a segment, including none                       |
//! | `**`         | any characters, including separators, or none                         |
//! | `/` and `:`  | themselves; they separate segments                                    |
//! | others       | themselves, case-sensitively                                          |
//!
//! ```text
//!   task:*            task:7   task:            not  task:7:log
//!   a*c               ac   abc                  not  a/c
//!   state/shared/**   state/shared/a/b          not  state/shared
//!   state/**/plan     state/a/plan   state/a/b/plan   state//plan      not  state/plan
//! ```
//!
//! Matching simulates a nondeterministic automaton. A state is an offset into the pattern, called a
//! place; the active places are bits of a small set on the stack:
//!
//! ```text
//!   pattern   t a s k : * / l o g
//!   text      t a s k : 7 / l
//!                       ^ stays active until a separator, and its successor is active too
//! ```
//!
//! Invariants:
//!
//! 1. A [`Pattern`] has 1 to [`BYTES_MAX`] bytes, at most [`WILDCARDS_MAX`] wildcards, no control
//!    character, and never three stars in a row.
//! 2. Matching takes at most the length of the text times the length of the pattern, and allocates
//!    nothing, wherever the wildcards are.
//! 3. Every active place can still reach the end, since every wildcard may match nothing.
//!    [`Pattern::reaches`] relies on this.
//!
//! Deliberately absent: escapes for stars, character classes, and alternatives. Names with stars
//! are refused, and two patterns can replace an alternative.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

#[cfg(test)]
mod tests;

/// The maximum length of a pattern in bytes: that of the longest key, and the capacity of the set
/// of places.
pub const BYTES_MAX: usize = 512;

/// The maximum number of wildcards in a pattern. More is a mistake, and each makes matching slower.
pub const WILDCARDS_MAX: usize = 8;

/// A valid pattern over names. See the [module](self) for its meaning.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern {
    text: Box<str>,
    /// Offset of the first wildcard; the length of the text if there is none.
    literal_bytes: usize,
}

/// Why a text is not a [`Pattern`]. Serializes as its facts.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(untagged)]
pub enum PatternError {
    /// It is empty.
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
        /// The offset of the first one.
        offset: usize,
    },
    /// It has too many wildcards.
    #[error("a pattern has at most {wildcards_max} wildcards, got {wildcards}")]
    TooManyWildcards {
        /// Its number of wildcards.
        wildcards: usize,
        /// The limit, [`WILDCARDS_MAX`].
        wildcards_max: usize,
    },
    /// It has three stars in a row, which have no meaning.
    #[error("a pattern must not have more than two `*` in a row, found them at byte {offset}")]
    TooManyStars {
        /// The offset of the first of them.
        offset: usize,
    },
}

impl Pattern {
    /// Validates a pattern.
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

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        let Some(rest) = text.strip_prefix(self.literal_prefix()) else { return false };
        match self.wild() {
            b"" => rest.is_empty(),
            // By far the most frequent pattern, and the result is known.
            b"**" => true,
            wild => walk(wild, rest).contains(wild.len()),
        }
    }

    /// Whether a text that starts with `prefix` can match, including the prefix itself. A watch of
    /// the keys of a namespace must receive the deletion of the namespace.
    pub fn reaches(&self, prefix: &str) -> bool {
        let literal = self.literal_prefix();
        match prefix.strip_prefix(literal) {
            Some(rest) => !walk(self.wild(), rest).is_empty(),
            None => literal.starts_with(prefix),
        }
    }

    /// The only text that matches, if the pattern has no wildcard.
    pub fn is_exact(&self) -> Option<&str> {
        (self.literal_bytes == self.text.len()).then_some(&self.text)
    }

    /// The literal prefix of all matching texts: the bounds of a search in ordered names.
    pub fn literal_prefix(&self) -> &str {
        &self.text[..self.literal_bytes]
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The rest after the literal prefix: nothing, or a wildcard and more.
    fn wild(&self) -> &[u8] {
        &self.text.as_bytes()[self.literal_bytes..]
    }
}

/// The active places in `pattern` after all of `text` was read. It works on bytes: stars and
/// separators are ASCII, and no byte of a longer character looks like one.
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

/// The element at a place of a pattern.
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

/// A set of places, one bit for each, including the end of the pattern.
struct Positions {
    words: [u64; BYTES_MAX / WORD_BITS + 1],
    /// How many words this pattern needs; most need one.
    used: usize,
}

impl Positions {
    fn none(pattern_bytes: usize) -> Positions {
        Positions { words: [0; BYTES_MAX / WORD_BITS + 1], used: pattern_bytes / WORD_BITS + 1 }
    }

    /// Adds the place, and the one after it if it is a wildcard, which may match nothing. A
    /// wildcard never follows another, see invariant 1.
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
