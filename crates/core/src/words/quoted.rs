//! Text of a request as an error quotes it.

/// Letters and signs that are not seen although Unicode counts them as printable.
const UNSEEN: [char; 7] =
    ['\u{34f}', '\u{115f}', '\u{1160}', '\u{17b4}', '\u{17b5}', '\u{2800}', '\u{3164}'];

/// At most this many characters of a text. Control characters and invisible ones are escaped, so
/// that a line of a log or a terminal shows what was given; letters of any script stay as they are.
pub fn quoted(text: &str, chars_max: usize) -> String {
    let end = text.char_indices().nth(chars_max).map_or(text.len(), |(end, _)| end);
    let mut quoted = String::with_capacity(end);
    for sign in text[..end].escape_debug() {
        if UNSEEN.contains(&sign) {
            quoted.extend(sign.escape_unicode());
        } else {
            quoted.push(sign);
        }
    }
    if end < text.len() {
        quoted.push('…');
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn letters_of_any_script_are_shown_and_what_is_not_seen_is_escaped() {
        for text in ["日本", "naïve", "Съешь", "e\u{301}t\u{e9}", "🦀", "हिन्दी", "a b"]
        {
            assert_eq!(quoted(text, 80), text);
        }
        for (text, expected) in [
            ("a\r\nb\u{1b}[31m\0", "a\\r\\nb\\u{1b}[31m\\0"),
            ("\u{202e}exe\u{200b}", "\\u{202e}exe\\u{200b}"),
            ("\u{ad}\u{feff}\u{2028}", "\\u{ad}\\u{feff}\\u{2028}"),
            ("a\u{3164}b\u{e0041}", "a\\u{3164}b\\u{e0041}"),
            ("a\u{a0}b", "a\\u{a0}b"),
        ] {
            assert_eq!(quoted(text, 80), expected);
        }
        assert_eq!(quoted("日本語", 2), "日本…");
        assert_eq!(quoted("日本", 2), "日本");
        assert_eq!(quoted("", 0), "");
    }
}
