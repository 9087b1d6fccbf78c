//! A validator for JSON Schema that is safe for untrusted schemas and values.
//!
//! ```text
//!   Value ──compile──▶ Validator ──check_effort(value)──▶ ──check(value)──▶ fine, or the first
//!           once                   how much work is it?                     violation
//! ```
//!
//! Drafts 6, 7, 2019-09 and 2020-12; the last is the default.
//!
//! | module       | question                                                          |
//! |--------------|-------------------------------------------------------------------|
//! | `reference`  | does any reference leave the schema?                              |
//! | `metaschema` | does every keyword have an operand that its draft allows?         |
//! | `compile`    | which keywords apply, in which order?                             |
//! | `cycle`      | does a part apply itself to the same value?                       |
//! | `work`       | how much work is a check of this value?                           |
//! | `effort`     | how much work may checks still cost?                              |
//! | `check`      | what is the first violation?                                      |
//! | `message`    | how is it worded?                                                 |
//! | `regex_size` | how much memory does a regular expression take?                   |
//! | `automata`   | which ones are in memory?                                         |
//!
//! Invariants:
//!
//! 1. Only the arguments are read: no file, no network. A reference is `#`, or `#/` and a path that
//!    exists in the same schema.
//! 2. Regular expressions match in linear time. Their number, the size of each, of all in a schema
//!    and in a check, and the states that their automata may build are bounded.
//! 3. After [`Validator::check_effort`] agreed, [`Validator::check`] meets no more pairs of a
//!    schema part and a value part than were counted, and recurses no deeper.
//! 4. Compiling a schema builds no automaton: that is done by the first check that needs it.
//! 5. A schema that was accepted is accepted by [`Validator::of_accepted`] of every later version.
//! 6. The same schema and value give the same violation: keywords are tried in the order of
//!    `keyword::Keyword`, fields in the order of the map, elements by position.
//!
//! `format`, `contentEncoding` and `contentMediaType` are assertions in drafts 6 and 7, as in the
//! library that was used before, and annotations in the later ones.
//!
//! Deliberately absent: `$dynamicRef`, `$recursiveRef`, anchors and embedded `$id`, which make the
//! target of a reference depend on more than its text; output formats; and a list of all
//! violations.

use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

mod automata;
mod check;
mod compile;
mod content;
mod cycle;
mod draft;
mod effort;
mod evaluated;
mod format;
mod keyword;
mod leaf;
mod message;
mod metaschema;
pub mod order;
mod reference;
mod regex;
mod regex_size;
mod uri;
mod work;

pub use automata::automata_built;
pub use effort::{Effort, MEETINGS_MAX};
use keyword::Node;
pub use message::shortened;

/// Maximum number of regular expressions in a schema.
pub const REGEXES_MAX: usize = 64;

/// Most memory for one compiled regular expression, in bytes. The estimate depends most on how
/// often a class of thousands of letters is repeated: `\p{L}+` is small, `\p{L}{99}` is too large.
pub const REGEX_BYTES_MAX: usize = 512 << 10;

/// Most memory for all compiled regular expressions of a schema, in bytes: building them takes no
/// longer than the longest check. A UUID or a date takes some 3 KiB, `^[a-z]{1,64}$` 6, and
/// `^\p{L}{1,20}$` about 360.
pub const REGEXES_BYTES_MAX: usize = 4 << 20;

/// Most memory for all compiled regular expressions of the program that are in use, in bytes.
/// Automata beyond the limit are dropped, and built again at their next use.
pub const AUTOMATA_BYTES_MAX: usize = 64 << 20;

/// Most memory for the compiled regular expressions in checks that belong together, in bytes: twice
/// what one schema could have before there was a limit for all of its expressions.
pub const REGEX_EFFORT_SIZES_MAX: usize = 2 * REGEXES_MAX * REGEX_BYTES_MAX;

/// Most memory for the states of one regular expression's automaton, in bytes. An expression that
/// needs more for a text takes too long for it.
pub const REGEX_STATES_BYTES_MAX: usize = 1 << 20;

/// Most memory for the states of all automata in checks that belong together, in bytes.
pub const REGEX_EFFORT_BYTES_MAX: usize = 8 << 20;

/// Longest reason and path in an error, in characters.
pub const REASON_CHARACTERS_MAX: usize = 300;

