use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::json::Json;
use crate::json::tests::any_value;

/// The result of a decoder that is independent of this module, except for the limit on depth.
fn decodes(text: &[u8]) -> bool {
    str::from_utf8(text).is_ok() && serde_json::from_slice::<Value>(text).is_ok()
}

#[test]
fn a_value_ends_at_the_next_token() {
    for (text, at, end) in [
        ("1", 0, 1),
        ("-0.5e-7,", 0, 7),
        ("01", 0, 1),
        ("1x", 0, 1),
        ("true false", 5, 10),
        ("nullnull", 4, 8),
        (r#"{"a":{"b":[1 , {} ,[ ] ]}}}"#, 5, 25),
        (r#"{"a":{"b":[1 , {} ,[ ] ]}}}"#, 0, 26),
        (r#""a\"b\\" "#, 0, 8),
        (r#"  "\ud83e\udd80", "#, 2, 16),
        ("\"exactly\"", 0, 9),
        ("\"exactly8\"", 0, 10),
        ("\"é→🦀, beyond ASCII\"]", 0, 25),
    ] {
        assert_eq!(value_end(text.as_bytes(), at), Ok(end), "{text}");
    }
}

#[test]
fn the_rest_of_the_text_does_not_matter() {
    assert_eq!(value_end(b"[1]\xff", 0), Ok(3));
    assert_eq!(value_end(b"\x00[1]", 1), Ok(4));
    assert!(Json::checked_slice(b"[1]\xff").unwrap_err().to_string().contains("UTF-8"));
    assert_eq!(Json::checked_slice(b" [1]\n"), Ok("[1]"));
}

#[test]
fn a_start_at_or_beyond_the_end_is_an_end() {
    for at in [0, 1, usize::MAX - 16] {
        assert!(matches!(value_end(b"", at), Err(JsonError::Malformed { .. })), "{at}");
    }
    assert_eq!(blank_end(b" \t", 0), 2);
    assert_eq!(blank_end(b" \t", 7), 7);
}

#[test]
fn faults_are_found_where_the_decoder_finds_them() {
    for text in [
        "",
        " ",
        "{",
        "{\n",
        "[",
        "[1",
        "[1,",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "\"a",
        "[1 2]",
        "{\"a\":1 2}",
        "{\"a\" 1}",
        "{1:2}",
        "[\n\n x]",
        "[1]\n x",
        "x",
        "[\"\\x\"]",
    ] {
        let rendered = Json::parse(text).unwrap_err();
        let error = serde_json::from_str::<Value>(text).unwrap_err();
        let JsonError::Malformed { line, column, .. } = rendered else {
            panic!("{text:?}: {rendered}");
        };
        assert_eq!((line, column), (error.line(), error.column()), "{text:?}: {rendered}, {error}");
    }
}

#[test]
fn every_byte_inside_a_string_is_judged_alike_at_every_place() {
    for byte in 0..=127_u8 {
        for length in 0..20 {
            for at in 0..=length {
                let mut text = vec![b'x'; length];
                text.insert(at, byte);
                text.insert(0, b'"');
                text.push(b'"');
                let sound = value_end(&text, 0) == Ok(text.len());
                assert_eq!(sound, decodes(&text), "{:?}", String::from_utf8_lossy(&text));
            }
        }
    }
}

/// Valid text with a few bytes changed, removed or inserted.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), 0..3_u8, any::<prop::sample::Index>());
    (any_value(), any::<bool>(), prop::collection::vec(change, 0..3)).prop_map(
        |(value, is_pretty, changes)| {
            let encode = if is_pretty { serde_json::to_vec_pretty } else { serde_json::to_vec };
            let mut text = encode(&value).unwrap();
            for (place, deed, byte) in changes {
                let alphabet = b"{}[]\",:\\u0123456789abcdefDE+-. \n\ttrunls\x00\x1f\xc3\xa9\xff";
                let at = place.index(text.len() + 1);
                let byte = alphabet[byte.index(alphabet.len())];
                match deed {
                    0 => text.insert(at, byte),
                    1 if at < text.len() => text[at] = byte,
                    _ if at < text.len() => drop(text.remove(at)),
                    _ => {}
                }
            }
            text
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damage_is_seen_exactly_when_the_decoder_sees_it(text in damaged()) {
        prop_assert_eq!(Json::checked_slice(&text).is_ok(), decodes(&text));
        prop_assert_eq!(Json::parse(&*text).is_ok(), decodes(&text));
    }

    #[test]
    fn strings_are_judged_as_the_decoder_judges_them(
        inner in r#"([a-z"é]|\\[\\"/bfnrtux]|\\u[dD][89a-fA-F][0-9a-f]{2}|\\u[0-9a-g]{3,4}){0,6}"#
    ) {
        let text = format!("\"{inner}\"");
        prop_assert_eq!(Json::parse(&*text).is_ok(), decodes(text.as_bytes()), "{}", text);
    }

    #[test]
    fn numbers_are_judged_as_the_decoder_judges_them(
        text in r"-?(0|[0-9]{1,4}|[0-9]{300,312})(\.[0-9]{0,3})?([eE][+-]?[0-9]{0,3})?"
    ) {
        prop_assert_eq!(Json::parse(&*text).is_ok(), decodes(text.as_bytes()), "{}", text);
    }

    #[test]
    fn a_value_ends_where_the_decoder_stops(value in any_value(), rest in "[ ,\\]}]{1,3}") {
        let text = serde_json::to_string(&value).unwrap();
        let followed = format!("{text}{rest}");
        prop_assert_eq!(value_end(followed.as_bytes(), 0), Ok(text.len()));
    }
}
