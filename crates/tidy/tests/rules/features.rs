//! Every feature names the scenarios and tests that show it, and these exist.
//!
//! ```text
//!   | S3 | A write can require a version. | `spec/scenarios/state-conflicts.txt`, `a_test` |
//!     └ every number of every group, in order   └ a file of the repository       └ a test
//! ```
//!
//! In turn every scenario shows a feature, and every operation is part of a scenario: scenarios run
//! on every interface, so what no scenario does may differ between them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::guarantees::{Known, known};
use crate::findings::{Finding, assert_lines, assert_none};
use crate::repository::{File, files};

const FEATURES: &str = "docs/features.md";
const OPERATIONS: &str = "spec/operations.json";
const SCENARIOS: &str = "spec/scenarios/";
/// The groups of features, and how many there are in each.
const GROUPS: [(char, usize); 8] =
    [('S', 11), ('A', 5), ('T', 10), ('H', 9), ('C', 3), ('M', 10), ('O', 4), ('B', 9)];

/// A row of the table.
struct Row<'a> {
    line: usize,
    number: &'a str,
    /// The tests and scenarios that show it.
    names: Vec<&'a str>,
}

fn rows(file: &File) -> Vec<Row<'_>> {
    file.lines().filter_map(|(line, text)| row(line, text)).collect()
}

fn row(line: usize, text: &str) -> Option<Row<'_>> {
    let cells: Vec<&str> = text.strip_prefix("| ")?.split(" | ").collect();
    let [number, _, shown] = cells[..] else { return None };
    let digits = number.strip_prefix(|group: char| group.is_ascii_uppercase())?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let names = shown.split('`').skip(1).step_by(2).collect();
    is_number.then_some(Row { line, number, names })
}

/// Rows that are missing, or not in order.
fn missing(file: &File, groups: &[(char, usize)]) -> Vec<Finding> {
    let expected = groups
        .iter()
        .flat_map(|(group, count)| (1..=*count).map(move |number| format!("{group}{number}")));
    let expected: Vec<String> = expected.collect();
    let rows = rows(file);
    let found: Vec<&str> = rows.iter().map(|row| row.number).collect();
    if found == expected {
        return Vec::new();
    }
    let message = format!("the rows are {found:?}, and should be {expected:?}");
    vec![Finding::new(&file.path, 1, message)]
}

/// Rows that name nothing, or something that is not there.
fn unknown(file: &File, known: &Known) -> Vec<Finding> {
    let mut findings = Vec::new();
    for row in rows(file) {
        if row.names.is_empty() {
            let message = format!("{} names no scenario and no test", row.number);
            findings.push(Finding::new(&file.path, row.line, message));
        }
        for name in row.names {
            let is_file = name.contains('/');
            if is_file && !known.paths.contains(name) || !is_file && !known.tests.contains(name) {
                let what = if is_file { "file" } else { "test" };
                let message = format!("there is no {what} `{name}`");
                findings.push(Finding::new(&file.path, row.line, message));
            }
        }
    }
    findings
}

/// Scenarios that no row names.
fn unnamed(file: &File, known: &Known) -> Vec<Finding> {
    let named: BTreeSet<&str> = rows(file).into_iter().flat_map(|row| row.names).collect();
    let scenarios = known.paths.iter().filter(|path| is_scenario(path));
    let left_out = scenarios.filter(|path| !named.contains(path.as_str()));
    let message = |path| format!("the scenario `{path}` shows no feature, name it with one");
    left_out.map(|path| Finding::new(&file.path, 1, message(path))).collect()
}

fn is_scenario(path: &str) -> bool {
    path.strip_prefix(SCENARIOS).is_some_and(|name| name != "README.md")
}

/// Operations that no scenario uses.
fn unused(operations: &File, scenarios: &[&File]) -> Vec<Finding> {
    let parsed: Value = serde_json::from_str(&operations.text).unwrap_or_default();
    let names = parsed["operations"].as_array().into_iter().flatten();
    let names = names.filter_map(|operation| operation["name"].as_str());
    let used: BTreeSet<&str> =
        scenarios.iter().flat_map(|file| file.text.split_whitespace()).collect();
    let left_out = names.filter(|name| !used.contains(name));
    let message = |name| format!("no scenario uses `{name}`, add it to one");
    left_out.map(|name| Finding::new(&operations.path, 1, message(name))).collect()
}

#[test]
fn features_name_existing_tests() {
    let files = files();
    let known = known(&files);
    let file = files.iter().find(|file| file.path == FEATURES).expect("features are written down");
    let mut findings = missing(file, &GROUPS);
    findings.extend(unknown(file, &known));
    findings.extend(unnamed(file, &known));
    assert_none(findings);
}

#[test]
fn every_operation_is_part_of_a_scenario() {
    let files = files();
    let operations = files.iter().find(|file| file.path == OPERATIONS).expect("they are listed");
    let scenarios: Vec<&File> = files.iter().filter(|file| is_scenario(&file.path)).collect();
    assert!(operations.text.contains("\"state.set\"") && scenarios.len() > 50, "they are read");
    assert_none(unused(operations, &scenarios));
}

#[test]
fn a_feature_without_a_test_is_caught() {
    let scenario = File::new("spec/scenarios/a.txt", "at 0s ada state.set key=a\n");
    let test = File::new("crates/a/src/b.rs", "#[test]\nfn it_holds() {}\n");
    let known = known(&[scenario.clone(), test]);
    let text = "| | what |\n| S1 | A. | `spec/scenarios/a.txt` |\n| S2 | B. | `it_holds` |\n";
    let whole = File::new(FEATURES, text);
    assert_lines(&missing(&whole, &[('S', 2)]), &[]);
    assert_lines(&unknown(&whole, &known), &[]);
    assert_lines(&unnamed(&whole, &known), &[]);
    assert_lines(&missing(&whole, &[('S', 3)]), &[1]);
    let of = |from: &str, to: &str| File::new(FEATURES, &text.replace(from, to));
    assert_lines(&missing(&of("S2", "S3"), &[('S', 2)]), &[1]);
    assert_lines(&unknown(&of("`it_holds`", "nothing"), &known), &[3]);
    assert_lines(&unknown(&of("it_holds", "it_does_not"), &known), &[3]);
    assert_lines(&unknown(&of("a.txt", "b.txt"), &known), &[2]);
    assert_lines(&unnamed(&of("spec/scenarios/a.txt", "it_holds"), &known), &[1]);

    let operations =
        |name: &str| File::new(OPERATIONS, &format!(r#"{{"operations": [{{"name": "{name}"}}]}}"#));
    assert_lines(&unused(&operations("state.set"), &[&scenario]), &[]);
    assert_lines(&unused(&operations("state.get"), &[&scenario]), &[1]);
}
