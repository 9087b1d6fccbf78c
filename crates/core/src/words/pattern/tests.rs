use proptest::prelude::*;

use super::*;

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[track_caller]
fn check(text: &str, meant: &[&str], others: &[&str]) {
    for name in meant {
        assert!(pattern(text).matches(name), "`{text}` should match `{name}`");
    }
    for name in others {
        assert!(!pattern(text).matches(name), "`{text}` should not match `{name}`");
    }
}

#[test]
fn literals_mean_themselves() {
    check("a/b:c", &["a/b:c"], &["", "a/b:cd", "a/b", "A/b:c", "a:b/c"]);
    check("a?[b].", &["a?[b]."], &["axb.", "a?b."]);
}

#[test]
fn one_star_stays_in_its_segment() {
    check(
        "task:*",
        &["task:7", "task:", "task:a-b.c", "task:é🦀"],
        &["task:7:log", "task", "task:7/x"],
    );
    check("a*c", &["ac", "abc", "acbc", "a**c"], &["a/c", "a:c", "abcd", "bac"]);
    check("*", &["", "a"], &["/", "a/b", ":"]);
    check("*/*", &["a/b", "/"], &["a", "a/b/c", "a:b"]);
    check("*a*b*", &["ab", "xaxbx", "aab", "abab"], &["ba", "a/b"]);
}

#[test]
fn two_stars_take_any_rest() {
    check("**", &["", "a", "a/b:c", "//"], &[]);
    check(
        "state/shared/**",
        &["state/shared/a/b", "state/shared/"],
        &["state/shared", "state/x/a"],
    );
    check("state/**/plan", &["state/a/plan", "state/a/b/plan", "state//plan"], &["state/plan"]);
    check("**/plan", &["a/plan", "/plan", "plan/plan", "a/plan/plan"], &["plan", "a/planner"]);
    check("**a*b", &["ab", "a/ab", "a/axb", "aa/ab"], &["a/b", "ab/", "a"]);
    check("**x*/y**z", &["x/yz", "a/xb/y/z", "x/a/x/yz"], &["x/a/yz", "x/y"]);
}

#[test]
fn the_walk_crosses_words_of_the_set() {
    let long = "ab".repeat(100);
    let text = format!("*{long}*{long}**");
    check(&text, &[&format!("{long}x{long}"), &format!("{long}{long}{long}")], &[&long]);
    let longest = format!("*{}", "a".repeat(BYTES_MAX - 1));
    check(&longest, &[&"a".repeat(BYTES_MAX), &longest], &[&"a".repeat(BYTES_MAX - 2)]);
}

#[test]
fn stars_that_would_explode_a_naive_match_do_not() {
    let text = "a".repeat(20_000);
    check("*a*a*a*a*a*a*a*b", &[&format!("{text}b")], &[&text]);
    check("**a**a**a*a*a*a**a**b", &[&format!("{text}b")], &[&text]);
}

#[test]
fn exactness_and_the_literal_prefix_are_known() {
    assert_eq!(pattern("a/b").is_exact(), Some("a/b"));
    assert_eq!(pattern("a/*").is_exact(), None);
    assert_eq!(pattern("a/b").literal_prefix(), "a/b");
    assert_eq!(pattern("é/a*b**").literal_prefix(), "é/a");
    assert_eq!(pattern("**").literal_prefix(), "");
}

#[test]
fn a_pattern_includes_prefixes_that_may_still_match() {
    for (text, prefix, expected) in [
        ("state/shared/**", "state/shared/", true),
        ("state/shared/**", "state/", true),
        ("state/shared/**", "state/shared/a/b", true),
        ("state/shared/**", "state/other/", false),
        ("state/*/plan", "state/shared/", true),
        ("state/*/plan", "state/shared/pl", true),
        ("state/*/plan", "state/shared/x", false),
        ("state/shared/plan", "state/shared/", true),
        ("state/shared/plan", "state/shared/plan", true),
        ("state/shared/plan", "state/shared/planned", false),
        ("state/shared/plan", "state/shared/other", false),
        ("*", "state/", false),
        ("*", "", true),
        ("**", "state/", true),
        ("**/plan", "state/shared/", true),
        ("task:*", "state/", false),
    ] {
        assert_eq!(pattern(text).reaches(prefix), expected, "`{text}` `{prefix}`");
    }
}

