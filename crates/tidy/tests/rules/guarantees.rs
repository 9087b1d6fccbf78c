//! Guarantees name the tests that verify them, and these exist.
//!
//! ```text
//!   - Tested by: `spec/scenarios/locks.txt`, `lock.ends_early`, `nobody_waits_after_a_restart`
//!              └ a file of the repository  └ a planted bug    └ a test
//! ```
//!
//! Every section also says what is not guaranteed, and every planted bug belongs to a guarantee.

use std::collections::BTreeSet;

use crate::findings::{Finding, assert_lines, assert_none};
use crate::repository::{File, files};

const PROMISES: &str = "docs/guarantees.md";
const PLANTED: &str = "crates/sim/tests/planted.rs";
/// The required parts of each primitive's section, in this order.
const PARTS: [&str; 3] = ["- Promised: ", "- Not promised: ", "- Tested by: "];

/// The names that may be used.
pub(super) struct Known {
    pub(super) paths: BTreeSet<String>,
    planted: BTreeSet<String>,
    pub(super) tests: BTreeSet<String>,
}

pub(super) fn known(files: &[File]) -> Known {
    let planted = files.iter().find(|file| file.path == PLANTED);
    let planted = planted.map(|file| file.text.as_str()).unwrap_or_default().lines();
    let planted = planted.filter_map(|line| line.trim().strip_prefix("(\"")?.split('"').next());
    let rust = files.iter().filter(|file| file.is_rust());
    let lines = rust.flat_map(|file| file.text.lines());
    let tests = lines.filter_map(|line| line.split_once("fn ")?.1.split_once("()"));
    Known {
        paths: files.iter().map(|file| file.path.clone()).collect(),
        planted: planted.map(str::to_owned).collect(),
        tests: tests.map(|(name, _)| name.to_owned()).collect(),
    }
}

/// Everything between backticks after `Tested by`, with its line.
fn holders(file: &File) -> Vec<(usize, &str)> {
    let mut is_held_by = false;
    let mut found = Vec::new();
    for (number, line) in file.lines() {
        is_held_by = line.starts_with(PARTS[2]) || is_held_by && line.starts_with("  ");
        if is_held_by {
            found.extend(line.split('`').skip(1).step_by(2).map(|name| (number, name)));
        }
    }
    found
}

fn unknown(file: &File, known: &Known) -> Vec<Finding> {
    let strange = holders(file).into_iter().filter_map(|(line, name)| {
        let (is_there, what) = if name.contains('/') {
            (known.paths.contains(name), "file")
        } else if name.contains('.') {
            (known.planted.contains(name), "planted bug")
        } else {
            (known.tests.contains(name), "test")
        };
        let message = format!("there is no {what} `{name}`");
        (!is_there).then(|| Finding::new(&file.path, line, message))
    });
    strange.collect()
}

fn unnamed(file: &File, known: &Known) -> Vec<Finding> {
    let named: BTreeSet<&str> = holders(file).into_iter().map(|(_, name)| name).collect();
    let left_out = known.planted.iter().filter(|bug| !named.contains(bug.as_str()));
    let message = |bug| format!("the planted bug `{bug}` holds no promise, name it with one");
    left_out.map(|bug| Finding::new(&file.path, 1, message(bug))).collect()
}

/// Sections that do not say all three.
fn partial(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut section: Option<(usize, Vec<&str>)> = None;
    let mut end = |section: Option<(usize, Vec<&str>)>| {
        if let Some((line, parts)) = section.filter(|(_, parts)| parts[..] != PARTS) {
            let message = format!("it says {parts:?}, and should say {PARTS:?}");
            findings.push(Finding::new(&file.path, line, message));
        }
    };
    for (number, line) in file.lines() {
        if line.starts_with('#') {
            let next = line.starts_with("### ").then(|| (number, Vec::new()));
            end(std::mem::replace(&mut section, next));
        }
        let part = PARTS.into_iter().find(|part| line.starts_with(part));
        if let (Some(part), Some((_, parts))) = (part, &mut section) {
            parts.push(part);
        }
    }
    end(section);
    findings
}

#[test]
fn promises_name_existing_tests() {
    let files = files();
    let known = known(&files);
    let file = files.iter().find(|file| file.path == PROMISES).expect("promises are written down");
    assert!(holders(file).len() > known.planted.len(), "promises name what holds them");
    assert!(known.planted.len() > 50, "planted bugs are read");
    let mut findings = unknown(file, &known);
    findings.extend(unnamed(file, &known));
    findings.extend(partial(file));
    assert_none(findings);
}

#[test]
fn a_promise_without_a_test_is_caught() {
    let planted =
        File::new(PLANTED, "const P: [(&str, &str); 1] = [\n    (\"a.b\", \"why\"),\n];\n");
    let test = File::new("crates/a/src/b.rs", "#[test]\nfn it_holds() {}\n");
    let known = known(&[planted, test]);
    let text = "### A\n- Promised: `x`\n- Not promised: `y`\n- Tested by: `a.b`,\n  `it_holds`\n";
    let whole = File::new(PROMISES, text);
    assert_lines(&unknown(&whole, &known), &[]);
    assert_lines(&unnamed(&whole, &known), &[]);
    assert_lines(&partial(&whole), &[]);
    for (from, to) in [("a.b", "a.c"), ("it_holds", "it_does_not"), ("a.b", "a/b.txt")] {
        let line = if from == "a.b" { 4 } else { 5 };
        assert_lines(&unknown(&File::new(PROMISES, &text.replace(from, to)), &known), &[line]);
    }
    assert_lines(&unnamed(&File::new(PROMISES, &text.replace("`a.b`", "`b.a`")), &known), &[1]);
    for part in PARTS {
        assert_lines(&partial(&File::new(PROMISES, &text.replace(part, "- "))), &[1]);
    }
}
