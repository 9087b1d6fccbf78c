//! The fast path for archiving: the entry that a body is about.
//!
//! Nearly every batch sets one value, and the entry is named at the beginning of its body, in a
//! form that varies only in two lengths:
//!
//! ```text
//!   {"agent": …, "events": [{"state": {"set": {"namespace": …, "key": …, …
//! ```
//!
//! Everything else is left to serde. The checksum of the bytes was verified, so a matching
//! beginning is sufficient.

/// Namespace and key of the only event of a body, if it set a value.
pub(super) fn only_set_key(body: &[u8]) -> Option<(&str, &str)> {
    let rest = body.strip_prefix(b"\x82\xa5agent")?;
    let (_agent, rest) = text(rest)?;
    // A list of one event, which is a map of one variant, and so is its content.
    let rest = rest.strip_prefix(b"\xa6events\x91\x81\xa5state\x81\xa3set")?;
    let (_fields, rest) = rest.split_first()?;
    let (namespace, rest) = text(rest.strip_prefix(b"\xa9namespace")?)?;
    let (key, _) = text(rest.strip_prefix(b"\xa3key")?)?;
    Some((namespace, key))
}

/// The text at the beginning of these bytes, and the rest.
fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = match bytes {
        [head @ 0xa0..=0xbf, rest @ ..] => (usize::from(head & 0x1f), rest),
        [0xd9, length, rest @ ..] => (usize::from(*length), rest),
        [0xda, high, low, rest @ ..] => (usize::from(u16::from_be_bytes([*high, *low])), rest),
        _ => return None,
    };
    let (text, rest) = rest.split_at_checked(length)?;
    Some((str::from_utf8(text).ok()?, rest))
}