#[test]
fn malformed_patterns_are_refused() {
    for (text, expected) in [
        (String::new(), "a pattern must not be empty"),
        ("a".repeat(513), "a pattern has at most 512 bytes, got 513"),
        ("a\tb".into(), "a pattern must not have control characters, found one at byte 1"),
        ("é\u{85}".into(), "a pattern must not have control characters, found one at byte 2"),
        ("*a".repeat(9), "a pattern has at most 8 wildcards, got 9"),
        ("**/".repeat(9), "a pattern has at most 8 wildcards, got 9"),
        (
            "a/***".into(),
            "a pattern must not have more than two `*` in a row, found them at byte 2",
        ),
    ] {
        assert_eq!(Pattern::parse(&text).unwrap_err().to_string(), expected);
    }
    assert!(Pattern::parse(&"a".repeat(BYTES_MAX)).is_ok());
    assert!(Pattern::parse(&"**/".repeat(WILDCARDS_MAX)).is_ok());
}

#[test]
fn a_pattern_is_a_string_to_serde() {
    let read: Pattern = serde_json::from_str("\"a/**\"").unwrap();
    assert_eq!(read, pattern("a/**"));
    assert_eq!(serde_json::to_string(&read).unwrap(), "\"a/**\"");
    let refused = serde_json::from_str::<Pattern>("\"\"").unwrap_err().to_string();
    assert!(refused.starts_with("a pattern must not be empty"), "{refused}");
    assert_eq!(format!("{read} {read:?}"), "a/** \"a/**\"");
    assert_eq!("a/**".parse(), Ok(read));
}

/// The definition in its simplest form, with exponential run time.
fn naive(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        ([b'*', b'*', rest @ ..], _) => (0..=text.len()).any(|taken| naive(rest, &text[taken..])),
        ([b'*', rest @ ..], _) => {
            let segment = text.iter().take_while(|byte| !b"/:".contains(byte)).count();
            (0..=segment).any(|taken| naive(rest, &text[taken..]))
        }
        ([literal, pattern @ ..], [byte, text @ ..]) => literal == byte && naive(pattern, text),
        (_, _) => false,
    }
}

fn any_pattern() -> impl Strategy<Value = Pattern> {
    prop::collection::vec(
        prop_oneof!["[ab/:é]", Just("*".to_owned()), Just("**".to_owned())],
        1..12,
    )
    .prop_filter_map("well formed", |parts| Pattern::parse(&parts.concat()).ok())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_walk_agrees_with_the_plain_meaning(pattern in any_pattern(), text in "[ab/:é]{0,10}") {
        let expected = naive(pattern.as_str().as_bytes(), text.as_bytes());
        prop_assert_eq!(pattern.matches(&text), expected);
        if expected {
            prop_assert!(text.starts_with(pattern.literal_prefix()));
            for (end, _) in text.char_indices() {
                prop_assert!(pattern.reaches(&text[..end]));
            }
            prop_assert!(pattern.reaches(&text));
        }
    }

    #[test]
    fn what_is_reached_has_a_match(pattern in any_pattern(), prefix in "[ab/:]{0,6}") {
        // A text that starts with the prefix and continues like a suffix of the pattern must match,
        // because every wildcard may match nothing.
        let plain = pattern.as_str().replace('*', "");
        let tails = plain.char_indices().map(|(at, _)| &plain[at..]).chain([""]);
        let mut candidates = tails.map(|tail| format!("{prefix}{tail}"));
        let some = candidates.any(|text| naive(pattern.as_str().as_bytes(), text.as_bytes()));
        prop_assert_eq!(pattern.reaches(&prefix), some);
    }
}
