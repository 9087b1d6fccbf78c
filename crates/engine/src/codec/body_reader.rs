//! The subjects of a body, for archiving: its events are searched for the names of their subjects,
//! and everything else in them is skipped.
//!
//! Nearly every batch sets one value, and the entry is named at the beginning of its body, in a
//! form that varies only in two lengths:
//!
//! ```text
//!   {"agent": …, "events": [{"state": {"set": {"namespace": …, "key": …, …
//! ```
//!
//! Events that are rare, or whose subject is not among their fields, are left to serde. The
//! checksum of the bytes was verified, so a matching form is sufficient. The golden file of events
//! verifies that the subjects are those of the decoded events.

#[cfg(test)]
mod tests;

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

/// The events of a body.
pub(super) struct Events<'a> {
    /// The bytes of each.
    pub bytes: Vec<&'a [u8]>,
    /// The place and the key of the receipt that is not among them, if there is one.
    pub kept: Option<(usize, &'a str)>,
}

/// The events of a body; none if it has another form.
pub(super) fn events(body: &[u8]) -> Option<Events<'_>> {
    let (fields, rest) = body.split_first()?;
    let (_agent, rest) = text(rest.strip_prefix(b"\xa5agent")?)?;
    let (kept, rest) = match fields {
        0x82 => (None, rest),
        0x83 => kept(rest).map(|(kept, rest)| (Some(kept), rest))?,
        _ => return None,
    };
    let (head, rest) = rest.strip_prefix(b"\xa6events")?.split_first()?;
    let (count, mut rest) = match head {
        0x90..=0x9f => (usize::from(head & 0x0f), rest),
        0xdc => length::<2>(rest)?,
        0xdd => length::<4>(rest)?,
        _ => return None,
    };
    let mut events = Vec::with_capacity(count.min(rest.len()));
    for _ in 0..count {
        let after = skip(rest)?;
        events.push(&rest[..rest.len() - after.len()]);
        rest = after;
    }
    let has_place = kept.is_none_or(|(at, _)| at <= count);
    (rest.is_empty() && has_place).then_some(Events { bytes: events, kept })
}

/// The place and the key of the receipt that names an event, and the rest.
fn kept(body: &[u8]) -> Option<((usize, &str), &[u8])> {
    let rest = body.strip_prefix(b"\xa4kept\x94")?;
    let (at, rest) = match rest {
        [at @ 0..0x80, rest @ ..] => (usize::from(*at), rest),
        [0xcc, rest @ ..] => length::<1>(rest)?,
        [0xcd, rest @ ..] => length::<2>(rest)?,
        _ => return None,
    };
    let (key, rest) = text(skip(rest)?)?;
    Some(((at, key), skip(rest)?))
}

/// The parts of the subject of an event, as `Event::subject_parts` has them; none if it must be
/// decoded to know them.
pub(super) fn subject(event: &[u8]) -> Option<[&str; 4]> {
    let (primitive, rest) = text(event.strip_prefix(b"\x81")?)?;
    let (variant, rest) = match primitive {
        "receipt" | "awaited" => ("", rest),
        _ => text(rest.strip_prefix(b"\x81")?)?,
    };
    let (kind, [first, second]) = named(primitive, variant)?;
    let (head, mut rest) = rest.split_first()?;
    let (fields, after) = match head {
        0x80..=0x8f => (usize::from(head & 0x0f), rest),
        0xde => length::<2>(rest)?,
        _ => return None,
    };
    rest = after;
    let mut found = [None, Some("").filter(|_| second.is_empty())];
    for _ in 0..fields {
        let (name, value) = text(rest)?;
        if name == first {
            found[0] = Some(text(value)?.0);
        } else if name == second {
            found[1] = Some(text(value)?.0);
        }
        if let [Some(name), Some(detail)] = found {
            return Some([kind, name, if second.is_empty() { "" } else { "/" }, detail]);
        }
        rest = skip(value)?;
    }
    None
}

/// The first part of the subjects of these events, and the fields with the others.
fn named(primitive: &str, variant: &str) -> Option<(&'static str, [&'static str; 2])> {
    Some(match (primitive, variant) {
        ("state", "set" | "deleted") => ("state/", ["namespace", "key"]),
        ("task", "queued" | "gave_up") => ("claims/", ["claimant", ""]),
        ("task", _) => ("tasks/", ["task", ""]),
        ("lock", _) => ("locks/", ["name", ""]),
        ("semaphore", _) => ("semaphores/", ["name", ""]),
        ("agent", _) => ("agents/", ["agent", ""]),
        ("receipt" | "awaited", _) => ("receipts/", ["key", ""]),
        ("message", "handler_added" | "handler_removed" | "handlers_gone") => return None,
        ("message", "queued" | "gave_up" | "polled") => ("inbox/", ["receiver", ""]),
        ("message", _) => ("inbox/", ["to", "message"]),
        _ => return None,
    })
}

/// A length of so many bytes, and the rest.
fn length<const N: usize>(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<N>()?;
    Some((length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest))
}

/// The bytes after the value at the beginning of these.
fn skip(mut bytes: &[u8]) -> Option<&[u8]> {
    let mut values = 1_usize;
    while values > 0 {
        let (head, rest) = bytes.split_first()?;
        let (content, inner, rest) = match head {
            0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => (0, 0, rest),
            0x80..=0x8f => (0, 2 * usize::from(head & 0x0f), rest),
            0x90..=0x9f => (0, usize::from(head & 0x0f), rest),
            0xa0..=0xbf => (usize::from(head & 0x1f), 0, rest),
            0xcc | 0xd0 => (1, 0, rest),
            0xcd | 0xd1 => (2, 0, rest),
            0xca | 0xce | 0xd2 => (4, 0, rest),
            0xcb | 0xcf | 0xd3 => (8, 0, rest),
            0xc4 | 0xd9 => length::<1>(rest).map(|(bytes, rest)| (bytes, 0, rest))?,
            0xc5 | 0xda => length::<2>(rest).map(|(bytes, rest)| (bytes, 0, rest))?,
            0xc6 | 0xdb => length::<4>(rest).map(|(bytes, rest)| (bytes, 0, rest))?,
            0xdc => length::<2>(rest).map(|(values, rest)| (0, values, rest))?,
            0xdd => length::<4>(rest).map(|(values, rest)| (0, values, rest))?,
            0xde => length::<2>(rest).map(|(fields, rest)| (0, 2 * fields, rest))?,
            0xdf => length::<4>(rest).map(|(fields, rest)| (0, 2 * fields, rest))?,
            // Extensions are not written.
            0xc1 | 0xc7..=0xc9 | 0xd4..=0xd8 => return None,
        };
        bytes = rest.get(content..)?;
        values = values - 1 + inner;
    }
    Some(bytes)
}
