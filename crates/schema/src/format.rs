//! `format`, in the drafts where it is an assertion: 6 and 7.
//!
//! `idn-email` and `idn-hostname` are comments there as well, and so are names that are unknown.

use crate::draft::Draft;
use crate::regex::is_usable;
use crate::uri::{is_ipv4, is_ipv6, is_template, is_uri};

/// A format that can be checked.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    name: &'static str,
    admits: fn(&str) -> bool,
    since: Draft,
}

const FORMATS: [Format; 15] = [
    Format { name: "date", admits: is_date, since: Draft::D6 },
    Format { name: "date-time", admits: is_date_time, since: Draft::D6 },
    Format { name: "time", admits: is_time, since: Draft::D6 },
    Format { name: "email", admits: is_email, since: Draft::D6 },
    Format { name: "hostname", admits: is_hostname, since: Draft::D6 },
    Format { name: "ipv4", admits: is_ipv4, since: Draft::D6 },
    Format { name: "ipv6", admits: is_ipv6, since: Draft::D6 },
    Format { name: "json-pointer", admits: is_pointer, since: Draft::D6 },
    Format { name: "regex", admits: is_usable, since: Draft::D6 },
    Format { name: "uri", admits: |text| is_uri(text, false, false), since: Draft::D6 },
    Format { name: "uri-reference", admits: |text| is_uri(text, true, false), since: Draft::D6 },
    Format { name: "uri-template", admits: is_template, since: Draft::D6 },
    Format { name: "relative-json-pointer", admits: is_relative_pointer, since: Draft::D7 },
    Format { name: "iri", admits: |text| is_uri(text, false, true), since: Draft::D7 },
    Format { name: "iri-reference", admits: |text| is_uri(text, true, true), since: Draft::D7 },
];

impl Format {
    /// The format of this name in this draft.
    pub(crate) fn of(name: &str, draft: Draft) -> Option<Format> {
        FORMATS.into_iter().find(|format| format.name == name && draft >= format.since)
    }

    pub(crate) fn name(self) -> &'static str {
        self.name
    }

    pub(crate) fn admits(self, text: &str) -> bool {
        (self.admits)(text)
    }
}

fn number(text: &str, digits: usize) -> Option<u32> {
    let sound = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    if sound { text.parse().ok() } else { None }
}

fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut next = |digits| parts.next().and_then(|part| number(part, digits));
    let (Some(year), Some(month), Some(day)) = (next(4), next(2), next(2)) else { return false };
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => return false,
    };
    parts.next().is_none() && (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    text.split_once(['T', 't']).is_some_and(|(date, time)| is_date(date) && is_time(time))
}

/// A time with an offset (RFC 3339). The sixtieth second is the last of a day in UTC.
fn is_time(text: &str) -> bool {
    let Some(at) = text.find(['Z', 'z', '+', '-']) else { return false };
    let (clock, offset) = text.split_at(at);
    let (clock, fraction) =
        clock.split_once('.').map_or((clock, "0"), |(left, right)| (left, right));
    let mut parts = clock.split(':').map(|part| number(part, 2));
    let mut next = || parts.next().flatten();
    let (Some(hour), Some(minute), Some(second)) = (next(), next(), next()) else { return false };
    let digits = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    if parts.next().is_some() || !digits || hour > 23 || minute > 59 || second > 60 {
        return false;
    }
    let Some(ahead) = offset_minutes(offset) else { return false };
    let in_utc = (i64::from(hour * 60 + minute) - ahead).rem_euclid(24 * 60);
    second < 60 || in_utc == 23 * 60 + 59
}

fn offset_minutes(offset: &str) -> Option<i64> {
    if offset.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let total = i64::from(hours * 60 + minutes);
    if offset.starts_with('-') { Some(-total) } else { Some(total) }
}

/// A name of a host. Encoded names beyond ASCII (`xn--`) are not decoded.
fn is_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// An address of mail (RFC 5321), in ASCII.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_domain = match domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(literal) => match literal.get(..5) {
            Some(tag) if tag.eq_ignore_ascii_case("IPv6:") => is_ipv6(&literal[5..]),
            _ => is_ipv4(literal),
        },
        None => is_hostname(domain),
    };
    local.len() <= 64 && is_domain && (is_dotted(local) || is_quoted(local))
}

fn is_dotted(local: &str) -> bool {
    let is_atom = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
    local.split('.').all(|part| !part.is_empty() && part.bytes().all(is_atom))
}

fn is_quoted(local: &str) -> bool {
    let inside = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let Some(inside) = inside else { return false };
    let mut bytes = inside.bytes();
    while let Some(byte) = bytes.next() {
        let sound = match byte {
            b'\\' => bytes.next().is_some_and(|escaped| (b' '..=b'~').contains(&escaped)),
            b'"' => false,
            _ => (b' '..=b'~').contains(&byte),
        };
        if !sound {
            return false;
        }
    }
    true
}

fn is_pointer(text: &str) -> bool {
    let escapes = || text.split('~').skip(1);
    (text.is_empty() || text.starts_with('/')) && escapes().all(|rest| rest.starts_with(['0', '1']))
}

fn is_relative_pointer(text: &str) -> bool {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (steps, rest) = text.split_at(end);
    !steps.is_empty()
        && (steps == "0" || !steps.starts_with('0'))
        && (rest == "#" || is_pointer(rest))
}
