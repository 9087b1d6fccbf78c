//! The parser of the filter language.
//!
//! ```text
//!   query   part, and further parts after blanks
//!   part    [-] word | [-] "words" | [-] field:value | field>moment | field<moment
//!   value   up to the next blank, or in quotation marks
//!   moment  2026-01-31 | 2026-01-31T12:00:00Z | -90s | -15m | -1h | -7d | -2w
//! ```

use serde::Serialize;
use thiserror::Error;

/// How much of an invalid part is quoted in errors.
const NEAR_CHARACTERS: usize = 40;

/// An invalid filter.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[error("cannot parse the filter at character {position}, `{near}`: {reason}")]
pub struct BadFilter {
    /// The position of the character, counted from one.
    pub position: usize,
    /// The invalid part.
    pub near: String,
    /// The reason.
    pub reason: String,
    /// The allowed values, if they can be listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<&'static str>,
}

/// How times are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    After,
    NotBefore,
    Before,
    NotAfter,
}

/// The operator between the name of a field and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Is,
    Compares(Comparison),
}

/// One part of a query.
#[derive(Debug)]
pub(super) struct QueryPart<'a> {
    pub(super) field: Option<(&'a str, Sign)>,
    pub(super) text: &'a str,
    pub(super) is_refused: bool,
    query: &'a str,
    offset: usize,
}

impl<'a> QueryPart<'a> {
    /// The error that it is invalid.
    pub(super) fn bad(&self, reason: impl Into<String>) -> BadFilter {
        refused(self.query, self.offset, reason)
    }

    /// The next part of a query from an offset, and the offset after it; none at the end.
    pub(super) fn next(query: &'a str, from: usize) -> Result<Option<(Self, usize)>, BadFilter> {
        let rest = query[from..].trim_start();
        let offset = query.len() - rest.len();
        if rest.is_empty() {
            return Ok(None);
        }
        let (is_refused, rest) = match rest.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let name = rest.find(|sign: char| !(sign.is_ascii_lowercase() || sign == '_'));
        let name = name.filter(|end| *end > 0).map(|end| rest.split_at(end));
        let named = name.and_then(|(name, rest)| Some((name, sign(rest)?)));
        let (field, rest) = match named {
            Some((name, (sign, rest))) => (Some((name, sign)), rest),
            None => (None, rest),
        };
        let (text, rest, is_quoted) = match rest.strip_prefix('"') {
            Some(inner) => {
                let unclosed = || refused(query, offset, "a quotation mark is not closed");
                let (text, rest) = inner.split_once('"').ok_or_else(unclosed)?;
                (text, rest, true)
            }
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (&rest[..end], &rest[end..], false)
            }
        };
        if text.is_empty() {
            let reason = match field {
                Some((name, _)) => format!("`{name}` has no value"),
                None if is_quoted => "the quotation marks are empty".to_owned(),
                None => "`-` must be followed by a word or a field".to_owned(),
            };
            return Err(refused(query, offset, reason));
        }
        if is_quoted && !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
            let offset = query.len() - rest.len();
            return Err(refused(
                query,
                offset,
                "a closing quotation mark must be followed by a blank",
            ));
        }
        let part = Self { field, text, is_refused, query, offset };
        Ok(Some((part, query.len() - rest.len())))
    }
}

fn sign(text: &str) -> Option<(Sign, &str)> {
    use Comparison::{After, Before, NotAfter, NotBefore};
    if let Some(rest) = text.strip_prefix(':') {
        return Some((Sign::Is, rest));
    }
    // Longer operators first: `>` is a prefix of `>=`.
    let signs = [(">=", NotBefore), ("<=", NotAfter), (">", After), ("<", Before)];
    signs.into_iter().find_map(|(sign, comparison)| {
        text.strip_prefix(sign).map(|rest| (Sign::Compares(comparison), rest))
    })
}

/// The error that a query is invalid at an offset.
pub(super) fn refused(query: &str, offset: usize, reason: impl Into<String>) -> BadFilter {
    let position = query[..offset].chars().count() + 1;
    let near = query[offset..].chars().take(NEAR_CHARACTERS).collect();
    BadFilter { position, near, reason: reason.into(), allowed: Vec::new() }
}
