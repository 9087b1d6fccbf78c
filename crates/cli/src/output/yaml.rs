//! JSON as block-style YAML. Keys and strings are quoted unless they are unambiguous, since YAML
//! has many spellings of true and null.

use std::fmt::Write;

use serde_json::value::RawValue;

use super::fields::Fields;

/// The indentation of one level.
const STEP: &str = "  ";

/// Converts a JSON text to a document that ends with a newline.
pub(super) fn document(json: &str) -> String {
    let mut out = String::new();
    write(&mut out, json, 0, Position::Line);
    out
}

/// The position of a value.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    /// At the start of a line, or after the dash of a list.
    Line,
    /// After a key.
    Name,
}

fn write(out: &mut String, json: &str, level: usize, place: Position) {
    let pairs: Vec<(String, Box<RawValue>)> = match json.trim_start().as_bytes().first() {
        Some(b'{') => Fields::parse(json).map(|(name, value)| (scalar(&name) + ":", value)),
        Some(b'[') => {
            let elements: Vec<Box<RawValue>> = serde_json::from_str(json).unwrap_or_default();
            elements.into_iter().map(|element| ("-".to_owned(), element)).collect()
        }
        _ => Vec::new(),
    };
    if !pairs.is_empty() {
        return block(out, &pairs, level, place);
    }
    if place == Position::Name {
        out.push(' ');
    }
    let text = serde_json::from_str::<String>(json).map(|text| scalar(&text));
    // The rest are numbers, literals, and empty brackets.
    out.push_str(&text.unwrap_or_else(|_| json.split_whitespace().collect()));
    out.push('\n');
}

fn block(out: &mut String, pairs: &[(String, Box<RawValue>)], level: usize, place: Position) {
    let mut indented = place == Position::Line;
    if place == Position::Name {
        out.push('\n');
    }
    for (mark, value) in pairs {
        if !indented {
            out.push_str(&STEP.repeat(level));
        }
        indented = false;
        out.push_str(mark);
        if mark == "-" {
            out.push(' ');
            write(out, value.get(), level + 1, Position::Line);
        } else {
            write(out, value.get(), level + 1, Position::Name);
        }
    }
}

/// A plain scalar if that is unambiguous, otherwise a quoted one. YAML's double quotes accept every
/// escape that the JSON encoder writes.
fn scalar(text: &str) -> String {
    let is_word = |sign: char| sign.is_ascii_alphanumeric() || "_./-".contains(sign);
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_plain = text.starts_with(|sign: char| sign.is_ascii_alphabetic())
        && text.chars().all(is_word)
        && !reserved.contains(&&*text.to_ascii_lowercase());
    if is_plain {
        return text.to_owned();
    }
    let mut quoted = String::new();
    for sign in serde_json::to_string(text).expect("text can be encoded").chars() {
        match sign {
            // Valid in JSON, but not in YAML, or line breaks there.
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                write!(quoted, "\\u{:04x}", u32::from(sign)).expect("text takes everything");
            }
            sign => quoted.push(sign),
        }
    }
    quoted
}
