//! Names that are made of numbers: of a revision, of a digest.

use std::sync::Arc;

use super::MessageId;
use crate::numbers::Revision;
use crate::time::Timestamp;

/// A letter and ten digits, so that such names sort by time. Without `fmt`, which costs more than
/// the rest of what a new record needs of its name.
pub(super) fn of_revision(letter: char, revision: Revision) -> Arc<str> {
    let mut digits = [b'0'; 10];
    let mut rest = revision.0;
    for digit in digits.iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    if rest > 0 {
        return format!("{letter}-{revision}").into();
    }
    let digits = str::from_utf8(&digits).expect("digits are UTF-8");
    let mut text = String::with_capacity(12);
    text.extend([letter, '-']);
    text.push_str(digits);
    text.into()
}

impl MessageId {
    const LIVE: &str = "live-";

    /// The id of a live request, from its time and its number within the millisecond. No message
    /// that is stored has such an id.
    pub fn of_live(now: Timestamp, number: usize) -> Self {
        let live = Self::LIVE;
        Self(match number {
            0 | 1 => format!("{live}{}", now.0).into(),
            more => format!("{live}{}.{more}", now.0).into(),
        })
    }

    /// Whether it is the id of a live request.
    pub fn is_live(&self) -> bool {
        self.0.starts_with(Self::LIVE)
    }
}

/// Two digits for each byte.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        use std::fmt::Write;
        write!(text, "{byte:02x}").expect("writing to a string works");
        text
    })
}
