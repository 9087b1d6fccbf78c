//! Ids of traces and spans, derived from names.

use std::fmt;

use baton_core::{Traceparent, WorkspaceName};
use sha2::{Digest, Sha256};

/// A number of this many bytes, as hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Id<const BYTES: usize>([u8; BYTES]);

/// A trace id.
pub(super) type TraceId = Id<16>;
/// A span id.
pub(super) type SpanId = Id<8>;

impl<const BYTES: usize> fmt::Display for Id<BYTES> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl<const BYTES: usize> fmt::Debug for Id<BYTES> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl<const BYTES: usize> Id<BYTES> {
    /// The hash of a purpose, a workspace, and names in it.
    fn of(purpose: &str, workspace: &WorkspaceName, names: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in [purpose, workspace.as_str()].iter().chain(names) {
            // Each with its length, so that different lists of names have different inputs.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(&hash.finalize()[..BYTES]);
        // All zeros are not a valid id.
        bytes[BYTES - 1] |= u8::from(bytes == [0; BYTES]);
        Self(bytes)
    }

    fn of_digits(digits: &str) -> Self {
        let mut bytes = [0; BYTES];
        for (index, byte) in bytes.iter_mut().enumerate() {
            let pair = &digits[2 * index..2 * index + 2];
            *byte = u8::from_str_radix(pair, 16).expect("a trace parent has hexadecimal digits");
        }
        Self(bytes)
    }
}

/// The span id of these names.
pub(super) fn span(workspace: &WorkspaceName, names: &[&str]) -> SpanId {
    Id::of("span", workspace, names)
}

/// The parent of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpanContext {
    /// The trace.
    pub(super) trace: TraceId,
    /// The parent span.
    pub(super) parent: Option<SpanId>,
    /// Whether the trace is sampled. If not, its spans would have no parent.
    pub(super) is_sampled: bool,
}

impl SpanContext {
    /// The trace that a caller named, or a new one derived from the names.
    pub(super) fn of(
        traceparent: Option<&Traceparent>,
        workspace: &WorkspaceName,
        names: &[&str],
    ) -> Self {
        match traceparent {
            Some(given) => Self {
                trace: Id::of_digits(given.trace()),
                parent: Some(Id::of_digits(given.parent())),
                is_sampled: given.is_sampled(),
            },
            None => {
                Self { trace: Id::of("trace", workspace, names), parent: None, is_sampled: true }
            }
        }
    }

    /// The same trace, below this span.
    pub(super) fn below(self, span: SpanId) -> Self {
        Self { parent: Some(span), ..self }
    }
}
