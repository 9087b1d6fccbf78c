//! The fast path for frames: common ones, parsed in one pass and without an allocation.
//!
//! Anything unusual, such as another operation, a rare field, an escape or a duplicate name, is
//! left to [`Frame`](super::Frame), which also reports errors. The tests compare the two.

use crate::access::Permission;
use crate::json::scan::{blank_end, plain_end, value_end};
use crate::numbers::Version;
use crate::space::FastSet;

#[cfg(test)]
mod tests;

/// A request for a common operation, borrowed from its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastFrame<'a> {
    /// The caller's number for it, under which it is answered.
    pub id: u64,
    /// The workspace; not yet validated.
    pub workspace: &'a str,
    /// The acting agent; not yet validated.
    pub agent: Option<&'a str>,
    /// The operation.
    pub call: FastCall<'a>,
}

/// A common operation. Its names are not yet validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastCall<'a> {
    /// Sets an entry.
    Set(FastSet<'a>),
    /// Gets the current entry.
    Get {
        /// The namespace.
        namespace: &'a str,
        /// The key.
        key: &'a str,
    },
}

impl<'a> FastCall<'a> {
    /// The permission that it needs, and the namespace that it touches.
    pub fn scope(&self) -> (Permission, &'a str) {
        match self {
            Self::Set(set) => (Permission::Work, set.namespace),
            Self::Get { namespace, .. } => (Permission::Read, namespace),
        }
    }
}

/// The fields found so far.
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
    idempotency_key: Option<&'a str>,
    returns: Option<&'a str>,
}

impl<'a> FastFrame<'a> {
    /// Parses a frame, if the fast path applies.
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
    /// Parses a member whose value starts here; returns where it ends.
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
            "idempotency_key" => fill(&mut self.idempotency_key, string(text, at)?),
            "return" => fill(&mut self.returns, string(text, at)?),
            "expected_version" => fill(&mut self.expected_version, number(text, at)?),
            _ => None,
        }
    }

    fn fast_frame(self) -> Option<FastFrame<'a>> {
        let Self { id, workspace, agent, namespace, key, value, expected_version, .. } = self;
        let idempotency_key = self.idempotency_key;
        let is_minimal = match self.returns {
            None => false,
            Some("minimal") => true,
            Some(_) => return None,
        };
        let (namespace, key) = (namespace?, key?);
        let expected_version = expected_version.map(Version);
        let call = match (self.command?, value) {
            ("state.set", Some(value)) => FastCall::Set(FastSet {
                namespace,
                key,
                value,
                expected_version,
                idempotency_key,
                is_minimal,
            }),
            ("state.get", None)
                if expected_version.is_none() && idempotency_key.is_none() && !is_minimal =>
            {
                FastCall::Get { namespace, key }
            }
            _ => return None,
        };
        Some(FastFrame { id: id?, workspace: workspace?, agent, call })
    }
}

/// Fills a slot with a value; returns where it ends; none if the slot was filled before.
#[inline]
fn fill<T>(slot: &mut Option<T>, (value, end): (T, usize)) -> Option<usize> {
    slot.replace(value).is_none().then_some(end)
}

/// A string without escapes, and where it ends.
#[inline]
fn string(text: &str, at: usize) -> Option<(&str, usize)> {
    let bytes = text.as_bytes();
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let end = plain_end(bytes, at + 1);
    (bytes.get(end) == Some(&b'"')).then(|| (&text[at + 1..end], end + 1))
}

/// An integer, and where it ends.
#[inline]
fn number(text: &str, at: usize) -> Option<(u64, usize)> {
    let digits = text.as_bytes()[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let given = &text[at..at + digits];
    let is_whole = digits == 1 || !given.starts_with('0');
    Some((given.parse().ok().filter(|_| is_whole)?, at + digits))
}
