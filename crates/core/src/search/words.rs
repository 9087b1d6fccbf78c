//! Words of texts and values: runs of letters and digits, in lower case.

use std::borrow::Cow;

use crate::json::Json;

/// The maximum length of a word in bytes; a longer one is found by its beginning.
const WORD_BYTES_MAX: usize = 40;
/// The maximum number of indexed words in one part of a record.
pub(super) const WORDS_MAX: usize = 64;
/// How many bytes of a part are scanned for words.
const PART_BYTES: usize = 4 << 10;

/// The words of a text, in order.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty()).map(folded)
}

/// The indexed words of a part of a record.
pub(super) fn words_of(text: &str) -> Vec<String> {
    words(beginning(text)).take(WORDS_MAX).collect()
}

/// The indexed words of a value, including the names of fields.
pub(super) fn words_in(value: &Json) -> Vec<String> {
    words_of(&unescaped(beginning(value.as_str())))
}

/// A word in lower case, cut to a bounded length.
fn folded(word: &str) -> String {
    let mut folded = word.to_lowercase();
    folded.truncate(floor(&folded, WORD_BYTES_MAX));
    folded
}

fn beginning(text: &str) -> &str {
    &text[..floor(text, PART_BYTES)]
}

/// The last character boundary up to a number of bytes.
fn floor(text: &str, bytes_max: usize) -> usize {
    let end = (0..=bytes_max.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    end.unwrap_or_default()
}

/// JSON text with its escapes resolved. All but `\u` are separators of words.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let mut signs = after.chars();
        rest = match signs.next() {
            Some('u') => spelled(signs.as_str(), &mut plain),
            Some(_) | None => {
                plain.push(' ');
                signs.as_str()
            }
        };
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Resolves a `\u` escape of one or two code units; returns the rest.
fn spelled<'a>(text: &'a str, plain: &mut String) -> &'a str {
    let number = |text: &str| u16::from_str_radix(text.get(..4)?, 16).ok();
    let Some(first) = number(text) else {
        plain.push(' ');
        return text;
    };
    let rest = &text[4..];
    let second = rest.strip_prefix("\\u").and_then(number);
    let (units, used) = match second {
        Some(second) if (0xD800..0xDC00).contains(&first) => (vec![first, second], 6),
        Some(_) | None => (vec![first], 0),
    };
    plain.extend(char::decode_utf16(units).map(|sign| sign.unwrap_or(' ')));
    &rest[used..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_run_of_letters_and_digits() {
        let found: Vec<_> = words("The wall's 2nd—Ärger, ÉTÉ_x").collect();
        assert_eq!(found, ["the", "wall", "s", "2nd", "ärger", "été", "x"]);
        let long = "ä".repeat(100);
        assert_eq!(words(&long).next().unwrap(), "ä".repeat(20));
    }

    #[test]
    fn escapes_are_no_part_of_words() {
        for (json, expected) in [
            (r#"{"a":"one\ntwo"}"#, &["a", "one", "two"][..]),
            (r#""n\u0061il\u0020b\\x""#, &["nail", "b", "x"]),
            (r#""\ud83d\ude00x y""#, &["x", "y"]),
            (r#""\u00c4rger""#, &["ärger"]),
        ] {
            assert_eq!(words_in(&Json::parse(json.as_bytes()).unwrap()), expected, "{json}");
        }
        // A long value may be cut within an escape.
        for text in ["a\\", "a\\u", "a\\u00", "a\\ud83d", "a\\ud83d\\u", "a\\ud83d\\ud8"] {
            assert!(unescaped(text).starts_with('a'), "{text}");
        }
    }

    #[test]
    fn only_the_beginning_is_looked_at() {
        assert_eq!(words_of(&"x ".repeat(1_000)).len(), WORDS_MAX);
        assert_eq!(words_of(&format!("{} y", "ä".repeat(PART_BYTES))).len(), 1);
    }
}
