//! Short ids in text for people: `t-7` for `t-0000000007`.

use baton_core::names::short;

/// The text with every id in its short form.
pub(crate) fn shortened(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let (before, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|sign| !is_part(sign)).unwrap_or(from.len()));
        // A dot at the end belongs to the sentence.
        let id = word.trim_end_matches('.');
        out.push_str(before);
        out.push_str(&short(id));
        out.push_str(&word[id.len()..]);
        rest = after;
    }
    out + rest
}

fn is_part(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || matches!(sign, '-' | '.' | '_' | ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_a_text_are_short() {
        let text =
            "task t-0000000007 waits for `t-0000000008.2`, h-0000000009. Not lint-0000000001.";
        let expected = "task t-7 waits for `t-8.2`, h-9. Not lint-0000000001.";
        assert_eq!(shortened(text), expected);
        assert_eq!(shortened("é"), "é");
    }
}