/// Why a text is not a schema. Serializes as its facts.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(untagged)]
pub enum SchemaError {
    /// It is too large.
    #[error("a schema has at most {bytes_max} bytes, got {bytes}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// It refers to something outside of itself, or in a way that is not supported.
    #[error("reference `{reference}` must be `#`, or `#/` and a path within the schema")]
    Reference {
        /// The reference as written.
        reference: String,
    },
    /// It uses a keyword that is not supported.
    #[error("keyword `{keyword}` is not supported{place}", place = in_place(*.below_root))]
    Keyword {
        /// The keyword.
        keyword: String,
        /// Whether it would be allowed at the root of the schema.
        below_root: bool,
    },
    /// It has too many regular expressions.
    #[error("a schema has at most {regexes_max} regular expressions, got {regexes}")]
    TooManyRegexes {
        /// How many it has.
        regexes: usize,
        /// The limit, [`REGEXES_MAX`].
        regexes_max: usize,
    },
    /// Its regular expressions take too much memory.
    #[error(
        "the regular expressions of a schema take at most {regexes_bytes_max} bytes when they are \
         compiled, got {regexes_bytes}: repeat classes of many letters less often, or use maxLength"
    )]
    RegexesTooLarge {
        /// How much they take, as far as they were counted.
        regexes_bytes: usize,
        /// The limit, [`REGEXES_BYTES_MAX`].
        regexes_bytes_max: usize,
    },
    /// It is no JSON Schema of a known draft.
    #[error("invalid schema at `{path}`: {reason}")]
    Invalid {
        /// JSON Pointer into the schema; empty for its root.
        path: String,
        /// The reason.
        reason: String,
    },
}

fn in_place(below_root: bool) -> &'static str {
    if below_root { " below the root" } else { "" }
}

/// The first violation of a schema by a value.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[error("value violates its schema at `{path}`: {reason}")]
pub struct Violation {
    /// JSON Pointer into the value; empty for its root.
    pub path: String,
    /// The expected value.
    pub reason: String,
}

/// A compiled schema. See the [crate](self) for its invariants.
pub struct Validator {
    /// Every part of the schema that a check can reach. The first is the root.
    nodes: Vec<Node>,
    /// Whether the work of a check must be counted.
    counted: bool,
    /// About how many parts of the schema each part of a value can meet, if that is counted.
    meetings_per_part: usize,
    regexes_bytes: usize,
}

impl Validator {
    /// Compiles a schema, once for many checks.
    pub fn compile(schema: &Value) -> Result<Validator, SchemaError> {
        let (validator, paths) = Self::within(schema, REGEXES_BYTES_MAX)?;
        if let Some(at) = cycle::find(&validator.nodes) {
            let reason = "it applies itself to the same value, without end".to_owned();
            return Err(SchemaError::Invalid { path: shortened(&paths[at]), reason });
        }
        Ok(validator)
    }

    /// The same for a schema that was accepted before, perhaps by an earlier version that had fewer
    /// limits.
    pub fn of_accepted(schema: &Value) -> Result<Validator, SchemaError> {
        Ok(Self::within(schema, usize::MAX)?.0)
    }

    /// Also returns the paths of the parts.
    fn within(
        schema: &Value,
        regexes_bytes_max: usize,
    ) -> Result<(Validator, Vec<String>), SchemaError> {
        let draft = draft::Draft::of(schema)?;
        reference::check(schema)?;
        metaschema::check(schema, draft)?;
        let compile::Compiled { nodes, paths, regexes_bytes } =
            compile::compile(schema, draft, regexes_bytes_max)?;
        let counted = !work::is_small(&nodes);
        let meetings_per_part = if counted { work::meetings_per_part(&nodes) } else { 0 };
        Ok((Validator { nodes, counted, meetings_per_part, regexes_bytes }, paths))
    }

    /// About how many meetings checking a value of this many bytes takes at most; none for a small
    /// schema, which takes time in proportion to the value.
    pub fn estimated_meetings(&self, bytes: usize) -> usize {
        if self.counted { work::estimate(self.meetings_per_part, bytes) } else { 0 }
    }

    /// About how much memory its regular expressions take when they are used, in bytes.
    pub fn regexes_bytes(&self) -> usize {
        self.regexes_bytes
    }

    /// Whether checking this value would end soon; if not, why.
    pub fn check_effort(&self, instance: &Value, effort: &Effort) -> Result<(), String> {
        work::check_effort(&self.nodes, instance, self.counted, effort)
    }

    /// Whether a value satisfies the schema; if not, the first violation. The effort must be known
    /// to be bearable.
    pub fn check(&self, instance: &Value, effort: &Effort) -> Result<(), Violation> {
        let checked = check::check(&self.nodes, instance, effort);
        if effort.is_exhausted() {
            let reason = "a regular expression takes too long on this value".to_owned();
            return Err(Violation { path: String::new(), reason });
        }
        checked.map_err(|failure| failure.violation())
    }
}
