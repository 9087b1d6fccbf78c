//! The fast path for frames: the common ones, read in one pass and without an allocation.
//!
//! Whatever is unusual about one, another operation, a rare field, an escape, a name given twice,
//! is left to [`Frame`](super::Frame), which also finds the words for what is wrong. The tests hold
//! the two against each other.

use crate::json::scan::{blank_end, plain_end, value_end};
use crate::numbers::Version;
use crate::space::FastSet;

#[cfg(test)]
mod tests;

/// A request for what is asked for most, borrowed from the text that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastFrame<'a> {
    /// The caller's number for it, under which it is answered.
    pub id: u64,
    /// Of which workspace; not yet checked.
    pub workspace: &'a str,
    /// Who acts; not yet checked.
    pub agent: Option<&'a str>,
    /// What is wanted.
    pub call: FastCall<'a>,
}

/// What is asked for most. Its names are not yet checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastCall<'a> {
    /// An entry is set.
    Set(FastSet<'a>),
    /// An entry is asked for as it is now.
    Get {
        /// In this namespace.
        namespace: &'a str,
        /// Under this key.
        key: &'a str,
    },
}

/// What was found so far.
#[derive(Default)]
struct Found<'a> {
    id: Option<u64>,
    workspace: Option<&'a str>,
    agent: Option<&'a str>,
    command: Option<&'a str>,
    namespace: Option<&'a str>,
    key: Option<&'a str>,
    value: Option<&'a str>,
    expected_version: Option<u64>,
}

impl<'a> FastFrame<'a> {
    /// Reads a frame, if there is nothing unusual about it.
    pub fn parse(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut at = blank_end(bytes, 0);
        if bytes.get(at) != Some(&b'{') {
            return None;
        }
        let mut found = Found::default();
        loop {
            let (name, end) = string(text, blank_end(bytes, at + 1))?;
            let colon = blank_end(bytes, end);
            if bytes.get(colon) != Some(&b':') {
                return None;
            }
            at = blank_end(bytes, found.member(name, text, blank_end(bytes, colon + 1))?);
            match bytes.get(at)? {
                b',' => {}
                b'}' if blank_end(bytes, at + 1) == bytes.len() => return found.fast_frame(),
                _ => return None,
            }
        }
    }
}

impl<'a> Found<'a> {
    /// Takes a member whose value begins here, and tells where that ends.
    #[inline]
    fn member(&mut self, name: &str, text: &'a str, at: usize) -> Option<usize> {
        match name {
            "id" => fill(&mut self.id, number(text, at)?),
            "workspace" => fill(&mut self.workspace, string(text, at)?),
            "agent" => fill(&mut self.agent, string(text, at)?),
            "command" => fill(&mut self.command, string(text, at)?),
            "namespace" => fill(&mut self.namespace, string(text, at)?),
            "key" => fill(&mut self.key, string(text, at)?),
            "value" => {
                let end = value_end(text.as_bytes(), at).ok()?;
                fill(&mut self.value, (&text[at..end], end))
            }
            "expected_version" => fill(&mut self.expected_version, number(text, at)?),
            _ => None,
        }
    }

    fn fast_frame(self) -> Option<FastFrame<'a>> {
        let Self { id, workspace, agent, namespace, key, value, expected_version, .. } = self;
        let (namespace, key) = (namespace?, key?);
        let expected_version = expected_version.map(Version);
        let call = match (self.command?, value) {
            ("state.set", Some(value)) => {
                FastCall::Set(FastSet { namespace, key, value, expected_version })
            }
            ("state.get", None) if expected_version.is_none() => FastCall::Get { namespace, key },
            _ => return None,
        };
        Some(FastFrame { id: id?, workspace: workspace?, agent, call })
    }
}

/// Fills a slot with what was read, and tells where that ends; none if it was filled before.
#[inline]
fn fill<T>(slot: &mut Option<T>, (value, end): (T, usize)) -> Option<usize> {
    slot.replace(value).is_none().then_some(end)
}

/// The text of a string without escapes, and where it ends.
#[inline]
fn string(text: &str, at: usize) -> Option<(&str, usize)> {
    let bytes = text.as_bytes();
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let end = plain_end(bytes, at + 1);
    (bytes.get(end) == Some(&b'"')).then(|| (&text[at + 1..end], end + 1))
}

/// A whole number, and where it ends.
#[inline]
fn number(text: &str, at: usize) -> Option<(u64, usize)> {
    let digits = text.as_bytes()[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let given = &text[at..at + digits];
    let is_whole = digits == 1 || !given.starts_with('0');
    Some((given.parse().ok().filter(|_| is_whole)?, at + digits))
}
