//! The limits of regular expressions: what is accepted can be built.

use baton_schema::{Effort, SchemaError, Validator};
use serde_json::{Value, json};

fn compiled(part: &str, count: usize) -> Result<Validator, SchemaError> {
    Validator::compile(&json!({"pattern": format!("^(?:{part}){{{count}}}$")}))
}

/// How often a part can be repeated.
fn most(part: &str) -> usize {
    let (mut least, mut over) = (0, 1);
    while compiled(part, over).is_ok() {
        (least, over) = (over, over * 2);
    }
    while over - least > 1 {
        let middle = usize::midpoint(least, over);
        if compiled(part, middle).is_ok() { least = middle } else { over = middle }
    }
    least
}

#[test]
fn the_largest_expression_that_is_accepted_can_be_built() {
    for part in [
        "a",
        "a?",
        "é",
        "[a-z]",
        "[a-z]?",
        "[a-z0-9]+",
        ".",
        ".*",
        "[^x]?",
        "[^äöü]",
        r"\S",
        r"\p{L}",
        r"\p{L}?",
        r"\p{Lu}",
        r"\P{L}",
        r"\p{Greek}",
        r"\p{Han}",
        r"[\p{L}\p{N}_-]",
        "[äöüß]",
        r"[\u0100-\u017f]",
        r"[\u0080-\uffff]",
        r"[\u0370-\u{1f9ff}]",
        "a|b",
        "abc|abd|x*",
        "|a",
        r"(?i)\p{L}",
        "(?i)k",
        "(?i)[a-z]",
        r"(?i)[\u0250-\u02af]",
        r"\b",
        "(a{2}){3,}",
    ] {
        let count = most(part);
        let expected = "a regular expression takes too long on this value";
        let found = compiled(part, count).unwrap().check(&json!("1"), &Effort::default());
        assert!(found.is_ok() || found.unwrap_err().reason != expected, "{part} {count} times");
    }
}

#[test]
fn patterns_without_an_estimate_are_accepted_from_older_logs_only() {
    let schema: Value = json!({"pattern": "(?-u:a)"});
    assert!(Validator::compile(&schema).is_err());
    let accepted = Validator::of_accepted(&schema).unwrap();
    assert_eq!(accepted.check(&json!("a"), &Effort::default()), Ok(()));
}
