//! JSON as YAML: blocks instead of brackets. Names and text are quoted unless nobody could take
//! them for something else, since YAML has many words for true and null.

use std::fmt::Write;

use serde_json::value::RawValue;

use super::fields::Fields;

/// Two spaces for every level.
const STEP: &str = "  ";

/// The document for a JSON text. It ends with a line end.
pub(super) fn document(json: &str) -> String {
    let mut out = String::new();
    write(&mut out, json, 0, Place::Line);
    out
}

/// Where a value begins.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// At the beginning of a line, or after the dash of a list.
    Line,
    /// After a name.
    Name,
}

fn write(out: &mut String, json: &str, level: usize, place: Place) {
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
    if place == Place::Name {
        out.push(' ');
    }
    let text = serde_json::from_str::<String>(json).map(|text| scalar(&text));
    // What is left are numbers, words, and brackets with at most spaces in them.
    out.push_str(&text.unwrap_or_else(|_| json.split_whitespace().collect()));
    out.push('\n');
}

fn block(out: &mut String, pairs: &[(String, Box<RawValue>)], level: usize, place: Place) {
    let mut indented = place == Place::Line;
    if place == Place::Name {
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
            write(out, value.get(), level + 1, Place::Line);
        } else {
            write(out, value.get(), level + 1, Place::Name);
        }
    }
}

/// Text as it is if it cannot be anything else, in quotes otherwise. YAML's double quotes take
/// every escape that JSON's encoder writes.
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
            // JSON lets these stand; YAML does not, or takes them for line ends.
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                write!(quoted, "\\u{:04x}", u32::from(sign)).expect("text takes everything");
            }
            sign => quoted.push(sign),
        }
    }
    quoted
}
