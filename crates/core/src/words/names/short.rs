//! Short names of ids, for people and models: `t-7` for `t-0000000007`.
//!
//! An id that the server made is a letter and ten digits, with a number after a dot if a revision
//! made several. Its short name omits the zeros. A task or a join can be created with any id, so a
//! short name of these can also be an id: a caller that accepts short names looks up both.

/// The number of digits of an id that the server made.
const DIGITS: usize = 10;

/// The short name of an id; other texts stay as they are.
pub fn short(id: &str) -> String {
    match parts(id) {
        Some((kind, digits, rest)) if digits.len() == DIGITS => {
            let number = digits.trim_start_matches('0');
            format!("{kind}-{}{rest}", if number.is_empty() { "0" } else { number })
        }
        Some(_) | None => id.to_owned(),
    }
}

/// The id of a short name; other texts stay as they are.
pub fn long(name: &str) -> String {
    match parts(name) {
        Some((kind, digits, rest)) if digits.len() < DIGITS => {
            format!("{kind}-{digits:0>DIGITS$}{rest}")
        }
        Some(_) | None => name.to_owned(),
    }
}

/// Whether the server makes ids of this form.
pub fn is_made(id: &str) -> bool {
    parts(id).is_some_and(|(_, digits, _)| digits.len() == DIGITS)
}

/// The letter, the digits, and what follows them: nothing, or a dot and digits.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let (kind, number) = text.split_once('-')?;
    let end = number.find('.').unwrap_or(number.len());
    let (digits, rest) = number.split_at(end);
    let is_number =
        |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let is_rest = rest.is_empty() || rest.strip_prefix('.').is_some_and(is_number);
    let is_kind = kind.len() == 1 && kind.bytes().all(|letter| letter.is_ascii_lowercase());
    (is_kind && is_number(digits) && is_rest).then_some((kind, digits, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_the_server_have_short_names() {
        for (id, name) in [
            ("t-0000000007", "t-7"),
            ("t-0000000007.2", "t-7.2"),
            ("m-0000000007.00002", "m-7.00002"),
            ("m-0000000000", "m-0"),
            ("c-1234567890", "c-1234567890"),
        ] {
            assert_eq!(short(id), name);
            assert_eq!(long(name), id);
            assert!(is_made(id));
        }
        for own in ["lint-1", "t-x", "t-00000000071", "t-", "7", "build", "t-7.", "t-7.x", "é-7"] {
            assert_eq!(short(own), own);
            assert_eq!(long(own), own);
            assert!(!is_made(own));
        }
    }
}
