//! The report of a rule, and its presentation by a test.
//!
//! One line per finding, in the `file:line: …` form that editors turn into links. All findings of a
//! rule are shown at once.

use std::fmt;

/// One violation in one line of one file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.message)
    }
}

fn listing(findings: &[Finding]) -> String {
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    lines.join("\n")
}

/// Fails with every finding, sorted by location.
#[track_caller]
pub(crate) fn assert_none(mut findings: Vec<Finding>) {
    findings.sort();
    assert!(findings.is_empty(), "{} to put right:\n{}", findings.len(), listing(&findings));
}

/// The rule must report exactly these lines, in this order.
#[track_caller]
pub(crate) fn assert_lines(findings: &[Finding], lines: &[usize]) {
    let found: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
    assert_eq!(found, lines, "found:\n{}", listing(findings));
}

#[test]
fn a_finding_is_shown_as_a_position_and_a_sentence() {
    let finding = Finding::new("crates/core/src/lib.rs", 7, "too long, break it");
    assert_eq!(finding.to_string(), "crates/core/src/lib.rs:7: too long, break it");
}

#[test]
#[should_panic(expected = "a.rs:1: bad")]
fn any_finding_fails_the_test() {
    assert_none(vec![Finding::new("a.rs", 1, "bad")]);
}
